//! Direct channels, how far one has read, and what one wants to hear of.

use axum::http::StatusCode;
use folkmoot_core::access;
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::NotifyPreference;
use folkmoot_doors::lark::objects::{ChannelObject, schemas};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Body, Caller, Path, given};
use super::objects::Unread;
use super::reply::{self, Answer};
use super::{channels, objects, query, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct DirectBody {
    /// Everybody in it; the caller belongs to it, named or not.
    #[schema(min_items = 1, max_items = 20)]
    member_ids: Vec<String>,
}

/// The direct channel of exactly these members: 201 when it is new, 200 when it is known.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/dm", tag = "direct messages", request_body = DirectBody,
    responses((status = 201, body = ChannelObject<'static>), (status = 200, body = ChannelObject<'static>)))]
pub async fn open(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<DirectBody>) -> Answer {
    let members = body.member_ids.iter().map(|id| caller.named(id)).collect();
    let command = Command::OpenDirect { workspace, members };
    let Reply::Channel { channel, created } = caller.execute(command).await? else { return Err(unexpected()) };
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    objects::channel(&caller, status, channel.id)
}

/// The caller's direct channels. `{member}` is the caller's id or `me`.
#[utoipa::path(get, path = "/v1/members/{member}/dm", tag = "direct messages",
    responses((status = 200, body = [ChannelObject<'static>])))]
pub async fn list(caller: Caller, Path(member): Path<String>) -> Answer {
    directs(&caller, caller.named(&member))
}

pub fn directs(caller: &Caller, member: MemberId) -> Answer {
    caller.query(|state, actor| {
        access::own(state, actor, member)?;
        let direct = state.channels_of(member).filter(|room| room.channel.kind.is_direct());
        Ok(Ok(channels::listed(direct, actor)))
    })?
}

/// What the caller has not read. `{member}` is the caller's id or `me`.
#[utoipa::path(get, path = "/v1/members/{member}/unread", tag = "direct messages",
    responses((status = 200, body = Unread)))]
pub async fn unread(caller: Caller, Path(member): Path<String>) -> Answer {
    unread_of(&caller, caller.named(&member))
}

pub fn unread_of(caller: &Caller, member: MemberId) -> Answer {
    caller.query(|state, actor| {
        access::own(state, actor, member)?;
        Ok(reply::ok(&Unread::new(state, member)))
    })?
}

#[derive(Deserialize, ToSchema)]
pub struct ReadBody {
    /// Read up to this position; left out, everything.
    seq: Option<u64>,
    /// Read up to this message.
    message_id: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct ReadState {
    #[schema(example = "ok")]
    status: &'static str,
    #[schema(value_type = String)]
    channel_id: ChannelId,
    read_seq: u64,
    unread_count: u64,
}

/// Mark a channel as read, up to a message or to the end.
#[utoipa::path(post, path = "/v1/channels/{channel}/read", tag = "direct messages", request_body = ReadBody,
    responses((status = 200, body = ReadState)))]
pub async fn mark_read(caller: Caller, Path(channel): Path<ChannelId>, Body(body): Body<ReadBody>) -> Answer {
    let seq = match given(body.message_id, MessageId::parse) {
        Some(message) => Some(query::message_even_if_deleted(&caller, message).await?.seq),
        None => body.seq,
    };
    caller.execute(Command::MarkRead { channel, seq }).await?;
    caller.query(|state, actor| {
        let room = access::room_inside(state, actor, channel)?;
        let read_seq = room.members.get(&actor.member).map_or(0, |membership| membership.read.seq);
        let unread_count = state.unread(channel, actor.member);
        Ok(reply::ok(&ReadState { status: "ok", channel_id: channel, read_seq, unread_count }))
    })?
}

#[derive(Deserialize, ToSchema)]
pub struct PreferenceBody {
    /// `all`, `mentions` or `none`.
    #[serde(alias = "notification_preference", alias = "notify", alias = "level")]
    #[schema(value_type = schemas::NotifyPreference)]
    preference: NotifyPreference,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ChannelPreference)]
pub struct Preference {
    #[schema(value_type = String)]
    channel_id: ChannelId,
    #[schema(value_type = schemas::NotifyPreference)]
    preference: NotifyPreference,
}

/// Say which messages of a channel the caller wants to be notified of.
#[utoipa::path(patch, path = "/v1/channels/{channel}/notification-preference", tag = "direct messages",
    request_body = PreferenceBody, responses((status = 200, body = Preference)))]
pub async fn set_preference(
    caller: Caller,
    Path(channel): Path<ChannelId>,
    Body(body): Body<PreferenceBody>,
) -> Answer {
    caller.execute(Command::SetNotifyPreference { channel, notify: body.preference }).await?;
    reply::ok(&Preference { channel_id: channel, preference: body.preference })
}
