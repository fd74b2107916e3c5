//! What is known about the engines of this machine: looked at now and then, not whenever somebody asks.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::availability::Availability;

/// Milliseconds since 1970.
type Millis = i64;

/// How long a look holds. A look starts one process per engine.
const KEPT: u64 = 30_000;
/// The same for who asks to look again, having just installed something.
const KEPT_AGAIN: u64 = 2_000;

/// The last look, and who is being tried; clones share both.
#[derive(Clone, Debug, Default)]
pub struct EngineList {
    last: Arc<tokio::sync::Mutex<Option<(Millis, Found)>>>,
    tried: Arc<Mutex<BTreeSet<String>>>,
}

pub type Found = Arc<Vec<Availability>>;

impl EngineList {
    /// What the last look found. When that is too long ago there is a new one, and everybody who asks meanwhile waits for the
    /// same; who goes away meanwhile does not end it, so that asking and leaving starts nothing more.
    pub async fn found<F>(&self, now: Millis, again: bool, look: impl FnOnce() -> F + Send + 'static) -> Found
    where
        F: Future<Output = Vec<Availability>> + Send,
    {
        let kept = if again { KEPT_AGAIN } else { KEPT };
        let last = Arc::clone(&self.last);
        let looked = tokio::spawn(async move {
            let mut last = last.lock().await;
            if let Some((at, found)) = &*last
                && now.abs_diff(*at) < kept
            {
                return Arc::clone(found);
            }
            let found = Arc::new(look().await);
            *last = Some((now, Arc::clone(&found)));
            found
        });
        looked.await.unwrap_or_default()
    }

    /// Leave to try an engine; none while it is being tried.
    pub fn try_out(&self, engine: &str) -> Option<Trial> {
        let is_free = self.tried.lock().insert(engine.to_owned());
        is_free.then(|| Trial { engine: engine.to_owned(), tried: Arc::clone(&self.tried) })
    }
}

/// While this lives, an engine is being tried.
#[derive(Debug)]
pub struct Trial {
    engine: String,
    tried: Arc<Mutex<BTreeSet<String>>>,
}

impl Drop for Trial {
    fn drop(&mut self) {
        self.tried.lock().remove(&self.engine);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::future::join_all;
    use tokio::sync::Semaphore;

    use super::*;

    fn counted(count: &Arc<AtomicU32>) -> impl FnOnce() -> std::future::Ready<Vec<Availability>> + Send + 'static {
        let count = Arc::clone(count);
        move || {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::ready(Vec::new())
        }
    }

    #[tokio::test]
    async fn a_look_is_kept_for_a_while_and_then_taken_again() {
        let (list, looks) = (EngineList::default(), Arc::new(AtomicU32::new(0)));
        for now in [1_000, 1_001, 30_999] {
            list.found(now, false, counted(&looks)).await;
        }
        assert_eq!(looks.load(Ordering::SeqCst), 1);
        list.found(31_000, false, counted(&looks)).await;
        assert_eq!(looks.load(Ordering::SeqCst), 2);
        list.found(32_999, true, counted(&looks)).await;
        assert_eq!(looks.load(Ordering::SeqCst), 2, "pressed twice in a row");
        list.found(33_000, true, counted(&looks)).await;
        assert_eq!(looks.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn all_who_ask_at_once_share_one_look() {
        let (list, looks) = (EngineList::default(), Arc::new(AtomicU32::new(0)));
        join_all((0..100).map(|now| list.found(now, now % 2 == 0, counted(&looks)))).await;
        assert_eq!(looks.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn who_asks_and_goes_away_starts_no_second_look() {
        let (list, looks, gate) = (EngineList::default(), Arc::new(AtomicU32::new(0)), Arc::new(Semaphore::new(0)));
        let (begun, opened) = (Arc::clone(&looks), Arc::clone(&gate));
        let slow = move || async move {
            begun.fetch_add(1, Ordering::SeqCst);
            let _ = opened.acquire().await;
            Vec::new()
        };
        let impatient = list.found(0, false, slow);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(20), impatient).await.is_err());
        gate.add_permits(1);
        list.found(1, true, counted(&looks)).await;
        assert_eq!(looks.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn an_engine_is_tried_by_one_at_a_time() {
        let list = EngineList::default();
        let trial = list.try_out("codex");
        assert!(trial.is_some() && list.try_out("codex").is_none() && list.try_out("claude").is_some());
        drop(trial);
        assert!(list.try_out("codex").is_some());
    }
}
