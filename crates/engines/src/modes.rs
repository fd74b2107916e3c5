//! How each engine is driven: somebody is there to answer, so where the program can ask, it may.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::availability;
use crate::engine::{Engine, Mode};
use crate::event::EngineId;
use crate::run::Runner;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long after the start a prompt waits for the answer of a program that was asked what it can. Engines take a second to
/// say it, more on a busy machine, and whoever is driven the plain way cannot ask before something risky.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// What is known about the programs; they are asked once, in the background.
pub struct Modes {
    known: BTreeMap<EngineId, watch::Receiver<Option<Mode>>>,
    /// Until then a prompt waits for the answer.
    until: Instant,
}

impl Modes {
    /// Begins to ask; nobody waits for it.
    pub fn look(engines: &[&'static dyn Engine], runner: &Runner) -> Self {
        let known = engines.iter().map(|engine| (engine.id(), ask(*engine, runner))).collect();
        Self { known, until: Instant::now() + PROBE_TIMEOUT }
    }

    /// The mode for a new run: an engine that has not answered yet is driven the plain way, which always works.
    pub async fn of(&self, engine: &EngineId) -> Mode {
        let Some(mut known) = self.known.get(engine).cloned() else { return Mode::Plain };
        match timeout_at(self.until, known.wait_for(Option::is_some)).await {
            Ok(Ok(mode)) => (*mode).unwrap_or_default(),
            _ => Mode::Plain,
        }
    }
}

fn ask(engine: &'static dyn Engine, runner: &Runner) -> watch::Receiver<Option<Mode>> {
    let (settings, host) = (runner.settings(&engine.id()), runner.host());
    let wish = settings.own_text("mode").unwrap_or("auto").to_owned();
    let (told, known) = watch::channel(None);
    if wish == "plain" {
        told.send_replace(Some(Mode::Plain));
        return known;
    }
    tokio::spawn(async move {
        let warm = availability::has_warm(engine, &settings, &host).await;
        told.send_replace(Some(if warm { Mode::Warm } else { Mode::Plain }));
    });
    known
}
