//! One run at a time per thread key: in this process by a fair queue, across processes by a locked file.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use data_encoding::HEXLOWER;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use folkmoot_engines::event::ThreadKey;

/// How often a file that another process holds is tried again.
const RETRY: Duration = Duration::from_millis(40);

/// The locks of all threads; clones share them.
#[derive(Clone, Default)]
pub struct Locks {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    threads: Mutex<HashMap<ThreadKey, Weak<Semaphore>>>,
    folder: Option<PathBuf>,
}

/// Holds a thread; dropping it lets the next run go on.
pub struct ThreadLock {
    key: ThreadKey,
    inner: Arc<Inner>,
    queue: Option<Arc<Semaphore>>,
    permit: Option<OwnedSemaphorePermit>,
    _file: Option<File>,
}

impl Locks {
    /// Locks that other processes with the same folder respect as well.
    pub fn shared(folder: PathBuf) -> Self {
        Self { inner: Arc::new(Inner { threads: Mutex::default(), folder: Some(folder) }) }
    }

    /// Waits for the thread, first come, first served.
    pub async fn acquire(&self, key: ThreadKey) -> ThreadLock {
        let queue = self.queue(&key);
        let permit = Arc::clone(&queue).acquire_owned().await.expect("the semaphore is never closed");
        let lock = self.lock(key, queue, permit);
        self.with_file(lock).await
    }

    /// Takes the thread if nobody holds it.
    pub fn try_acquire(&self, key: ThreadKey) -> Option<ThreadLock> {
        let queue = self.queue(&key);
        let permit = Arc::clone(&queue).try_acquire_owned().ok()?;
        let mut lock = self.lock(key, queue, permit);
        match self.open(&lock.key) {
            None => Some(lock),
            Some(file) => {
                file.try_lock().ok()?;
                lock._file = Some(file);
                Some(lock)
            }
        }
    }

    /// Whether somebody waits for the thread while somebody else holds it.
    pub fn is_waited_for(&self, key: &ThreadKey) -> bool {
        let queue = self.inner.threads.lock().get(key).and_then(Weak::upgrade);
        // Ours, and two of the holder: its queue and its permit.
        queue.is_some_and(|queue| queue.available_permits() == 0 && Arc::strong_count(&queue) > 3)
    }

    /// How many threads are held or waited for here.
    pub fn busy(&self) -> usize {
        self.inner.threads.lock().len()
    }

    fn queue(&self, key: &ThreadKey) -> Arc<Semaphore> {
        let mut threads = self.inner.threads.lock();
        if let Some(queue) = threads.get(key).and_then(Weak::upgrade) {
            return queue;
        }
        // Whoever gave up waiting left an empty entry behind.
        threads.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::new(Semaphore::new(1));
        threads.insert(key.clone(), Arc::downgrade(&queue));
        queue
    }

    fn lock(&self, key: ThreadKey, queue: Arc<Semaphore>, permit: OwnedSemaphorePermit) -> ThreadLock {
        ThreadLock { key, inner: Arc::clone(&self.inner), queue: Some(queue), permit: Some(permit), _file: None }
    }

    async fn with_file(&self, mut lock: ThreadLock) -> ThreadLock {
        let Some(file) = self.open(&lock.key) else { return lock };
        // The blocking call could not be given up when the run is cancelled; trying again can.
        while let Err(TryLockError::WouldBlock) = file.try_lock() {
            tokio::time::sleep(RETRY).await;
        }
        lock._file = Some(file);
        lock
    }

    /// The file of a thread. Without one (a read-only disk) this process alone keeps the order.
    fn open(&self, key: &ThreadKey) -> Option<File> {
        let folder = self.inner.folder.as_ref()?;
        std::fs::create_dir_all(folder).ok()?;
        let name = HEXLOWER.encode(&Sha256::digest(key.as_str())[..16]);
        let path = folder.join(format!("{name}.lock"));
        OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path).ok()
    }
}

impl ThreadLock {
    pub fn key(&self) -> &ThreadKey {
        &self.key
    }
}

impl Drop for ThreadLock {
    fn drop(&mut self) {
        self.permit.take();
        self.queue.take();
        // Forget threads that nobody uses any more, so that the table does not grow with the history.
        let mut threads = self.inner.threads.lock();
        if threads.get(&self.key).is_some_and(|queue| queue.strong_count() == 0) {
            threads.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_engines::event::ResumeToken;

    fn key(value: &str) -> ThreadKey {
        ResumeToken::new("codex", value).thread_key()
    }

    #[tokio::test]
    async fn a_thread_is_held_by_one_and_passed_on_in_order() {
        let locks = Locks::default();
        let first = locks.acquire(key("a")).await;
        assert!(locks.try_acquire(key("a")).is_none());
        assert!(locks.try_acquire(key("b")).is_some(), "other threads are free");
        let order = Arc::new(Mutex::new(Vec::new()));
        let waiting: Vec<_> = (0..3)
            .map(|number| {
                let (locks, order) = (locks.clone(), Arc::clone(&order));
                tokio::spawn(async move {
                    let _lock = locks.acquire(key("a")).await;
                    order.lock().push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        assert!(order.lock().is_empty());
        drop(first);
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(*order.lock(), [0, 1, 2]);
        assert_eq!(locks.busy(), 0, "nothing is kept for idle threads");
    }

    #[tokio::test]
    async fn another_process_with_the_same_folder_waits_too() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (Locks::shared(folder.path().into()), Locks::shared(folder.path().into()));
        let held = here.acquire(key("a")).await;
        assert!(there.try_acquire(key("a")).is_none());
        let waiting = tokio::spawn({
            let there = there.clone();
            async move { there.acquire(key("a")).await.key().clone() }
        });
        drop(held);
        assert_eq!(waiting.await.unwrap(), key("a"));
    }
}
