//! Group 1 of the document's testing requirements: the runner contract.

use folkmoot_engines::engine::Mode;
use folkmoot_engines::engines;
use folkmoot_engines::event::{ActionKind, EngineEvent, Phase};
use folkmoot_runs::locks::Locks;
use folkmoot_runs::run::{Request, Runner};

use crate::support::*;

#[tokio::test]
async fn if_a_token_is_obtained_exactly_one_started() {
    for engine in PROGRAMS {
        let events = stage(engine, "success").play("hello", None).await;
        obeys_the_contract(&events, engine);
        assert!(matches!(events[0], EngineEvent::Started(_)), "{events:#?}");
        let done = completed(&events);
        assert!(done.ok && done.answer == "All done.", "{done:?}");
        assert!(done.usage.contains_key("input_tokens"), "{done:?}");
    }
}

#[tokio::test]
async fn action_schema_validity_and_event_ordering_preserved() {
    for engine in PROGRAMS {
        let events = stage(engine, "success").play("hello", None).await;
        let command = actions(&events).into_iter().find(|event| event.action.kind == ActionKind::Command).unwrap();
        let phases: Vec<Phase> = actions(&events)
            .iter()
            .filter(|event| event.action.id == command.action.id)
            .map(|event| event.phase)
            .collect();
        assert!(phases == [Phase::Started, Phase::Completed] || phases == [Phase::Completed], "{engine}: {phases:?}");
        assert_eq!(command.engine, *engines::find(engine).unwrap().id().as_str());
    }
}

#[tokio::test]
async fn completed_emitted_and_last_for_controlled_termination_after_started() {
    for engine in PROGRAMS {
        for mode in ["success", "failure", "garbage", "mid-line", "no-newline", "huge"] {
            let events = stage(engine, mode).play("hello", None).await;
            obeys_the_contract(&events, engine);
            assert!(events.iter().any(|event| matches!(event, EngineEvent::Started(_))), "{engine} {mode}");
        }
    }
}

#[tokio::test]
async fn a_failure_shows_the_exit_code_and_the_tail_of_standard_error() {
    for engine in PROGRAMS {
        let events = stage(engine, "failure").play("hello", None).await;
        let error = completed(&events).error.as_deref().unwrap();
        assert!(error.contains("(rc=3)") && error.contains("boom: no credit left"), "{engine}: {error}");
    }
}

#[tokio::test]
async fn without_a_session_there_is_no_started_but_the_failure_is_an_event() {
    for engine in PROGRAMS {
        let events = stage(engine, "no-session").play("hello", None).await;
        obeys_the_contract(&events, engine);
        let done = completed(&events);
        assert!(!done.ok && done.error.as_deref().unwrap().contains("not logged in"), "{engine}: {done:?}");
        assert!(!events.iter().any(|event| matches!(event, EngineEvent::Started(_))), "{engine}");
        let stage = stage(engine, "no-session");
        let token = stage.token("ses_1");
        assert_eq!(completed(&stage.play("hello", Some(token.clone())).await).resume, Some(token), "{engine}");
    }
}

#[tokio::test]
async fn an_engine_that_says_nothing_has_failed() {
    for engine in PROGRAMS {
        let events = stage(engine, "silent").play("hello", None).await;
        obeys_the_contract(&events, engine);
        assert!(!completed(&events).ok, "{engine}");
    }
}

#[tokio::test]
async fn invalid_lines_become_warnings_and_lose_nothing_else() {
    for engine in PROGRAMS {
        let events = stage(engine, "garbage").play("hello", None).await;
        let done = completed(&events);
        assert!(done.ok && done.answer == "All done.", "{engine}: {done:?}");
        let warnings = actions(&events).into_iter().filter(|event| event.action.kind == ActionKind::Warning);
        let titles: Vec<&str> = warnings.map(|event| event.action.title.as_str()).collect();
        // The end of opencode is the end of its process, so it is heard to the end.
        assert_eq!(titles.len(), if engine == "opencode" { 4 } else { 3 }, "{engine}: {titles:?}");
        assert!(titles[0].contains("not json at all"), "{titles:?}");
    }
}

#[tokio::test]
async fn a_last_line_without_newline_counts_and_death_within_a_line_is_a_failure() {
    for engine in PROGRAMS {
        let whole = stage(engine, "no-newline").play("hello", None).await;
        assert_eq!(completed(&whole).answer, "All done.", "{engine}");
        let half = stage(engine, "mid-line").play("hello", None).await;
        assert!(completed(&half).error.as_deref().unwrap().contains("signal 9"), "{engine}");
    }
}

#[tokio::test]
async fn lines_up_to_10_mb_are_read_and_longer_ones_are_skipped_with_a_warning() {
    for engine in PROGRAMS {
        let events = stage(engine, "huge").play("hello", None).await;
        assert!(completed(&events).ok, "{engine}");
        let warned = actions(&events).into_iter().filter(|event| event.action.kind == ActionKind::Warning).count();
        assert_eq!(warned, 1, "{engine}: {events:#?}");
    }
}

