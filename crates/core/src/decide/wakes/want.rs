//! Whom a message wants, and which agents among them it wakes.
//!
//! Four triggers: a mention, a direct message, a reply in the member's thread, an assigned task. One message draws a
//! member's attention once, for the strongest reason. Nobody draws their own.

use std::sync::Arc;

use crate::decide::{Context, threads};
use crate::delivery::WakeReason;
use crate::ids::*;
use crate::mention::{mentioned_names, spoken_names};
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::state::{Room, State};
use crate::{Actor, access};

pub type Wanted = (Arc<Member>, WakeReason);

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
    let mut called = callable(state, &message, &wanted);
    let most = state.wake_rules().mentions as usize;
    called.truncate(if most == 0 { usize::MAX } else { most });
    Ok(called)
}

/// The members a message wants, as [`wanted_by`] has it; the agent whose thread it stands in is looked up.
pub fn by_message(
    context: &Context<'_>,
    room: &Room,
    message: &Message,
    root: Option<&Message>,
) -> Result<Vec<Wanted>, Refusal> {
    let worker = worker_in(context, message, root)?;
    Ok(wanted_by(context.state, room, message, root, worker))
}

/// The agents among those a message wants that it wakes. Agents wake each other only by name, or face to face.
pub fn callable(state: &State, message: &Message, wanted: &[Wanted]) -> Vec<Wanted> {
    let by_agent = state.is_agent(message.sender);
    let explicit = |reason: WakeReason| matches!(reason, WakeReason::Mention | WakeReason::Dm);
    let wakes =
        |(member, reason): &&Wanted| member.is_agent() && member.guest.is_none() && (!by_agent || explicit(*reason));
    wanted.iter().filter(wakes).cloned().collect()
}

/// The agent whose thread a person replies in. Agents speak to each other by name only.
fn worker_in(context: &Context<'_>, message: &Message, root: Option<&Message>) -> Result<Option<MemberId>, Refusal> {
    match root {
        Some(root) if !context.state.is_agent(message.sender) => threads::worker_in(context, root.id),
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
