//! Runs a fake engine and collects what it says.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use folkmoot_engines::engine::{Engine, EngineSettings, Mode};
use folkmoot_engines::engines;
use folkmoot_engines::event::{ActionEvent, Completed, EngineEvent, Phase, ResumeToken};
use folkmoot_runs::locks::Locks;
use folkmoot_runs::process::walls::Walls;
use folkmoot_runs::process::{EndTimeouts, Host};
use folkmoot_runs::run::{Request, Run, Runner};

/// The engines that are programs.
pub const PROGRAMS: [&str; 4] = ["codex", "claude", "opencode", "pi"];

/// Longer than anything here takes on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

pub struct Stage {
    pub folder: tempfile::TempDir,
    pub runner: Runner,
    pub engine: &'static dyn Engine,
}

/// An engine that behaves as `mode` says.
pub fn stage(engine: &str, mode: &str) -> Stage {
    stage_with(engine, mode, &[], Locks::default())
}

pub fn stage_with(engine: &str, mode: &str, env: &[(&str, &str)], locks: Locks) -> Stage {
    stage_within(engine, mode, env, locks, Walls::default())
}

pub fn stage_within(engine: &str, mode: &str, env: &[(&str, &str)], locks: Locks, walls: Walls) -> Stage {
    let folder = tempfile::tempdir().unwrap();
    let mut settings =
        EngineSettings { command: env!("CARGO_BIN_EXE_fake-engine").to_owned(), ..EngineSettings::default() };
    let own = [("FAKE_ENGINE", engine), ("FAKE_MODE", mode), ("FAKE_DIR", folder.path().to_str().unwrap())];
    for (name, value) in own.iter().chain(env) {
        settings.env.insert((*name).to_owned(), (*value).to_owned());
    }
    let settings = BTreeMap::from([(engine.to_owned(), settings)]);
    let timeouts = EndTimeouts { grace: Duration::from_millis(300), term: Duration::from_millis(300) };
    let supervisor = Some(PathBuf::from(env!("CARGO_BIN_EXE_fake-engine")));
    let host = Host { timeouts, supervisor, walls, ..Host::default() };
    let runner = Runner::new(settings, locks, engines::codecs()).on(host);
    Stage { folder, runner, engine: engines::find(engine).unwrap() }
}

impl Stage {
    pub fn run(&self, prompt: &str, resume: Option<ResumeToken>) -> Run {
        self.run_in(Mode::Plain, prompt, resume)
    }

    pub fn run_in(&self, mode: Mode, prompt: &str, resume: Option<ResumeToken>) -> Run {
        let request = Request {
            prompt: prompt.to_owned(),
            resume,
            folder: self.folder.path().to_owned(),
            mode,
            ..Request::default()
        };
        self.runner.run(self.engine, request)
    }

    /// All events of a run, until its last process is gone.
    pub async fn play(&self, prompt: &str, resume: Option<ResumeToken>) -> Vec<EngineEvent> {
        let mut run = self.run(prompt, resume);
        let events = collect(&mut run).await;
        within(run.gone()).await;
        events
    }

    pub fn token(&self, value: &str) -> ResumeToken {
        ResumeToken::new(self.engine.id(), value)
    }

    /// What the fake wrote down.
    pub fn note(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(name)).ok()
    }

    pub async fn wait_for_note(&self, name: &str) -> String {
        until(|| self.note(name)).await
    }

    pub fn tell(&self, name: &str) {
        std::fs::write(self.folder.path().join(name), "").unwrap();
    }
}

pub async fn collect(run: &mut Run) -> Vec<EngineEvent> {
    let mut events = Vec::new();
    while let Some(event) = within(run.next()).await {
        events.push(event);
    }
    events
}

pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work).await.expect("it takes too long")
}

/// Polls for something that other processes do.
pub async fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < DEADLINE, "it does not happen");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub fn completed(events: &[EngineEvent]) -> &Completed {
    match events.last() {
        Some(EngineEvent::Completed(completed)) => completed,
        other => panic!("the last event is {other:?}"),
    }
}

pub fn actions(events: &[EngineEvent]) -> Vec<&ActionEvent> {
    events
        .iter()
        .filter_map(|event| if let EngineEvent::Action(action) = event { Some(action) } else { None })
        .collect()
}

/// What every run must obey, whatever its engine does.
pub fn obeys_the_contract(events: &[EngineEvent], engine: &str) {
    let count = |test: fn(&EngineEvent) -> bool| events.iter().filter(|event| test(event)).count();
    assert!(count(|event| matches!(event, EngineEvent::Started(_))) <= 1, "more than one started: {events:#?}");
    assert_eq!(count(|event| matches!(event, EngineEvent::Completed(_))), 1, "{events:#?}");
    let done = completed(events);
    let mut kinds = HashMap::new();
    let mut finished = HashSet::new();
    for event in events {
        assert_eq!(event.engine().as_str(), engine);
        if let EngineEvent::Started(started) = event {
            assert!(!started.resume.value.is_empty());
            assert_eq!(done.resume.as_ref(), Some(&started.resume), "the final token is the token of the run");
        }
    }
    for event in actions(events) {
        let action = &event.action;
        assert!(!action.id.is_empty() && !action.title.is_empty(), "{action:?}");
        let kind = kinds.entry(&action.id).or_insert(&action.kind);
        assert_eq!(*kind, &action.kind, "an id means one action");
        assert!(event.phase != Phase::Started || !finished.contains(&action.id), "{} begins after its end", action.id);
        if event.phase == Phase::Completed {
            finished.insert(&action.id);
        }
    }
    assert_eq!(done.ok, done.error.is_none(), "{done:?}");
}

/// Whether the process runs; a zombie counts, for nobody may leave one.
pub fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

pub async fn gone(pid: u32) {
    until(|| (!exists(pid)).then_some(())).await;
}

pub fn pids(text: &str) -> Vec<u32> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}
