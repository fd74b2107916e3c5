//! The loop guard: where agents that go on among themselves are stopped until people say how it continues.
//!
//! Counted per root, and only where agents wake agents: how deep, how often, how often the same two. And in a channel or
//! thread: how many turns agents took without a person between them, which also stops those that need no wake to answer each
//! other. And per agent, whatever it wakes others for: how often of its own accord, with no person having begun it or spoken to
//! it since; fresh channels, threads and tasks do not begin that anew. A text beyond a limit is not posted. It becomes a question to the people of the channel, with the text in it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::origin::Origin;
use super::steps::{answered, of_run, suppressed, told};
use super::want::{callable, wanted_by};
use crate::Millis;
use crate::command::Reply;
use crate::decide::{Context, Decision};
use crate::delivery::{Cause, Delivery, DeliveryState, HELD};
use crate::event::Event;
use crate::hash::fnv64;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::{Filter, Record};
use crate::refusal::{Code, Refusal};
use crate::state::Room;

/// Nobody decides in this time: stopped.
const LIFE: Millis = 24 * 60 * 60 * 1000;
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
    fn in_words(self) -> &'static str {
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
    let lasts = |cause: &Cause| if cause.closed { LIFE } else { context.state.wake_rules().alone_for };
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

/// The text that waits, as people are shown it and as it is posted when they let it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Held {
    pub root_id: MessageId,
    pub limit: Limit,
    pub channel_id: ChannelId,
    pub thread_id: Option<MessageId>,
    pub text: String,
    pub depth: u32,
    #[serde(default)]
    pub content_type: ContentType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<FileId>,
    /// The wake it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<DeliveryId>,
    /// The message whose text it becomes, where it is not a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
}

impl Held {
    pub fn of(approval: &Approval) -> Option<Self> {
        serde_json::from_str(&approval.payload).ok()
    }

    pub fn origin(&self) -> Origin {
        Origin { root: Some(self.root_id), depth: self.depth, answers: None }
    }

    /// The wake it answers, while that is open.
    pub fn open_delivery(&self, context: &Context<'_>) -> Option<DeliveryId> {
        self.delivery_id.filter(|id| context.state.deliveries().get(*id).is_some())
    }

    /// The wakes it answers, now that it stands in this message.
    pub fn answered(&self, context: &Context<'_>, reply: MessageId) -> Vec<Event> {
        self.answers(context).iter().map(|delivery| answered(context, delivery, reply)).collect()
    }

    /// The wakes it would have answered, now that it will never be said.
    pub fn suppressed(&self, context: &Context<'_>) -> Vec<Event> {
        let stopped =
            |delivery: &Arc<Delivery>| Delivery { updated_at: context.now, ..suppressed((**delivery).clone()) };
        self.answers(context).iter().map(|delivery| told(stopped(delivery))).collect()
    }

    /// One open wake, or all that its run took.
    fn answers(&self, context: &Context<'_>) -> Vec<Arc<Delivery>> {
        let Some(delivery) = self.delivery_id.and_then(|id| context.state.deliveries().get(id)) else {
            return Vec::new();
        };
        match delivery.run {
            Some(run) => of_run(context, delivery.agent, run),
            None => vec![Arc::clone(delivery)],
        }
    }
}

/// Keeps an agent's text back where agents have gone on among themselves for too long, and asks the people of the channel; the
/// author is told that it is held. None where the text may be posted. `root` is the message at the top of its thread, `becomes`
/// the message whose text it would be, where it is not a new one.
pub fn hold_back(
    context: &mut Context<'_>,
    room: &Room,
    message: &Message,
    root: Option<&Message>,
    answers: Option<&Delivery>,
    becomes: Option<MessageId>,
) -> Result<Option<Decision>, Refusal> {
    match limit_of(context, room, message, root)? {
        Some(limit) => hold(context, room, message, limit, answers, becomes).map(Some),
        None => Ok(None),
    }
}

