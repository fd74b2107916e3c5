//! What Lark's terminal client calls: the caller's workspace without naming it, and the daemons that carry agents.

use std::sync::Arc;

use axum::extract::State as AppState;
use folkmoot_core::command::{AddMember, Command, Reply, UpdateMember, WakeAbout};
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
use super::extract::{Body, Caller, Path, given};
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

#[utoipa::path(get, path = "/v1/admin/agents", tag = "terminal",
    summary = "The same list, under the address that older terminal clients ask.",
    responses((status = 200, body = [AgentObject<'static>])))]
pub async fn list_agents_as_admin(caller: Caller) -> Answer {
    list_agents(caller).await
}

#[utoipa::path(get, path = "/v1/channels", tag = "terminal", summary = "The channels the caller may read.",
    responses((status = 200, body = [ChannelObject<'static>])))]
pub async fn list_channels(caller: Caller) -> Answer {
    let workspace = caller.workspace()?;
    channels::readable(&caller, workspace, |_| true)
}

/// Register an agent: by invitation, or as an admin. An agent that calls this itself renews its role card, and whoever answers
/// for an agent of this name gets that one again: terminal clients register theirs at every start.
#[utoipa::path(post, path = "/v1/agents/register", tag = "terminal", request_body = NewAgentBody,
    responses((status = 409, description = "the name is taken"), (status = 201, body = NewAgent<'static>), (status = 200, body = NewAgent<'static>)))]
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
    if member.is_agent() {
        return renew_oneself(caller, &member, body).await;
    }
    let (role_card, runtime) = body.card_and_runtime();
    if let Some(agent) = own_agent_named(caller, &body.name)? {
        return renew(caller, &agent, body).await;
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

/// An agent says who it is; what it does not say stays as it is.
async fn renew_oneself(caller: &Caller, agent: &Member, body: &NewAgentBody) -> Answer {
    let (_, runtime) = body.card_and_runtime();
    let said = body.card();
    // Without a connection it is not there, whatever it says of itself; its role card counts all the same.
    let is_there = is_there(caller, agent.id)?;
    if is_there && (said.is_some() || runtime != Runtime::default()) {
        let role_card = said.or_else(|| agent.role_card.clone()).unwrap_or_default();
        caller.execute(Command::Hello { role_card, runtime: Some(runtime) }).await?;
        return reply::ok(&NewAgent::new(agent, None));
    }
    renew(caller, agent, body).await
}

/// The agent of this name, where the caller answers for it.
fn own_agent_named(caller: &Caller, name: &str) -> Result<Option<Arc<Member>>, ApiError> {
    caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        let named = state.member_named(member.workspace, name.trim());
        Ok(named.filter(|agent| access::may_carry(member, agent)).cloned())
    })
}

/// An agent that is there already: it keeps its key, and what is not said of it stays.
async fn renew(caller: &Caller, agent: &Member, body: &NewAgentBody) -> Answer {
    if let Some(role_card) = body.card() {
        let role_card = Some(role_card);
        let update = UpdateMember { member: agent.id, role_card, ..UpdateMember::default() };
        caller.execute(Command::UpdateMember(update)).await?;
    }
    reply::ok(&NewAgent::new(agent, None))
}

/// Whether a member has a connection, its own or its daemon's. Presence is of those who do.
fn is_there(caller: &Caller, member: MemberId) -> Result<bool, ApiError> {
    caller.query(|state, _| Ok(state.presence_of(member) != Presence::Offline))
}

#[derive(Deserialize, ToSchema)]
pub struct HeartbeatBody {
    /// The agent it is about, by name or id; the caller when left out. How another is follows from its connections alone.
    agent: Option<String>,
    /// `online` (default), `idle`, `dnd` or `sleeping`.
    #[schema(value_type = Option<schemas::SaidPresence>)]
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
    responses((status = 404, description = "there is no such agent"), (status = 200, body = AgentState<'static>)))]
pub async fn heartbeat(caller: Caller, Body(body): Body<HeartbeatBody>) -> Answer {
    let presence = match body.status.as_deref().unwrap_or_default() {
        "" | "online" | "awake" | "active" => Presence::Online,
        "idle" => Presence::Idle,
        "dnd" | "busy" => Presence::Dnd,
        "sleeping" | "sleep" => Presence::Sleeping,
        _ => return Err(ApiError::bad_request("status must be one of online, idle, dnd, sleeping")),
    };
    let about = body.agent.as_deref().filter(|name| !name.is_empty()).map(|name| carried(&caller, name)).transpose()?;
    let about = about.unwrap_or(caller.id());
    if about == caller.id() && is_there(&caller, about)? {
        caller.execute(Command::SetPresence(presence)).await?;
    }
    agent_state(&caller, about, "ok")
}

/// An agent that the caller is or answers for, by its name or id.
fn carried(caller: &Caller, name: &str) -> Result<MemberId, ApiError> {
    caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        let named = state.member_named(member.workspace, name).or_else(|| state.member(MemberId::parse(name)));
        let agent = named.filter(|agent| agent.is_agent() && agent.workspace == member.workspace);
        let agent = agent.ok_or(refusal::AGENT_NOT_FOUND)?;
        if access::may_carry(member, agent) { Ok(agent.id) } else { Err(refusal::NOT_AUTHORIZED) }
    })
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
    let agent = carried(&caller, &name)?;
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
        daemons.sort_by(|one, other| (&one.started_at, &one.id).cmp(&(&other.started_at, &other.id)));
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

/// What an agent is woken for; left out, it is only woken.
#[derive(Deserialize, ToSchema)]
pub struct WakeBody {
    /// Where it is wanted.
    channel_id: Option<String>,
    /// What it is wanted for: the id of a message of the channel, or words, which are said there in the caller's name.
    #[serde(alias = "message_id")]
    message: Option<String>,
}

impl WakeBody {
    fn about(self) -> Result<Option<WakeAbout>, ApiError> {
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let channel = given(self.channel_id, ChannelId::parse);
        let Some(content) = filled(self.message) else { return Ok(channel.map(WakeAbout::Channel)) };
        let message = MessageId::parse(content.trim());
        match channel {
            _ if !message.is_none() => Ok(Some(WakeAbout::Message { channel, message })),
            Some(channel) => Ok(Some(WakeAbout::Words { channel, content })),
            None => Err(ApiError::bad_request("channel_id is required: where is this to be said?")),
        }
    }
}

/// Wake an agent that a daemon carries, about a message or for nothing in particular. `{agent}` is its name or id.
#[utoipa::path(post, path = "/v1/daemons/{daemon}/agents/{agent}/wake", tag = "terminal", request_body = WakeBody,
    responses((status = 409, description = "the agent is offline"), (status = 200, body = AgentState<'static>)))]
pub async fn wake(caller: Caller, Path((daemon, agent)): Path<(String, String)>, Body(body): Body<WakeBody>) -> Answer {
    let about = body.about()?;
    wake_carried(&caller, &daemon, &agent, about, "woken").await
}

/// Ask a daemon to restart an agent: it is woken by hand, and what follows is the daemon's.
#[utoipa::path(post, path = "/v1/daemons/{daemon}/agents/{agent}/restart", tag = "terminal",
    responses((status = 409, description = "the agent is offline"), (status = 200, body = AgentState<'static>)))]
pub async fn restart(caller: Caller, Path((daemon, agent)): Path<(String, String)>) -> Answer {
    wake_carried(&caller, &daemon, &agent, None, "requested").await
}

async fn wake_carried(caller: &Caller, daemon: &str, name: &str, about: Option<WakeAbout>, status: &str) -> Answer {
    let agent = caller.query(|state, actor| {
        let daemon = visible_daemon(state, actor, daemon)?;
        let id = MemberId::parse(name);
        let carried = daemon.agents.iter().find(|agent| agent.agent == id || agent.name.eq_ignore_ascii_case(name));
        carried.map(|agent| agent.agent).ok_or(refusal::AGENT_NOT_FOUND)
    })?;
    caller.execute(Command::WakeAgent { agent, about }).await?;
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
