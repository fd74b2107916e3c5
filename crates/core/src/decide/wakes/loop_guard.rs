//! The loop guard: where agents that go on among themselves are stopped until people say how it continues.
//!
//! Counted per root, and only where agents wake agents: how deep, how often, how often the same two. And in a channel or
//! thread: how many turns agents took without a person between them, which also stops those that need no wake to answer each
//! other. And per agent, whatever it wakes others for: how often of its own accord, with no person having begun it or spoken to
//! it since; fresh channels, threads and tasks do not begin that anew. A text beyond a limit is not posted but held back
//! ([`super::hold`]).

use serde::{Deserialize, Serialize};

use super::want::{callable, wanted_by};
use crate::Millis;
use crate::decide::Context;
use crate::delivery::{Cause, Delivery, DeliveryState};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::Filter;
use crate::refusal::{Code, Refusal};
use crate::state::Room;

/// Nobody decides in this time: stopped.
pub const QUESTION_LIFE: Millis = 24 * 60 * 60 * 1000;
/// How many of an agent's wakes are looked at to find out what it was asked.
const MAX_LOOKED_AT: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    Depth,
    Wakes,
    Pair,
    Row,
    Alone,
}

impl Limit {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Depth => "too many agents have handed this on to each other",
            Self::Wakes => "agents have woken each other too often over this",
            Self::Pair => "these two agents have woken each other too often over this",
            Self::Row => "agents have talked for too long without a person between them",
            Self::Alone => "this agent has woken others too often without a person asking for it",
        }
    }
}

/// One step of a chain: who does it, where it came from.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub from: MemberId,
    pub root: MessageId,
    pub depth: u32,
    pub workspace: WorkspaceId,
    pub channel: Option<ChannelId>,
}

impl Step {
    pub fn of_message(message: &Message, workspace: WorkspaceId) -> Self {
        Self {
            from: message.sender,
            root: message.root_id(),
            depth: message.depth,
            workspace,
            channel: Some(message.channel),
        }
    }
}

/// Which limit a step to these agents would pass, if any; none once people have stopped the chain.
pub fn exceeded(context: &Context<'_>, step: &Step, to: &[MemberId]) -> Result<Option<Limit>, Refusal> {
    if to.is_empty() {
        return Ok(None);
    }
    let cause = cause_of(context, step)?;
    let rules = context.state.wake_rules();
    let over = |count: u32, limit: u32| limit > 0 && count > limit.saturating_add(cause.granted);
    let wakes = u32::try_from(to.len()).unwrap_or(u32::MAX);
    if !cause.closed && is_alone(context, step)? && wakes_too_often(context, step, wakes)? {
        return Ok(Some(Limit::Alone));
    }
    let pair = |agent: &MemberId| over(cause.wakes_between(step.from, *agent) + 1, rules.pair);
    Ok(if cause.closed {
        None
    } else if over(step.depth, rules.depth) {
        Some(Limit::Depth)
    } else if over(cause.wakes.saturating_add(wakes), rules.wakes) {
        Some(Limit::Wakes)
    } else if to.iter().any(pair) {
        Some(Limit::Pair)
    } else {
        None
    })
}

/// Notes that an agent wakes these agents; false when people stopped the chain. What people do is not counted.
pub fn count(context: &Context<'_>, step: &Step, to: &[MemberId], events: &mut Vec<Event>) -> Result<bool, Refusal> {
    if to.is_empty() {
        return Ok(true);
    }
    if !context.state.is_agent(step.from) {
        spoken_to(context, to, events)?;
        return Ok(true);
    }
    let cause = cause_of(context, step)?;
    let alone = if is_alone(context, step)? { Some(alone_of(context, step)?) } else { None };
    if cause.closed || alone.as_ref().is_some_and(|alone| alone.closed) {
        return Ok(false);
    }
    for mut counted in std::iter::once(cause).chain(alone) {
        to.iter().for_each(|agent| counted.count(step.from, *agent));
        counted.updated_at = context.now;
        events.push(Event::Saved(counted.into()));
    }
    Ok(true)
}

/// Whether no person asked for this: it began with an agent's own message or task, or with what a person said to others some
/// time ago, and which the agent took up by itself.
fn is_alone(context: &Context<'_>, step: &Step) -> Result<bool, Refusal> {
    let Some(began) = context.history.message(step.root)? else { return Ok(true) };
    if context.state.is_agent(began.sender) {
        return Ok(true);
    }
    let is_recent = context.now - began.created_at < context.state.wake_rules().nearby;
    Ok(!is_recent && !was_woken_for(context, step)?)
}

