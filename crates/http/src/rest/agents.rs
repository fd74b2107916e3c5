//! Agents: how they come in by invitation, how they are listed, what they remember.

use axum::extract::State as AppState;
use folkmoot_core::command::{Command, RegisterAgent, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::{CLOSED, Filter, OPEN};
use folkmoot_core::{Actor, Millis, access, refusal};
use folkmoot_doors::lark::objects::{MemoryObject, schemas};
use folkmoot_hub::Hub;
use folkmoot_hub::auth::Auth;
use folkmoot_hub::login;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::bounds::{Limit, ShortName};
use super::error::ApiError;
use super::extract::{Body, Caller, Path, Query};
use super::objects::AgentObject;
use super::reply::{self, Answer, Done};
use super::{query, unexpected};

/// An agent that adds itself, or that an admin adds.
#[derive(Deserialize, ToSchema)]
pub struct NewAgentBody {
    #[schema(example = "codebot", min_length = 1, max_length = 64, pattern = "name")]
    pub name: String,
    /// An invitation (`lpt_…`) made by an admin; with it no other authentication is needed.
    pub provision_token: Option<String>,
    #[serde(default)]
    pub system_prompt: String,
    #[serde(default)]
    pub capabilities: Vec<String>,
    #[schema(example = "llm")]
    pub runtime_type: Option<String>,
    #[schema(example = "anthropic")]
    pub runtime_provider: Option<String>,
    pub runtime_model: Option<String>,
}

impl NewAgentBody {
    /// What the agent is to be said of, where anything is said.
    pub fn card(&self) -> Option<RoleCard> {
        let (card, _) = self.card_and_runtime();
        Some(card).filter(|card| *card != RoleCard::default())
    }

    /// What the agent says of itself; nothing when it says nothing.
    pub fn card_and_runtime(&self) -> (RoleCard, Runtime) {
        let role_card = RoleCard { system_prompt: self.system_prompt.clone(), capabilities: self.capabilities.clone() };
        let runtime = Runtime {
            kind: self.runtime_type.clone(),
            provider: self.runtime_provider.clone(),
            model: self.runtime_model.clone(),
        };
        (role_card, runtime)
    }
}

#[derive(Serialize, ToSchema)]
pub struct NewAgent<'a> {
    #[schema(value_type = String)]
    pub id: MemberId,
    /// The same id under the names other answers use.
    #[schema(value_type = String)]
    pub member_id: MemberId,
    #[schema(value_type = String)]
    pub agent_id: MemberId,
    #[schema(value_type = String)]
    pub workspace_id: WorkspaceId,
    pub name: &'a str,
    /// Shown this once; an agent that was known already keeps the key it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, example = "lr_…")]
    pub api_key: Option<&'a str>,
}

impl<'a> NewAgent<'a> {
    pub fn new(member: &'a Member, api_key: Option<&'a str>) -> Self {
        let (id, workspace_id) = (member.id, member.workspace);
        Self { id, member_id: id, agent_id: id, workspace_id, name: &member.name, api_key }
    }
}

/// An agent adds itself with an invitation.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/agents", tag = "agents", security(()),
    request_body = NewAgentBody, responses((status = 401, description = "the invitation is unknown or over"), (status = 409, description = "the name is taken"), (status = 201, body = NewAgent<'static>)))]
pub async fn register(
    AppState(hub): AppState<Hub>,
    Path(workspace): Path<WorkspaceId>,
    Body(body): Body<NewAgentBody>,
) -> Answer {
    with_invitation(&hub, workspace, &body).await
}

pub async fn with_invitation(hub: &Hub, workspace: WorkspaceId, body: &NewAgentBody) -> Answer {
    let token = body.provision_token.as_deref().filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| ApiError::bad_request("provision_token is required"))?;
    if token.len() > login::MAX_LOGIN_BYTES {
        return Err(refusal::INVALID_CREDENTIALS.into());
    }
    let (api_key, key_hash) = Auth::new_key("lr");
    let (role_card, runtime) = body.card_and_runtime();
    let command = Command::RegisterAgent(RegisterAgent {
        workspace,
        provision_hash: Auth::hash_key(token),
        name: body.name.clone(),
        key_hash,
        role_card,
        runtime,
    });
    let Reply::Member(member) = hub.execute(Actor::nobody(Door::Rest), command).await? else {
        return Err(unexpected());
    };
    reply::created(&NewAgent::new(&member, Some(&api_key)))
}

#[derive(Serialize, ToSchema)]
pub struct ProvisionToken {
    /// Shown this once.
    #[schema(example = "lpt_…")]
    token: String,
    expires_at: Millis,
}

/// Make an invitation with which agents add themselves for 24 hours (owner or admin).
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/provision-tokens", tag = "agents",
    responses((status = 201, body = ProvisionToken)))]
pub async fn invite(caller: Caller, Path(workspace): Path<WorkspaceId>) -> Answer {
    let (token, hash) = Auth::new_key("lpt");
    let command = Command::IssueProvisionToken { workspace, hash };
    let Reply::Token(made) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::created(&ProvisionToken { token, expires_at: made.expires_at })
}

