//! Who may carry agents, and what whoever carries them may do for them.

use std::sync::Arc;

use super::{Actor, may_see_run, member, workspace_member};
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::run::Run;
use crate::state::State;

/// Whether this member may carry that agent in a daemon: itself, the person who answers for it, a person who is an admin, or
/// the hub's own daemon. An agent's key is that agent, whatever its role: it carries nobody else.
/// Not another person of the same owner: most people are added by one owner, and an agent hears private channels.
pub fn may_carry(carrier: &Member, agent: &Member) -> bool {
    let answers = agent.created_by == Some(carrier.id) || carrier.role >= Role::Admin;
    agent.is_agent()
        && carrier.workspace == agent.workspace
        && (carrier.id == agent.id || carrier.guest == Some(Guest::daemon()) || !carrier.is_agent() && answers)
}

/// The member whose rights count when agents are carried: the carrier itself, or the person a machine belongs to.
pub fn carrier(state: &State, id: MemberId) -> Result<&Arc<Member>, Refusal> {
    let owner = || state.machine_behind(id).and_then(|machine| state.member(machine.owner));
    let owner = || owner().filter(|owner| !owner.is_agent());
    state.member(id).or_else(owner).ok_or(refusal::NOT_AUTHENTICATED)
}

/// Whom somebody finds in a workspace: everybody, as a member of it; as a machine, those it may carry.
pub fn members_to_see(state: &State, actor: Actor, workspace: WorkspaceId) -> Result<Vec<&Arc<Member>>, Refusal> {
    let Some(machine) = state.machine_behind(actor.member).filter(|machine| machine.workspace == workspace) else {
        workspace_member(state, actor, workspace)?;
        return Ok(state.members_of(workspace).collect());
    };
    let owner = carrier(state, machine.as_member())?;
    Ok(state.members_of(workspace).filter(|member| may_carry(owner, member)).collect())
}

/// The machines somebody sees, oldest first: their own; admins, being people, see all.
pub fn machines<'a>(state: &'a State, member: &'a Member) -> impl Iterator<Item = &'a Machine> {
    let oversees = !member.is_agent() && member.role >= Role::Admin;
    state.machines_in(member.workspace).filter(move |machine| oversees || machine.owner == member.id)
}

/// A machine whose key the actor may take back.
pub fn machine_to_manage(state: &State, actor: Actor, id: MachineId) -> Result<&Machine, Refusal> {
    let member = member(state, actor)?;
    machines(state, member).find(|machine| machine.id == id).ok_or(refusal::MACHINE_NOT_FOUND)
}

/// Who somebody is that logs in for an agent it carries, as a daemon does for a program it hosts.
pub fn speaks_for(state: &State, carrier: MemberId, agent: MemberId) -> Result<MemberId, Refusal> {
    let carrier = self::carrier(state, carrier)?;
    let agent = state.member(agent).filter(|agent| may_carry(carrier, agent));
    agent.map(|agent| agent.id).ok_or(refusal::NOT_AUTHORIZED)
}

/// The connections of daemons that carry an agent which whoever runs them may no longer carry.
pub fn overreaching_daemons(state: &State) -> impl Iterator<Item = ConnectionId> {
    let may = |carrier: MemberId, agent: MemberId| {
        // One that was removed is in no channel any more, and nobody is woken for it.
        state.member(agent).is_none() || speaks_for(state, carrier, agent).is_ok()
    };
    let overreaches = move |daemon: &Daemon| daemon.agents.iter().any(|agent| !may(daemon.member, agent.agent));
    state.daemons().filter(move |(_, daemon)| overreaches(daemon)).map(|(connection, _)| connection)
}

/// Who reports on a run outside the agent's own connection: the agent, and the member or machine whose daemon carries it now.
pub fn may_report_on(state: &State, actor: Actor, run: &Run) -> Result<(), Refusal> {
    let workspace = carrier(state, actor.member)?.workspace;
    let daemon = state.carrier_of(run.agent).and_then(|connection| state.daemon(connection));
    let carries = daemon.is_some_and(|daemon| daemon.member == actor.member);
    if workspace == run.workspace && (run.agent == actor.member || carries) {
        return Ok(());
    }
    let sees = state.member(actor.member).is_some_and(|member| may_see_run(state, member, run));
    Err(if sees { refusal::NOT_YOUR_RUN } else { refusal::RUN_NOT_FOUND })
}
