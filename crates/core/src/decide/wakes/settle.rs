//! What comes of wakes: taken, answered, passed on, failed, taken back. Who may say which.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::origin::{self, Origin};
use super::steps::{answered, cancelled, end, notice, of_run, own_open, told};
use crate::command::Reply;
use crate::decide::{Context, Decision, Outcome, short_text};
use crate::delivery::{Delivery, DeliveryState, Elsewhere};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::Message;
use crate::record::Record;
use crate::refusal::{self, Refusal};
use crate::run::{Run, RunState};
use crate::state::Room;
use crate::{Actor, access};

const MAX_WHY_CHARS: usize = 500;

/// A message of an agent ends the wake it answers. Where it answers one of several threads from the channel, it ends none of
/// them alone; all end when as many such messages have come as wakes are open.
pub fn on_answer(context: &Context<'_>, message: &Message, origin: &Origin, events: &mut Vec<Event>) {
    let ended = origin.answers.as_deref();
    events.extend(ended.map(|delivery| answered(context, delivery, message.id)));
    let to_count = match (ended, &origin.may_answer) {
        // It had its answer in its place: what was counted for it was another's.
        (Some(delivery), _) => delivery.counted(),
        (None, Some(_)) => Some(message.id),
        (None, None) => return,
    };
    let others = origin::waiting(context, message.sender, message.channel);
    let others: Vec<_> = others.filter(|other| ended.is_none_or(|ended| ended.id != other.id)).collect();
    let counts = others.iter().position(|other| origin::is_of_thread(other) && other.counted().is_none());
    let counted: Vec<_> = others
        .iter()
        .enumerate()
        .map(|(at, other)| other.counted().or(to_count.filter(|_| counts == Some(at))))
        .collect();
    if counted.iter().all(Option::is_some) {
        let alone = counted.len() == 1;
        let over = |(other, reply): (&&Arc<Delivery>, Option<MessageId>)| {
            // Of several answers nobody knows which was to whom.
            told(end(context, other, DeliveryState::Answered, None, reply.filter(|_| alone)))
        };
        events.extend(others.iter().zip(counted).map(over));
    } else if to_count.is_some() {
        events.extend(others.iter().zip(counted).filter_map(|(other, counted)| noted(context, other, counted)));
    }
}

/// A wake of a thread that may have been answered in the channel; none where that is known already.
fn noted(context: &Context<'_>, delivery: &Delivery, counted: Option<MessageId>) -> Option<Event> {
    let elsewhere = Some(counted.map_or(Elsewhere::Maybe, Elsewhere::Counted));
    let news = origin::is_of_thread(delivery) && delivery.elsewhere != elsewhere;
    news.then(|| told(Delivery { elsewhere, updated_at: context.now, ..delivery.clone() }))
}

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

/// What an agent wanted to say was refused. It may try again; the wake remembers that it was to be answered.
pub fn on_refused(
    context: &mut Context<'_>,
    actor: Actor,
    room: &Room,
    (named, thread): (Option<DeliveryId>, Option<&Message>),
    refusal: Refusal,
) -> Outcome {
    let origin = Origin::of_message(context, actor, room, named, thread).unwrap_or_default();
    let Some(delivery) = origin.answers.or(origin.may_answer) else { return Err(refusal) };
    let why = Some(format!("its answer was refused: {}", refusal.text));
    let noted = Delivery { refused: why, updated_at: context.now, ..(*delivery).clone() };
    Ok(Decision { refused: Some(refusal), ..saved(noted) })
}

/// The agent rests, or comes back after it was away: an answer that was refused will not be tried again. The wake ends, and its
/// sender is told why; otherwise the agent's next answer would be taken for this one.
pub fn on_rest(context: &mut Context<'_>, agent: MemberId, events: &mut Vec<Event>) {
    let given_up = context.state.deliveries().of_agent(agent).filter(|delivery| delivery.refused.is_some());
    for delivery in given_up.cloned().collect::<Vec<_>>() {
        let failed = end(context, &delivery, DeliveryState::Failed, delivery.refused.clone(), None);
        events.push(Event::Saved(notice(context, &failed, "delivery_failed").into()));
        events.push(told(failed));
    }
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
