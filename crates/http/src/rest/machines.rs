//! Machines: keys with which a daemon carries its owner's agents, and can do nothing else.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::Machine;
use folkmoot_core::{Millis, State, access};
use folkmoot_hub::auth::Auth;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Body, Caller, Path};
use super::reply::{self, Answer, Done};
use super::unexpected;

#[derive(Deserialize, ToSchema)]
pub struct MachineBody {
    /// What its owner calls it.
    #[schema(example = "laptop", min_length = 1, max_length = 64, pattern = "name")]
    name: String,
}

/// A new machine, with its key, this once.
#[derive(Serialize, ToSchema)]
pub struct NewMachine<'a> {
    #[schema(value_type = String)]
    id: MachineId,
    name: &'a str,
    /// What the daemon logs in with (`lm_…`).
    key: &'a str,
    #[schema(value_type = String)]
    owner_id: MemberId,
    created_at: Millis,
}

/// A machine without its key.
#[derive(Serialize, ToSchema)]
#[schema(as = Machine)]
pub struct MachineObject<'a> {
    #[schema(value_type = String)]
    id: MachineId,
    name: &'a str,
    #[schema(value_type = String)]
    owner_id: MemberId,
    created_at: Millis,
    /// When a connection with its key last came or went.
    #[schema(required = true)]
    last_seen_at: Option<Millis>,
    online: bool,
    /// The agents it carries, or carried last.
    agents: Vec<MachineAgent<'a>>,
}

#[derive(Serialize, ToSchema)]
pub struct MachineAgent<'a> {
    #[schema(value_type = String)]
    id: MemberId,
    name: &'a str,
}

impl<'a> MachineObject<'a> {
    fn new(machine: &'a Machine, state: &'a State) -> Self {
        let carried = |agent: &MemberId| {
            access::speaks_for(state, machine.as_member(), *agent).ok()?;
            state.member(*agent).map(|agent| MachineAgent { id: agent.id, name: &agent.name })
        };
        Self {
            id: machine.id,
            name: &machine.name,
            owner_id: machine.owner,
            created_at: machine.created_at,
            last_seen_at: machine.last_seen_at,
            online: !state.connections_of(machine.as_member()).is_empty(),
            agents: machine.agents.iter().filter_map(carried).collect(),
        }
    }
}

/// Make a key for a machine of the caller's, with which `moot agentd` there carries the caller's agents.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/machines", tag = "members", request_body = MachineBody,
    responses((status = 409, description = "the caller has as many machines as there may be"), (status = 201, body = NewMachine<'static>)))]
pub async fn add(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<MachineBody>) -> Answer {
    let (key, key_hash) = Auth::new_key("lm");
    let add = Command::AddMachine { workspace, name: body.name, key_hash };
    let Reply::Machine(machine) = caller.execute(add).await? else { return Err(unexpected()) };
    let Machine { id, owner, created_at, name, .. } = &machine;
    reply::created(&NewMachine { id: *id, name, key: &key, owner_id: *owner, created_at: *created_at })
}

/// The caller's machines; for admins, all of the workspace.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/machines", tag = "members",
    responses((status = 200, body = [MachineObject<'static>])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>) -> Answer {
    caller.query(|state, actor| {
        let member = access::workspace_member(state, actor, workspace)?;
        let machines = access::machines(state, member).map(|machine| MachineObject::new(machine, state));
        Ok(reply::ok(&machines.collect::<Vec<_>>()))
    })?
}

/// Take a machine's key back (its owner, or an admin). Its connections end at once.
#[utoipa::path(delete, path = "/v1/workspaces/{workspace}/machines/{machine}", tag = "members",
    responses((status = 200, body = Done)))]
pub async fn remove(caller: Caller, Path((workspace, machine)): Path<(WorkspaceId, MachineId)>) -> Answer {
    caller.within(workspace)?;
    caller.execute(Command::RemoveMachine { machine }).await?;
    reply::deleted(machine)
}
