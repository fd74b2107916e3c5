//! A run: one prompt to one engine, from the lock of its thread to the end of its last process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use crate::feed::{Feed, Incoming};
use crate::locks::{Locks, ThreadLock};
use crate::process::Host;
use crate::process::lines::Line;
use crate::warm::{Live, WarmPool};
use folkmoot_engines::contract::{Contract, Step};
use folkmoot_engines::engine::{Control, Engine, EngineError, EngineSettings, Mode, Order, Output, Unsupported};
use folkmoot_engines::event::{Detail, EngineEvent, EngineId, ResumeToken};
use folkmoot_engines::json;
use folkmoot_engines::resume::Codecs;

mod handle;
mod noise;
mod speech;
#[cfg(test)]
mod tests;
mod unknown;

pub use handle::{Run, RunHandle};
use noise::Noise;
use speech::Speech;
use unknown::{Counter, Unknown};

/// Events that wait for a slow reader; then the engine waits too.
const QUEUE: usize = 64;

/// How often a program is started that could not begin, and how long after the first time; each time longer.
const MAX_STARTS: u32 = 4;
const AGAIN_AFTER: Duration = Duration::from_millis(300);

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub prompt: String,
    pub resume: Option<ResumeToken>,
    pub folder: PathBuf,
    pub mode: Mode,
    /// Another model than the configured one.
    pub model: Option<String>,
    /// How long the engine should think, in its own words; ignored where it has none.
    pub reasoning: Option<String>,
}

/// What runs share: settings, locks, and processes that are kept warm.
#[derive(Clone)]
pub struct Runner {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub settings: BTreeMap<String, EngineSettings>,
    pub locks: Locks,
    pub host: Host,
    pub codecs: Codecs,
    pub warm: WarmPool,
    counter: Option<Counter>,
}

impl Runner {
    pub fn new(settings: BTreeMap<String, EngineSettings>, locks: Locks, codecs: Codecs) -> Self {
        let (host, warm) = (Host::default(), WarmPool::default());
        Self { shared: Arc::new(Shared { settings, locks, host, codecs, warm, counter: None }) }
    }

    /// The same with another timeouts or supervisor.
    #[must_use]
    pub fn on(self, host: Host) -> Self {
        Self { shared: Arc::new(Shared { host, ..self.shared.anew() }) }
    }

    /// The same, and this is told of every line that nobody here knows.
    #[must_use]
    pub fn counting_unknown(self, counter: impl Fn(&EngineId) + Send + Sync + 'static) -> Self {
        Self { shared: Arc::new(Shared { counter: Some(Arc::new(counter)), ..self.shared.anew() }) }
    }

    /// How it starts processes, for those that are no engines.
    pub fn host(&self) -> Host {
        self.shared.host.clone()
    }

    pub fn locks(&self) -> &Locks {
        &self.shared.locks
    }

    pub fn settings(&self, engine: &EngineId) -> EngineSettings {
        self.shared.settings.get(engine.as_str()).cloned().unwrap_or_default()
    }

    /// Begins a run. Its events come from the returned [`Run`]; dropping that ends the run.
    pub fn run(&self, engine: &'static dyn Engine, request: Request) -> Run {
        let (events_in, events) = mpsc::channel(QUEUE);
        let (controls, controls_in) = mpsc::channel(16);
        let (cancel, cancelled) = watch::channel(false);
        let (done_in, done) = oneshot::channel();
        let contract = Contract::new(engine.id(), request.resume.clone());
        let driver = Driver {
            speech: Speech::new(engine.id()),
            unknown: Unknown::new(engine.id(), self.shared.counter.clone()),
            noise: Noise::default(),
            engine,
            shared: Arc::clone(&self.shared),
            request,
            contract,
            events: events_in,
            controls: controls_in,
            cancelled,
            held: Vec::new(),
            starts: 0,
        };
        tokio::spawn(async move {
            driver.drive().await;
            let _ = done_in.send(());
        });
        Run { events, handle: RunHandle { controls, cancel: Arc::new(cancel) }, done: Some(done) }
    }
}

