//! From frames of agents to what they say, and from requests to frames.

use folkmoot_core::pools::{Place, SessionKind};
use folkmoot_wire::Id;
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
        version: versions.into_iter().flatten().next().cloned(),
        secret: hello.runner_secret.clone(),
        agent: id(hello.agent_id.as_deref()),
        tag: id(hello.tag.as_deref()),
        ready: hello.ready,
        guilds: ids(hello.guild_ids.as_deref()).unwrap_or_default(),
        pool: id(hello.pool_id.as_deref()).unwrap_or_else(|| "default".to_owned()),
    }))
}

fn guilds(text: &str) -> Option<Vec<String>> {
    ids(serde_json::from_str::<wire::Guilds>(text).ok()?.guild_ids.as_deref())
}

fn ids(given: Option<&[String]>) -> Option<Vec<String>> {
    Some(given?.iter().filter_map(|text| id(Some(text))).take(MAX_GUILDS).collect())
}

fn id(given: Option<&str>) -> Option<String> {
    let text = given?.trim();
    let fits = !text.is_empty() && text.chars().count() <= MAX_ID_CHARS && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

fn occurrence(event: &wire::SessionEvent) -> Option<Said> {
    let kind = match event.kind? {
        wire::SessionKind::Music => SessionKind::Music,
        wire::SessionKind::Assistant => SessionKind::Assistant,
    };
    let voice_channel = id(event.voice_channel_id.as_deref()).or_else(|| id(event.channel_id.as_deref()))?;
    let place = Place { guild: id(event.guild_id.as_deref())?, voice_channel, kind };
    let said_why = |why: &Option<String>| why.clone().unwrap_or_default();
    match (event.event.as_deref()?, event.ok) {
        ("released", _) => Some(Said::Released { place, reason: said_why(&event.reason) }),
        ("add", Some(true)) => Some(Said::Added { place }),
        ("add", Some(false)) => Some(Said::NotAdded { place, error: said_why(&event.error) }),
        _ => None,
    }
}

/// The frame that asks an agent to do something.
pub fn request(id: Uuid, op: &str, data: &RawValue, agent: &str) -> String {
    to_json(&wire::Req { kind: "req".into(), id: Id::of(id), op: op.into(), data: Some(data), agent_id: agent.into() })
}

pub fn error(text: &str) -> String {
    to_json(&wire::Error { kind: "error".into(), error: text.into() })
}

fn to_json(frame: &impl serde::Serialize) -> String {
    // Strings and JSON that was parsed before: writing them cannot fail.
    serde_json::to_string(frame).unwrap_or_default()
}
