//! Debounce: what one sender says in quick succession makes one wake, sent when the sender has paused.
//!
//! A message that wants agents opens a delivery for each. What the sender adds joins it; a message that wants other agents
//! closes it, because it begins something else. The wake is sent when the pause is over, with everything that was said.

use std::sync::Arc;

use super::steps::{cancelled, expire, new_delivery, suppressed, told};
use super::want::{self, Wanted, callable};
use super::{loop_guard, origin};
use crate::decide::{Context, notify};
use crate::delivery::{Delivery, DeliveryState, WakeReason};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::record::Record;
use crate::refusal::Refusal;
use crate::state::Room;
use crate::{Actor, Millis};

/// One wake speaks of no more messages than it bundles.
const MAX_JOINED: usize = 20;
/// How many wakes of one agent may be open; the oldest makes room.
const MAX_OPEN: usize = 1_000;

/// Adds what a message that was just said means for the agents it wants, and for those its sender wanted before.
pub fn collect(
    context: &mut Context<'_>,
    room: &Room,
    message: &Message,
    wanted: &[Wanted],
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let mut called = callable(context.state, message, wanted);
    let open = collecting(context, message);
    if called.is_empty() {
        events.extend(open.iter().map(|delivery| joined(context, delivery, message)));
        return Ok(());
    }
    refuse_too_many(context, message, &mut called, events);
    for delivery in &open {
        let again = called.iter().position(|(agent, _)| agent.id == delivery.agent);
        events.push(match again {
            Some(at) => {
                called.remove(at);
                joined(context, delivery, message)
            }
            None => sealed(context, delivery),
        });
    }
    open_all(context, room, message, &called, events)
}

/// What the sender of a message is still adding to, where the message would join it.
fn collecting(context: &Context<'_>, message: &Message) -> Vec<Arc<Delivery>> {
    let table = context.state.deliveries();
    if table.is_empty() {
        return Vec::new();
    }
    // An agent's messages of different roots are different matters.
    let same_matter = |delivery: &Delivery| message.root.is_none() || delivery.root == message.root_id();
    let fits = |delivery: &&Arc<Delivery>| {
        delivery.thread == message.thread && delivery.messages.len() < MAX_JOINED && same_matter(delivery)
    };
    table.collecting(message.sender, message.channel).filter(fits).cloned().collect()
}

fn joined(context: &Context<'_>, delivery: &Delivery, message: &Message) -> Event {
    let mut messages = delivery.messages.clone();
    messages.push(message.id);
    let due_at = pause_end(context, message.door, delivery.created_at);
    told(Delivery { messages, due_at, updated_at: context.now, ..delivery.clone() })
}

fn sealed(context: &Context<'_>, delivery: &Delivery) -> Event {
    told(Delivery { due_at: context.now, updated_at: context.now, ..delivery.clone() })
}

fn pause_end(context: &Context<'_>, door: Door, began: Millis) -> Millis {
    let rules = context.state.wake_rules();
    (context.now + rules.window(door)).min(began + rules.longest)
}

/// One message wakes so many agents and no more; its sender learns whom it did not.
fn refuse_too_many(context: &mut Context<'_>, message: &Message, called: &mut Vec<Wanted>, events: &mut Vec<Event>) {
    let most = context.state.wake_rules().mentions as usize;
    if most == 0 || called.len() <= most {
        return;
    }
    let left_out: Vec<_> = called.drain(most..).map(|(agent, _)| agent.name.clone()).collect();
    let title = format!("One message wakes at most {most} agents");
    let body = format!("not woken: {}", left_out.join(", "));
    let notice = Notification {
        channel: Some(message.channel),
        message: Some(message.id),
        ..notify::plain(context, message.sender, "wake_refused", title, body)
    };
    events.push(Event::Saved(notice.into()));
}

fn open_all(
    context: &mut Context<'_>,
    room: &Room,
    message: &Message,
    called: &[Wanted],
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let agents: Vec<_> = called.iter().map(|(agent, _)| agent.id).collect();
    let from = loop_guard::Step::of_message(message, room.channel.workspace);
    let goes_on = loop_guard::count(context, &from, &agents, events)?;
    for (agent, reason) in called {
        make_room(context, agent.id, events);
        let due_at = pause_end(context, message.door, context.now);
        let fresh = new_delivery(context, room.channel.workspace, agent.id, message.sender, *reason);
        let delivery = Delivery {
            channel: Some(message.channel),
            thread: message.thread,
            messages: vec![message.id],
            root: message.root_id(),
            depth: message.depth,
            due_at,
            ..fresh
        };
        events.push(told(if goes_on { delivery } else { suppressed(delivery) }));
    }
    Ok(())
}

