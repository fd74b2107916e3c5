//! Who is wanted by a message: notifications for people, inbox items and wakes for agents.
//!
//! The item is written with the message; the wake follows when the sender has paused ([`super::windows`]).
//!
//! Four triggers: a mention, a direct message, a reply in the member's thread, an assigned task. One message draws a
//! member's attention once, for the strongest reason. Nobody draws their own.

use std::sync::Arc;

use super::windows::{self, Wanted};
use super::{Context, runs};
use crate::event::{Event, Wake, WakeReason};
use crate::ids::*;
use crate::mention::{mentioned_names, spoken_names};
use crate::model::*;
use crate::record::Record;
use crate::refusal::{self, Refusal};
use crate::state::{Room, State};
use crate::{Actor, access};

/// Adds what a new message means for those it wants.
pub fn draw(
    context: &mut Context<'_>,
    room: &Room,
    message: &Message,
    root: Option<&Message>,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let worker = worker_in(context, message, root)?;
    let wanted = wanted_by(context.state, room, message, root, worker);
    for (member, reason) in &wanted {
        let notification = message_notification(context, member, message, *reason);
        events.push(Event::Saved(Record::Notification(notification)));
    }
    windows::collect(context, room, message, &wanted, events)
}

/// The agents that a text of this member would wake, each with the reason.
pub fn whom_it_wakes(
    state: &State,
    actor: Actor,
    channel: ChannelId,
    content: String,
    root: Option<&Message>,
    worker: Option<MemberId>,
) -> Result<Vec<Wanted>, Refusal> {
    let room = access::room_to_speak(state, actor, channel)?;
    if root.is_some_and(|root| root.channel != channel) {
        return Err(refusal::MESSAGE_NOT_FOUND);
    }
    let message = Message::unsent(channel, actor.member, content);
    let wanted = wanted_by(state, room, &message, root, worker);
    let mut called = windows::callable(state, &message, &wanted);
    let most = state.wake_rules().mentions as usize;
    called.truncate(if most == 0 { usize::MAX } else { most });
    Ok(called)
}

/// The agent whose thread a person replies in. Agents speak to each other by name only.
pub fn worker_in(
    context: &Context<'_>,
    message: &Message,
    root: Option<&Message>,
) -> Result<Option<MemberId>, Refusal> {
    match root {
        Some(root) if !context.state.is_agent(message.sender) => runs::worker_in(context, root.id),
        _ => Ok(None),
    }
}

/// The members a message wants, each with the strongest reason; only members of its channel ever are. `worker` is the
/// agent whose thread it stands in.
pub fn wanted_by(
    state: &State,
    room: &Room,
    message: &Message,
    root: Option<&Message>,
    worker: Option<MemberId>,
) -> Vec<Wanted> {
    let mut wanted: Vec<(MemberId, WakeReason)> = Vec::new();
    let mut want = |id: MemberId, reason: WakeReason| {
        if id != message.sender && !wanted.iter().any(|(known, _)| *known == id) {
            wanted.push((id, reason));
        }
    };
    if message.content.contains('@') {
        // What an agent quotes or shows as code calls nobody.
        let by_agent = state.is_agent(message.sender);
        let names = if by_agent { spoken_names(&message.content) } else { mentioned_names(&message.content) };
        for name in names {
            if let Some(member) = state.member_named(room.channel.workspace, name) {
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
    // Whoever names an agent in a thread speaks to that one.
    let names_an_agent = wanted.iter().any(|(id, reason)| *reason == WakeReason::Mention && state.is_agent(*id));
    let is_wanted = |id: MemberId| id == message.sender || wanted.iter().any(|(known, _)| *known == id);
    if let Some(worker) = worker.filter(|worker| !names_an_agent && !is_wanted(*worker)) {
        wanted.push((worker, WakeReason::ThreadReply));
    }
    let in_channel = |(id, reason): (MemberId, WakeReason)| {
        let membership = room.members.get(&id)?;
        wants_to_know(membership.notify, reason)
            .then(|| state.member(id).cloned())
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

/// Wakes an agent that can be reached, directly or through its daemon; `through` where a daemon is just taking it up.
pub fn wake(
    context: &Context<'_>,
    agent: &Member,
    reason: WakeReason,
    through: Option<ConnectionId>,
    events: &mut Vec<Event>,
    fill: impl FnOnce(&mut Wake),
) {
    let through = through.or_else(|| context.state.carrier_of(agent.id));
    if through.is_none() && !context.state.is_reachable(agent.id) {
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
        session: None,
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

pub fn message_notification(
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
    let body = message.excerpt();
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