impl Shared {
    /// The same without the processes that wait.
    fn anew(&self) -> Self {
        let Self { settings, locks, host, codecs, counter, .. } = self;
        let (settings, locks, host) = (settings.clone(), locks.clone(), host.clone());
        Self { settings, locks, host, codecs: codecs.clone(), warm: WarmPool::default(), counter: counter.clone() }
    }
}

/// Why a run stops before its engine does.
enum Stop {
    Cancelled,
    /// Nobody listens any more.
    Dropped,
    /// The engine is in a thread that another run holds.
    Busy(ResumeToken),
    /// The engine ended before it had begun; another try may go well.
    Again,
}

/// What a run waits for.
enum Next {
    Control(Control, oneshot::Sender<Result<(), Unsupported>>),
    Incoming(Incoming),
    Settled,
    /// What the engine is saying can be told.
    Said,
}

struct Driver {
    engine: &'static dyn Engine,
    shared: Arc<Shared>,
    request: Request,
    contract: Contract,
    speech: Speech,
    unknown: Unknown,
    noise: Noise,
    events: mpsc::Sender<EngineEvent>,
    controls: mpsc::Receiver<(Control, oneshot::Sender<Result<(), Unsupported>>)>,
    cancelled: watch::Receiver<bool>,
    held: Vec<ThreadLock>,
    /// How many processes this prompt has taken.
    starts: u32,
}

impl Driver {
    async fn drive(mut self) {
        if let Some(token) = self.request.resume.clone()
            && let Err(stop) = self.lock(token).await
        {
            self.stopped(stop, String::new()).await;
            return;
        }
        let (live, outcome) = match self.begin_and_follow().await {
            Ok(followed) => followed,
            Err(error) => {
                let steps = self.contract.fail(error.whole(), String::new());
                let _ = self.carry_out(steps).await;
                return;
            }
        };
        match outcome {
            Ok(()) if live.keeps_warm() && self.contract.is_started() => self.park(live),
            Ok(()) => self.wind_down(live).await,
            Err(stop) => {
                // First the end of the engine, then the news: SIGTERM is on its way when people read it.
                let answer = live.dialog.answer_so_far();
                let end = live.feed.end();
                tokio::join!(end, self.stopped(stop, answer));
            }
        }
    }

    /// Follows a process to the end of its answer; another one, where it could not begin.
    async fn begin_and_follow(&mut self) -> Result<(Live, Result<(), Stop>), EngineError> {
        loop {
            self.starts += 1;
            let mut live = self.begin().await?;
            match self.follow(&mut live).await {
                Err(Stop::Again) => live.feed.end().await,
                outcome => return Ok((live, outcome)),
            }
            sleep_until(Instant::now() + AGAIN_AFTER * self.starts).await;
        }
    }

    /// Takes a process that waits in this thread, or starts one.
    async fn begin(&mut self) -> Result<Live, EngineError> {
        let prompt = self.shared.codecs.strip_resume_lines(&self.request.prompt);
        let settings = self.settings();
        let waiting = match &self.request.resume {
            Some(token) if self.request.mode == Mode::Warm => {
                self.shared.warm.take(&token.thread_key(), &settings, &self.request.folder).await
            }
            _ => None,
        };
        let mut out = Output::default();
        let mut live = match (waiting, &self.request.resume) {
            (Some(live), Some(token)) => {
                out.event(EngineEvent::started(token.clone(), None, Detail::new()));
                live
            }
            _ => {
                let order = Order {
                    settings: &settings,
                    prompt: &prompt,
                    resume: self.request.resume.as_ref(),
                    folder: &self.request.folder,
                    mode: self.request.mode,
                    now: unix_now(),
                };
                let plan = self.engine.prepare(&order)?;
                let feed = Feed::start(plan.source, &self.shared.host)?;
                Live::new(feed, plan.dialog, self.request.mode, settings, self.request.folder.clone())
            }
        };
        live.dialog.prompt(&prompt, &mut out);
        live.first = Some(out);
        Ok(live)
    }

