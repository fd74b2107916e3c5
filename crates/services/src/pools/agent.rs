//! One connected agent and the requests it has not answered yet.
//!
//! A request belongs to the agent that was asked: an answer counts only from its connection, and only while
//! somebody waits. When the connection ends, everybody who waits learns it at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use folkmoot_core::ids::MemberId;
use folkmoot_core::pools::Verdict;
use folkmoot_core::{Millis, Refusal};
use folkmoot_doors::chopsticks::mapping::{self, Answer, Hello};
use folkmoot_doors::chopsticks::session::Pulse;
use folkmoot_hub::connection::frame;
use folkmoot_hub::connection::{Chunk, Connection, Queued};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::Pools;
use super::meters::PoolMeters;
use super::service::{Asking, Service};

/// An agent that owes this many answers gets no further request: it is stuck, and the hub keeps no endless queue.
const MAX_OWED: usize = 256;

/// What the agent answered: data, none when it had nothing to say, or its own error.
pub type Answered = Result<Option<Box<RawValue>>, String>;
pub type Asked = Result<Answered, Trouble>;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is not connected, or went away before it answered.
    Offline,
    TimedOut,
    /// It failed too often and is left alone until this time.
    LeftAlone(Millis),
    /// It owes too many answers.
    Overloaded,
    Refused(Refusal),
}

impl Trouble {
    /// The word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Offline => "agent-offline",
            Self::TimedOut => "agent-timeout",
            Self::LeftAlone(_) => "agent-circuit-open",
            Self::Overloaded => "agent-overloaded",
            Self::Refused(refusal) => refusal.code.as_str(),
        }
    }

    pub fn sentence(&self, agent: &str) -> String {
        match self {
            Self::Offline => format!("the agent `{agent}` is not connected"),
            Self::TimedOut => format!("the agent `{agent}` did not answer in time"),
            Self::LeftAlone(_) => format!("the agent `{agent}` failed too often and is left alone for a while"),
            Self::Overloaded => format!("the agent `{agent}` owes {MAX_OWED} answers and is asked nothing more"),
            Self::Refused(refusal) => refusal.text.to_string(),
        }
    }
}

pub struct Agent {
    pub id: Arc<str>,
    pub connection: Arc<Connection>,
    /// When it connected.
    pub(super) since: Millis,
    pulse: Arc<Pulse>,
    /// How it does at the place it holds.
    pub(super) service: Mutex<Service>,
    said: Mutex<AboutItself>,
    pending: Mutex<HashMap<Uuid, oneshot::Sender<Answered>>>,
    guest: Mutex<Option<MemberId>>,
    gone: AtomicBool,
    pub(super) meters: PoolMeters,
}

/// What an agent says of itself with every hello.
#[derive(Clone, Debug)]
pub struct AboutItself {
    pub pool: String,
    pub tag: Option<String>,
    pub version: &'static str,
}

impl Agent {
    pub(super) fn new(
        hello: &Hello,
        connection: Arc<Connection>,
        since: Millis,
        pulse: Arc<Pulse>,
        meters: PoolMeters,
    ) -> Self {
        Self {
            id: hello.agent.as_str().into(),
            connection,
            since,
            pulse,
            service: Mutex::default(),
            said: Mutex::new(AboutItself::of(hello)),
            pending: Mutex::default(),
            guest: Mutex::default(),
            gone: AtomicBool::new(false),
            meters,
        }
    }

    pub fn last_seen(&self) -> Millis {
        self.pulse.last_seen()
    }

    /// A number that changes with every sign of life.
    pub(super) fn beats(&self) -> u32 {
        self.pulse.beats()
    }

    pub fn said(&self) -> AboutItself {
        self.said.lock().clone()
    }

    /// The agent as a member, once it is one.
    pub fn guest(&self) -> Option<MemberId> {
        *self.guest.lock()
    }

    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    pub(super) fn says(&self, hello: &Hello) {
        *self.said.lock() = AboutItself::of(hello);
    }

    pub(super) fn is_guest(&self, member: MemberId) {
        *self.guest.lock() = Some(member);
    }

    pub(super) fn take_round_trip(&self) -> Option<Millis> {
        self.pulse.take_round_trip()
    }

    /// Gives an answer to whoever waits for it; late, unknown and repeated answers have nobody.
    pub(super) fn answer(&self, answer: Answer) {
        if let Some(waiting) = self.take_pending(&answer.id) {
            let _ = waiting.send(answer.outcome);
        }
    }

