//! From what happened to the frame that tells it.

use folkmoot_core::delivery::Delivery;
use folkmoot_core::event::{CallSignal, Event, Wake};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::{Change, ChangeKind, Record};
use folkmoot_core::{Millis, State};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::objects::*;
use super::{frame, runs};
use crate::door::View;
use crate::smarthole::objects::RouteObject;

/// The frame for an event; none for what only the hub itself needs to know.
pub fn event(event: &Event, view: View<'_>) -> Option<String> {
    Some(match event {
        Event::MessageSent(message) => frame("message.new", MessageFrame::new(message, message.seq, view.state), view),
        Event::MessageEdited { message, change, .. } => edited(message, change, view),
        Event::Progressed(message) => runs::progressed(message, view),
        Event::MessageDeleted { message, change } => deleted(message, change, view),
        Event::Reacted { message, change } => reacted(message, change, view)?,
        Event::Pinned { pin, change } => pinned("pin.add", pin, change, view),
        Event::Unpinned { pin, change } => pinned("pin.remove", pin, change, view),
        Event::Joined(membership) => came_or_went("channel.joined", membership, view),
        Event::Left(membership) => came_or_went("channel.left", membership, view),
        Event::Saved(record) => saved(record, view)?,
        Event::Removed(record) => removed(record, view)?,
        Event::PresenceChanged { member, presence, .. } => {
            frame("presence.update", json!({ "member_id": member, "status": presence }), view)
        }
        Event::Typing { channel, member, on, .. } => typing(*channel, *member, *on, view),
        Event::Streamed(stream) => streamed(stream, view),
        Event::StreamEnded { stream, .. } => draft_gone(stream, view),
        Event::Woken(wake) => woken(wake, view),
        Event::TaskAssigned { task, .. } => {
            let message = format!("You were assigned: {}", task.title);
            frame("task.assigned", json!({ "task": TaskObject::from(task), "message": message }), view)
        }
        Event::StopAsked { run, agent, agent_name, .. } => {
            frame("run.stop", json!({ "run_id": run, "agent_id": agent, "agent_name": agent_name }), view)
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

/// A message twice: its fields at the top for clients of the document, the same object under `message` for the rest.
/// At the top `seq` is the position of the event, which for an edit is not that of the message.
#[derive(Serialize)]
pub(super) struct MessageFrame<'a> {
    message_id: MessageId,
    #[serde(flatten)]
    fields: MessageObject<'a>,
    message: MessageObject<'a>,
}

impl<'a> MessageFrame<'a> {
    pub(super) fn new(message: &'a Message, seq: u64, state: &'a State) -> Self {
        let object = MessageObject::new(message, state);
        Self { message_id: message.id, fields: MessageObject { seq, ..object.clone() }, message: object }
    }
}

/// A live message as clients that know only `message.new`, `message.edit` and `message.delete` understand it: a message that
/// is edited while it grows and deleted when the final one, which has another id, follows. It has no `seq`: nothing is stored.
fn streamed(stream: &Stream, view: View<'_>) -> String {
    let kind = if stream.texts == 1 { "message.new" } else { "message.edit" };
    let object = json!({
        "id": stream.draft,
        "channel_id": stream.channel,
        "sender_id": stream.sender,
        "sender_name": view.state.name_of(stream.sender),
        "content": stream.content,
        "content_type": stream.content_type,
        "type": "user",
        "metadata": {},
        "partial": true,
        "final_id": stream.message,
        "edit_count": 0,
        "reply_count": 0,
        "created_at": stream.started_at,
        "updated_at": stream.updated_at,
    });
    let mut data = object.clone();
    data["message_id"] = json!(stream.draft);
    data["message"] = object;
    frame(kind, data, view)
}

fn draft_gone(stream: &Stream, view: View<'_>) -> String {
    let data = json!({
        "id": stream.draft,
        "message_id": stream.draft,
        "channel_id": stream.channel,
        "partial": true,
        "final_id": stream.message,
    });
    frame("message.delete", data, view)
}

pub(super) fn sent(message: &Message, view: View<'_>) -> String {
    frame("message.new", MessageFrame::new(message, message.seq, view.state), view)
}

fn edited(message: &Message, change: &Change, view: View<'_>) -> String {
    frame("message.edit", MessageFrame::new(message, change.seq, view.state), view)
}

pub(super) fn deleted_at(message: &Message, seq: u64, view: View<'_>) -> String {
    let data = json!({
        "id": message.id,
        "message_id": message.id,
        "channel_id": message.channel,
        "thread_id": message.thread,
        "seq": seq,
    });
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
    let data = json!({
        "message_id": message.id,
        "channel_id": message.channel,
        "member_id": change.actor,
        "name": view.state.name_of(change.actor),
        "emoji": emoji,
        "reactions": message.reactions,
        "seq": change.seq,
    });
    Some(frame(kind, data, view))
}

fn pinned(kind: &str, pin: &Pin, change: &Change, view: View<'_>) -> String {
    pin_frame(kind, pin.id, Some(pin.created_at), change, view)
}

fn pin_frame(kind: &str, pin: PinId, created_at: Option<Millis>, change: &Change, view: View<'_>) -> String {
    let data = json!({
        "id": pin,
        "pin_id": pin,
        "channel_id": change.channel,
        "message_id": change.message,
        "pinned_by": change.actor,
        "created_at": created_at.unwrap_or(change.at),
        "seq": change.seq,
    });
    frame(kind, data, view)
}

/// A stored change told again, with the message as it is now; every position yields exactly one frame.
pub(super) fn changed(change: &Change, message: Option<&Message>, view: View<'_>) -> Option<String> {
    match (&change.what, message) {
        (ChangeKind::Pinned { pin }, _) => Some(pin_frame("pin.add", *pin, None, change, view)),
        (ChangeKind::Unpinned { pin }, _) => Some(pin_frame("pin.remove", *pin, None, change, view)),
        (ChangeKind::Edited, Some(message)) if !message.deleted => Some(edited(message, change, view)),
        (ChangeKind::Reacted { .. } | ChangeKind::Unreacted { .. }, Some(message)) => reacted(message, change, view),
        (_, Some(message)) => Some(deleted(message, change, view)),
        (_, None) => None,
    }
}

fn came_or_went(kind: &str, membership: &Membership, view: View<'_>) -> String {
    let name = view.state.name_of(membership.member);
    let data = json!({ "channel_id": membership.channel, "member_id": membership.member, "name": name });
    frame(kind, data, view)
}

fn typing(channel: ChannelId, member: MemberId, on: bool, view: View<'_>) -> String {
    let kind = if on { "typing.start" } else { "typing.stop" };
    frame(kind, json!({ "channel_id": channel, "member_id": member, "name": view.state.name_of(member) }), view)
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
            let read = membership.read.seq;
            let unread = view.state.unread(membership.channel, membership.member);
            let data = json!({ "channel_id": membership.channel, "seq": read, "unread_count": unread });
            frame("channel.read", data, view)
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
        Record::Channel(channel) => frame("channel.delete", json!({ "channel_id": channel.id }), view),
        Record::Task(task) => frame("task.delete", json!({ "id": task.id, "task_id": task.id }), view),
        Record::Member(member) => member_gone(member, view),
        _ => return None,
    })
}

fn member_gone(member: &Member, view: View<'_>) -> String {
    frame("member.left", json!({ "member_id": member.id, "name": member.name }), view)
}

fn task_frame(kind: &str, task: &Task, view: View<'_>) -> String {
    let object = TaskObject::from(task);
    let mut data = serde_json::to_value(&object).unwrap_or_default();
    data["task"] = serde_json::to_value(&object).unwrap_or_default();
    frame(kind, data, view)
}

fn woken(wake: &Wake, view: View<'_>) -> String {
    let channel = wake.channel.map(|id| channel_context(id, view.state));
    let recent: Vec<_> = wake.recent.iter().map(|message| RecentMessage::new(message, view.state)).collect();
    let thread = wake.thread.as_ref().map(|thread| {
        let replies: Vec<_> = thread.replies.iter().map(|reply| RecentMessage::new(reply, view.state)).collect();
        json!({
            "id": thread.root.id,
            "root": RecentMessage::new(&thread.root, view.state),
            "reply_count": thread.root.reply_count,
            "messages": replies,
        })
    });
    let mut data = json!({
        "reason": wake.reason.as_str(),
        "agent_id": wake.agent,
        "agent_name": wake.agent_name,
        "context": {
            "channel": channel,
            "recent_messages": recent,
            "thread": thread,
            "task": wake.task.as_ref().map(TaskObject::from),
        },
    });
    if let Some(delivery) = &wake.delivery {
        data["context"]["delivery"] = delivery_context(delivery);
    }
    if let Some(session) = &wake.session {
        data["context"]["session"] = runs::session_context(session);
    }
    frame("agent.wake", data, view)
}

/// What an agent needs in order to say what became of the wake.
fn delivery_context(delivery: &Delivery) -> Value {
    let mut context = json!({
        "id": delivery.id,
        "message_ids": delivery.messages,
        "thread_id": delivery.thread,
        "sender_id": delivery.sender,
        "root_id": delivery.root,
        "depth": delivery.depth,
    });
    if let Some(run) = delivery.run {
        context["run_id"] = json!(run);
    }
    context
}

fn channel_context(id: ChannelId, state: &State) -> Value {
    match state.channel(id) {
        Some(room) => json!({
            "id": id,
            "name": room.channel.name,
            "type": room.channel.kind,
            "room_version": room.head.version,
        }),
        None => json!({ "id": id }),
    }
}

/// A message as bundled with a wake.
#[derive(Serialize)]
pub(super) struct RecentMessage<'a> {
    id: MessageId,
    sender_id: MemberId,
    sender_name: &'a str,
    content: &'a str,
    created_at: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<MessageId>,
    seq: u64,
}