#[tokio::test]
async fn a_resumed_run_names_its_thread_on_the_command_line_and_keeps_its_token() {
    for (engine, value, words) in [
        ("codex", "019a-77", "resume\u{1f}019a-77\u{1f}-"),
        ("claude", "s-1", "--resume\u{1f}s-1"),
        ("opencode", "ses_A1", "--session\u{1f}ses_A1"),
        ("pi", "ccd569e0", "--session\u{1f}ccd569e0"),
    ] {
        let stage = stage(engine, "success");
        let events = stage.play("hello", Some(stage.token(value))).await;
        obeys_the_contract(&events, engine);
        assert_eq!(completed(&events).resume, Some(stage.token(value)), "{engine}");
        let argv = stage.note("argv").unwrap();
        assert!(argv.contains(words), "{engine}: {argv:?}");
    }
}

#[tokio::test]
async fn the_prompt_goes_to_standard_input_and_not_into_the_list_of_processes() {
    for engine in PROGRAMS {
        let stage = stage(engine, "success");
        let prompt = "-- fix \"it\" now\n`codex resume 019a`\nplease";
        stage.play(prompt, None).await;
        assert_eq!(
            stage.note("stdin").unwrap(),
            "-- fix \"it\" now\nplease",
            "{engine}: resume lines are not part of it"
        );
        assert!(!stage.note("argv").unwrap().contains("fix"), "{engine}");
        stage.play("pi --session x", None).await;
        assert_eq!(stage.note("stdin").unwrap(), "continue", "{engine}");
    }
}

#[tokio::test]
async fn claude_does_not_get_the_api_key_unless_told_so() {
    let key = [("ANTHROPIC_API_KEY", "k")];
    let set = stage_with("claude", "success", &key, Locks::default());
    set.play("hello", None).await;
    assert_eq!(set.note("key").unwrap(), "Some(\"k\")", "the configuration itself may set it");
    let order = folkmoot_engines::engine::Order {
        settings: &folkmoot_engines::engine::EngineSettings::default(),
        prompt: "",
        resume: None,
        folder: std::path::Path::new("/"),
        mode: Mode::Plain,
        now: 0,
    };
    let plan = engines::find("claude").unwrap().plan(&order).unwrap();
    let folkmoot_engines::engine::Source::Process(launch) = plan.source else { panic!() };
    assert!(launch.env.contains(&("ANTHROPIC_API_KEY".to_owned(), None)));
}

#[tokio::test]
async fn a_missing_program_or_folder_is_a_failure_with_a_hint() {
    let stage = stage("codex", "success");
    let runner = Runner::new(Default::default(), Locks::default(), engines::codecs());
    let mut settings = std::collections::BTreeMap::new();
    settings.insert(
        "codex".to_owned(),
        folkmoot_engines::engine::EngineSettings { command: "no-such-engine".into(), ..Default::default() },
    );
    let missing = Runner::new(settings, Locks::default(), engines::codecs());
    let request = Request { prompt: "x".into(), folder: stage.folder.path().into(), ..Request::default() };
    let events = collect(&mut missing.run(stage.engine, request)).await;
    assert!(completed(&events).error.as_deref().unwrap().contains("\nhint: "), "{events:?}");
    drop(runner);
    let request = Request { prompt: "x".into(), folder: "/no/such/folder".into(), ..Request::default() };
    let events = collect(&mut stage.runner.run(stage.engine, request)).await;
    assert!(completed(&events).error.as_deref().unwrap().contains("/no/such/folder"));
}

#[tokio::test]
async fn the_script_engine_obeys_the_contract_too() {
    let stage = stage("script", "");
    let write = |text: &str| std::fs::write(stage.folder.path().join("play.jsonl"), text).unwrap();
    write(
        "{\"type\":\"started\"}\n{\"type\":\"action\",\"action\":{\"id\":\"1\",\"kind\":\"note\",\"title\":\"n\"}}\nbroken\n{\"type\":\"completed\",\"answer\":\"ok\"}\n{\"type\":\"started\"}",
    );
    let events = stage.play("play.jsonl", None).await;
    obeys_the_contract(&events, "script");
    assert_eq!(completed(&events).answer, "ok");
    write("{\"type\":\"started\"}\n{\"type\":\"fail\",\"code\":4,\"message\":\"out of paper\"}");
    let error = completed(&stage.play("play.jsonl", None).await).error.clone().unwrap();
    assert!(error.contains("rc=4") && error.contains("out of paper"), "{error}");
    write("{\"type\":\"started\"}");
    assert!(!completed(&stage.play("play.jsonl", None).await).ok);
}

#[tokio::test(start_paused = true)]
async fn a_script_waits_and_delays() {
    let stage = stage("script", "");
    let lines = [
        "{\"type\":\"started\"}",
        "{\"type\":\"delay\",\"ms\":3600000}",
        "{\"type\":\"wait\",\"for\":\"steer\"}",
        "{\"type\":\"completed\",\"answer\":\"{{prompt}}\"}",
    ];
    std::fs::write(stage.folder.path().join("play.jsonl"), lines.join("\n")).unwrap();
    let begun = tokio::time::Instant::now();
    let mut run = stage.run("play.jsonl", None);
    assert!(matches!(run.next().await, Some(EngineEvent::Started(_))));
    run.handle().steer("go on").await.unwrap();
    assert_eq!(completed(&collect_paused(&mut run).await).answer, "play.jsonl");
    assert!(begun.elapsed().as_secs() >= 3600);
}

async fn collect_paused(run: &mut folkmoot_runs::run::Run) -> Vec<EngineEvent> {
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        events.push(event);
    }
    events
}
