//! Plays the conversations of the document, and checks its rules one by one.
//!
//! In a transcript `C:` is what the client sends, `S:` the next thing it hears (`PING`, `CLOSE`, `NOTHING` or a frame, where
//! `"*"` stands for any text and `null` for a field that is not there), `HAND:` a sentence the hub gives it, `SAID:` what the hub
//! hears of a response, `PONG` and `T: +ms` are what they say. A line that begins with a space continues the one before it.

use std::collections::VecDeque;
use std::sync::Arc;

use folkmoot_core::event::Event;
use folkmoot_core::ids::{MemberId, RouteId, WorkspaceId};
use folkmoot_core::route::{Attempt, AttemptStatus, InputMethod, Route, RouteState};
use folkmoot_core::{Refusal, Reply, State};
use proptest::prelude::*;
use serde_json::Value;

use super::mapping::{self, Request};
use super::session::SmartHoleSession;
use super::wire::{self, ErrorCode};
use super::{Door, HostRequest, Protocol, SmartHole};
use crate::door::{Ask, Events, Session, Step, Ticket, View};

/// The time of the document's example.
const START: i64 = 1_705_314_600_000;
const CLIENT: MemberId = MemberId(5);

struct Player {
    session: SmartHoleSession,
    now: i64,
    heard: VecDeque<Step>,
    said: VecDeque<String>,
}

impl Player {
    fn do_all(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Ask(Ask::Host(request), ticket) => self.host(*request.downcast().unwrap(), &ticket),
                Step::Ask(..) => panic!("{step:?}"),
                other => self.heard.push_back(other),
            }
        }
    }

    fn host(&mut self, request: HostRequest, ticket: &Ticket) {
        match request {
            HostRequest::Enlist(enlistment) => {
                let outcome = match enlistment.name.as_str() {
                    "taken" => Err(Refusal::conflict("taken")),
                    _ => Ok(CLIENT),
                };
                if outcome.is_ok() {
                    let state = State::default();
                    let view = View { state: &state, now: self.now, nonce: 7 };
                    let frame = SmartHole.reply(ticket, Ok(&Reply::Done), view).expect("an answer");
                    self.heard.push_back(Step::Send(frame));
                }
                let steps = self.session.on_login(outcome, self.now);
                self.do_all(steps);
            }
            HostRequest::Answer { route, said } => {
                assert_eq!(route, RouteId(7));
                self.said.push_back(format!("{said:?}"));
            }
        }
    }

    fn play(&mut self, line: &str) {
        let (verb, rest) = line.split_once(": ").unwrap_or((line, ""));
        match verb {
            "C" => {
                let steps = self.session.on_text(rest, self.now);
                self.do_all(steps);
            }
            "T" => {
                self.now += rest.trim_start_matches('+').parse::<i64>().expect("milliseconds");
                let due = self.session.deadline() <= self.now;
                let steps = if due { self.session.on_deadline(self.now) } else { Vec::new() };
                self.do_all(steps);
            }
            "PONG" => self.session.on_sign_of_life(self.now),
            "HAND" => self.hand(rest),
            "SAID" => assert_eq!(self.said.pop_front().as_deref(), Some(rest)),
            "S" => self.hears(rest),
            _ => panic!("{line}"),
        }
    }

    fn hand(&mut self, sentence: &str) {
        let sentence: Value = serde_json::from_str(sentence).expect("JSON");
        let input = if sentence["input"] == "voice" { InputMethod::Voice } else { InputMethod::Text };
        let route = Route {
            text: sentence["text"].as_str().unwrap_or_default().to_owned(),
            input,
            confidence: sentence["confidence"].as_f64(),
            direct: sentence["direct"] == true,
            attempts: vec![attempt(sentence["reason"].as_str())],
            ..route()
        };
        let frame = mapping::event(&Event::Handed { to: CLIENT, route: Arc::new(route) }).expect("a frame");
        self.heard.push_back(Step::Send(frame));
    }

    #[track_caller]
    fn hears(&mut self, expected: &str) {
        let heard = self.heard.pop_front();
        match (expected, heard) {
            ("NOTHING", None) | ("PING", Some(Step::Ping)) | ("CLOSE", Some(Step::Close { code: 1001, .. })) => {}
            (frame, Some(Step::Send(text))) => {
                let frame: Value = serde_json::from_str(frame).unwrap_or_else(|_| panic!("{frame} is no frame"));
                let heard: Value = serde_json::from_str(&text).expect("JSON");
                assert!(fits(&frame, &heard), "{heard}\nis not as expected:\n{frame}");
            }
            (expected, heard) => panic!("{heard:?} instead of {expected}"),
        }
    }
}

