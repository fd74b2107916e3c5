//! One test per rule of the mapping.

use std::path::Path;

use folkmoot_action::{CommandLine, FileDiff};
use serde_json::Value;

use super::{Opencode, permissions};
use crate::engine::{Control, Engine, EngineSettings, Exit, Mode, Output, Piece};
use crate::event::{Ask, AskAnswer, EngineEvent, Subject};
use crate::testing::{Play, launch, plan};

const SAMPLE: &str = include_str!("../../../tests/fixtures/opencode.jsonl");

/// A recorded stream; see the README beside it.
fn recorded(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/opencode-1.18.33");
    std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap()
}

/// Lines of the plain mode, and a good end: a step that stops need not be the last one.
fn plain(lines: &str) -> Play {
    let mut play = Play::lines(&Opencode, lines);
    play.exit(0, "");
    play
}

/// A recorded conversation with the server; what it asks is answered so.
fn warm(name: &str, answer: &AskAnswer) -> Play {
    let mut play = Play::new(&Opencode, Mode::Warm);
    play.prompt("hi");
    hear(&mut play, &recorded(name), answer);
    play
}

fn hear(play: &mut Play, lines: &str, answer: &AskAnswer) {
    for line in lines.lines() {
        let before = play.events.len();
        play.line(line);
        if let Some(ask) = asked(&play.events[before..]).first().map(|ask| ask.id.clone()) {
            play.control(&Control::Answer { ask, answer: answer.clone() }).unwrap();
        }
    }
}

fn asked(events: &[EngineEvent]) -> Vec<&Ask> {
    let asks = events.iter().filter_map(|event| match event {
        EngineEvent::Asked(asked) => Some(&*asked.ask),
        _ => None,
    });
    asks.filter(|ask| !ask.withdrawn).collect()
}

fn allow() -> AskAnswer {
    AskAnswer::Allow { input: None }
}

/// What is said beside the events: words as they come, and kinds that nobody knows.
fn beside(mode: Mode, lines: &str) -> (Vec<Piece>, Vec<String>) {
    let mut dialog = plan(&Opencode, mode, None, &EngineSettings::default()).dialog;
    let mut out = Output::default();
    dialog.prompt("hi", &mut out);
    lines.lines().for_each(|line| dialog.line(&serde_json::from_str::<Value>(line).unwrap(), &mut out));
    (
        out.pieces
            .into_iter()
            .filter(|piece| !matches!(piece, Piece::Answer(text) | Piece::Thought(text) if text.is_empty()))
            .collect(),
        out.unknown,
    )
}

fn say(text: &str) -> Piece {
    Piece::Answer(text.to_owned())
}

fn think(text: &str) -> Piece {
    Piece::Thought(text.to_owned())
}

fn lines_up_to(stream: &str, word: &str) -> String {
    let at = stream.lines().position(|line| line.contains(word)).unwrap();
    stream.lines().take(at).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_command_line_is_the_documented_one_without_the_prompt() {
    let mut settings = EngineSettings { model: "a/b".into(), ..EngineSettings::default() };
    settings.own.insert("variant".into(), "high".into());
    let args = launch(&Opencode, Mode::Plain, Some("ses_1"), &settings).args.join(" ");
    assert_eq!(args, "run --format json --thinking --session ses_1 --model a/b --variant high");
    let args = launch(&Opencode, Mode::Warm, None, &settings).args.join(" ");
    assert_eq!(args, "serve --hostname 127.0.0.1 --port 0", "on loopback only");
}

#[test]
fn the_recorded_stream_becomes_the_events_of_the_model() {
    let play = plain(SAMPLE);
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if started.title.as_deref() == Some("opencode")));
    assert_eq!(play.summary(), ["Completed + command List"]);
    let done = play.completed();
    assert!(done.ok && done.answer == "ANSWER" && done.usage["total_cost_usd"] == 0.001);
}

