//! From a text frame to what it calls for.

use std::borrow::Cow;

use folkmoot_core::command::{Command, Send, Stage};
use folkmoot_core::ids::MessageId;
use folkmoot_core::model::{ChannelKind, Color, ContentType};
use folkmoot_core::{Code, Refusal};
use serde_json::value::RawValue;

use super::super::wire;
use super::arguments::{Arguments, Names, positional};
use crate::door::{Ask, Ticket};
use crate::query::{History, Query};

/// What a client can call for.
#[derive(Debug)]
pub enum Request<'a> {
    LogIn { login: String, secret: String },
    Ping(Option<&'a RawValue>),
    Echo(Option<&'a RawValue>),
    Ask(Ask),
}

const DEFAULT_PAGE: usize = 50;
const MAX_PAGE: usize = 200;

pub fn request(text: &str) -> Result<(Request<'_>, Ticket), (Refusal, Ticket)> {
    let call: wire::Call<'_> = object(text).map_err(|refusal| (refusal, Ticket::default()))?;
    let mut ticket = Ticket { id: call.call_id.map(|id| id.get().to_owned()), request: "" };
    let method = match method(call.method) {
        Ok(method) => method,
        Err(refusal) => return Err((refusal, ticket)),
    };
    ticket.request = method.name;
    match requested(method, &call, &ticket) {
        Ok(request) => Ok((request, ticket)),
        Err(refusal) => Err((refusal, ticket)),
    }
}

/// Reads a call. Lists are turned away here, because serde would take one for the fields in their order.
fn object(text: &str) -> Result<wire::Call<'_>, Refusal> {
    if !text.trim_start().starts_with('{') {
        return Err(Refusal::bad_request("a call is a JSON object"));
    }
    serde_json::from_str(text).map_err(|error| Refusal::bad_request(format!("a call is a JSON object: {error}")))
}

fn method(given: Option<&RawValue>) -> Result<&'static Method, Refusal> {
    let raw = given.ok_or_else(|| Refusal::bad_request("a call needs a `method`"))?;
    let name: Cow<'_, str> =
        serde_json::from_str(raw.get()).map_err(|_| Refusal::bad_request("`method` must be a string"))?;
    if name.starts_with('_') {
        return Err(Refusal::new(Code::Forbidden, "Not allowed: a method that begins with `_` is private"));
    }
    METHODS.iter().find(|method| method.name == name).ok_or_else(|| {
        let shown: String = name.chars().take(80).collect();
        Refusal::with_text(Code::NotFound, format!("Not allowed: there is no method `{shown}`"))
    })
}

fn requested<'a>(method: &'static Method, call: &wire::Call<'a>, ticket: &Ticket) -> Result<Request<'a>, Refusal> {
    let arguments = || Arguments::bind(method.name, method.parameters, call.args, call.kwargs);
    Ok(match method.kind {
        Kind::LogIn => {
            let arguments = arguments()?;
            Request::LogIn { login: arguments.text(0)?, secret: arguments.text(1)? }
        }
        Kind::Ping => {
            positional(call.args)?;
            Request::Ping(call.args)
        }
        Kind::Echo => {
            positional(call.args)?;
            Request::Echo(call.args)
        }
        Kind::Query(query) => Request::Ask(Ask::Query(query(&arguments()?)?)),
        Kind::Do(command) => {
            let command = Box::new(command(&arguments()?, ticket)?);
            Request::Ask(Ask::Do { command, on_behalf: None })
        }
    })
}

struct Method {
    name: &'static str,
    parameters: &'static [Names],
    kind: Kind,
}

