//! What travels between the controller of a pool and its agents, in the document's order and words, with its limits.
//!
//! Agents are written by many hands, so what they send is read leniently: a field of the wrong type counts as missing.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Id, Millis, lenient};

/// Beyond this the connection ends.
pub const MAX_READ_BYTES: usize = 256 * 1024;
/// Requests in the other direction are bounded by those in flight.
pub const MAX_QUEUED_FRAMES: usize = 256;
/// A larger frame of an agent is refused, and the connection stays.
pub const MAX_FRAME_BYTES: usize = 64 * 1024;
pub const MAX_FRAMES_PER_SECOND: u32 = 100;
pub const MAX_GUILDS: usize = 5000;
pub const MAX_ID_CHARS: usize = 100;

pub const HANDSHAKE_MS: Millis = 8_000;
pub const PING_INTERVAL_MS: Millis = 15_000;
pub const STALE_MS: Millis = 45_000;

/// A version of the protocol that agents may speak. What differs between versions becomes a field here.
#[derive(Debug, PartialEq, Eq)]
pub struct Version {
    pub name: &'static str,
}

pub const SUPPORTED_VERSIONS: &[Version] = &[Version { name: "1.0.0" }];
/// What the controller speaks, and says that it expects.
pub const PROTOCOL_VERSION: &str = "1.0.0";

/// What an agent is leased for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    #[default]
    Music,
    Assistant,
}

// Agent → controller

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum AgentFrame {
    Hello(Hello),
    Guilds(Guilds),
    Event(SessionEvent),
    Resp(Resp),
}

impl AgentFrame {
    /// The frame as text. An answer that no controller would take becomes one that says so.
    pub fn text(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_default();
        match self {
            Self::Resp(resp) if text.len() > MAX_FRAME_BYTES => {
                let error = Some("answer-too-large".to_owned());
                let cut = Resp { ok: false, data: None, error, ..resp.clone() };
                serde_json::to_string(&Self::Resp(cut)).unwrap_or_default()
            }
            _ => text,
        }
    }
}

/// The part of any frame that says what it is, together with all of a `resp`: those are the many, so nothing is copied.
#[derive(Deserialize)]
pub struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(default)]
    pub ok: Option<bool>,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// Who the agent is: at the beginning, and again as a heartbeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hello {
    #[serde(deserialize_with = "lenient::written")]
    pub protocol_version: Option<String>,
    /// Other spellings of the same, as real agents send them.
    #[serde(rename = "protocol_version", deserialize_with = "lenient::written", skip_serializing)]
    pub snake_version: Option<String>,
    #[serde(rename = "protocolversion", deserialize_with = "lenient::written", skip_serializing)]
    pub flat_version: Option<String>,
    #[serde(deserialize_with = "lenient::written", skip_serializing)]
    pub version: Option<String>,
    #[serde(deserialize_with = "lenient::fitting")]
    pub agent_id: Option<String>,
    #[serde(deserialize_with = "lenient::fitting")]
    pub bot_user_id: Option<String>,
    #[serde(deserialize_with = "lenient::fitting")]
    pub tag: Option<String>,
    #[serde(deserialize_with = "lenient::or_default")]
    pub ready: bool,
    #[serde(deserialize_with = "lenient::list")]
    pub guild_ids: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient::fitting")]
    pub pool_id: Option<String>,
    #[serde(deserialize_with = "lenient::fitting")]
    pub runner_id: Option<String>,
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub runner_secret: Option<String>,
}

/// The guilds the agent works in; replaces what was said before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Guilds {
    #[serde(deserialize_with = "lenient::list")]
    pub guild_ids: Option<Vec<String>>,
    #[serde(deserialize_with = "lenient::fitting")]
    pub agent_id: Option<String>,
    #[serde(deserialize_with = "lenient::fitting")]
    pub runner_id: Option<String>,
}

/// A voice channel was left (`released`) or joined (`add`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionEvent {
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub runner_id: Option<String>,
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub guild_id: Option<String>,
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub voice_channel_id: Option<String>,
    /// The same as `voiceChannelId`, which `add` repeats; some agents send only this one.
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub channel_id: Option<String>,
    /// Left out it is music; none when it is something that nobody knows.
    #[serde(default = "music", deserialize_with = "kind", skip_serializing_if = "Option::is_none")]
    pub kind: Option<SessionKind>,
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub owner_user_id: Option<String>,
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(deserialize_with = "lenient::fitting", skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that serde asks for")]
fn music() -> Option<SessionKind> {
    Some(SessionKind::Music)
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SessionKind>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => music(),
        other => serde_json::from_value(other).ok(),
    })
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resp {
    pub id: String,
    pub ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub agent_id: String,
    pub runner_id: String,
}

// Controller → agent

/// One request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Req<'a> {
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
    pub id: Id,
    pub op: Cow<'a, str>,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
    #[serde(default)]
    pub agent_id: Cow<'a, str>,
}