#[test]
fn the_session_is_taken_from_any_event_and_all_steps_make_the_answer() {
    let play = plain(
        r#"{"type":"heartbeat","sessionID":"ses_1"}
{"type":"text","part":{"text":"one "}}
{"type":"step_finish","part":{"reason":"tool-calls","cost":0.5,"tokens":{"input":1,"output":1}}}
{"type":"text","part":{"text":"two"}}
{"type":"step_finish","part":{"reason":"stop","cost":0.25,"tokens":{"input":2,"output":1}}}"#,
    );
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if started.resume.value == "ses_1"));
    assert_eq!(
        (play.completed().answer.as_str(), &play.completed().usage["total_cost_usd"]),
        ("one\n\ntwo", &0.75.into()),
        "the texts of two steps are two paragraphs"
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
    assert!(more.settles);
    more.settle();
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
    // The server names the message that it was given, and the one that answers it, before it is idle.
    play.line(r#"{"type":"message.updated","properties":{"info":{"id":"u","role":"user","sessionID":"ses_1"}}}"#);
    play.line(r#"{"type":"message.part.updated","properties":{"part":{"id":"p","sessionID":"ses_1","type":"text","text":"yes"}}}"#);
    play.line(r#"{"type":"message.updated","properties":{"info":{"id":"a","role":"assistant","parentID":"u","sessionID":"ses_1","time":{"completed":1}}}}"#);
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
    assert_eq!(asked.ask.title, "bash: ls");
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

#[test]
fn a_run_that_may_ask_is_told_to_and_one_that_needs_not_is_not() {
    let told = |mode, settings: &EngineSettings| {
        let env = launch(&Opencode, mode, None, settings).env;
        env.into_iter().find(|(name, _)| name == permissions::VARIABLE).and_then(|(_, value)| value)
    };
    let mut settings = EngineSettings::default();
    for mode in [Mode::Plain, Mode::Warm] {
        let all: Value = serde_json::from_str(&told(mode, &settings).unwrap()).unwrap();
        assert_eq!(all["permission"]["**"], "ask");
    }
    settings.own.insert(super::DANGER.into(), true.into());
    assert_eq!(told(Mode::Warm, &settings), None);
}

#[test]
fn both_signs_of_the_end_are_one_and_say_the_answer_once() {
    let play = warm("warm-hello", &allow());
    let ends = play.events.iter().filter(|event| matches!(event, EngineEvent::Completed(_))).count();
    assert_eq!((ends, play.completed().ok, play.completed().answer.as_str()), (1, true, "Hello from the fake model."));
    let usage = &play.completed().usage;
    assert_eq!((&usage["input_tokens"], &usage["cached_input_tokens"]), (&234.into(), &1000.into()));
}

#[test]
fn what_is_left_of_a_turn_does_not_end_the_next_one() {
    for first in ["warm-hello", "warm-401", "warm-unknown-model"] {
        let stream = recorded(first);
        let mut dialog = plan(&Opencode, Mode::Warm, None, &EngineSettings::default()).dialog;
        let mut out = Output::default();
        dialog.prompt("hi", &mut out);
        let mut lines = stream.lines();
        while !out.events.iter().any(|event| matches!(event, EngineEvent::Completed(_))) {
            dialog.line(&serde_json::from_str(lines.next().unwrap()).unwrap(), &mut out);
        }
        // The process is kept, and told the next thing at once.
        let mut out = Output::default();
        dialog.prompt("and now?", &mut out);
        lines.for_each(|line| dialog.line(&serde_json::from_str(line).unwrap(), &mut out));
        assert!(out.events.is_empty() && out.settle.is_none(), "{first}: {:?}", out.events);
    }
}

#[test]
fn a_failure_is_the_end_only_when_its_message_is_finished() {
    let stream = recorded("warm-500");
    let (first, rest) = stream.split_once(r#""status":{"type":"idle"}}}"#).unwrap();
    let mut play = Play::new(&Opencode, Mode::Warm);
    play.prompt("hi");
    hear(&mut play, &format!("{first}\"status\":{{\"type\":\"idle\"}}}}}}"), &allow());
    assert!(
        play.settles && !matches!(play.events.last(), Some(EngineEvent::Completed(_))),
        "it would swallow what comes now"
    );
    hear(&mut play, rest.trim(), &allow());
    assert_eq!(play.completed().error.as_deref(), Some("API error 500: the fake model refuses with 500"));
    assert_eq!(play.completed().answer, "", "an error is not an answer");
}

#[test]
fn a_message_that_the_server_swallows_is_said_to_be_unanswered() {
    let mut play = Play::new(&Opencode, Mode::Warm);
    play.prompt("hi");
    hear(&mut play, &lines_up_to(&recorded("warm-hello"), r#""role":"assistant""#), &allow());
    let session = r#"{"type":"session.idle","properties":{}}"#;
    play.line(session);
    assert!(play.settles);
    play.settle();
    let error = play.completed().error.as_deref().unwrap();
    assert!(error.contains("left the last message unanswered"), "{error}");
}

#[test]
fn an_answer_that_comes_too_late_is_not_the_answer_to_the_next_prompt() {
    let stream = recorded("warm-hello");
    let at = stream.lines().position(|line| line.contains(r#""role":"assistant""#)).unwrap();
    for cut in [at, at + 4] {
        let mut dialog = plan(&Opencode, Mode::Warm, None, &EngineSettings::default()).dialog;
        let mut out = Output::default();
        dialog.prompt("hi", &mut out);
        let mut lines = stream.lines();
        let mut hear = |line: &str, out: &mut Output| dialog.line(&serde_json::from_str(line).unwrap(), out);
        lines.by_ref().take(cut).for_each(|line| hear(line, &mut out));
        hear(r#"{"type":"session.idle","properties":{}}"#, &mut out);
        dialog.settled(&mut out);
        assert!(matches!(out.events.last(), Some(EngineEvent::Completed(_))), "it was given up");
        let mut out = Output::default();
        dialog.prompt("and now?", &mut out);
        lines.for_each(|line| dialog.line(&serde_json::from_str(line).unwrap(), &mut out));
        assert_eq!((out.events, dialog.answer_so_far()), (Vec::new(), String::new()), "{cut}");
    }
}

#[test]
fn words_during_the_run_belong_to_it() {
    let mut play = Play::new(&Opencode, Mode::Warm);
    play.prompt("hi");
    let stream = recorded("warm-steer");
    let steered = stream.lines().position(|line| line.contains(r#""tag":"prompt""#)).unwrap() + 1;
    for (at, line) in stream.lines().enumerate() {
        if at == steered {
            play.control(&Control::Steer("and now".into())).unwrap();
        }
        play.line(line);
    }
    let answer = &play.completed().answer;
    assert!(answer.starts_with("Beginning slowly. Now done slowly.\n\nYou said so far"), "{answer}");
}

#[test]
fn a_tool_begins_once_and_steps_are_paragraphs() {
    let play = warm("warm-tool", &allow());
    assert_eq!(play.summary(), ["Started   command echo hi", "Completed + command echo hi"]);
    assert_eq!(play.completed().answer, "I will run it.\n\nDone. The tool said: hi");
    assert_eq!(play.completed().usage["input_tokens"], 468);
    let told = plain(&recorded("plain-tool"));
    assert_eq!(told.completed().answer, "Step 1.\n\nStep 2.\n\nAll 2 steps done.");
    assert_eq!(told.completed().usage["input_tokens"], 702, "all steps count");
}

#[test]
fn words_and_thoughts_are_said_as_they_come() {
    let (pieces, unknown) = beside(Mode::Warm, &recorded("warm-think"));
    let wanted = [
        think("I should run a command."),
        Piece::Break,
        think("It ran."),
        Piece::Break,
        say("Done. The tool said: hi\n"),
        Piece::Break,
    ];
    assert_eq!((pieces, unknown), (wanted.to_vec(), Vec::new()));
    let (pieces, _) = beside(Mode::Plain, &recorded("plain-think"));
    assert_eq!(pieces, [say("Done. The tool said: hi\n"), Piece::Break]);
    let told = plain(&recorded("plain-think"));
    assert!(told.summary().contains(&"Completed + note It ran.".to_owned()), "{:?}", told.summary());
}

#[test]
fn a_run_that_is_cut_short_keeps_what_was_said() {
    let stream = recorded("warm-interrupt");
    let mut dialog = plan(&Opencode, Mode::Warm, None, &EngineSettings::default()).dialog;
    let mut out = Output::default();
    dialog.prompt("hi", &mut out);
    let heard = lines_up_to(&stream, "session.error");
    heard.lines().for_each(|line| dialog.line(&serde_json::from_str(line).unwrap(), &mut out));
    assert_eq!(dialog.answer_so_far(), "Beginning slowly.");
}

#[test]
fn an_interrupted_run_says_how_far_it_got_and_nothing_of_its_insides() {
    for (name, answer) in [("warm-interrupt", "Beginning slowly."), ("warm-interrupt-tool", "I will run it.")] {
        let mut play = Play::new(&Opencode, Mode::Warm);
        play.prompt("hi");
        let stream = recorded(name);
        for line in stream.lines() {
            if line.contains("session.error") {
                play.control(&Control::Interrupt).unwrap();
                assert!(play.sent.last().unwrap()["path"].as_str().unwrap().ends_with("/abort"));
            }
            play.line(line);
        }
        let done = play.completed();
        assert_eq!((done.error.as_deref(), done.answer.as_str()), (Some("interrupted"), answer));
    }
    let tool = warm("warm-interrupt-tool", &allow());
    assert_eq!(tool.summary().last().unwrap(), "Completed - command sleep 30", "it did not come to its end");
}

#[test]
fn a_run_that_is_interrupted_before_it_begins_is_stopped_when_it_does() {
    let mut play = Play::new(&Opencode, Mode::Warm);
    play.prompt("hi");
    play.line(r#"{"type":"moot.response","tag":"session","status":200,"body":{"id":"ses_1"}}"#);
    play.control(&Control::Interrupt).unwrap();
    play.line(r#"{"type":"session.status","properties":{"sessionID":"ses_1","status":{"type":"busy"}}}"#);
    let aborts = play.sent.iter().filter(|order| order["path"] == "/session/ses_1/abort").count();
    assert_eq!(aborts, 2);
}

#[test]
fn an_edit_is_asked_with_its_file_and_diff_and_a_command_with_its_line() {
    let edit = warm("warm-edit", &allow());
    let asks = asked(&edit.events);
    let Subject::Edit { paths, diff, .. } = &asks[0].subject else { panic!("{:?}", asks[0]) };
    assert_eq!((paths.as_slice(), asks[0].title.as_str()), (&["/r/e.txt".to_owned()][..], "edit: /r/e.txt"));
    assert!(
        matches!(&diff[..], [FileDiff { file, text }] if file == "/r/e.txt" && text.contains("-old line\n+new line"))
    );
    let outside = warm("warm-outside", &allow());
    let titles: Vec<&str> = asked(&outside.events).iter().map(|ask| ask.title.as_str()).collect();
    assert_eq!(titles, ["external_directory: cat /etc/hostname && ls", "bash: cat /etc/hostname && ls"]);
    let line = vec![CommandLine::Text("cat /etc/hostname && ls".into())];
    assert_eq!(asked(&outside.events)[1].subject, Subject::Command { tool: "bash".into(), lines: line });
}

#[test]
fn a_denied_command_ends_the_turn_and_a_reason_lets_it_go_on() {
    let denied = warm("warm-deny", &AskAnswer::Deny { note: String::new(), stop: false });
    assert_eq!(denied.sent.last().unwrap()["body"], serde_json::json!({"reply": "reject"}));
    assert_eq!(denied.summary().last().unwrap(), "Completed - command touch denied.txt");
    assert!(denied.completed().ok && denied.completed().answer == "I will run it.");
    let told = warm("warm-deny-with-note", &AskAnswer::Deny { note: "not like this".into(), stop: false });
    assert_eq!(told.sent.last().unwrap()["body"]["message"], "not like this");
    assert!(told.completed().answer.contains("feedback: not like this"));
}

#[test]
fn a_question_is_asked_and_answered_or_dismissed() {
    let play = warm("warm-question", &AskAnswer::Reply { answers: vec!["Blue".into()] });
    let asks = asked(&play.events);
    assert_eq!(
        (asks[0].title.as_str(), asks[0].options.as_slice()),
        ("Which colour?", &["Red".to_owned(), "Blue".into()][..])
    );
    assert_eq!(play.sent.last().unwrap()["body"], serde_json::json!({"answers": [["Blue"]]}));
    assert!(play.completed().answer.contains("\"Which colour?\"=\"Blue\""));
    let dismissed = warm("warm-question-denied", &AskAnswer::Deny { note: String::new(), stop: false });
    assert!(dismissed.sent.last().unwrap()["path"].as_str().unwrap().ends_with("/reject"));
    assert!(dismissed.completed().ok);
}

#[test]
fn what_a_subagent_may_do_people_decide_and_what_it_costs_counts() {
    let play = warm("warm-subagent", &allow());
    assert_eq!(asked(&play.events)[0].title, "bash: touch sub-made.txt");
    let answered =
        play.sent.iter().filter(|order| order["path"].as_str().unwrap().starts_with("/permission/per_")).count();
    assert_eq!(answered, 1);
    assert_eq!(play.summary(), ["Started   tool touch", "Completed + tool touch"], "its own tools are not ours");
    assert_eq!(play.completed().usage["input_tokens"], 4 * 234);
    assert!(play.completed().answer.starts_with("Sub: <task id="), "{}", play.completed().answer);
}

#[test]
fn retries_are_one_action_that_ends_when_the_model_answers() {
    let play = warm("warm-retry", &allow());
    let retry = "the fake model refuses with 500, trying again at 15:40:47 UTC (attempt 1)";
    assert_eq!(
        play.summary(),
        [format!("Updated   warning {retry}"), "Completed + warning the model answers again".to_owned()]
    );
    assert_eq!(play.completed().answer, "It worked the second time.");
    let tried = warm("warm-500", &allow());
    assert_eq!(tried.summary().len(), 5);
}

#[test]
fn trouble_is_said_in_words_that_help() {
    let denied = "API error 401: invalid x-api-key\nhint: log in with `opencode auth login`";
    let unknown = warm("warm-unknown-model", &allow());
    assert_eq!(unknown.completed().error.as_deref(), Some("Model not found: fake/nope."));
    assert!(warm("warm-401", &allow()).completed().error.as_deref().unwrap().starts_with(denied));
    for (name, wanted) in [
        ("plain-401", denied),
        ("plain-500", "API error 500: the fake model refuses with 500"),
        ("plain-unknown-model", "opencode failed and does not say why (err_bb0942a3)\nhint: "),
    ] {
        let mut play = Play::lines(&Opencode, &recorded(name));
        play.exit(1, "");
        let error = play.completed().error.as_deref().unwrap();
        assert!(error.starts_with(wanted) && play.completed().answer.is_empty(), "{name}: {error}");
    }
}

#[test]
fn in_the_plain_mode_what_should_be_asked_is_not_done_and_the_run_says_so() {
    let play = plain(&recorded("plain-deny"));
    assert_eq!(play.summary(), ["Completed - command touch plain-denied.txt"]);
    assert_eq!(play.actions()[0].message.as_deref(), Some("not done: nobody can be asked in the plain mode"));
    let done = play.completed();
    assert!(!done.ok && done.answer == "I will run it.");
    assert!(done.error.as_deref().unwrap().contains("nobody can be asked: touch plain-denied.txt\nhint: "), "{done:?}");
    let sub = plain(&recorded("plain-subagent"));
    assert!(sub.completed().ok, "a subagent that may not is told so, and the model goes on");
}

#[test]
fn a_step_that_used_a_tool_is_not_the_last_one_whatever_its_reason_says() {
    let tool = recorded("plain-tool").replace("tool-calls", "stop");
    assert!(plain(&tool).completed().answer.ends_with("All 2 steps done."));
}

#[test]
fn a_conversation_that_grows_too_long_is_summed_up_unseen_and_goes_on() {
    let said = "Step 1.\n\nHello from the fake model.";
    let told = plain(&recorded("plain-compaction"));
    assert_eq!((told.completed().answer.as_str(), &told.completed().usage["input_tokens"]), (said, &488.into()));
    let heard = warm("warm-compaction", &allow());
    assert_eq!((heard.completed().answer.as_str(), &heard.completed().usage["input_tokens"]), (said, &488.into()));
}

#[test]
fn a_session_of_another_folder_is_refused_by_its_answer_too() {
    let token = "ses_e1afd136dffeeydDUdbS88cZGg";
    let heard = |lines: &str| {
        let mut dialog = plan(&Opencode, Mode::Warm, Some(token), &EngineSettings::default()).dialog;
        let mut out = Output::default();
        dialog.prompt("hi", &mut out);
        lines.lines().for_each(|line| dialog.line(&serde_json::from_str(line).unwrap(), &mut out));
        out.events
    };
    let foreign = heard(&recorded("warm-foreign").replace("\"/r\"", "\"/elsewhere\""));
    let [EngineEvent::Completed(done)] = &foreign[..] else { panic!("{foreign:?}") };
    assert!(done.error.as_deref().unwrap().contains("belongs to the folder `/elsewhere`\nhint: "), "{done:?}");
    let same = heard(&recorded("warm-resume"));
    let Some(EngineEvent::Completed(done)) = same.last() else { panic!("{same:?}") };
    assert_eq!(done.answer, "You said so far: hello there | (recall)");
}

#[test]
fn events_that_nobody_knows_are_named_and_the_many_known_ones_are_not() {
    for name in ["warm-hello", "warm-subagent", "warm-edit", "warm-500", "warm-question", "warm-interrupt"] {
        assert_eq!(beside(Mode::Warm, &recorded(name)).1, Vec::<String>::new(), "{name}");
    }
    let quiet = r#"{"type":"server.heartbeat","properties":{}}"#;
    let new = r#"{"type":"permission.v2.asked","properties":{}}"#;
    assert_eq!(beside(Mode::Warm, &format!("{quiet}\n{new}")).1, ["permission.v2.asked"]);
    let part = r#"{"type":"message.part.updated","properties":{"part":{"type":"hologram"}}}"#;
    assert_eq!(beside(Mode::Warm, part).1, ["part hologram"]);
    assert_eq!(beside(Mode::Plain, r#"{"type":"news"}"#).1, ["news"]);
}

/// As opencode 1.18.33 ended one of five that were started at once in a new home.
#[test]
fn one_that_met_another_at_the_making_of_their_database_may_begin_again() {
    let exit = |stderr: &str| Exit { code: Some(1), signal: None, stderr: stderr.to_owned() };
    let met = "Error: Unexpected error\n\nFailed query: \n        CREATE TABLE `workspace` (\n          `id` text PRIMARY KEY";
    assert!(Opencode.may_begin_again(&exit(met)));
    assert!(Opencode.may_begin_again(&exit("database is locked")));
    assert!(!Opencode.may_begin_again(&exit("Error: Model not found: fake/none")));
}
