//! One test per rule of the mapping.

use super::{Pi, file_time};
use crate::engine::{EngineSettings, Mode};
use crate::engines::testing::Recorded;
use crate::event::EngineEvent;
use crate::testing::{Play, launch};

const SAMPLE: &str = include_str!("../../../tests/fixtures/pi.jsonl");

/// What the real program wrote.
macro_rules! real {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/pi-", $name, ".jsonl"))
    };
}

fn warm(text: &str) -> Recorded {
    Recorded::play(&Pi, Mode::Warm, text)
}

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
    assert!(matches!(&play.events[0], EngineEvent::Started(started) if started.resume.value == "ccd569e0-4e1b"));
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

#[test]
fn a_session_is_known_by_its_whole_id_in_both_modes_and_when_it_is_resumed() {
    let plain = |text: &str| Recorded::play(&Pi, Mode::Plain, text).run().session().to_owned();
    assert_eq!(plain(real!("0.74.2/json-hello")), "01a1e500-07ae-7a2b-9896-cf7cb2f522c5");
    let mut resumed = Recorded::new(&Pi, Mode::Plain, Some("01a1e509"), &EngineSettings::default());
    resumed.lines(real!("0.74.2/json-resume"));
    assert_eq!(resumed.run().session(), "01a1e509-d373-762d-ad6d-50ba15f2ff5b");
    for text in [real!("0.73.1/rpc-hello"), real!("0.74.2/rpc-hello"), real!("0.87.1/rpc-hello")] {
        assert_eq!(warm(text).run().session().len(), 36);
    }
}

