//! The daemon itself: one task owns the state and handles one [`DaemonEvent`] after the other.
//!
//! Whatever takes time (a call to the hub, git, a run) happens in tasks of its own and comes back as an event. What the
//! hub is owed is written to the journal before it is sent.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use folkmoot_clients::lark::{self, CallError, Client as Link, Heard};

use folkmoot_engines::engine::Mode;
use folkmoot_engines::engines;
use folkmoot_runs::modes::Modes;
use folkmoot_runs::run::Runner;
use folkmoot_runs::run_queue::{News, RunQueue, Surface};
use folkmoot_wire::lark::{AgentWake, ApprovalAnswer, AuthSuccess, Frame, Run, WokenBy};
use reqwest::Client;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use self::recent::Recent;
use crate::error::DaemonError;
use crate::hub::Rest;
use crate::journal::{Journal, KeptRun, Outgoing};
use crate::programs::Programs;
use crate::settings::{AgentSpec, DaemonSettings, EngineAgent, Kind};
use crate::wake::Wake;

mod asks;
mod finish;
mod outbox;
mod recent;
mod registering;
mod runs;
mod status;
#[cfg(test)]
mod tests;
mod threads;
mod wakes;

pub use status::{AgentStatus, Status};

/// How many engines work at a time; further prompts wait.
const MAX_RUNS: usize = 256;
/// How often a progress message is edited.
const CALM: Duration = Duration::from_secs(2);
/// How long engines may take to end when the daemon stops.
const STOP_RUNS: Duration = Duration::from_millis(2600);
/// How long last words may take to leave then; what does not arrive is sent at the next start.
const STOP_LINK: Duration = Duration::from_millis(500);

/// Names a prompt in the run queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// Everything that can happen.
pub(crate) enum DaemonEvent {
    Heard(Heard),
    /// The hub knows our agents; these are their ids.
    Registered {
        login: u64,
        agents: Result<Vec<AgentSpec>, String>,
    },
    /// The hub has begun a run for a wake, or not; and where it works.
    Started(Ticket, Result<Box<Begun>, CallError>),
    News(Ticket, Box<News>),
    /// The text of a wake was taken up by a run that goes on, or could not be.
    Steered(Ticket, Box<Wake>, bool),
    /// What the hub said to a question.
    Asked {
        ticket: Ticket,
        ask: String,
        answer: Result<ApprovalAnswer, CallError>,
    },
    /// What changed in the work tree of a run that ended.
    Changed(Ticket, Box<finish::Ending>),
    /// The hub has answered to what it was owed.
    Settled {
        id: String,
        answer: Result<(), CallError>,
    },
    /// Others are to be hosted now.
    Agents(Vec<AgentSpec>),
    Restart(String),
}

/// A run that the hub has begun.
pub(crate) struct Begun {
    pub run: Run,
    pub resumed: bool,
    pub kept: Option<KeptRun>,
    pub folder: Result<PathBuf, String>,
    pub branch: Option<String>,
    pub mode: Mode,
}

/// The run queue's way to tell us.
pub(crate) struct Board(mpsc::UnboundedSender<DaemonEvent>);

impl Surface for Board {
    type Ticket = Ticket;

    fn tell(&self, ticket: Ticket, news: News) {
        // When nobody listens any more, the hub knows how far it was.
        let _ = self.0.send(DaemonEvent::News(ticket, Box::new(news)));
    }
}

/// An engine agent that the hub knows.
#[derive(Clone)]
pub(crate) struct Hosted {
    pub id: String,
    pub name: String,
    pub spec: Arc<EngineAgent>,
}

/// A run, from its wake to its last word.
pub(crate) struct Live {
    pub wake: Wake,
    pub agent: Hosted,
    pub engine: String,
    pub model: Option<String>,
    pub run: Option<RunPlace>,
    pub submitted: bool,
    pub cancelled: bool,
    pub folder: PathBuf,
    pub branch: Option<String>,
    pub shown: String,
    /// Wakes that wait for its end.
    pub behind: Vec<Wake>,
    /// How many of them are being offered to the engine. Until it is known whether it took them, the run is not over.
    pub steering: usize,
    pub ending: Option<Box<finish::Ending>>,
    /// Deliveries whose text it took up.
    pub joined: Vec<String>,
    pub asks: BTreeMap<String, asks::Open>,
    pub recent: Recent,
}

/// Where the hub keeps a run.
#[derive(Clone, Debug)]
pub(crate) struct RunPlace {
    pub id: String,
    pub channel: String,
    pub thread: Option<String>,
}

/// Where a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Run(Ticket),
    /// Behind this run.
    Behind(Ticket),
}

