//! The Snek protocol as a client writes and reads it (sections 3 to 7).

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Channel, Incoming};
use crate::route::{Me, Message};

/// A call.
#[derive(Serialize)]
pub struct Request<'a> {
    pub method: &'a str,
    pub args: &'a [Value],
    pub kwargs: Map<String, Value>,
    #[serde(rename = "callId")]
    pub call_id: &'a str,
}

/// What a frame of the server is.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// The answer to a call that waits.
    Answer {
        call_id: String,
        outcome: Result<Value, String>,
    },
    Told(Incoming),
    /// Growing messages, typing, unknown events, answers to calls that nobody waits for.
    Nothing,
    /// Not JSON, or no object.
    Invalid,
}

/// Reads a frame. A frame is an answer when its `callId` belongs to a call that waits, else it may be an event.
pub fn read(text: &str, is_waiting: impl Fn(&str) -> bool) -> Frame {
    let Ok(Value::Object(frame)) = serde_json::from_str::<Value>(text) else {
        return Frame::Invalid;
    };
    match frame.get("callId").and_then(Value::as_str) {
        Some(call_id) if is_waiting(call_id) => Frame::Answer { call_id: call_id.to_owned(), outcome: outcome(&frame) },
        _ => event(&frame).map_or(Frame::Nothing, Frame::Told),
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

fn event(frame: &Map<String, Value>) -> Option<Incoming> {
    let channel = |data: Option<&Value>| Some(data?.get("channel_uid")?.as_str()?.to_owned());
    match frame.get("event")?.as_str()? {
        "message" => message(frame).map(Incoming::Message),
        "join" => channel(frame.get("data")).map(Incoming::Join),
        "leave" => channel(frame.get("data")).map(Incoming::Leave),
        _ => None,
    }
}

/// A complete message; one that still grows (`is_final` is `false`) is skipped.
fn message(frame: &Map<String, Value>) -> Option<Message> {
    if frame.get("is_final") == Some(&Value::Bool(false)) {
        return None;
    }
    let field = |name: &str| Some(frame.get(name)?.as_str()?.to_owned());
    let username = field("username")?;
    Some(Message {
        channel_uid: field("channel_uid")?,
        user_nick: field("user_nick").filter(|nick| !nick.is_empty()).unwrap_or_else(|| username.clone()),
        username,
        text: field("message")?,
        thread_id: None,
    })
}

/// The own user in the answer of `get_user`; `known` stands in for what is missing.
pub fn me(data: &Value, known: &str) -> Me {
    let field = |name: &str| data[name].as_str().filter(|text| !text.is_empty());
    let username = field("username").unwrap_or(known);
    Me { username: username.to_owned(), nick: field("nick").unwrap_or(username).to_owned() }
}

/// The channels in the answer of `get_channels`; an entry without an id is no channel.
pub fn channels(data: &Value) -> Vec<Channel> {
    let channel = |entry: &Value| {
        let uid = entry["uid"].as_str()?.to_owned();
        let name = entry["name"].as_str().unwrap_or(&uid).to_owned();
        Some(Channel { uid, name, is_direct: entry["tag"] == "dm" })
    };
    data.as_array().into_iter().flatten().filter_map(channel).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn frame(value: &Value) -> Frame {
        read(&value.to_string(), |id| id == "a1")
    }

    fn hello(is_final: &Value) -> Value {
        json!({"event": "message", "message": "Hello world", "username": "sender_username",
               "user_nick": "SenderNick", "channel_uid": "target_channel_uid", "is_final": is_final})
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
        let expected = Frame::Answer { call_id: "a1".into(), outcome: Ok(json!({"x": 1})) };
        assert_eq!(frame(&json!({"callId": "a1", "data": {"x": 1}})), expected);
        assert_eq!(frame(&json!({"callId": "a1", "success": true, "data": {"x": 1}, "event": "message"})), expected);
        assert_eq!(frame(&json!({"callId": "b2", "data": {}})), Frame::Nothing);
    }

    #[test]
    fn a_refusal_says_why() {
        let refused = |frame_: Value| match frame(&frame_) {
            Frame::Answer { outcome: Err(why), .. } => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(json!({"callId": "a1", "success": false, "data": "Not allowed"})), "Not allowed");
        let exception = json!({"callId": "a1", "success": false, "data": {"exception": "nope\ntrace"}});
        assert_eq!(refused(exception), "nope");
        assert_eq!(refused(json!({"callId": "a1", "error": "wrong"})), "wrong");
        assert_eq!(refused(json!({"callId": "a1", "success": false})), "no reason given");
    }

    #[test]
    fn a_message_event_has_its_fields_at_the_top() {
        let expected = Message {
            channel_uid: "target_channel_uid".into(),
            username: "sender_username".into(),
            user_nick: "SenderNick".into(),
            text: "Hello world".into(),
            thread_id: None,
        };
        assert_eq!(frame(&hello(&json!(true))), Frame::Told(Incoming::Message(expected)));
    }

    #[test]
    fn a_message_that_is_not_final_is_skipped() {
        assert_eq!(frame(&hello(&json!(false))), Frame::Nothing);
    }

    #[test]
    fn join_and_leave_name_their_channel() {
        assert_eq!(
            frame(&json!({"event": "join", "data": {"channel_uid": "abc123"}})),
            Frame::Told(Incoming::Join("abc123".into()))
        );
        assert_eq!(
            frame(&json!({"event": "leave", "data": {"channel_uid": "abc123"}})),
            Frame::Told(Incoming::Leave("abc123".into()))
        );
    }

    #[test]
    fn set_typing_and_unknown_events_are_silently_ignored() {
        for event in ["set_typing", "starfield", ""] {
            assert_eq!(frame(&json!({"event": event, "data": {"channel_uid": "c"}})), Frame::Nothing);
        }
    }

    #[test]
    fn invalid_json_is_told_apart() {
        for text in ["", "{", "[]", "7", "nonsense"] {
            assert_eq!(read(text, |_| true), Frame::Invalid, "{text}");
        }
    }

    #[test]
    fn the_own_user_and_the_channels_are_read_from_their_answers() {
        assert_eq!(me(&json!({"username": "botname", "nick": "BotNick"}), "x").nick, "BotNick");
        assert_eq!(me(&Value::Null, "bot"), Me { username: "bot".into(), nick: "bot".into() });
        let listed = channels(&json!([
            {"uid": "ch1", "name": "general", "tag": "public"}, {"uid": "ch2", "name": "DM", "tag": "dm"},
            {"uid": "ch3", "tag": null}, {"name": "no id"}, 7
        ]));
        let channel = |uid: &str, name: &str, is_direct| Channel { uid: uid.into(), name: name.into(), is_direct };
        assert_eq!(
            listed,
            [channel("ch1", "general", false), channel("ch2", "DM", true), channel("ch3", "ch3", false)]
        );
    }

    proptest! {
        #[test]
        fn no_frame_of_a_server_makes_the_reader_fail(text in "\\PC{0,80}|\\{\"(event|callId|data)\":(null|7|\"a1\"|\"message\"|\\{\\}|\\[\\])\\}") {
            let _ = read(&text, |id| id == "a1");
        }
    }
}
