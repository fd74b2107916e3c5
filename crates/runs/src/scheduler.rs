//! Jobs in order: first in, first out within a thread, side by side across threads.
//!
//! A busy thread has one worker, which ends when its queue is empty; a waiting job has no task of its own. At most
//! `most_workers` run at a time; further threads wait their turn without one.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use folkmoot_engines::event::{ResumeToken, ThreadKey};

/// Names a job, for listing and dropping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(u64);

type Work<J> = dyn Fn(J, JobContext<J>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// Hands jobs to `work`; clones share the queues.
pub struct Scheduler<J> {
    shared: Arc<Shared<J>>,
}

impl<J> Clone for Scheduler<J> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

struct Shared<J> {
    state: Mutex<State<J>>,
    work: Box<Work<J>>,
    most_workers: usize,
    idle: Notify,
}

struct State<J> {
    next: u64,
    lanes: HashMap<Lane, Queue<J>>,
    /// Lanes with jobs that wait for a worker.
    ready: VecDeque<Lane>,
    workers: usize,
}

/// A thread, or a job that has none yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Lane {
    Thread(ThreadKey),
    New(JobId),
}

struct Queue<J> {
    jobs: VecDeque<(JobId, J)>,
    busy: bool,
}

/// What a job can tell its scheduler.
pub struct JobContext<J> {
    pub id: JobId,
    lane: Lane,
    bound: Arc<Mutex<Vec<Lane>>>,
    shared: Arc<Shared<J>>,
}

impl<J: Send + 'static> JobContext<J> {
    /// The scheduler that runs this job.
    pub fn scheduler(&self) -> Scheduler<J> {
        Scheduler { shared: Arc::clone(&self.shared) }
    }

    /// A new thread has got its token: from now on this job is the one in flight there, and others wait for it.
    pub fn bind(&self, token: &ResumeToken) {
        let lane = Lane::Thread(token.thread_key());
        if lane == self.lane {
            return;
        }
        let mut state = self.shared.state.lock();
        let queue = state.lanes.entry(lane.clone()).or_insert_with(|| Queue { jobs: VecDeque::new(), busy: false });
        if !queue.busy {
            queue.busy = true;
            state.ready.retain(|ready| *ready != lane);
            self.bound.lock().push(lane);
        }
    }
}

impl<J: Clone + Send + 'static> Scheduler<J> {
    pub fn new<F, W>(most_workers: usize, work: W) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
        W: Fn(J, JobContext<J>) -> F + Send + Sync + 'static,
    {
        let work: Box<Work<J>> = Box::new(move |job, context| Box::pin(work(job, context)));
        let state = State { next: 0, lanes: HashMap::new(), ready: VecDeque::new(), workers: 0 };
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(state),
                work,
                most_workers: most_workers.max(1),
                idle: Notify::new(),
            }),
        }
    }

    /// Adds a job at the end of its thread's queue; without a token it gets a thread of its own.
    pub fn enqueue(&self, resume: Option<&ResumeToken>, job: J) -> JobId {
        let mut state = self.shared.state.lock();
        let id = JobId(state.next);
        state.next += 1;
        let lane = resume.map_or(Lane::New(id), |token| Lane::Thread(token.thread_key()));
        let queue = state.lanes.entry(lane.clone()).or_insert_with(|| Queue { jobs: VecDeque::new(), busy: false });
        queue.jobs.push_back((id, job));
        let waits_already = queue.busy || queue.jobs.len() > 1;
        if !waits_already {
            state.ready.push_back(lane);
        }
        hire(&self.shared, &mut state);
        id
    }

    /// Whether a job that is added now would have to wait for others.
    pub fn is_busy(&self, resume: Option<&ResumeToken>) -> bool {
        let state = self.shared.state.lock();
        let lane = resume.map(|token| Lane::Thread(token.thread_key()));
        state.workers >= self.shared.most_workers || lane.is_some_and(|lane| state.lanes.contains_key(&lane))
    }

    /// The jobs that wait, in the order in which they came, with their threads.
    pub fn queued(&self) -> Vec<(JobId, Option<ThreadKey>, J)> {
        let state = self.shared.state.lock();
        let mut jobs: Vec<_> = state
            .lanes
            .iter()
            .flat_map(|(lane, queue)| queue.jobs.iter().map(move |(id, job)| (*id, lane.key(), job.clone())))
            .collect();
        jobs.sort_by_key(|(id, _, _)| *id);
        jobs
    }

    /// Takes a job out of its queue, unless it has begun.
    pub fn drop_job(&self, id: JobId) -> Option<J> {
        let mut state = self.shared.state.lock();
        let (lane, at) = state.lanes.iter().find_map(|(lane, queue)| {
            let at = queue.jobs.iter().position(|(job, _)| *job == id)?;
            Some((lane.clone(), at))
        })?;
        let queue = state.lanes.get_mut(&lane)?;
        let (_, job) = queue.jobs.remove(at)?;
        if queue.jobs.is_empty() && !queue.busy {
            state.lanes.remove(&lane);
            state.ready.retain(|ready| *ready != lane);
        }
        Some(job)
    }

    /// How many workers run; none is kept for a thread without jobs.
    pub fn workers(&self) -> usize {
        self.shared.state.lock().workers
    }

    /// Waits until nothing runs and nothing waits.
    pub async fn idle(&self) {
        loop {
            let notified = self.shared.idle.notified();
            if self.shared.state.lock().lanes.is_empty() {
                return;
            }
            notified.await;
        }
    }
}