pub struct Daemon {
    pub(crate) settings: DaemonSettings,
    pub(crate) link: Link,
    pub(crate) rest: Rest,
    pub(crate) journal: Journal,
    pub(crate) run_queue: RunQueue<Board>,
    pub(crate) modes: Arc<Modes>,
    pub(crate) programs: Programs,
    pub(crate) agents: HashMap<String, Hosted>,
    pub(crate) wanted: Vec<AgentSpec>,
    pub(crate) identity: Option<AuthSuccess>,
    /// How often we have logged in: what belongs to an earlier time no longer counts.
    pub(crate) login: u64,
    /// Whether the hub is being told whom we carry, and whether that changed meanwhile.
    pub(crate) registering: bool,
    pub(crate) register_again: bool,
    /// Wakes that came before the hub had heard whom we carry.
    pub(crate) early: Vec<AgentWake<'static, WokenBy>>,
    pub(crate) live: BTreeMap<Ticket, Live>,
    pub(crate) taken: HashMap<String, Taken>,
    pub(crate) finished: HashSet<String>,
    /// Actions of runs whose end the hub has not acknowledged yet.
    pub(crate) sent_before: HashMap<String, Recent>,
    pub(crate) next: u64,
    pub(crate) events: mpsc::UnboundedSender<DaemonEvent>,
    pub(crate) status: watch::Sender<Status>,
    pub(crate) stopping: bool,
}

/// Changes a running daemon from outside; clones share it.
#[derive(Clone)]
pub struct Handle {
    events: mpsc::UnboundedSender<DaemonEvent>,
    status: watch::Receiver<Status>,
}

impl Handle {
    /// Others are to be hosted now.
    pub fn host(&self, agents: Vec<AgentSpec>) {
        let _ = self.events.send(DaemonEvent::Agents(agents));
    }

    /// Ends a program, which is started again.
    pub fn restart(&self, agent: &str) {
        let _ = self.events.send(DaemonEvent::Restart(agent.to_owned()));
    }

    pub fn status(&self) -> watch::Receiver<Status> {
        self.status.clone()
    }
}

/// Runs the daemon until `stop` comes. `ready` is called with a handle before the first connection.
pub async fn run(
    settings: DaemonSettings,
    runner: Runner,
    stop: impl Future<Output = ()>,
    ready: impl FnOnce(Handle),
) -> Result<(), DaemonError> {
    let (events_in, mut events) = mpsc::unbounded_channel();
    let (heard_in, mut heard) = mpsc::channel(64);
    let mut daemon = Daemon::open(settings, runner, events_in, heard_in).await?;
    ready(Handle { events: daemon.events.clone(), status: daemon.status.subscribe() });
    let ended = daemon.serve(&mut events, &mut heard, stop).await;
    daemon.stop(&mut events).await;
    ended
}

fn client(settings: &DaemonSettings) -> Client {
    let builder = Client::builder().http1_only().connect_timeout(Duration::from_secs(10));
    // A redirect would carry the key to whoever it names.
    let builder = builder.redirect(reqwest::redirect::Policy::none());
    let is_near = settings
        .server
        .host_str()
        .is_some_and(|host| host == "localhost" || host.starts_with("127.") || host == "[::1]");
    // A proxy cannot reach the loopback of this machine.
    let builder = if is_near { builder.no_proxy() } else { builder };
    builder.build().unwrap_or_default()
}

impl Daemon {
    async fn open(
        settings: DaemonSettings,
        runner: Runner,
        events: mpsc::UnboundedSender<DaemonEvent>,
        heard: mpsc::Sender<Heard>,
    ) -> Result<Self, DaemonError> {
        let journal = Journal::open(&settings.data_dir)?;
        let client = client(&settings);
        let key = || Arc::clone(&settings.key);
        Ok(Self {
            finished: journal.finished().await?.into_iter().collect(),
            journal,
            rest: Rest::new(client.clone(), &settings.server, key()),
            programs: Programs::open(&settings, client.clone(), runner.host()).await?,
            link: Link::start(lark::Settings::new(client, settings.server.clone(), key()), heard),
            modes: Arc::new(Modes::look(&engines::ALL, &runner)),
            run_queue: RunQueue::new(Board(events.clone()), runner, MAX_RUNS, CALM),
            wanted: settings.agents.clone(),
            settings,
            agents: HashMap::new(),
            identity: None,
            login: 0,
            registering: false,
            register_again: false,
            early: Vec::new(),
            live: BTreeMap::new(),
            taken: HashMap::new(),
            sent_before: HashMap::new(),
            next: 0,
            events,
            status: watch::Sender::new(Status::default()),
            stopping: false,
        })
    }

