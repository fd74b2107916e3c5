//! Pools of worker agents: who is connected, who serves which voice channel, requests to them, and channels that command them.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::ChannelId;
use folkmoot_core::pools::{Lease, Place, PoolLink, SessionKind};
use folkmoot_core::{access, refusal};
use folkmoot_doors::lark::objects::schemas;
use folkmoot_hub::request::reply::Done;
use folkmoot_hub::request::{Answer, ApiError, Body, Caller, Path, Query, reply, unexpected};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::{AgentView, Asked, NotLeased, Pools, Trouble};

const MAX_OP_CHARS: usize = 64;

/// The connected agents, by name.
#[utoipa::path(get, path = "/v1/pools/agents", tag = "pools", responses((status = 200, body = [AgentView])))]
pub async fn agents(caller: Caller, State(pools): State<Pools>) -> Answer {
    caller.query(|state, actor| access::pool_user(state, actor).map(drop))?;
    reply::ok(&pools.agents())
}

/// A voice channel that an agent serves.
#[derive(Serialize, ToSchema)]
#[schema(as = PoolSession)]
pub struct SessionObject<'a> {
    agent_id: &'a str,
    guild_id: &'a str,
    voice_channel_id: &'a str,
    #[schema(value_type = schemas::PoolKind, example = "music")]
    kind: SessionKind,
    /// Rises with every change of agent, also across restarts.
    fence: u64,
    /// Who asked for it.
    #[schema(value_type = Option<String>, required = true)]
    owner_id: Option<folkmoot_core::ids::MemberId>,
    taken_at: i64,
}

impl<'a> From<&'a Lease> for SessionObject<'a> {
    fn from(lease: &'a Lease) -> Self {
        Self {
            agent_id: &lease.agent,
            guild_id: &lease.place.guild,
            voice_channel_id: &lease.place.voice_channel,
            kind: lease.place.kind,
            fence: lease.fence,
            owner_id: lease.owner,
            taken_at: lease.taken_at,
        }
    }
}

/// The voice channels that agents serve.
#[utoipa::path(get, path = "/v1/pools/sessions", tag = "pools", responses((status = 200, body = [SessionObject<'static>])))]
pub async fn sessions(caller: Caller) -> Answer {
    let leases: Vec<Lease> = caller.query(|state, actor| {
        access::pool_user(state, actor)?;
        Ok(state.pools().leases().cloned().collect())
    })?;
    reply::ok(&leases.iter().map(SessionObject::from).collect::<Vec<_>>())
}

/// Where a session takes place.
#[derive(Deserialize, ToSchema)]
pub struct PlaceBody {
    #[schema(min_length = 1, max_length = 100, pattern = "line")]
    guild_id: String,
    #[schema(min_length = 1, max_length = 100, pattern = "line")]
    voice_channel_id: String,
    /// `music` (default) or `assistant`.
    #[serde(default)]
    #[schema(value_type = schemas::PoolKind, required = false)]
    kind: SessionKind,
}

impl From<PlaceBody> for Place {
    fn from(body: PlaceBody) -> Self {
        Self { guild: body.guild_id, voice_channel: body.voice_channel_id, kind: body.kind }
    }
}

/// Have an agent serve a voice channel: the one that does, or the next free one of the guild.
///
/// 201 when it is given now, 200 when it was before; 409 `no-free-agents`, 404 `no-agents-in-guild`.
#[utoipa::path(post, path = "/v1/pools/sessions", tag = "pools", request_body = PlaceBody,
    responses((status = 404, description = "no agent of a pool is in this guild"), (status = 409, description = "no agent is free"), (status = 201, body = SessionObject<'static>), (status = 200, body = SessionObject<'static>)))]
pub async fn take(caller: Caller, State(pools): State<Pools>, Body(body): Body<PlaceBody>) -> Answer {
    let place = Place::from(body);
    let leased = pools.lease(caller.actor, &place).await;
    let (lease, created) = leased.map_err(|none| not_leased(&none, &place))?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok(reply::json(status, &SessionObject::from(&lease)))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct KindQuery {
    /// `music` (default) or `assistant`.
    #[serde(default)]
    #[param(value_type = schemas::PoolKind, required = false)]
    kind: SessionKind,
}

/// Free a voice channel; its agent is told to leave.
#[utoipa::path(delete, path = "/v1/pools/sessions/{guild}/{voice_channel}", tag = "pools", params(KindQuery),
    responses((status = 200, body = Done)))]