impl Lane {
    fn key(&self) -> Option<ThreadKey> {
        match self {
            Self::Thread(key) => Some(key.clone()),
            Self::New(_) => None,
        }
    }
}

/// Starts workers for lanes that are ready, as far as there may be more.
fn hire<J: Clone + Send + 'static>(shared: &Arc<Shared<J>>, state: &mut State<J>) {
    while state.workers < shared.most_workers {
        let Some(lane) = state.ready.pop_front() else { return };
        let Some(queue) = state.lanes.get_mut(&lane) else { continue };
        queue.busy = true;
        state.workers += 1;
        tokio::spawn(drain(Arc::clone(shared), lane));
    }
}

/// The worker of one lane.
async fn drain<J: Clone + Send + 'static>(shared: Arc<Shared<J>>, lane: Lane) {
    let worker = Worker { shared: Arc::clone(&shared), lane: lane.clone() };
    loop {
        let next = shared.state.lock().lanes.get_mut(&lane).and_then(|queue| queue.jobs.pop_front());
        let Some((id, job)) = next else { break };
        let bound = Arc::new(Mutex::new(Vec::new()));
        // Released also when the job panics.
        let release = Release { shared: Arc::clone(&shared), bound: Arc::clone(&bound) };
        let context = JobContext { id, lane: lane.clone(), bound, shared: Arc::clone(&shared) };
        (shared.work)(job, context).await;
        drop(release);
    }
    drop(worker);
}

/// Lets go of the threads that a job was bound to while it ran.
struct Release<J: Clone + Send + 'static> {
    shared: Arc<Shared<J>>,
    bound: Arc<Mutex<Vec<Lane>>>,
}

impl<J: Clone + Send + 'static> Drop for Release<J> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        for lane in self.bound.lock().drain(..) {
            free(&mut state, lane);
        }
        hire(&self.shared, &mut state);
    }
}

struct Worker<J: Clone + Send + 'static> {
    shared: Arc<Shared<J>>,
    lane: Lane,
}

impl<J: Clone + Send + 'static> Drop for Worker<J> {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.workers -= 1;
        free(&mut state, self.lane.clone());
        hire(&self.shared, &mut state);
        self.shared.idle.notify_waiters();
    }
}

