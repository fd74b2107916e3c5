//! The brake: where agents that go on among themselves are stopped until people say how it continues.
//!
//! Counted per root, and only where agents wake agents: how deep, how often, how often the same two. And in a channel or
//! thread: how many turns agents took without a person between them, which also stops those that need no wake to answer each
//! other. A text beyond a limit is not posted. It becomes a question to the people of the channel, with the text in it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::messages::Voice;
use super::origin::Origin;
use super::windows::{callable, suppressed};
use super::{Context, Decision, attention, deliveries, messages};
use crate::command::{Reply, Send};
use crate::delivery::{Cause, Delivery, DeliveryState, HELD};
use crate::event::Event;
use crate::hash::fnv64;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::Filter;
use crate::refusal::{Code, Refusal};
use crate::state::Room;
use crate::{Actor, Millis, access};

/// Nobody decides in this time: stopped.
const LIFE: Millis = 24 * 60 * 60 * 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    Depth,
    Wakes,
    Pair,
    Row,
}

impl Limit {
    fn in_words(self) -> &'static str {
        match self {
            Self::Depth => "too many agents have handed this on to each other",
            Self::Wakes => "agents have woken each other too often over this",
            Self::Pair => "these two agents have woken each other too often over this",
            Self::Row => "agents have talked for too long without a person between them",
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
    if to.is_empty() || !context.state.is_agent(step.from) {
        return Ok(true);
    }
    let mut cause = cause_of(context, step)?;
    if cause.closed {
        return Ok(false);
    }
    to.iter().for_each(|agent| cause.count(step.from, *agent));
    cause.updated_at = context.now;
    events.push(Event::Saved(cause.into()));
    Ok(true)
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
    let wanted = attention::wanted_by(context.state, room, message, root, None);
    let called: Vec<_> = callable(context.state, message, &wanted).iter().map(|(agent, _)| agent.id).collect();
    exceeded(context, &step, &called)
}

/// Keeps a text back and asks the people of the channel; the author is told that it is held.
pub fn hold(
    context: &mut Context<'_>,
    room: &Room,
    message: &Message,
    limit: Limit,
    answers: Option<&Delivery>,
    becomes: Option<MessageId>,
) -> Result<Decision, Refusal> {
    let refused = Some(Refusal::with_text(Code::Held, format!("held: {}; people decide", limit.in_words())));
    let hash = fingerprint(message);
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
        deliveries::told(Delivery { why, updated_at: context.now, ..delivery.clone() })
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
        kind: ApprovalKind::Brake,
        hash: Some(hash),
        run: None,
        asker: began.map(|message| message.sender).filter(person),
        scope: ApprovalScope::Once,
        expires_at: context.now + LIFE,
        used_at: None,
    })
}

/// The same text of the same chain, sent again, is one question.
fn fingerprint(message: &Message) -> String {
    format!("brake-{}-{:016x}", message.root_id(), fnv64(&[message.content.as_bytes()]))
}

/// What people's word on a held text leads to: it is posted, or the chain ends.
pub fn decided(context: &mut Context<'_>, approval: &Approval) -> Result<Vec<Event>, Refusal> {
    let Ok(held) = serde_json::from_str::<Held>(&approval.payload) else { return Ok(Vec::new()) };
    let step = Step {
        from: approval.agent,
        root: held.root_id,
        depth: 0,
        workspace: approval.workspace,
        channel: Some(held.channel_id),
    };
    let mut events = Vec::new();
    if approval.status == ApprovalStatus::Approved {
        // Stored before the text is: what it wakes is counted on top of it.
        let granted = if approval.scope == ApprovalScope::Run { context.state.wake_rules().grant } else { 0 };
        let cause = cause_of(context, &step)?;
        let cause = Cause { granted: cause.granted.saturating_add(granted), updated_at: context.now, ..cause };
        release(context, approval.agent, held, cause, &mut events)?;
    } else {
        let cause = cause_of(context, &step)?;
        events.push(Event::Saved(Cause { closed: true, updated_at: context.now, ..cause }.into()));
        let actor = Actor::new(approval.agent, Door::Rest);
        let place = held.message_id;
        events.extend(place.into_iter().flat_map(|id| messages::rewrite_if_there(context, actor, id, "stopped")));
        let stopped = held.delivery_id.map(|id| answered_by_it(context, id)).unwrap_or_default();
        events.extend(stopped.iter().map(|delivery| {
            deliveries::told(Delivery { updated_at: context.now, ..suppressed((**delivery).clone()) })
        }));
    }
    Ok(events)
}

fn release(
    context: &mut Context<'_>,
    agent: MemberId,
    held: Held,
    mut cause: Cause,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let actor = Actor::new(agent, Door::Rest);
    let room = access::room_to_speak(context.state, actor, held.channel_id)
        .map_err(|_| Refusal::conflict("the agent can no longer speak in the channel"))?;
    let open = held.delivery_id.filter(|id| context.state.deliveries().get(*id).is_some());
    let released = match held.message_id {
        Some(id) => {
            let finished = messages::finish(context, actor, room, id, held.text)?;
            for delivery in open.map(|delivery| answered_by_it(context, delivery)).unwrap_or_default() {
                let answered = deliveries::end(context, &delivery, DeliveryState::Answered, None, Some(id));
                events.push(deliveries::told(answered));
            }
            finished
        }
        None => {
            let send = Send {
                channel: held.channel_id,
                content: held.text,
                content_type: held.content_type,
                thread: held.thread_id,
                file: held.file_id,
                delivery: open,
                ..Send::default()
            };
            let origin = Origin { root: Some(held.root_id), depth: held.depth, answers: None };
            messages::post(context, actor, room, send, Voice::Released(origin))?
        }
    };
    for event in released.events {
        match event {
            // What the text itself counted, on top of what was granted.
            Event::Saved(crate::record::Record::Cause(counted)) => {
                cause = Cause { granted: cause.granted, ..counted };
            }
            other => events.push(other),
        }
    }
    events.push(Event::Saved(cause.into()));
    Ok(())
}

/// The wakes that a held text answers: one, or all that its run took.
fn answered_by_it(context: &Context<'_>, delivery: DeliveryId) -> Vec<Arc<Delivery>> {
    let Some(delivery) = context.state.deliveries().get(delivery) else { return Vec::new() };
    match delivery.run {
        Some(run) => deliveries::of_run(context, delivery.agent, run),
        None => vec![Arc::clone(delivery)],
    }
}

/// The wake of an agent that another one handed work to beyond the limits.
pub fn stopped_by(limit: Limit, delivery: Delivery) -> Delivery {
    Delivery { state: DeliveryState::Suppressed, why: Some(limit.in_words().to_owned()), ..delivery }
}
