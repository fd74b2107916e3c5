//! The second mode of each engine: steering, interrupting, and questions with answers.

use folkmoot_engines::engine::{Mode, Unsupported};
use folkmoot_engines::event::{AskAnswer, AskKind, EngineEvent};
use folkmoot_runs::availability;
use folkmoot_runs::run::Run;

use crate::support::*;

async fn first_ask(run: &mut Run) -> folkmoot_engines::event::Ask {
    loop {
        match within(run.next()).await.expect("an ask") {
            EngineEvent::Asked(asked) => return *asked.ask,
            EngineEvent::Completed(completed) => panic!("{completed:?}"),
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_warm_run_obeys_the_same_contract() {
    for engine in PROGRAMS {
        let stage = stage(engine, "warm");
        let mut run = stage.run_in(Mode::Warm, "hello", None);
        let events = collect(&mut run).await;
        obeys_the_contract(&events, engine);
        assert_eq!(completed(&events).answer, "echo: hello", "{engine}: {events:#?}");
        assert!(!stage.note("argv").unwrap().contains("hello"));
        within(run.gone()).await;
    }
}

#[tokio::test]
async fn a_permission_question_is_an_event_and_the_answer_goes_back() {
    for engine in PROGRAMS {
        for allow in [true, false] {
            let stage = stage(engine, "warm");
            let mut run = stage.run_in(Mode::Warm, "ask", None);
            let ask = first_ask(&mut run).await;
            assert_eq!(ask.kind(), AskKind::Permission);
            assert!(ask.title.contains("rm x") && !ask.detail.is_empty(), "{engine}: {ask:?}");
            let answer = if allow {
                AskAnswer::Allow { input: None }
            } else {
                AskAnswer::Deny { note: String::new(), stop: false }
            };
            assert_eq!(run.handle().answer("other", answer.clone()).await, Err(Unsupported));
            run.handle().answer(&ask.id, answer).await.unwrap();
            let events = collect(&mut run).await;
            let said = if allow { "accept" } else { "decline" };
            assert!(completed(&events).answer.starts_with(said), "{engine}: {events:#?}");
        }
    }
}

#[tokio::test]
async fn a_running_engine_can_be_steered() {
    for engine in PROGRAMS {
        let stage = stage(engine, "warm");
        let mut run = stage.run_in(Mode::Warm, "wait", None);
        assert!(matches!(within(run.next()).await, Some(EngineEvent::Started(_))), "{engine}");
        let handle = run.handle();
        // A turn can be steered once the engine has said that it began.
        within(async {
            while handle.steer("left").await.is_err() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(completed(&collect(&mut run).await).answer, "steered: left", "{engine}");
    }
}

#[tokio::test]
async fn a_running_engine_can_be_interrupted_and_keeps_its_thread() {
    for engine in PROGRAMS {
        let stage = stage(engine, "warm");
        let mut run = stage.run_in(Mode::Warm, "wait", None);
        let Some(EngineEvent::Started(started)) = within(run.next()).await else { panic!("{engine}") };
        let handle = run.handle();
        within(async {
            while handle.interrupt().await.is_err() {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let events = collect(&mut run).await;
        let done = completed(&events);
        assert!(!done.ok && done.resume == Some(started.resume), "{engine}: {done:?}");
    }
}

#[tokio::test]
async fn plain_runs_cannot_be_steered_and_say_so() {
    let stage = stage("codex", "held");
    let mut run = stage.run("x", None);
    within(run.next()).await;
    assert_eq!(run.handle().steer("left").await, Err(Unsupported));
}

#[tokio::test]
async fn a_process_that_is_kept_warm_answers_the_next_prompt_of_its_thread() {
    for engine in PROGRAMS {
        let mut stage = stage(engine, "warm");
        let mut settings = stage.runner.settings(&stage.engine.id());
        settings.own.insert("keep_warm_s".into(), 60.into());
        let settings = std::collections::BTreeMap::from([(engine.to_owned(), settings)]);
        let host = folkmoot_runs::process::Host {
            supervisor: Some(env!("CARGO_BIN_EXE_fake-engine").into()),
            ..Default::default()
        };
        stage.runner =
            folkmoot_runs::run::Runner::new(settings, Default::default(), folkmoot_engines::engines::codecs()).on(host);
        let first = collect(&mut stage.run_in(Mode::Warm, "one", None)).await;
        let token = completed(&first).resume.clone().unwrap();
        std::fs::remove_file(stage.folder.path().join("argv")).unwrap();
        let mut run = stage.run_in(Mode::Warm, "two", Some(token.clone()));
        let second = collect(&mut run).await;
        within(run.gone()).await;
        obeys_the_contract(&second, engine);
        assert_eq!(completed(&second).answer, "echo: two", "{engine}: {second:#?}");
        assert!(stage.note("argv").is_none(), "{engine}: no second process was started");
    }
}

#[tokio::test]
async fn a_stream_of_events_that_breaks_off_ends_the_run_in_words() {
    let stage = stage("opencode", "warm");
    let mut run = stage.run_in(Mode::Warm, "break", None);
    let events = collect(&mut run).await;
    let done = completed(&events);
    assert!(!done.ok && done.error.as_deref().unwrap().contains("stream of events broke off"), "{done:?}");
    within(run.gone()).await;
}

#[tokio::test]
async fn the_warm_mode_is_used_only_where_the_program_knows_it() {
    for engine in PROGRAMS {
        let knows = stage(engine, "warm");
        assert!(
            availability::has_warm(knows.engine, &knows.runner.settings(&knows.engine.id()), &knows.runner.host())
                .await,
            "{engine}"
        );
        let plain = stage(engine, "success");
        assert!(
            !availability::has_warm(plain.engine, &plain.runner.settings(&plain.engine.id()), &plain.runner.host())
                .await,
            "{engine}"
        );
    }
}

#[tokio::test]
async fn engines_are_looked_at_without_starting_a_session() {
    for engine in PROGRAMS {
        let stage = stage(engine, "success");
        let found =
            availability::look(stage.engine, &stage.runner.settings(&stage.engine.id()), &stage.runner.host()).await;
        assert!(found.is_usable() && found.version.as_deref() == Some("9.8.7"), "{found:?}");
        let missing =
            folkmoot_engines::engine::EngineSettings { command: "no-such-engine".into(), ..Default::default() };
        let found = availability::look(stage.engine, &missing, &stage.runner.host()).await;
        assert!(found.problem.unwrap().hint.unwrap().contains(&format!("engines.{engine}.command")));
    }
}
