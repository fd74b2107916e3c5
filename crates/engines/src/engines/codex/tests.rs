//! One test per rule of the mapping.

use serde_json::json;

use super::Codex;
use crate::engine::{Control, EngineSettings, Mode};
use crate::event::{AskAnswer, EngineEvent};
use crate::testing::{Play, launch};

const SAMPLE: &str = include_str!("../../../tests/fixtures/codex.jsonl");

fn args(mode: Mode, resume: Option<&str>, settings: &EngineSettings) -> String {
    launch(&Codex, mode, resume, settings).args.join(" ")
}

#[test]
fn the_command_line_is_the_documented_one() {
    let mut settings =
        EngineSettings { extra_args: vec!["-c".into(), "a=1".into()], model: "m".into(), ..EngineSettings::default() };
    assert_eq!(
        args(Mode::Plain, None, &EngineSettings::default()),
        "exec --json --skip-git-repo-check --color=never -"
    );
    settings.own.insert("profile".into(), "p".into());
    settings.own.insert("reasoning_effort".into(), "high".into());
    assert_eq!(
        args(Mode::Plain, Some("019a"), &settings),
        "-c a=1 --profile p --model m -c model_reasoning_effort=high exec --json --skip-git-repo-check --color=never resume 019a -"
    );
    assert_eq!(args(Mode::Warm, None, &EngineSettings::default()), "app-server");
}

#[test]
fn the_dangerous_flag_comes_only_from_the_key_that_names_the_danger() {
    let mut settings = EngineSettings::default();
    assert!(!args(Mode::Plain, None, &settings).contains("danger"));
    settings.own.insert("dangerously_bypass_approvals_and_sandbox".into(), true.into());
    assert!(args(Mode::Plain, None, &settings).contains("--dangerously-bypass-approvals-and-sandbox"));
    let mut sneaky = EngineSettings::default();
    sneaky.own.insert("sandbox".into(), "danger-full-access".into());
    assert!(!args(Mode::Plain, None, &sneaky).contains("danger"));
}

#[test]
fn the_recorded_stream_becomes_the_events_of_the_model() {
    let play = Play::lines(&Codex, SAMPLE);
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if started.resume.value == "SESSION"));
    assert_eq!(
        play.summary(),
        [
            "Started   turn turn started",
            "Started   command cargo test",
            "Completed - command cargo test",
            "Completed + file_change src/a.rs"
        ]
    );
    let done = play.completed();
    assert!(done.ok && done.answer == "ANSWER" && done.usage["output_tokens"] == 4);
    assert_eq!(play.actions()[2].action.detail["exit_code"], 101);
}

#[test]
fn unknown_events_items_and_fields_lose_nothing() {
    let play = Play::lines(
        &Codex,
        r#"{"type":"thread.started","thread_id":"a","new":{"x":1}}
{"type":"item.plan.delta","item_id":"p","delta":"x"}
{"type":"item.completed","item":{"id":"i0","type":"hologram","text":"?"}}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls"}}
{"type":"item.completed","item":{"id":"i2","type":"command_execution","command":7,"exit_code":"x","status":null}}
{"type":"item.completed","item":{"id":"i3","type":"collab_tool_call","tool":"spawn","prompt":"look","status":"completed"}}
{"type":"item.completed"}
{"type":"item.completed","item":{"id":"i4","type":"agent_message","text":"ok"}}
{"type":"turn.completed"}"#,
    );
    let titles: Vec<&str> = play.actions().iter().map(|event| event.action.title.as_str()).collect();
    assert_eq!(titles, ["hologram", "ls", "", "look"]);
    assert!(play.completed().ok && play.completed().answer == "ok");
}

