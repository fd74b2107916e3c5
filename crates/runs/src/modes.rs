//! How each engine is driven: somebody is there to answer, so where the program can ask, it may.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::availability::{self, Known};
use crate::process::Host;
use crate::run::Runner;
use folkmoot_engines::engine::{Engine, EngineSettings, Mode};
use folkmoot_engines::event::EngineId;

/// How long a prompt waits for the answer of a program that is asked what it can, which happens once per version.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a program that gave no answer is left alone.
const AGAIN_AFTER: Duration = Duration::from_secs(60);

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
    asking: Mutex<Option<Asking>>,
}

#[derive(Clone)]
struct Asking {
    begun: Instant,
    answer: watch::Receiver<Option<Mode>>,
}

impl Modes {
    /// Begins to ask; nobody waits for it.
    pub fn look(engines: &[&'static dyn Engine], runner: &Runner) -> Self {
        let asked = |engine: &&'static dyn Engine| {
            let (settings, host) = (runner.settings(&engine.id()), runner.host());
            let asked = Arc::new(Asked { engine: *engine, settings, host, asking: Mutex::default() });
            if asked.known().is_none() {
                drop(asked.ask());
            }
            (engine.id(), asked)
        };
        Self { engines: engines.iter().map(asked).collect() }
    }

    /// The mode for a new run. A program that takes its time is taken for one that knows the warm mode, as all that were tried
    /// do: driven the plain way it could not ask before something risky.
    pub async fn of(&self, engine: &EngineId) -> Mode {
        let Some(asked) = self.engines.get(engine) else { return Mode::Plain };
        if let Some(mode) = asked.known() {
            return mode;
        }
        let mut answer = asked.ask();
        let answer = timeout(ANSWER_TIMEOUT, answer.wait_for(Option::is_some)).await;
        answer.ok().and_then(Result::ok).and_then(|mode| *mode).unwrap_or(Mode::Warm)
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
    /// What needs no asking.
    fn known(&self) -> Option<Mode> {
        if self.settings.own_text("mode") == Some("plain") {
            return Some(Mode::Plain);
        }
        match availability::known_warm(self.engine, &self.settings, &self.host) {
            Known::Yes => Some(Mode::Warm),
            Known::No => Some(Mode::Plain),
            Known::NotAsked => None,
        }
    }

    /// The answer that is on its way, or that did not come a moment ago; else the program is asked.
    fn ask(self: &Arc<Self>) -> watch::Receiver<Option<Mode>> {
        let mut asking = self.asking.lock();
        if let Some(asking) = asking.as_ref().filter(|asking| asking.begun.elapsed() < AGAIN_AFTER) {
            return asking.answer.clone();
        }
        let (tell, answer) = watch::channel(None);
        *asking = Some(Asking { begun: Instant::now(), answer: answer.clone() });
        let asked = Arc::clone(self);
        tokio::spawn(async move {
            let warm = availability::has_warm(asked.engine, &asked.settings, &asked.host).await;
            let _ = tell.send(Some(if warm { Mode::Warm } else { Mode::Plain }));
            if asked.known().is_some() {
                *asked.asking.lock() = None;
            }
        });
        answer
    }
}
