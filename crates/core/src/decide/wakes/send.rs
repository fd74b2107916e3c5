//! Sending wakes: when the sender has paused, when an agent comes back, and when it is too late.

use std::collections::HashMap;
use std::sync::Arc;

use super::steps::{answered, cancelled, expire, told};
use crate::decide::{Context, threads};
use crate::delivery::{Delivery, DeliveryState, OFFLINE, WakeReason};
use crate::event::{Event, Wake, WakeThread};
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::refusal::Refusal;

/// How many messages a wake bundles, the one that woke included.
const MAX_WAKE_MESSAGES: usize = 20;
/// How many wakes are due at a time; the rest follows at once, in another commit.
const MAX_AT_ONCE: usize = 200;

/// Wakes whose sender has paused are sent; those nobody took up in their time expire.
pub fn on_time(context: &mut Context<'_>, events: &mut Vec<Event>) -> Result<(), Refusal> {
    let due: Vec<_> = context.state.deliveries().due(context.now).take(MAX_AT_ONCE).cloned().collect();
    let mut bundles = Bundles::default();
    for delivery in due {
        if delivery.expires_at > context.now {
            send(context, &delivery, None, &mut bundles, events)?;
        } else if delivery.run.is_some() {
            // What is being worked on ends with the work.
            let expires_at = context.now + context.state.wake_rules().life.max(1_000);
            events.push(told(Delivery { expires_at, ..(*delivery).clone() }));
        } else if let Some(reply) = delivery.counted() {
            events.push(answered(context, &delivery, reply));
        } else {
            expire(context, &delivery, "nobody took it up in time", events);
        }
    }
    Ok(())
}

/// Sends a wake to wherever its agent can be reached, or notes that it cannot.
fn send(
    context: &Context<'_>,
    delivery: &Delivery,
    through: Option<ConnectionId>,
    bundles: &mut Bundles,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let Some(agent) = context.state.member(delivery.agent) else {
        events.push(cancelled(context, delivery, "the agent was removed"));
        return Ok(());
    };
    if through.is_none() && !context.state.is_reachable(agent.id) {
        let (state, why) = (DeliveryState::Queued, Some(OFFLINE.to_owned()));
        events.push(told(Delivery { state, why, updated_at: context.now, ..delivery.clone() }));
        return Ok(());
    }
    // One that was taken stays taken when it is sent again.
    let state = if delivery.state == DeliveryState::Queued { DeliveryState::Leased } else { delivery.state };
    let sent = Delivery { state, why: None, updated_at: context.now, ..delivery.clone() };
    if sent.state != delivery.state || sent.messages != delivery.messages || delivery.why.is_some() {
        events.push(told(sent.clone()));
    }
    let bundle = bundles.load(context, &sent)?;
    let task = match sent.task {
        Some(task) => context.history.get::<Task>(task)?,
        None => None,
    };
    let session = threads::session_of_wake(context, &sent)?;
    wake(context, agent, sent.reason, through, events, |wake| {
        wake.channel = sent.channel;
        bundle.fill(wake);
        wake.task = task;
        wake.delivery = Some(Arc::new(sent.clone()));
        wake.session = session;
    });
    Ok(())
}

/// A task goes out at once, with itself in it.
pub fn send_task(context: &Context<'_>, delivery: &Delivery, task: &Task, events: &mut Vec<Event>) {
    let Some(agent) = context.state.member(delivery.agent) else { return };
    let reachable = context.state.is_reachable(agent.id);
    let sent = Delivery {
        state: if reachable { DeliveryState::Leased } else { DeliveryState::Queued },
        why: (!reachable).then(|| OFFLINE.to_owned()),
        ..delivery.clone()
    };
    events.push(told(sent.clone()));
    wake(context, agent, sent.reason, None, events, |wake| {
        wake.channel = task.channel;
        wake.task = Some(task.clone());
        wake.delivery = Some(Arc::new(sent));
    });
}

/// An agent is back: what waited for it is sent, one wake per thread, and what it had been sent before is sent again.
/// `connection` is where it is now; what went there already is not repeated, and neither is what it may have answered.
pub fn on_return(
    context: &Context<'_>,
    agent: MemberId,
    connection: ConnectionId,
    through: Option<ConnectionId>,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let table = context.state.deliveries();
    let has_answer =
        |delivery: &Delivery| delivery.is_held() || delivery.elsewhere.is_some() || delivery.refused.is_some();
    let missed = |delivery: &&Arc<Delivery>| {
        !delivery.is_collecting() && !has_answer(delivery) && table.sent_to(delivery.id) != Some(connection)
    };
    let missed: Vec<_> = table.of_agent(agent).filter(missed).cloned().collect();
    let mut bundles = Bundles::default();
    for delivery in collapsed(context, missed, events) {
        send(context, &delivery, through, &mut bundles, events)?;
    }
    Ok(())
}

