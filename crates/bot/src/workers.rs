//! Work that would hold up everybody else: on threads of its own, so many at once, with a time limit.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::BotError;
use crate::settings::{Limits, seconds};

/// The two pools of the document: one for work that waits for the disk, one for work that needs the processor.
#[derive(Clone)]
pub struct Workers {
    threads: Arc<Semaphore>,
    processors: Arc<Semaphore>,
    timeout: Duration,
}

impl Workers {
    pub fn new(limits: &Limits) -> Self {
        let places = |count: u32| Arc::new(Semaphore::new(count.max(1) as usize));
        Self {
            threads: places(limits.thread_pool_workers),
            processors: places(limits.process_pool_workers),
            timeout: seconds(limits.executor_timeout_s),
        }
    }

    /// Work that a thread of its own does, and that waits for the disk: the database.
    pub async fn block<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, BotError> {
        self.run(&self.threads, work).await
    }

    /// Work that computes: counting tokens, reading a page.
    pub async fn compute<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, BotError> {
        let work = async { tokio::task::spawn_blocking(work).await.map_err(|_| broken_off()) };
        self.run(&self.processors, work).await?
    }

    async fn run<T: Send + 'static>(
        &self,
        places: &Arc<Semaphore>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, BotError> {
        let done = async {
            let place = places.clone().acquire_owned().await.expect("nobody closes the semaphore");
            // The place goes with the work: work that nobody waits for any more still occupies a thread.
            let work = tokio::spawn(async move {
                let result = work.await;
                drop(place);
                result
            });
            work.await.map_err(|_| broken_off())
        };
        let late = |_| BotError::Tool(format!("the work took longer than {} s", self.timeout.as_secs_f64()));
        timeout(self.timeout, done).await.map_err(late)?
    }
}

fn broken_off() -> BotError {
    BotError::Tool("the work broke off".to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    fn impatient() -> Workers {
        Workers::new(&Limits { executor_timeout_s: 0.05, thread_pool_workers: 1, ..Limits::default() })
    }

    #[tokio::test]
    async fn work_off_the_async_threads_has_a_result() {
        let caller = std::thread::current().id();
        let worker = impatient().compute(|| std::thread::current().id()).await.unwrap();
        assert_ne!(worker, caller);
    }

    #[tokio::test]
    async fn work_beyond_executor_timeout_is_given_up_and_keeps_its_place() {
        let workers = impatient();
        let (release, wait) = oneshot::channel::<()>();
        let stuck = workers.block(wait).await;
        assert!(matches!(stuck, Err(BotError::Tool(why)) if why.contains("longer than 0.05 s")));
        assert!(workers.block(async {}).await.is_err(), "the only place is taken");
        release.send(()).unwrap();
        let _ = workers.threads.acquire().await.unwrap();
        assert!(workers.block(async {}).await.is_ok());
    }
}
