//! One test per rule of the mapping.

use serde_json::json;

use super::Codex;
use crate::engine::{Control, Engine, EngineSettings, Exit, Mode, Order};
use crate::engines::testing::Recorded;
use crate::event::{AskAnswer, EngineEvent, Subject};
use crate::testing::{Play, launch};

const SAMPLE: &str = include_str!("../../../tests/fixtures/codex.jsonl");

/// What the real program wrote.
macro_rules! real {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/codex-0.166.0/", $name, ".jsonl"))
    };
}

fn warm(text: &str) -> Recorded {
    Recorded::play(&Codex, Mode::Warm, text)
}

fn plain(text: &str) -> Recorded {
    Recorded::play(&Codex, Mode::Plain, text)
}

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
    settings.own.remove("profile");
    let asking =
        "--config=features.default_mode_request_user_input=true --config=suppress_unstable_features_warning=true";
    assert_eq!(args(Mode::Warm, None, &settings), format!("{asking} -c a=1 app-server"), "what people set comes last");
}

/// As codex 0.166.0 ended two of five that were started at once in a new home.
#[test]
fn one_that_met_another_at_the_making_of_their_database_may_begin_again() {
    let exit = |stderr: &str| Exit { code: Some(1), signal: None, stderr: stderr.to_owned() };
    let met = "Error: failed to initialize sqlite state runtime under /h/.codex: failed to open state db";
    assert!(Codex.may_begin_again(&exit(met)));
    assert!(!Codex.may_begin_again(&exit("Error: error loading config.toml")));
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
        [
            "Updated   warning the connection to the model broke; trying again (1 of 5)",
            "Updated   warning the connection to the model broke; trying again (2 of 5)",
            "Completed - warning slow down"
        ]
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
    assert_eq!(asks[0].title, "change a");
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

#[test]
fn a_real_conversation_is_answered_and_no_line_of_it_is_unknown() {
    for (text, session, answer) in [
        (real!("app-hello"), "01a1e502-8998-7000-8806-e75b144a12c0", "Hello from the fake model."),
        (real!("app-think"), "", "Hello after thinking."),
        (real!("app-flaky"), "", "It worked the second time."),
        (real!("app-commentary"), "", "The final word."),
        (real!("app-ask"), "", r#"The answer was: {"answers":{"colour":{"answers":["Blue"]}}}"#),
    ] {
        let play = warm(text);
        let (run, done) = (play.run(), play.run().completed());
        assert!(done.ok && done.error.is_none(), "{done:?}");
        assert_eq!(done.answer, answer);
        assert!(run.session().starts_with(session) && run.session().len() == 36);
        assert!(run.unknown.is_empty(), "{:?}", run.unknown);
    }
    let play = plain(real!("exec-tools3"));
    assert!(play.run().unknown.is_empty() && play.run().session().len() == 36);
    assert_eq!(play.run().completed().answer, "All 3 steps done.");
}

#[test]
fn a_line_of_a_type_that_nobody_knows_is_told_and_changes_nothing() {
    let mut play = Recorded::new(&Codex, Mode::Warm, None, &EngineSettings::default());
    play.people("prompt hi");
    play.program(&json!({"method": "turn/hologram", "params": {}}));
    assert_eq!(play.run().unknown, ["turn/hologram"]);
    assert_eq!(plain(r#"{"type":"turn.hologram"}"#).run().unknown, ["turn.hologram"]);
}

#[test]
fn titles_say_the_command_and_not_the_shell_around_it() {
    let commands = |play: Recorded| play.run().actions();
    assert!(commands(plain(real!("exec-tools3"))).contains(&"Completed + command echo step2".to_owned()));
    assert_eq!(
        commands(warm(real!("app-cmd"))),
        ["Started   command touch t-25466", "Completed + command touch t-25466"]
    );
}

#[test]
fn an_approval_names_the_command_or_the_files_with_their_changes() {
    let play = warm(real!("app-cmd"));
    let ask = play.run().asks()[0];
    assert_eq!(ask.title, "run `touch t-25466`");
    let Subject::Command { lines, .. } = &ask.subject else { panic!("{ask:?}") };
    assert_eq!(lines[0].text(), "touch t-25466");
    assert_eq!(play.sent.last().unwrap()["result"]["decision"], "accept");

    let play = warm(real!("app-allow"));
    let ask = play.run().asks()[0];
    assert_eq!(ask.title, "change a-new.txt");
    let Subject::Edit { paths, diff, .. } = &ask.subject else { panic!("{ask:?}") };
    assert_eq!(paths, &["/r/a-new.txt"]);
    assert_eq!(diff[0].text, "+written by the fake model");
    assert_eq!(ask.proposal().paths(), ["/r/a-new.txt"]);
    assert!(ask.proposal().lines().is_empty(), "an edit that is nothing else can be let pass");
    assert_eq!(play.run().actions(), ["Completed + file_change a-new.txt"]);
}

#[test]
fn what_is_denied_is_not_done_and_the_run_goes_on() {
    let play = warm(real!("app-deny"));
    assert_eq!(play.run().actions(), ["Completed - file_change b.txt"]);
    assert_eq!(play.run().completed().answer, "Written: patch rejected by user");
    let play = warm(real!("app-cmddeny"));
    assert_eq!(play.run().actions()[1], "Completed - command touch t-25466");
    assert!(play.run().completed().answer.contains("rejected by user"));
}

#[test]
fn a_question_of_the_model_is_asked_and_answered() {
    let play = warm(real!("app-ask"));
    let ask = play.run().asks()[0];
    assert_eq!((ask.title.as_str(), &ask.options[..]), ("Which colour?", &["Red".to_owned(), "Blue".to_owned()][..]));
    assert_eq!(play.sent.last().unwrap()["result"], json!({"answers": {"colour": {"answers": ["Blue"]}}}));
}

#[test]
fn trouble_with_the_model_is_seen_while_it_lasts_and_said_once_at_the_end() {
    for (play, first, error) in [
        (warm(real!("app-err401")), "unexpected status 401", "the provider refuses the key or the login (401): "),
        (warm(real!("app-err429")), "exceeded retry limit", "the provider takes no more requests for now (429): "),
        (warm(real!("app-err500")), "We’re currently experiencing", "We’re currently experiencing high demand"),
        (plain(real!("exec-err401")), "unexpected status 401", "the provider refuses the key or the login (401): "),
        (plain(real!("exec-err429")), "exceeded retry limit", "the provider takes no more requests for now (429): "),
    ] {
        let (actions, done) = (play.run().actions(), play.run().completed());
        assert_eq!(actions.len(), 5, "{actions:?}");
        assert!(actions[0].starts_with(&format!("Updated   warning {first}")), "{actions:?}");
        assert!(actions[4].ends_with("; trying again (5 of 5)"), "{actions:?}");
        assert!(!done.ok && done.answer.is_empty());
        assert!(done.error.as_ref().unwrap().starts_with(error), "{done:?}");
    }
    let error = plain(real!("exec-nokey")).run().completed().error.clone().unwrap();
    assert!(
        error.starts_with("Missing environment variable: `FAKE_KEY`.\nhint: ") && error.contains("pass_env"),
        "{error}"
    );
}

#[test]
fn a_retry_that_works_ends_the_trouble() {
    let play = warm(real!("app-cut"));
    assert_eq!(play.run().said(), ["This will be cut "; 6]);
    assert_eq!(play.run().completed().answer, "This will be cut ");
    let retried: Vec<String> = play.run().actions();
    assert_eq!(retried[1], "Completed + warning the model answers again");
}

#[test]
fn a_run_counts_all_its_calls_and_none_of_earlier_runs() {
    let tokens = |play: &Recorded, run: usize| play.runs[run].completed().usage["input_tokens"].as_i64();
    assert_eq!(tokens(&warm(real!("app-tools3")), 0), Some(4 * 1234));
    assert_eq!(tokens(&plain(real!("exec-tools3")), 0), Some(4 * 1234));
    let play = warm(real!("app-warm3"));
    assert_eq!([0, 1, 2].map(|run| tokens(&play, run)), [Some(1234), Some(2 * 1234), Some(1234)]);
}

#[test]
fn exec_counts_from_the_beginning_of_a_conversation_so_what_was_spent_before_is_taken_off() {
    let session = "01a1e508-2ee8-71c3-8017-2bcb3f631f8f";
    let home = tempfile::tempdir().unwrap();
    let usage = || {
        let mut settings = EngineSettings::default();
        settings.env.insert("CODEX_HOME".into(), home.path().to_string_lossy().into_owned());
        let mut resumed = Recorded::new(&Codex, Mode::Plain, Some(session), &settings);
        resumed.lines(real!("exec-resume"));
        resumed.run().completed().usage.clone()
    };
    assert!(usage().is_empty(), "a count of which nobody knows where it begins is none");
    let day = home.path().join("sessions/2026/11/16");
    std::fs::create_dir_all(&day).unwrap();
    let rollout = day.join(format!("rollout-2026-11-16T15-44-41-{session}.jsonl"));
    std::fs::write(rollout, real!("rollout-tools3")).unwrap();
    assert_eq!(usage()["input_tokens"], 1234);
}

#[test]
fn the_beginning_of_an_id_is_refused_because_codex_would_begin_anew() {
    let other = plain(real!("exec-prefix"));
    assert_ne!(&other.run().session()[..8], "01a1e508-2", "what it did with the beginning of another id");
    let token = crate::event::ResumeToken::new("codex", "01a1e508");
    let (settings, folder) = (EngineSettings::default(), std::path::Path::new("/r"));
    for mode in [Mode::Plain, Mode::Warm] {
        let order = Order { settings: &settings, prompt: "", resume: Some(&token), folder, mode, now: 0 };
        let error = Codex.prepare(&order).err().unwrap();
        assert_eq!(error.sentence, "`01a1e508` is only the beginning of a session of codex");
    }
}

#[test]
fn a_session_that_codex_does_not_have_is_named_in_words() {
    let id = "01a1e500-1111-7a2b-9896-cf7cb2f522c5";
    let stderr = format!(
        "WARNING: proceeding\nError: thread/resume: thread/resume failed: no rollout found for thread id {id} (code -32600)\n\nStack backtrace:\n   0: <unknown>"
    );
    let mut play = Play::new(&Codex, Mode::Plain);
    play.exit(1, &stderr);
    let said = format!("codex has no session {id}\nhint: begin a new one, without the resume line");
    assert_eq!(play.completed().error.as_ref(), Some(&said));
    let mut play = Recorded::new(&Codex, Mode::Warm, Some(id), &EngineSettings::default());
    play.people("prompt hi");
    play.lines_after(&[
        r#"{"id":1,"result":{}}"#,
        r#"{"error":{"code":-32600,"message":"no rollout found for thread id 01a1e500"},"id":2}"#,
    ]);
    assert_eq!(play.run().completed().error.as_ref(), Some(&said));
}

#[test]
fn a_limit_of_the_plan_says_when_it_ends() {
    let limits = r#"{"method":"account/rateLimits/updated","params":{"rateLimits":{"primary":{"usedPercent":100,"resetsAt":1794846600}}}}"#;
    let play =
        warm(&real!("app-err429").replace("\n{\"method\":\"error\"", &format!("\n{limits}\n{{\"method\":\"error\"")));
    let error = play.run().completed().error.clone().unwrap();
    assert!(error.contains("(until 2026-11-16 16:30 UTC)"), "{error}");
}

#[test]
fn a_process_that_is_kept_answers_each_prompt_with_its_own_answer() {
    let play = warm(real!("app-warm3"));
    let answers: Vec<&str> = play.runs.iter().map(|run| run.completed().answer.lines().next().unwrap()).collect();
    assert_eq!(answers[0], "Hello from the fake model.");
    assert!(answers[1].starts_with("Done. The tool said: "));
    assert_eq!(answers[2], "You said so far: one | (tool:echo two) | (recall)");
}

#[test]
fn text_and_thoughts_come_as_they_are_written_and_an_interrupted_run_keeps_them() {
    let play = warm(real!("app-think"));
    assert_eq!(
        play.run().said(),
        ["[**Thinking**\n\nLet me think about it. The person wants a greeting.]", "Hello after thinking."]
    );
    assert_eq!(plain(real!("exec-tools3")).run().said(), ["Step 1.", "Step 2.", "Step 3.", "All 3 steps done."]);
    let play = warm(real!("app-interrupt"));
    assert!(play.run().so_far.contains(&"Beginning slowly. ".to_owned()));
    let done = play.run().completed();
    assert_eq!((done.answer.as_str(), done.error.as_deref()), ("Beginning slowly. ", Some("interrupted")));
}

#[test]
fn words_during_a_run_are_answered_by_it() {
    let play = warm(real!("app-steer"));
    assert_eq!(play.sent.last().unwrap()["method"], "turn/steer");
    assert_eq!(play.run().completed().answer, "Hello from the fake model.");
}

#[test]
fn words_before_a_turn_has_a_name_wait_for_it() {
    let mut play = Recorded::new(&Codex, Mode::Warm, None, &EngineSettings::default());
    play.people("prompt hi");
    play.people("steer early");
    play.lines_after(&[
        r#"{"id":1,"result":{}}"#,
        r#"{"id":2,"result":{"thread":{"id":"th"}}}"#,
        r#"{"id":11,"result":{"turn":{"id":"u1"}}}"#,
    ]);
    let sent = play.sent.last().unwrap();
    assert_eq!((&sent["method"], &sent["params"]["expectedTurnId"]), (&json!("turn/steer"), &json!("u1")));
}

#[test]
fn words_that_cross_with_the_end_of_a_turn_are_answered_by_the_next_one_and_no_answer_is_lost() {
    let recorded: Vec<&str> = real!("app-hello").lines().collect();
    let end = recorded.iter().position(|line| line.contains("turn/completed")).unwrap();
    let mut play = Recorded::new(&Codex, Mode::Warm, None, &EngineSettings::default());
    play.lines(&recorded[..end].join("\n"));
    play.people("steer late");
    play.lines_after(&[recorded[end], r#"{"error":{"code":-32600,"message":"no active turn to steer"},"id":12}"#]);
    assert!(!matches!(play.run().events.last(), Some(EngineEvent::Completed(_))));
    let sent = play.sent.last().unwrap();
    assert_eq!((&sent["method"], &sent["params"]["input"][0]["text"]), (&json!("turn/start"), &json!("late")));
    play.lines_after(&[
        r#"{"id":13,"result":{"turn":{"id":"t2"}}}"#,
        r#"{"method":"turn/started","params":{"turn":{"id":"t2"}}}"#,
        r#"{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m2","text":"And late."}}}"#,
        r#"{"method":"turn/completed","params":{"turn":{"id":"t2","status":"completed"}}}"#,
    ]);
    assert_eq!(play.run().completed().answer, "Hello from the fake model.\n\nAnd late.");
}

#[test]
fn what_helpers_in_other_threads_say_is_no_answer_and_their_end_no_end() {
    let recorded: Vec<&str> = real!("app-helper").lines().collect();
    let end = recorded.iter().position(|line| line.contains("turn/completed")).unwrap();
    let played = warm(real!("app-helper"));
    let (run, answer) = (played.run(), &played.run().completed().answer);
    assert!(answer.starts_with("Called: {") && !answer.contains("I will run it."), "{answer}");
    assert!(run.unknown.is_empty() && run.said().len() == 1, "{:?}", run.said());
    assert_eq!(
        run.actions(),
        [
            "Started   subagent please [tool:echo sub]",
            "Completed + subagent please [tool:echo sub]",
            "Completed - warning codex did not wait for 1 of its helpers",
        ]
    );
    // The same when the helper is done first: its command is seen, and its calls are counted.
    let mut lines: Vec<&str> = recorded.clone();
    let last = lines.remove(end);
    lines.push(last);
    let played = warm(&lines.join("\n"));
    assert_eq!(&played.run().completed().answer, answer);
    assert_eq!(played.run().actions()[2..], ["Started   command echo sub", "Completed + command echo sub"]);
    assert_eq!(played.run().completed().usage["input_tokens"], 4 * 1234);
}

#[test]
fn effort_and_profile_reach_a_warm_codex_too() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("big.config.toml"), "model_reasoning_summary = \"concise\"\n").unwrap();
    let mut settings = EngineSettings::default();
    settings.env.insert("CODEX_HOME".into(), home.path().to_string_lossy().into_owned());
    settings.own.insert("profile".into(), "big".into());
    settings.own.insert("reasoning_effort".into(), "high".into());
    assert!(args(Mode::Warm, None, &settings).ends_with(" app-server"));
    let mut play = Recorded::new(&Codex, Mode::Warm, None, &settings);
    play.lines(real!("app-hello"));
    let params = |method: &str| &play.sent.iter().find(|line| line["method"] == method).unwrap()["params"];
    assert_eq!(params("turn/start")["effort"], "high");
    assert_eq!(params("thread/start")["config"], json!({"model_reasoning_summary": "concise"}));
}