/// Why an agent's text may not be posted now, if so. `root` is the message at the top of its thread.
fn limit_of(
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

fn hold(
    context: &mut Context<'_>,
    room: &Room,
    message: &Message,
    limit: Limit,
    answers: Option<&Delivery>,
    becomes: Option<MessageId>,
) -> Result<Decision, Refusal> {
    let refused = Some(Refusal::with_text(Code::Held, format!("held: {}; people decide", limit.in_words())));
    let hash = fingerprint(message, limit);
    let filter = Filter::owner(message.sender).named(&*hash).limit(1);
    let known = context.history.first::<Approval>(&filter)?;
    if known.is_some_and(|known| known.status == ApprovalStatus::Pending) {
        return Ok(Decision { refused, ..Decision::nothing(Reply::Done) });
    }
    let held = Held {
        root_id: message.root_id(),
        limit,
        channel_id: message.channel,
        thread_id: message.thread,
        text: message.content.clone(),
        depth: message.depth,
        content_type: message.content_type,
        file_id: message.file,
        delivery_id: answers.map(|delivery| delivery.id),
        message_id: becomes,
    };
    let approval = question(context, room, message.sender, &held, hash)?;
    let mut events = vec![Event::Saved(approval.into())];
    events.extend(answers.map(|delivery| {
        let why = Some(HELD.to_owned());
        told(Delivery { why, updated_at: context.now, ..delivery.clone() })
    }));
    Ok(Decision { refused, ..Decision::new(Reply::Done, events) })
}

fn question(
    context: &mut Context<'_>,
    room: &Room,
    agent: MemberId,
    held: &Held,
    hash: String,
) -> Result<Approval, Refusal> {
    let began = context.history.message(held.root_id)?;
    let person = |id: &MemberId| !context.state.is_agent(*id);
    Ok(Approval {
        id: ApprovalId(context.new_id()),
        workspace: room.channel.workspace,
        channel: Some(room.channel.id),
        agent,
        action: "continue".to_owned(),
        // Our own types have string keys and no failing serializers, so this cannot fail.
        payload: serde_json::to_string(held).unwrap_or_default(),
        status: ApprovalStatus::Pending,
        reviewer: None,
        note: None,
        created_at: context.now,
        reviewed_at: None,
        kind: ApprovalKind::LoopGuard,
        hash: Some(hash),
        run: None,
        asker: began.map(|message| message.sender).filter(person),
        scope: ApprovalScope::Once,
        expires_at: context.now + LIFE,
        used_at: None,
    })
}

/// The same text of the same chain, sent again, is one question; so is all that one agent does of its own accord.
fn fingerprint(message: &Message, limit: Limit) -> String {
    if limit == Limit::Alone {
        return format!("brake-alone-{}", message.sender);
    }
    format!("brake-{}-{:016x}", message.root_id(), fnv64(&[message.content.as_bytes()]))
}

/// Where the held text came from, with what people grant on top of its limits if they say to continue.
pub fn on_granted(context: &Context<'_>, approval: &Approval, held: &Held) -> Result<Cause, Refusal> {
    let cause = cause_of_held(context, approval, held)?;
    let more = if approval.scope == ApprovalScope::Run { context.state.wake_rules().grant } else { 0 };
    Ok(Cause { granted: cause.granted.saturating_add(more), updated_at: context.now, ..cause })
}

/// A held text was posted: what its own wakes counted comes on top of what was granted.
pub fn on_release(mut granted: Cause, released: Vec<Event>, events: &mut Vec<Event>) {
    for event in released {
        match event {
            Event::Saved(Record::Cause(counted)) if counted.id == granted.id => {
                granted = Cause { granted: granted.granted, ..counted };
            }
            other => events.push(other),
        }
    }
    events.push(Event::Saved(granted.into()));
}

/// People stopped the chain: no agent wakes an agent in it any more.
pub fn on_stopped(context: &Context<'_>, approval: &Approval, held: &Held) -> Result<Event, Refusal> {
    let cause = cause_of_held(context, approval, held)?;
    let created_at = if held.limit == Limit::Alone { context.now } else { cause.created_at };
    Ok(Event::Saved(Cause { closed: true, created_at, updated_at: context.now, ..cause }.into()))
}

fn cause_of_held(context: &Context<'_>, approval: &Approval, held: &Held) -> Result<Cause, Refusal> {
    let step = Step {
        from: approval.agent,
        root: held.root_id,
        depth: 0,
        workspace: approval.workspace,
        channel: Some(held.channel_id),
    };
    match held.limit {
        Limit::Alone => alone_of(context, &step),
        Limit::Depth | Limit::Wakes | Limit::Pair | Limit::Row => cause_of(context, &step),
    }
}

/// The wake of an agent that another one handed work to beyond the limits.
pub fn stopped_by(limit: Limit, delivery: Delivery) -> Delivery {
    Delivery { state: DeliveryState::Suppressed, why: Some(limit.in_words().to_owned()), ..delivery }
}
