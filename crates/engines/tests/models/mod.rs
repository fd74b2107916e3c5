//! A language model on loopback for the real engines: it speaks three APIs and does what the prompt says in brackets.
//!
//! `script.rs` decides what is answered, `messages.rs`, `responses.rs` and `chat.rs` put it into the words of one API each, without
//! a socket or a clock; this file puts them behind one. Point a program at [`Models::url`], and say `[tool:echo hi]` to it.

#![allow(dead_code, unused_imports)] // Each test binary uses a part.

mod chat;
mod http;
mod messages;
mod responses;
mod script;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use http::{Request, Socket};
pub use script::{Step, Turn};

/// The key that every program is given; with [`BAD_KEY`] all of them are refused.
pub const KEY: &str = "a-good-key";
pub const BAD_KEY: &str = "bad-key";
/// The model that programs are told to use.
pub const MODEL: &str = "fake-1";

/// How often a stream that waits says that it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// A running server; it ends with the runtime it was started on.
#[derive(Clone)]
pub struct Models {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    ids: AtomicU64,
    /// How often each `[flaky:NAME]` was asked for.
    attempts: Mutex<HashMap<String, u32>>,
    asked: Mutex<Vec<Asked>>,
    waits: AtomicU64,
}

/// What somebody asked of the model, for tests that want to know.
#[derive(Clone, Debug)]
pub struct Asked {
    pub api: Api,
    pub model: String,
    pub turn: Turn,
}

/// The three ways to ask a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    Messages,
    Responses,
    Chat,
}

/// What a stream does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Beat {
    Event(Option<&'static str>, Value),
    /// A line that is no JSON.
    Raw(&'static str),
    Wait(Duration),
    /// The connection breaks.
    Cut,
}

impl Models {
    pub async fn start() -> Self {
        Self::start_on("127.0.0.1:0").await
    }

    pub async fn start_on(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port");
        let models = Self { address: listener.local_addr().expect("an address"), shared: Arc::default() };
        let serving = models.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let models = serving.clone();
                // Whoever hangs up in the middle is none of our business.
                tokio::spawn(async move { drop(models.serve(stream).await) });
            }
        });
        models
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Everything that was asked so far, without what was refused for its key.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().clone()
    }

    /// How many answers have begun so far that take their time; what they say first has been said.
    pub fn waits(&self) -> u64 {
        self.shared.waits.load(Ordering::Relaxed)
    }

    async fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut socket = Socket::new(stream);
        let Some(request) = socket.request().await? else { return Ok(()) };
        let path = request.path.split('?').next().unwrap_or_default();
        let api = match (request.method.as_str(), path.rsplit('/').next().unwrap_or_default()) {
            ("HEAD", _) => return socket.json(200, &[], &Value::Null).await,
            ("GET", "models") => return socket.json(200, &[], &listed()).await,
            _ if request.key().is_some_and(|key| key.ends_with(BAD_KEY)) => {
                return socket.json(401, &[], &refused_key()).await;
            }
            ("POST", "count_tokens") => return socket.json(200, &[], &json!({"input_tokens": 1000})).await,
            ("POST", "messages") => Api::Messages,
            ("POST", "responses") => Api::Responses,
            ("POST", "completions") => Api::Chat,
            _ => return socket.json(404, &[], &json!({"error": {"message": "there is nothing here"}})).await,
        };
        self.answer(api, &request, &mut socket).await
    }

    async fn answer(&self, api: Api, request: &Request, socket: &mut Socket) -> std::io::Result<()> {
        let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
            return socket.json(400, &[], &json!({"error": {"message": "this is not JSON"}})).await;
        };
        let turn = api.read(&body);
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        let steps = script::decide(&turn, |name| self.attempt(name));
        self.shared.asked.lock().push(Asked { api, model: model.clone(), turn });
        if let [Step::Refuse(status)] = steps[..] {
            return socket.json(status, &[("retry-after", "1")], &api.refusal(status)).await;
        }
        let mut ids = || self.shared.ids.fetch_add(1, Ordering::Relaxed);
        if body["stream"] == true {
            self.play(api.stream(&model, &steps, &mut ids), socket).await
        } else {
            socket.json(200, &[], &api.whole(&model, &steps, &mut ids)).await
        }
    }

    async fn play(&self, beats: Vec<Beat>, socket: &mut Socket) -> std::io::Result<()> {
        socket.begin_events().await?;
        for beat in beats {
            match beat {
                Beat::Event(name, data) => socket.event(name, &data.to_string()).await?,
                Beat::Raw(data) => socket.event(None, data).await?,
                Beat::Wait(pause) => {
                    self.shared.waits.fetch_add(1, Ordering::Relaxed);
                    wait(pause, socket).await?;
                }
                Beat::Cut => return Ok(()),
            }
        }
        socket.end_events().await
    }

    /// Which attempt at something flaky this is, from 1.
    fn attempt(&self, name: &str) -> u32 {
        let mut attempts = self.shared.attempts.lock();
        let count = attempts.entry(name.to_owned()).or_insert(0);
        *count += 1;
        *count
    }
}

impl Api {
    fn read(self, body: &Value) -> Turn {
        match self {
            Self::Messages => messages::read(body),
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
        }
    }

    fn stream(self, model: &str, steps: &[Step], ids: &mut dyn FnMut() -> u64) -> Vec<Beat> {
        match self {
            Self::Messages => messages::stream(model, steps, ids),
            Self::Responses => responses::stream(steps, ids),
            Self::Chat => chat::stream(model, steps, ids),
        }
    }

    fn whole(self, model: &str, steps: &[Step], ids: &mut dyn FnMut() -> u64) -> Value {
        match self {
            Self::Messages => messages::whole(model, steps, ids),
            Self::Responses => responses::whole(steps, ids),
            Self::Chat => chat::whole(model, steps, ids),
        }
    }

    fn refusal(self, status: u16) -> Value {
        let said = format!("the fake model refuses with {status}");
        match self {
            Self::Messages => {
                json!({"type": "error", "error": {"type": messages::error_kind(status), "message": said}})
            }
            Self::Responses | Self::Chat => {
                let (kind, code) = match status {
                    401 => ("invalid_request_error", json!("invalid_api_key")),
                    429 => ("rate_limit_exceeded", Value::Null),
                    _ => ("server_error", Value::Null),
                };
                json!({"error": {"message": said, "type": kind, "code": code}})
            }
        }
    }
}

/// Waits as a slow model does, but notices when the program has hung up.
async fn wait(pause: Duration, socket: &mut Socket) -> std::io::Result<()> {
    let end = tokio::time::Instant::now() + pause;
    while tokio::time::Instant::now() < end {
        tokio::time::sleep_until(end.min(tokio::time::Instant::now() + KEEP_ALIVE)).await;
        socket.comment().await?;
    }
    Ok(())
}

fn listed() -> Value {
    let model = json!({"id": MODEL, "object": "model", "type": "model", "display_name": MODEL});
    json!({"object": "list", "data": [model], "models": []})
}

fn refused_key() -> Value {
    let error = json!({"type": "authentication_error", "message": "invalid x-api-key", "code": "invalid_api_key"});
    json!({"type": "error", "error": error})
}

/// A text in pieces, as models say it: a few words at a time, but a long one in few pieces.
fn pieces(text: &str) -> Vec<&str> {
    let length = (text.len() / 8).clamp(6, 4000);
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > length {
        let mut at = length;
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (piece, after) = rest.split_at(at);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}
