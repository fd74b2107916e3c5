//! One test per rule of the mapping.

use super::{Pi, file_time};
use crate::engine::{EngineSettings, Mode};
use crate::event::EngineEvent;
use crate::testing::{Play, launch};

const SAMPLE: &str = include_str!("../../../tests/fixtures/pi.jsonl");

#[test]
fn the_command_line_names_a_new_session_file_or_the_session_asked_for() {
    let settings = EngineSettings {
        env: [("PI_CODING_AGENT_DIR".to_owned(), "/agent".to_owned())].into(),
        ..EngineSettings::default()
    };
    let args = launch(&Pi, Mode::Plain, None, &settings).args;
    assert_eq!(args[..4], ["--print", "--mode", "json", "--session"]);
    assert!(
        args[4].starts_with("/agent/sessions/--r--/1970-01-01T00-00-00-000Z_") && args[4].ends_with(".jsonl"),
        "{args:?}"
    );
    let args = launch(&Pi, Mode::Plain, Some("ccd569e0"), &EngineSettings::default()).args.join(" ");
    assert_eq!(args, "--print --mode json --session ccd569e0");
    assert_eq!(launch(&Pi, Mode::Warm, Some("x"), &EngineSettings::default()).args.join(" "), "--mode rpc --session x");
}

#[test]
fn session_files_are_named_after_the_time() {
    assert_eq!(file_time(951_782_400), "2000-02-29T00-00-00-000Z");
    assert_eq!(file_time(1_772_446_272), "2026-03-02T10-11-12-000Z");
}

#[test]
fn the_recorded_stream_becomes_the_events_of_the_model() {
    let play = Play::lines(&Pi, &SAMPLE.replace("SESSION", "ccd569e0-4e1b"));
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if started.resume.value == "ccd569e0"));
    assert_eq!(play.summary(), ["Started   command ls", "Completed + command ls"]);
    assert!(play.completed().ok && play.completed().answer == "ANSWER" && play.completed().usage["output_tokens"] == 2);
}

#[test]
fn without_a_header_the_session_is_the_file_that_we_named() {
    let play = Play::lines(&Pi, "{\"type\":\"agent_start\"}");
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if started.resume.value.ends_with(".jsonl")));
    let none = Play::lines(&Pi, "{\"type\":\"future\"}");
    assert!(none.events.is_empty());
}

const FAILED: &str = r#"{"type":"agent_end","messages":[{"role":"assistant","content":[],"stopReason":"error","errorMessage":"overloaded"}]}"#;

#[test]
fn an_end_with_an_error_stands_unless_a_retry_follows() {
    let mut last = Play::lines(&Pi, FAILED);
    assert!(last.settles);
    last.settle();
    assert_eq!(last.completed().error.as_deref(), Some("overloaded"));
    let mut again = Play::lines(&Pi, FAILED);
    again.line(r#"{"type":"auto_retry_start","attempt":1,"errorMessage":"overloaded"}"#);
    again.settle();
    again.line(r#"{"type":"agent_end","messages":[{"role":"assistant","content":[{"type":"text","text":"ok"}],"stopReason":"stop"}]}"#);
    assert!(again.completed().ok && again.completed().answer == "ok");
}

#[test]
fn a_later_message_takes_an_earlier_error_back() {
    let play = Play::lines(
        &Pi,
        r#"{"type":"message_end","message":{"role":"assistant","content":[],"stopReason":"aborted"}}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"fine"}],"stopReason":"stop"}}
{"type":"agent_end"}"#,
    );
    assert!(play.completed().ok && play.completed().answer == "fine");
}

#[test]
fn an_end_without_agent_end_is_a_failure() {
    let mut play = Play::lines(&Pi, "{\"type\":\"session\",\"id\":\"abc\"}");
    play.exit(0, "warned");
    assert_eq!(play.completed().error.as_deref(), Some("pi finished without an agent_end event\nwarned"));
    assert_eq!(play.completed().resume.as_ref().unwrap().value, "abc");
}
