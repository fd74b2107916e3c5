//! From what happened to the frame that tells it.

use std::borrow::Borrow;

use folkmoot_core::delivery::Delivery;
use folkmoot_core::event::{CallSignal, Event, Wake};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::{Change, ChangeKind, Record};
use folkmoot_core::{Millis, State};
use folkmoot_wire::Id;
use serde_json::json;

use super::super::objects::*;
use super::super::wire;
use super::{Shape, frame, runs};
use crate::door::View;
use crate::smarthole::objects::RouteObject;

/// The frame for an event; none for what only the hub itself needs to know.
pub fn event(event: &Event, shape: Shape, view: View<'_>) -> Option<String> {
    Some(match event {
        Event::MessageSent(message) => sent(message, shape, view),
        Event::MessageEdited { message, change, .. } => edited(message, change, shape, view),
        Event::Progressed(message) => runs::progressed(message, shape, view),
        Event::MessageDeleted { message, change } => deleted(message, change, view),
        Event::Reacted { message, change } => reacted(message, change, view)?,
        Event::Pinned { pin, change } => pinned("pin.add", pin, change, view),
        Event::Unpinned { pin, change } => pinned("pin.remove", pin, change, view),
        Event::Joined(membership) => came_or_went("channel.joined", membership, view),
        Event::Left(membership) => came_or_went("channel.left", membership, view),
        Event::Saved(record) => saved(record, view)?,
        Event::Removed(record) => removed(record, view)?,
        Event::PresenceChanged { member, presence, .. } => {
            let status = match presence {
                Presence::Online => wire::Presence::Online,
                Presence::Idle => wire::Presence::Idle,
                Presence::Offline => wire::Presence::Offline,
                Presence::Dnd => wire::Presence::Dnd,
                Presence::Sleeping => wire::Presence::Sleeping,
            };
            frame("presence.update", wire::PresenceChanged { member_id: Id::of(member), status }, view)
        }
        Event::Typing { channel, member, on, .. } => typing(*channel, *member, *on, view),
        Event::Streamed(stream) => streamed(stream, shape, view),
        Event::StreamEnded { stream, .. } => draft_gone(stream, view),
        Event::Woken(wake) => woken(wake, view),
        Event::TaskAssigned { task, .. } => {
            let message = format!("You were assigned: {}", task.title);
            frame("task.assigned", wire::TaskAssigned { task: TaskObject::from(task), message }, view)
        }
        Event::StopAsked { run, agent, agent_name, .. } => {
            let (run_id, agent_id) = (Id::of(run), Id::of(agent));
            frame("run.stop", wire::StopAsked { run_id, agent_id, agent_name: agent_name.clone() }, view)
        }
        Event::CallSignal { signal, .. } => call_signal(signal, view),
        // An agent of the hub is handed a sentence as a direct message.
        Event::Handed { .. }
        | Event::ConnectionReplaced(_)
        | Event::Connected { .. }
        | Event::Disconnected { .. }
        | Event::DaemonRegistered { .. } => return None,
    })
}

/// A message at its position, which for an edit is not that of the message.
fn message_frame(kind: &str, message: &Message, seq: u64, shape: Shape, view: View<'_>) -> String {
    let object = MessageObject::new(message, view.state);
    match shape {
        Shape::Double => {
            let fields = MessageObject { seq, ..object.clone() };
            frame(kind, wire::DoubleMessage { message_id: Id::of(message.id), fields, message: object }, view)
        }
        Shape::Plain => {
            let message_seq = (seq != message.seq).then_some(message.seq);
            frame(kind, wire::PlainMessage { fields: MessageObject { seq, ..object }, message_seq }, view)
        }
    }
}

