//! Group 2: one run at a time per thread.

use folkmoot_engines::event::EngineEvent;
use folkmoot_runs::locks::Locks;
use futures_util::FutureExt;

use crate::support::*;

fn log(stage: &Stage) -> Vec<String> {
    stage.note("log").unwrap_or_default().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn concurrent_runs_for_the_same_resume_token_serialize() {
    for engine in PROGRAMS {
        let stage = stage(engine, "held");
        let token = stage.token("ses_same");
        let (mut first, mut second) = (stage.run("one", Some(token.clone())), stage.run("two", Some(token.clone())));
        stage.wait_for_note("log").await;
        assert!(matches!(within(first.next()).await, Some(EngineEvent::Started(_))));
        stage.tell("go");
        let (one, two) = tokio::join!(collect(&mut first), collect(&mut second));
        assert!(completed(&one).ok && completed(&two).ok);
        within(async { tokio::join!(first.gone(), second.gone()) }).await;
        assert_eq!(log(&stage), ["begin", "end", "begin", "end"], "{engine}");
        assert_eq!(stage.runner.locks().busy(), 0);
    }
}

#[tokio::test]
async fn runs_of_different_threads_are_parallel() {
    let stage = stage("codex", "held");
    let mut runs: Vec<_> = ["a", "b", "c"].iter().map(|value| stage.run("x", Some(stage.token(value)))).collect();
    for run in &mut runs {
        // All have started although none may end yet.
        assert!(matches!(within(run.next()).await, Some(EngineEvent::Started(_))));
    }
    stage.tell("go");
    for mut run in runs {
        assert!(completed(&collect(&mut run).await).ok);
    }
}

#[tokio::test]
async fn resume_none_runs_acquire_the_lock_once_the_token_is_known_and_before_emitting_started() {
    for engine in PROGRAMS {
        let value = if engine == "opencode" { "ses_shared" } else { "shared" };
        let locks = Locks::default();
        let stage = stage_with(engine, "held", &[("FAKE_SESSION", value)], locks.clone());
        let other = locks.acquire(stage.token(value).thread_key()).await;
        let mut run = stage.run("x", None);
        // The engine has started and said its session: its `started` must wait for the thread.
        until(|| locks.is_waited_for(&stage.token(value).thread_key()).then_some(())).await;
        assert!(run.next().now_or_never().is_none(), "{engine}: nothing is said without the lock");
        drop(other);
        let Some(EngineEvent::Started(started)) = within(run.next()).await else { panic!("{engine}") };
        assert_eq!(started.resume, stage.token(value));
        assert!(locks.try_acquire(started.resume.thread_key()).is_none(), "the lock is held when started is seen");
        stage.tell("go");
        assert!(completed(&collect(&mut run).await).ok);
        within(run.gone()).await;
        assert!(locks.try_acquire(started.resume.thread_key()).is_some());
    }
}

#[tokio::test]
async fn a_new_run_that_reports_a_token_another_run_waits_for_serializes_too() {
    let locks = Locks::default();
    let stage = stage_with("codex", "held", &[("FAKE_SESSION", "shared")], locks.clone());
    let holder = locks.acquire(stage.token("shared").thread_key()).await;
    let mut waiting = stage.run("resumed", Some(stage.token("shared")));
    let mut fresh = stage.run("new", None);
    stage.wait_for_note("log").await;
    drop(holder);
    stage.tell("go");
    let (one, two) = tokio::join!(collect(&mut waiting), collect(&mut fresh));
    assert!(completed(&one).ok && completed(&two).ok);
    obeys_the_contract(&one, "codex");
    obeys_the_contract(&two, "codex");
    within(async { tokio::join!(waiting.gone(), fresh.gone()) }).await;
    assert_eq!(locks.busy(), 0);
}

#[tokio::test]
async fn a_dropped_consumer_ends_the_run_and_frees_the_lock() {
    for engine in PROGRAMS {
        let stage = stage(engine, "held");
        let token = stage.token("ses_dropped");
        let mut run = stage.run("x", Some(token.clone()));
        assert!(matches!(within(run.next()).await, Some(EngineEvent::Started(_))));
        drop(run);
        // Nobody said `go`: only the end of the first run lets this one in.
        within(stage.runner.locks().acquire(token.thread_key())).await;
    }
}

#[tokio::test]
async fn a_run_that_waits_for_its_thread_can_be_cancelled_and_dropped() {
    let stage = stage("codex", "success");
    let token = stage.token("a");
    let held = stage.runner.locks().acquire(token.thread_key()).await;
    let mut run = stage.run("x", Some(token.clone()));
    run.handle().cancel();
    assert_eq!(completed(&collect(&mut run).await).error.as_deref(), Some("cancelled"));
    drop(stage.run("y", Some(token.clone())));
    drop(held);
    within(stage.runner.locks().acquire(token.thread_key())).await;
    assert!(stage.note("stdin").is_none(), "no engine was started");
}
