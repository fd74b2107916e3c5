//! Where to hear what a pool's jukebox plays.

use axum::extract::State;
use folkmoot_core::ids::ChannelId;
use folkmoot_core::pools::{Place, SessionKind};
use folkmoot_core::{Millis, access, refusal};
use folkmoot_hub::request::extract::given;
use folkmoot_hub::request::{Answer, ApiError, Body, Caller, reply};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::key;
use crate::pools::Pools;

/// A linked channel, or the voice channel itself.
#[derive(Deserialize, ToSchema)]
pub struct ListenBody {
    /// A channel that is linked to a voice channel.
    channel_id: Option<String>,
    guild_id: Option<String>,
    voice_channel_id: Option<String>,
}

/// A page to open, for whoever asked for it.
#[derive(Serialize, ToSchema)]
pub struct ListenLink<'a> {
    /// The page, with the key in it.
    url: &'a str,
    /// The key alone: `/listen/{guild}/{channel}/feed?key=…`.
    key: &'a str,
    guild_id: &'a str,
    voice_channel_id: &'a str,
    #[schema(value_type = i64)]
    expires_at: Millis,
}

/// A link to listen: for members who may read a channel that is linked to the voice channel.
#[utoipa::path(post, path = "/v1/pools/listen", tag = "pools", request_body = ListenBody,
    responses((status = 404, description = "the channel is not linked to a pool"), (status = 200, body = ListenLink<'static>)))]
pub async fn link(caller: Caller, State(pools): State<Pools>, Body(body): Body<ListenBody>) -> Answer {
    let place = place(&caller, body)?;
    let link = key::for_member(&pools, caller.actor, &place)?;
    reply::ok(&ListenLink {
        url: &link.url,
        key: &link.key,
        guild_id: &place.guild,
        voice_channel_id: &place.voice_channel,
        expires_at: link.expires_at,
    })
}

fn place(caller: &Caller, body: ListenBody) -> Result<Place, ApiError> {
    if let Some(channel) = given(body.channel_id, ChannelId::parse) {
        return caller.query(|state, actor| {
            access::room_to_read(state, actor, channel)?;
            let link = state.pools().link(channel).ok_or(refusal::POOL_LINK_NOT_FOUND)?;
            Ok(link.place(SessionKind::Music))
        });
    }
    match (body.guild_id, body.voice_channel_id) {
        (Some(guild), Some(voice_channel)) => Ok(Place { guild, voice_channel, kind: SessionKind::Music }),
        _ => Err(ApiError::bad_request("channel_id, or guild_id and voice_channel_id, are required")),
    }
}
