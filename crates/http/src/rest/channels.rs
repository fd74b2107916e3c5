//! Channels and who is in them.

use axum::http::StatusCode;
use axum::response::Response;
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::ChannelKind;
use folkmoot_core::state::Room;
use folkmoot_core::{Actor, State, access, refusal};
use folkmoot_doors::lark::objects::{ChannelObject, schemas};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::bounds::ShortText;
use super::error::ApiError;
use super::extract::{Body, Caller, Path, Query, given};
use super::reply::{self, Answer, Done};
use super::{objects, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct NewChannelBody {
    #[schema(example = "general", min_length = 1, max_length = 80, pattern = "name")]
    name: String,
    /// `channel` (the default: everybody in the workspace may find and join it) or `private`.
    #[serde(rename = "type")]
    #[schema(value_type = Option<schemas::NewChannelKind>)]
    kind: Option<String>,
    #[serde(default, alias = "description")]
    #[schema(max_length = 1000, pattern = "lines")]
    topic: String,
}

/// Make a channel; the caller is a member of it.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/channels", tag = "channels", request_body = NewChannelBody,
    responses((status = 409, description = "a channel of this name exists"), (status = 201, body = ChannelObject<'static>)))]
pub async fn create(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<NewChannelBody>) -> Answer {
    let kind = kind_named(body.kind.as_deref())?;
    let command = Command::CreateChannel { workspace: Some(workspace), name: body.name, kind, topic: body.topic };
    let Reply::Channel { channel, .. } = caller.execute(command).await? else { return Err(unexpected()) };
    objects::channel(&caller, StatusCode::CREATED, channel.id)
}

fn kind_named(name: Option<&str>) -> Result<ChannelKind, ApiError> {
    match name.unwrap_or_default() {
        "" | "channel" | "public" => Ok(ChannelKind::Channel),
        "private" => Ok(ChannelKind::Private),
        "dm" => Ok(ChannelKind::Dm),
        "group_dm" => Ok(ChannelKind::GroupDm),
        _ => Err(ApiError::bad_request("type must be `channel` or `private`")),
    }
}

/// The channels the caller may read, by name; direct channels have a list of their own.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/channels", tag = "channels",
    responses((status = 200, body = [ChannelObject<'static>])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>) -> Answer {
    readable(&caller, workspace, |_| true)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChannelQuery {
    /// A part of the name or the topic, in any case.
    #[param(inline)]
    q: ShortText,
}

#[utoipa::path(get, path = "/v1/workspaces/{workspace}/channels/search", tag = "channels", params(ChannelQuery),
    summary = "Find channels by name.", responses((status = 200, body = [ChannelObject<'static>])))]
pub async fn search(caller: Caller, Path(workspace): Path<WorkspaceId>, Query(query): Query<ChannelQuery>) -> Answer {
    let wanted = query.q.as_str().trim().trim_start_matches('#').to_lowercase();
    let contains = |text: &str| text.to_lowercase().contains(&wanted);
    readable(&caller, workspace, |room| contains(&room.channel.name) || contains(&room.channel.topic))
}

pub fn readable(caller: &Caller, workspace: WorkspaceId, wanted: impl Fn(&Room) -> bool) -> Answer {
    caller.query(|state, actor| {
        let member = access::workspace_member(state, actor, workspace)?;
        let visible =
            |room: &&Room| !room.channel.kind.is_direct() && access::may_read(state, member, room) && wanted(room);
        Ok(Ok(listed(state.channels_in(workspace).filter(visible), actor)))
    })?
}

/// Channels by name as JSON.
pub fn listed<'a>(rooms: impl Iterator<Item = &'a Room>, actor: Actor) -> Response {
    let mut rooms: Vec<_> = rooms.collect();
    rooms.sort_by(|one, other| (&one.channel.name, one.channel.id).cmp(&(&other.channel.name, other.channel.id)));
    let objects: Vec<_> = rooms.into_iter().map(|room| ChannelObject::new(room, actor.member)).collect();
    reply::json(StatusCode::OK, &objects)
}

#[utoipa::path(get, path = "/v1/workspaces/{workspace}/channels/{channel}", tag = "channels",
    summary = "One channel.", responses((status = 200, body = ChannelObject<'static>)))]
pub async fn get(caller: Caller, Path((workspace, id)): Path<(WorkspaceId, ChannelId)>) -> Answer {
    caller.query(|state, actor| check(state, actor, workspace, id))?;
    objects::channel(&caller, StatusCode::OK, id)
}

/// The channel is of this workspace and the caller may read it.
fn check(state: &State, actor: Actor, workspace: WorkspaceId, id: ChannelId) -> Result<(), folkmoot_core::Refusal> {
    access::workspace_member(state, actor, workspace)?;
    let room = access::room_to_read(state, actor, id)?;
    if room.channel.workspace == workspace { Ok(()) } else { Err(refusal::CHANNEL_NOT_FOUND) }
}

/// What is left out stays as it is.
#[derive(Deserialize, ToSchema)]
pub struct ChannelChange {
    #[schema(min_length = 1, max_length = 80, pattern = "name")]
    name: Option<String>,
    #[serde(alias = "description")]
    #[schema(max_length = 1000, pattern = "lines")]
    topic: Option<String>,
}

/// Rename a channel or change its topic (its creator, or an admin).
#[utoipa::path(patch, path = "/v1/workspaces/{workspace}/channels/{channel}", tag = "channels",
    request_body = ChannelChange, responses((status = 409, description = "a channel of this name exists"), (status = 200, body = ChannelObject<'static>)))]
pub async fn update(
    caller: Caller,
    Path((workspace, channel)): Path<(WorkspaceId, ChannelId)>,
    Body(body): Body<ChannelChange>,
) -> Answer {
    caller.query(|state, actor| check(state, actor, workspace, channel))?;
    let command = Command::UpdateChannel { channel, name: body.name, topic: body.topic, is_private: None };
    caller.execute(command).await?;
    objects::channel(&caller, StatusCode::OK, channel)
}

/// Delete a channel with its messages (its creator, or an admin).
#[utoipa::path(delete, path = "/v1/workspaces/{workspace}/channels/{channel}", tag = "channels",
    responses((status = 200, body = Done)))]
pub async fn delete(caller: Caller, Path((workspace, channel)): Path<(WorkspaceId, ChannelId)>) -> Answer {
    caller.query(|state, actor| check(state, actor, workspace, channel))?;
    caller.execute(Command::DeleteChannel { channel }).await?;
    reply::deleted(channel)
}

/// Archive a channel: it can be read, and takes no more messages.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/channels/{channel}/archive", tag = "channels",
    responses((status = 200, body = ChannelObject<'static>)))]
pub async fn archive(caller: Caller, Path((workspace, channel)): Path<(WorkspaceId, ChannelId)>) -> Answer {
    set_archived(&caller, workspace, channel, true).await
}

#[utoipa::path(post, path = "/v1/workspaces/{workspace}/channels/{channel}/unarchive", tag = "channels",
    summary = "Take a channel out of the archive.", responses((status = 200, body = ChannelObject<'static>)))]
pub async fn unarchive(caller: Caller, Path((workspace, channel)): Path<(WorkspaceId, ChannelId)>) -> Answer {
    set_archived(&caller, workspace, channel, false).await
}

async fn set_archived(caller: &Caller, workspace: WorkspaceId, channel: ChannelId, archived: bool) -> Answer {
    caller.query(|state, actor| check(state, actor, workspace, channel))?;
    caller.execute(Command::ArchiveChannel { channel, archived }).await?;
    objects::channel(caller, StatusCode::OK, channel)
}

#[derive(Deserialize, ToSchema)]
pub struct AdmitBody {
    /// Left out, the caller joins.
    member_id: Option<String>,
}

/// Add a member to a channel, or join an open one. 200 when they were in it already.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/channels/{channel}/members", tag = "channels",
    request_body = AdmitBody, responses((status = 201, body = ChannelObject<'static>),
        (status = 200, body = ChannelObject<'static>, description = "they were in it already")))]
pub async fn admit(
    caller: Caller,
    Path((workspace, channel)): Path<(WorkspaceId, ChannelId)>,
    Body(body): Body<AdmitBody>,
) -> Answer {
    caller.query(|state, actor| check(state, actor, workspace, channel))?;
    let member = given(body.member_id, MemberId::parse).unwrap_or(caller.id());
    let command = Command::AddToChannel { channel, member };
    let Reply::Channel { created, .. } = caller.execute(command).await? else { return Err(unexpected()) };
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    objects::channel(&caller, status, channel)
}

/// Remove a member from a channel, or leave it (`me`). It acts at once.
#[utoipa::path(delete, path = "/v1/workspaces/{workspace}/channels/{channel}/members/{member}", tag = "channels",
    responses((status = 200, body = Done)))]
pub async fn dismiss(
    caller: Caller,
    Path((workspace, channel, member)): Path<(WorkspaceId, ChannelId, String)>,
) -> Answer {
    caller.query(|state, actor| check(state, actor, workspace, channel))?;
    let member = caller.named(&member);
    caller.execute(Command::RemoveFromChannel { channel, member }).await?;
    reply::deleted(member)
}
