//! What comes of wakes: taken, answered, passed on, failed, taken back. Who may say which.

use std::collections::BTreeMap;

use super::steps::{cancelled, end, notice, of_run, own_open, told};
use crate::command::Reply;
use crate::decide::{Context, Decision, Outcome, short_text};
use crate::delivery::{Delivery, DeliveryState};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::record::Record;
use crate::refusal::{self, Refusal};
use crate::run::{Run, RunState};
use crate::{Actor, access};

const MAX_WHY_CHARS: usize = 500;

/// The agent takes a wake for a run. Taken twice for the same run is taken once.
pub fn on_run_start(context: &Context<'_>, actor: Actor, id: DeliveryId, run: RunId) -> Result<Delivery, Refusal> {
    let delivery = own_open(context, actor, id)?;
    if delivery.run.is_some_and(|known| known != run) {
        return Err(Refusal::conflict("this wake has a run already"));
    }
    Ok(Delivery {
        state: DeliveryState::Admitted,
        why: None,
        run: Some(run),
        updated_at: context.now,
        ..(*delivery).clone()
    })
}

/// All wakes that went into a run end as it did; who asked in vain is told.
pub fn on_run_end(context: &mut Context<'_>, run: &Run, reply: Option<MessageId>, events: &mut Vec<Event>) {
    let (state, why) = end_of(run);
    for delivery in of_run(context, run.agent, run.id) {
        let ended = end(context, &delivery, state, why.clone(), reply);
        if state == DeliveryState::Failed {
            events.push(Event::Saved(notice(context, &ended, "delivery_failed").into()));
        }
        events.push(told(ended));
    }
}

/// How a wake ends that went into a run, and why.
fn end_of(run: &Run) -> (DeliveryState, Option<String>) {
    match run.state {
        RunState::Failed => (DeliveryState::Failed, Some(run.error.clone().unwrap_or_else(|| "the run failed".into()))),
        RunState::Cancelled => (DeliveryState::Cancelled, run.error.clone()),
        RunState::Completed | RunState::Running | RunState::Waiting => (DeliveryState::Answered, None),
    }
}

/// The wakes of a run that cannot go on.
pub fn on_run_lost(context: &Context<'_>, run: &Run, why: &str) -> Vec<Event> {
    of_run(context, run.agent, run.id).iter().map(|delivery| cancelled(context, delivery, why)).collect()
}

pub fn pass(context: &mut Context<'_>, actor: Actor, id: DeliveryId, why: Option<String>) -> Outcome {
    let delivery = own_open(context, actor, id)?;
    let why = why.filter(|why| !why.trim().is_empty()).map(|why| short_text(&why, "why", MAX_WHY_CHARS)).transpose()?;
    Ok(saved(end(context, &delivery, DeliveryState::Passed, why, None)))
}

pub fn fail(context: &mut Context<'_>, actor: Actor, id: DeliveryId, why: &str) -> Outcome {
    let delivery = own_open(context, actor, id)?;
    let why = short_text(why, "why", MAX_WHY_CHARS)?;
    let failed = end(context, &delivery, DeliveryState::Failed, Some(why), None);
    let notice = Event::Saved(notice(context, &failed, "delivery_failed").into());
    let mut decision = saved(failed);
    decision.events.push(notice);
    Ok(decision)
}

/// What was said goes into a run of the agent.
pub fn join(context: &Context<'_>, actor: Actor, id: DeliveryId, run: &Run) -> Outcome {
    let admitted = on_run_start(context, actor, id, run.id)?;
    if run.is_open() {
        return Ok(saved(admitted));
    }
    // It was said to a run that has ended meanwhile, and ends as that did.
    let (state, why) = end_of(run);
    Ok(saved(end(context, &admitted, state, why, Some(run.message))))
}

pub fn cancel(context: &mut Context<'_>, actor: Actor, id: DeliveryId) -> Outcome {
    let member = access::member(context.state, actor)?;
    let visible =
        |delivery: &Delivery| access::may_see_within(context.state, member, delivery.workspace, delivery.channel);
    let delivery = context.history.get::<Delivery>(id)?.filter(visible).ok_or(refusal::DELIVERY_NOT_FOUND)?;
    access::may_cancel_delivery(member, &delivery)?;
    if !delivery.is_open() {
        return Err(Refusal::conflict(format!("this wake is over ({})", delivery.state.as_str())));
    }
    let why = format!("taken back by {}", member.display_name());
    Ok(saved(end(context, &delivery, DeliveryState::Cancelled, Some(why), None)))
}

fn saved(delivery: Delivery) -> Decision {
    Decision::saved(Reply::Delivery(delivery.clone()), delivery)
}

/// Wakes end when their agent leaves the channel, and when the channel takes no more messages.
pub fn end_with_their_place(context: &Context<'_>, mut decision: Decision) -> Decision {
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
