//! What travels on Snek's wire, in the document's words, with its limits.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::{Id, Millis, lenient};

/// The document names no limits. A message has at most 10,000 characters, which JSON may write in twelve bytes each.
pub const MAX_FRAME_BYTES: usize = 262_144;
pub const MAX_QUEUED_FRAMES: usize = 1024;
pub const MAX_SUBSCRIPTIONS: usize = 10_000;

/// `WS_HEARTBEAT`; both sides ping.
pub const PING_INTERVAL_MS: Millis = 30_000;
pub const PONG_TIMEOUT_MS: Millis = 60_000;
/// A connection that never logs in is closed after the longest time a call may take (`DEFAULT_REQUEST_TIMEOUT`).
pub const LOGIN_TIMEOUT_MS: Millis = 190_000;

/// Section 3, client request. `args` and `kwargs` are left out by real bots, and `callId` may be any JSON value.
#[derive(Deserialize)]
pub struct Call<'a> {
    #[serde(borrow, default)]
    pub method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub kwargs: Option<&'a RawValue>,
    /// Kept as it was written, to be given back.
    #[serde(borrow, default, rename = "callId")]
    pub call_id: Option<&'a RawValue>,
}

/// The same as a client writes it.
#[derive(Clone, Debug, Serialize)]
pub struct Request<'a> {
    pub method: &'a str,
    pub args: &'a [Value],
    pub kwargs: Map<String, Value>,
    #[serde(rename = "callId")]
    pub call_id: &'a str,
}

/// Section 7, the message event: its fields stand at the top. Below the line what real servers add.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessageEvent<'a> {
    pub event: Cow<'a, str>,
    #[serde(flatten)]
    pub fields: MessageFields<'a>,
}

/// Real servers leave out what they like; without these three a message says nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageFields<'a> {
    pub message: Cow<'a, str>,
    pub username: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub user_nick: Cow<'a, str>,
    pub channel_uid: Id,
    /// `false` while it grows; left out it is final.
    #[serde(default = "yes", deserialize_with = "lenient::unless_false")]
    pub is_final: bool,
    // ---
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub uid: Id,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub user_uid: Id,
    #[serde(default, deserialize_with = "lenient::text")]
    pub color: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub created_at: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub updated_at: Cow<'a, str>,
}

fn yes() -> bool {
    true
}

/// Section 7, every other event.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event<'a, T> {
    pub event: Cow<'a, str>,
    pub data: T,
}

/// The other published form (`/v2/rpc.ws`): messages have their fields under `data` as well.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChannelEvent<'a, T> {
    pub channel_uid: Id,
    pub event: Cow<'a, str>,
    pub data: T,
}

/// Exactly this: clients unpack it as the arguments of `on_join` and `on_leave`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinOrLeave {
    pub channel_uid: Id,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetTyping<'a> {
    pub user_uid: Id,
    pub username: Cow<'a, str>,
    pub nick: Cow<'a, str>,
    pub channel_uid: Id,
    pub color: Cow<'a, str>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessageDeleted {
    pub channel_uid: Id,
    pub uid: Id,
}

/// `lagged`: what a reader that was too slow is told once it reads again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lagged {
    pub dropped: u64,
    pub channel_uids: Vec<Id>,
}

/// Section 4, and what real servers add to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct User<'a> {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub uid: Id,
    #[serde(default, deserialize_with = "lenient::text")]
    pub username: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub nick: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub color: Cow<'a, str>,
    /// Shown to its owner only.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient::fitting")]
    pub email: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub is_bot: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub is_online: bool,
    #[serde(default, deserialize_with = "lenient::text")]
    pub created_at: Cow<'a, str>,
}

/// Section 5, channel object, and what real servers add to it. One without an id is no channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channel<'a> {
    pub uid: Id,
    #[serde(default, deserialize_with = "lenient::text")]
    pub name: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub tag: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::text")]
    pub description: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub new_count: u64,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub is_moderator: bool,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub is_read_only: bool,
    #[serde(default, deserialize_with = "lenient::text")]
    pub color: Cow<'a, str>,
}

/// A refused call: the sentence twice, because real servers call it an exception, and a stable code.
#[derive(Clone, Debug, Serialize)]
pub struct Failure<'a> {
    pub exception: &'a str,
    pub error: &'a str,
    pub code: &'static str,
}

/// What a client has received.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// The answer to a call: its data, or why not.
    Answer {
        call_id: String,
        outcome: Result<Value, String>,
    },
    /// A message, whole or as far as it has grown.
    Message(Box<MessageFields<'static>>),
    Join(Id),
    Leave(Id),
    /// Typing, unknown events, answers to calls that nobody waits for.
    Nothing,
    /// Not JSON, or no object.
    Invalid,
}

impl Received {
    /// Reads a frame. A frame is an answer when its `callId` belongs to a call that waits, else it may be an event.
    pub fn read(text: &str, is_waiting: impl Fn(&str) -> bool) -> Self {
        let Ok(Value::Object(frame)) = serde_json::from_str::<Value>(text) else { return Self::Invalid };
        match frame.get("callId").and_then(Value::as_str) {
            Some(id) if is_waiting(id) => Self::Answer { call_id: id.to_owned(), outcome: outcome(&frame) },
            _ => event(frame).unwrap_or(Self::Nothing),
        }
    }
}

