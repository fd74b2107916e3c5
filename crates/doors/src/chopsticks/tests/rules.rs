//! One test per rule and error row.

use std::sync::Arc;

use folkmoot_core::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::mapping::{self, Hello, Understood};
use super::super::session::{ChopsticksSession, Terms};
use super::super::wire::*;
use super::{Heard, Line, START, heard, hello};
use crate::door::Session;

const ID: &str = "a1b2c3d4-e5f6-4890-abcd-ef1234567890";

fn error(text: &str) -> Heard {
    Heard::Frame(json!({ "type": "error", "error": text }))
}

fn with(field: &str, value: Value) -> Value {
    let mut frame = hello();
    frame[field] = value;
    frame
}

fn without(field: &str) -> Value {
    let mut frame = hello();
    frame.as_object_mut().unwrap().remove(field);
    frame
}

fn is_hello(heard: &[Heard]) -> bool {
    matches!(heard, [Heard::Hello(_)])
}

// hello

#[test]
fn a_hello_is_accepted_in_silence() {
    let heard = Line::new().says(hello());
    let expected = Hello {
        agent: "a1".to_owned(),
        version: "1.0.0",
        tag: Some("MusicBot#1".to_owned()),
        ready: true,
        guilds: vec!["g1".to_owned()],
        pool: "p1".to_owned(),
    };
    assert_eq!(heard, [Heard::Hello(expected)]);
}

#[test]
fn a_missing_version_is_told_and_closed_with_1008() {
    for frame in [without("protocolVersion"), with("protocolVersion", Value::Null), with("protocolVersion", json!(""))]
    {
        let heard = Line::new().says(frame);
        let expected =
            [error("Protocol version required. Please upgrade agent."), Heard::Close(1008, "Missing protocol version")];
        assert_eq!(heard, expected);
    }
}

#[test]
fn an_incompatible_version_is_told_in_the_words_of_the_document_and_closed_with_1008() {
    for (version, shown) in
        [(json!("0.9.0"), "0.9.0"), (json!("1.0"), "1.0"), (json!(1), "1"), (json!("2.0.0"), "2.0.0")]
    {
        let heard = Line::new().says(with("protocolVersion", version));
        let text = format!("Incompatible protocol version {shown}. Controller expects 1.0.0.");
        assert_eq!(heard, [error(&text), Heard::Close(1008, "Incompatible protocol version")]);
    }
    let heard = Line::new().says(with("protocolVersion", json!("9".repeat(10_000))));
    let Heard::Frame(frame) = &heard[0] else { panic!("{heard:?}") };
    assert!(frame["error"].as_str().unwrap().len() < 120, "a version is not given back at any length");
}

#[test]
fn the_version_is_also_read_from_other_spellings() {
    for field in ["protocol_version", "protocolversion", "version"] {
        let mut frame = without("protocolVersion");
        frame[field] = json!("1.0.0");
        assert!(is_hello(&Line::new().says(frame)), "{field}");
    }
    // The document's own field counts first.
    assert!(is_hello(&Line::new().says(with("version", json!("7.1.3")))));
}

#[test]
fn every_version_of_the_table_is_accepted_and_the_expected_one_is_in_it() {
    for version in SUPPORTED_VERSIONS {
        assert!(is_hello(&Line::new().says(with("protocolVersion", json!(version.name)))));
    }
    assert!(SUPPORTED_VERSIONS.iter().any(|version| version.name == PROTOCOL_VERSION));
}

#[test]
fn a_hello_without_agent_id_is_ignored() {
    for agent in [Value::Null, json!(""), json!("  "), json!(7), json!("x".repeat(101)), json!("a\u{7}")] {
        let mut line = Line::new();
        assert_eq!(line.says(with("agentId", agent.clone())), [], "{agent}");
        assert!(is_hello(&line.says(hello())), "the connection stays");
    }
}