#[test]
fn the_answer_is_the_last_final_answer_else_the_last_message_and_commentary_is_a_note() {
    let message = |text: &str, phase: &str| {
        json!({"type": "item.completed", "item": {"id": text, "type": "agent_message", "text": text, "phase": phase}})
            .to_string()
    };
    let mut play = Play::lines(&Codex, r#"{"type":"thread.started","thread_id":"a"}"#);
    play.line(&message("the end", "final_answer"));
    play.line(&message("thinking aloud", "commentary"));
    play.line(&message("afterthought", "other"));
    play.line(r#"{"type":"turn.completed","usage":{}}"#);
    assert_eq!(play.completed().answer, "the end");
    assert_eq!(play.summary(), ["Completed + note thinking aloud"]);
}

#[test]
fn errors_that_are_not_fatal_are_warnings_and_reconnects_are_one_note() {
    let play = Play::lines(
        &Codex,
        r#"{"type":"thread.started","thread_id":"a"}
{"type":"error","message":"Reconnecting... 1/5"}
{"type":"error","message":"Reconnecting... 2/5"}
{"type":"error","message":"slow down"}
{"type":"turn.failed","error":{"message":"quota"}}"#,
    );
    assert_eq!(
        play.summary(),
        ["Started   note Reconnecting... 1/5", "Updated   note Reconnecting... 2/5", "Completed - warning slow down"]
    );
    assert_eq!(play.completed().error.as_deref(), Some("quota"));
}

#[test]
fn todo_lists_say_how_far_they_are() {
    let play = Play::lines(
        &Codex,
        r#"{"type":"item.updated","item":{"id":"t","type":"todo_list","items":[{"text":"a","completed":true},{"text":"b","completed":false}]}}
{"type":"item.completed","item":{"id":"t","type":"todo_list","items":[{"text":"a","completed":true}]}}"#,
    );
    assert_eq!(play.summary(), ["Updated   note todo 1/2: b", "Completed + note todo 1/1: done"]);
}

#[test]
fn a_good_exit_without_an_end_is_a_success_and_a_bad_one_keeps_the_answer_so_far() {
    let begun = "{\"type\":\"thread.started\",\"thread_id\":\"a\"}\n{\"type\":\"item.completed\",\"item\":{\"id\":\"m\",\"type\":\"agent_message\",\"text\":\"half\"}}";
    let mut good = Play::lines(&Codex, begun);
    good.exit(0, "");
    assert!(good.completed().ok && good.completed().answer == "half");
    let mut bad = Play::lines(&Codex, begun);
    bad.exit(1, "no credit");
    assert_eq!(bad.completed().error.as_deref(), Some("codex exec failed (rc=1).\nno credit"));
    assert_eq!(bad.completed().answer, "half");
}

#[test]
fn the_app_server_is_greeted_then_asked_for_a_thread_then_for_a_turn() {
    let mut play = Play::new(&Codex, Mode::Warm);
    play.prompt("hi");
    play.line(r#"{"id":1,"result":{}}"#);
    play.line(r#"{"id":2,"result":{"thread":{"id":"th"},"model":"gpt"}}"#);
    let methods: Vec<&str> = play.sent.iter().filter_map(|line| line["method"].as_str()).collect();
    assert_eq!(methods, ["initialize", "initialized", "thread/start", "turn/start"]);
    assert_eq!(play.sent[2]["params"]["approvalPolicy"], "on-request");
    assert_eq!(play.sent[3]["params"]["input"][0]["text"], "hi");
    play.line(r#"{"method":"turn/started","params":{"turn":{"id":"u"}}}"#);
    play.line(r#"{"id":9,"method":"item/permissions/requestApproval","params":{"permissions":{"network":true},"reason":"fetch"}}"#);
    play.control(&Control::Answer { ask: "9".into(), answer: AskAnswer::AllowAlways }).unwrap();
    assert_eq!(play.sent[4], json!({"id": 9, "result": {"permissions": {"network": true}, "scope": "session"}}));
    play.line(r#"{"id":10,"method":"item/fileChange/requestApproval","params":{"itemId":"f"}}"#);
    play.control(&Control::Answer {
        ask: "10".into(),
        answer: AskAnswer::Deny { note: "ask Ana".into(), stop: false },
    })
    .unwrap();
    assert_eq!(play.sent[5]["result"]["decision"], "decline");
    assert_eq!(play.sent[6]["method"], "turn/steer", "the note is the next word to the engine");
    play.line(r#"{"id":11,"method":"account/login","params":{}}"#);
    assert!(play.sent[7]["error"].is_object(), "every request is answered");
}

#[test]
fn a_question_about_an_item_says_what_the_item_said() {
    let mut play = Play::new(&Codex, Mode::Warm);
    play.prompt("hi");
    play.line(r#"{"id":1,"result":{}}"#);
    play.line(r#"{"id":2,"result":{"thread":{"id":"th"},"model":"gpt"}}"#);
    let item =
        json!({"id": "f", "type": "fileChange", "changes": [{"path": "a", "kind": {"type": "add"}, "diff": "x"}]});
    play.line(&json!({"method": "item/started", "params": {"item": item}}).to_string());
    play.line(r#"{"id":10,"method":"item/fileChange/requestApproval","params":{"itemId":"f"}}"#);
    play.line(r#"{"id":11,"method":"item/fileChange/requestApproval","params":{"itemId":"other"}}"#);
    let asks: Vec<_> = play
        .events
        .iter()
        .filter_map(|event| if let EngineEvent::Asked(asked) = event { Some(&asked.ask) } else { None })
        .collect();
    assert_eq!(asks[0].detail["changes"], item["changes"]);
    assert_eq!(asks[0].title, "change files");
    assert_eq!(asks[1].title, "change files that codex does not name");
    assert!(!asks[1].detail.contains_key("changes"));
}

#[test]
fn bookkeeping_is_what_codex_counts_and_nothing_it_asks_for() {
    let known = super::asks::BOOKKEEPING;
    for name in ["command", "cwd", "changes", "reason", "permissions", "grantRoot"] {
        assert!(!known.contains(&name), "{name}");
    }
}
