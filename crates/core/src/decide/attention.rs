//! Who is wanted by a message: notifications for people, inbox items and wakes for agents.
//!
//! Four triggers: a mention, a direct message, a reply in the member's thread, an assigned task. One message draws a
//! member's attention once, for the strongest reason. Nobody draws their own.

use std::sync::Arc;

use super::Context;
use crate::event::{Event, Wake, WakeReason, WakeThread};
use crate::ids::*;
use crate::mention::mentioned_names;
use crate::model::*;
use crate::record::Record;
use crate::refusal::Refusal;
use crate::state::Room;

/// How many messages a wake bundles, the one that woke included.
const WAKE_MESSAGES: usize = 20;
const BODY_CHARS: usize = 200;

/// Adds what a new message means for those it wants.
pub fn draw(
    context: &mut Context<'_>,
    room: &Room,
    message: &Arc<Message>,
    root: Option<Arc<Message>>,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let wanted = wanted_by(context, room, message, root.as_deref());
    if wanted.is_empty() {
        return Ok(());
    }
    let mut bundle = None;
    for (member, reason) in wanted {
        let notification = message_notification(context, &member, message, reason);
        events.push(Event::Saved(Record::Notification(notification)));
        if !member.is_agent() {
            continue;
        }
        if bundle.is_none() {
            bundle = Some(Bundle::load(context, message, root.as_ref())?);
        }
        if let Some(bundle) = &bundle {
            wake(context, &member, reason, events, |wake| bundle.fill(wake));
        }
    }
    Ok(())
}

/// The members a message wants, each with the strongest reason; only members of its channel ever are.
fn wanted_by(
    context: &Context<'_>,
    room: &Room,
    message: &Message,
    root: Option<&Message>,
) -> Vec<(Arc<Member>, WakeReason)> {
    let mut wanted: Vec<(MemberId, WakeReason)> = Vec::new();
    let mut want = |id: MemberId, reason: WakeReason| {
        if id != message.sender && !wanted.iter().any(|(known, _)| *known == id) {
            wanted.push((id, reason));
        }
    };
    if message.content.contains('@') {
        for name in mentioned_names(&message.content) {
            if let Some(member) = context.state.member_named(room.channel.workspace, name) {
                want(member.id, WakeReason::Mention);
            }
        }
    }
    if room.channel.kind.is_direct() {
        room.members.keys().for_each(|id| want(*id, WakeReason::Dm));
    }
    if let Some(root) = root {
        want(root.sender, WakeReason::ThreadReply);
    }
    let in_channel = |(id, reason): (MemberId, WakeReason)| {
        let membership = room.members.get(&id)?;
        wants_to_know(membership.notify, reason)
            .then(|| context.state.member(id).cloned())
            .flatten()
            .map(|member| (member, reason))
    };
    wanted.into_iter().filter_map(in_channel).collect()
}

fn wants_to_know(preference: NotifyPreference, reason: WakeReason) -> bool {
    match preference {
        NotifyPreference::All => true,
        NotifyPreference::Mentions => reason == WakeReason::Mention,
        NotifyPreference::None => false,
    }
}

/// Wakes an agent that can be reached, directly or through its daemon. One that cannot has the item in its inbox.
pub fn wake(
    context: &Context<'_>,
    agent: &Member,
    reason: WakeReason,
    events: &mut Vec<Event>,
    fill: impl FnOnce(&mut Wake),
) {
    let through = context.state.carrier_of(agent.id);
    if through.is_none() && context.state.connections_of(agent.id).is_empty() {
        return;
    }
    let mut wake = Wake {
        agent: agent.id,
        agent_name: agent.name.clone(),
        through,
        reason,
        channel: None,
        recent: Vec::new(),
        thread: None,
        task: None,
        delivery: None,
    };
    fill(&mut wake);
    events.push(Event::Woken(Arc::new(wake)));
    if context.state.presence_of(agent.id) == Presence::Sleeping {
        events.push(Event::PresenceChanged {
            member: agent.id,
            workspace: agent.workspace,
            presence: Presence::Online,
        });
    }
}

/// The context every wake of one message shares.
struct Bundle {
    channel: ChannelId,
    recent: Vec<Arc<Message>>,
    thread: Option<WakeThread>,
}

impl Bundle {
    fn load(context: &Context<'_>, trigger: &Arc<Message>, root: Option<&Arc<Message>>) -> Result<Self, Refusal> {
        let earlier = context.history.newest_messages(trigger.channel, WAKE_MESSAGES - 1)?;
        let mut recent: Vec<_> = earlier.into_iter().map(Arc::new).collect();
        recent.push(Arc::clone(trigger));
        let thread = match root {
            Some(root) => Some(load_thread(context, trigger, root)?),
            None => None,
        };
        Ok(Self { channel: trigger.channel, recent, thread })
    }

    fn fill(&self, wake: &mut Wake) {
        wake.channel = Some(self.channel);
        wake.recent.clone_from(&self.recent);
        wake.thread.clone_from(&self.thread);
    }
}

fn load_thread(context: &Context<'_>, trigger: &Arc<Message>, root: &Arc<Message>) -> Result<WakeThread, Refusal> {
    let earlier = context.history.newest_replies(root.id, WAKE_MESSAGES - 1)?;
    let mut replies: Vec<_> = earlier.into_iter().map(Arc::new).collect();
    replies.push(Arc::clone(trigger));
    let root = Arc::new(Message { reply_count: root.reply_count + 1, ..(**root).clone() });
    Ok(WakeThread { root, replies })
}

fn message_notification(
    context: &mut Context<'_>,
    member: &Member,
    message: &Message,
    reason: WakeReason,
) -> Notification {
    let sender = context.state.name_of(message.sender);
    let title = match reason {
        WakeReason::Mention => "You were mentioned".to_owned(),
        WakeReason::ThreadReply => format!("{sender} replied in your thread"),
        _ => format!("New message from {sender}"),
    };
    let body = message.content.chars().take(BODY_CHARS).collect();
    Notification {
        channel: Some(message.channel),
        message: Some(message.id),
        ..notification(context, member.id, reason.as_str(), title, body)
    }
}

/// A notification with nothing special about it; callers fill in what it points to.
pub fn notification(
    context: &mut Context<'_>,
    member: MemberId,
    kind: &str,
    title: String,
    body: String,
) -> Notification {
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