#[test]
fn what_is_optional_may_be_missing_or_null() {
    for field in ["botUserId", "tag", "ready", "guildIds", "poolId"] {
        assert!(is_hello(&Line::new().says(without(field))), "{field}");
        assert!(is_hello(&Line::new().says(with(field, Value::Null))), "{field}");
    }
}

#[test]
fn guild_ids_are_capped_at_5000() {
    let many: Vec<_> = (0..6000).map(|number| number.to_string()).collect();
    let Understood::Hello(offer) = mapping::understand(&with("guildIds", json!(many)).to_string()) else { panic!() };
    assert_eq!(offer.guilds.len(), 5000);
}

// the runner's secret

fn guarded() -> Line {
    Line::on(Terms { runner_secret: Some("hunter2".to_owned()), ..Terms::default() })
}

#[test]
fn a_wrong_runner_secret_is_told_and_closed_with_1008() {
    for secret in [Value::Null, json!(""), json!("hunter"), json!("hunter22"), json!(2)] {
        let heard = guarded().says(with("runnerSecret", secret));
        assert_eq!(heard, [error("Unauthorized runner secret."), Heard::Close(1008, "Unauthorized")]);
    }
    assert!(is_hello(&guarded().says(with("runnerSecret", json!("hunter2")))));
}

#[test]
fn the_version_is_checked_before_the_secret() {
    let heard = guarded().says(with("protocolVersion", json!("0.9.0")));
    assert_eq!(heard[1], Heard::Close(1008, "Incompatible protocol version"));
}

#[test]
fn a_heartbeat_need_not_show_the_secret_again() {
    let mut line = guarded();
    line.says(with("runnerSecret", json!("hunter2")));
    assert!(is_hello(&line.says(hello())));
}

#[test]
fn without_a_configured_secret_any_is_fine() {
    assert!(is_hello(&Line::new().says(with("runnerSecret", json!("whatever")))));
}

// the handshake's time

#[test]
fn a_connection_without_hello_is_closed_after_8_seconds() {
    let mut line = Line::new();
    assert_eq!(line.wait(7_999), []);
    assert_eq!(line.wait(1), [Heard::Close(1008, "hello-required")]);
}

#[test]
fn an_ignored_hello_does_not_stop_the_handshake_timer() {
    let mut line = Line::new();
    line.wait(5_000);
    line.says(without("agentId"));
    assert_eq!(line.wait(3_000), [Heard::Close(1008, "hello-required")]);
}

#[test]
fn a_connection_that_is_too_many_is_told_at_once_and_heard_no_more() {
    for reason in ["too-many-connections", "server-full"] {
        let mut session = ChopsticksSession::turned_away(reason, START);
        assert!(session.on_text(&hello().to_string(), START).is_empty());
        assert!(session.deadline() <= START);
        let steps: Vec<_> = session.on_deadline(START).into_iter().map(heard).collect();
        assert_eq!(steps, [Heard::Close(1008, reason)]);
    }
}

// heartbeat

#[test]
fn the_controller_pings_every_15_seconds() {
    let mut line = Line::known();
    for _ in 0..4 {
        assert_eq!(line.wait(15_000), [Heard::Ping]);
        line.session.on_sign_of_life(line.now);
    }
}

#[test]
fn an_agent_that_is_silent_for_45_seconds_is_pruned() {
    let mut line = Line::known();
    let heard = line.wait(45_000);
    assert_eq!(heard.last(), Some(&Heard::Close(1001, "stale")));
}

#[test]
fn pong_guilds_event_resp_and_hello_are_signs_of_life() {
    let signs: [fn(&mut Line); 5] = [
        |line| line.session.on_sign_of_life(line.now),
        |line| drop(line.says(json!({ "type": "guilds", "guildIds": [] }))),
        |line| drop(line.says(json!({ "type": "event", "event": "released" }))),
        |line| drop(line.says(json!({ "type": "resp", "id": ID, "ok": true }))),
        |line| drop(line.says(hello())),
    ];
    for sign in signs {
        let mut line = Line::known();
        line.wait(44_000);
        sign(&mut line);
        assert_eq!(line.pulse.last_seen(), line.now);
        assert!(!line.wait(44_000).iter().any(|heard| matches!(heard, Heard::Close(..))));
    }
}

