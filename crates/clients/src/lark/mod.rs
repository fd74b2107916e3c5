//! A client of the Lark door: one connection that is logged in ([`open`], [`Connection`]), and one that comes back
//! ([`Client`]).

mod client;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use folkmoot_wire::lark::{AuthLogin, AuthSuccess, Frame, Frames, Request, request};
use folkmoot_wire::{Id, Millis};
use reqwest::{Client as Http, Url};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub use client::{CallError, Client, Heard, MAX_REFUSALS, Settings};

use crate::calls::{Bounds, CallFailure, Caller, Calls};
use crate::line::{self, Ended, Line};
use crate::websocket::OpenError;

/// What returns the token, anew for every log-in.
pub type Key = Arc<dyn Fn() -> String + Send + Sync>;

/// Clock and chance.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    pub now: fn() -> Millis,
    /// From 0 to 1.
    pub chance: fn() -> f64,
    /// A name for a request that no other has.
    pub id: fn() -> String,
}

impl Outside {
    pub const REAL: Self = Self { now: now_ms, chance: rand::random, id: new_id };

    /// The frame that asks for something.
    pub fn frame<R: Request>(&self, id: &str, asked: &R) -> String {
        request(id, (self.now)(), asked)
    }
}

fn now_ms() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or_default()
}

fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How often the hub is pinged; one that says nothing for half as long again is gone.
    pub heartbeat: Duration,
    /// How long the hub may take to open the connection, and to answer the log-in.
    pub timeout: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self { heartbeat: Duration::from_secs(20), timeout: Duration::from_secs(20) }
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("{}", line::words(.0))]
    Unreachable(OpenError),
    #[error("the hub does not answer")]
    Silent,
    #[error(transparent)]
    Lost(#[from] Ended),
    /// The hub does not know the key.
    #[error("{0}")]
    Refused(String),
}

/// The log-in of a client of ours.
pub fn login(token: String, agent: Option<Id>) -> AuthLogin {
    AuthLogin { token, agent_id: agent, frames: Some(Frames::Plain) }
}

/// Opens a connection and logs in; then `on_text` sees every frame and returns what is to be passed on.
pub async fn open<T: Send + 'static>(
    http: &Http,
    url: &Url,
    login: &AuthLogin,
    timing: Timing,
    incoming: mpsc::Sender<T>,
    mut on_text: impl FnMut(&str) -> Option<T> + Send + 'static,
) -> Result<(Line, AuthSuccess), LoginError> {
    let opened = timeout(timing.timeout, line::connect(http, url)).await.map_err(|_| LoginError::Silent)?;
    let socket = opened.map_err(LoginError::Unreachable)?;
    let (tell, told) = oneshot::channel();
    let mut tell = Some(tell);
    let line = Line::start(socket, timing.heartbeat, incoming, move |text: &str| {
        let Some(outcome) = tell.is_some().then(|| login_outcome(text)).flatten() else { return on_text(text) };
        tell.take().and_then(|tell| tell.send(outcome).err());
        None
    });
    line.write(Outside::REAL.frame("login", login)).await?;
    let outcome = tokio::select! {
        // A refusal that is followed by the end is a refusal.
        biased;
        outcome = timeout(timing.timeout, told) => outcome,
        ended = line.ended() => return Err(ended.into()),
    };
    let identity = outcome.map_err(|_| LoginError::Silent)?.map_err(|_| Ended::Closed)?;
    Ok((line, identity.map_err(LoginError::Refused)?))
}

/// Whether a frame decides the log-in, and how.
fn login_outcome(text: &str) -> Option<Result<AuthSuccess, String>> {
    let frame = Frame::parse(text)?;
    match frame.kind.as_str() {
        "auth.success" => Some(frame.read().ok_or_else(|| "its answer to the log-in cannot be understood".to_owned())),
        "auth.fail" | "error" => Some(Err(frame.refused().error.into_owned())),
        _ => None,
    }
}

/// The data of an answer, or the sentence of the refusal.
fn answered(frame: &Frame) -> Result<Box<RawValue>, String> {
    match frame.kind.as_str() {
        "error" => Err(frame.refused().error.into_owned()),
        _ => Ok(frame.data.clone().unwrap_or_else(|| RawValue::NULL.to_owned())),
    }
}

/// One connection that is logged in, with calls over it. Dropping it closes it.
pub struct Connection {
    caller: Caller<Box<RawValue>>,
    pub identity: AuthSuccess,
    outside: Outside,
}

impl Connection {
    /// `on_event` sees what is no answer and returns what is to be passed on.
    pub async fn open<T: Send + 'static>(
        http: &Http,
        url: &Url,
        login: &AuthLogin,
        (timing, bounds, outside): (Timing, Bounds, Outside),
        incoming: mpsc::Sender<T>,
        mut on_event: impl FnMut(Frame) -> Option<T> + Send + 'static,
    ) -> Result<Self, LoginError> {
        let calls = Arc::new(Calls::default());
        let reading = Arc::clone(&calls);
        let on_text = move |text: &str| {
            let Some(frame) = Frame::parse(text) else {
                tracing::warn!("the hub sent a frame that is no envelope; it is skipped");
                return None;
            };
            match &frame.reply_to {
                Some(id) if reading.is_waiting(id) => {
                    reading.answer(id, answered(&frame));
                    None
                }
                _ => on_event(frame),
            }
        };
        let (line, identity) = open(http, url, login, timing, incoming, on_text).await?;
        Ok(Self { caller: Caller::new(line, calls, bounds), identity, outside })
    }

    pub fn line(&self) -> &Line {
        self.caller.line()
    }

    /// Asks under this name and waits for the answer. The same name at every attempt makes a repeated send one message.
    pub async fn call<R: Request>(&self, id: &str, asked: &R) -> Result<R::Answer, CallFailure> {
        let answer = self.caller.call(id, self.outside.frame(id, asked)).await?;
        serde_json::from_str(answer.get())
            .map_err(|_| CallFailure::Broken(format!("the answer to `{}` cannot be understood", R::TYPE)))
    }

    /// Asks under a fresh name.
    pub async fn ask<R: Request>(&self, asked: &R) -> Result<R::Answer, CallFailure> {
        self.call(&(self.outside.id)(), asked).await
    }

    /// Sends what nobody waits for an answer to.
    pub async fn tell<R: Request>(&self, asked: &R) -> Result<(), Ended> {
        self.line().write(self.outside.frame(&(self.outside.id)(), asked)).await
    }
}
