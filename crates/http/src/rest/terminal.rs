//! What Lark's terminal client calls: the caller's workspace without naming it, and the daemons that carry agents.

use axum::extract::State as AppState;
use folkmoot_core::command::{AddMember, Command, Reply, UpdateMember};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::{Actor, Refusal, State, access, refusal};
use folkmoot_doors::lark::objects::{ChannelObject, WorkspaceObject, schemas};
use folkmoot_hub::Hub;
use folkmoot_hub::auth::Auth;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::admin::Figures;
use super::agents::{NewAgent, NewAgentBody, with_invitation};
use super::error::ApiError;
use super::extract::{Body, Caller, Path};
use super::objects::{AgentObject, DAEMON_NOT_FOUND, DaemonObject, Unread};
use super::reply::{self, Answer};
use super::{agents, channels, direct, unexpected};

#[derive(Serialize, ToSchema)]
pub struct Status<'a> {
    #[schema(example = "ok")]
    status: &'static str,
    #[schema(value_type = String)]
    member_id: MemberId,
    name: &'a str,
    workspace: WorkspaceObject<'a>,
    #[serde(flatten)]
    figures: Figures,
}

/// The hub and the caller's workspace in figures.
#[utoipa::path(get, path = "/v1/status", tag = "terminal", responses((status = 200, body = Status<'static>)))]
pub async fn status(caller: Caller) -> Answer {
    let uptime_s = caller.hub.uptime_s();
    caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        let workspace = state.workspace(member.workspace).ok_or(refusal::WORKSPACE_NOT_FOUND)?;
        Ok(reply::ok(&Status {
            status: "ok",
            member_id: member.id,
            name: &member.name,
            workspace: workspace.into(),
            figures: Figures::new(state, actor, uptime_s)?,
        }))
    })?
}

