//! A Bot API on loopback that is as strict as the real one: lengths, entities, buttons, pace, messages that are gone.
//!
//! `World` is the state and the rules, with time as an argument; this file puts it behind a socket. Everything said about
//! Telegram's texts and limits is said once, in `methods.rs`, `check.rs` and `limits.rs`.

#![allow(dead_code, unused_imports)] // Each test binary uses a part.

mod check;
mod limits;
mod methods;
mod world;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::watch;

pub use limits::Fault;
pub use methods::Reply;
pub use world::{BOT, BOT_NAME, Chat, Message, Record, TOKEN, World};

/// How long a test waits for something to happen.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// A running fake; it ends with the test's runtime.
#[derive(Clone)]
pub struct FakeApi {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    world: Mutex<World>,
    began: Instant,
    /// Counts up with everything that happens.
    changes: watch::Sender<u64>,
}

impl FakeApi {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared =
            Arc::new(Shared { world: Mutex::new(World::new()), began: Instant::now(), changes: watch::Sender::new(0) });
        let fake = Self { address, shared };
        let router = Router::new().fallback(serve).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        fake
    }

    /// For `telegram.api_base`.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Looks at or changes the world; whoever waits for something looks again afterwards.
    pub fn with<T>(&self, work: impl FnOnce(&mut World) -> T) -> T {
        let outcome = work(&mut self.world());
        self.shared.changes.send_modify(|changes| *changes += 1);
        outcome
    }

    /// Somebody writes a text; returns the number of the message.
    pub fn say(&self, chat: i64, user: i64, text: &str) -> i64 {
        self.say_more(chat, user, json!({ "text": text }))
    }

    pub fn reply(&self, chat: i64, user: i64, text: &str, to: i64) -> i64 {
        self.say_more(chat, user, json!({ "text": text, "reply_to": to }))
    }

    /// A message with any fields; `reply_to` is turned into the message replied to, as Telegram does.
    pub fn say_more(&self, chat: i64, user: i64, fields: Value) -> i64 {
        self.with(|world| world.say(chat, user, fields))
    }

    /// Somebody presses a button; returns the id of the callback query.
    pub fn press(&self, chat: i64, message: i64, user: i64, data: &str) -> String {
        self.with(|world| world.press(chat, message, user, data))
    }

    /// The next calls of a method fail.
    pub fn fail_next(&self, method: &str, fault: Fault, times: usize) {
        self.with(|world| (0..times).for_each(|_| world.faults.push(method, fault.clone())));
    }

    /// What the bot has in a chat now, oldest first.
    pub fn shown(&self, chat: i64) -> Vec<Message> {
        self.world().shown(chat)
    }

    /// The calls so far, all or of one method.
    pub fn calls(&self, method: &str) -> Vec<Record> {
        self.world().calls.iter().filter(|call| method.is_empty() || call.method == method).cloned().collect()
    }

    /// Waits until `probe` finds something.
    pub async fn wait<T>(&self, what: &str, probe: impl FnMut(&mut World) -> Option<T>) -> T {
        self.wait_within(DEADLINE, what, probe).await
    }

    /// The same with more patience.
    pub async fn wait_within<T>(
        &self,
        patience: Duration,
        what: &str,
        mut probe: impl FnMut(&mut World) -> Option<T>,
    ) -> T {
        let mut changes = self.shared.changes.subscribe();
        let give_up = tokio::time::Instant::now() + patience;
        loop {
            changes.mark_unchanged();
            if let Some(found) = probe(&mut self.world()) {
                return found;
            }
            if tokio::time::timeout_at(give_up, changes.changed()).await.is_err() {
                let world = self.world();
                panic!("{what}: not within {patience:?}; the bot shows {:#?}", world.everything_shown());
            }
        }
    }

    /// Waits for a message of the bot that `wanted` accepts.
    pub async fn wait_shown(&self, chat: i64, what: &str, wanted: impl Fn(&Message) -> bool) -> Message {
        self.wait(what, |world| world.shown(chat).into_iter().find(|message| wanted(message))).await
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world.lock()
    }

    fn now(&self) -> Duration {
        self.shared.began.elapsed()
    }

    async fn get_updates(&self, body: &Value) -> Reply {
        let wait = Duration::from_secs(body["timeout"].as_u64().unwrap_or(0));
        let give_up = tokio::time::Instant::now() + wait;
        let mut changes = self.shared.changes.subscribe();
        let poll = self.with(|world| {
            world.forget_before(body["offset"].as_i64());
            world.begin_poll()
        });
        loop {
            changes.mark_unchanged();
            {
                let mut world = self.world();
                if world.current_poll() != poll {
                    return Reply::conflict();
                }
                let updates = world.updates_from(body["offset"].as_i64(), body["limit"].as_u64().unwrap_or(100));
                if !updates.is_empty() {
                    return Reply::ok(Value::Array(updates));
                }
            }
            if tokio::time::timeout_at(give_up, changes.changed()).await.is_err() {
                return Reply::ok(json!([]));
            }
        }
    }
}

async fn serve(State(fake): State<FakeApi>, request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    if let Some(file) = path.strip_prefix(&format!("file/bot{TOKEN}/")) {
        let found = fake.world().file_at(file);
        return found.map_or_else(|| StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response);
    }
    let Some(method) = path.strip_prefix(&format!("bot{TOKEN}/")).map(str::to_owned) else {
        return reply(Reply::refused(401, "Unauthorized"));
    };
    let body = read_body(request).await;
    let now = fake.now();
    let fault = fake.with(|world| world.fault(&method, &body, now));
    match fault {
        Some(Fault::Hang) => std::future::pending().await,
        Some(Fault::BeforeAnswer) => {
            fake.with(|world| world.call(&method, &body, now));
            broken()
        }
        Some(Fault::Status(status)) => (StatusCode::from_u16(status).expect("a status"), "<html>").into_response(),
        Some(Fault::Reply(answer)) => reply(answer),
        None if method == "getUpdates" => reply(fake.get_updates(&body).await),
        None => reply(fake.with(|world| world.call(&method, &body, now))),
    }
}

fn reply(reply: Reply) -> Response {
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::from_u16(reply.status).expect("a status"), kind, reply.body.to_string()).into_response()
}

/// An answer that never comes to its end.
fn broken() -> Response {
    let failing = futures_util::stream::iter([
        Ok::<_, std::io::Error>(Bytes::from_static(b"{")),
        Err(std::io::Error::other("the connection breaks here")),
    ]);
    Body::from_stream(failing).into_response()
}

async fn read_body(request: Request) -> Value {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if kind.starts_with("multipart/") {
        return read_form(Multipart::from_request(request, &()).await.expect("a form")).await;
    }
    let bytes = axum::body::to_bytes(request.into_body(), 64 << 20).await.unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or(Value::Null)
}

async fn read_form(mut form: Multipart) -> Value {
    let mut body = serde_json::Map::new();
    while let Some(field) = form.next_field().await.expect("a field") {
        let name = field.name().unwrap_or_default().to_owned();
        let file = field.file_name().map(str::to_owned);
        let content = field.bytes().await.expect("content");
        let text = String::from_utf8_lossy(&content).into_owned();
        let value = match file {
            Some(file) => json!({ "file_name": file, "size": content.len(), "content": text }),
            None => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
        };
        body.insert(name, value);
    }
    Value::Object(body)
}
