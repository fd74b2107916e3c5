//! The connection to the hub over time: made, kept, made again; frames in order, calls with their answers.
//!
//! Whatever is sent while the hub is away waits here and goes out when it is back. Calls do not wait: their caller
//! hears at once that the connection is lost and decides itself. What the hub must get is kept by whoever sends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use folkmoot_wire::lark::{AuthSuccess, Envelope, Frame, MAX_FRAME_BYTES, Request};
use parking_lot::Mutex;
use reqwest::{Client as Http, Url};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::{Key, LoginError, Outside, Timing, login, open};
use crate::backoff::Backoff;
use crate::calls::Calls;
use crate::line::Line;

/// How many frames wait for the hub; further ones that nobody is owed are dropped.
const MAX_WAITING: usize = 20_000;
/// Frames that wait to be read; then the hub waits too.
const INCOMING: usize = 1024;
/// How often in a row a hub may refuse a key before it counts as gone: one that restarts may refuse for a moment whom it knew
/// before, one whose workspace was deleted stays refused.
pub const MAX_REFUSALS: u32 = 5;

/// Which hub, as whom, and how patiently.
pub struct Settings {
    pub http: Http,
    pub url: Url,
    pub key: Key,
    pub timing: Timing,
    pub backoff: Backoff,
    pub outside: Outside,
}

impl Settings {
    pub fn new(http: Http, url: Url, key: Key) -> Self {
        let (timing, outside) = (Timing::default(), Outside::REAL);
        Self { http, url, key, timing, backoff: Backoff::for_reconnecting(), outside }
    }
}

/// What the hub says, and how the connection fares.
#[derive(Debug)]
pub enum Heard {
    /// Logged in; nothing but [`Client::first`] goes out before [`Client::ready`].
    LoggedIn(AuthSuccess),
    Lost,
    Frame(Frame),
    /// The hub does not know the key; it is tried again.
    Refused(String),
    /// The hub has refused the key time and again. Nothing follows: nobody knocks any more.
    GivenUp(String),
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("the connection is lost")]
    Lost,
    #[error("{text}")]
    Refused { code: String, text: String },
}

impl CallError {
    pub fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Refused { code, .. } if code.eq_ignore_ascii_case(wanted))
    }
}

type Answer = Result<Box<RawValue>, CallError>;

/// The way to the hub; clones share it. It ends when the last one is gone.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    queue: mpsc::UnboundedSender<String>,
    waiting: AtomicUsize,
    calls: Calls<Answer>,
    line: Mutex<Option<Arc<Line>>>,
    ready: watch::Sender<bool>,
    timing: Timing,
    outside: Outside,
}