#[test]
fn the_round_trip_of_a_ping_is_measured_once() {
    let mut line = Line::known();
    line.wait(15_000);
    line.now += 230;
    line.session.on_sign_of_life(line.now);
    line.session.on_sign_of_life(line.now + 9_000);
    assert_eq!((line.pulse.take_round_trip(), line.pulse.take_round_trip()), (Some(230), None));
}

#[test]
fn a_later_hello_says_again_how_the_agent_is() {
    let mut line = Line::known();
    let heard = line.says(with("ready", json!(false)));
    assert!(matches!(&heard[..], [Heard::Hello(hello)] if !hello.ready));
}

#[test]
fn a_later_hello_passes_the_version_gate_too() {
    let heard = Line::known().says(with("protocolVersion", json!("0.9.0")));
    assert_eq!(heard[1], Heard::Close(1008, "Incompatible protocol version"));
}

#[test]
fn a_connection_does_not_become_another_agent() {
    let mut line = Line::known();
    assert_eq!(line.says(with("agentId", json!("a2"))), [error("This connection belongs to another agentId.")]);
}

// guilds and events

#[test]
fn guilds_replace_the_membership() {
    let heard = Line::known().says(json!({ "type": "guilds", "guildIds": ["g1", "g2", 7, null] }));
    assert_eq!(heard, [Heard::Guilds(vec!["g1".to_owned(), "g2".to_owned()])]);
}

#[test]
fn released_names_the_place_and_why() {
    let event = json!({
        "type": "event", "event": "released", "agentId": "a1", "guildId": "g1", "voiceChannelId": "v1",
        "reason": "USER_LEFT", "kind": "assistant",
    });
    assert_eq!(Line::known().says(event), [Heard::Event("released assistant g1/v1 USER_LEFT".to_owned())]);
}

#[test]
fn add_binds_when_it_went_well_and_tells_why_not_otherwise() {
    let event = |ok: bool| {
        json!({
            "type": "event", "event": "add", "guildId": "g1", "voiceChannelId": "v1", "channelId": "v1", "kind": "music",
            "ok": ok, "error": "Missing permissions: CONNECT, SPEAK",
        })
    };
    assert_eq!(Line::known().says(event(true)), [Heard::Event("added music g1/v1".to_owned())]);
    let failed = "not added music g1/v1 Missing permissions: CONNECT, SPEAK".to_owned();
    assert_eq!(Line::known().says(event(false)), [Heard::Event(failed)]);
}

#[test]
fn an_event_may_name_the_voice_channel_by_either_field_and_is_about_music_unless_it_says_otherwise() {
    let event = json!({ "type": "event", "event": "released", "guildId": "g1", "channelId": "v1" });
    assert_eq!(Line::known().says(event), [Heard::Event("released music g1/v1 ".to_owned())]);
}

// resp