#[utoipa::path(get, path = "/v1/agents", tag = "terminal", summary = "The agents of the caller's workspace.",
    responses((status = 200, body = [AgentObject<'static>])))]
pub async fn list_agents(caller: Caller) -> Answer {
    let workspace = caller.workspace()?;
    agents::list(caller, Path(workspace)).await
}

#[utoipa::path(get, path = "/v1/channels", tag = "terminal", summary = "The channels the caller may read.",
    responses((status = 200, body = [ChannelObject<'static>])))]
pub async fn list_channels(caller: Caller) -> Answer {
    let workspace = caller.workspace()?;
    channels::readable(&caller, workspace, |_| true)
}

/// Register an agent: by invitation, or as an admin. An agent that calls this itself renews its role card.
#[utoipa::path(post, path = "/v1/agents/register", tag = "terminal", request_body = NewAgentBody,
    responses((status = 201, body = NewAgent<'static>), (status = 200, body = NewAgent<'static>)))]
pub async fn register(
    AppState(hub): AppState<Hub>,
    caller: Option<Caller>,
    Body(body): Body<serde_json::Value>,
) -> Answer {
    // Who calls is settled before the body is looked at more closely.
    let is_invited = body["provision_token"].as_str().is_some_and(|token| !token.is_empty());
    if caller.is_none() && !is_invited {
        return Err(refusal::NOT_AUTHENTICATED.into());
    }
    let body: NewAgentBody = serde_json::from_value(body)
        .map_err(|error| ApiError::bad_request(format!("the body is not as expected: {error}")))?;
    match caller {
        Some(caller) if !is_invited => add_or_renew(&caller, &body).await,
        _ => {
            let hash = Auth::hash_key(body.provision_token.as_deref().unwrap_or_default());
            let workspace = hub.with_state(|state| invited_to(state, &hash, hub.now()));
            with_invitation(&hub, workspace.unwrap_or(WorkspaceId::NONE), &body).await
        }
    }
}

/// The workspace an invitation is for; this address does not name it.
fn invited_to(state: &State, hash: &KeyHash, now: folkmoot_core::Millis) -> Option<WorkspaceId> {
    state.workspaces().map(|workspace| workspace.id).find(|id| access::open_provision(state, *id, hash, now).is_ok())
}

async fn add_or_renew(caller: &Caller, body: &NewAgentBody) -> Answer {
    let member = caller.query(|state, actor| access::member(state, actor).cloned())?;
    let (role_card, runtime) = body.card_and_runtime();
    if member.is_agent() {
        // Without a connection it is not there, whatever it says of itself; its role card counts all the same.
        let command = if is_there(caller, member.id)? {
            Command::Hello { role_card, runtime: Some(runtime) }
        } else {
            let role_card = Some(role_card);
            Command::UpdateMember(UpdateMember { member: member.id, role_card, ..UpdateMember::default() })
        };
        caller.execute(command).await?;
        return reply::ok(&NewAgent::new(&member, None));
    }
    let (api_key, key_hash) = Auth::new_key("lr");
    let add = AddMember {
        workspace: member.workspace,
        kind: MemberKind::Agent,
        role: None,
        name: body.name.clone(),
        nick: None,
        email: None,
        password_hash: None,
        key_hash: Some(key_hash),
        role_card: Some(role_card),
        runtime: Some(runtime),
    };
    let Reply::Member(agent) = caller.execute(Command::AddMember(add)).await? else { return Err(unexpected()) };
    reply::created(&NewAgent::new(&agent, Some(&api_key)))
}

/// Whether a member has a connection, its own or its daemon's. Presence is of those who do.
fn is_there(caller: &Caller, member: MemberId) -> Result<bool, ApiError> {
    caller.query(|state, _| Ok(state.presence_of(member) != Presence::Offline))
}

#[derive(Deserialize, ToSchema)]
pub struct HeartbeatBody {
    /// `online` (default), `idle`, `dnd` or `sleeping`.
    status: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct AgentState<'a> {
    #[schema(value_type = String)]
    agent_id: MemberId,
    name: &'a str,
    /// What was done, or how the agent is now.
    #[schema(example = "online")]
    status: String,
    #[schema(value_type = schemas::Presence)]
    presence: Presence,
}

/// Say how the caller is. Whether it is there at all follows from its connections.
#[utoipa::path(post, path = "/v1/agents/heartbeat", tag = "terminal", request_body = HeartbeatBody,
    responses((status = 200, body = AgentState<'static>)))]
pub async fn heartbeat(caller: Caller, Body(body): Body<HeartbeatBody>) -> Answer {
    let presence = match body.status.as_deref().unwrap_or_default() {
        "" | "online" | "awake" | "active" => Presence::Online,
        "idle" => Presence::Idle,
        "dnd" | "busy" => Presence::Dnd,
        "sleeping" | "sleep" => Presence::Sleeping,
        _ => return Err(ApiError::bad_request("status must be one of online, idle, dnd, sleeping")),
    };
    if is_there(&caller, caller.id())? {
        caller.execute(Command::SetPresence(presence)).await?;
    }
    agent_state(&caller, caller.id(), "ok")
}

fn agent_state(caller: &Caller, id: MemberId, status: &str) -> Answer {
    caller.query(|state, actor| {
        let agent = access::colleague(state, actor, id)?;
        let presence = state.presence_of(id);
        Ok(reply::ok(&AgentState { agent_id: id, name: &agent.name, status: status.to_owned(), presence }))
    })?
}

/// Send an agent to sleep: itself, or as one who answers for it. `{agent}` is its name or id.
#[utoipa::path(post, path = "/v1/agents/{agent}/disconnect", tag = "terminal",
    responses((status = 200, body = AgentState<'static>)))]
pub async fn disconnect(caller: Caller, Path(name): Path<String>) -> Answer {
    let agent = caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        let named = state.member_named(member.workspace, &name).or_else(|| state.member(MemberId::parse(&name)));
        let agent = named.filter(|agent| agent.is_agent() && agent.workspace == member.workspace);
        let agent = agent.ok_or(refusal::AGENT_NOT_FOUND)?;
        if access::may_carry(member, agent) { Ok(agent.id) } else { Err(refusal::NOT_AUTHORIZED) }
    })?;
    if is_there(&caller, agent)? {
        caller.hub.execute(Actor::new(agent, Door::Rest), Command::Sleep).await?;
    }
    agent_state(&caller, agent, "disconnected")
}

/// The daemons of the workspace, with the agents they carry.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/daemons", tag = "terminal",
    responses((status = 200, body = [DaemonObject])))]
pub async fn list_daemons(caller: Caller, Path(workspace): Path<WorkspaceId>) -> Answer {
    caller.query(|state, actor| {
        access::workspace_member(state, actor, workspace)?;
        let mut daemons: Vec<_> = daemons_of(state, workspace).map(|daemon| DaemonObject::new(daemon, state)).collect();
        daemons.sort_by(|one, other| (one.started_at, &one.id).cmp(&(other.started_at, &other.id)));
        Ok(reply::ok(&daemons))
    })?
}

fn daemons_of(state: &State, workspace: WorkspaceId) -> impl Iterator<Item = &Daemon> {
    let belongs = move |id: MemberId| access::carrier(state, id).is_ok_and(|member| member.workspace == workspace);
    state.daemons().map(|(_, daemon)| daemon).filter(move |daemon| belongs(daemon.member))
}

#[utoipa::path(get, path = "/v1/daemons/{daemon}", tag = "terminal", summary = "One daemon.",
    responses((status = 200, body = DaemonObject)))]
pub async fn get_daemon(caller: Caller, Path(id): Path<String>) -> Answer {
    caller.query(|state, actor| {
        let daemon = visible_daemon(state, actor, &id)?;
        Ok(reply::ok(&DaemonObject::new(daemon, state)))
    })?
}

fn visible_daemon<'a>(state: &'a State, actor: Actor, id: &str) -> Result<&'a Daemon, Refusal> {
    let workspace = access::member(state, actor)?.workspace;
    daemons_of(state, workspace).find(|daemon| daemon.id == id).ok_or(DAEMON_NOT_FOUND)
}