/// Frames may have more fields than are written down.
fn fits(expected: &Value, heard: &Value) -> bool {
    match expected {
        Value::Object(fields) => fields.iter().all(|(name, value)| match heard.get(name) {
            Some(heard) => fits(value, heard),
            None => value.is_null(),
        }),
        Value::String(any) if any == "*" => heard.as_str().is_some_and(|text| !text.is_empty()),
        other => other == heard,
    }
}

fn attempt(reason: Option<&str>) -> Attempt {
    Attempt {
        client: CLIENT,
        name: "notebook".to_owned(),
        reason: reason.map(str::to_owned),
        status: AttemptStatus::Delivered,
        refusal: None,
        at: START,
        due: START + 30_000,
        answers: Vec::new(),
    }
}

fn route() -> Route {
    Route {
        id: RouteId(7),
        workspace: WorkspaceId(1),
        speaker: MemberId(1),
        text: "milk".to_owned(),
        input: InputMethod::Text,
        confidence: None,
        direct: false,
        source: None,
        state: RouteState::Waiting,
        attempts: vec![attempt(None)],
        created_at: START,
        updated_at: START,
    }
}

fn play(text: &str) {
    let session = SmartHoleSession::new(START);
    let mut player = Player { session, now: START, heard: VecDeque::new(), said: VecDeque::new() };
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix(' ') {
            Some(more) => lines.last_mut().expect("something to continue").push_str(more.trim_start()),
            None => lines.push(line.to_owned()),
        }
    }
    for line in lines {
        player.play(&line);
    }
    assert!(player.heard.is_empty() && player.said.is_empty(), "{:?} {:?}", player.heard, player.said);
}

#[test]
fn registration_and_its_response() {
    play(include_str!("transcripts/registration.txt"));
}

#[test]
fn every_registration_error_has_its_code_and_leaves_the_socket_open() {
    play(include_str!("transcripts/registration-errors.txt"));
}

#[test]
fn routed_messages_and_responses() {
    play(include_str!("transcripts/routing.txt"));
}

#[test]
fn heartbeat_every_30_seconds_with_10_for_the_pong() {
    play(include_str!("transcripts/heartbeat.txt"));
}

#[test]
fn other_frames_are_ignored() {
    play(include_str!("transcripts/ignored.txt"));
}

#[test]
fn the_limits_are_the_documents() {
    assert_eq!((SmartHole.limits().frame_bytes, wire::MAX_CONNECTIONS), (1_048_576, 100));
    assert_eq!((wire::PING_INTERVAL_MS, wire::PONG_TIMEOUT_MS), (30_000, 10_000));
    assert_eq!((wire::MAX_NAME_CHARS, wire::MAX_DESCRIPTION_CHARS), (64, 1024));
    assert!(
        SmartHole.door().facts().has_own_listener && !SmartHole.can_catch_up() && SmartHole.door() == Door::SmartHole
    );
}

fn error_of(name: &str, description: &str) -> Option<ErrorCode> {
    let payload = serde_json::json!({ "name": name, "description": description });
    let frame = serde_json::json!({ "type": "registration", "payload": payload }).to_string();
    match mapping::request(&frame) {
        Some(Request::Register(outcome)) => outcome.err().map(|(code, _)| code),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_name_starts_with_a_letter_has_letters_digits_hyphens_underscores_and_64_characters_at_most() {
    for good in ["a", "Z9", "my-client", "my_client", &"a".repeat(64)] {
        assert_eq!(error_of(good, "d"), None, "{good}");
    }
    for bad in ["", "9", "-a", "_a", "a b", "a.b", "ä", "aé", "a:b", &"a".repeat(65)] {
        assert_eq!(error_of(bad, "d"), Some(ErrorCode::InvalidName), "{bad}");
    }
}

#[test]
fn a_description_is_not_empty_and_has_1024_characters_at_most() {
    for (description, error) in
        [("d", None), (&"ä".repeat(1024), None), ("", Some(())), (" \n", Some(())), (&"ä".repeat(1025), Some(()))]
    {
        assert_eq!(error_of("a", description), error.map(|()| ErrorCode::InvalidDescription), "{description}");
    }
}

proptest! {
    #[test]
    fn no_frame_makes_the_session_panic(frames in proptest::collection::vec("\\PC{0,60}", 0..10)) {
        let mut session = SmartHoleSession::new(START);
        for frame in frames {
            session.on_text(&frame, START);
            session.on_text(&format!(r#"{{"type":"registration","payload":{frame}}}"#), START);
            session.on_text(&format!(r#"{{"type":"response","payload":{frame}}}"#), START);
        }
    }
}
