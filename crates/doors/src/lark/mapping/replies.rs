//! From the hub's answer to the frame the asker gets.

use folkmoot_core::command::DraftCheck;
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::refusal::NOT_AUTHORIZED;
use folkmoot_core::{Refusal, Reply};
use serde_json::{Value, json};

use super::super::objects::*;
use super::events::{RecentMessage, changed, deleted_at, sent};
use super::{answer, error, runs};
use crate::door::{Replayed, Ticket, View};

/// The answer to one request. Many requests have none: the event that follows says it all.
pub fn reply(ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> Option<String> {
    let reply = match outcome {
        Ok(reply) => reply,
        Err(refusal) if ticket.request == "auth.login" => {
            return Some(answer("auth.fail", ticket, json!({ "error": refusal.text }), view));
        }
        Err(refusal) => return Some(error(ticket, refusal, view.now)),
    };
    let (kind, data) = answer_data(ticket, reply, view)?;
    Some(answer(kind, ticket, data, view))
}

fn answer_data(ticket: &Ticket, reply: &Reply, view: View<'_>) -> Option<(&'static str, Value)> {
    Some(match reply {
        Reply::Connected(member) => ("auth.success", identity(member)),
        Reply::Subscribed(channel) => (ticket.request, json!({ "channel_id": channel })),
        Reply::Welcome { agent } => ("agent.welcome", json!({ "agent_id": agent, "status": "awake" })),
        Reply::Daemon { id, agents, refused } => {
            let agents: Vec<_> = agents.iter().map(DaemonAgentObject::from).collect();
            let mut data = json!({ "daemon_id": id, "agents": agents });
            if !refused.is_empty() {
                let refused = refused.iter().map(|one| json!({ "agent_id": one.agent, "error": NOT_AUTHORIZED.text }));
                data["refused"] = refused.collect();
            }
            ("daemon.registered", data)
        }
        Reply::Sent { message, .. } => ("message.ack", ack(message)),
        Reply::Draft(draft) => ("draft.ack", json!({ "draft_id": draft.id, "room_version": draft.room_version })),
        Reply::DraftCheck(check) => ("draft.result", draft_result(check, view)),
        Reply::DraftSent { draft, message } => {
            ("draft.send", json!({ "message_id": message.id, "draft_id": draft, "status": "sent" }))
        }
        Reply::Review(review) => (ticket.request, json!({ "review_id": review.id, "status": review.status })),
        Reply::Item(item) => ("workspace.update", serde_json::to_value(ItemObject::from(item)).unwrap_or_default()),
        Reply::Approval(approval) if ticket.request == "approval.request" => {
            let asked = json!({ "id": approval.id, "status": approval.status });
            let decided = json!({ "id": approval.id, "status": approval.status, "review_note": approval.note });
            ("approval.request", if approval.status == ApprovalStatus::Pending { asked } else { decided })
        }
        Reply::Approval(approval) if ticket.request == "approval.use" => {
            ("approval.use", json!({ "id": approval.id, "status": approval.status, "review_note": approval.note }))
        }
        Reply::Call(call) if ticket.request == "call.offer" => {
            ("call.offer", json!({ "call_id": call.id, "status": call.status }))
        }
        Reply::Notification(notification) if ticket.request == "inbox.ack" => {
            ("inbox.ack", json!({ "item_id": notification.id, "status": "acked" }))
        }
        Reply::Delivery(delivery) => (ticket.request, json!({ "delivery": DeliveryObject::new(delivery, view.state) })),
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

fn identity(member: &Member) -> Value {
    json!({
        "member_id": member.id,
        "workspace_id": member.workspace,
        "name": member.name,
        "type": member.kind,
    })
}

fn ack(message: &Message) -> Value {
    json!({
        "message_id": message.id,
        "id": message.id,
        "channel_id": message.channel,
        "seq": message.seq,
        "created_at": message.created_at,
    })
}

fn draft_result(check: &DraftCheck, view: View<'_>) -> Value {
    let recent: Vec<_> = check.recent.iter().map(|message| RecentMessage::new(message, view.state)).collect();
    let mut data = json!({
        "draft_id": check.draft,
        "valid": check.valid,
        "current_version": check.current_version,
        "draft_version": check.draft_version,
        "version_delta": check.current_version.saturating_sub(check.draft_version),
    });
    if !recent.is_empty() {
        data["recent_messages"] = json!(recent);
    }
    data
}

/// `inbox.items`: a bare array, newest first.
pub fn inbox(ticket: &Ticket, items: &[Notification], view: View<'_>) -> String {
    let items: Vec<_> = items.iter().map(NotificationObject::from).collect();
    answer("inbox.items", ticket, items, view)
}

/// One stored event of a channel, told again to a client that was away.
pub fn replayed(event: &Replayed<'_>, view: View<'_>) -> Option<String> {
    match event {
        Replayed::Message(message) if message.deleted => Some(deleted_at(message, message.seq, view)),
        Replayed::Message(message) => Some(sent(message, view)),
        Replayed::Change(change, message) => changed(change, *message, view),
    }
}

/// The end of a catch-up: everything up to `seq` was told, or too much was missed and the client must load anew.
pub fn resumed(ticket: &Ticket, channel: ChannelId, seq: u64, complete: bool, view: View<'_>) -> String {
    let kind = if complete { "sync.done" } else { "sync.reload" };
    answer(kind, ticket, json!({ "channel_id": channel, "seq": seq }), view)
}
