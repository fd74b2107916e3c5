//! Messages: sent, paged through, changed; their threads and earlier versions.

use axum::http::{HeaderMap, StatusCode};
use folkmoot_core::command::{Command, Reply, Send};
use folkmoot_core::ids::*;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{ContentType, Edit};
use folkmoot_core::record::Filter;
use folkmoot_core::{access, refusal};
use folkmoot_doors::lark::objects::{EditObject, MessageObject, schemas};
use folkmoot_store::Page;
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::bounds::{Limit, Position, Skip};
use super::error::ApiError;
use super::extract::{Body, Caller, Path, Query, given};
use super::reply::{self, Answer, Done};
use super::{objects, query, unexpected};

const MAX_KEY_CHARS: usize = 255;
const MAX_EDITS: usize = 1000;

#[derive(Deserialize, ToSchema)]
pub struct MessageBody {
    /// At most 10,000 characters; may be left out with a file.
    #[schema(max_length = 10000, example = "hello @codebot")]
    content: Option<String>,
    /// `text` (default) or `markdown`.
    #[schema(value_type = Option<schemas::ContentType>)]
    content_type: Option<String>,
    /// The message this one answers.
    #[serde(alias = "parent_id")]
    thread_id: Option<String>,
    /// A file uploaded before; its channel is then this one.
    file_id: Option<String>,
    /// `user` when left out.
    #[serde(rename = "type")]
    #[schema(max_length = 32, pattern = "plain")]
    kind: Option<String>,
    /// An object of at most 16,384 bytes, given back as it is.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Box<RawValue>>,
    /// The wake this answers (agents).
    delivery_id: Option<String>,
    /// `false`: people are told as ever, and no agent is woken.
    wake: Option<bool>,
}