    /// The configured settings with what this request wants otherwise.
    fn settings(&self) -> EngineSettings {
        let mut settings = self.shared.settings.get(self.engine.id().as_str()).cloned().unwrap_or_default();
        if let Some(model) = &self.request.model {
            settings.model.clone_from(model);
        }
        if let (Some(level), Some(key)) = (&self.request.reasoning, self.engine.reasoning_key()) {
            settings.own.insert(key.to_owned(), Value::String(level.clone()));
        }
        settings
    }

    /// Reads until `completed` was said.
    async fn follow(&mut self, live: &mut Live) -> Result<(), Stop> {
        let first = live.first.take().unwrap_or_default();
        let mut settle = self.perform(live, first).await?;
        while !self.contract.is_completed() {
            let said = self.speech.due();
            let next = tokio::select! {
                biased;
                _ = self.cancelled.wait_for(|cancelled| *cancelled) => return Err(Stop::Cancelled),
                () = self.events.closed() => return Err(Stop::Dropped),
                Some((control, reply)) = self.controls.recv() => Next::Control(control, reply),
                incoming = live.feed.next() => Next::Incoming(incoming),
                () = until(settle) => Next::Settled,
                () = until(said) => Next::Said,
            };
            let mut out = Output::default();
            match next {
                Next::Control(control, reply) => {
                    let _ = reply.send(live.dialog.control(&control, &mut out));
                }
                Next::Incoming(incoming) => {
                    // Noise says nothing, so it does not put off what comes of silence.
                    if self.incoming(live, incoming, &mut out).await? {
                        settle = None;
                    }
                }
                Next::Settled => {
                    settle = None;
                    live.dialog.settled(&mut out);
                }
                Next::Said => {}
            }
            settle = self.perform(live, out).await?.or(settle);
        }
        Ok(())
    }

    /// Whether it was something that the dialog has heard.
    async fn incoming(&mut self, live: &mut Live, incoming: Incoming, out: &mut Output) -> Result<bool, Stop> {
        let waited = std::mem::take(&mut live.waited);
        match incoming {
            Incoming::Line(Line::Text(bytes)) => match json::object(&bytes) {
                Ok(value) => live.dialog.line(&value, out),
                Err(shown) => {
                    self.unreadable(format!("invalid JSON from {}: {shown}", self.engine.id())).await?;
                    return Ok(false);
                }
            },
            Incoming::Line(Line::TooLong(length)) => {
                let text = format!("a line of {length} bytes from {} is too long and was skipped", self.engine.id());
                self.unreadable(text).await?;
                return Ok(false);
            }
            Incoming::Exited(exit) => {
                let had_begun = self.contract.is_started() || !self.engine.may_begin_again(&exit);
                if (waited || !had_begun) && self.starts < MAX_STARTS {
                    return Err(Stop::Again);
                }
                live.exited = true;
                let so_far = live.dialog.answer_so_far();
                live.dialog.ended(&exit, out);
                out.events.push(self.silence(&exit.failure(self.engine.id().as_str())));
                keep_what_was_said(&mut out.events, &so_far);
            }
        }
        Ok(true)
    }

    async fn unreadable(&mut self, text: String) -> Result<(), Stop> {
        let Some(text) = self.noise.take(text) else { return Ok(()) };
        let steps = self.contract.warn(text);
        self.carry_out(steps).await
    }

    /// The last word for a dialog that has none; the contract drops it when there is one.
    fn silence(&self, error: &str) -> EngineEvent {
        EngineEvent::Completed(folkmoot_engines::event::Completed {
            engine: self.engine.id(),
            ok: false,
            answer: String::new(),
            resume: None,
            error: Some(error.to_owned()),
            usage: Detail::new(),
        })
    }