    async fn serve(
        &mut self,
        events: &mut mpsc::UnboundedReceiver<DaemonEvent>,
        heard: &mut mpsc::Receiver<Heard>,
        stop: impl Future<Output = ()>,
    ) -> Result<(), DaemonError> {
        tokio::pin!(stop);
        let mut was_known = false;
        loop {
            let event = tokio::select! {
                biased;
                () = &mut stop => return Ok(()),
                Some(event) = events.recv() => event,
                Some(said) = heard.recv() => DaemonEvent::Heard(said),
            };
            match &event {
                // A hub that restarts may refuse for a moment whom it knew before; a wrong key stays wrong.
                DaemonEvent::Heard(Heard::Refused(why)) if !was_known => return Err(DaemonError::Refused(why.clone())),
                DaemonEvent::Heard(Heard::GivenUp(why)) => return Err(DaemonError::Refused(why.clone())),
                DaemonEvent::Heard(Heard::LoggedIn(_)) => was_known = true,
                _ => {}
            }
            self.handle(event).await;
        }
    }

    async fn handle(&mut self, event: DaemonEvent) {
        match event {
            DaemonEvent::Heard(heard) => self.heard(heard).await,
            DaemonEvent::Registered { login, agents } => self.registered(login, agents).await,
            DaemonEvent::Started(ticket, begun) => self.started(ticket, begun).await,
            DaemonEvent::News(ticket, news) => self.news(ticket, *news).await,
            DaemonEvent::Steered(ticket, wake, taken) => self.steered(ticket, *wake, taken).await,
            DaemonEvent::Asked { ticket, ask, answer } => self.ask_answered(ticket, &ask, answer).await,
            DaemonEvent::Changed(ticket, ending) => self.ended(ticket, *ending).await,
            DaemonEvent::Settled { id, answer } => self.settled(id, answer).await,
            DaemonEvent::Agents(agents) => self.host(agents),
            DaemonEvent::Restart(agent) => self.programs.restart(&agent),
        }
        self.show_status();
    }

    async fn heard(&mut self, heard: Heard) {
        match heard {
            Heard::LoggedIn(identity) => {
                tracing::info!(name = identity.name, "connected to the hub");
                self.identity = Some(identity);
                self.login += 1;
                (self.registering, self.register_again) = (false, false);
                self.register();
            }
            Heard::Lost => {
                self.early.clear();
                tracing::warn!("the connection to the hub is lost; trying again");
            }
            // Whoever ends says so, once.
            Heard::Refused(why) | Heard::GivenUp(why) => tracing::debug!(why, "the hub refuses the key"),
            Heard::Frame(frame) => self.frame(frame).await,
        }
    }

    async fn frame(&mut self, frame: Frame) {
        let told = match frame.kind.as_str() {
            "agent.wake" if self.link.is_ready() => match frame.read() {
                Some(wake) => return self.woken(wake).await,
                None => None,
            },
            "agent.wake" => frame.read().map(|wake| self.early.push(wake)),
            "run.stop" => frame.read().map(|stop| self.stop_run(&stop)),
            "approval.result" => frame.read().map(|result| self.approval_decided(&result)),
            "error" => {
                let code = frame.refused().code;
                tracing::debug!(%code, "the hub refused something nobody waits for");
                return;
            }
            _ => return,
        };
        if told.is_none() {
            tracing::warn!(kind = frame.kind, "a frame of the hub cannot be understood");
        }
    }

    /// Ends the runs, which go on when the daemon is back. What waits stays with the hub.
    async fn stop(&mut self, events: &mut mpsc::UnboundedReceiver<DaemonEvent>) {
        self.stopping = true;
        let run_queue = self.run_queue.clone();
        let ended = timeout(STOP_RUNS, async move { run_queue.stop().await });
        tokio::pin!(ended);
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => self.handle_last(event).await,
                _ = &mut ended => break,
            }
        }
        while let Ok(event) = events.try_recv() {
            self.handle_last(event).await;
        }
        self.programs.stop().await;
        self.link.flushed(STOP_LINK).await;
        self.link.close();
    }

    /// While stopping nothing new is begun.
    async fn handle_last(&mut self, event: DaemonEvent) {
        if let DaemonEvent::News(..) | DaemonEvent::Settled { .. } | DaemonEvent::Changed(..) = event {
            self.handle(event).await;
        }
    }

    pub(crate) fn outgoing(&self, id: &str, kind: &str, data: Value, delivery: Option<&str>) -> Outgoing {
        Outgoing { id: id.to_owned(), kind: kind.to_owned(), data, delivery: delivery.map(str::to_owned) }
    }

    /// Whether an agent of the specification is an engine, with its table.
    pub(crate) fn engine_of(agent: &AgentSpec) -> Option<&EngineAgent> {
        match &agent.kind {
            Kind::Engine(engine) => Some(engine),
            Kind::Program(_) => None,
        }
    }
}
