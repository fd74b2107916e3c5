//! The run queue: takes prompts for a surface, runs them in order, and tells the surface what happens.
//!
//! A surface is where people are: a Telegram chat, a channel of the hub. The run queue knows nothing of it but tickets, which
//! name prompts. What is the same everywhere is here: one run at a time per thread, prompts that wait for a thread that
//! has no name yet, the pace of progress, cancelling, steering, answers to questions, and the clean stop.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::progress::{Label, Progress};
use crate::run::{Request, Run, RunHandle, Runner};
use crate::scheduler::{JobContext, JobId, Scheduler};
use folkmoot_engines::engine::{Engine, Mode, Unsupported};
use folkmoot_engines::event::{ActionEvent, Ask, AskAnswer, EngineEvent, ResumeToken};

pub mod pace;
#[cfg(test)]
mod tests;

use pace::Pace;

/// Where people are.
pub trait Surface: Send + Sync + 'static {
    /// Names a prompt.
    type Ticket: Copy + Debug + Ord + Hash + Send + Sync + 'static;

    /// Takes news about a prompt; must not wait.
    fn tell(&self, ticket: Self::Ticket, news: News);
}

/// What a surface gets to know.
#[derive(Clone, Debug)]
pub enum News {
    /// The prompt's turn has come.
    Began,
    /// The run is in this thread.
    Thread(ResumeToken),
    /// The engine does something; told of every event, at once.
    Action(ActionEvent),
    /// The view has changed, or its clock has moved on.
    View(View),
    Asked(Ask),
    /// The engine no longer waits for an answer to this question.
    Withdrawn(String),
    /// The last word about a prompt that was run.
    Finished(View),
    /// The last word about a prompt that was taken out of its queue.
    Dropped,
}

/// A run at a moment.
#[derive(Clone, Debug)]
pub struct View {
    pub progress: Progress,
    pub elapsed: Duration,
}

/// What to run.
#[derive(Clone)]
pub struct Task {
    pub engine: &'static dyn Engine,
    pub resume: Option<ResumeToken>,
    pub prompt: String,
    pub folder: PathBuf,
    pub mode: Mode,
    pub model: Option<String>,
    pub reasoning: Option<String>,
}

impl Task {
    fn request(self) -> Request {
        let Self { resume, prompt, folder, mode, model, reasoning, .. } = self;
        Request { prompt, resume, folder, mode, model, reasoning }
    }
}

/// What became of a wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    Running,
    Queued,
    /// It has ended, or was never here.
    Unknown,
}

/// Clones share the work.
pub struct RunQueue<S: Surface> {
    inner: Arc<Inner<S>>,
    scheduler: Scheduler<Job<S::Ticket>>,
}

impl<S: Surface> Clone for RunQueue<S> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), scheduler: self.scheduler.clone() }
    }
}

#[derive(Clone)]
struct Job<T> {
    ticket: T,
    task: Task,
}

struct Inner<S: Surface> {
    surface: S,
    runner: Runner,
    interval: Duration,
    jobs: Mutex<HashMap<S::Ticket, Stage<S::Ticket>>>,
    stopping: AtomicBool,
}

enum Stage<T> {
    /// In the queue of its thread; the number follows a moment after the job.
    Waiting(Option<JobId>),
    /// For a thread whose name is not known yet.
    Following(T, Box<Task>),
    /// Taken back between the queue and the run.
    Revoked,
    Running(Running),
}

struct Running {
    handle: RunHandle,
    thread: Option<ResumeToken>,
    answered: mpsc::UnboundedSender<String>,
}

impl<S: Surface> RunQueue<S> {
    /// At most `most_runs` run at a time; views come no more often than `interval`.
    pub fn new(surface: S, runner: Runner, most_runs: usize, interval: Duration) -> Self {
        let (jobs, stopping) = (Mutex::default(), AtomicBool::new(false));
        let inner = Arc::new(Inner { surface, runner, interval, jobs, stopping });
        let at_work = Arc::clone(&inner);
        let scheduler = Scheduler::new(most_runs, move |job: Job<S::Ticket>, context| {
            let inner = Arc::clone(&at_work);
            async move { inner.work(job, context).await }
        });
        Self { inner, scheduler }
    }

    /// Whether a prompt for this thread would have to wait for others.
    pub fn is_busy(&self, resume: Option<&ResumeToken>) -> bool {
        self.scheduler.is_busy(resume)
    }

    /// Takes a prompt; `true`: it has to wait for others.
    pub fn submit(&self, ticket: S::Ticket, task: Task) -> bool {
        let waits = self.is_busy(task.resume.as_ref());
        self.enqueue(ticket, task);
        waits
    }

