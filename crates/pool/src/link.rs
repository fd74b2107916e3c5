//! What operations may say to the controller besides their answers, and which sessions the agent holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use folkmoot_wire::chopsticks::{AgentFrame, MAX_GUILDS, SessionEvent};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use crate::Kind;

/// A voice channel of a guild in which the agent works.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Session {
    pub kind: Kind,
    pub guild: String,
    pub voice_channel: String,
}

impl Session {
    pub fn new(kind: Kind, guild: &str, voice_channel: &str) -> Self {
        Self { kind, guild: guild.to_owned(), voice_channel: voice_channel.to_owned() }
    }
}

/// The agent as its operations see it. Copies are cheap and talk about the same agent.
#[derive(Clone)]
pub struct Context(Arc<Shared>);

struct Shared {
    agent_id: String,
    runner_id: String,
    standing: watch::Sender<Standing>,
    inner: Mutex<Inner>,
}

/// What the agent says of itself with every heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub guilds: Vec<String>,
    pub ready: bool,
}

#[derive(Default)]
struct Inner {
    /// The way out, while there is a connection.
    out: Option<mpsc::UnboundedSender<AgentFrame>>,
    held: BTreeSet<Session>,
    /// Said while there was no connection; the next one begins with it.
    owed: Vec<SessionEvent>,
}

impl Context {
    pub(crate) fn new(agent_id: &str, runner_id: &str, guilds: Vec<String>) -> Self {
        Self(Arc::new(Shared {
            agent_id: agent_id.to_owned(),
            runner_id: runner_id.to_owned(),
            standing: watch::Sender::new(Standing { guilds, ready: true }),
            inner: Mutex::default(),
        }))
    }

    pub fn agent_id(&self) -> &str {
        &self.0.agent_id
    }

    pub fn guilds(&self) -> Vec<String> {
        self.0.standing.borrow().guilds.clone()
    }

    /// Replaces the guilds the agent works in and tells the controller at once.
    pub fn set_guilds(&self, mut guilds: Vec<String>) {
        guilds.truncate(MAX_GUILDS);
        self.change(|standing| standing.guilds = guilds);
    }

    /// Says whether the agent can take up sessions; it can, unless it says otherwise.
    pub fn set_ready(&self, ready: bool) {
        self.change(|standing| standing.ready = ready);
    }

    fn change(&self, change: impl FnOnce(&mut Standing)) {
        self.0.standing.send_if_modified(|standing| {
            let before = standing.clone();
            change(standing);
            *standing != before
        });
    }

    pub fn is_ready(&self) -> bool {
        self.0.standing.borrow().ready
    }

    pub fn is_connected(&self) -> bool {
        self.0.inner.lock().out.is_some()
    }

    pub fn holds(&self, session: &Session) -> bool {
        self.0.inner.lock().held.contains(session)
    }

    /// Takes up a session and tells the controller (`add`); nothing happens when it is held already.
    pub fn join(&self, session: &Session, owner: Option<&str>) {
        let mut inner = self.0.inner.lock();
        if inner.held.insert(session.clone()) {
            inner.say(self.add(session, owner, Ok(())));
        }
    }

    /// Tells the controller that a session could not be taken up.
    pub fn could_not_join(&self, session: &Session, error: &str) {
        self.0.inner.lock().say(self.add(session, None, Err(error)));
    }

    /// Lets go of a session and tells the controller (`released`); nothing happens when it is not held.
    pub fn release(&self, session: &Session, reason: &str) {
        let mut inner = self.0.inner.lock();
        if inner.held.remove(session) {
            inner.say(self.released(session, reason));
        }
    }

    /// Tells the controller that a session it gave is not taken up; nothing happens when it is held.
    pub fn decline(&self, session: &Session, reason: &str) {
        let mut inner = self.0.inner.lock();
        if !inner.held.contains(session) {
            inner.say(self.released(session, reason));
        }
    }

    /// Lets go of everything; the last thing an agent says.
    pub(crate) fn release_all(&self, reason: &str) {
        let mut inner = self.0.inner.lock();
        for session in std::mem::take(&mut inner.held) {
            inner.say(self.released(&session, reason));
        }
    }

    /// A connection is there: what was held back goes out through it.
    pub(crate) fn connected(&self, out: mpsc::UnboundedSender<AgentFrame>) {
        let mut inner = self.0.inner.lock();
        for event in std::mem::take(&mut inner.owed) {
            let _ = out.send(AgentFrame::Event(event));
        }
        inner.out = Some(out);
    }

    /// The connection is gone; `unsent` did not get out.
    pub(crate) fn disconnected(&self, unsent: Vec<AgentFrame>) {
        let mut inner = self.0.inner.lock();
        inner.out = None;
        let unsent = unsent.into_iter().filter_map(|frame| match frame {
            AgentFrame::Event(event) => Some(event),
            // Answers belong to the connection that asked, and the rest is said anew on the next one.
            AgentFrame::Hello(_) | AgentFrame::Guilds(_) | AgentFrame::Resp(_) => None,
        });
        inner.owed.extend(unsent);
    }

    pub(crate) fn runner_id(&self) -> &str {
        &self.0.runner_id
    }

    pub(crate) fn watch_standing(&self) -> watch::Receiver<Standing> {
        self.0.standing.subscribe()
    }

    fn add(&self, session: &Session, owner: Option<&str>, outcome: Result<(), &str>) -> SessionEvent {
        SessionEvent {
            channel_id: Some(session.voice_channel.clone()),
            owner_user_id: owner.map(str::to_owned),
            ok: Some(outcome.is_ok()),
            error: outcome.err().map(str::to_owned),
            ..self.event("add", session)
        }
    }

    fn released(&self, session: &Session, reason: &str) -> SessionEvent {
        SessionEvent { reason: Some(reason.to_owned()), ..self.event("released", session) }
    }

    fn event(&self, event: &str, session: &Session) -> SessionEvent {
        SessionEvent {
            event: Some(event.to_owned()),
            agent_id: Some(self.0.agent_id.clone()),
            runner_id: Some(self.0.runner_id.clone()),
            guild_id: Some(session.guild.clone()),
            voice_channel_id: Some(session.voice_channel.clone()),
            kind: Some(session.kind),
            ..SessionEvent::default()
        }
    }
}

impl Inner {
    fn say(&mut self, event: SessionEvent) {
        match &self.out {
            Some(out) => {
                let _ = out.send(AgentFrame::Event(event));
            }
            None => self.owed.push(event),
        }
    }
}
