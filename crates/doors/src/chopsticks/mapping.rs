//! From frames of agents to what they say, and from requests to frames.

use folkmoot_core::pools::{Place, SessionKind};
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::wire::{self, Frame, MAX_GUILDS, MAX_ID_CHARS};

/// What an agent said.
#[derive(Debug)]
pub enum Said {
    Hello(Hello),
    /// The guilds it is in now.
    Guilds(Vec<String>),
    /// It left a voice channel.
    Released {
        place: Place,
        reason: String,
    },
    /// It joined a voice channel.
    Added {
        place: Place,
    },
    /// It could not join.
    NotAdded {
        place: Place,
        error: String,
    },
    Answer(Answer),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    pub agent: String,
    pub version: &'static str,
    pub tag: Option<String>,
    pub ready: bool,
    pub guilds: Vec<String>,
    pub pool: String,
}

/// The answer to one request.
#[derive(Debug)]
pub struct Answer {
    pub id: Uuid,
    pub outcome: Result<Option<Box<RawValue>>, String>,
}

/// A frame as far as it can be understood without knowing who sent it.
#[derive(Debug)]
pub enum Understood {
    Hello(Box<Offer>),
    Said(Said),
    /// Valid, but without something it needs: nobody answers it.
    Ignored,
    UnknownType,
    InvalidJson,
}

/// A `hello` before the controller has looked at version and secret.
#[derive(Debug)]
pub struct Offer {
    /// As it was written, in whichever field.
    pub version: Option<String>,
    pub secret: Option<String>,
    pub agent: Option<String>,
    pub tag: Option<String>,
    pub ready: bool,
    pub guilds: Vec<String>,
    pub pool: String,
}

pub fn understand(text: &str) -> Understood {
    let Ok(frame) = serde_json::from_str::<Frame<'_>>(text) else {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        return if is_json { Understood::UnknownType } else { Understood::InvalidJson };
    };
    let said = match &*frame.kind {
        "resp" => answer(&frame).map(Said::Answer),
        "hello" => return serde_json::from_str(text).map_or(Understood::Ignored, |hello| offer(&hello)),
        "guilds" => guilds(text).map(Said::Guilds),
        "event" => serde_json::from_str(text).ok().and_then(|event| occurrence(&event)),
        _ => return Understood::UnknownType,
    };
    said.map_or(Understood::Ignored, Understood::Said)
}

fn answer(frame: &Frame<'_>) -> Option<Answer> {
    let id = Uuid::try_parse(frame.id.as_deref()?).ok()?;
    let outcome = match frame.ok? {
        true => Ok(frame.data.filter(|data| data.get() != "null").map(ToOwned::to_owned)),
        false => Err(frame.error.and_then(words).unwrap_or_else(|| "agent-error".to_owned())),
    };
    Some(Answer { id, outcome })
}

/// An error is a sentence; agents that send something else mean what it says.
fn words(error: &RawValue) -> Option<String> {
    match serde_json::from_str(error.get()).ok()? {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

fn offer(hello: &wire::Hello) -> Understood {
    let versions = [&hello.protocol_version, &hello.snake_version, &hello.flat_version, &hello.version];
    Understood::Hello(Box::new(Offer {
        version: versions.into_iter().find_map(written),
        secret: hello.runner_secret.as_str().map(str::to_owned),
        agent: id(&hello.agent_id),
        tag: id(&hello.tag),
        ready: hello.ready.as_bool().unwrap_or(false),
        guilds: ids(&hello.guild_ids).unwrap_or_default(),
        pool: id(&hello.pool_id).unwrap_or_else(|| "default".to_owned()),
    }))
}

/// Text or number, as it was written; nothing when there is nothing.
fn written(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn guilds(text: &str) -> Option<Vec<String>> {
    ids(&serde_json::from_str::<wire::Guilds>(text).ok()?.guild_ids)
}

fn ids(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(id).take(MAX_GUILDS).collect())
}

fn id(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let fits = !text.is_empty() && text.chars().count() <= MAX_ID_CHARS && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

fn occurrence(event: &wire::Event) -> Option<Said> {
    let kind = match &event.kind {
        Value::Null => SessionKind::Music,
        kind => serde_json::from_value(kind.clone()).ok()?,
    };
    let voice_channel = id(&event.voice_channel_id).or_else(|| id(&event.channel_id))?;
    let place = Place { guild: id(&event.guild_id)?, voice_channel, kind };
    let said_why = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match (event.event.as_str()?, event.ok.as_bool()) {
        ("released", _) => Some(Said::Released { place, reason: said_why(&event.reason) }),
        ("add", Some(true)) => Some(Said::Added { place }),
        ("add", Some(false)) => Some(Said::NotAdded { place, error: said_why(&event.error) }),
        _ => None,
    }
}

/// The frame that asks an agent to do something.
pub fn request(id: Uuid, op: &str, data: &RawValue, agent: &str) -> String {
    to_json(&wire::Req { kind: "req", id, op, data, agent_id: agent })
}

pub fn error(text: &str) -> String {
    to_json(&wire::Error { kind: "error", error: text })
}

fn to_json(frame: &impl serde::Serialize) -> String {
    // Strings and JSON that was parsed before: writing them cannot fail.
    serde_json::to_string(frame).unwrap_or_default()
}
