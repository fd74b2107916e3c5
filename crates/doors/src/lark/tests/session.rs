//! The state machine of one connection, driven by hand.

use serde_json::{Value, json};

use super::harness::Heard;
use super::transcript::cast;
use crate::door::{Ask, Protocol, Session, Step};
use crate::lark::session::LarkSession;
use crate::lark::{LIMITS, Lark, wire};
use folkmoot_core::ids::{ChannelId, MemberId};
use folkmoot_core::refusal;

const START: i64 = 1_000_000;

fn login() -> &'static str {
    r#"{"id":"me","type":"auth.login","data":{"token":"t"}}"#
}

/// A session whose log-in was accepted at the start.
fn logged_in() -> LarkSession {
    let mut session = LarkSession::new(START);
    assert!(matches!(
        &session.on_text(login(), START)[..],
        [Step::Ask(Ask::LogIn { token, agent: None, dialect: "" }, _)] if token == "t"
    ));
    assert!(session.on_login(Ok(MemberId(7)), START).is_empty());
    session
}

/// The one frame that a session sends.
#[track_caller]
fn sent(steps: &[Step]) -> Value {
    let [Step::Send(text), ..] = steps else { panic!("{steps:?}") };
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_limits_are_the_documents() {
    assert_eq!((LIMITS.frame_bytes, LIMITS.queued_frames, LIMITS.subscriptions), (65_536, 256, 200));
    let seconds = [wire::AUTH_TIMEOUT_MS, wire::PING_INTERVAL_MS, wire::PONG_TIMEOUT_MS].map(|ms| ms / 1000);
    assert_eq!(seconds, [30, 30, 60]);
    assert_eq!(Lark.path(), "/ws");
}

#[test]
fn authentication_has_30_seconds() {
    let mut session = LarkSession::new(START);
    assert_eq!(session.deadline(), START + 30_000);
    assert!(session.on_deadline(START + 29_999).is_empty());
    let steps = session.on_deadline(START + 30_000);
    assert_eq!(sent(&steps)["type"], "auth.fail");
    assert!(matches!(steps[1], Step::Close { code: 1008, .. }));
}

#[test]
fn what_was_asked_before_the_deadline_does_not_move_it() {
    let mut session = LarkSession::new(START);
    session.on_text("{}", START + 29_000);
    session.on_sign_of_life(START + 29_500);
    session.on_text(login(), START + 29_900);
    session.on_login(Err(refusal::INVALID_CREDENTIALS), START + 29_950);
    assert_eq!(session.deadline(), START + 30_000);
}

#[test]
fn a_log_in_ends_the_wait() {
    let session = logged_in();
    assert_eq!(session.member(), Some(MemberId(7)));
    assert_eq!(session.deadline(), START + 30_000, "the first ping");
}

#[test]
fn pings_go_out_every_30_seconds() {
    let mut session = logged_in();
    let mut now = START;
    for _ in 0..5 {
        assert_eq!(session.deadline(), now + 30_000);
        now += 30_000;
        assert!(matches!(session.on_deadline(now)[..], [Step::Ping]));
        assert!(session.on_deadline(now).is_empty(), "once");
        session.on_sign_of_life(now);
    }
}

#[test]
fn silence_for_60_seconds_ends_the_connection_and_any_frame_is_a_sign_of_life() {
    type Sign = fn(&mut LarkSession, i64);
    let signs: [Sign; 3] = [
        |session, now| session.on_sign_of_life(now),
        |session, now| drop(session.on_text("nonsense", now)),
        |session, now| drop(session.on_binary(&[1], now)),
    ];
    for sign in signs {
        let mut session = logged_in();
        assert!(matches!(session.on_deadline(START + 30_000)[..], [Step::Ping]));
        sign(&mut session, START + 59_999);
        assert!(matches!(session.on_deadline(START + 60_000)[..], [Step::Ping]));
        assert!(matches!(session.on_deadline(START + 119_998)[..], [Step::Ping]));
        assert!(matches!(session.on_deadline(START + 119_999)[..], [Step::Close { code: 1001, .. }]));
    }
}

#[test]
fn five_failed_log_ins_close_the_connection() {
    let mut session = LarkSession::new(START);
    for attempt in 1..=5 {
        session.on_text(login(), START);
        let steps = session.on_login(Err(refusal::INVALID_CREDENTIALS), START);
        let frame = sent(&steps);
        assert_eq!((&frame["type"], &frame["reply_to"]), (&json!("auth.fail"), &json!("me")));
        assert_eq!(matches!(steps.last(), Some(Step::Close { code: 1008, .. })), attempt == 5);
    }
}

#[test]
fn an_answer_to_a_log_in_that_nobody_waits_for_changes_nothing() {
    let mut session = logged_in();
    assert!(session.on_login(Ok(MemberId(8)), START).is_empty());
    assert!(session.on_login(Err(refusal::INVALID_CREDENTIALS), START).is_empty());
    assert_eq!(session.member(), Some(MemberId(7)));
}

#[test]
fn frames_of_the_session_itself_have_ids_of_their_own() {
    let mut session = LarkSession::new(START);
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..20 {
        ids.insert(sent(&session.on_text("nonsense", START))["id"].to_string());
    }
    assert_eq!(ids.len(), 20);
}

#[test]
fn the_201st_subscription_is_refused_and_auto_subscription_stops_at_200() {
    let (mut harness, _) = cast();
    let alice = harness.world.alice;
    // With general, back and dm there are 202 channels.
    let channels: Vec<_> = (0..199).map(|number| harness.world.channel(&format!("c{number}"), &[alice])).collect();
    harness.open("alice", &Lark);
    harness.text("alice", r#"{"type":"auth.login","data":{"token":"token-of-alice"}}"#);
    harness.forget();
    let mut ask = |kind: &str, channel: &ChannelId| -> Value {
        harness.text("alice", &json!({ "type": kind, "data": { "channel_id": channel } }).to_string());
        match harness.next("alice") {
            Some(Heard::Frame(frame)) => frame,
            other => panic!("{other:?}"),
        }
    };
    let [first, .., last] = &channels[..] else { panic!("channels") };
    assert_eq!(ask("channel.join", last)["data"]["error"], "subscription limit reached");
    assert_eq!(ask("channel.join", first)["type"], "channel.join", "what is subscribed may be joined again");
    assert_eq!(ask("channel.leave", first)["type"], "channel.leave");
    assert_eq!(ask("channel.join", last)["type"], "channel.join");
    assert_eq!(ask("channel.join", first)["data"]["error"], "subscription limit reached");
}

#[test]
fn a_message_of_10_000_characters_passes_and_one_more_does_not() {
    let (mut harness, names) = cast();
    harness.open("alice", &Lark);
    harness.text("alice", r#"{"type":"auth.login","data":{"token":"token-of-alice"}}"#);
    harness.forget();
    for (length, answer) in [(10_000, "message.new"), (10_001, "error")] {
        let data = json!({ "channel_id": names["general"], "content": "é".repeat(length) });
        harness.text("alice", &json!({ "type": "message.send", "data": data }).to_string());
        let Some(Heard::Frame(frame)) = harness.next("alice") else { panic!() };
        assert_eq!(frame["type"], answer);
        if answer == "error" {
            assert_eq!(frame["data"]["error"], "content too long (max 10000 characters)");
        }
        harness.forget();
    }
    assert!(harness.is_open("alice") && !harness.has_heard("alice"));
}