/// A live message as clients that know only `message.new`, `message.edit` and `message.delete` understand it: a message that
/// is edited while it grows and deleted when the final one, which has another id, follows. It has no `seq`: nothing is stored.
fn streamed(stream: &Stream, shape: Shape, view: View<'_>) -> String {
    let kind = if stream.texts == 1 { "message.new" } else { "message.edit" };
    let object = wire::PartialMessage {
        id: Id::of(stream.draft),
        channel_id: Id::of(stream.channel),
        sender_id: Id::of(stream.sender),
        sender_name: view.state.name_of(stream.sender),
        content: &stream.content,
        content_type: match stream.content_type {
            ContentType::Text => wire::ContentType::Text,
            ContentType::Markdown => wire::ContentType::Markdown,
        },
        kind: "user",
        metadata: wire::Nothing {},
        partial: true,
        final_id: Id::of(stream.message),
        edit_count: 0,
        reply_count: 0,
        created_at: stream.started_at,
        updated_at: stream.updated_at,
    };
    match shape {
        Shape::Double => {
            let message_id = Id::of(stream.draft);
            frame(kind, wire::DoubleMessage { message_id, fields: object.clone(), message: object }, view)
        }
        Shape::Plain => frame(kind, object, view),
    }
}

fn draft_gone(stream: &Stream, view: View<'_>) -> String {
    let data = wire::DraftGone {
        id: Id::of(stream.draft),
        message_id: Id::of(stream.draft),
        channel_id: Id::of(stream.channel),
        partial: true,
        final_id: Id::of(stream.message),
    };
    frame("message.delete", data, view)
}

pub(super) fn sent(message: &Message, shape: Shape, view: View<'_>) -> String {
    message_frame("message.new", message, message.seq, shape, view)
}

fn edited(message: &Message, change: &Change, shape: Shape, view: View<'_>) -> String {
    message_frame("message.edit", message, change.seq, shape, view)
}

pub(super) fn deleted_at(message: &Message, seq: u64, view: View<'_>) -> String {
    let data = wire::MessageDeleted {
        id: Id::of(message.id),
        message_id: Id::of(message.id),
        channel_id: Id::of(message.channel),
        thread_id: message.thread.map(Id::of),
        seq,
    };
    frame("message.delete", data, view)
}

fn deleted(message: &Message, change: &Change, view: View<'_>) -> String {
    deleted_at(message, change.seq, view)
}

fn reacted(message: &Message, change: &Change, view: View<'_>) -> Option<String> {
    let (kind, emoji) = match &change.what {
        ChangeKind::Reacted { emoji } => ("reaction.add", emoji),
        ChangeKind::Unreacted { emoji } => ("reaction.remove", emoji),
        _ => return None,
    };
    let data = wire::Reacted {
        message_id: Id::of(message.id),
        channel_id: Id::of(message.channel),
        member_id: Id::of(change.actor),
        name: view.state.name_of(change.actor),
        emoji,
        reactions: &message.reactions,
        seq: change.seq,
    };
    Some(frame(kind, data, view))
}

fn pinned(kind: &str, pin: &Pin, change: &Change, view: View<'_>) -> String {
    pin_frame(kind, pin.id, Some(pin.created_at), change, view)
}

fn pin_frame(kind: &str, pin: PinId, created_at: Option<Millis>, change: &Change, view: View<'_>) -> String {
    let data = wire::Pinned {
        id: Id::of(pin),
        pin_id: Id::of(pin),
        channel_id: Id::of(change.channel),
        message_id: Id::of(change.message),
        pinned_by: Id::of(change.actor),
        created_at: created_at.unwrap_or(change.at),
        seq: change.seq,
    };
    frame(kind, data, view)
}

/// A stored change told again, with the message as it is now; every position yields exactly one frame.
pub(super) fn changed(change: &Change, message: Option<&Message>, shape: Shape, view: View<'_>) -> Option<String> {
    match (&change.what, message) {
        (ChangeKind::Pinned { pin }, _) => Some(pin_frame("pin.add", *pin, None, change, view)),
        (ChangeKind::Unpinned { pin }, _) => Some(pin_frame("pin.remove", *pin, None, change, view)),
        (ChangeKind::Edited, Some(message)) if !message.deleted => Some(edited(message, change, shape, view)),
        (ChangeKind::Reacted { .. } | ChangeKind::Unreacted { .. }, Some(message)) => reacted(message, change, view),
        (_, Some(message)) => Some(deleted(message, change, view)),
        (_, None) => None,
    }
}

fn came_or_went(kind: &str, membership: &Membership, view: View<'_>) -> String {
    frame(kind, in_channel(membership.channel, membership.member, view), view)
}

