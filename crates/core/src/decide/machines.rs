//! Machines: what a daemon logs in with that carries the agents of one person, and nothing else.

use std::sync::Arc;

use super::{Context, Decision, Outcome, members, visible_name};
use crate::command::Reply;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

const MAX_NAME_CHARS: usize = 64;
/// Nobody has more machines than this; keys that are made over and over and never taken back are a mistake.
const MAX_MACHINES: usize = 100;

pub fn add(context: &mut Context<'_>, actor: Actor, workspace: WorkspaceId, name: &str, key_hash: KeyHash) -> Outcome {
    let owner = access::person(context.state, actor, workspace)?.id;
    let name = visible_name(name, "name", MAX_NAME_CHARS)?;
    if context.state.machines_of(owner).count() >= MAX_MACHINES {
        return Err(Refusal::conflict(format!("you have {MAX_MACHINES} machines; take one back first")));
    }
    let machine = Machine {
        id: MachineId(context.new_id()),
        workspace,
        owner,
        name,
        key_hash,
        created_at: context.now,
        last_seen_at: None,
        agents: Vec::new(),
    };
    Ok(Decision::saved(Reply::Machine(machine.clone()), machine))
}

pub fn remove(context: &mut Context<'_>, actor: Actor, id: MachineId) -> Outcome {
    let machine = access::machine_to_manage(context.state, actor, id)?.clone();
    Ok(Decision::new(Reply::Done, vec![Event::Removed(machine.into())]))
}

/// A daemon logs in with a machine's key. Nobody comes online by it: only Lark has a word for daemons.
pub fn connect(context: &mut Context<'_>, actor: Actor, machine: &Machine) -> Outcome {
    let connection = actor.connection.ok_or(refusal::NOT_AUTHENTICATED)?;
    if !actor.door.facts().has_daemons {
        return Err(refusal::MACHINES_ONLY_CARRY);
    }
    let who = Member {
        id: machine.as_member(),
        ..members::new_member(context, machine.workspace, MemberKind::Agent, machine.name.clone(), Some(machine.owner))
    };
    let connected = Event::Connected { member: who.id, connection, door: actor.door };
    let events = vec![seen(context, machine), connected];
    Ok(Decision::new(Reply::Connected(Arc::new(who)), events).reply_after(0))
}

pub fn seen(context: &Context<'_>, machine: &Machine) -> Event {
    Event::Saved(Machine { last_seen_at: Some(context.now), ..machine.clone() }.into())
}

/// Whom a daemon of the machine carries from now on.
pub fn carries(context: &Context<'_>, machine: &Machine, agents: Vec<MemberId>) -> Option<Event> {
    let news = Machine { agents, last_seen_at: Some(context.now), ..machine.clone() };
    (news.agents != machine.agents).then(|| Event::Saved(news.into()))
}
