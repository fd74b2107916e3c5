//! Processes that wait for the next prompt of their thread, so that it needs no start.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::engine::{Dialog, EngineSettings, Mode, Output};
use crate::event::ThreadKey;
use crate::feed::Feed;

/// A running engine and what was said with it so far.
pub(crate) struct Live {
    pub feed: Feed,
    pub dialog: Box<dyn Dialog>,
    /// What the first prompt of this run wants done.
    pub first: Option<Output>,
    pub exited: bool,
    idle: Duration,
}

impl Live {
    pub fn new(feed: Feed, dialog: Box<dyn Dialog>, mode: Mode, settings: &EngineSettings) -> Self {
        let seconds = settings.own.get("keep_warm_s").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
        let idle =
            if mode == Mode::Warm { Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)) } else { Duration::ZERO };
        Self { feed, dialog, first: None, exited: false, idle }
    }

    pub fn keeps_warm(&self) -> bool {
        !self.exited && !self.idle.is_zero()
    }
}

/// The processes that wait; clones share them. When the last clone goes, their supervisors end them.
#[derive(Clone, Default)]
pub(crate) struct WarmPool {
    waiting: Arc<Mutex<HashMap<ThreadKey, (u64, Live)>>>,
}

impl WarmPool {
    /// Takes the process of the thread, if one waits.
    pub fn take(&self, key: &ThreadKey) -> Option<Live> {
        Some(self.waiting.lock().remove(key)?.1)
    }

    /// Keeps the process until its time is over.
    pub fn put(&self, key: ThreadKey, live: Live) {
        let idle = live.idle;
        static TURNS: AtomicU64 = AtomicU64::new(0);
        let turn = TURNS.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().insert(key.clone(), (turn, live));
        let pool = Arc::downgrade(&self.waiting);
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            let Some(pool) = pool.upgrade() else { return };
            let over = {
                let mut waiting = pool.lock();
                let same = waiting.get(&key).is_some_and(|(at, _)| *at == turn);
                if same { waiting.remove(&key) } else { None }
            };
            if let Some((_, live)) = over {
                live.feed.end().await;
            }
        });
    }
}
