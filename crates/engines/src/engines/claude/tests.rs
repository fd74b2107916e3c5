//! One test per rule of the mapping.

use serde_json::json;

use super::Claude;
use crate::engine::{Control, EngineSettings, Mode};
use crate::event::{AskAnswer, AskKind, EngineEvent};
use crate::testing::{Play, launch};

mod recorded;

const SAMPLE: &str = include_str!("../../../tests/fixtures/claude.jsonl");

#[test]
fn the_command_line_is_the_documented_one_without_the_prompt() {
    let mut settings = EngineSettings { model: "opus".into(), ..EngineSettings::default() };
    settings.own.insert("allowed_tools".into(), json!(["Bash(git *)", "Edit"]));
    let plain = launch(&Claude, Mode::Plain, Some("s-1"), &settings);
    assert_eq!(
        plain.args,
        [
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            "--resume",
            "s-1",
            "--model",
            "opus",
            "--allowedTools",
            "Bash(git *),Edit"
        ]
    );
    assert!(plain.env.contains(&("ANTHROPIC_API_KEY".to_owned(), None)));
    settings.own.insert("use_api_billing".into(), true.into());
    let billed = launch(&Claude, Mode::Plain, None, &settings).env;
    assert_eq!(billed, [("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS".to_owned(), Some("1".to_owned()))]);
    let warm = launch(&Claude, Mode::Warm, None, &EngineSettings::default()).args.join(" ");
    assert_eq!(
        warm,
        "--input-format stream-json --replay-user-messages --output-format stream-json --verbose --include-partial-messages --permission-mode default --permission-prompt-tool stdio"
    );
}

#[test]
fn the_recorded_stream_becomes_the_events_of_the_model() {
    let play = Play::lines(&Claude, SAMPLE);
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if started.title.as_deref() == Some("sonnet")));
    assert_eq!(play.summary(), ["Started   command ls", "Completed + command ls"]);
    let done = play.completed();
    assert_eq!(
        (done.answer.as_str(), &done.usage["total_cost_usd"], &done.usage["input_tokens"]),
        ("ANSWER", &json!(0.01), &json!(5))
    );
}