/// The agents of the workspace.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/agents", tag = "agents",
    responses((status = 200, body = [AgentObject<'static>])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>) -> Answer {
    caller.query(|state, actor| {
        access::workspace_member(state, actor, workspace)?;
        let mut agents: Vec<_> =
            state.members_of(workspace).filter(|member| member.is_agent() && !member.is_daemon()).collect();
        agents.sort_by_key(|agent| agent.id);
        Ok(reply::ok(&agents.into_iter().map(|agent| AgentObject::new(agent, state)).collect::<Vec<_>>()))
    })?
}

/// What an agent has to do and has done, as far as the caller may see it.
#[derive(Serialize, ToSchema)]
pub struct AgentMetrics {
    #[schema(value_type = String)]
    agent_id: MemberId,
    name: String,
    #[schema(value_type = schemas::Presence)]
    status: Presence,
    online: bool,
    channels: usize,
    tasks_open: usize,
    tasks_done: usize,
    approvals_pending: usize,
    created_at: Millis,
}

#[utoipa::path(get, path = "/v1/agents/{agent}/metrics", tag = "agents", summary = "Figures about an agent.",
    responses((status = 200, body = AgentMetrics)))]
pub async fn metrics(caller: Caller, Path(agent): Path<String>) -> Answer {
    let agent = query::agent(&caller, &agent)?;
    let id = agent.id;
    let tasks = async |states: &'static [&'static str]| {
        let filter = Filter::owner(id).states(states);
        let see =
            |state: &_, member: &_, task: &Task| access::may_see_within(state, member, task.workspace, task.channel);
        query::visible(&caller, filter, usize::MAX, see).await.map(|tasks| tasks.len())
    };
    let see = |state: &_, member: &_, approval: &Approval| {
        access::may_see_within(state, member, approval.workspace, approval.channel)
    };
    let approvals = query::visible(&caller, Filter::owner(id).states(&[OPEN]), usize::MAX, see).await?;
    let (tasks_open, tasks_done) = (tasks(&[OPEN]).await?, tasks(&[CLOSED]).await?);
    caller.query(|state, actor| {
        let reader = access::member(state, actor)?;
        let status = state.presence_of(id);
        let shared = state.channels_of(id).filter(|room| access::may_read(state, reader, room)).count();
        Ok(reply::ok(&AgentMetrics {
            agent_id: id,
            name: agent.name.clone(),
            status,
            online: status != Presence::Offline,
            channels: shared,
            tasks_open,
            tasks_done,
            approvals_pending: approvals.len(),
            created_at: agent.created_at,
        }))
    })?
}

#[derive(Deserialize, ToSchema)]
pub struct MemoryBody {
    /// `default` when left out.
    #[serde(default)]
    #[schema(max_length = 200, pattern = "plain")]
    namespace: String,
    #[schema(min_length = 1, max_length = 200, pattern = "line")]
    key: String,
    /// A text; any other JSON is kept as its text.
    #[schema(value_type = Value)]
    value: serde_json::Value,
}

/// A JSON value as text: a string as it is, anything else as it would be written.
pub fn as_text(value: serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text,
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Remember a value; the same namespace and key again replaces it.
#[utoipa::path(post, path = "/v1/agents/{agent}/memory", tag = "agents", request_body = MemoryBody,
    responses((status = 201, body = MemoryObject)))]
pub async fn remember(caller: Caller, Path(agent): Path<String>, Body(body): Body<MemoryBody>) -> Answer {
    query::own_agent(&caller, &agent)?;
    let command = Command::PutMemory { namespace: body.namespace, key: body.key, value: as_text(body.value) };
    let Reply::Memory(memory) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::created(&MemoryObject::from(&memory))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemoryQuery {
    /// Only values of this namespace.
    #[param(inline)]
    namespace: Option<ShortName>,
    /// Only the value of this key.
    #[param(inline)]
    key: Option<ShortName>,
    /// At most 1000; 200 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<200, 1000>,
}

/// What the agent remembers; its own only.
#[utoipa::path(get, path = "/v1/agents/{agent}/memory", tag = "agents", params(MemoryQuery),
    responses((status = 200, body = [MemoryObject])))]
pub async fn memory(caller: Caller, Path(agent): Path<String>, Query(query): Query<MemoryQuery>) -> Answer {
    let agent = query::own_agent(&caller, &agent)?;
    let wanted = |_: &_, _: &_, memory: &Memory| {
        query.namespace.as_ref().is_none_or(|namespace| memory.namespace == namespace.as_str())
            && query.key.as_ref().is_none_or(|key| memory.key == key.as_str())
    };
    let found = query::visible(&caller, Filter::owner(agent), query.limit.get(), wanted).await?;
    reply::ok(&found.iter().map(MemoryObject::from).collect::<Vec<_>>())
}

#[utoipa::path(delete, path = "/v1/agents/{agent}/memory/{namespace}/{key}", tag = "agents",
    summary = "Forget a value.", responses((status = 200, body = Done)))]
pub async fn forget(caller: Caller, Path((agent, namespace, key)): Path<(String, String, String)>) -> Answer {
    query::own_agent(&caller, &agent)?;
    caller.execute(Command::RemoveMemory { namespace, key: key.clone() }).await?;
    reply::deleted(key)
}