/// Wake an agent that a daemon carries. `{agent}` is its name or id.
#[utoipa::path(post, path = "/v1/daemons/{daemon}/agents/{agent}/wake", tag = "terminal",
    responses((status = 200, body = AgentState<'static>)))]
pub async fn wake(caller: Caller, Path((daemon, agent)): Path<(String, String)>) -> Answer {
    wake_carried(&caller, &daemon, &agent, "woken").await
}

/// Ask a daemon to restart an agent: it is woken by hand, and what follows is the daemon's.
#[utoipa::path(post, path = "/v1/daemons/{daemon}/agents/{agent}/restart", tag = "terminal",
    responses((status = 200, body = AgentState<'static>)))]
pub async fn restart(caller: Caller, Path((daemon, agent)): Path<(String, String)>) -> Answer {
    wake_carried(&caller, &daemon, &agent, "requested").await
}

async fn wake_carried(caller: &Caller, daemon: &str, name: &str, status: &str) -> Answer {
    let agent = caller.query(|state, actor| {
        let daemon = visible_daemon(state, actor, daemon)?;
        let id = MemberId::parse(name);
        let carried = daemon.agents.iter().find(|agent| agent.agent == id || agent.name.eq_ignore_ascii_case(name));
        carried.map(|agent| agent.agent).ok_or(refusal::AGENT_NOT_FOUND)
    })?;
    caller.execute(Command::WakeAgent { agent }).await?;
    agent_state(caller, agent, status)
}

#[utoipa::path(get, path = "/v1/users/me/dms", tag = "terminal", summary = "The caller's direct channels.",
    responses((status = 200, body = [ChannelObject<'static>])))]
pub async fn my_directs(caller: Caller) -> Answer {
    direct::directs(&caller, caller.id())
}

#[utoipa::path(get, path = "/v1/users/me/unread", tag = "terminal", summary = "What the caller has not read.",
    responses((status = 200, body = Unread)))]
pub async fn my_unread(caller: Caller) -> Answer {
    direct::unread_of(&caller, caller.id())
}
