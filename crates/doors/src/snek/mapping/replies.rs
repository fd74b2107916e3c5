//! From the hub's answer to the frame the caller gets. Every call is answered, exactly once.

use folkmoot_core::model::*;
use folkmoot_core::{Actor, Refusal, Reply, moment};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::objects;
use super::super::wire;
use crate::door::{Ticket, View};
use crate::query::QueryResult;

/// The answer as the document has it, with `success`, which real servers add.
fn answer(ticket: &Ticket, success: bool, data: &impl Serialize) -> String {
    // Our own types have string keys and no failing serializers, so this cannot fail.
    written(ticket, success, &serde_json::to_string(data).unwrap_or_default())
}

/// The same with data that is JSON already.
fn written(ticket: &Ticket, success: bool, data: &str) -> String {
    // The id is the caller's own JSON, given back as it was written.
    let id = ticket.id.as_deref().unwrap_or("null");
    format!("{{\"callId\":{id},\"success\":{success},\"data\":{data}}}")
}

pub fn failure(ticket: &Ticket, refusal: &Refusal) -> String {
    let failure = wire::Failure { exception: &refusal.text, error: &refusal.text, code: refusal.code.as_str() };
    answer(ticket, false, &failure)
}

/// `ping`: a sign of life, with what came along.
pub fn pong(ticket: &Ticket, args: Option<&RawValue>) -> String {
    written(ticket, true, &format!("{{\"pong\":{}}}", args.map_or(EMPTY, RawValue::get)))
}

pub fn echo(ticket: &Ticket, args: Option<&RawValue>) -> String {
    written(ticket, true, args.map_or(EMPTY, RawValue::get))
}

const EMPTY: &str = "[]";

pub fn reply(ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> String {
    match outcome {
        Ok(reply) => answer(ticket, true, &data(ticket, reply, view)),
        Err(refusal) => failure(ticket, refusal),
    }
}

fn data(ticket: &Ticket, reply: &Reply, view: View<'_>) -> Value {
    match reply {
        Reply::Connected(member) => json!(objects::user_seen_by(member, member.id, view.state)),
        Reply::Sent { message, .. } => json!({
            "uid": message.id,
            "channel_uid": message.channel,
            "user_uid": message.sender,
            "is_final": true,
            "created_at": moment::iso(message.created_at),
        }),
        Reply::Streamed(stream) => json!({
            "uid": stream.message,
            "channel_uid": stream.channel,
            "user_uid": stream.sender,
            "is_final": false,
        }),
        Reply::Message(message) => json!({
            "success": true,
            "uid": message.id,
            "channel_uid": message.channel,
            "updated_at": moment::iso(message.updated_at),
        }),
        Reply::Channel { channel, .. } => json!({
            "success": true,
            "uid": channel.id,
            "name": channel.name,
            "tag": objects::tag(channel.kind),
        }),
        Reply::Done if ticket.request == "delete_channel" => json!({ "success": true }),
        // Nothing to say but that it was done.
        Reply::Done
        | Reply::Count(_)
        | Reply::Registered { .. }
        | Reply::Workspace(_)
        | Reply::Member(_)
        | Reply::Welcome { .. }
        | Reply::Daemon { .. }
        | Reply::Subscribed(_)
        | Reply::Deleted(_)
        | Reply::Pin(_)
        | Reply::Notification(_)
        | Reply::Draft(_)
        | Reply::DraftCheck(_)
        | Reply::DraftSent { .. }
        | Reply::Review(_)
        | Reply::Item(_)
        | Reply::Memory(_)
        | Reply::Task(_)
        | Reply::Approval(_)
        | Reply::Call(_)
        | Reply::File(_)
        | Reply::Webhook(_)
        | Reply::Token(_)
        | Reply::Ended(_)
        | Reply::Invite(_)
        | Reply::TelegramLink(_)
        | Reply::Machine(_)
        | Reply::Lease { .. }
        | Reply::PoolLink(_)
        | Reply::Hosted(_)
        | Reply::Route(_)
        | Reply::Delivery(_)
        | Reply::Run { .. }
        | Reply::Diff { .. }
        | Reply::Session(_) => Value::Bool(true),
    }
}

/// The answer to a call that only looks.
pub fn result(ticket: &Ticket, reader: Actor, result: &QueryResult, view: View<'_>) -> String {
    let state = view.state;
    match result {
        QueryResult::Member(member) => answer(ticket, true, &objects::user_seen_by(member, reader.member, state)),
        QueryResult::Members(members) if ticket.request == "search_user" => {
            answer(ticket, true, &members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>())
        }
        QueryResult::Members(members) => {
            answer(ticket, true, &members.iter().map(|member| objects::user(member, state)).collect::<Vec<_>>())
        }
        QueryResult::Channels(ids) => {
            let rooms = ids.iter().filter_map(|id| state.channel(*id));
            answer(ticket, true, &rooms.map(|room| objects::channel(room, reader, state)).collect::<Vec<_>>())
        }
        QueryResult::Messages(messages) => {
            let texts: Vec<_> = messages.iter().map(objects::text).collect();
            let fields = |(message, text): (&'_ Message, &'_ std::borrow::Cow<'_, str>)| {
                json!(objects::message(message, text, state))
            };
            answer(ticket, true, &messages.iter().zip(&texts).map(fields).collect::<Vec<_>>())
        }
    }
}