enum Kind {
    LogIn,
    Ping,
    Echo,
    Query(fn(&Arguments<'_>) -> Result<Query, Refusal>),
    Do(fn(&Arguments<'_>, &Ticket) -> Result<Command, Refusal>),
}

const CHANNEL: Names = &["channel_uid", "channel"];
const TEXT: Names = &["message_text", "message", "text"];
const NAME: Names = &["name"];
const DESCRIPTION: Names = &["description"];
const IS_PRIVATE: Names = &["is_private"];
const USER: Names = &["user_uid", "username", "user"];

/// Every method, in the document's order; below the line what real servers have besides.
const METHODS: &[Method] = &[
    Method { name: "login", parameters: &[&["username"], &["password"]], kind: Kind::LogIn },
    Method { name: "get_user", parameters: &[USER], kind: Kind::Query(get_user) },
    Method { name: "get_channels", parameters: &[], kind: Kind::Query(|_| Ok(Query::Channels)) },
    Method { name: "send_message", parameters: &[CHANNEL, TEXT, &["is_final"]], kind: Kind::Do(send_message) },
    Method { name: "set_typing", parameters: &[CHANNEL, &["html_color_code", "color"]], kind: Kind::Do(set_typing) },
    // ---
    Method { name: "ping", parameters: &[], kind: Kind::Ping },
    Method { name: "echo", parameters: &[], kind: Kind::Echo },
    Method {
        name: "get_messages",
        parameters: &[CHANNEL, &["offset"], &["timestamp"], &["limit"]],
        kind: Kind::Query(get_messages),
    },
    Method { name: "get_users", parameters: &[CHANNEL], kind: Kind::Query(|given| people(given, false)) },
    Method { name: "get_online_users", parameters: &[CHANNEL], kind: Kind::Query(|given| people(given, true)) },
    Method { name: "search_user", parameters: &[&["query", "q"]], kind: Kind::Query(search_user) },
    Method { name: "create_channel", parameters: &[NAME, DESCRIPTION, IS_PRIVATE], kind: Kind::Do(create_channel) },
    Method {
        name: "update_channel",
        parameters: &[CHANNEL, NAME, DESCRIPTION, IS_PRIVATE],
        kind: Kind::Do(update_channel),
    },
    Method { name: "delete_channel", parameters: &[CHANNEL], kind: Kind::Do(delete_channel) },
    Method { name: "invite_user", parameters: &[CHANNEL, USER], kind: Kind::Do(invite_user) },
    Method { name: "mark_as_read", parameters: &[CHANNEL], kind: Kind::Do(mark_as_read) },
    Method {
        name: "update_message_text",
        parameters: &[&["message_uid", "uid"], &["text", "message", "message_text"]],
        kind: Kind::Do(update_message_text),
    },
];

/// Their names, for whoever must know them all: a test holds a row of permissions for each.
pub fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

fn get_user(given: &Arguments<'_>) -> Result<Query, Refusal> {
    Ok(Query::Member(given.optional_text(0)?))
}

fn send_message(given: &Arguments<'_>, ticket: &Ticket) -> Result<Command, Refusal> {
    let is_final = given.flag(2, true)?;
    Ok(Command::Send(Send {
        channel: given.channel(0)?,
        content: given.text(1)?,
        content_type: ContentType::Markdown,
        stage: if is_final { Stage::Final } else { Stage::Partial },
        key: idempotency_key(ticket).filter(|_| is_final),
        ..Send::default()
    }))
}

/// A call id that is a UUID, and so unlikely to be reused, makes a send repeatable without doubling it.
fn idempotency_key(ticket: &Ticket) -> Option<String> {
    let text: Cow<'_, str> = serde_json::from_str(ticket.id.as_deref()?).ok()?;
    uuid::Uuid::try_parse(&text).ok().map(|uuid| uuid.hyphenated().to_string())
}

fn set_typing(given: &Arguments<'_>, _: &Ticket) -> Result<Command, Refusal> {
    let color = match given.optional_text(1)? {
        None => None,
        Some(text) => Some(
            Color::parse(&text)
                .ok_or_else(|| Refusal::bad_request("`html_color_code` of `set_typing` must be like \"#FF0000\""))?,
        ),
    };
    Ok(Command::Typing { channel: given.channel(0)?, on: true, color })
}

fn get_messages(given: &Arguments<'_>) -> Result<Query, Refusal> {
    Ok(Query::History(History {
        channel: given.channel(0)?,
        offset: given.number(1)?.unwrap_or(0),
        before: given.moment(2)?,
        limit: given.number(3)?.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE),
    }))
}

fn people(given: &Arguments<'_>, online: bool) -> Result<Query, Refusal> {
    Ok(Query::People { channel: given.channel(0)?, online })
}

fn search_user(given: &Arguments<'_>) -> Result<Query, Refusal> {
    Ok(Query::Search(given.text(0)?))
}

fn create_channel(given: &Arguments<'_>, _: &Ticket) -> Result<Command, Refusal> {
    let kind = if given.flag(2, false)? { ChannelKind::Private } else { ChannelKind::Channel };
    let topic = given.optional_text(1)?.unwrap_or_default();
    Ok(Command::CreateChannel { workspace: None, name: given.text(0)?, kind, topic })
}

fn update_channel(given: &Arguments<'_>, _: &Ticket) -> Result<Command, Refusal> {
    let (name, topic) = (given.optional_text(1)?, given.optional_text(2)?);
    Ok(Command::UpdateChannel { channel: given.channel(0)?, name, topic, is_private: given.optional_flag(3)? })
}

fn delete_channel(given: &Arguments<'_>, _: &Ticket) -> Result<Command, Refusal> {
    Ok(Command::DeleteChannel { channel: given.channel(0)? })
}

fn invite_user(given: &Arguments<'_>, _: &Ticket) -> Result<Command, Refusal> {
    Ok(Command::Invite { channel: given.channel(0)?, who: given.text(1)? })
}

fn mark_as_read(given: &Arguments<'_>, _: &Ticket) -> Result<Command, Refusal> {
    Ok(Command::MarkRead { channel: given.channel(0)?, seq: None })
}

fn update_message_text(given: &Arguments<'_>, _: &Ticket) -> Result<Command, Refusal> {
    Ok(Command::EditMessage { message: MessageId::parse(&given.text(0)?), content: given.text(1)? })
}
