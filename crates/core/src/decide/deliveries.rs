//! Wakes and what comes of them: taken, answered, passed on, failed, taken back. Who may say which.
//!
//! Every step is a pure change of one [`Delivery`]; callers store it as [`Event::Saved`] beside what else they decide.

use std::sync::Arc;

use super::{Context, Decision, Outcome, attention, short_text};
use crate::command::Reply;
use crate::delivery::{Delivery, DeliveryState};
use crate::event::Event;
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
    Ok(saved(admit(context, actor, id, Some(run))?))
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