fn in_channel(channel: ChannelId, member: MemberId, view: View<'_>) -> wire::MemberOfChannel<'_> {
    let name = view.state.name_of(member).into();
    wire::MemberOfChannel { channel_id: Id::of(channel), member_id: Id::of(member), name }
}

fn typing(channel: ChannelId, member: MemberId, on: bool, view: View<'_>) -> String {
    let kind = if on { "typing.start" } else { "typing.stop" };
    frame(kind, in_channel(channel, member, view), view)
}

fn saved(record: &Record, view: View<'_>) -> Option<String> {
    Some(match record {
        Record::Notification(notification) => {
            let is_new = !notification.is_read && notification.acked_at.is_none();
            let kind = if is_new { "notification.new" } else { "notification.update" };
            frame(kind, NotificationObject::from(notification), view)
        }
        Record::Approval(approval) => {
            let open = approval.status == ApprovalStatus::Pending;
            frame(if open { "approval.request" } else { "approval.result" }, ApprovalObject::from(approval), view)
        }
        Record::Task(task) => task_frame("task.update", task, view),
        Record::Review(review) => {
            let kind = if review.decided_at.is_none() { "review.request" } else { "review.result" };
            let mut data = serde_json::to_value(ReviewObject::from(review)).unwrap_or_default();
            data["review_id"] = json!(review.id);
            frame(kind, data, view)
        }
        Record::Membership(membership) => {
            let unread_count = view.state.unread(membership.channel, membership.member);
            let (channel_id, seq) = (Id::of(membership.channel), membership.read.seq);
            frame("channel.read", wire::ChannelWasRead { channel_id, seq, unread_count }, view)
        }
        Record::Channel(channel) => {
            let room = view.state.channel(channel.id)?;
            // Told to many, so without what is each reader's own.
            let mut data = serde_json::to_value(ChannelObject::new(room, MemberId::NONE)).unwrap_or_default();
            if let Some(fields) = data.as_object_mut() {
                for own in ["is_member", "unread_count", "read_seq", "notification_preference"] {
                    fields.remove(own);
                }
                fields.insert("channel_id".to_owned(), json!(channel.id));
            }
            frame("channel.update", data, view)
        }
        Record::Member(member) if member.removed => member_gone(member, view),
        Record::Member(member) => frame("member.update", MemberObject::new(member, view.state), view),
        Record::Workspace(workspace) => frame("workspace.changed", WorkspaceObject::from(workspace), view),
        Record::Route(route) => frame("route.update", RouteObject::from(route), view),
        Record::Delivery(delivery) => frame("delivery.update", DeliveryObject::new(delivery, view.state), view),
        Record::Run(run) => runs::changed(run, view),
        Record::RunAction(action) => runs::acted(action, view),
        Record::Draft(_)
        | Record::Call(_)
        | Record::Webhook(_)
        | Record::File(_)
        | Record::Pin(_)
        | Record::Edit(_)
        | Record::Item(_)
        | Record::Memory(_)
        | Record::Token(_)
        | Record::Invite(_)
        | Record::Lease(_)
        | Record::Fence(_)
        | Record::PoolLink(_)
        | Record::Cause(_)
        | Record::Session(_)
        | Record::Hosted(_)
        | Record::TelegramLink(_)
        | Record::Machine(_) => return None,
    })
}

fn removed(record: &Record, view: View<'_>) -> Option<String> {
    Some(match record {
        Record::Channel(channel) => frame("channel.delete", wire::ChannelRef { channel_id: Id::of(channel.id) }, view),
        Record::Task(task) => {
            frame("task.delete", wire::TaskDeleted { id: Id::of(task.id), task_id: Id::of(task.id) }, view)
        }
        Record::Member(member) => member_gone(member, view),
        _ => return None,
    })
}

fn member_gone(member: &Member, view: View<'_>) -> String {
    frame("member.left", wire::MemberLeft { member_id: Id::of(member.id), name: (&member.name).into() }, view)
}

fn task_frame(kind: &str, task: &Task, view: View<'_>) -> String {
    let object = TaskObject::from(task);
    let mut data = serde_json::to_value(&object).unwrap_or_default();
    data["task"] = serde_json::to_value(&object).unwrap_or_default();
    frame(kind, data, view)
}

fn woken(wake: &Wake, view: View<'_>) -> String {
    let thread = wake.thread.as_ref().map(|thread| wire::WakeThread {
        id: Id::of(thread.root.id),
        root: Some(recent_message(&thread.root, view.state)),
        reply_count: thread.root.reply_count,
        messages: recent_messages(&thread.replies, view.state),
    });
    let context = wire::WakeContext {
        channel: wake.channel.map(|id| channel_context(id, view.state)),
        recent_messages: recent_messages(&wake.recent, view.state),
        thread,
        task: wake.task.as_ref().map(TaskObject::from),
        delivery: wake.delivery.as_deref().map(delivery_context),
        session: wake.session.as_ref().map(runs::session_context),
    };
    let data = wire::AgentWake {
        reason: wake.reason.as_str().into(),
        agent_id: Some(Id::of(wake.agent)),
        agent_name: (&wake.agent_name).into(),
        context,
    };
    frame("agent.wake", data, view)
}

/// What an agent needs in order to say what became of the wake.
fn delivery_context(delivery: &Delivery) -> wire::WakeDelivery {
    wire::WakeDelivery {
        id: Id::of(delivery.id),
        message_ids: delivery.messages.iter().map(Id::of).collect(),
        thread_id: delivery.thread.map(Id::of),
        sender_id: Id::of(delivery.sender),
        root_id: Id::of(delivery.root),
        depth: delivery.depth,
        run_id: delivery.run.map(Id::of),
    }
}

fn channel_context(id: ChannelId, state: &State) -> wire::WakeChannel<'_> {
    let room = state.channel(id);
    wire::WakeChannel {
        id: Id::of(id),
        name: room.map(|room| (&room.channel.name).into()),
        kind: room.map(|room| channel_kind(room.channel.kind)),
        room_version: room.map(|room| room.head.version),
    }
}

