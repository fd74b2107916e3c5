//! Reactions to messages.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::Message;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Body, Caller, Path};
use super::reply::{self, Answer, Done};
use super::{query, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct ReactionBody {
    #[schema(example = "👍", min_length = 1, max_length = 32, pattern = "line")]
    emoji: String,
}

/// One member's reaction.
#[derive(Serialize, ToSchema)]
#[schema(as = Reaction)]
pub struct ReactionObject<'a> {
    #[schema(value_type = String)]
    message_id: MessageId,
    #[schema(value_type = String)]
    member_id: MemberId,
    emoji: &'a str,
    /// How many members reacted with this emoji.
    count: usize,
}

fn rows(message: &Message) -> impl Iterator<Item = ReactionObject<'_>> {
    let id = message.id;
    message.reactions.iter().flat_map(move |reaction| {
        let count = reaction.members.len();
        let row = move |member: &MemberId| ReactionObject {
            message_id: id,
            member_id: *member,
            emoji: &reaction.emoji,
            count,
        };
        reaction.members.iter().map(row)
    })
}

/// React to a message; the same reaction again changes nothing.
#[utoipa::path(post, path = "/v1/messages/{message}/reactions", tag = "reactions", request_body = ReactionBody,
    responses((status = 507, description = "the message has as many reactions as there may be"), (status = 201, body = ReactionObject<'static>)))]
pub async fn add(caller: Caller, Path(message): Path<MessageId>, Body(body): Body<ReactionBody>) -> Answer {
    let emoji = body.emoji.trim().to_owned();
    let command = Command::React { message, emoji: emoji.clone(), on: true };
    let Reply::Message(message) = caller.execute(command).await? else { return Err(unexpected()) };
    let own = rows(&message).find(|row| row.member_id == caller.id() && row.emoji == emoji);
    reply::created(&own.ok_or_else(unexpected)?)
}

/// Everybody's reactions to a message, one row per member and emoji.
#[utoipa::path(get, path = "/v1/messages/{message}/reactions", tag = "reactions",
    responses((status = 200, body = [ReactionObject<'static>])))]
pub async fn list(caller: Caller, Path(id): Path<MessageId>) -> Answer {
    let message = query::message(&caller, id).await?;
    reply::ok(&rows(&message).collect::<Vec<_>>())
}

/// Take a reaction back.
#[utoipa::path(delete, path = "/v1/messages/{message}/reactions/{emoji}", tag = "reactions",
    responses((status = 200, body = Done)))]
pub async fn remove(caller: Caller, Path((message, emoji)): Path<(MessageId, String)>) -> Answer {
    caller.execute(Command::React { message, emoji, on: false }).await?;
    reply::deleted(message)
}
