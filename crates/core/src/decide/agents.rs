//! Connections and presence, and the life of an agent: hello, sleep, wake, the daemon that carries it.

use std::sync::Arc;

use super::{Context, Decision, Outcome, machines, messages, wakes};
use crate::command::{Reply, Send, WakeAbout};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::state::State;
use crate::{Actor, access};

pub fn connect(context: &mut Context<'_>, actor: Actor) -> Outcome {
    if let Some(machine) = context.state.machine_behind(actor.member) {
        return machines::connect(context, actor, machine);
    }
    let member = access::member(context.state, actor)?;
    let connection = actor.connection.ok_or(refusal::NOT_AUTHENTICATED)?;
    let mut events = Vec::new();
    if member.is_agent() && actor.door.facts().newest_connection_stays {
        // The newest connection of an agent replaces the older one of the same door; people, and everybody on Snek, may have
        // several.
        let of_this_door = |old: &&ConnectionId| context.state.door_of(**old) == Some(actor.door);
        for old in context.state.connections_of(member.id).iter().filter(of_this_door) {
            events.push(Event::ConnectionReplaced(*old));
            events.push(Event::Disconnected { member: member.id, connection: *old });
            let lost = reached_only_through(context.state, *old).filter(|agent| agent.id != member.id);
            events.extend(lost.map(|agent| presence(agent, Presence::Offline)));
        }
    }
    events.push(Event::Connected { member: member.id, connection, door: actor.door });
    if context.state.presence_of(member.id) != Presence::Online && (member.is_agent() || is_away(context, member.id)) {
        events.push(presence(member, Presence::Online));
    }
    Ok(Decision::new(Reply::Connected(member.clone()), events).reply_after(0))
}

/// A daemon logs in for a program of its machine, which thereby is one of the machine's agents.
pub fn connect_carried(context: &mut Context<'_>, actor: Actor, carrier: MemberId) -> Outcome {
    access::speaks_for(context.state, carrier, actor.member)?;
    let mut decision = connect(context, actor)?;
    if let Some(machine) = context.state.machine_behind(carrier).filter(|one| !one.agents.contains(&actor.member)) {
        let agents = machine.agents.iter().copied().chain([actor.member]).collect();
        decision.events.push(Event::Saved(Machine { agents, ..machine.clone() }.into()));
    }
    Ok(decision)
}

fn is_away(context: &Context<'_>, member: MemberId) -> bool {
    context.state.presence_of(member) == Presence::Offline
}

fn presence(member: &Member, presence: Presence) -> Event {
    Event::PresenceChanged { member: member.id, workspace: member.workspace, presence }
}

pub fn disconnect(context: &mut Context<'_>, actor: Actor) -> Outcome {
    let connection = actor.connection.ok_or(refusal::NOT_AUTHENTICATED)?;
    let state = context.state;
    if !state.connections_of(actor.member).contains(&connection) {
        // Already replaced: its clean-up must not touch the connection that came after it.
        return Ok(Decision::nothing(Reply::Done));
    }
    let mut events = vec![Event::Disconnected { member: actor.member, connection }];
    let last = state.connections_of(actor.member).len() == 1;
    let carried_elsewhere = state.carrier_of(actor.member).is_some_and(|carrier| carrier != connection);
    if let Some(member) = state.member(actor.member).filter(|_| last && !carried_elsewhere) {
        events.push(presence(member, Presence::Offline));
    }
    events.extend(state.machine_behind(actor.member).map(|machine| machines::seen(context, machine)));
    let lost = reached_only_through(state, connection).filter(|agent| agent.id != actor.member);
    events.extend(lost.map(|agent| presence(agent, Presence::Offline)));
    Ok(Decision::new(Reply::Done, events))
}

/// The agents that go offline when this daemon's connection no longer carries them.
fn reached_only_through(state: &State, connection: ConnectionId) -> impl Iterator<Item = &Arc<Member>> {
    let carried = state.daemon(connection).map_or(&[][..], |daemon| &daemon.agents);
    let members = carried.iter().filter_map(|agent| state.member(agent.agent));
    members.filter(move |agent| {
        state.carrier_of(agent.id) == Some(connection) && state.connections_of(agent.id).is_empty()
    })
}

pub fn set_presence(context: &mut Context<'_>, actor: Actor, wanted: Presence) -> Outcome {
    let member = access::member(context.state, actor)?;
    let allowed = match wanted {
        Presence::Online | Presence::Idle | Presence::Dnd => true,
        Presence::Sleeping => member.is_agent(),
        Presence::Offline => false,
    };
    if !allowed {
        return Err(Refusal::bad_request("status must be one of online, idle, dnd"));
    }
    Ok(Decision::new(Reply::Done, change_of_presence(context, member, wanted).into_iter().collect()))
}

/// What is told when somebody says how present they are: nothing new, or of somebody who is not connected, is not told.
fn change_of_presence(context: &Context<'_>, member: &Member, wanted: Presence) -> Option<Event> {
    let now = context.state.presence_of(member.id);
    (now != wanted && now != Presence::Offline).then(|| presence(member, wanted))
}

pub fn hello(context: &mut Context<'_>, actor: Actor, role_card: RoleCard, runtime: Option<Runtime>) -> Outcome {
    let agent = access::agent(context.state, actor)?;
    let mut events = Vec::new();
    if agent.role_card.as_ref() != Some(&role_card) || agent.runtime != runtime {
        let member = Member { role_card: Some(role_card), runtime, ..(**agent).clone() };
        events.push(Event::Saved(member.into()));
    }
    events.extend(change_of_presence(context, agent, Presence::Online));
    if let Some(connection) = actor.connection {
        let through = context.state.carrier_of(agent.id);
        wakes::on_rest(context, agent.id, &mut events);
        wakes::on_return(context, agent.id, through.unwrap_or(connection), through, &mut events)?;
    }
    Ok(Decision::new(Reply::Welcome { agent: agent.id }, events).reply_after(0))
}