    /// Does what the dialog wants; returns when to ask it again.
    async fn perform(&mut self, live: &mut Live, out: Output) -> Result<Option<Instant>, Stop> {
        for text in out.send {
            live.feed.send(text);
        }
        if out.close {
            live.feed.close();
        }
        let now = Instant::now();
        let mut events: Vec<EngineEvent> = Vec::new();
        for piece in out.pieces {
            events.extend(self.speech.take(piece, now));
        }
        events.extend(self.speech.tell(now));
        events.extend(out.unknown.iter().filter_map(|name| self.unknown.take(name)));
        for mut event in out.events {
            match &mut event {
                EngineEvent::Action(action) => self.speech.adopt(action),
                EngineEvent::Completed(_) => events.extend(self.speech.close()),
                EngineEvent::Started(_) | EngineEvent::Asked(_) => {}
            }
            events.push(event);
        }
        for event in events {
            let mut steps = self.last_warning(&event);
            steps.extend(self.contract.admit(event));
            self.carry_out(steps).await?;
        }
        Ok(out.settle.map(|after| Instant::now() + after))
    }

    /// Before the end it is said how many lines were not told one by one.
    fn last_warning(&mut self, event: &EngineEvent) -> Vec<Step> {
        let rest = matches!(event, EngineEvent::Completed(_)).then(|| self.noise.rest()).flatten();
        rest.map(|text| self.contract.warn(text)).unwrap_or_default()
    }

    async fn carry_out(&mut self, steps: Vec<Step>) -> Result<(), Stop> {
        for step in steps {
            match step {
                Step::Lock(token) => self.lock(token).await?,
                Step::Emit(event) => self.emit(event).await?,
            }
        }
        Ok(())
    }

    async fn lock(&mut self, token: ResumeToken) -> Result<(), Stop> {
        let key = token.thread_key();
        if self.held.iter().any(|lock| *lock.key() == key) {
            return Ok(());
        }
        if !self.held.is_empty() {
            // Waiting for a second thread while holding a first could wait for ever.
            let lock = self.shared.locks.try_acquire(key).ok_or(Stop::Busy(token))?;
            self.held.push(lock);
            return Ok(());
        }
        let locks = self.shared.locks.clone();
        tokio::select! {
            biased;
            _ = self.cancelled.wait_for(|cancelled| *cancelled) => Err(Stop::Cancelled),
            () = self.events.closed() => Err(Stop::Dropped),
            lock = locks.acquire(key) => {
                self.held.push(lock);
                Ok(())
            }
        }
    }

    async fn emit(&mut self, event: EngineEvent) -> Result<(), Stop> {
        let last = matches!(event, EngineEvent::Completed(_));
        tokio::select! {
            biased;
            sent = self.events.send(event) => sent.map_err(|_| Stop::Dropped),
            // A finished answer is delivered also to somebody who just wanted to stop.
            _ = self.cancelled.wait_for(|cancelled| *cancelled), if !last => Err(Stop::Cancelled),
        }
    }

    async fn stopped(&mut self, stop: Stop, answer: String) {
        let error = match stop {
            Stop::Cancelled => "cancelled".to_owned(),
            Stop::Dropped | Stop::Again => return,
            Stop::Busy(token) => format!("the session {} is in use by another run", token.value),
        };
        let rest = self.noise.rest().map(|text| self.contract.warn(text)).unwrap_or_default();
        for step in rest.into_iter().chain(self.contract.fail(error, answer)) {
            if let Step::Emit(event) = step {
                let _ = self.events.send(event).await;
            }
        }
    }

    /// The answer is out; the process gets its grace, unless somebody is in a hurry.
    async fn wind_down(mut self, live: Live) {
        // The reader sees the end of the events now, not at the end of the process.
        drop(self.events);
        let cancelled = self.cancelled.wait_for(|cancelled| *cancelled);
        let hurry = async {
            if cancelled.await.is_err() {
                // Nobody can cancel any more, which is no hurry.
                std::future::pending::<()>().await;
            }
        };
        live.feed.finish(hurry).await;
        drop(self.held);
    }

    fn park(self, live: Live) {
        if let Some(token) = self.contract.token().cloned() {
            self.shared.warm.put(token.thread_key(), live);
        }
        drop(self.held);
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// An engine that ended in the middle of its answer has said what it has said.
fn keep_what_was_said(events: &mut [EngineEvent], so_far: &str) {
    for event in events {
        if let EngineEvent::Completed(completed) = event
            && !completed.ok
            && completed.answer.is_empty()
        {
            so_far.clone_into(&mut completed.answer);
        }
    }
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
