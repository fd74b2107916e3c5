//! From the hub's answer to the frame the asker gets.

use folkmoot_core::command::DraftCheck;
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::refusal::NOT_AUTHORIZED;
use folkmoot_core::{Refusal, Reply};
use folkmoot_wire::Id;
use serde_json::{Value, json};

use super::super::objects::*;
use super::super::wire;
use super::events::{changed, deleted_at, recent_messages, sent};
use super::{Shape, answer, error, runs};
use crate::door::{Replayed, Ticket, View};

/// The answer to one request. Many requests have none: the event that follows says it all.
pub fn reply(ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> Option<String> {
    let reply = match outcome {
        Ok(reply) => reply,
        Err(refusal) if ticket.request == "auth.login" => {
            return Some(answer("auth.fail", ticket, wire::AuthFail { error: (&*refusal.text).into() }, view));
        }
        Err(refusal) => return Some(error(ticket, refusal, view.now)),
    };
    let (kind, data) = answer_data(ticket, reply, view)?;
    Some(answer(kind, ticket, data, view))
}

fn answer_data(ticket: &Ticket, reply: &Reply, view: View<'_>) -> Option<(&'static str, Value)> {
    Some(match reply {
        Reply::Connected(member) => ("auth.success", json!(identity(member))),
        Reply::Subscribed(channel) => (ticket.request, json!(wire::ChannelRef { channel_id: Id::of(channel) })),
        Reply::Welcome { agent } => {
            ("agent.welcome", json!(wire::AgentWelcome { agent_id: Id::of(agent), status: "awake".into() }))
        }
        Reply::Daemon { id, agents, refused } => {
            let agent = |one: &DaemonAgent| wire::DaemonAgent { name: one.name.clone(), agent_id: Id::of(one.agent) };
            let not_carried = |one: &DaemonAgent| wire::NotCarried {
                agent_id: Id::of(one.agent),
                error: NOT_AUTHORIZED.text.to_string(),
            };
            let data = wire::DaemonRegistered {
                daemon_id: id.clone(),
                agents: agents.iter().map(agent).collect(),
                refused: refused.iter().map(not_carried).collect(),
            };
            ("daemon.registered", json!(data))
        }
        Reply::Sent { message, .. } => ("message.ack", json!(ack(message))),
        Reply::Draft(draft) => {
            ("draft.ack", json!(wire::DraftAck { draft_id: Id::of(draft.id), room_version: draft.room_version }))
        }
        Reply::DraftCheck(check) => ("draft.result", json!(draft_result(check, view))),
        Reply::DraftSent { draft, message } => {
            let (message_id, draft_id) = (Id::of(message.id), Id::of(draft));
            ("draft.send", json!(wire::DraftSent { message_id, draft_id, status: "sent".into() }))
        }
        Reply::Review(review) => {
            let (review_id, status) = (Id::of(review.id), review.status.clone());
            (ticket.request, json!(wire::ReviewAnswer { review_id, status }))
        }
        Reply::Item(item) => ("workspace.update", serde_json::to_value(ItemObject::from(item)).unwrap_or_default()),
        Reply::Approval(approval) if ticket.request == "approval.request" => {
            let is_open = approval.status == ApprovalStatus::Pending;
            ("approval.request", json!(approval_answer(approval, !is_open)))
        }
        Reply::Approval(approval) if ticket.request == "approval.use" => {
            ("approval.use", json!(approval_answer(approval, true)))
        }
        Reply::Call(call) if ticket.request == "call.offer" => {
            ("call.offer", json!(wire::CallOffered { call_id: Id::of(call.id), status: call.status }))
        }
        Reply::Notification(notification) if ticket.request == "inbox.ack" => {
            ("inbox.ack", json!(wire::InboxAcked { item_id: Id::of(notification.id), status: "acked".into() }))
        }
        Reply::Delivery(delivery) => {
            (ticket.request, json!(wire::DeliveryAnswer { delivery: DeliveryObject::new(delivery, view.state) }))
        }
        Reply::Run { run, known } => runs::answer(ticket.request, run, *known, view)?,
        Reply::Session(session) => runs::session(ticket.request, session),
        // The event that goes to everybody tells the asker too, or there is nothing to say.
        Reply::Done
        | Reply::Count(_)
        | Reply::Registered { .. }
        | Reply::Workspace(_)
        | Reply::Member(_)
        | Reply::Channel { .. }
        | Reply::Streamed(_)
        | Reply::Message(_)
        | Reply::Deleted(_)
        | Reply::Pin(_)
        | Reply::Notification(_)
        | Reply::Memory(_)
        | Reply::Task(_)
        | Reply::Approval(_)
        | Reply::Call(_)
        | Reply::File(_)
        | Reply::Webhook(_)
        | Reply::Token(_)
        | Reply::Ended(_)
        | Reply::Invite(_)
        | Reply::TelegramLink(_)
        | Reply::Machine(_)
        | Reply::Lease { .. }
        | Reply::PoolLink(_)
        | Reply::Hosted(_)
        | Reply::Route(_)
        | Reply::Diff { .. } => return None,
    })
}

fn identity(member: &Member) -> wire::AuthSuccess {
    wire::AuthSuccess {
        member_id: Id::of(member.id),
        workspace_id: Id::of(member.workspace),
        name: member.name.clone(),
        kind: match member.kind {
            MemberKind::Human => wire::MemberKind::Human,
            MemberKind::Agent => wire::MemberKind::Agent,
        },
    }
}

fn ack(message: &Message) -> wire::MessageAck {
    wire::MessageAck {
        message_id: Id::of(message.id),
        id: Id::of(message.id),
        channel_id: Id::of(message.channel),
        seq: message.seq,
        created_at: message.created_at,
    }
}

fn approval_answer(approval: &Approval, is_decided: bool) -> wire::ApprovalAnswer {
    let status = match approval.status {
        ApprovalStatus::Pending => wire::ApprovalStatus::Pending,
        ApprovalStatus::Approved => wire::ApprovalStatus::Approved,
        ApprovalStatus::Denied => wire::ApprovalStatus::Denied,
    };
    let review_note = is_decided.then(|| approval.note.clone());
    wire::ApprovalAnswer { id: Id::of(approval.id), status, review_note }
}

fn draft_result<'a>(check: &'a DraftCheck, view: View<'a>) -> wire::DraftResult<'a> {
    wire::DraftResult {
        draft_id: Id::of(check.draft),
        valid: check.valid,
        current_version: check.current_version,
        draft_version: check.draft_version,
        version_delta: check.current_version.saturating_sub(check.draft_version),
        recent_messages: recent_messages(&check.recent, view.state),
    }
}

/// `inbox.items`: a bare array, newest first.
pub fn inbox(ticket: &Ticket, items: &[Notification], view: View<'_>) -> String {
    let items: Vec<_> = items.iter().map(NotificationObject::from).collect();
    answer("inbox.items", ticket, items, view)
}

/// One stored event of a channel, told again to a client that was away.
pub fn replayed(event: &Replayed<'_>, shape: Shape, view: View<'_>) -> Option<String> {
    match event {
        Replayed::Message(message) if message.deleted => Some(deleted_at(message, message.seq, view)),
        Replayed::Message(message) => Some(sent(message, shape, view)),
        Replayed::Change(change, message) => changed(change, *message, shape, view),
    }
}

/// The end of a catch-up: everything up to `seq` was told, or too much was missed and the client must load anew.
pub fn resumed(ticket: &Ticket, channel: ChannelId, seq: u64, complete: bool, view: View<'_>) -> String {
    let kind = if complete { "sync.done" } else { "sync.reload" };
    answer(kind, ticket, wire::SyncDone { channel_id: Id::of(channel), seq }, view)
}