#[test]
fn a_line_with_unknown_blocks_or_missing_fields_keeps_its_known_parts() {
    let play = Play::lines(
        &Claude,
        r#"{"type":"rate_limit_event","session_id":"s"}
{"type":"assistant","message":{"content":[{"type":"redacted_thinking","data":"x"},{"type":"thinking","thinking":"hm"},{"type":"hologram"},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/r/a"}},{"type":"text","text":"last words"}]}}
{"type":"tool_progress","tool_use_id":"t"}
{"type":"user","message":{"content":[{"type":"image"},{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}],"is_error":true},{"type":"tool_result","tool_use_id":"?"}]}}
{"type":"stream_event","event":{}}
{"type":"result","subtype":"success","result":""}"#,
    );
    assert!(
        matches!(&play.events[0], EngineEvent::Started(started) if started.resume.value == "s"),
        "any line names the session"
    );
    assert_eq!(
        play.summary(),
        [
            "Completed + note hm",
            "Started   tool read: `a`",
            "Completed - tool read: `a`",
            "Completed + tool tool result"
        ]
    );
    assert!(play.completed().ok && play.completed().answer == "last words", "a result without duration_api_ms counts");
}

#[test]
fn a_failed_result_says_why_and_denials_are_shown() {
    let play = Play::lines(
        &Claude,
        r#"{"type":"system","subtype":"init","session_id":"s"}
{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s","errors":["too many turns"],"permission_denials":[{"tool_name":"Bash"}]}"#,
    );
    assert_eq!(play.completed().error.as_deref(), Some("too many turns"));
    assert_eq!(play.summary(), ["Completed - warning permission for Bash was denied"]);
    let bare = Play::lines(
        &Claude,
        r#"{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s"}"#,
    );
    assert_eq!(bare.completed().error.as_deref(), Some("claude run failed (error_during_execution)"));
}

#[test]
fn an_end_without_a_result_is_a_failure_that_keeps_the_last_text() {
    let text = "{\"type\":\"assistant\",\"session_id\":\"s\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"half\"}]}}";
    let mut play = Play::lines(&Claude, text);
    play.exit(0, "");
    assert_eq!(play.completed().error.as_deref(), Some("claude finished without a result event"));
    assert_eq!(play.completed().answer, "half");
}

#[test]
fn what_a_subagent_says_is_not_the_answer() {
    let play = Play::lines(
        &Claude,
        r#"{"type":"assistant","session_id":"s","message":{"content":[{"type":"text","text":"mine"}]}}
{"type":"assistant","session_id":"s","parent_tool_use_id":"t","message":{"content":[{"type":"text","text":"its"}]}}
{"type":"result","session_id":"s","result":""}"#,
    );
    assert_eq!(play.completed().answer, "mine");
}

#[test]
fn questions_plans_and_permissions_are_asked_and_answered_over_standard_input() {
    let mut play = Play::new(&Claude, Mode::Warm);
    play.prompt("hi");
    assert_eq!(play.sent[0]["request"]["subtype"], "initialize");
    assert_eq!(play.sent[1]["message"]["content"], "hi");
    let ask = |id: &str, tool: &str, input: serde_json::Value| {
        json!({"type": "control_request", "request_id": id, "request": {"subtype": "can_use_tool", "tool_name": tool, "input": input,
               "permission_suggestions": [{"type": "addRules", "behavior": "allow", "destination": "localSettings",
                                           "rules": [{"toolName": "Bash", "ruleContent": "rm:*"}]}]}}).to_string()
    };
    play.line(&ask("r1", "Bash", json!({"command": "rm /r/x"})));
    play.line(&ask(
        "r2",
        "AskUserQuestion",
        json!({"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}),
    ));
    play.line(&ask("r3", "ExitPlanMode", json!({"plan": "1. do it"})));
    let asks: Vec<_> = play
        .events
        .iter()
        .filter_map(|event| if let EngineEvent::Asked(asked) = event { Some(&asked.ask) } else { None })
        .collect();
    assert_eq!(
        asks.iter().map(|ask| ask.kind()).collect::<Vec<_>>(),
        [AskKind::Permission, AskKind::Question, AskKind::Plan]
    );
    assert_eq!((asks[0].title.as_str(), asks[1].options.join("/").as_str()), ("Bash: rm x", "A/B"));
    let asks_always = asks[0].always.clone();
    play.control(&Control::Answer { ask: "r1".into(), answer: AskAnswer::AllowAlways }).unwrap();
    play.control(&Control::Answer { ask: "r2".into(), answer: AskAnswer::Reply { answers: vec!["B".into()] } })
        .unwrap();
    play.control(&Control::Answer { ask: "r3".into(), answer: AskAnswer::Deny { note: "smaller".into(), stop: true } })
        .unwrap();
    let answers: Vec<_> = play.sent[2..].iter().map(|line| &line["response"]["response"]).collect();
    assert_eq!(answers[0]["updatedInput"]["command"], "rm /r/x", "updatedInput is required on allow");
    assert_eq!(asks_always, ["Bash(rm:*)"], "people are told what always means");
    assert_eq!(answers[0]["updatedPermissions"][0]["type"], "addRules");
    assert_eq!(answers[0]["updatedPermissions"][0]["destination"], "session", "and it means no more than that");
    assert_eq!(answers[1]["updatedInput"]["answers"]["Which?"], "B");
    assert_eq!((&answers[2]["message"], &answers[2]["interrupt"]), (&json!("smaller"), &json!(true)));
    play.line(&ask("r4", "Bash", json!({})));
    play.line(r#"{"type":"control_cancel_request","request_id":"r4"}"#);
    assert!(matches!(play.events.last(), Some(EngineEvent::Asked(asked)) if asked.ask.withdrawn));
    play.line(r#"{"type":"control_request","request_id":"r5","request":{"subtype":"hook_callback"}}"#);
    assert_eq!(play.sent.last().unwrap()["response"]["subtype"], "error", "every request is answered");
}
