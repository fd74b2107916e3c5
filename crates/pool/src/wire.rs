//! What travels between an agent and its controller, in the document's order and words.

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub const PROTOCOL_VERSION: &str = "1.0.0";
/// A controller refuses a frame beyond this.
pub const MAX_FRAME_BYTES: usize = 64 * 1024;
/// More guilds than this are cut off by controllers.
pub const MAX_GUILDS: usize = 5000;

/// Agent → controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Outgoing {
    Hello(Hello),
    Guilds(Guilds),
    Event(Event),
    Resp(Resp),
}

/// Who the agent is: at the beginning, and again as a heartbeat.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    pub protocol_version: &'static str,
    pub agent_id: String,
    pub bot_user_id: Option<String>,
    pub tag: Option<String>,
    pub ready: bool,
    pub guild_ids: Vec<String>,
    pub pool_id: String,
    pub runner_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_secret: Option<String>,
}

/// The guilds the agent works in; replaces what was said before.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Guilds {
    pub guild_ids: Vec<String>,
    pub agent_id: String,
    pub runner_id: String,
}

/// A voice channel was left or joined.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    #[serde(rename_all = "camelCase")]
    Released {
        agent_id: String,
        runner_id: String,
        guild_id: String,
        voice_channel_id: String,
        reason: String,
        kind: Kind,
    },
    #[serde(rename_all = "camelCase")]
    Add {
        agent_id: String,
        runner_id: String,
        guild_id: String,
        voice_channel_id: String,
        /// The same as `voice_channel_id`; the document repeats it.
        channel_id: String,
        kind: Kind,
        #[serde(skip_serializing_if = "Option::is_none")]
        owner_user_id: Option<String>,
        ok: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
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

/// What an agent is leased for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Music,
    Assistant,
}

/// Controller → agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    Req(Req),
    Error(String),
    /// Not of this protocol, or of a later version of it.
    Unknown,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Req {
    pub id: String,
    pub op: String,
    #[serde(default)]
    pub data: Value,
}

impl Incoming {
    /// Reads a frame. What is malformed or lacks a required field is ignored, as the document asks.
    pub fn read(text: &str) -> Self {
        let Ok(frame) = serde_json::from_str::<Value>(text) else { return Self::Unknown };
        match frame.get("type").and_then(Value::as_str) {
            Some("req") => Req::deserialize(frame).map_or(Self::Unknown, Self::Req),
            Some("error") => {
                let sentence = frame.get("error").and_then(Value::as_str);
                Self::Error(sentence.unwrap_or("the controller did not say why").to_owned())
            }
            _ => Self::Unknown,
        }
    }
}

impl Outgoing {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn value(frame: Outgoing) -> Value {
        serde_json::from_str(&frame.text()).unwrap()
    }

    #[test]
    fn hello_is_the_documents() {
        let hello = Hello {
            protocol_version: PROTOCOL_VERSION,
            agent_id: "agent1".into(),
            bot_user_id: None,
            tag: Some("MusicBot#1234".into()),
            ready: true,
            guild_ids: vec!["g".into()],
            pool_id: "pool_a".into(),
            runner_id: "runner".into(),
            runner_secret: None,
        };
        let expected = json!({
            "type": "hello", "protocolVersion": "1.0.0", "agentId": "agent1", "botUserId": null, "tag": "MusicBot#1234",
            "ready": true, "guildIds": ["g"], "poolId": "pool_a", "runnerId": "runner",
        });
        assert_eq!(value(Outgoing::Hello(hello)), expected);
    }

    #[test]
    fn released_and_add_are_the_documents() {
        let released = Event::Released {
            agent_id: "a".into(),
            runner_id: "r".into(),
            guild_id: "g".into(),
            voice_channel_id: "v".into(),
            reason: "stop".into(),
            kind: Kind::Music,
        };
        let expected = json!({
            "type": "event", "event": "released", "agentId": "a", "runnerId": "r", "guildId": "g",
            "voiceChannelId": "v", "reason": "stop", "kind": "music",
        });
        assert_eq!(value(Outgoing::Event(released)), expected);
        let add = Event::Add {
            agent_id: "a".into(),
            runner_id: "r".into(),
            guild_id: "g".into(),
            voice_channel_id: "v".into(),
            channel_id: "v".into(),
            kind: Kind::Assistant,
            owner_user_id: Some("u".into()),
            ok: true,
            error: None,
        };
        let expected = json!({
            "type": "event", "event": "add", "agentId": "a", "runnerId": "r", "guildId": "g", "voiceChannelId": "v",
            "channelId": "v", "kind": "assistant", "ownerUserId": "u", "ok": true,
        });
        assert_eq!(value(Outgoing::Event(add)), expected);
    }

    #[test]
    fn a_request_needs_its_id_and_op_and_data_may_be_missing() {
        let read = Incoming::read(r#"{"type":"req","id":"1","op":"play","agentId":"a"}"#);
        assert_eq!(read, Incoming::Req(Req { id: "1".into(), op: "play".into(), data: Value::Null }));
        for text in [r#"{"type":"req","op":"play"}"#, r#"{"type":"req","id":"1"}"#, r#"{"type":"req","id":1,"op":"x"}"#]
        {
            assert_eq!(Incoming::read(text), Incoming::Unknown, "{text}");
        }
    }

    #[test]
    fn an_answer_beyond_the_frame_limit_becomes_an_error() {
        let data = Some(Value::String("x".repeat(MAX_FRAME_BYTES)));
        let resp = Resp { id: "1".into(), ok: true, data, error: None, agent_id: "a".into(), runner_id: "r".into() };
        let expected = json!({
            "type": "resp", "id": "1", "ok": false, "error": "answer-too-large", "agentId": "a", "runnerId": "r",
        });
        assert_eq!(value(Outgoing::Resp(resp)), expected);
    }

    proptest! {
        #[test]
        fn no_frame_makes_the_reader_panic(text: String) {
            Incoming::read(&text);
        }
    }
}
