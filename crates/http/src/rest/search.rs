//! Full-text search in the channels the caller is in.

use folkmoot_core::access;
use folkmoot_core::ids::*;
use folkmoot_doors::lark::objects::MessageObject;
use serde::Deserialize;
use utoipa::IntoParams;

use super::error::ApiError;
use super::extract::{Caller, Query, bounded, given};
use super::objects;
use super::reply::Answer;

const MAX_QUERY_CHARS: usize = 1000;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words that must all occur.
    q: String,
    /// Only in this channel.
    #[serde(alias = "channel_id")]
    channel: Option<String>,
    /// At most 100; 50 when left out.
    limit: Option<usize>,
}

/// Messages that contain all words, newest first.
#[utoipa::path(get, path = "/v1/search", tag = "search", params(SearchQuery),
    responses((status = 200, body = [MessageObject<'static>])))]
pub async fn search(caller: Caller, Query(query): Query<SearchQuery>) -> Answer {
    let words = query.q.trim().to_owned();
    if words.is_empty() || words.chars().count() > MAX_QUERY_CHARS {
        return Err(ApiError::bad_request("q must have 1 to 1000 characters"));
    }
    let only = given(query.channel, ChannelId::parse);
    let channels: Vec<ChannelId> = caller.query(|state, actor| match only {
        Some(channel) => access::room_inside(state, actor, channel).map(|room| vec![room.channel.id]),
        None => Ok(state.channels_of(actor.member).map(|room| room.channel.id).collect()),
    })?;
    // Without room the index stays as it is; what it knows can be found all the same.
    let _ = caller.hub.search_is_current().await;
    let limit = bounded(query.limit, 50, 100);
    let found = caller.read(move |reader| reader.search(&words, &channels, limit)).await?;
    Ok(objects::messages(&caller.hub, &found))
}
