//! Wakes and what comes of them: taken, answered, passed on, failed, taken back. Who may say which.
//!
//! Every step is a pure change of one [`Delivery`]; callers store it as [`Event::Saved`] beside what else they decide.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Context, Decision, Outcome, attention, brake, origin, runs, sending, short_text, windows};
use crate::command::Reply;
use crate::delivery::{Delivery, DeliveryState};
use crate::event::{Event, WakeReason};
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::Record;
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

const MAX_WHY_CHARS: usize = 500;

/// The agent takes a wake, for a run if there is one. Taken twice for the same run is taken once.
pub fn admit(context: &Context<'_>, actor: Actor, id: DeliveryId, run: Option<RunId>) -> Result<Delivery, Refusal> {
    let delivery = own_open(context, actor, id)?;
    if delivery.run.is_some() && run.is_some() && delivery.run != run {
        return Err(Refusal::conflict("this wake has a run already"));
    }
    Ok(Delivery {
        state: DeliveryState::Admitted,
        why: None,
        run: run.or(delivery.run),
        updated_at: context.now,
        ..(*delivery).clone()
    })
}

/// How an open wake ends.
pub fn end(
    context: &Context<'_>,
    delivery: &Delivery,
    state: DeliveryState,
    why: Option<String>,
    reply: Option<MessageId>,
) -> Delivery {
    Delivery { state, why, reply: reply.or(delivery.reply), updated_at: context.now, ..delivery.clone() }
}

/// All wakes that went into a run, which end with it.
pub fn of_run(context: &Context<'_>, agent: MemberId, run: RunId) -> Vec<Arc<Delivery>> {
    context.state.deliveries().of_run(agent, run).cloned().collect()
}

/// A wake of this agent that is not over; a stranger's does not exist, a finished one says how it ended.
pub fn own_open(context: &Context<'_>, actor: Actor, id: DeliveryId) -> Result<Arc<Delivery>, Refusal> {
    let agent = access::agent(context.state, actor)?;
    match context.state.deliveries().get(id) {
        Some(delivery) if delivery.agent == agent.id => return Ok(Arc::clone(delivery)),
        Some(delivery) => return Err(not_ones_own(context, agent, delivery)),
        None => {}
    }
    let delivery = context.history.get::<Delivery>(id)?.ok_or(refusal::DELIVERY_NOT_FOUND)?;
    if delivery.agent != agent.id {
        return Err(not_ones_own(context, agent, &delivery));
    }
    Err(match delivery.state {
        DeliveryState::Answered => refusal::DELIVERY_ANSWERED,
        state => Refusal::conflict(format!("this wake is over ({})", state.as_str())),
    })
}

fn not_ones_own(context: &Context<'_>, member: &Member, delivery: &Delivery) -> Refusal {
    let seen = access::may_see_within(context.state, member, delivery.workspace, delivery.channel);
    if seen { refusal::NOT_YOUR_DELIVERY } else { refusal::DELIVERY_NOT_FOUND }
}

pub(super) fn pass(context: &mut Context<'_>, actor: Actor, id: DeliveryId, why: Option<String>) -> Outcome {
    let delivery = own_open(context, actor, id)?;
    let why = why.filter(|why| !why.trim().is_empty()).map(|why| short_text(&why, "why", MAX_WHY_CHARS)).transpose()?;
    Ok(saved(end(context, &delivery, DeliveryState::Passed, why, None)))
}

pub(super) fn fail(context: &mut Context<'_>, actor: Actor, id: DeliveryId, why: &str) -> Outcome {
    let delivery = own_open(context, actor, id)?;
    let why = short_text(why, "why", MAX_WHY_CHARS)?;
    let failed = end(context, &delivery, DeliveryState::Failed, Some(why), None);
    let notice = Event::Saved(notice(context, &failed, "delivery_failed").into());
    let mut decision = saved(failed);
    decision.events.push(notice);
    Ok(decision)
}

pub(super) fn join(context: &mut Context<'_>, actor: Actor, id: DeliveryId, run: RunId) -> Outcome {
    let run = runs::own_run(context, actor, run)?;
    let admitted = admit(context, actor, id, Some(run.id))?;
    if run.is_open() {
        return Ok(saved(admitted));
    }
    // It was said to a run that has ended meanwhile, and ends as that did.
    let (state, why) = runs::end_of_delivery(&run);
    Ok(saved(end(context, &admitted, state, why, Some(run.message))))
}

pub(super) fn cancel(context: &mut Context<'_>, actor: Actor, id: DeliveryId) -> Outcome {
    let member = access::member(context.state, actor)?;
    let visible =
        |delivery: &Delivery| access::may_see_within(context.state, member, delivery.workspace, delivery.channel);
    let delivery = context.history.get::<Delivery>(id)?.filter(visible).ok_or(refusal::DELIVERY_NOT_FOUND)?;
    if delivery.sender != member.id && member.role < Role::Admin {
        return Err(refusal::NOT_AUTHORIZED);
    }
    if !delivery.is_open() {
        return Err(Refusal::conflict(format!("this wake is over ({})", delivery.state.as_str())));
    }
    let why = format!("taken back by {}", member.display_name());
    Ok(saved(end(context, &delivery, DeliveryState::Cancelled, Some(why), None)))
}

fn saved(delivery: Delivery) -> Decision {
    Decision::saved(Reply::Delivery(delivery.clone()), delivery)
}

