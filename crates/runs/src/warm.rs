//! Processes that wait for the next prompt of their thread, so that it needs no start.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::feed::{Feed, Incoming};
use crate::process::lines::Line;
use folkmoot_engines::engine::{Dialog, EngineSettings, Mode, Output};
use folkmoot_engines::event::ThreadKey;
use folkmoot_engines::json;

/// How many wait at most. Each is a program of its own, and whoever may begin threads can make one wait per thread.
pub(crate) const MAX_WAITING: usize = 16;

/// A running engine and what was said with it so far.
pub(crate) struct Live {
    pub feed: Feed,
    pub dialog: Box<dyn Dialog>,
    /// What the first prompt of this run wants done.
    pub first: Option<Output>,
    pub exited: bool,
    /// It has waited, and not said anything since.
    pub waited: bool,
    idle: Duration,
    /// As it was started; whoever wants it otherwise needs another one.
    settings: EngineSettings,
    folder: PathBuf,
}

impl Live {
    pub fn new(feed: Feed, dialog: Box<dyn Dialog>, mode: Mode, settings: EngineSettings, folder: PathBuf) -> Self {
        let seconds = settings.own.get("keep_warm_s").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
        let idle =
            if mode == Mode::Warm { Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)) } else { Duration::ZERO };
        Self { feed, dialog, first: None, exited: false, waited: false, idle, settings, folder }
    }

    pub fn keeps_warm(&self) -> bool {
        !self.exited && !self.idle.is_zero()
    }

    /// Reads on until it is wanted. `None`: its time was over, it ended, or it began to speak although nobody had asked
    /// anything; what it says then could be taken for the answer to the next prompt, so it is not used again.
    async fn wait(mut self, mut wanted: oneshot::Receiver<()>) -> Option<Self> {
        let over = tokio::time::sleep(self.idle);
        tokio::pin!(over);
        loop {
            tokio::select! {
                // What it has said already is read before it is handed over.
                biased;
                incoming = self.feed.next() => if !self.is_quiet(incoming) { break },
                wanted = &mut wanted => match wanted {
                    Ok(()) => return Some(Self { waited: true, ..self }),
                    Err(_) => break,
                },
                () = &mut over => break,
            }
        }
        self.feed.end().await;
        None
    }

    /// Whether this is nothing that belongs to a turn: signs of life, news about itself.
    fn is_quiet(&mut self, incoming: Incoming) -> bool {
        let line = match incoming {
            Incoming::Line(Line::Text(line)) => line,
            Incoming::Line(Line::TooLong(_)) | Incoming::Exited(_) => return false,
        };
        let Ok(value) = json::object(&line) else { return true };
        let mut out = Output::default();
        self.dialog.line(&value, &mut out);
        out.events.is_empty() && out.pieces.is_empty() && out.send.is_empty()
    }
}

/// The processes that wait; clones share them. When the last clone goes, they end.
#[derive(Clone, Default)]
pub(crate) struct WarmPool {
    waiting: Arc<Mutex<HashMap<ThreadKey, Waiting>>>,
}

struct Waiting {
    turn: u64,
    wanted: oneshot::Sender<()>,
    live: JoinHandle<Option<Live>>,
}

impl WarmPool {
    /// Takes the process of the thread, if one waits that was started like this. One that was not is ended: two must not
    /// write one session.
    pub async fn take(&self, key: &ThreadKey, settings: &EngineSettings, folder: &Path) -> Option<Live> {
        let waiting = self.waiting.lock().remove(key)?;
        waiting.wanted.send(()).ok()?;
        let live = waiting.live.await.ok()??;
        if live.settings == *settings && live.folder == folder {
            return Some(live);
        }
        live.feed.end().await;
        None
    }

    /// Keeps the process until its time is over.
    pub fn put(&self, key: ThreadKey, live: Live) {
        static TURNS: AtomicU64 = AtomicU64::new(0);
        let turn = TURNS.fetch_add(1, Ordering::Relaxed);
        let (wanted, when_wanted) = oneshot::channel();
        let (pool, of) = (Arc::downgrade(&self.waiting), key.clone());
        // Held until the process is in, so that its end finds it there.
        let mut all = self.waiting.lock();
        let live = tokio::spawn(async move {
            let live = live.wait(when_wanted).await;
            if let (None, Some(pool)) = (&live, pool.upgrade()) {
                let mut all = pool.lock();
                if all.get(&of).is_some_and(|waiting| waiting.turn == turn) {
                    all.remove(&of);
                }
            }
            live
        });
        all.insert(key, Waiting { turn, wanted, live });
        if all.len() > MAX_WAITING
            && let Some(longest) = all.iter().min_by_key(|(_, waiting)| waiting.turn).map(|(key, _)| key.clone())
        {
            // Nobody can want it any more, so it ends.
            all.remove(&longest);
        }
    }
}