/// Send a message. It is on disk when the answer comes.
///
/// With the header `Idempotency-Key` a repeat of the same request answers 200 with the first message and sends nothing.
#[utoipa::path(post, path = "/v1/channels/{channel}/messages", tag = "messages", request_body = MessageBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "any text of at most 255 characters")),
    responses((status = 409, description = "the text waits for people (`held`), or the wake has its answer (`already_answered`)"), (status = 201, body = MessageObject<'static>),
        (status = 200, body = MessageObject<'static>, description = "the key was used before; this is that message")))]
pub async fn send(
    caller: Caller,
    Path(channel): Path<ChannelId>,
    headers: HeaderMap,
    Body(body): Body<MessageBody>,
) -> Answer {
    let send = Send {
        channel,
        content: body.content.unwrap_or_default(),
        content_type: content_type_named(body.content_type.as_deref())?,
        kind: body.kind,
        thread: given(body.thread_id, MessageId::parse),
        file: given(body.file_id, FileId::parse),
        metadata: body.metadata,
        key: idempotency_key(&headers)?,
        delivery: given(body.delivery_id, DeliveryId::parse),
        is_quiet: body.wake == Some(false),
        ..Send::default()
    };
    let Reply::Sent { message, repeated } = caller.execute(Command::Send(send)).await? else {
        return Err(unexpected());
    };
    let status = if repeated { StatusCode::OK } else { StatusCode::CREATED };
    Ok(objects::message(&caller.hub, status, &message))
}

fn content_type_named(name: Option<&str>) -> Result<ContentType, ApiError> {
    match name.unwrap_or_default() {
        "" | "text" | "text/plain" => Ok(ContentType::Text),
        "markdown" | "text/markdown" => Ok(ContentType::Markdown),
        _ => Err(ApiError::bad_request("content_type must be `text` or `markdown`")),
    }
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let wrong = || ApiError::bad_request("Idempotency-Key must be at most 255 plain characters");
    let key = value.to_str().map_err(|_| wrong())?.trim();
    match key.len() {
        0 => Ok(None),
        1..=MAX_KEY_CHARS => Ok(Some(key.to_owned())),
        _ => Err(wrong()),
    }
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// At most 200; 50 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<50, 200>,
    /// Only messages before this `seq` (or this message's id).
    #[serde(default)]
    #[param(inline)]
    before: Position,
    /// Only messages after this `seq` (or this message's id): the oldest of them, still listed newest first.
    #[serde(default)]
    #[param(inline)]
    after: Position,
    /// How many of the newest to skip.
    #[serde(default)]
    #[param(inline)]
    offset: Skip,
    /// Also the replies in threads, for a client that catches up.
    replies: Option<bool>,
}

/// A page of a channel, newest first; replies in threads are left out unless asked for.
#[utoipa::path(get, path = "/v1/channels/{channel}/messages", tag = "messages", params(PageQuery),
    responses((status = 200, body = [MessageObject<'static>])))]
pub async fn page(caller: Caller, Path(channel): Path<ChannelId>, Query(query): Query<PageQuery>) -> Answer {
    caller.query(|state, actor| access::room_to_read(state, actor, channel).map(drop))?;
    let page = Page {
        before: seq_of(&caller, channel, query.before).await?,
        after: seq_of(&caller, channel, query.after).await?,
        offset: query.offset.get(),
        limit: query.limit.get(),
        with_replies: query.replies.unwrap_or(false),
    };
    let messages = caller.read(move |reader| reader.messages(channel, page)).await?;
    Ok(objects::messages(&caller.hub, &messages))
}

/// The number of a position in a channel; none when it is anywhere.
async fn seq_of(caller: &Caller, channel: ChannelId, position: Position) -> Result<Option<u64>, ApiError> {
    let id = match position {
        Position::Anywhere => return Ok(None),
        Position::Seq(seq) => return Ok(Some(seq)),
        Position::Message(id) => id,
    };
    let found = caller.read(move |reader| reader.message(id)).await?;
    let message = found.filter(|message| message.channel == channel).ok_or(refusal::MESSAGE_NOT_FOUND)?;
    Ok(Some(message.seq))
}

#[utoipa::path(get, path = "/v1/messages/{message}", tag = "messages", summary = "One message.",
    responses((status = 200, body = MessageObject<'static>)))]
pub async fn get(caller: Caller, Path(id): Path<MessageId>) -> Answer {
    let message = query::message(&caller, id).await?;
    Ok(objects::message(&caller.hub, StatusCode::OK, &message))
}

#[derive(Deserialize, ToSchema)]
pub struct EditBody {
    #[schema(min_length = 1, max_length = 10000, pattern = "text")]
    content: String,
}

/// Change what a message says (its author only).
#[utoipa::path(patch, path = "/v1/messages/{message}", tag = "messages", request_body = EditBody,
    responses((status = 200, body = MessageObject<'static>)))]
pub async fn edit(caller: Caller, Path(message): Path<MessageId>, Body(body): Body<EditBody>) -> Answer {
    let command = Command::EditMessage { message, content: body.content };
    let Reply::Message(message) = caller.execute(command).await? else { return Err(unexpected()) };
    Ok(objects::message(&caller.hub, StatusCode::OK, &message))
}

/// Delete a message (its author only).
#[utoipa::path(delete, path = "/v1/messages/{message}", tag = "messages", responses((status = 200, body = Done)))]
pub async fn delete(caller: Caller, Path(message): Path<MessageId>) -> Answer {
    caller.execute(Command::DeleteMessage { message }).await?;
    reply::deleted(message)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ThreadQuery {
    /// How many replies, the newest of them; at most 1000, which is also what is meant when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<1000, 1000>,
    /// Only replies before this `seq` (or this message's id).
    #[serde(default)]
    #[param(inline)]
    before: Position,
}

/// A message and the replies below it, oldest first. For a reply, the thread it stands in.
#[utoipa::path(get, path = "/v1/messages/{message}/thread", tag = "messages", params(ThreadQuery),
    responses((status = 200, body = [MessageObject<'static>])))]
pub async fn thread(caller: Caller, Path(id): Path<MessageId>, Query(query): Query<ThreadQuery>) -> Answer {
    let message = query::message_even_if_deleted(&caller, id).await?;
    if message.deleted && message.reply_count == 0 {
        return Err(refusal::MESSAGE_NOT_FOUND.into());
    }
    let root = message.thread.unwrap_or(id);
    let before = seq_of(&caller, message.channel, query.before).await?;
    let limit = query.limit.get();
    let messages = caller.read(move |reader| reader.thread(root, before, limit)).await?;
    Ok(objects::messages(&caller.hub, &messages))
}

/// What a message said before, oldest first.
#[utoipa::path(get, path = "/v1/messages/{message}/edits", tag = "messages",
    responses((status = 200, body = [EditObject])))]
pub async fn edits(caller: Caller, Path(id): Path<MessageId>) -> Answer {
    query::message(&caller, id).await?;
    let filter = Filter::scope(id.0).limit(MAX_EDITS).oldest_first();
    let edits = caller.read(move |reader| reader.list::<Edit>(&filter)).await?;
    reply::ok(&edits.iter().map(EditObject::from).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn key(value: &[u8]) -> Result<Option<String>, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert("idempotency-key", HeaderValue::from_bytes(value).unwrap());
        idempotency_key(&headers)
    }

    #[test]
    fn an_idempotency_key_is_a_short_plain_text() {
        assert_eq!(idempotency_key(&HeaderMap::new()), Ok(None));
        assert_eq!(key(b""), Ok(None));
        assert_eq!(key(b" 6c7b "), Ok(Some("6c7b".to_owned())));
        assert_eq!(key(&[b'x'; 256]).unwrap_err().code, "BAD_REQUEST");
        assert_eq!(key(b"\xff").unwrap_err().code, "BAD_REQUEST");
    }

    #[test]
    fn content_is_text_or_markdown() {
        assert_eq!(content_type_named(None), Ok(ContentType::Text));
        assert_eq!(content_type_named(Some("")), Ok(ContentType::Text));
        assert_eq!(content_type_named(Some("markdown")), Ok(ContentType::Markdown));
        assert!(content_type_named(Some("html")).is_err());
    }
}
