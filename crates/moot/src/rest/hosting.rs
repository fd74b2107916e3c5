//! The agents that the hub hosts itself.

use axum::extract::State;
use folkmoot_core::command::{Command, HostAgent, Reply};
use folkmoot_core::hosting::{Hosted, Policy};
use folkmoot_core::ids::*;
use folkmoot_core::model::RoleCard;
use folkmoot_core::{access, refusal};
use folkmoot_doors::lark::objects::{MemberObject, schemas};
use folkmoot_engines::{engines, words};
use folkmoot_hub::request::reply::Done;
use folkmoot_hub::request::{Answer, ApiError, Body, Caller, Path, reply, unexpected};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::hosting::{self, Local};

#[derive(Serialize, ToSchema)]
#[schema(as = HostedAgent)]
pub struct HostedObject {
    name: String,
    #[schema(value_type = String)]
    agent_id: MemberId,
    engine: String,
    /// This, `deny` and `problem` are for those who may host agents.
    #[schema(required = true)]
    project: Option<String>,
    #[schema(value_type = schemas::Policy, example = "ask")]
    policy: Policy,
    /// What it may never do, and nobody is asked about.
    deny: Vec<String>,
    /// Whether each thread has a git work tree of its own.
    worktrees: bool,
    state: HostedState,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    problem: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HostedState {
    Running,
    Stopped,
    Failed,
}

/// The agents that this hub hosts, those of its configuration among them.
#[utoipa::path(get, path = "/v1/hosting", tag = "hosting", responses((status = 200, body = [HostedObject])))]
pub async fn list(caller: Caller, State(local): State<Local>) -> Answer {
    let hosted = caller.query(|state, actor| {
        let workspace = access::member(state, actor)?.workspace;
        let hosted = hosting::hosted(state, local.config());
        Ok(hosted.into_iter().filter(|hosted| hosted.workspace == workspace).collect::<Vec<_>>())
    })?;
    let shown = caller.query(|state, actor| {
        let may_host = access::host(state, actor).is_ok();
        let shown = hosted.iter().map(|hosted| shown(&local, state, hosted));
        Ok(shown.map(|shown| if may_host { shown } else { shown.for_others() }).collect::<Vec<_>>())
    })?;
    reply::ok(&shown)
}

impl HostedObject {
    /// Without what is about the hub's machine.
    fn for_others(self) -> Self {
        Self { project: None, deny: Vec::new(), problem: None, ..self }
    }
}

fn shown(local: &Local, state: &folkmoot_core::State, hosted: &Hosted) -> HostedObject {
    let problem = hosting::problem(local, hosted);
    let is_carried = state.carrier_of(hosted.agent).is_some();
    HostedObject {
        name: state.name_of(hosted.agent).to_owned(),
        agent_id: hosted.agent,
        engine: hosted.engine.clone(),
        project: hosted.project.clone(),
        policy: hosted.policy,
        deny: hosted.deny.clone(),
        worktrees: hosted.worktrees,
        state: match (&problem, is_carried) {
            (Some(_), _) => HostedState::Failed,
            (None, true) => HostedState::Running,
            (None, false) => HostedState::Stopped,
        },
        problem,
    }
}

#[derive(Deserialize, ToSchema)]
pub struct HostBody {
    /// One word, unique in the workspace.
    #[schema(example = "claude")]
    name: String,
    /// One of `/v1/engines`.
    #[schema(example = "claude", value_type = super::engines::EngineName)]
    engine: String,
    model: Option<String>,
    /// The name of a configured project, or a folder of the hub's machine.
    project: Option<String>,
    system_prompt: Option<String>,
    #[serde(default)]
    capabilities: Vec<String>,
    /// `ask` (default), `ask-commands`, `accept-edits` or `dangerously-allow-all`; an engine that cannot ask takes only the last.
    #[serde(default)]
    #[schema(value_type = schemas::Policy, required = false)]
    policy: Policy,
    /// Commands and tools it may never use, such as `git push` or `rm -rf *`; nobody is asked about them.
    #[serde(default)]
    deny: Vec<String>,
    /// Give each thread a git work tree and a branch of its own.
    #[serde(default)]
    worktrees: bool,
    /// Where it is from the start; left out: every open channel.
    #[schema(value_type = Option<Vec<String>>)]
    channel_ids: Option<Vec<ChannelId>>,
}

/// An agent that the hub has begun to host, with the member it is.
#[derive(Serialize, ToSchema)]
#[schema(as = NewHostedAgent)]
pub struct NewHosted {
    #[serde(flatten)]
    hosted: HostedObject,
    agent: MemberObject<'static>,
}

/// Make an agent that this hub hosts (operator): an engine that works in a folder of the hub's machine.
#[utoipa::path(post, path = "/v1/hosting", tag = "hosting", request_body = HostBody,
    responses((status = 409, description = "the name is taken"), (status = 201, body = NewHosted)))]
pub async fn create(caller: Caller, State(local): State<Local>, Body(body): Body<HostBody>) -> Answer {
    caller.query(|state, actor| access::host(state, actor).map(drop))?;
    if engines::find(&body.engine).is_none() {
        return Err(ApiError::bad_request("there is no such engine; see /v1/engines"));
    }
    if let Some(Err(error)) = body.model.as_deref().filter(|model| !model.is_empty()).map(words::model) {
        return Err(ApiError::bad_request(error.sentence));
    }
    if let Some(error) = hosting::unheld(local.config(), &body.engine, body.policy, &body.deny) {
        return Err(ApiError::bad_request(format!("{}; {}", error.sentence, error.hint.unwrap_or_default())));
    }
    hosting::project_folder(local.config(), body.project.as_deref()).map_err(ApiError::bad_request)?;
    let host = HostAgent {
        name: body.name,
        engine: body.engine,
        model: body.model,
        project: body.project,
        role_card: RoleCard { system_prompt: body.system_prompt.unwrap_or_default(), capabilities: body.capabilities },
        policy: body.policy,
        deny: body.deny,
        worktrees: body.worktrees,
        channels: body.channel_ids,
        is_kept: true,
    };
    let Reply::Hosted(hosted) = caller.execute(Command::HostAgent(host)).await? else { return Err(unexpected()) };
    local.hosting().has_changed();
    let member = caller.query(|state, _| {
        let member = state.member(hosted.agent).ok_or(refusal::MEMBER_NOT_FOUND)?;
        Ok(serde_json::to_value(MemberObject::new(member, state)).unwrap_or_default())
    })?;
    let hosted = caller.query(|state, _| Ok(shown(&local, state, &hosted)))?;
    let mut answer = serde_json::to_value(&hosted).unwrap_or_else(|_| json!({}));
    answer["agent"] = member;
    reply::created(&answer)
}

/// Host an agent no longer (operator); it leaves the workspace, what it said stays.
#[utoipa::path(delete, path = "/v1/hosting/{hosted}", tag = "hosting", responses((status = 200, body = Done)))]
pub async fn remove(caller: Caller, State(local): State<Local>, Path(name): Path<String>) -> Answer {
    let agent = caller.query(|state, actor| {
        access::host(state, actor)?;
        let named = |hosted: &&Hosted| state.name_of(hosted.agent).eq_ignore_ascii_case(&name);
        state.hosted().find(named).map(|hosted| hosted.agent).ok_or(refusal::NOT_HOSTED)
    })?;
    caller.execute(Command::DismissHosted { agent }).await?;
    local.hosting().has_changed();
    reply::deleted(agent)
}