/// Whether the agent was ever woken because of the same root, as far as its newest wakes tell.
fn was_woken_for(context: &Context<'_>, step: &Step) -> Result<bool, Refusal> {
    let same = |delivery: &Delivery| delivery.root == step.root;
    if context.state.deliveries().of_agent(step.from).any(|delivery| same(delivery)) {
        return Ok(true);
    }
    let newest = context.history.list::<Delivery>(&Filter::owner(step.from).limit(MAX_LOOKED_AT))?;
    Ok(newest.iter().any(same))
}

/// What an agent did of its own accord lately. It is kept like the root of a chain, under the agent's own number: the ids of
/// messages and members are never the same.
fn alone_of(context: &Context<'_>, step: &Step) -> Result<Cause, Refusal> {
    let id = MessageId(step.from.0);
    let fresh = || Cause::new(id, step.workspace, None, context.now);
    let lasts = |cause: &Cause| if cause.closed { QUESTION_LIFE } else { context.state.wake_rules().alone_for };
    let known = context.history.get::<Cause>(id)?;
    Ok(known.filter(|cause| context.now - cause.created_at < lasts(cause)).unwrap_or_else(fresh))
}

fn wakes_too_often(context: &Context<'_>, step: &Step, more: u32) -> Result<bool, Refusal> {
    let most = context.state.wake_rules().alone;
    let alone = alone_of(context, step)?;
    Ok(most > 0 && !alone.closed && alone.wakes.saturating_add(more) > most.saturating_add(alone.granted))
}

/// A person wants something of these agents: what they did of their own accord before is not counted any more.
fn spoken_to(context: &Context<'_>, agents: &[MemberId], events: &mut Vec<Event>) -> Result<(), Refusal> {
    for agent in agents {
        let known = context.history.get::<Cause>(MessageId(agent.0))?;
        events.extend(known.map(|cause| Event::Removed(cause.into())));
    }
    Ok(())
}

/// A sentence that an agent hands to whoever should take it counts like a wake.
pub fn on_sentence(context: &Context<'_>, speaker: &Member, events: &mut Vec<Event>) -> Result<(), Refusal> {
    if !speaker.is_agent() {
        return Ok(());
    }
    let root = MessageId::NONE;
    let step = Step { from: speaker.id, root, depth: 0, workspace: speaker.workspace, channel: None };
    let mut alone = alone_of(context, &step)?;
    if alone.closed || wakes_too_often(context, &step, 1)? {
        return Err(Refusal::with_text(Code::Held, format!("held: {}", Limit::Alone.in_words())));
    }
    alone.wakes += 1;
    alone.updated_at = context.now;
    events.push(Event::Saved(alone.into()));
    Ok(())
}

fn cause_of(context: &Context<'_>, step: &Step) -> Result<Cause, Refusal> {
    let known = context.history.get::<Cause>(step.root)?;
    Ok(known.unwrap_or_else(|| Cause::new(step.root, step.workspace, step.channel, context.now)))
}

/// What is counted for a limit so far.
pub fn counted_for(context: &Context<'_>, limit: Limit, step: &Step) -> Result<Cause, Refusal> {
    match limit {
        Limit::Alone => alone_of(context, step),
        Limit::Depth | Limit::Wakes | Limit::Pair | Limit::Row => cause_of(context, step),
    }
}

/// Why an agent's text may not be posted now, if so. `root` is the message at the top of its thread.
pub fn limit_of(
    context: &Context<'_>,
    room: &Room,
    message: &Message,
    root: Option<&Message>,
) -> Result<Option<Limit>, Refusal> {
    if !context.state.is_agent(message.sender) {
        return Ok(None);
    }
    let step = Step::of_message(message, room.channel.workspace);
    let turns = room.talk.turns_with(message.thread, message.sender);
    let most = context.state.wake_rules().row;
    if message.root.is_some() && most > 0 && turns > most {
        let cause = cause_of(context, &step)?;
        if turns > most.saturating_add(cause.granted) {
            return Ok(Some(Limit::Row));
        }
    }
    let wanted = wanted_by(context.state, room, message, root, None);
    let called: Vec<_> = callable(context.state, message, &wanted).iter().map(|(agent, _)| agent.id).collect();
    exceeded(context, &step, &called)
}

/// The wake of an agent that another one handed work to beyond the limits.
pub fn stopped_by(limit: Limit, delivery: Delivery) -> Delivery {
    Delivery { state: DeliveryState::Suppressed, why: Some(limit.in_words().to_owned()), ..delivery }
}
