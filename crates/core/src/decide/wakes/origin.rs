//! Where a message comes from: which wake it answers, and the root and depth it inherits.
//!
//! What people say begins something new. What an agent says comes from the wake it answers; else from what it replies to in
//! a thread; else from what somebody else said in the channel just before; else it begins something new as well.
//!
//! A message answers the oldest open wake of its own place: the channel, or its thread. There are agents that know nothing of
//! threads and say everything in the channel: where nothing in the channel itself waits for an answer, what they say is taken for
//! the answer to the thread that wants them, if only one does ([`elsewhere`]).

use std::sync::Arc;

use super::steps::own_open;
use crate::decide::Context;
use crate::delivery::{Delivery, DeliveryState};
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::Message;
use crate::record::Filter;
use crate::refusal::Refusal;
use crate::state::Room;
use crate::{Actor, Millis};

/// How many wakes of an agent are looked through for the one that it passed on.
const MAX_RECENT_WAKES: usize = 100;

#[derive(Default)]
pub struct Origin {
    /// None is the message itself.
    pub root: Option<MessageId>,
    pub depth: u32,
    /// The open wake that is answered.
    pub answers: Option<Arc<Delivery>>,
    /// One of several is answered: the oldest of them for which nothing is counted yet.
    pub may_answer: Option<Arc<Delivery>>,
}

impl Origin {
    pub fn of_message(
        context: &Context<'_>,
        actor: Actor,
        room: &Room,
        named: Option<DeliveryId>,
        thread: Option<&Message>,
    ) -> Result<Self, Refusal> {
        if !context.state.is_agent(actor.member) {
            return Ok(Self::default());
        }
        let channel = room.channel.id;
        let answers = match named {
            Some(id) => Some(own_here(context, actor, channel, id)?),
            None => oldest_open(context, actor.member, channel, thread.map(|root| root.id)).cloned(),
        };
        if let Some(delivery) = answers {
            return Ok(Self::answering(delivery));
        }
        let elsewhere = if thread.is_none() { elsewhere(context, actor.member, channel) } else { None };
        Ok(match elsewhere {
            Some((delivery, true)) => Self::answering(delivery),
            Some((delivery, false)) => {
                let origin = Self::after(delivery.root, delivery.depth);
                Self { may_answer: Some(delivery), ..origin }
            }
            None => thread_or_nearby(context, actor.member, room, thread),
        })
    }

    fn answering(delivery: Arc<Delivery>) -> Self {
        let origin = Self::after(delivery.root, delivery.depth);
        Self { answers: Some(delivery), ..origin }
    }

    /// What goes on where an agent's message had to end: it has the same root, and no wake is answered by it.
    pub fn of_more(context: &Context<'_>, actor: Actor, room: &Room, thread: Option<&Message>) -> Self {
        match context.state.is_agent(actor.member) {
            true => thread_or_nearby(context, actor.member, room, thread),
            false => Self::default(),
        }
    }

    /// What an agent does in a channel without saying anything, such as handing out a task.
    pub fn of_deed(context: &Context<'_>, agent: MemberId, room: &Room) -> Self {
        let in_channel = oldest_open(context, agent, room.channel.id, None).cloned();
        let wanted = in_channel.or_else(|| elsewhere(context, agent, room.channel.id).map(|(delivery, _)| delivery));
        match wanted {
            Some(delivery) => Self::after(delivery.root, delivery.depth),
            None => thread_or_nearby(context, agent, room, None),
        }
    }

    fn after(root: MessageId, depth: u32) -> Self {
        Self { root: Some(root), depth: depth.saturating_add(1), ..Self::default() }
    }
}

fn thread_or_nearby(context: &Context<'_>, agent: MemberId, room: &Room, thread: Option<&Message>) -> Origin {
    if let Some(message) = thread {
        // An agent that goes on in its own thread does not get away from where that came from.
        let own = message.sender == agent && message.root.is_none();
        return if own { Origin::default() } else { Origin::after(message.root_id(), message.depth) };
    }
    let since: Millis = context.now - context.state.wake_rules().nearby;
    match room.talk.heard_by(agent).filter(|heard| heard.at >= since) {
        Some(heard) => Origin::after(heard.root, heard.depth),
        None => Origin::default(),
    }
}

