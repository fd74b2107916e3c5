//! Where a play happens: a home with our configuration and the program's, a project, and everybody who is in it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use folkmoot_engines::engine::Mode;
use folkmoot_engines::programs::asks;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cases::{self, Case, ENDLESS, Event};
use super::models::Models;
use super::programs::{self, Program};
use super::support::telegram::{ANN, FakeApi, TOKEN};
use super::support::{Hub, Member, Setup, register, text};
use super::table::{Outcome, Surface};
use super::{channel, telegram};

/// Longer than a program takes to begin on a busy machine.
pub const WAIT_TIMEOUT: Duration = Duration::from_secs(120);
/// Nothing outlives a run for longer than this.
const GONE: Duration = Duration::from_secs(2);

pub struct Stage {
    pub folder: Arc<TempDir>,
    pub program: Program,
    pub warm: bool,
    pub models: Models,
}

impl Stage {
    pub fn new(program: &Program, warm: bool, models: &Models, api: Option<&FakeApi>, keep_warm_s: u64) -> Self {
        let stages = programs::folder().join("stages");
        std::fs::create_dir_all(&stages).expect("a folder");
        let folder = Arc::new(TempDir::with_prefix_in("stage-", stages).expect("a folder"));
        let stage = Self { folder, program: program.clone(), warm, models: models.clone() };
        programs::project(stage.folder.path());
        let file = stage.folder.path().join("config/folkmoot/config.toml");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, stage.config(api, keep_warm_s)).expect("a configuration");
        stage.fresh_file();
        stage
    }

    fn config(&self, api: Option<&FakeApi>, keep_warm_s: u64) -> String {
        let made = self.program.settings(&self.models.url(""), self.folder.path(), self.warm);
        let mut engine = json!({"command": self.program.command, "model": made.model, "env": made.env});
        for (key, value) in made.own {
            engine[key] = value;
        }
        if keep_warm_s > 0 {
            engine["keep_warm_s"] = json!(keep_warm_s);
        }
        let id = self.program.engine;
        let project = json!({"path": self.project(), "default_engine": id, "chat_id": ANN});
        let mut config = json!({"engines": {"default": id, id: engine}, "projects": {"play": project}});
        if let Some(api) = api {
            config["telegram"] = json!({"bot_token": TOKEN, "api_base": api.base(), "allowed_user_ids": [ANN]});
        }
        toml::to_string(&config).expect("TOML")
    }

    pub fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// The file that is edited, as it was.
    pub fn fresh_file(&self) {
        std::fs::write(self.project().join("note.txt"), "before\n").expect("a file");
        let _ = std::fs::remove_file(self.project().join("made.txt"));
    }

    pub fn prompt(&self, prompt: &str) -> String {
        prompt.replace("FILE", &self.project().join("note.txt").to_string_lossy())
    }

    /// Waits until an answer has begun that takes its time.
    pub async fn waits_more_than(&self, before: u64) {
        let works = || async { (self.models.waits() > before).then_some(()) };
        super::support::eventually_within(WAIT_TIMEOUT, "the model works", works).await;
    }

    /// What people have read when they speak in the middle of a slow answer.
    pub fn begun(&self) -> Option<&'static str> {
        cases::begun(self.program.engine, self.warm)
    }

    /// Whether the command that does not end runs.
    pub fn is_endless(&self) -> bool {
        self.processes(&[]).into_iter().any(|(_, line)| line.contains(ENDLESS))
    }

    /// Processes that know this stage, but for these: number and command line.
    pub fn processes(&self, but: &[u32]) -> Vec<(u32, String)> {
        let place = self.folder.path().to_string_lossy().into_owned();
        let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| !but.contains(pid) && *pid != std::process::id())
            .filter_map(|pid| {
                let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
                let knows = String::from_utf8_lossy(&read("environ")).contains(&place);
                knows.then(|| (pid, String::from_utf8_lossy(&read("cmdline")).into_owned()))
            })
            .collect()
    }

    /// Nobody is left, but for these.
    pub async fn is_empty(&self, but: &[u32]) -> Outcome {
        let begun = Instant::now();
        loop {
            let left = self.processes(but);
            if left.is_empty() {
                return Ok(());
            }
            if begun.elapsed() > GONE {
                let lines: Vec<String> =
                    left.iter().map(|(pid, line)| format!("{pid} {}", line.replace('\0', " "))).collect();
                return Err(format!("{GONE:?} later these are left: {}", lines.join("; ")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A stage with a hub that hosts the program as an agent, and has a Telegram bot.
pub struct HubStage {
    pub stage: Stage,
    pub hub: Mutex<Option<Hub>>,
    pub alice: Member,
    pub channel: String,
    pub api: FakeApi,
    pid: u32,
    seen: Mutex<usize>,
}

impl HubStage {
    pub async fn start(program: &Program, warm: bool, models: &Models, keep_warm_s: u64) -> Self {
        let api = FakeApi::start().await;
        api.with(|world| {
            world.add_private(ANN);
        });
        let stage = Stage::new(program, warm, models, Some(&api), keep_warm_s);
        let data = stage.folder.path().join("data");
        let setup = Setup::default().env("PATH", &program.path()).env("MOOT_WAKES__MAX_MENTIONS", "0");
        let hub = setup.start_on(stage.folder.clone(), data).await;
        let alice = register(&hub, "alice").await;
        let channel = alice.add_channel("play", &[]).await;
        let mut more = json!({"engine": program.engine, "project": stage.project()});
        // A policy that asks is refused where the engine cannot.
        if !asks(program.engine, if warm { Mode::Warm } else { Mode::Plain }) {
            more["policy"] = json!("dangerously-allow-all");
        }
        super::support::agents::hosted(&alice, "player", more).await;
        let pid = hub.pid().as_raw_nonzero().get().cast_unsigned();
        Self { stage, hub: Mutex::new(Some(hub)), alice, channel, api, pid, seen: Mutex::new(0) }
    }

    pub async fn play(&self, surface: Surface, case: &Case) -> Outcome {
        self.stage.fresh_file();
        match surface {
            Surface::Telegram => telegram::play(self, case).await,
            _ => channel::play(self, case).await,
        }
    }

    /// SIGKILL to the hub; it does not come back.
    pub fn kill(&self) {
        if let Some(mut hub) = self.hub.lock().take() {
            hub.kill();
        }
    }

    /// No process of a run is left, and nothing in the log is an error.
    pub async fn is_clean(&self, case: &Case) -> Outcome {
        if case.event == Event::KeepWarm {
            // They may wait for more; when the hub ends, they end.
            let hub = self.hub.lock().take();
            if let Some(mut hub) = hub {
                hub.stop().await;
            }
        }
        self.stage.is_empty(&[self.pid]).await?;
        let log = self.hub.lock().as_ref().map(Hub::log).unwrap_or_default();
        let mut seen = self.seen.lock();
        let errors: Vec<&str> = log[*seen..].lines().filter(|line| line.contains("ERROR")).collect();
        let outcome =
            if errors.is_empty() { Ok(()) } else { Err(format!("the hub's log says: {}", errors.join(" / "))) };
        *seen = log.len();
        outcome
    }

    /// A person's words in the channel, or in a thread of it.
    pub async fn post(&self, words: &str, thread: Option<&str>) -> String {
        let mut body = json!({"content": words});
        if let Some(thread) = thread {
            body["thread_id"] = json!(thread);
        }
        let path = format!("/v1/channels/{}/messages", self.channel);
        text(&self.alice.rest.post(&path, body).await.created(), "id").to_owned()
    }

    pub async fn get(&self, path: &str) -> Value {
        self.alice.rest.get(path).await.ok()
    }
}