impl<'a> RecentMessage<'a> {
    pub(super) fn new(message: &'a Message, state: &'a State) -> Self {
        Self {
            id: message.id,
            sender_id: message.sender,
            sender_name: state.name_of(message.sender),
            content: &message.content,
            created_at: message.created_at,
            thread_id: message.thread,
            seq: message.seq,
        }
    }
}

/// A candidate is passed on as it came, never read: not everything that is JSON by the letter can be.
#[derive(Serialize)]
struct IceFrame<'a> {
    call_id: CallId,
    from_id: MemberId,
    candidate: &'a RawValue,
}

fn call_signal(signal: &CallSignal, view: View<'_>) -> String {
    match signal {
        CallSignal::Ring { call, caller_name } => {
            let data =
                json!({ "call_id": call.id, "caller_id": call.caller, "caller_name": caller_name, "type": call.kind });
            frame("call.ring", data, view)
        }
        CallSignal::Offer { call, sdp } => {
            let data = json!({ "call_id": call.id, "caller_id": call.caller, "type": call.kind, "sdp": sdp });
            frame("call.offer", data, view)
        }
        CallSignal::Answer { call, sdp } => frame("call.answer", json!({ "call_id": call, "sdp": sdp }), view),
        CallSignal::Ice { call, from, candidate } => {
            frame("call.ice", IceFrame { call_id: *call, from_id: *from, candidate }, view)
        }
        CallSignal::End { call, reason } => frame("call.end", json!({ "call_id": call, "reason": reason }), view),
    }
}
