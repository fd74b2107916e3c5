//! How each engine is driven: somebody is there to answer, so where the program can ask, it may.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::availability;
use crate::process::Host;
use crate::run::Runner;
use folkmoot_engines::engine::{Engine, EngineSettings, Mode};
use folkmoot_engines::event::EngineId;
use tokio::sync::Mutex;
use tokio::time::timeout;

/// How long a prompt waits for the answer of a program that was asked what it can. Engines take a second to say it, more on a
/// busy machine, and whoever is driven the plain way cannot ask before something risky.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// What is known about the programs. Each is asked in the background, and again when it is another program: one that was
/// installed or updated meanwhile is driven as it can be.
pub struct Modes {
    engines: BTreeMap<EngineId, Arc<Asked>>,
}

struct Asked {
    engine: &'static dyn Engine,
    settings: EngineSettings,
    host: Host,
    /// Whoever comes while the program is asked waits for the same answer.
    turn: Mutex<()>,
}

impl Modes {
    /// Begins to ask; nobody waits for it.
    pub fn look(engines: &[&'static dyn Engine], runner: &Runner) -> Self {
        let asked = |engine: &&'static dyn Engine| {
            let (engine, id) = (*engine, engine.id());
            let asked =
                Arc::new(Asked { engine, settings: runner.settings(&id), host: runner.host(), turn: Mutex::default() });
            let first = Arc::clone(&asked);
            tokio::spawn(async move { first.mode().await });
            (id, asked)
        };
        Self { engines: engines.iter().map(asked).collect() }
    }

    /// The mode for a new run: an engine that does not answer in time is driven the plain way, which always works.
    pub async fn of(&self, engine: &EngineId) -> Mode {
        let Some(asked) = self.engines.get(engine) else { return Mode::Plain };
        timeout(PROBE_TIMEOUT, asked.mode()).await.unwrap_or_default()
    }

    /// Whether there is a program to drive; whoever has none finds out by trying to run it.
    pub fn is_installed(&self, engine: &EngineId) -> bool {
        let installed = |asked: &Arc<Asked>| availability::is_installed(asked.engine, &asked.settings);
        self.engines.get(engine).is_some_and(installed)
    }

    /// Whether it asks people before it acts, driven this way.
    pub fn asks(&self, engine: &EngineId, mode: Mode) -> bool {
        self.engines.get(engine).is_some_and(|asked| availability::asks(engine.as_str(), &asked.settings, mode))
    }
}

impl Asked {
    async fn mode(&self) -> Mode {
        let _turn = self.turn.lock().await;
        availability::mode(self.engine, &self.settings, &self.host).await
    }
}