/// The lane is idle: forget it, or let a worker have it if jobs wait.
fn free<J>(state: &mut State<J>, lane: Lane) {
    let Some(queue) = state.lanes.get_mut(&lane) else { return };
    queue.busy = false;
    if queue.jobs.is_empty() {
        state.lanes.remove(&lane);
    } else {
        state.ready.push_back(lane);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    /// A job that says its name and then waits to be let go.
    type Gate = (&'static str, Arc<Notify>);

    fn gate(name: &'static str) -> Gate {
        (name, Arc::new(Notify::new()))
    }

    fn scheduler(most: usize) -> (Scheduler<Gate>, mpsc::UnboundedReceiver<&'static str>) {
        let (said, heard) = mpsc::unbounded_channel();
        let scheduler = Scheduler::new(most, move |(name, go): Gate, context: JobContext<Gate>| {
            let said = said.clone();
            async move {
                if let Some(value) = name.strip_prefix("new:") {
                    context.bind(&token(value));
                }
                said.send(name).unwrap();
                go.notified().await;
            }
        });
        (scheduler, heard)
    }

    fn token(value: &str) -> ResumeToken {
        ResumeToken::new("codex", value)
    }

    /// Lets every task that can run, run.
    async fn settle() {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn fifo_per_thread_key_and_the_second_job_does_not_start_until_the_first_completes() {
        let (scheduler, mut heard) = scheduler(8);
        let jobs = [gate("one"), gate("two"), gate("three")];
        for job in &jobs {
            scheduler.enqueue(Some(&token("a")), job.clone());
        }
        for (name, go) in &jobs {
            assert_eq!(heard.recv().await, Some(*name));
            settle().await;
            assert!(heard.try_recv().is_err(), "the next one waits");
            assert_eq!(scheduler.workers(), 1, "one worker per busy thread");
            go.notify_one();
        }
        scheduler.idle().await;
        assert_eq!(scheduler.workers(), 0, "a worker ends when its queue is empty");
    }

    #[tokio::test]
    async fn different_threads_run_in_parallel_up_to_the_bound() {
        let (scheduler, mut heard) = scheduler(2);
        let jobs = [gate("a"), gate("b"), gate("c")];
        for job in &jobs {
            scheduler.enqueue(Some(&token(job.0)), job.clone());
        }
        settle().await;
        assert_eq!((heard.try_recv(), heard.try_recv()), (Ok("a"), Ok("b")));
        assert!(heard.try_recv().is_err());
        assert_eq!(scheduler.queued().len(), 1);
        jobs[1].1.notify_one();
        assert_eq!(heard.recv().await, Some("c"));
        jobs[0].1.notify_one();
        jobs[2].1.notify_one();
        scheduler.idle().await;
    }

    #[tokio::test]
    async fn a_new_run_is_the_job_in_flight_of_its_thread_once_the_token_is_known() {
        let (scheduler, mut heard) = scheduler(8);
        let (first, second) = (gate("new:x"), gate("follow-up"));
        scheduler.enqueue(None, first.clone());
        assert_eq!(heard.recv().await, Some("new:x"));
        scheduler.enqueue(Some(&token("x")), second.clone());
        settle().await;
        assert!(heard.try_recv().is_err(), "it waits for the run that has the thread");
        first.1.notify_one();
        assert_eq!(heard.recv().await, Some("follow-up"));
        second.1.notify_one();
        scheduler.idle().await;
    }

    #[tokio::test]
    async fn queued_jobs_can_be_listed_and_dropped() {
        let (scheduler, mut heard) = scheduler(8);
        let jobs = [gate("one"), gate("two"), gate("three")];
        let ids: Vec<JobId> = jobs.iter().map(|job| scheduler.enqueue(Some(&token("a")), job.clone())).collect();
        assert_eq!(heard.recv().await, Some("one"));
        let names: Vec<&str> = scheduler.queued().iter().map(|(_, _, job)| job.0).collect();
        assert_eq!(names, ["two", "three"]);
        assert_eq!(scheduler.drop_job(ids[1]).map(|job| job.0), Some("two"));
        assert!(scheduler.drop_job(ids[1]).is_none());
        assert!(scheduler.drop_job(ids[0]).is_none(), "what has begun is not in a queue");
        jobs[0].1.notify_one();
        assert_eq!(heard.recv().await, Some("three"));
        jobs[2].1.notify_one();
        scheduler.idle().await;
    }

    #[tokio::test]
    async fn a_job_that_panics_does_not_hold_up_its_thread() {
        let (said, mut heard) = mpsc::unbounded_channel();
        let scheduler = Scheduler::new(4, move |job: &'static str, _| {
            let said = said.clone();
            async move {
                assert_ne!(job, "bad", "this one is meant to fail");
                said.send(job).unwrap();
            }
        });
        scheduler.enqueue(Some(&token("a")), "bad");
        scheduler.enqueue(Some(&token("a")), "good");
        assert_eq!(heard.recv().await, Some("good"));
        scheduler.idle().await;
    }
}