/// Of what was never sent, the oldest of each thread takes over what the others speak of.
fn collapsed(context: &Context<'_>, missed: Vec<Arc<Delivery>>, events: &mut Vec<Event>) -> Vec<Delivery> {
    let mut kept: Vec<Delivery> = Vec::new();
    for delivery in missed {
        let waits = delivery.state == DeliveryState::Queued && delivery.task.is_none();
        let oldest = kept.iter_mut().find(|oldest| {
            waits
                && oldest.state == DeliveryState::Queued
                && oldest.task.is_none()
                && (oldest.channel, oldest.thread) == (delivery.channel, delivery.thread)
        });
        match oldest {
            Some(oldest) => {
                oldest.messages.extend(delivery.messages.iter().copied());
                oldest.messages.sort_unstable();
                oldest.messages.dedup();
                events.push(cancelled(context, &delivery, format!("joined {}", oldest.id)));
            }
            None => kept.push((*delivery).clone()),
        }
    }
    kept
}

/// Somebody wakes an agent without a word, maybe in a channel; nothing where it cannot be reached.
pub fn by_hand(context: &Context<'_>, agent: &Member, channel: Option<ChannelId>) -> Result<Vec<Event>, Refusal> {
    let bundle = match channel {
        Some(channel) => load(context, channel, None, MessageId::NONE)?,
        None => Bundle::default(),
    };
    let mut events = Vec::new();
    wake(context, agent, WakeReason::Manual, None, &mut events, |wake| {
        wake.channel = channel;
        bundle.fill(wake);
    });
    Ok(events)
}

/// Wakes an agent that can be reached, directly or through its daemon; `through` where a daemon is just taking it up.
fn wake(
    context: &Context<'_>,
    agent: &Member,
    reason: WakeReason,
    through: Option<ConnectionId>,
    events: &mut Vec<Event>,
    fill: impl FnOnce(&mut Wake),
) {
    let through = through.or_else(|| context.state.carrier_of(agent.id));
    if through.is_none() && !context.state.is_reachable(agent.id) {
        return;
    }
    let mut wake = Wake {
        agent: agent.id,
        agent_name: agent.name.clone(),
        through,
        reason,
        channel: None,
        recent: Vec::new(),
        thread: None,
        task: None,
        delivery: None,
        session: None,
    };
    fill(&mut wake);
    events.push(Event::Woken(Arc::new(wake)));
    if context.state.presence_of(agent.id) == Presence::Sleeping {
        events.push(Event::PresenceChanged {
            member: agent.id,
            workspace: agent.workspace,
            presence: Presence::Online,
        });
    }
}

/// The context of wakes; those of one message share it.
#[derive(Default)]
struct Bundles(HashMap<(ChannelId, Option<MessageId>, MessageId), Arc<Bundle>>);

#[derive(Default)]
struct Bundle {
    recent: Vec<Arc<Message>>,
    thread: Option<WakeThread>,
}

impl Bundle {
    fn fill(&self, wake: &mut Wake) {
        wake.recent.clone_from(&self.recent);
        wake.thread.clone_from(&self.thread);
    }
}

impl Bundles {
    fn load(&mut self, context: &Context<'_>, delivery: &Delivery) -> Result<Arc<Bundle>, Refusal> {
        let (Some(channel), Some(last)) = (delivery.channel, delivery.messages.last()) else {
            return Ok(Arc::default());
        };
        if delivery.reason == WakeReason::TaskAssigned {
            // The document: channel info.
            return Ok(Arc::default());
        }
        let key = (channel, delivery.thread, *last);
        if let Some(known) = self.0.get(&key) {
            return Ok(Arc::clone(known));
        }
        let bundle = Arc::new(load(context, channel, delivery.thread, *last)?);
        self.0.insert(key, Arc::clone(&bundle));
        Ok(bundle)
    }
}

/// The messages up to the last one that woke, and the thread it stands in: a reader who answers the last one answers that.
fn load(
    context: &Context<'_>,
    channel: ChannelId,
    thread: Option<MessageId>,
    last: MessageId,
) -> Result<Bundle, Refusal> {
    let seq = context.history.message(last)?.map_or(u64::MAX, |message| message.seq);
    let recent = context.history.messages_up_to(channel, seq, MAX_WAKE_MESSAGES)?;
    let root = match thread {
        Some(root) => context.history.message(root)?,
        None => None,
    };
    let thread = match root {
        Some(root) => {
            let replies = context.history.newest_replies(root.id, MAX_WAKE_MESSAGES)?;
            let replies = replies.into_iter().filter(|reply| reply.seq <= seq).map(Arc::new).collect();
            Some(WakeThread { root: Arc::new(root), replies })
        }
        None => None,
    };
    Ok(Bundle { recent: recent.into_iter().map(Arc::new).collect(), thread })
}