fn channel_kind(kind: ChannelKind) -> wire::ChannelKind {
    match kind {
        ChannelKind::Channel => wire::ChannelKind::Channel,
        ChannelKind::Private => wire::ChannelKind::Private,
        ChannelKind::Dm => wire::ChannelKind::Dm,
        ChannelKind::GroupDm => wire::ChannelKind::GroupDm,
    }
}

pub(super) fn recent_messages<'a, M: Borrow<Message>>(
    messages: &'a [M],
    state: &'a State,
) -> Vec<wire::RecentMessage<'a>> {
    messages.iter().map(|message| recent_message(message.borrow(), state)).collect()
}

/// A message as bundled with a wake.
fn recent_message<'a>(message: &'a Message, state: &'a State) -> wire::RecentMessage<'a> {
    wire::RecentMessage {
        id: Id::of(message.id),
        sender_id: Id::of(message.sender),
        sender_name: state.name_of(message.sender).into(),
        content: (&message.content).into(),
        created_at: message.created_at,
        thread_id: message.thread.map(Id::of),
        seq: message.seq,
    }
}

fn call_signal(signal: &CallSignal, view: View<'_>) -> String {
    match signal {
        CallSignal::Ring { call, caller_name } => {
            let data = wire::CallRing {
                call_id: Id::of(call.id),
                caller_id: Id::of(call.caller),
                caller_name: caller_name.into(),
                kind: (&call.kind).into(),
            };
            frame("call.ring", data, view)
        }
        CallSignal::Offer { call, sdp } => {
            let data = wire::CallOffering {
                call_id: Id::of(call.id),
                caller_id: Id::of(call.caller),
                kind: (&call.kind).into(),
                sdp: sdp.into(),
            };
            frame("call.offer", data, view)
        }
        CallSignal::Answer { call, sdp } => {
            frame("call.answer", wire::CallAnswered { call_id: Id::of(call), sdp: sdp.into() }, view)
        }
        CallSignal::Ice { call, from, candidate } => {
            frame("call.ice", wire::CallCandidate { call_id: Id::of(call), from_id: Id::of(from), candidate }, view)
        }
        CallSignal::End { call, reason } => {
            frame("call.end", wire::CallEnded { call_id: Id::of(call), reason: (*reason).into() }, view)
        }
    }
}
