//! One wake: made, found again, and taken from state to state. Every step is a pure change of one [`Delivery`]; callers store it
//! beside what else they decide.

use std::sync::Arc;

use crate::decide::{Context, notify};
use crate::delivery::{COLLECTING, Delivery, DeliveryState, WakeReason};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

/// A delivery that collects; callers say what of.
pub fn new_delivery(
    context: &mut Context<'_>,
    workspace: WorkspaceId,
    agent: MemberId,
    sender: MemberId,
    reason: WakeReason,
) -> Delivery {
    Delivery {
        id: DeliveryId(context.new_id()),
        workspace,
        channel: None,
        thread: None,
        agent,
        sender,
        reason,
        state: DeliveryState::Queued,
        why: Some(COLLECTING.to_owned()),
        messages: Vec::new(),
        task: None,
        root: MessageId::NONE,
        depth: 0,
        run: None,
        reply: None,
        elsewhere: None,
        refused: None,
        created_at: context.now,
        updated_at: context.now,
        due_at: context.now,
        expires_at: context.now + context.state.wake_rules().life,
    }
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

/// All wakes that went into a run, which end with it.
pub fn of_run(context: &Context<'_>, agent: MemberId, run: RunId) -> Vec<Arc<Delivery>> {
    context.state.deliveries().of_run(agent, run).cloned().collect()
}

/// A changed delivery as an event.
pub fn told(delivery: Delivery) -> Event {
    Event::Saved(delivery.into())
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

/// A message answers a wake.
pub fn answered(context: &Context<'_>, delivery: &Delivery, reply: MessageId) -> Event {
    told(end(context, delivery, DeliveryState::Answered, None, Some(reply)))
}

/// Nobody is woken any more: why, in words for whoever asks.
pub fn cancelled(context: &Context<'_>, delivery: &Delivery, why: impl Into<String>) -> Event {
    told(end(context, delivery, DeliveryState::Cancelled, Some(why.into()), None))
}

pub fn suppressed(delivery: Delivery) -> Delivery {
    Delivery { state: DeliveryState::Suppressed, why: Some("people stopped this conversation".to_owned()), ..delivery }
}

/// It is too late: its sender is told.
pub fn expire(context: &mut Context<'_>, delivery: &Delivery, why: &str, events: &mut Vec<Event>) {
    let expired = end(context, delivery, DeliveryState::Expired, Some(why.to_owned()), None);
    let notice = notice(context, &expired, "delivery_expired");
    events.push(told(expired));
    events.push(Event::Saved(notice.into()));
}

/// What the sender is told when nothing comes back. It wakes nobody, whoever the sender is.
pub fn notice(context: &mut Context<'_>, delivery: &Delivery, kind: &str) -> Notification {
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
        ..notify::plain(context, delivery.sender, kind, title, body)
    }
}
