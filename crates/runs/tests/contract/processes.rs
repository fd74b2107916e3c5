//! Processes: the answer at the result, and nothing left afterwards.

use folkmoot_engines::event::EngineEvent;

use crate::support::*;

#[tokio::test]
async fn the_answer_is_delivered_at_the_result_although_the_process_lingers() {
    for engine in PROGRAMS {
        let stage = stage(engine, "lingering");
        let mut run = stage.run("x", None);
        let events = collect(&mut run).await;
        obeys_the_contract(&events, engine);
        assert!(completed(&events).ok, "{engine}");
        let pid = pids(&stage.wait_for_note("pids").await)[0];
        within(run.gone()).await;
        assert!(!exists(pid), "{engine}: it is gone when the run says so, and no zombie is left");
    }
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed() {
    for engine in PROGRAMS {
        let stage = stage(engine, "stubborn");
        let mut run = stage.run("x", None);
        assert!(completed(&collect(&mut run).await).ok);
        let pid = pids(&stage.wait_for_note("pids").await)[0];
        within(run.gone()).await;
        assert!(!exists(pid), "{engine}");
    }
}

#[tokio::test]
async fn grandchildren_that_left_the_group_end_with_the_run() {
    for engine in PROGRAMS {
        let stage = stage(engine, "grandchildren");
        let mut run = stage.run("x", None);
        assert!(completed(&collect(&mut run).await).ok);
        let mut all = pids(&stage.wait_for_note("pids").await);
        all.extend(pids(&stage.wait_for_note("pids-far").await));
        within(run.gone()).await;
        assert_eq!(all.iter().filter(|pid| exists(**pid)).count(), 0, "{engine}: {all:?}");
    }
}

#[tokio::test]
async fn what_an_engine_leaves_behind_ends_although_the_engine_ended_by_itself() {
    let stage = stage("codex", "orphans");
    let events = stage.play("x", None).await;
    assert!(completed(&events).ok);
    for pid in pids(&stage.note("pids-far").unwrap()) {
        assert!(!exists(pid));
    }
}

#[tokio::test]
async fn cancel_ends_the_process_and_says_cancelled_with_the_token() {
    for engine in PROGRAMS {
        let stage = stage(engine, "held");
        let mut run = stage.run("x", None);
        let Some(EngineEvent::Started(started)) = within(run.next()).await else { panic!("{engine}") };
        run.handle().cancel();
        let events = collect(&mut run).await;
        let done = completed(&events);
        assert_eq!(
            (done.error.as_deref(), done.resume.as_ref()),
            (Some("cancelled"), Some(&started.resume)),
            "{engine}"
        );
        within(run.gone()).await;
        assert_eq!(stage.note("log").unwrap(), "begin\n", "{engine} was ended");
    }
}

#[tokio::test]
async fn tools_that_ignore_sigterm_and_left_their_session_end_with_a_cancelled_run() {
    for engine in PROGRAMS {
        let stage = stage_with(engine, "at-work", &[("FAKE_STUBBORN", "1")], Default::default());
        let mut run = stage.run("x", None);
        let mut all = pids(&stage.wait_for_note("pids").await);
        all.extend(pids(&stage.wait_for_note("pids-far").await));
        run.handle().cancel();
        assert_eq!(completed(&collect(&mut run).await).error.as_deref(), Some("cancelled"));
        within(run.gone()).await;
        assert_eq!(all.iter().filter(|pid| exists(**pid)).count(), 0, "{engine}: {all:?}");
    }
}

#[tokio::test]
async fn a_tool_that_is_born_again_and_again_ends_with_a_cancelled_run() {
    let stage = stage("codex", "breeding");
    let mut run = stage.run("x", None);
    // Each generation writes down that it lives, begins the next one, and is gone.
    let generation = || stage.note("generation").unwrap_or_default();
    let first = stage.wait_for_note("generation").await;
    until(|| (generation() != first).then_some(())).await;
    run.handle().cancel();
    collect(&mut run).await;
    within(run.gone()).await;
    let last = generation();
    assert!(!exists(pids(&last)[0]) && generation() == last, "generation {last} was the last one");
}

#[tokio::test]
async fn a_cancel_after_the_result_loses_no_answer_and_hastens_the_end() {
    let stage = stage("claude", "lingering");
    let mut run = stage.run("x", None);
    stage.wait_for_note("pids").await;
    let events = collect(&mut run).await;
    run.handle().cancel();
    within(run.gone()).await;
    assert!(completed(&events).ok);
}

#[tokio::test]
async fn an_engine_that_closes_its_output_and_stays_is_ended() {
    let stage = stage("codex", "closed-output");
    let events = stage.play("x", None).await;
    obeys_the_contract(&events, "codex");
    assert!(!exists(pids(&stage.note("pids").unwrap())[0]));
}

/// The supervisor is the parent of the engine.
fn supervisor_of(engine: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{engine}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    parent.trim().parse().unwrap()
}

#[tokio::test]
async fn nothing_survives_sigkill_of_the_supervisor_and_the_run_says_how_it_ended() {
    for engine in PROGRAMS {
        let stage = stage_with(engine, "at-work", &[("FAKE_STUBBORN", "1")], Default::default());
        let mut run = stage.run("x", None);
        let mut all = pids(&stage.wait_for_note("pids").await);
        all.extend(pids(&stage.wait_for_note("pids-far").await));
        let supervisor = rustix::process::Pid::from_raw(supervisor_of(all[0]).cast_signed()).unwrap();
        rustix::process::kill_process(supervisor, rustix::process::Signal::KILL).unwrap();
        let done = completed(&collect(&mut run).await).clone();
        assert!(!done.ok, "{engine}: {done:?}");
        within(run.gone()).await;
        for pid in all {
            gone(pid).await;
        }
    }
}

/// Starts a run in a process of its own, kills that process, and looks whether anything survives.
#[tokio::test]
async fn nothing_survives_sigkill_of_the_process_that_started_it() {
    let folder = tempfile::tempdir().unwrap();
    // The test binary itself plays the part of `moot`: it runs just this helper.
    let mut helper = tokio::process::Command::new(std::env::current_exe().unwrap());
    helper.args(["--exact", "processes::helper_that_is_killed", "--ignored", "--nocapture"]);
    helper.env("HELPER_DIR", folder.path()).kill_on_drop(true);
    let mut helper = helper.stdout(std::process::Stdio::null()).spawn().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).ok();
    let mut all = pids(&until(|| read("pids")).await);
    all.extend(pids(&until(|| read("pids-far")).await));
    helper.kill().await.unwrap();
    for pid in all {
        gone(pid).await;
    }
}

#[tokio::test]
#[ignore = "run by the test above, as a process to be killed"]
async fn helper_that_is_killed() {
    let folder = std::env::var("HELPER_DIR").unwrap();
    let env = [("FAKE_DIR", folder.as_str()), ("FAKE_STUBBORN", "1")];
    let stage = stage_with("codex", "grandchildren", &env, Default::default());
    let mut run = stage.run("x", None);
    within(run.gone()).await;
    std::future::pending::<()>().await;
}