#[test]
fn a_real_conversation_is_answered_and_no_line_of_it_is_unknown() {
    for (text, answer) in [
        (real!("0.73.1/rpc-hello"), "Hello from the fake model."),
        (real!("0.74.2/rpc-hello"), "Hello from the fake model."),
        (real!("0.87.1/rpc-hello"), "Hello from the fake model."),
        (real!("0.74.2/rpc-tool"), "Done. The tool said: hi"),
        (real!("0.87.1/rpc-tool"), "Done. The tool said: hi"),
        (real!("0.74.2/rpc-steer"), "Hello from the fake model."),
    ] {
        let play = warm(text);
        let (run, done) = (play.run(), play.run().completed());
        assert!(done.ok && done.answer == answer, "{done:?}");
        assert!(run.unknown.is_empty(), "{:?}", run.unknown);
    }
    assert_eq!(warm(r#"{"type":"hologram"}"#).run().unknown, ["hologram"]);
}

#[test]
fn text_and_thoughts_come_as_they_are_written_and_an_interrupted_run_keeps_them() {
    for text in [real!("0.74.2/rpc-think"), real!("0.87.1/rpc-think")] {
        let said = warm(text).run().said();
        assert_eq!(said, ["[Let me think about it. The person wants a greeting.]", "Hello after thinking."]);
    }
    assert_eq!(warm(real!("0.74.2/rpc-tool")).run().said(), ["I will run it.", "Done. The tool said: hi\n"]);
    for text in [real!("0.73.1/rpc-interrupt"), real!("0.74.2/rpc-interrupt"), real!("0.87.1/rpc-interrupt")] {
        let play = warm(text);
        assert!(play.run().so_far.contains(&"Beginning slowly.".to_owned()));
        let done = play.run().completed();
        assert_eq!((done.answer.as_str(), done.error.as_deref()), ("Beginning slowly.", Some("interrupted")));
    }
}

#[test]
fn trouble_with_the_model_is_seen_while_it_lasts_and_said_once_at_the_end() {
    for (text, error) in [
        (real!("0.74.2/rpc-err500"), "the provider has trouble (500): 500 the fake model refuses with 500\nhint: "),
        (real!("0.74.2/rpc-err429"), "the provider takes no more requests for now (429): "),
        (real!("0.87.1/rpc-err429"), "the provider takes no more requests for now (429): 429: the fake model refuses"),
    ] {
        let play = warm(text);
        let (actions, done) = (play.run().actions(), play.run().completed());
        assert!(actions.len() == 3 && actions[0].starts_with("Updated   warning "), "{actions:?}");
        assert!(actions[2].ends_with("; trying again (3 of 3)"), "{actions:?}");
        assert!(!done.ok && done.answer.is_empty() && done.error.as_ref().unwrap().starts_with(error), "{done:?}");
    }
    for text in [real!("0.74.2/rpc-err401"), real!("0.87.1/rpc-err401")] {
        let error = warm(text).run().completed().error.clone().unwrap();
        assert!(
            error.starts_with("the provider refuses the key or the login (401)") && error.contains("/login"),
            "{error}"
        );
    }
    let mut play = Play::lines(&Pi, real!("0.74.2/json-nokey").lines().nth(1).unwrap());
    play.exit(1, "No API key found for anthropic.");
    assert!(play.completed().error.as_ref().unwrap().starts_with("there is no key for the model: No API key found"));
}

#[test]
fn a_process_that_is_kept_answers_each_prompt_with_its_own_answer_and_counts_it_alone() {
    for text in [real!("0.73.1/rpc-warm3"), real!("0.74.2/rpc-warm3"), real!("0.87.1/rpc-warm3")] {
        let play = warm(text);
        let answers: Vec<&str> = play.runs.iter().map(|run| run.completed().answer.as_str()).collect();
        let last = "You said so far: one | (tool:echo two) | (recall)";
        assert_eq!(answers, ["Hello from the fake model.", "Done. The tool said: two", last]);
        let tokens: Vec<_> = play.runs.iter().map(|run| run.completed().usage["output_tokens"].as_u64()).collect();
        assert_eq!(tokens, [Some(55), Some(110), Some(55)]);
    }
}

#[test]
fn the_end_of_an_earlier_runs_retries_does_not_end_the_next_run() {
    let mut play = warm(real!("0.74.2/rpc-hello"));
    play.people("prompt again");
    play.lines_after(&[
        r#"{"type":"auto_retry_end","success":false,"attempt":3,"finalError":"old"}"#,
        r#"{"type":"agent_settled"}"#,
    ]);
    assert!(play.runs[1].events.is_empty(), "{:?}", play.runs[1].events);
}

#[test]
fn words_during_a_run_are_answered_by_it_and_the_answer_before_them_is_kept() {
    for text in [real!("0.73.1/rpc-steertext"), real!("0.74.2/rpc-steertext"), real!("0.87.1/rpc-steertext")] {
        let play = warm(text);
        assert_eq!(play.sent.last().unwrap()["streamingBehavior"], "steer");
        let done = play.run().completed();
        assert_eq!(done.answer, "Beginning slowly. Now done slowly.\n\nHello from the fake model.");
    }
}

#[test]
fn words_before_the_prompt_is_taken_up_wait_for_that() {
    let mut play = Recorded::new(&Pi, Mode::Warm, None, &EngineSettings::default());
    play.people("prompt hi");
    play.people("steer early");
    assert_eq!(play.sent.last().unwrap()["message"], "hi");
    play.lines_after(&[
        r#"{"type":"response","command":"prompt","success":true}"#,
        r#"{"type":"message_end","message":{"role":"user","content":"hi"}}"#,
    ]);
    assert_eq!(play.sent.last().unwrap()["message"], "early");
}

#[test]
fn words_that_cross_with_the_end_of_a_run_are_answered_by_it() {
    for text in [real!("0.74.2/rpc-late"), real!("0.87.1/rpc-late")] {
        let play = warm(text);
        assert_eq!(play.run().completed().answer, "Hello from the fake model.\n\nHello from the fake model.");
    }
    let recorded: Vec<&str> = real!("0.74.2/rpc-late").lines().collect();
    let end = recorded.iter().position(|line| line.contains("agent_end")).unwrap();
    let mut refused = warm(&recorded[..=end].join("\n"));
    assert!(!matches!(refused.run().events.last(), Some(EngineEvent::Completed(_))), "it waits for the words");
    refused.lines_after(&[r#"{"id":"words-1","type":"response","command":"prompt","success":false,"error":"no"}"#]);
    assert!(refused.run().completed().ok);
    let mut silent = warm(&recorded[..=end].join("\n"));
    silent.people("settle");
    assert!(silent.run().completed().ok, "it does not wait for ever");
}

#[test]
fn a_provider_without_a_model_is_refused_in_words() {
    let mut settings = EngineSettings::default();
    settings.own.insert("provider".into(), "fake".into());
    let error = crate::engine::settings::check_settings(&Pi, &settings).unwrap_err();
    assert_eq!(error.sentence, "`engines.pi.provider` is set without a model");
}

#[test]
fn a_session_that_pi_itself_finds_in_another_folder_is_told_in_words() {
    let mut play = Play::new(&Pi, Mode::Plain);
    play.exit(0, "Session found in different project: /x\nFork this session into current directory? [y/N] ");
    assert!(play.completed().error.as_ref().unwrap().starts_with("the session belongs to another folder\nhint: "));
}
