//! Notifications: what members find in their inbox, made the same way by every rule.

use super::Context;
use crate::delivery::WakeReason;
use crate::ids::*;
use crate::model::*;

/// A message wants this member.
pub fn of_message(context: &mut Context<'_>, member: &Member, message: &Message, reason: WakeReason) -> Notification {
    let sender = context.state.name_of(message.sender);
    let title = match reason {
        WakeReason::Mention => "You were mentioned".to_owned(),
        WakeReason::ThreadReply => format!("{sender} replied in your thread"),
        _ => format!("New message from {sender}"),
    };
    let body = message.excerpt();
    Notification {
        channel: Some(message.channel),
        message: Some(message.id),
        ..plain(context, member.id, reason.as_str(), title, body)
    }
}

/// A notification with nothing special about it; callers fill in what it points to.
pub fn plain(context: &mut Context<'_>, member: MemberId, kind: &str, title: String, body: String) -> Notification {
    Notification {
        id: NotificationId(context.new_id()),
        member,
        kind: kind.to_owned(),
        title,
        body,
        channel: None,
        message: None,
        source_type: source_type(kind).to_owned(),
        priority: "normal".to_owned(),
        payload: None,
        is_read: false,
        ack_required: false,
        acked_at: None,
        expires_at: None,
        created_at: context.now,
    }
}

fn source_type(kind: &str) -> &'static str {
    match kind {
        "mention" => "mention",
        "dm" => "dm",
        "thread_reply" => "thread",
        "task_assigned" => "task",
        kind if kind.starts_with("review") => "review",
        kind if kind.starts_with("approval") => "approval",
        kind if kind.starts_with("route") => "route",
        _ => "system",
    }
}
