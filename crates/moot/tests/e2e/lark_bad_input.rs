//! Frames that make no sense get an answer, change nothing and leave the connection open.

use serde_json::{Value, json};
use tungstenite::Message;

use crate::support::{Lark, Member, start};

struct Room {
    _hub: crate::support::Hub,
    alice: Member,
    general: String,
    lark: Lark,
}

async fn room() -> Room {
    let (hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let lark = alice.lark().await;
    Room { _hub: hub, alice, general, lark }
}

impl Room {
    /// The connection still works, and nothing of what came before was stored.
    async fn is_unharmed(&mut self) {
        self.lark.say(&self.general, "still open").await;
        assert_eq!(self.alice.texts(&self.general).await, ["still open"]);
    }
}

#[tokio::test]
async fn bad_json_is_answered_with_an_error() {
    let mut room = room().await;
    for frame in ["{", "", "hello", "\"text\"", "[]", "null", "7", "{\"type\":", "{}"] {
        room.lark.send_text(frame).await;
        let error = room.lark.expect_error().await;
        assert!(error.contains("invalid"), "{frame:?} → {error}");
    }
    room.is_unharmed().await;
}

#[tokio::test]
async fn an_envelope_with_wrong_field_types_is_answered_with_an_error() {
    let mut room = room().await;
    let data = json!({ "channel_id": room.general, "content": "no" });
    for frame in [
        json!({ "v": 1, "ts": 1, "type": 7, "data": data }),
        json!({ "v": 1, "ts": 1, "type": null, "data": data }),
        json!({ "v": 1, "ts": 1, "data": data }),
        json!({ "v": 1, "ts": 1, "type": "message.send", "data": "text" }),
        json!({ "v": 1, "ts": 1, "type": "message.send", "data": [data] }),
    ] {
        room.lark.send_text(frame.to_string()).await;
        let error = room.lark.expect_error().await;
        assert!(error.contains("invalid"), "{frame} → {error}");
    }
    room.is_unharmed().await;
}

#[tokio::test]
async fn an_unknown_type_is_answered_with_an_error_that_names_it() {
    let mut room = room().await;
    for kind in ["message.shout", "nonsense", "MESSAGE.SEND", "message.new", "agent.wake"] {
        let error = room.lark.refused(kind, json!({ "channel_id": room.general })).await;
        assert!(error.contains(kind), "{kind} → {error}");
    }
    room.is_unharmed().await;
}

#[tokio::test]
async fn a_binary_frame_is_answered_with_an_error() {
    let mut room = room().await;
    let send = json!({ "type": "message.send", "data": { "channel_id": room.general, "content": "no" } });
    for bytes in [vec![0, 1, 2, 255], send.to_string().into_bytes(), Vec::new()] {
        room.lark.send_message(Message::binary(bytes)).await;
        room.lark.expect_error().await;
    }
    room.is_unharmed().await;
}

#[tokio::test]
async fn missing_data_is_answered_with_an_error() {
    let mut room = room().await;
    for kind in [
        "channel.join",
        "channel.leave",
        "message.send",
        "message.edit",
        "message.delete",
        "thread.reply",
        "typing.start",
        "typing.stop",
        "presence.update",
        "daemon.register",
        "call.offer",
        "call.answer",
        "call.ice",
        "call.end",
        "sync.resume",
    ] {
        let id = uuid::Uuid::new_v4().to_string();
        let frame = json!({ "v": 1, "ts": 1, "id": id, "type": kind });
        room.lark.send_text(frame.to_string()).await;
        let answer = room.lark.reply_to(&id, kind).await;
        assert_eq!(answer["type"], "error", "{kind} → {answer}");
    }
    room.is_unharmed().await;
}

#[tokio::test]
async fn wrong_field_types_in_data_are_answered_with_an_error() {
    let mut room = room().await;
    let general = room.general.clone();
    let wrong: Vec<(&str, Value)> = vec![
        ("message.send", json!({ "channel_id": 7, "content": "no" })),
        ("message.send", json!({ "channel_id": general, "content": 7 })),
        ("message.send", json!({ "channel_id": general, "content": ["no"] })),
        ("message.send", json!({ "channel_id": general, "content": "no", "metadata": "text" })),
        ("message.send", json!({ "channel_id": general, "content": "no", "thread_id": 7 })),
        ("message.send", json!({ "content": "no" })),
        ("message.edit", json!({ "message_id": 7, "content": "no" })),
        ("message.delete", json!({ "message_id": {} })),
        ("thread.reply", json!({ "channel_id": general, "parent_id": 7, "content": "no" })),
        ("channel.join", json!({ "channel_id": ["ch_1"] })),
        ("daemon.register", json!({ "agents": "all" })),
        ("call.offer", json!({ "callee_id": 7, "sdp": 7 })),
        ("sync.resume", json!({ "channel_id": general, "after_seq": "zero" })),
    ];
    for (kind, data) in wrong {
        let error = room.lark.refused(kind, data.clone()).await;
        assert!(!error.is_empty(), "{kind} {data}");
    }
    room.is_unharmed().await;
}

#[tokio::test]
async fn a_deeply_nested_frame_does_no_harm() {
    let mut room = room().await;
    let frame = format!("{{\"type\":\"message.send\",\"data\":{}{}}}", "[".repeat(20_000), "]".repeat(20_000));
    room.lark.send_text(frame).await;
    room.lark.expect_error().await;
    room.is_unharmed().await;
}

#[tokio::test]
async fn ids_that_look_like_paths_or_sql_are_just_unknown() {
    let mut room = room().await;
    for id in ["../../etc/passwd", "' OR 1=1 --", "%", "\u{0000}", "ch_\n", ""] {
        let data = json!({ "channel_id": id, "content": "no" });
        room.lark.refused("message.send", data).await;
        let data = json!({ "message_id": id, "content": "no" });
        room.lark.refused("message.edit", data).await;
    }
    room.is_unharmed().await;
}

#[tokio::test]
async fn a_request_without_an_id_is_refused_without_reply_to() {
    let mut room = room().await;
    let frame = json!({ "type": "message.send", "data": { "channel_id": "ch_x", "content": "no" } });
    room.lark.send_text(frame.to_string()).await;
    let error = room.lark.expect_error().await;
    assert_eq!(error, "not a channel member");
    room.is_unharmed().await;
}