    /// The connection ended: everybody who waits learns it, and says how many they were.
    pub(super) fn end(&self) -> usize {
        self.gone.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut *self.pending.lock());
        waiting.iter().for_each(|_| self.pulse.answered());
        waiting.len()
    }

    fn take_pending(&self, id: &Uuid) -> Option<oneshot::Sender<Answered>> {
        let waiting = self.pending.lock().remove(id)?;
        self.pulse.answered();
        Some(waiting)
    }

    /// Sends a request whose answer nobody waits for.
    pub(super) fn tell(self: &Arc<Self>, op: &str, data: &RawValue) {
        drop(self.request(op, data));
    }

    /// Sends a request; the answer comes through what is returned.
    fn request(self: &Arc<Self>, op: &str, data: &RawValue) -> Result<Waiting, Trouble> {
        let id = Uuid::from_u128(rand::random());
        let id = uuid::Builder::from_u128(id.as_u128()).with_version(uuid::Version::Random).into_uuid();
        let (sender, answer) = oneshot::channel();
        {
            let mut pending = self.pending.lock();
            // Looked at under the lock that `end` takes: no request is left behind without an answer.
            if self.is_gone() {
                return Err(Trouble::Offline);
            }
            if pending.len() >= MAX_OWED {
                return Err(Trouble::Overloaded);
            }
            pending.insert(id, sender);
            self.pulse.asked();
        }
        let waiting = Waiting { agent: Arc::clone(self), id, answer };
        let text = mapping::request(id, op, data, &self.id);
        match self.connection.send(Chunk::answer(frame::text(&text))) {
            Queued::Yes => Ok(waiting),
            Queued::Overflow | Queued::Gone => Err(Trouble::Offline),
        }
    }
}

impl AboutItself {
    fn of(hello: &Hello) -> Self {
        Self { pool: hello.pool.clone(), tag: hello.tag.clone(), version: hello.version }
    }
}

/// Somebody waits for an answer. Whoever stops waiting takes the request back.
struct Waiting {
    agent: Arc<Agent>,
    id: Uuid,
    answer: oneshot::Receiver<Answered>,
}

impl Waiting {
    async fn answer(&mut self, timeout: Duration) -> Asked {
        match tokio::time::timeout(timeout, &mut self.answer).await {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(_)) => Err(Trouble::Offline),
            Err(_) => Err(Trouble::TimedOut),
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.agent.take_pending(&self.id));
    }
}

impl Pools {
    pub async fn ask_within(&self, agent: &str, op: &str, data: &RawValue, timeout: Duration) -> Asked {
        let agent = self.agent(agent).ok_or(Trouble::Offline)?;
        let asking = self.asking_about(&agent, op, data);
        self.ask_and_judge(&agent, asking, (op, data), timeout).await
    }

    /// Asks, and lets the answer tell whether the agent serves the place it holds.
    pub(super) async fn ask_and_judge(
        &self,
        agent: &Arc<Agent>,
        asking: Option<Asking>,
        (op, data): (&str, &RawValue),
        timeout: Duration,
    ) -> Asked {
        let asked = self.ask_now(agent, op, data, timeout).await;
        if let Some(asking) = asking {
            self.judge(asking, op, &asked).await;
        }
        asked
    }

    async fn ask_now(&self, agent: &Arc<Agent>, op: &str, data: &RawValue, timeout: Duration) -> Asked {
        self.may_be_asked(agent, self.hub.now())?;
        let began = Instant::now();
        let asked = match agent.request(op, data) {
            Ok(mut waiting) => waiting.answer(timeout).await,
            Err(trouble) => Err(trouble),
        };
        agent.meters.count(&asked, began.elapsed());
        self.learn(agent, &asked, self.hub.now());
        asked
    }

    fn may_be_asked(&self, agent: &Agent, now: Millis) -> Result<(), Trouble> {
        let mut roster = self.roster.lock();
        let Some(candidate) = roster.get_mut(&agent.id) else { return Err(Trouble::Offline) };
        match candidate.breaker.ask(now) {
            Verdict::Go => Ok(()),
            Verdict::Wait(until) => Err(Trouble::LeftAlone(until)),
        }
    }

    /// An answer shows that the agent works, whatever it says; only silence and a lost connection are held against it.
    fn learn(&self, agent: &Agent, asked: &Asked, now: Millis) {
        let mut roster = self.roster.lock();
        let Some(candidate) = roster.get_mut(&agent.id) else { return };
        match asked {
            Ok(_) => candidate.breaker.succeeded(now),
            Err(Trouble::TimedOut | Trouble::Offline) => {
                candidate.breaker.failed(now);
                candidate.health.error(now);
            }
            Err(Trouble::LeftAlone(_) | Trouble::Overloaded | Trouble::Refused(_)) => {}
        }
    }
}