/// Somebody wakes an agent about a message by hand: at once, for nobody adds to that, and once, where the message wants it
/// anyway.
pub fn on_word_by_hand(
    context: &mut Context<'_>,
    actor: Actor,
    agent: &Member,
    message: &Message,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let wanted = |event: &Event| matches!(event, Event::Saved(Record::Delivery(known)) if known.agent == agent.id);
    if events.iter().any(wanted) {
        return Ok(());
    }
    let step = loop_guard::Step { from: actor.member, ..loop_guard::Step::of_message(message, agent.workspace) };
    loop_guard::count(context, &step, &[agent.id], events)?;
    make_room(context, agent.id, events);
    let fresh = new_delivery(context, agent.workspace, agent.id, actor.member, WakeReason::Manual);
    events.push(told(Delivery {
        channel: Some(message.channel),
        thread: message.thread,
        messages: vec![message.id],
        root: message.root_id(),
        depth: message.depth,
        ..fresh
    }));
    Ok(())
}

/// Memory is bounded: who is wanted a thousand times and never answers loses the oldest, loudly.
fn make_room(context: &mut Context<'_>, agent: MemberId, events: &mut Vec<Event>) {
    if context.state.deliveries().count_of(agent) < MAX_OPEN {
        return;
    }
    let oldest = context.state.deliveries().of_agent(agent).find(|delivery| delivery.run.is_none()).cloned();
    if let Some(oldest) = oldest {
        expire(context, &oldest, "too many wait for this agent", events);
    }
}

/// Somebody types: what they said last waits for more, and an agent shows that it took its wake.
pub fn on_typing(context: &Context<'_>, actor: Actor, channel: ChannelId, on: bool, events: &mut Vec<Event>) {
    let table = context.state.deliveries();
    if table.is_empty() {
        return;
    }
    let rules = context.state.wake_rules();
    for delivery in table.collecting(actor.member, channel) {
        let wanted = if on { delivery.due_at.max(context.now + rules.typing) } else { context.now + rules.quiet };
        let due_at = wanted.min(delivery.created_at + rules.longest);
        if due_at != delivery.due_at {
            events.push(told(Delivery { due_at, updated_at: context.now, ..(**delivery).clone() }));
        }
    }
    if on {
        events.extend(on_writing(context, actor.member, channel));
    }
}

/// A plain agent says that it took a wake by beginning to write.
pub fn on_writing(context: &Context<'_>, agent: MemberId, channel: ChannelId) -> Option<Event> {
    let delivery = origin::being_worked_on(context, agent, channel)?;
    let news = delivery.state != DeliveryState::Admitted;
    news.then(|| {
        told(Delivery { state: DeliveryState::Admitted, why: None, updated_at: context.now, ..(**delivery).clone() })
    })
}

/// What was said says something else now: before the wake is sent, its new text decides whom it wants.
pub fn on_edit(
    context: &mut Context<'_>,
    room: &Room,
    message: &Message,
    root: Option<&Message>,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let own = context.state.deliveries().collecting(message.sender, message.channel);
    let touched: Vec<_> = own.filter(|delivery| delivery.messages.contains(&message.id)).cloned().collect();
    if touched.is_empty() {
        return Ok(());
    }
    let wanted = want::by_message(context, room, message, root)?;
    let mut called = callable(context.state, message, &wanted);
    for delivery in &touched {
        let still = called.iter().any(|(agent, _)| agent.id == delivery.agent);
        if !still && !wanted_otherwise(context, room, delivery, message.id, root)? {
            events.push(cancelled(context, delivery, "no longer mentioned"));
        }
        called.retain(|(agent, _)| agent.id != delivery.agent);
    }
    if context.state.is_agent(message.sender) {
        // What an agent says passes the loop guard before it is said, not after.
        return Ok(());
    }
    for (member, reason) in &called {
        let notification = notify::of_message(context, member, message, *reason);
        events.push(Event::Saved(notification.into()));
    }
    refuse_too_many(context, message, &mut called, events);
    open_all(context, room, message, &called, events)
}

/// Whether another message of the delivery wants its agent.
fn wanted_otherwise(
    context: &Context<'_>,
    room: &Room,
    delivery: &Delivery,
    except: MessageId,
    root: Option<&Message>,
) -> Result<bool, Refusal> {
    for id in delivery.messages.iter().filter(|id| **id != except) {
        let Some(message) = context.history.message(*id)?.filter(|message| !message.deleted) else { continue };
        let wanted = want::by_message(context, room, &message, root)?;
        if wanted.iter().any(|(member, _)| member.id == delivery.agent) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What was said was taken back, and with it the wakes that spoke of nothing else.
pub fn on_delete(
    context: &Context<'_>,
    room: &Room,
    message: &Message,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let table = context.state.deliveries();
    let root = match message.thread {
        Some(root) if !table.is_empty() => context.history.message(root)?,
        _ => None,
    };
    let concerned = |delivery: &&Arc<Delivery>| {
        delivery.channel == Some(message.channel) && delivery.run.is_none() && delivery.messages.contains(&message.id)
    };
    let mut concerned: Vec<_> = table.all().filter(concerned).cloned().collect();
    concerned.sort_by_key(|delivery| delivery.id);
    for delivery in concerned {
        let stays = wanted_otherwise(context, room, &delivery, message.id, root.as_ref())?;
        events.push(if stays {
            let messages = delivery.messages.iter().copied().filter(|id| *id != message.id).collect();
            told(Delivery { messages, updated_at: context.now, ..(*delivery).clone() })
        } else {
            cancelled(context, &delivery, "the message was deleted")
        });
    }
    Ok(())
}
