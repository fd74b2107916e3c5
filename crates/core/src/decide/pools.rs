//! Leases of pool agents, and the channels that command them.
//!
//! Two rules hold whatever happens: a place has one holder, and an agent holds one place.

use super::{Context, Decision, Outcome, notify, short_text};
use crate::command::Reply;
use crate::event::Event;
use crate::ids::*;
use crate::pools::{Fence, Lease, Place, PoolLink};
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

const MAX_ID_CHARS: usize = 100;
/// There is one fence, so it needs no id of its own.
const FENCE: FenceId = FenceId(1);

pub fn take(context: &mut Context<'_>, actor: Actor, place: Place, agent: String) -> Outcome {
    let owner = access::pool_user(context.state, actor)?.id;
    let place = checked(place)?;
    if let Some(lease) = context.state.pools().lease(&place) {
        return Ok(Decision::nothing(Reply::Lease { lease: lease.clone(), created: false }));
    }
    if context.state.pools().is_busy(&agent) {
        return Err(refusal::AGENT_BUSY);
    }
    let (lease, events) = hand_over(context, place, agent, Some(owner));
    Ok(Decision::new(Reply::Lease { lease, created: true }, events))
}

pub fn claim(context: &mut Context<'_>, actor: Actor, place: Place, agent: String) -> Outcome {
    access::hub(actor)?;
    let place = checked(place)?;
    match context.state.pools().lease(&place) {
        Some(lease) if lease.agent == agent => {
            return Ok(Decision::nothing(Reply::Lease { lease: lease.clone(), created: false }));
        }
        Some(_) => return Err(refusal::LEASE_HELD),
        None => {}
    }
    // It serves one place at a time, so it has left the one before.
    let left = context.state.pools().held_by(&agent).cloned();
    let mut events: Vec<_> = left.map(|lease| Event::Removed(lease.into())).into_iter().collect();
    let (lease, taken) = hand_over(context, place, agent, None);
    events.extend(taken);
    Ok(Decision::new(Reply::Lease { lease, created: true }, events))
}

pub fn release(context: &mut Context<'_>, actor: Actor, place: &Place, holder: Option<&str>) -> Outcome {
    match holder {
        Some(_) => access::hub(actor)?,
        None => drop(access::pool_user(context.state, actor)?),
    }
    let held = |lease: &&Lease| holder.is_none_or(|holder| lease.agent == holder);
    let lease = context.state.pools().lease(place).filter(held).ok_or(refusal::LEASE_NOT_FOUND)?.clone();
    let events = vec![Event::Removed(lease.clone().into())];
    Ok(Decision::new(Reply::Lease { lease, created: false }, events))
}

pub fn lose(context: &mut Context<'_>, actor: Actor, agent: &str, successor: Option<String>) -> Outcome {
    access::hub(actor)?;
    let lease = context.state.pools().held_by(agent).ok_or(refusal::LEASE_NOT_FOUND)?.clone();
    let successor = successor.filter(|_| lease.place.kind.survives_its_agent());
    if successor.as_ref().is_some_and(|successor| context.state.pools().is_busy(successor)) {
        return Err(refusal::AGENT_BUSY);
    }
    let mut events = vec![Event::Removed(lease.clone().into())];
    let told = told_of_loss(context, &lease, successor.as_deref());
    let created = successor.is_some();
    let lease = match successor {
        Some(successor) => {
            let (lease, passed_on) = hand_over(context, lease.place, successor, lease.owner);
            events.extend(passed_on);
            lease
        }
        None => lease,
    };
    events.extend(told);
    Ok(Decision::new(Reply::Lease { lease, created }, events))
}

/// The next number of the fence and the lease that carries it.
fn hand_over(context: &mut Context<'_>, place: Place, agent: String, owner: Option<MemberId>) -> (Lease, Vec<Event>) {
    let fence = context.state.pools().next_fence();
    let lease = Lease { id: LeaseId(context.new_id()), place, agent, fence, owner, taken_at: context.now };
    let events = vec![Event::Saved(Fence { id: FENCE, last: fence }.into()), Event::Saved(lease.clone().into())];
    (lease, events)
}

fn told_of_loss(context: &mut Context<'_>, lease: &Lease, successor: Option<&str>) -> Option<Event> {
    let owner = lease.owner.filter(|owner| context.state.member(*owner).is_some())?;
    let Place { guild, voice_channel, kind } = &lease.place;
    let title = match successor {
        Some(successor) => format!("The {} session was passed to {successor}", kind.as_str()),
        None => format!("The {} session has ended", kind.as_str()),
    };
    let body = format!("The agent {} of {guild}, {voice_channel} is gone.", lease.agent);
    Some(Event::Saved(notify::plain(context, owner, "pool_session", title, body).into()))
}

fn checked(place: Place) -> Result<Place, Refusal> {
    let guild = short_text(&place.guild, "guild_id", MAX_ID_CHARS)?;
    let voice_channel = short_text(&place.voice_channel, "voice_channel_id", MAX_ID_CHARS)?;
    Ok(Place { guild, voice_channel, kind: place.kind })
}

pub fn link(context: &mut Context<'_>, actor: Actor, channel: ChannelId, guild: &str, voice_channel: &str) -> Outcome {
    access::pool_user(context.state, actor)?;
    access::room_to_manage(context.state, actor, channel)?;
    let known = context.state.pools().link(channel).map(|link| (link.id, link.created_at));
    let (id, created_at) = known.unwrap_or_else(|| (PoolLinkId(context.new_id()), context.now));
    let link = PoolLink {
        id,
        channel,
        guild: short_text(guild, "guild_id", MAX_ID_CHARS)?,
        voice_channel: short_text(voice_channel, "voice_channel_id", MAX_ID_CHARS)?,
        linked_by: actor.member,
        created_at,
    };
    Ok(Decision::saved(Reply::PoolLink(link.clone()), link))
}

pub fn unlink(context: &mut Context<'_>, actor: Actor, channel: ChannelId) -> Outcome {
    access::room_to_manage(context.state, actor, channel)?;
    let link = context.state.pools().link(channel).ok_or(refusal::POOL_LINK_NOT_FOUND)?.clone();
    Ok(Decision::new(Reply::PoolLink(link.clone()), vec![Event::Removed(link.into())]))
}