    /// Takes a prompt for the thread of another one, whatever that will turn out to be. A thread that never gets a
    /// name cannot be continued; the prompt then begins one.
    pub fn submit_after(&self, ticket: S::Ticket, mut task: Task, leader: S::Ticket) -> bool {
        let mut jobs = self.inner.jobs.lock();
        let leader_thread = match jobs.get(&leader) {
            Some(Stage::Running(running)) => running.thread.clone(),
            Some(_) => None,
            None => {
                drop(jobs);
                return self.submit(ticket, task);
            }
        };
        match leader_thread {
            Some(token) => {
                task.resume = Some(token);
                drop(jobs);
                self.submit(ticket, task)
            }
            None => {
                jobs.insert(ticket, Stage::Following(leader, Box::new(task)));
                true
            }
        }
    }

    fn enqueue(&self, ticket: S::Ticket, task: Task) {
        self.inner.jobs.lock().insert(ticket, Stage::Waiting(None));
        let id = self.scheduler.enqueue(task.resume.clone().as_ref(), Job { ticket, task });
        if let Some(Stage::Waiting(known)) = self.inner.jobs.lock().get_mut(&ticket) {
            *known = Some(id);
        }
    }

    /// Ends a run with SIGTERM, or takes a prompt out of its queue.
    pub fn cancel(&self, ticket: S::Ticket) -> Cancelled {
        let mut jobs = self.inner.jobs.lock();
        let waiting = match jobs.get_mut(&ticket) {
            None | Some(Stage::Revoked) => return Cancelled::Unknown,
            Some(Stage::Running(running)) => {
                running.handle.cancel();
                return Cancelled::Running;
            }
            Some(Stage::Following(..)) => None,
            Some(Stage::Waiting(id)) => *id,
        };
        let begins = matches!(jobs.get(&ticket), Some(Stage::Waiting(_)))
            && waiting.is_none_or(|id| self.scheduler.drop_job(id).is_none());
        if begins {
            // It is on its way from the queue to its run, which will find this.
            jobs.insert(ticket, Stage::Revoked);
        } else {
            jobs.remove(&ticket);
            drop(jobs);
            self.inner.surface.tell(ticket, News::Dropped);
            self.follow_up(ticket, None);
        }
        Cancelled::Queued
    }

    /// Gives a running engine something to take into account now.
    pub async fn steer(&self, ticket: S::Ticket, text: String) -> Result<(), Unsupported> {
        self.handle(ticket)?.steer(text).await
    }

    /// Answers a question of a running engine.
    pub async fn answer(&self, ticket: S::Ticket, ask: String, answer: AskAnswer) -> Result<(), Unsupported> {
        self.handle(ticket)?.answer(ask.clone(), answer).await?;
        if let Some(Stage::Running(running)) = self.inner.jobs.lock().get(&ticket) {
            // A run that just ended has no view to change.
            let _ = running.answered.send(ask);
        }
        Ok(())
    }

    fn handle(&self, ticket: S::Ticket) -> Result<RunHandle, Unsupported> {
        match self.inner.jobs.lock().get(&ticket) {
            Some(Stage::Running(running)) => Ok(running.handle.clone()),
            _ => Err(Unsupported),
        }
    }

    /// Everything that runs or waits, in no particular order; `true`: it runs.
    pub fn tickets(&self) -> Vec<(S::Ticket, bool)> {
        let jobs = self.inner.jobs.lock();
        jobs.iter().map(|(ticket, stage)| (*ticket, matches!(stage, Stage::Running(_)))).collect()
    }

    /// Ends all runs, which finish as stopped. What waits is not begun and not told of: its surface keeps it.
    pub async fn stop(&self) {
        self.inner.stopping.store(true, Ordering::SeqCst);
        for (_, stage) in self.inner.jobs.lock().iter() {
            if let Stage::Running(running) = stage {
                running.handle.cancel();
            }
        }
        self.scheduler.idle().await;
    }

    fn follow_up(&self, leader: S::Ticket, thread: Option<&ResumeToken>) {
        self.inner.follow_up(&self.scheduler, leader, thread);
    }
}

impl<S: Surface> Inner<S> {
    async fn work(self: Arc<Self>, job: Job<S::Ticket>, context: JobContext<Job<S::Ticket>>) {
        if self.stopping.load(Ordering::SeqCst) {
            return;
        }
        let (ticket, engine) = (job.ticket, job.task.engine);
        let Some((mut run, answered)) = self.begin(job) else {
            self.surface.tell(ticket, News::Dropped);
            return self.follow_up(&context.scheduler(), ticket, None);
        };
        self.surface.tell(ticket, News::Began);
        let mut following = Following {
            inner: &self,
            ticket,
            context: &context,
            progress: Progress::new(engine.id()),
            begun: Instant::now(),
            pace: Pace::new(self.interval),
            answered,
        };
        let view = following.follow(engine, &mut run).await;
        let thread = view.progress.resume().cloned();
        self.jobs.lock().remove(&ticket);
        self.surface.tell(ticket, News::Finished(view));
        self.follow_up(&context.scheduler(), ticket, thread.as_ref());
        run.gone().await;
    }