pub async fn release(
    caller: Caller,
    State(pools): State<Pools>,
    Path((guild, voice_channel)): Path<(String, String)>,
    Query(query): Query<KindQuery>,
) -> Answer {
    let place = Place { guild, voice_channel, kind: query.kind };
    let lease = pools.release(caller.actor, &place).await?;
    reply::deleted(lease.id)
}

/// An operation and what it needs.
#[derive(Deserialize, ToSchema)]
pub struct RequestBody {
    #[schema(example = "play", min_length = 1, max_length = 64, pattern = "line")]
    op: String,
    /// Passed to the agent as it is; an empty object when left out.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    data: Option<Box<RawValue>>,
}

/// What the agent answered.
#[derive(Serialize, ToSchema)]
#[schema(as = PoolAnswer)]
pub struct AnswerObject<'a> {
    ok: bool,
    /// When `ok`; `null` when the agent had nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    data: Option<&'a RawValue>,
    /// When not `ok`: the agent's own error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    error: Option<&'a str>,
    /// Who was asked, where the hub chose.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    agent_id: Option<&'a str>,
}

/// Ask an agent, and wait for its answer.
///
/// 404 `agent-offline`, 504 `agent-timeout`, 503 `agent-circuit-open` or `agent-overloaded`.
#[utoipa::path(post, path = "/v1/pools/agents/{pool_agent}/requests", tag = "pools", request_body = RequestBody,
    responses((status = 504), (status = 200, body = AnswerObject<'static>)))]
pub async fn request(
    caller: Caller,
    State(pools): State<Pools>,
    Path(agent): Path<String>,
    Body(body): Body<RequestBody>,
) -> Answer {
    check_op(&body.op)?;
    let data = body.data.unwrap_or_else(empty_object);
    let asked = pools.ask_as(caller.actor, &agent, &body.op, &data).await;
    answered(asked, &agent, None)
}

/// An operation for whoever serves a voice channel.
#[derive(Deserialize, ToSchema)]
pub struct DispatchBody {
    #[serde(flatten)]
    place: PlaceBody,
    #[schema(example = "play", min_length = 1, max_length = 64, pattern = "line")]
    op: String,
    /// Passed to the agent with `guildId`, `voiceChannelId`, `actorUserId` and `ownerUserId` added where they are missing.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    data: Option<Map<String, Value>>,
}

/// Ask the agent that serves a voice channel, giving the channel to one if need be.
#[utoipa::path(post, path = "/v1/pools/dispatch", tag = "pools", request_body = DispatchBody,
    responses((status = 404, description = "no agent of a pool is in this guild"), (status = 409, description = "no agent is free"), (status = 504), (status = 200, body = AnswerObject<'static>)))]
pub async fn dispatch(caller: Caller, State(pools): State<Pools>, Body(body): Body<DispatchBody>) -> Answer {
    check_op(&body.op)?;
    let place = Place::from(body.place);
    let data = body.data.unwrap_or_default();
    let dispatched = pools.dispatch(caller.actor, &place, &body.op, data).await;
    let (lease, asked) = dispatched.map_err(|none| not_leased(&none, &place))?;
    answered(asked, &lease.agent, Some(&lease.agent))
}

/// A channel that commands the session of a voice channel.
#[derive(Serialize, ToSchema)]
#[schema(as = PoolLink)]
pub struct LinkObject<'a> {
    #[schema(value_type = String)]
    channel_id: ChannelId,
    guild_id: &'a str,
    voice_channel_id: &'a str,
    #[schema(value_type = String)]
    linked_by: folkmoot_core::ids::MemberId,
    created_at: i64,
}

impl<'a> From<&'a PoolLink> for LinkObject<'a> {
    fn from(link: &'a PoolLink) -> Self {
        Self {
            channel_id: link.channel,
            guild_id: &link.guild,
            voice_channel_id: &link.voice_channel,
            linked_by: link.linked_by,
            created_at: link.created_at,
        }
    }
}

#[derive(Deserialize, ToSchema)]
pub struct LinkBody {
    #[schema(min_length = 1, max_length = 100, pattern = "line")]
    guild_id: String,
    #[schema(min_length = 1, max_length = 100, pattern = "line")]
    voice_channel_id: String,
}

/// Let a channel command a voice channel: from now on `/play …` typed there is done by the agent that serves it.
///
/// For who made the channel, and for admins.
#[utoipa::path(put, path = "/v1/channels/{channel}/pool", tag = "pools", request_body = LinkBody,
    responses((status = 200, body = LinkObject<'static>)))]
pub async fn link(caller: Caller, Path(channel): Path<ChannelId>, Body(body): Body<LinkBody>) -> Answer {
    let command = Command::LinkPool { channel, guild: body.guild_id, voice_channel: body.voice_channel_id };
    let Reply::PoolLink(link) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::ok(&LinkObject::from(&link))
}

/// The voice channel that a channel commands.
#[utoipa::path(get, path = "/v1/channels/{channel}/pool", tag = "pools", responses((status = 200, body = LinkObject<'static>)))]
pub async fn show_link(caller: Caller, Path(channel): Path<ChannelId>) -> Answer {
    let link = caller.query(|state, actor| {
        access::room_to_read(state, actor, channel)?;
        state.pools().link(channel).cloned().ok_or(refusal::POOL_LINK_NOT_FOUND)
    })?;
    reply::ok(&LinkObject::from(&link))
}

/// Let a channel command nothing any more.
#[utoipa::path(delete, path = "/v1/channels/{channel}/pool", tag = "pools", responses((status = 200, body = Done)))]
pub async fn unlink(caller: Caller, Path(channel): Path<ChannelId>) -> Answer {
    caller.execute(Command::UnlinkPool { channel }).await?;
    reply::deleted(channel)
}

fn check_op(op: &str) -> Result<(), ApiError> {
    let fits = !op.trim().is_empty() && op.chars().count() <= MAX_OP_CHARS && !op.chars().any(char::is_control);
    if fits { Ok(()) } else { Err(ApiError::bad_request("op is required (max 64 characters)")) }
}

fn empty_object() -> Box<RawValue> {
    serde_json::value::to_raw_value(&Map::new()).unwrap_or_default()
}

fn answered(asked: Asked, agent: &str, shown: Option<&str>) -> Answer {
    let answered = asked.map_err(|trouble| not_answered(&trouble, agent))?;
    Ok(answer_object(&answered, shown))
}

fn answer_object(answered: &Result<Option<Box<RawValue>>, String>, agent_id: Option<&str>) -> Response {
    let object = match answered {
        Ok(data) => {
            let data = Some(data.as_deref().unwrap_or(RawValue::NULL));
            AnswerObject { ok: true, data, error: None, agent_id }
        }
        Err(error) => AnswerObject { ok: false, data: None, error: Some(error), agent_id },
    };
    reply::json(StatusCode::OK, &object)
}

fn not_answered(trouble: &Trouble, agent: &str) -> ApiError {
    let status = match trouble {
        Trouble::Refused(refusal) => return refusal.clone().into(),
        Trouble::Offline => StatusCode::NOT_FOUND,
        Trouble::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        Trouble::LeftAlone(_) | Trouble::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
    };
    ApiError { status, code: trouble.code(), sentence: trouble.sentence(agent).into(), detail: None, retry_after: None }
}

fn not_leased(none: &NotLeased, place: &Place) -> ApiError {
    let status = match none {
        NotLeased::Refused(refusal) => return refusal.clone().into(),
        NotLeased::None(folkmoot_core::pools::NoAgent::InGuild) => StatusCode::NOT_FOUND,
        NotLeased::None(folkmoot_core::pools::NoAgent::Free) => StatusCode::CONFLICT,
    };
    ApiError {
        status,
        code: none.code(),
        sentence: none.sentence(&place.guild).into(),
        detail: None,
        retry_after: None,
    }
}
