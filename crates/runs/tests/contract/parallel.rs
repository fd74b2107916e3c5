//! Many runs at once: nothing is lost, nothing is mixed up, and we stay small beside the engines.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use folkmoot_engines::engine::{EngineSettings, Mode};
use folkmoot_engines::engines;
use folkmoot_engines::event::EngineEvent;
use folkmoot_runs::process::Host;
use folkmoot_runs::run::{Request, Run, Runner};

use crate::support::*;

/// How many run at once, and what we and our supervisors may need for all of them.
const RUNS: usize = 20;
const MAX_BYTES: u64 = 40 << 20;

fn runner(folder: &str, mode: &str) -> Runner {
    let settings = |engine: &str| {
        let env = [("FAKE_ENGINE", engine), ("FAKE_MODE", mode), ("FAKE_DIR", folder)];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        EngineSettings { command: env!("CARGO_BIN_EXE_fake-engine").to_owned(), env, ..EngineSettings::default() }
    };
    let settings: BTreeMap<_, _> = PROGRAMS.map(|engine| (engine.to_owned(), settings(engine))).into();
    let supervisor = Some(PathBuf::from(env!("CARGO_BIN_EXE_fake-engine")));
    Runner::new(settings, Default::default(), engines::codecs()).on(Host { supervisor, ..Host::default() })
}

/// The memory of a process that is its own, and its part of what it shares.
fn proportional_bytes(pid: &str) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

/// The supervisors are our children; the engines are theirs.
fn our_bytes() -> u64 {
    let me = std::process::id();
    let tasks = std::fs::read_dir(format!("/proc/{me}/task")).unwrap().flatten();
    let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let supervisors: Vec<u64> =
        children.flat_map(|text| text.split_whitespace().map(proportional_bytes).collect::<Vec<_>>()).collect();
    assert_eq!(supervisors.len(), RUNS, "one supervisor per run");
    proportional_bytes("self") + supervisors.iter().sum::<u64>()
}

#[tokio::test]
async fn twenty_runs_of_mixed_engines_at_once_lose_nothing_and_mix_nothing_up() {
    // In a process of its own, because memory is a matter of processes.
    let mut helper = tokio::process::Command::new(std::env::current_exe().unwrap());
    helper.args(["--exact", "parallel::helper_that_runs_twenty", "--ignored", "--nocapture"]);
    let output = within(helper.kill_on_drop(true).output()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[tokio::test]
#[ignore = "run by the test above, as a process to be measured"]
async fn helper_that_runs_twenty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let (plain, warm) = (runner(path, "echo"), runner(path, "warm"));
    let begin = |number: usize| {
        let engine = engines::find(PROGRAMS[number % PROGRAMS.len()]).unwrap();
        let mode = if number % 5 < 2 { Mode::Warm } else { Mode::Plain };
        let (runner, prompt) =
            if mode == Mode::Warm { (&warm, "wait".to_owned()) } else { (&plain, number.to_string()) };
        (mode, runner.run(engine, Request { prompt, mode, folder: folder.path().into(), ..Request::default() }))
    };
    let mut runs: Vec<(Mode, Run)> = (0..RUNS).map(begin).collect();
    for (_, run) in &mut runs {
        assert!(matches!(within(run.next()).await, Some(EngineEvent::Started(_))));
    }
    let bytes = our_bytes();
    assert!(bytes < MAX_BYTES, "{RUNS} runs cost us {} KiB", bytes >> 10);
    println!("{RUNS} runs cost us {} KiB", bytes >> 10);
    std::fs::write(folder.path().join("go"), "").unwrap();
    let mut sessions = HashSet::new();
    for (number, (mode, mut run)) in runs.into_iter().enumerate() {
        if mode == Mode::Warm {
            let handle = run.handle();
            within(async {
                while handle.steer(number.to_string()).await.is_err() {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        }
        let events = collect(&mut run).await;
        let answer = if mode == Mode::Warm { format!("steered: {number}") } else { format!("echo: {number}") };
        assert_eq!(completed(&events).answer, answer, "{events:#?}");
        sessions.insert(completed(&events).resume.clone());
        within(run.gone()).await;
    }
    assert_eq!(sessions.len(), RUNS, "every run has a thread of its own");
}