impl Client {
    /// Begins to connect; what happens comes to `heard`.
    pub fn start(settings: Settings, heard: mpsc::Sender<Heard>) -> Self {
        let (queue, queued) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            queue,
            waiting: AtomicUsize::new(0),
            calls: Calls::default(),
            line: Mutex::default(),
            ready: watch::Sender::new(false),
            timing: settings.timing,
            outside: settings.outside,
        });
        let supervisor = Supervisor { settings, heard, shared: Arc::downgrade(&shared), queued };
        tokio::spawn(supervisor.keep());
        Self { shared }
    }

    /// What must be first was said: what waits may go out now.
    pub fn ready(&self) {
        self.shared.ready.send_replace(true);
    }

    pub fn is_ready(&self) -> bool {
        *self.shared.ready.borrow()
    }

    /// Sends a request when the hub is there; `false` when too much waits already.
    pub fn send<R: Request>(&self, asked: &R) -> bool {
        let has_room = self.shared.waiting.load(Ordering::Relaxed) < MAX_WAITING;
        has_room && self.queue(self.shared.outside.frame(&(self.shared.outside.id)(), asked))
    }

    fn queue(&self, text: String) -> bool {
        if text.len() > MAX_FRAME_BYTES {
            tracing::warn!(bytes = text.len(), "a frame is too large for the hub and was dropped");
            return false;
        }
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        self.shared.queue.send(text).is_ok()
    }

    /// Sends a request and waits for its answer; at once [`CallError::Lost`] when the hub is away.
    pub async fn call<R: Request>(&self, asked: &R) -> Result<R::Answer, CallError> {
        let id = (self.shared.outside.id)();
        let frame = self.shared.outside.frame(&id, asked);
        typed::<R>(&self.begin_with(&id, frame).await?)
    }

    /// A request that was kept as its type and data. Queued now, behind everything that was queued before; the answer
    /// may be waited for or not.
    pub fn begin(&self, id: &str, kind: &str, data: &Value) -> impl Future<Output = Answer> + Send + use<> {
        let frame = Envelope::new(id.into(), kind, (self.shared.outside.now)(), data).text();
        self.begin_with(id, frame)
    }

    fn begin_with(&self, id: &str, frame: String) -> impl Future<Output = Answer> + Send + use<> {
        let too_large =
            || CallError::Refused { code: "TOO_LARGE".to_owned(), text: "the frame is too large".to_owned() };
        let asked = match self.is_ready() {
            false => Err(CallError::Lost),
            true => {
                let answer = self.shared.calls.expect(id);
                if self.queue(frame) {
                    Ok(answer)
                } else {
                    self.shared.calls.forget(id);
                    Err(too_large())
                }
            }
        };
        let (shared, id) = (Arc::clone(&self.shared), id.to_owned());
        async move { shared.wait(&id, asked?).await }
    }

    /// A request before everything that waits, right after the log-in.
    pub async fn first<R: Request>(&self, asked: &R) -> Result<R::Answer, CallError> {
        let id = (self.shared.outside.id)();
        let Some(line) = self.shared.line.lock().clone() else { return Err(CallError::Lost) };
        let answer = self.shared.calls.expect(&id);
        line.write(self.shared.outside.frame(&id, asked)).await.map_err(|_| CallError::Lost)?;
        typed::<R>(&self.shared.wait(&id, answer).await?)
    }

    pub fn close(&self) {
        if let Some(line) = self.shared.line.lock().take() {
            line.close();
        }
    }

    /// Waits until everything that was sent so far has left, as long as the hub is there.
    pub async fn flushed(&self, within: Duration) {
        let _ = timeout(within, async {
            while self.is_ready() && self.shared.waiting.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

fn typed<R: Request>(answer: &RawValue) -> Result<R::Answer, CallError> {
    serde_json::from_str(answer.get()).map_err(|_| CallError::Refused {
        code: "STRANGE".to_owned(),
        text: format!("the hub's answer to `{}` cannot be understood", R::TYPE),
    })
}

impl Shared {
    async fn wait(&self, id: &str, answer: oneshot::Receiver<Answer>) -> Answer {
        match timeout(self.timing.timeout, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(CallError::Lost),
            Err(_) => {
                self.calls.forget(id);
                Err(CallError::Lost)
            }
        }
    }

    /// Hands an answer to its call; what is not one is for whoever listens.
    fn answered(&self, frame: Frame) -> Option<Frame> {
        let Some(id) = frame.reply_to.as_deref().filter(|id| self.calls.is_waiting(id)) else { return Some(frame) };
        let answer = match frame.kind.as_str() {
            "error" => Err(refused(&frame)),
            _ => Ok(frame.data.clone().unwrap_or_else(|| RawValue::NULL.to_owned())),
        };
        self.calls.answer(id, answer);
        None
    }
}

fn refused(frame: &Frame) -> CallError {
    let said = frame.refused();
    let sentence = [Some(&said.error), said.message.as_ref()].into_iter().flatten().find(|text| !text.is_empty());
    let text = sentence.map_or_else(|| "refused".to_owned(), |text| text.clone().into_owned());
    CallError::Refused { code: said.code.into_owned(), text }
}

/// The task that connects, and its end of everything.
struct Supervisor {
    settings: Settings,
    heard: mpsc::Sender<Heard>,
    shared: std::sync::Weak<Shared>,
    queued: mpsc::UnboundedReceiver<String>,
}

impl Supervisor {
    async fn keep(mut self) {
        let mut backoff = self.settings.backoff.clone();
        let mut refusals = 0;
        loop {
            match self.connect().await {
                Ok((line, identity, frames)) => {
                    backoff.reset();
                    refusals = 0;
                    if self.serve(line, identity, frames).await.is_none() {
                        return;
                    }
                }
                Err(LoginError::Refused(why)) => {
                    refusals += 1;
                    let is_over = refusals >= MAX_REFUSALS;
                    let told = if is_over { Heard::GivenUp(why) } else { Heard::Refused(why) };
                    if self.heard.send(told).await.is_err() || is_over {
                        return;
                    }
                }
                Err(error) => tracing::debug!(%error, "the hub cannot be reached"),
            }
            let pause = backoff.next((self.settings.outside.chance)());
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.heard.closed() => return,
            }
        }
    }

    async fn connect(&self) -> Result<(Arc<Line>, AuthSuccess, mpsc::Receiver<Frame>), LoginError> {
        let Settings { http, url, key, timing, .. } = &self.settings;
        let (incoming, frames) = mpsc::channel(INCOMING);
        let (line, identity) = open(http, url, &login(key(), None), *timing, incoming, Frame::parse).await?;
        Ok((Arc::new(line), identity, frames))
    }

    /// One connection from its log-in to its end; none when nobody listens any more.
    async fn serve(&mut self, line: Arc<Line>, identity: AuthSuccess, frames: mpsc::Receiver<Frame>) -> Option<()> {
        *self.shared.upgrade()?.line.lock() = Some(Arc::clone(&line));
        self.heard.send(Heard::LoggedIn(identity)).await.ok()?;
        self.carry(&line, frames).await;
        let shared = self.shared.upgrade()?;
        shared.ready.send_replace(false);
        shared.line.lock().take();
        shared.calls.forget_all();
        drop(shared);
        self.heard.send(Heard::Lost).await.ok()
    }

    /// Reads and writes until the connection ends.
    async fn carry(&mut self, line: &Arc<Line>, mut frames: mpsc::Receiver<Frame>) {
        let Some(mut ready) = self.shared.upgrade().map(|shared| shared.ready.subscribe()) else { return };
        loop {
            let may_send = *ready.borrow_and_update();
            tokio::select! {
                frame = frames.recv() => {
                    let Some(frame) = frame else { return };
                    let Some(shared) = self.shared.upgrade() else { return };
                    if let Some(frame) = shared.answered(frame)
                        && self.heard.send(Heard::Frame(frame)).await.is_err()
                    {
                        return;
                    }
                }
                text = self.queued.recv(), if may_send => {
                    let Some(text) = text else {
                        line.close();
                        return;
                    };
                    let written = line.write(text).await;
                    if let Some(shared) = self.shared.upgrade() {
                        shared.waiting.fetch_sub(1, Ordering::Relaxed);
                    }
                    if written.is_err() {
                        return;
                    }
                }
                changed = ready.changed() => if changed.is_err() { return },
            }
        }
    }
}