#[test]
fn an_answer_carries_its_data_or_its_error() {
    let cases = [
        (json!({ "ok": true, "data": { "a": 1 } }), Ok(json!({ "a": 1 }))),
        (json!({ "ok": true }), Ok(Value::Null)),
        (json!({ "ok": true, "data": null }), Ok(Value::Null)),
        (json!({ "ok": false, "error": "Track not found" }), Err("Track not found".to_owned())),
        (json!({ "ok": false }), Err("agent-error".to_owned())),
        (json!({ "ok": false, "error": "" }), Err("agent-error".to_owned())),
        (json!({ "ok": false, "error": { "code": 5 } }), Err(r#"{"code":5}"#.to_owned())),
    ];
    for (mut frame, expected) in cases {
        frame["type"] = json!("resp");
        frame["id"] = json!(ID);
        assert_eq!(Line::known().says(frame), [Heard::Answer(ID.to_owned(), expected)]);
    }
}

// protocol errors

#[test]
fn a_message_without_a_required_field_is_ignored() {
    let frames = [
        json!({ "type": "guilds" }),
        json!({ "type": "guilds", "guildIds": "g1" }),
        json!({ "type": "resp", "ok": true }),
        json!({ "type": "resp", "id": ID }),
        json!({ "type": "resp", "id": "not-a-uuid", "ok": true }),
        json!({ "type": "event" }),
        json!({ "type": "event", "event": "released", "guildId": "g1" }),
        json!({ "type": "event", "event": "released", "voiceChannelId": "v1" }),
        json!({ "type": "event", "event": "add", "guildId": "g1", "voiceChannelId": "v1" }),
        json!({ "type": "event", "event": "moved", "guildId": "g1", "voiceChannelId": "v1" }),
        json!({ "type": "event", "event": "released", "guildId": "g1", "voiceChannelId": "v1", "kind": "text" }),
    ];
    for frame in frames {
        assert_eq!(Line::known().says(frame.clone()), [], "{frame}");
    }
}

#[test]
fn guilds_event_and_resp_before_hello_are_ignored() {
    let mut line = Line::new();
    for frame in [
        json!({ "type": "guilds", "guildIds": ["g1"] }),
        json!({ "type": "event", "event": "released", "guildId": "g1", "voiceChannelId": "v1" }),
        json!({ "type": "resp", "id": ID, "ok": true }),
    ] {
        assert_eq!(line.says(frame), []);
    }
    assert!(is_hello(&line.says(hello())));
}

#[test]
fn invalid_json_is_told_and_the_connection_stays() {
    for text in ["", "{", "nonsense", "{\"type\":\"hello\"", "\u{0}"] {
        let mut line = Line::new();
        assert_eq!(line.says_text(text), [error("Invalid JSON")], "{text:?}");
        assert!(is_hello(&line.says(hello())));
    }
}

#[test]
fn an_unknown_type_is_closed_before_hello_and_ignored_after() {
    for text in [r#"{"type":"dance"}"#, "{}", "[]", "7", r#"{"type":5}"#] {
        let expected = [error("Unknown message type"), Heard::Close(1008, "protocol-error")];
        assert_eq!(Line::new().says_text(text), expected, "{text}");
        assert_eq!(Line::known().says_text(text), [], "{text}");
    }
}

#[test]
fn nothing_is_heard_after_the_close() {
    let mut line = Line::new();
    line.says(json!({ "type": "dance" }));
    assert_eq!(line.says(hello()), []);
}

#[test]
fn a_frame_of_more_than_64_kib_is_told_and_the_connection_stays() {
    let mut line = Line::known();
    let mut frame = json!({ "type": "resp", "id": ID, "ok": true, "data": "" });
    let fill = MAX_FRAME_BYTES - frame.to_string().len();
    frame["data"] = json!("x".repeat(fill));
    assert!(matches!(line.says(frame.clone())[..], [Heard::Answer(..)]), "exactly 64 KiB");
    frame["data"] = json!("x".repeat(fill + 1));
    assert_eq!(line.says(frame), [error("Frame too large")]);
    assert_eq!(crate::chopsticks::LIMITS.frame_bytes, 256 * 1024, "beyond this the connection ends");
}

#[test]
fn more_than_100_frames_in_a_second_are_dropped_silently() {
    let mut line = Line::known();
    let guilds = json!({ "type": "guilds", "guildIds": ["g1"] });
    let taken = (0..150).filter(|_| !line.says(guilds.clone()).is_empty()).count();
    assert_eq!(taken, 99, "the hello was one of the hundred");
    line.now += 1000;
    assert_eq!(line.says(guilds).len(), 1, "a second later it is heard again");
}

#[test]
fn answers_that_the_hub_waits_for_are_no_flood() {
    let mut line = Line::known();
    let answer = json!({ "type": "resp", "id": ID, "ok": true });
    (0..500).for_each(|_| line.pulse.asked());
    let taken = (0..500).filter(|_| {
        let taken = line.says(answer.clone()).len() == 1;
        line.pulse.answered();
        taken
    });
    assert_eq!(taken.count(), 500);
    assert_eq!(line.says(answer), [], "nothing is owed any more");
    line.pulse.asked();
    assert_eq!(line.says(json!({ "type": "guilds", "guildIds": [] })), [], "other frames stay a flood");
}

#[test]
fn a_binary_frame_is_no_json() {
    let mut line = Line::known();
    let steps: Vec<_> = line.session.on_binary(&[1], line.now).into_iter().map(heard).collect();
    assert_eq!(steps, [error("Invalid JSON")]);
}

// requests

#[test]
fn a_request_has_the_shape_of_the_document() {
    let id = uuid::Uuid::parse_str(ID).unwrap();
    let data = serde_json::value::RawValue::from_string(r#"{"guildId":"g1","query":"a \"b\""}"#.to_owned()).unwrap();
    let frame: Value = serde_json::from_str(&mapping::request(id, "play", &data, "a1")).unwrap();
    let expected = json!({
        "type": "req", "id": ID, "op": "play", "data": { "guildId": "g1", "query": "a \"b\"" }, "agentId": "a1",
    });
    assert_eq!(frame, expected);
}

fn some_frame() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop_oneof![Just("1.0.0"), Just("a1"), Just("add"), Just("released"), Just("music"), Just(ID)]
            .prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    let value = prop_oneof![4 => scalar.clone(), 1 => proptest::collection::vec(scalar, 0..3).prop_map(Value::from)];
    let field = prop_oneof![
        Just("protocolVersion"),
        Just("version"),
        Just("agentId"),
        Just("guildIds"),
        Just("runnerSecret"),
        Just("ready"),
        Just("id"),
        Just("ok"),
        Just("data"),
        Just("error"),
        Just("event"),
        Just("guildId"),
        Just("voiceChannelId"),
        Just("kind"),
    ];
    let kind = prop_oneof![Just("hello"), Just("guilds"), Just("event"), Just("resp"), Just("x")];
    let fields = proptest::collection::btree_map(field, value, 0..9);
    let object = (kind, fields).prop_map(|(kind, fields)| {
        let mut frame = json!(fields);
        frame["type"] = json!(kind);
        frame.to_string()
    });
    prop_oneof![8 => object, 1 => Just(hello().to_string()), 1 => "\\PC*", 1 => Just("{".to_owned())]
}

proptest! {
    /// Whatever arrives and however time passes: no panic, nothing after a close, nobody known without a version.
    #[test]
    fn no_conversation_breaks_the_session(steps in proptest::collection::vec((some_frame(), 0..60_000_i64), 1..40)) {
        let mut line = Line::on(Terms { stale_ms: STALE_MS, ..Terms::default() });
        let mut closed = false;
        for (text, pause) in steps {
            let heard = line.says_text(&text);
            prop_assert!(!closed || heard.is_empty(), "heard {heard:?} after the close");
            if let [Heard::Hello(hello)] = &heard[..] {
                prop_assert!(text.contains("1.0.0") && !hello.agent.is_empty());
            }
            closed |= heard.iter().any(|heard| matches!(heard, Heard::Close(..)));
            if closed {
                continue;
            }
            closed |= line.wait(pause).iter().any(|heard| matches!(heard, Heard::Close(..)));
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*") {
        let _ = mapping::understand(&text);
    }
}

#[test]
fn terms_are_the_documents_unless_told_otherwise() {
    let terms: Arc<Terms> = Arc::default();
    let times: [Millis; 2] = [terms.handshake_ms, terms.stale_ms];
    assert_eq!((times, &terms.runner_secret), ([8_000, 45_000], &None));
}