/// Something was wrong with what the agent said.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Error<'a> {
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub error: Cow<'a, str>,
}

/// What an agent has received.
#[derive(Clone, Debug)]
pub enum ControllerFrame<'a> {
    Req(Req<'a>),
    Error(Cow<'a, str>),
    /// Not of this protocol, or of a later version of it.
    Unknown,
}

impl<'a> ControllerFrame<'a> {
    /// Reads a frame. What is malformed or lacks a required field is ignored, as the document asks.
    pub fn read(text: &'a str) -> Self {
        let Ok(error) = serde_json::from_str::<Error<'_>>(text) else { return Self::Unknown };
        match &*error.kind {
            "req" => serde_json::from_str(text).map_or(Self::Unknown, Self::Req),
            "error" if error.error.is_empty() => Self::Error("the controller did not say why".into()),
            "error" => Self::Error(error.error),
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value(frame: AgentFrame) -> Value {
        serde_json::from_str(&frame.text()).unwrap()
    }

    #[test]
    fn hello_is_the_documents() {
        let hello = Hello {
            protocol_version: Some(PROTOCOL_VERSION.into()),
            agent_id: Some("agent1".into()),
            tag: Some("MusicBot#1234".into()),
            ready: true,
            guild_ids: Some(vec!["g".into()]),
            pool_id: Some("pool_a".into()),
            runner_id: Some("runner".into()),
            ..Hello::default()
        };
        let expected = json!({
            "type": "hello", "protocolVersion": "1.0.0", "agentId": "agent1", "botUserId": null, "tag": "MusicBot#1234",
            "ready": true, "guildIds": ["g"], "poolId": "pool_a", "runnerId": "runner",
        });
        assert_eq!(value(AgentFrame::Hello(hello)), expected);
    }

    fn event(event: &str, kind: SessionKind) -> SessionEvent {
        SessionEvent {
            event: Some(event.into()),
            agent_id: Some("a".into()),
            runner_id: Some("r".into()),
            guild_id: Some("g".into()),
            voice_channel_id: Some("v".into()),
            kind: Some(kind),
            ..SessionEvent::default()
        }
    }

    #[test]
    fn released_and_add_are_the_documents() {
        let released = SessionEvent { reason: Some("stop".into()), ..event("released", SessionKind::Music) };
        let expected = json!({
            "type": "event", "event": "released", "agentId": "a", "runnerId": "r", "guildId": "g",
            "voiceChannelId": "v", "reason": "stop", "kind": "music",
        });
        assert_eq!(value(AgentFrame::Event(released)), expected);
        let add = SessionEvent {
            channel_id: Some("v".into()),
            owner_user_id: Some("u".into()),
            ok: Some(true),
            ..event("add", SessionKind::Assistant)
        };
        let expected = json!({
            "type": "event", "event": "add", "agentId": "a", "runnerId": "r", "guildId": "g", "voiceChannelId": "v",
            "channelId": "v", "kind": "assistant", "ownerUserId": "u", "ok": true,
        });
        assert_eq!(value(AgentFrame::Event(add)), expected);
    }

    #[test]
    fn what_an_agent_writes_is_what_a_controller_reads() {
        let hello = Hello { agent_id: Some("a".into()), guild_ids: Some(vec!["g".into()]), ..Hello::default() };
        assert_eq!(serde_json::from_str::<Hello>(&AgentFrame::Hello(hello.clone()).text()).unwrap(), hello);
        let add = event("add", SessionKind::Assistant);
        assert_eq!(serde_json::from_str::<SessionEvent>(&AgentFrame::Event(add.clone()).text()).unwrap(), add);
    }

    #[test]
    fn a_request_needs_its_id_and_op_and_data_may_be_missing() {
        let read = ControllerFrame::read(r#"{"type":"req","id":"1","op":"play","agentId":"a"}"#);
        let ControllerFrame::Req(req) = read else { panic!("{read:?}") };
        assert_eq!((&*req.id, &*req.op, req.data.is_none()), ("1", "play", true));
        for text in [r#"{"type":"req","op":"play"}"#, r#"{"type":"req","id":"1"}"#, r#"{"type":"req","id":1,"op":"x"}"#]
        {
            assert!(matches!(ControllerFrame::read(text), ControllerFrame::Unknown), "{text}");
        }
    }

    #[test]
    fn an_answer_beyond_the_frame_limit_becomes_an_error() {
        let data = Some(Value::String("x".repeat(MAX_FRAME_BYTES)));
        let resp = Resp { id: "1".into(), ok: true, data, error: None, agent_id: "a".into(), runner_id: "r".into() };
        let expected = json!({
            "type": "resp", "id": "1", "ok": false, "error": "answer-too-large", "agentId": "a", "runnerId": "r",
        });
        assert_eq!(value(AgentFrame::Resp(resp)), expected);
    }

    proptest! {
        #[test]
        fn no_frame_makes_the_reader_panic(text: String) {
            let _ = ControllerFrame::read(&text);
        }
    }
}
