//! The queue in front of the executor: many put in, one takes out all that waits.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::Job;
use super::pace::Gathering;

/// Each producer has a bounded number of jobs in flight (one per REST call, 256 per connection), so this is bounded too.
#[derive(Default)]
pub struct Mailbox {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: Vec<Job>,
    /// The executor sleeps; nobody needs to wake one that is busy.
    asleep: bool,
    /// It sleeps until this many wait.
    wake_at: usize,
    closed: bool,
}

impl Mailbox {
    /// False when the hub has stopped; the job is dropped and its caller sees the channel close.
    pub fn put(&self, job: Job) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            return false;
        }
        waiting.jobs.push(job);
        let wake = waiting.asleep && waiting.jobs.len() >= waiting.wake_at;
        drop(waiting);
        if wake {
            self.arrived.notify_one();
        }
        true
    }

    /// Moves all that waits into `batch`, sleeping until at least one job waits or the time has come.
    pub fn take(&self, batch: &mut Vec<Job>, until: Option<Instant>) {
        let mut waiting = self.sleep(1, until);
        std::mem::swap(&mut waiting.jobs, batch);
    }

    /// Sleeps until enough jobs wait, the time is up, or nobody comes any more: nobody wakes the executor for fewer.
    pub fn gather(&self, gathering: Gathering) {
        let end = Instant::now() + gathering.at_most;
        let mut before = 0;
        loop {
            let until = end.min(Instant::now() + gathering.lull);
            let count = self.sleep(gathering.count, Some(until)).jobs.len();
            let lull = count == before && count > 0;
            if count >= gathering.count || lull || Instant::now() >= end {
                return;
            }
            before = count;
        }
    }

    pub fn len(&self) -> usize {
        self.waiting.lock().jobs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes no more jobs; whoever waits for one that came too late learns at once that it will not be done.
    pub fn close(&self) {
        let mut waiting = self.waiting.lock();
        waiting.closed = true;
        waiting.jobs.clear();
    }

    fn sleep(&self, count: usize, until: Option<Instant>) -> parking_lot::MutexGuard<'_, Waiting> {
        let mut waiting = self.waiting.lock();
        while waiting.jobs.len() < count && !waiting.closed {
            waiting.asleep = true;
            waiting.wake_at = count;
            let timed_out = match until {
                Some(until) => self.arrived.wait_until(&mut waiting, until).timed_out(),
                None => {
                    self.arrived.wait(&mut waiting);
                    false
                }
            };
            waiting.asleep = false;
            if timed_out {
                break;
            }
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_core::Actor;
    use folkmoot_core::model::Door;
    use tokio::sync::oneshot;

    use super::*;
    use crate::executor::{Respond, Work};

    #[test]
    fn a_job_that_comes_too_late_is_answered_by_the_end_of_its_channel() {
        let mailbox = Mailbox::default();
        let job = |respond| Job { actor: Actor::nobody(Door::Rest), work: Work::CatchUp, respond };
        let (waiting, mut before) = oneshot::channel();
        assert!(mailbox.put(job(Respond::Caller(waiting))));
        mailbox.close();
        assert!(matches!(before.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        let (late, mut after) = oneshot::channel();
        assert!(!mailbox.put(job(Respond::Caller(late))));
        assert!(matches!(after.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    }
}