fn outcome(frame: &Map<String, Value>) -> Result<Value, String> {
    let data = frame.get("data").unwrap_or(&Value::Null);
    let refused = frame.get("success") == Some(&Value::Bool(false)) || frame.contains_key("error");
    if refused {
        return Err(reason(frame.get("error").unwrap_or(data)));
    }
    Ok(data.clone())
}

/// The sentence in a refusal, wherever the server puts it.
pub fn reason(data: &Value) -> String {
    let inside = ["exception", "error", "message"].iter().find_map(|name| data.get(name)?.as_str());
    let text = data.as_str().or(inside).unwrap_or("no reason given");
    text.lines().next().unwrap_or_default().chars().take(300).collect()
}

fn event(frame: Map<String, Value>) -> Option<Received> {
    let place = || JoinOrLeave::deserialize(frame.get("data")?).ok();
    match frame.get("event")?.as_str()? {
        "join" => place().map(|place| Received::Join(place.channel_uid)),
        "leave" => place().map(|place| Received::Leave(place.channel_uid)),
        "message" => message(frame),
        "new_message" => message(published(frame)?),
        _ => None,
    }
}

fn message(fields: Map<String, Value>) -> Option<Received> {
    MessageFields::deserialize(Value::Object(fields)).ok().map(Box::new).map(Received::Message)
}

/// The fields of the other published form: under `data`, and the channel beside it.
fn published(mut frame: Map<String, Value>) -> Option<Map<String, Value>> {
    let Some(Value::Object(mut fields)) = frame.remove("data") else { return None };
    if let Some(channel) = frame.remove("channel_uid") {
        fields.insert("channel_uid".to_owned(), channel);
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn frame(value: &Value) -> Received {
        Received::read(&value.to_string(), |id| id == "a1")
    }

    #[test]
    fn a_request_has_the_four_fields_of_the_document() {
        let args = [json!("ch1"), json!("hi"), json!(true)];
        let request = Request { method: "send_message", args: &args, kwargs: Map::new(), call_id: "a1" };
        assert_eq!(
            serde_json::to_value(request).unwrap(),
            json!({"method": "send_message", "args": ["ch1", "hi", true], "kwargs": {}, "callId": "a1"})
        );
    }

    #[test]
    fn a_response_is_matched_by_its_call_id() {
        let expected = Received::Answer { call_id: "a1".into(), outcome: Ok(json!({"x": 1})) };
        assert_eq!(frame(&json!({"callId": "a1", "data": {"x": 1}})), expected);
        assert_eq!(frame(&json!({"callId": "a1", "success": true, "data": {"x": 1}, "event": "message"})), expected);
        assert_eq!(frame(&json!({"callId": "b2", "data": {}})), Received::Nothing);
    }

    #[test]
    fn a_refusal_says_why() {
        let refused = |frame_: Value| match frame(&frame_) {
            Received::Answer { outcome: Err(why), .. } => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(json!({"callId": "a1", "success": false, "data": "Not allowed"})), "Not allowed");
        let exception = json!({"callId": "a1", "success": false, "data": {"exception": "nope\ntrace"}});
        assert_eq!(refused(exception), "nope");
        assert_eq!(refused(json!({"callId": "a1", "error": "wrong"})), "wrong");
        assert_eq!(refused(json!({"callId": "a1", "success": false})), "no reason given");
    }

    #[test]
    fn a_message_is_read_from_both_published_forms() {
        let flat = json!({"event": "message", "message": "hi", "username": "alice", "channel_uid": "c1", "uid": "m1"});
        let Received::Message(flat) = frame(&flat) else { panic!("no message") };
        assert!(flat.is_final);
        let data = json!({"uid": "m1", "message": "hi", "username": "alice"});
        let beside = json!({"channel_uid": "c1", "event": "new_message", "data": data});
        assert_eq!(frame(&beside), Received::Message(flat.clone()));
        let inside = json!({"uid": "m1", "message": "hi", "username": "alice", "channel_uid": "c1"});
        assert_eq!(frame(&json!({"event": "new_message", "data": inside})), Received::Message(flat));
        for wrong in [json!(null), json!("hi"), json!({}), json!({"message": "hi", "username": "alice"})] {
            assert_eq!(frame(&json!({"event": "new_message", "data": wrong})), Received::Nothing);
        }
    }

    #[test]
    fn set_typing_and_unknown_events_are_silently_ignored() {
        for event in ["set_typing", "starfield", ""] {
            assert_eq!(frame(&json!({"event": event, "data": {"channel_uid": "c"}})), Received::Nothing);
        }
    }

    #[test]
    fn invalid_json_is_told_apart() {
        for text in ["", "{", "[]", "7", "nonsense"] {
            assert_eq!(Received::read(text, |_| true), Received::Invalid, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_frame_of_a_server_makes_the_reader_fail(text in "\\PC{0,80}|\\{\"(event|callId|data)\":(null|7|\"a1\"|\"message\"|\\{\\}|\\[\\])\\}") {
            let _ = Received::read(&text, |id| id == "a1");
        }
    }
}