fn own_here(context: &Context<'_>, actor: Actor, channel: ChannelId, id: DeliveryId) -> Result<Arc<Delivery>, Refusal> {
    let delivery = own_open(context, actor, id)?;
    if delivery.channel != Some(channel) {
        return Err(Refusal::bad_request("this wake belongs to another channel"));
    }
    Ok(delivery)
}

/// What a message without a word on it answers. A run answers its own wakes.
fn oldest_open<'a>(
    context: &Context<'a>,
    agent: MemberId,
    channel: ChannelId,
    thread: Option<MessageId>,
) -> Option<&'a Arc<Delivery>> {
    let below = |delivery: &Delivery| thread.is_some_and(|root| delivery.messages.contains(&root));
    let fits = |delivery: &&Arc<Delivery>| {
        delivery.channel == Some(channel) && delivery.run.is_none() && (delivery.thread == thread || below(delivery))
    };
    context.state.deliveries().of_agent(agent).find(fits)
}

/// The wake of a thread that a message in the channel answers, and whether that is certain: no other wake of the agent is open
/// there. What an agent was not told yet it does not answer in another place, and an agent with a run says what that is about.
fn elsewhere(context: &Context<'_>, agent: MemberId, channel: ChannelId) -> Option<(Arc<Delivery>, bool)> {
    let open: Vec<_> = waiting(context, agent, channel).collect();
    if context.state.deliveries().of_agent(agent).any(|one| one.channel == Some(channel) && one.run.is_some()) {
        return None;
    }
    let oldest = open.iter().find(|delivery| is_of_thread(delivery) && delivery.counted().is_none())?;
    Some((Arc::clone(oldest), open.len() == 1))
}

/// The open wakes of an agent in a channel that wait for an answer, oldest first.
pub fn waiting<'a>(
    context: &Context<'a>,
    agent: MemberId,
    channel: ChannelId,
) -> impl Iterator<Item = &'a Arc<Delivery>> + use<'a> {
    let all = context.state.deliveries().of_agent(agent);
    all.filter(move |delivery| delivery.channel == Some(channel) && delivery.run.is_none() && !delivery.is_held())
}

/// A wake of a thread that was sent.
pub fn is_of_thread(delivery: &Delivery) -> bool {
    delivery.thread.is_some() && delivery.state != DeliveryState::Queued
}

/// The person whose words made an agent work: who woke it, else who woke the agent that did, wake by wake. The thread it was said
/// in counts for nothing here, although the loop guard goes by it: an agent picks its threads, and must not pick who decides.
pub fn person_behind(context: &Context<'_>, delivery: &Delivery) -> Result<Option<MemberId>, Refusal> {
    let mut step = delivery.clone();
    // Each step is less deep than the one before, so this ends.
    while context.state.is_agent(step.sender) {
        let filter = Filter::owner(step.sender).limit(MAX_RECENT_WAKES);
        let led_here = |wake: &Delivery| wake.root == step.root && wake.depth < step.depth && wake.id < step.id;
        match context.history.list::<Delivery>(&filter)?.into_iter().find(led_here) {
            Some(wake) => step = wake,
            None => return Ok(None),
        }
    }
    Ok(context.state.member(step.sender).map(|person| person.id))
}

/// The wake an agent seems to be working on in a channel: the oldest it was sent.
pub fn being_worked_on<'a>(context: &Context<'a>, agent: MemberId, channel: ChannelId) -> Option<&'a Arc<Delivery>> {
    let mut sent = context.state.deliveries().of_agent(agent).filter(|delivery| !delivery.is_collecting());
    sent.find(|delivery| delivery.channel == Some(channel) && delivery.run.is_none())
}