pub fn sleep(context: &mut Context<'_>, actor: Actor) -> Outcome {
    let agent = access::agent(context.state, actor)?;
    let mut events: Vec<_> = change_of_presence(context, agent, Presence::Sleeping).into_iter().collect();
    wakes::on_rest(context, agent.id, &mut events);
    Ok(Decision::new(Reply::Done, events))
}

pub fn thinking(context: &mut Context<'_>, actor: Actor, channel: ChannelId) -> Outcome {
    access::agent(context.state, actor)?;
    access::room_to_speak(context.state, actor, channel)?;
    let mut events = vec![Event::Typing { channel, member: actor.member, on: true, color: None }];
    wakes::on_typing(context, actor, channel, true, &mut events);
    Ok(Decision::new(Reply::Done, events))
}

pub fn register_daemon(context: &mut Context<'_>, actor: Actor, agents: Vec<DaemonAgent>) -> Outcome {
    let carrier = access::carrier(context.state, actor.member)?;
    let connection = actor.connection.ok_or(refusal::NOT_AUTHENTICATED)?;
    if agents.is_empty() {
        return Err(refusal::NO_AGENTS);
    }
    // Agents this member has no say over are left out, so that nobody's wakes are diverted.
    let (mut allowed, mut refused) = (Vec::new(), Vec::new());
    for wanted in agents {
        match context.state.member(wanted.agent).filter(|agent| access::may_carry(carrier, agent)) {
            Some(agent) => allowed.push(DaemonAgent { name: agent.name.clone(), agent: agent.id }),
            None => refused.push(wanted),
        }
    }
    let agents = allowed;
    let daemon = Daemon {
        id: format!("daemon_{}_{}", actor.member, context.now),
        member: actor.member,
        started_at: context.now,
        agents: agents.clone(),
    };
    let came_online = |agent: &DaemonAgent| {
        let member = context.state.member(agent.agent)?;
        (context.state.presence_of(member.id) == Presence::Offline).then(|| presence(member, Presence::Online))
    };
    let online: Vec<_> = agents.iter().filter_map(came_online).collect();
    // The newest list counts: whom it no longer names is not carried any more.
    let kept = |agent: &&Arc<Member>| agents.iter().any(|known| known.agent == agent.id);
    let lost = reached_only_through(context.state, connection).filter(|agent| !kept(agent));
    let offline: Vec<_> = lost.map(|agent| presence(agent, Presence::Offline)).collect();
    let id = daemon.id.clone();
    let mut events = vec![Event::DaemonRegistered { connection, daemon }];
    events.extend(offline);
    events.extend(online);
    let machine = context.state.machine_behind(actor.member);
    let carried = agents.iter().map(|agent| agent.agent).collect();
    events.extend(machine.and_then(|machine| machines::carries(context, machine, carried)));
    for agent in &agents {
        wakes::on_return(context, agent.agent, connection, Some(connection), &mut events)?;
    }
    Ok(Decision::new(Reply::Daemon { id, agents, refused }, events).reply_after(0))
}

pub fn wake_by_hand(context: &mut Context<'_>, actor: Actor, id: MemberId, about: Option<WakeAbout>) -> Outcome {
    let by = access::member(context.state, actor)?;
    let agent = access::colleague(context.state, actor, id)?;
    if !access::may_carry(by, agent) {
        return Err(refusal::NOT_AUTHORIZED);
    }
    if !context.state.is_reachable(agent.id) {
        return Err(Refusal::conflict("the agent is offline"));
    }
    let agent = Arc::clone(agent);
    match about {
        Some(about) => wake_about(context, actor, &agent, about),
        None => Ok(Decision::new(Reply::Done, wakes::by_hand(context, &agent, None)?)),
    }
}

/// Wakes an agent about something in a channel that both are in. Nobody wakes himself: an agent that could would never end.
fn wake_about(context: &mut Context<'_>, actor: Actor, agent: &Member, about: WakeAbout) -> Outcome {
    if actor.member == agent.id {
        return Err(refusal::NOT_AUTHORIZED);
    }
    let (message, mut events) = match about {
        WakeAbout::Channel(channel) => {
            shared(context, actor, agent, channel)?;
            return Ok(Decision::new(Reply::Done, wakes::by_hand(context, agent, Some(channel))?));
        }
        WakeAbout::Message { channel, message } => {
            let message = messages::visible_message(context, actor, message)?;
            if channel.is_some_and(|channel| channel != message.channel) {
                return Err(refusal::MESSAGE_NOT_FOUND);
            }
            (Arc::new(message), Vec::new())
        }
        WakeAbout::Words { channel, content } => {
            let said = messages::send(context, actor, Send { channel, content, ..Send::default() })?;
            let Reply::Sent { message, .. } = said.reply else { return Ok(said) };
            (message, said.events)
        }
    };
    shared(context, actor, agent, message.channel)?;
    wakes::on_word_by_hand(context, actor, agent, &message, &mut events)?;
    Ok(Decision::new(Reply::Done, events))
}

/// Refuses what is about a channel that only one of the two is in.
fn shared(context: &Context<'_>, actor: Actor, agent: &Member, channel: ChannelId) -> Result<(), Refusal> {
    let room = access::room_to_speak(context.state, actor, channel)?;
    let inside = room.members.contains_key(&agent.id);
    if inside { Ok(()) } else { Err(Refusal::conflict("the agent is not in this channel")) }
}
