//! One test per rule of the mapping.

use super::Opencode;
use crate::engine::{Control, EngineSettings, Mode};
use crate::event::{AskAnswer, EngineEvent};
use crate::testing::{Play, launch};

const SAMPLE: &str = include_str!("../../../tests/fixtures/opencode.jsonl");

#[test]
fn the_command_line_is_the_documented_one_without_the_prompt() {
    let mut settings = EngineSettings { model: "a/b".into(), ..EngineSettings::default() };
    settings.own.insert("variant".into(), "high".into());
    let args = launch(&Opencode, Mode::Plain, Some("ses_1"), &settings).args.join(" ");
    assert_eq!(args, "run --format json --session ses_1 --model a/b --variant high");
    let args = launch(&Opencode, Mode::Warm, None, &settings).args.join(" ");
    assert_eq!(args, "serve --hostname 127.0.0.1 --port 0", "on loopback only");
}

#[test]
fn the_recorded_stream_becomes_the_events_of_the_model() {
    let play = Play::lines(&Opencode, SAMPLE);
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if started.title.as_deref() == Some("opencode")));
    assert_eq!(play.summary(), ["Completed + command List"]);
    let done = play.completed();
    assert!(done.ok && done.answer == "ANSWER" && done.usage["total_cost_usd"] == 0.001);
}

#[test]
fn the_session_is_taken_from_any_event_and_all_steps_make_the_answer() {
    let play = Play::lines(
        &Opencode,
        r#"{"type":"heartbeat","sessionID":"ses_1"}
{"type":"text","part":{"text":"one "}}
{"type":"step_finish","part":{"reason":"tool-calls","cost":0.5,"tokens":{"input":1,"output":1}}}
{"type":"text","part":{"text":"two"}}
{"type":"step_finish","part":{"reason":"stop","cost":0.25,"tokens":{"input":2,"output":1}}}"#,
    );
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if started.resume.value == "ses_1"));
    assert_eq!(
        (play.completed().answer.as_str(), &play.completed().usage["total_cost_usd"]),
        ("one two", &0.75.into())
    );
}

#[test]
fn tools_fail_by_exit_code_or_status_and_bare_paths_get_backticks() {
    let play = Play::lines(
        &Opencode,
        r#"{"type":"tool_use","part":{"callID":"1","tool":"bash","state":{"status":"completed","input":{"command":"false"},"metadata":{"exit":1}}}}
{"type":"tool_use","part":{"id":"2","tool":"read","state":{"status":"error","title":"/r/src/a.rs","error":"gone"}}}
{"type":"tool_use","part":{"callID":"3","tool":"task","state":{"status":"running","input":{"description":"look"}}}}"#,
    );
    assert_eq!(
        play.summary(),
        ["Completed - command false", "Completed - tool read: `src/a.rs`", "Started   tool look"]
    );
    assert_eq!(play.actions()[1].message.as_deref(), Some("gone"));
}

#[test]
fn an_error_stands_unless_more_follows() {
    let error = r#"{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"overloaded"}}}"#;
    let mut last = Play::lines(&Opencode, error);
    assert!(last.settles && last.events.len() == 1);
    last.settle();
    assert_eq!(last.completed().error.as_deref(), Some("overloaded"));
    let mut more = Play::lines(&Opencode, error);
    more.line(r#"{"type":"text","part":{"text":"fine now"}}"#);
    more.line(r#"{"type":"step_finish","part":{"reason":"stop"}}"#);
    assert!(more.completed().ok && more.summary() == ["Completed - warning overloaded"]);
    let mut gone = Play::lines(&Opencode, error);
    gone.exit(1, "");
    assert_eq!(gone.completed().error.as_deref(), Some("overloaded"));
}

#[test]
fn a_good_exit_after_a_finished_step_is_a_success() {
    let mut play =
        Play::lines(&Opencode, "{\"type\":\"step_finish\",\"sessionID\":\"ses_1\",\"part\":{\"reason\":\"length\"}}");
    play.exit(0, "");
    assert!(play.completed().ok);
    let mut nothing = Play::lines(&Opencode, "{\"type\":\"step_start\",\"sessionID\":\"ses_1\"}");
    nothing.exit(0, "");
    assert_eq!(nothing.completed().error.as_deref(), Some("opencode finished without a result event"));
}

#[test]
fn the_server_is_asked_for_a_session_then_prompted_and_other_sessions_are_ignored() {
    let mut play = Play::new(&Opencode, Mode::Warm);
    play.prompt("hi");
    play.line(r#"{"type":"moot.response","tag":"session","status":200,"body":{"id":"ses_1"}}"#);
    assert_eq!(
        play.sent.iter().map(|order| order["path"].as_str().unwrap()).collect::<Vec<_>>(),
        ["/session", "/session/ses_1/prompt_async"]
    );
    play.line(r#"{"type":"session.idle","properties":{"sessionID":"ses_other"}}"#);
    play.line(r#"{"type":"message.part.updated","properties":{"part":{"id":"p","sessionID":"ses_1","type":"text","text":"yes"}}}"#);
    play.line(r#"{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"idle"}}}"#);
    assert_eq!(play.completed().answer, "yes");
    let mut refused = Play::new(&Opencode, Mode::Warm);
    refused.prompt("hi");
    refused.line(r#"{"type":"moot.response","tag":"session","status":404,"body":{"name":"NotFound","data":{"message":"no such session"}}}"#);
    assert_eq!(refused.completed().error.as_deref(), Some("no such session"));
}

#[test]
fn what_a_subagent_asks_is_asked_and_what_it_does_is_not_ours() {
    let mut play = Play::new(&Opencode, Mode::Warm);
    play.prompt("hi");
    play.line(r#"{"type":"moot.response","tag":"session","status":200,"body":{"id":"ses_1"}}"#);
    play.line(r#"{"type":"permission.updated","properties":{"id":"per_1","sessionID":"ses_child","type":"bash","pattern":"ls","metadata":{"command":"ls"}}}"#);
    let Some(EngineEvent::Asked(asked)) = play.events.last() else { panic!("{:?}", play.events) };
    assert_eq!(asked.ask.title, "bash:");
    play.control(&Control::Answer { ask: "per_1".into(), answer: AskAnswer::AllowAlways }).unwrap();
    let sent = play.sent.last().unwrap();
    assert_eq!(
        (sent["path"].as_str(), sent["body"]["response"].as_str()),
        (Some("/session/ses_child/permissions/per_1"), Some("always"))
    );
    play.line(r#"{"type":"session.idle","properties":{"sessionID":"ses_child"}}"#);
    assert!(matches!(play.events.last(), Some(EngineEvent::Asked(_))), "its end is not ours");
}

#[test]
fn always_is_once_where_opencode_does_not_say_what_it_allows() {
    let mut play = Play::new(&Opencode, Mode::Warm);
    play.prompt("hi");
    play.line(r#"{"type":"moot.response","tag":"session","status":200,"body":{"id":"ses_1"}}"#);
    play.line(r#"{"type":"permission.asked","properties":{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["ls"]}}"#);
    play.control(&Control::Answer { ask: "per_1".into(), answer: AskAnswer::AllowAlways }).unwrap();
    assert_eq!(play.sent.last().unwrap()["body"]["reply"], "once");
}