    /// Starts the run, unless its prompt was taken back on the way.
    fn begin(&self, job: Job<S::Ticket>) -> Option<(Run, mpsc::UnboundedReceiver<String>)> {
        let mut jobs = self.jobs.lock();
        if matches!(jobs.get(&job.ticket), Some(Stage::Revoked)) {
            jobs.remove(&job.ticket);
            return None;
        }
        let thread = job.task.resume.clone();
        let run = self.runner.run(job.task.engine, job.task.request());
        let (answered, answers) = mpsc::unbounded_channel();
        jobs.insert(job.ticket, Stage::Running(Running { handle: run.handle(), thread, answered }));
        Some((run, answers))
    }

    /// Gives those who wait for the leader's thread their place in its queue.
    fn follow_up(&self, scheduler: &Scheduler<Job<S::Ticket>>, leader: S::Ticket, thread: Option<&ResumeToken>) {
        let mut jobs = self.jobs.lock();
        let behind = |stage: &Stage<S::Ticket>| matches!(stage, Stage::Following(of, _) if *of == leader);
        let mut tickets: Vec<S::Ticket> =
            jobs.iter().filter(|(_, stage)| behind(stage)).map(|(ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        for ticket in tickets {
            let Some(Stage::Following(_, mut task)) = jobs.remove(&ticket) else { continue };
            task.resume = thread.cloned();
            let id = scheduler.enqueue(thread, Job { ticket, task: *task });
            jobs.insert(ticket, Stage::Waiting(Some(id)));
        }
    }

    fn name_thread(&self, ticket: S::Ticket, token: &ResumeToken) {
        if let Some(Stage::Running(running)) = self.jobs.lock().get_mut(&ticket) {
            running.thread = Some(token.clone());
        }
    }
}

/// One run while it is watched.
struct Following<'a, S: Surface> {
    inner: &'a Inner<S>,
    ticket: S::Ticket,
    context: &'a JobContext<Job<S::Ticket>>,
    progress: Progress,
    begun: Instant,
    pace: Pace,
    answered: mpsc::UnboundedReceiver<String>,
}

impl<S: Surface> Following<'_, S> {
    /// Reads the run to its last event and returns the last view.
    async fn follow(&mut self, engine: &'static dyn Engine, run: &mut Run) -> View {
        loop {
            tokio::select! {
                event = run.next() => match event {
                    Some(event) => self.event(engine, &event),
                    None => return self.last(engine),
                },
                Some(ask) = self.answered.recv() => {
                    self.progress.answered(&ask);
                    self.pace.changed();
                }
                () = sleep_until(self.begun + self.pace.due()) => self.show(),
            }
            if self.progress.completed().is_some() {
                return self.last(engine);
            }
        }
    }

    fn event(&mut self, engine: &'static dyn Engine, event: &EngineEvent) {
        if self.progress.take(event, |token| engine.codec().format_resume(token).ok()) {
            self.pace.changed();
        }
        match event {
            EngineEvent::Started(started) => {
                self.context.bind(&started.resume);
                self.inner.name_thread(self.ticket, &started.resume);
                self.tell(News::Thread(started.resume.clone()));
                self.inner.follow_up(&self.context.scheduler(), self.ticket, Some(&started.resume));
            }
            EngineEvent::Asked(asked) if asked.ask.withdrawn => self.tell(News::Withdrawn(asked.ask.id.clone())),
            EngineEvent::Asked(asked) => self.tell(News::Asked((*asked.ask).clone())),
            EngineEvent::Action(action) => self.tell(News::Action(action.clone())),
            EngineEvent::Completed(_) => {}
        }
    }

    fn show(&mut self) {
        let elapsed = self.begun.elapsed();
        self.pace.shown(elapsed);
        self.tell(News::View(View { progress: self.progress.clone(), elapsed }));
    }

    /// The view after the last event. A run never just ends, so one without a last word gets one.
    fn last(&mut self, engine: &'static dyn Engine) -> View {
        if self.progress.completed().is_none() {
            let mut contract = folkmoot_engines::contract::Contract::new(engine.id(), self.progress.resume().cloned());
            for step in contract.fail(format!("{} ended without a result", engine.id()), String::new()) {
                if let folkmoot_engines::contract::Step::Emit(event) = step {
                    self.event(engine, &event);
                }
            }
        }
        let stopping = self.inner.stopping.load(Ordering::SeqCst);
        if stopping && self.progress.label() == Label::Cancelled {
            self.progress.set_stopped();
        }
        View { progress: self.progress.clone(), elapsed: self.begun.elapsed() }
    }

    fn tell(&self, news: News) {
        self.inner.surface.tell(self.ticket, news);
    }
}
