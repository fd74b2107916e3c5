//! The connection to the hub over time: made, kept, made again; frames in order, calls with their answers.
//!
//! Whatever is sent while the hub is away waits here and goes out when it is back. Calls do not wait: their caller hears
//! at once that the connection is lost and decides itself. Whoever owes the hub something keeps it in the journal.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use folkmoot_peers::Backoff;
use folkmoot_peers::line::{self, Line};
use parking_lot::Mutex;
use reqwest::{Client, Url};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::settings::Key;
use crate::wire::{Frame, MOST_FRAME_BYTES, envelope, new_id, owned};

const HEARTBEAT: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(20);
/// How many frames wait for the hub; further ones that nobody is owed are dropped.
const MOST_WAITING: usize = 20_000;
/// Frames that wait to be read; then the hub waits too.
const INCOMING: usize = 1024;

/// What the hub says, and how the connection fares.
#[derive(Debug)]
pub enum Heard {
    /// Logged in; nothing but [`Link::first`] goes out before [`Link::ready`].
    LoggedIn(Identity),
    Lost,
    Frame(Frame),
    /// The hub does not know the key.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub member_id: String,
    pub workspace_id: String,
    pub name: String,
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

type Answer = Result<Value, CallError>;

/// The way to the hub; clones share it. It ends when the last one is gone.
#[derive(Clone)]
pub struct Link {
    shared: Arc<Shared>,
}

struct Shared {
    queue: mpsc::UnboundedSender<String>,
    waiting: AtomicUsize,
    calls: Mutex<HashMap<String, oneshot::Sender<Answer>>>,
    line: Mutex<Option<Arc<Line>>>,
    ready: watch::Sender<bool>,
}

impl Link {
    /// Begins to connect; what happens comes to `heard`.
    pub fn start(client: Client, url: Url, key: Key, heard: mpsc::Sender<Heard>) -> Self {
        let (queue, queued) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            queue,
            waiting: AtomicUsize::new(0),
            calls: Mutex::default(),
            line: Mutex::default(),
            ready: watch::Sender::new(false),
        });
        let keeper = Keeper { client, url, key, heard, shared: Arc::downgrade(&shared), queued };
        tokio::spawn(keeper.keep());
        Self { shared }
    }

    /// The agents are registered: what waits may go out now.
    pub fn ready(&self) {
        self.shared.ready.send_replace(true);
    }

    pub fn is_ready(&self) -> bool {
        *self.shared.ready.borrow()
    }

    /// Sends a frame when the hub is there; `false` when too much waits already.
    pub fn send(&self, kind: &str, data: &Value) -> bool {
        self.send_as(&new_id(), kind, data)
    }

    pub fn send_as(&self, id: &str, kind: &str, data: &Value) -> bool {
        if self.shared.waiting.load(Ordering::Relaxed) >= MOST_WAITING {
            return false;
        }
        self.queue(envelope(id, kind, data))
    }

    fn queue(&self, text: String) -> bool {
        if text.len() > MOST_FRAME_BYTES {
            tracing::warn!(bytes = text.len(), "a frame is too large for the hub and was dropped");
            return false;
        }
        self.shared.waiting.fetch_add(1, Ordering::Relaxed);
        self.shared.queue.send(text).is_ok()
    }

    /// Sends a request and waits for its answer; at once [`CallError::Lost`] when the hub is away.
    pub async fn call(&self, kind: &str, data: &Value) -> Answer {
        self.begin(&new_id(), kind, data).await
    }

    /// Queued now, behind everything that was queued before; the answer may be waited for or not.
    pub fn begin(&self, id: &str, kind: &str, data: &Value) -> impl Future<Output = Answer> + Send + use<> {
        let too_large =
            || CallError::Refused { code: "TOO_LARGE".to_owned(), text: "the frame is too large".to_owned() };
        let asked = match self.is_ready() {
            false => Err(CallError::Lost),
            true => {
                let answer = self.shared.expect(id);
                if self.queue(envelope(id, kind, data)) { Ok(answer) } else { Err(too_large()) }
            }
        };
        let (shared, id) = (Arc::clone(&self.shared), id.to_owned());
        async move { shared.wait(&id, asked?).await }
    }

    /// A request before everything that waits, right after the log-in.
    pub async fn first(&self, kind: &str, data: &Value) -> Answer {
        let id = new_id();
        let Some(line) = self.shared.line.lock().clone() else { return Err(CallError::Lost) };
        let answer = self.shared.expect(&id);
        line.write(envelope(&id, kind, data)).await.map_err(|_| CallError::Lost)?;
        self.shared.wait(&id, answer).await
    }

    pub fn close(&self) {
        if let Some(line) = self.shared.line.lock().take() {
            line.close();
        }
    }

    /// Waits until everything that was sent so far has left, as long as the hub is there.
    pub async fn flushed(&self, patience: Duration) {
        let _ = timeout(patience, async {
            while self.is_ready() && self.shared.waiting.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}

impl Shared {
    fn expect(&self, id: &str) -> oneshot::Receiver<Answer> {
        let (sender, answer) = oneshot::channel();
        self.calls.lock().insert(id.to_owned(), sender);
        answer
    }

    async fn wait(&self, id: &str, answer: oneshot::Receiver<Answer>) -> Answer {
        match timeout(PATIENCE, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(CallError::Lost),
            Err(_) => {
                self.calls.lock().remove(id);
                Err(CallError::Lost)
            }
        }
    }

    /// Hands an answer to its call; what is not one is for the daemon.
    fn answered(&self, frame: Frame) -> Option<Frame> {
        let waiting = frame.reply_to.as_ref().and_then(|id| self.calls.lock().remove(id));
        let Some(waiting) = waiting else { return Some(frame) };
        let answer = match frame.kind.as_str() {
            "error" => Err(refused(&frame.data)),
            _ => Ok(frame.data),
        };
        let _ = waiting.send(answer);
        None
    }
}

pub fn refused(data: &Value) -> CallError {
    let text = owned(data, "error").or_else(|| owned(data, "message")).unwrap_or_else(|| "refused".to_owned());
    CallError::Refused { code: owned(data, "code").unwrap_or_default(), text }
}

/// The task that connects, and its end of everything.
struct Keeper {
    client: Client,
    url: Url,
    key: Key,
    heard: mpsc::Sender<Heard>,
    shared: std::sync::Weak<Shared>,
    queued: mpsc::UnboundedReceiver<String>,
}

impl Keeper {
    async fn keep(mut self) {
        let mut backoff = Backoff::for_reconnecting();
        loop {
            match self.connect().await {
                Ok((line, identity, frames)) => {
                    backoff.reset();
                    let Some(shared) = self.shared.upgrade() else { return };
                    *shared.line.lock() = Some(Arc::clone(&line));
                    drop(shared);
                    if self.heard.send(Heard::LoggedIn(identity)).await.is_err() {
                        return;
                    }
                    self.carry(&line, frames).await;
                    let Some(shared) = self.shared.upgrade() else { return };
                    shared.ready.send_replace(false);
                    shared.line.lock().take();
                    shared.calls.lock().clear();
                    if self.heard.send(Heard::Lost).await.is_err() {
                        return;
                    }
                }
                Err(Failure::Refused(why)) => {
                    if self.heard.send(Heard::Refused(why)).await.is_err() {
                        return;
                    }
                }
                Err(Failure::Unreachable(why)) => tracing::debug!(why, "the hub cannot be reached"),
            }
            let pause = backoff.next(rand::random());
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.heard.closed() => return,
            }
        }
    }

    async fn connect(&self) -> Result<(Arc<Line>, Identity, mpsc::Receiver<Frame>), Failure> {
        let opened = timeout(PATIENCE, line::open(&self.client, &self.url)).await;
        let socket = match opened {
            Ok(opened) => opened.map_err(Failure::Unreachable)?,
            Err(_) => return Err(Failure::Unreachable("the hub does not answer".to_owned())),
        };
        let (incoming, mut frames) = mpsc::channel(INCOMING);
        let line = Arc::new(Line::start(socket, HEARTBEAT, incoming, Frame::parse));
        let login = json!({"token": (self.key)()});
        let sent = line.write(envelope(&new_id(), "auth.login", &login)).await;
        sent.map_err(|ended| Failure::Unreachable(ended.to_string()))?;
        loop {
            let frame = match timeout(PATIENCE, frames.recv()).await {
                Ok(Some(frame)) => frame,
                _ => return Err(Failure::Unreachable("the hub does not answer the log-in".to_owned())),
            };
            let field = |name: &str| owned(&frame.data, name).unwrap_or_default();
            match frame.kind.as_str() {
                "auth.success" => {
                    let identity = Identity {
                        member_id: field("member_id"),
                        workspace_id: field("workspace_id"),
                        name: field("name"),
                    };
                    return Ok((line, identity, frames));
                }
                "auth.fail" | "error" => return Err(Failure::Refused(field("error"))),
                _ => {}
            }
        }
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

enum Failure {
    Unreachable(String),
    Refused(String),
}