/// What the sender is told when nothing comes back. It wakes nobody, whoever the sender is.
pub(super) fn notice(context: &mut Context<'_>, delivery: &Delivery, kind: &str) -> Notification {
    let agent = context.state.name_of(delivery.agent).to_owned();
    let title = match delivery.state {
        DeliveryState::Failed => format!("{agent} could not take your message"),
        _ => format!("{agent} did not answer"),
    };
    let body = delivery.why.clone().unwrap_or_default();
    Notification {
        channel: delivery.channel,
        message: delivery.messages.last().copied(),
        payload: Some(format!("{{\"delivery_id\":\"{}\"}}", delivery.id)),
        ..attention::notification(context, delivery.sender, kind, title, body)
    }
}

/// A changed delivery as an event.
pub fn told(delivery: Delivery) -> Event {
    Event::Saved(Record::Delivery(delivery))
}

/// It is too late: its sender is told.
pub(super) fn expire(context: &mut Context<'_>, delivery: &Delivery, why: &str, events: &mut Vec<Event>) {
    let expired = end(context, delivery, DeliveryState::Expired, Some(why.to_owned()), None);
    let notice = notice(context, &expired, "delivery_expired");
    events.push(told(expired));
    events.push(Event::Saved(notice.into()));
}

/// A task is handed to an agent: it is woken at once, for nothing is added to a task by saying more.
pub(super) fn hand_task(
    context: &mut Context<'_>,
    actor: Actor,
    agent: MemberId,
    task: &Task,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let began = task.message.unwrap_or(MessageId(task.id.0));
    let room = task.channel.and_then(|channel| context.state.channel(channel));
    let by_agent = room.filter(|_| context.state.is_agent(actor.member));
    let origin = by_agent.map(|room| origin::of_deed(context, actor.member, room)).unwrap_or_default();
    let fresh = windows::new_delivery(context, task.workspace, agent, actor.member, WakeReason::TaskAssigned);
    let delivery = Delivery {
        channel: task.channel,
        messages: task.message.into_iter().collect(),
        task: Some(task.id),
        root: origin.root.unwrap_or(began),
        depth: origin.depth,
        why: None,
        ..fresh
    };
    let step = brake::Step {
        from: actor.member,
        root: delivery.root,
        depth: delivery.depth,
        workspace: task.workspace,
        channel: task.channel,
    };
    let limit = match context.state.is_agent(actor.member) {
        true => brake::exceeded(context, &step, &[agent])?,
        false => None,
    };
    if let Some(limit) = limit {
        events.push(told(brake::stopped_by(limit, delivery)));
        return Ok(());
    }
    if !brake::count(context, &step, &[agent], events)? {
        events.push(told(windows::suppressed(delivery)));
        return Ok(());
    }
    sending::send_task(context, &delivery, task, events);
    Ok(())
}

/// What a task's way says of the wake it came with: begun is taken, done is answered, handed on is over.
pub(super) fn task_moved(
    context: &Context<'_>,
    actor: Actor,
    task: &Task,
    had_it: Option<MemberId>,
    events: &mut Vec<Event>,
) {
    if context.state.deliveries().is_empty() {
        return;
    }
    let of = |agent: MemberId| {
        let mut open = context.state.deliveries().of_agent(agent);
        open.find(|delivery| delivery.task == Some(task.id) && delivery.run.is_none())
    };
    if let Some(delivery) = had_it.and_then(of) {
        let why = Some("the task was taken away".to_owned());
        events.push(told(end(context, delivery, DeliveryState::Cancelled, why, None)));
    }
    let own = task.assigned_to.filter(|assignee| *assignee == actor.member).and_then(of);
    let Some(delivery) = own else { return };
    match task.status {
        TaskStatus::Review | TaskStatus::Done => {
            events.push(told(end(context, delivery, DeliveryState::Answered, None, None)));
        }
        TaskStatus::InProgress if delivery.state != DeliveryState::Admitted => {
            events.push(told(end(context, delivery, DeliveryState::Admitted, None, None)));
        }
        TaskStatus::InProgress | TaskStatus::Todo => {}
    }
}

/// Wakes end when their agent leaves the channel, and when the channel takes no more messages.
pub(super) fn end_with_their_place(context: &Context<'_>, mut decision: Decision) -> Decision {
    let table = context.state.deliveries();
    if table.is_empty() {
        return decision;
    }
    let mut ended: BTreeMap<DeliveryId, Delivery> = BTreeMap::new();
    let mut cancel = |which: &dyn Fn(&Delivery) -> bool, why: &str| {
        for delivery in table.all().filter(|delivery| which(delivery)) {
            let over = end(context, delivery, DeliveryState::Cancelled, Some(why.to_owned()), None);
            ended.entry(delivery.id).or_insert(over);
        }
    };
    for event in &decision.events {
        match event {
            Event::Left(left) => cancel(
                &|delivery| delivery.agent == left.member && delivery.channel == Some(left.channel),
                "the agent left the channel",
            ),
            Event::Saved(Record::Channel(channel)) if channel.archived => {
                cancel(&|delivery| delivery.channel == Some(channel.id), "the channel was archived");
            }
            Event::Removed(Record::Channel(channel)) => {
                cancel(&|delivery| delivery.channel == Some(channel.id), "the channel was removed");
            }
            Event::Saved(Record::Member(member)) if member.removed => {
                cancel(&|delivery| delivery.agent == member.id, "the agent was removed");
            }
            _ => {}
        }
    }
    decision.events.extend(ended.into_values().map(told));
    decision
}
