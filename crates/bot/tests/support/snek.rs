//! A fake Snek server on loopback: it speaks the document's protocol, does what it was told, remembers what it was asked,
//! and serves files on the same origin.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use futures_util::{SinkExt, StreamExt, stream};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio_tungstenite::WebSocketStream;
use tungstenite::Message;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::Role;

pub const DEADLINE: Duration = Duration::from_secs(20);

/// What the server does with a `send_message`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OnSend {
    Answer,
    Refuse,
    /// Closes the connection instead.
    Drop,
    Ignore,
}

/// A file of the server.
#[derive(Clone)]
pub enum File {
    Bytes(&'static str, Vec<u8>),
    /// Text that never ends.
    Endless,
}

#[derive(Clone)]
pub struct FakeSnek {
    pub address: SocketAddr,
    inner: Arc<Mutex<Inner>>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    calls: Vec<Value>,
    connections: Vec<mpsc::UnboundedSender<Message>>,
    opened: usize,
    pings: usize,
    unanswered: usize,
    most_unanswered: usize,
    on_send: VecDeque<OnSend>,
    channels: Option<Value>,
    refuse_upgrades: usize,
    refuse_login: bool,
    deaf: bool,
    files: HashMap<String, File>,
    fetched: Vec<String>,
}

impl FakeSnek {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let fake = Self { address, inner: Arc::default(), changed: watch::Sender::new(0) };
        let router = Router::new().fallback(serve).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        fake
    }

    pub fn url(&self) -> String {
        format!("ws://{}/rpc.ws", self.address)
    }

    pub fn http(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn on_send(&self, steps: impl IntoIterator<Item = OnSend>) {
        self.lock().on_send.extend(steps);
    }

    pub fn list_channels(&self, channels: Value) {
        self.lock().channels = Some(channels);
    }

    pub fn refuse_upgrades(&self, count: usize) {
        self.lock().refuse_upgrades = count;
    }

    pub fn refuse_login(&self) {
        self.lock().refuse_login = true;
    }

    /// From now on nothing is read from new connections after the login, so no ping is answered.
    pub fn be_deaf(&self, deaf: bool) {
        self.lock().deaf = deaf;
    }

    pub fn put(&self, path: &str, file: File) {
        self.lock().files.insert(path.to_owned(), file);
    }

    /// `METHOD path?query` of every request for a file.
    pub fn fetched(&self) -> Vec<String> {
        self.lock().fetched.clone()
    }

    pub fn opened(&self) -> usize {
        self.lock().opened
    }

    pub fn most_unanswered(&self) -> usize {
        self.lock().most_unanswered
    }

    /// Sends a frame to every connection.
    pub fn tell(&self, frame: impl ToString) {
        let frame = frame.to_string();
        self.lock().connections.retain(|connection| connection.send(Message::text(frame.clone())).is_ok());
    }

    /// Somebody says something.
    pub fn says(&self, channel_uid: &str, username: &str, text: &str) {
        self.tell(message(channel_uid, username, text, true));
    }

    pub fn close_all(&self) {
        for connection in self.lock().connections.drain(..) {
            let _ = connection.send(Message::Close(None));
        }
    }

    /// Every call so far: `{"method", "args"}`.
    pub fn calls(&self) -> Vec<Value> {
        self.lock().calls.clone()
    }

    pub fn called(&self, method: &str) -> Vec<Value> {
        self.calls().into_iter().filter(|call| call["method"] == method).map(|call| call["args"].clone()).collect()
    }

    /// The complete messages that the bot has sent, as `(channel, text)`.
    pub fn finals(&self) -> Vec<(String, String)> {
        let sent = self.called("send_message").into_iter().filter(|args| args[2] == true);
        sent.map(|args| (args[0].as_str().unwrap().to_owned(), args[1].as_str().unwrap().to_owned())).collect()
    }

    /// Waits until `done` sees what it wants.
    pub async fn until<T>(&self, what: &str, done: impl Fn(&Self) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        let wait = async {
            loop {
                if let Some(found) = done(self) {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(DEADLINE, wait).await {
            Ok(found) => found,
            Err(_) => panic!("no {what}; calls: {:#?}", self.calls()),
        }
    }

    /// Waits for the complete message number `count` and returns its text.
    pub async fn answer(&self, count: usize) -> String {
        self.until(&format!("answer {count}"), |snek| Some(snek.finals().get(count - 1)?.1.clone())).await
    }

    pub async fn until_called(&self, method: &str, count: usize) {
        self.until(&format!("{count} calls of {method}"), |snek| (snek.called(method).len() >= count).then_some(()))
            .await;
    }

    pub async fn until_pinged(&self, count: usize) {
        self.until("ping", |snek| (snek.lock().pings >= count).then_some(())).await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    fn change(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// The answer to one call; none where the server keeps silent, `Err` where it closes.
    fn answer_call(&self, call: &Value) -> Result<Option<Value>, ()> {
        let mut inner = self.lock();
        inner.calls.push(json!({"method": call["method"], "args": call["args"]}));
        let id = &call["callId"];
        let good = |data: Value| Ok(Some(json!({"callId": id, "success": true, "data": data})));
        let bad = |why: &str| Ok(Some(json!({"callId": id, "success": false, "data": {"exception": why}})));
        match call["method"].as_str().unwrap() {
            "login" if inner.refuse_login => bad("Invalid username or password"),
            "login" | "get_user" => good(json!({"uid": "u1", "username": "mybot", "nick": "MyNick"})),
            "get_channels" => good(inner.channels.clone().unwrap_or_else(|| {
                json!([{"uid": "ch1", "name": "general", "tag": "public"}, {"uid": "ch2", "name": "DM", "tag": "dm"},
                       {"uid": "ch3", "name": "news", "tag": null}])
            })),
            "send_message" => match inner.on_send.pop_front().unwrap_or(OnSend::Answer) {
                OnSend::Answer => good(json!({"uid": "m1"})),
                OnSend::Refuse => bad("You are not a member"),
                OnSend::Drop => Err(()),
                OnSend::Ignore => Ok(None),
            },
            _ => good(Value::Null),
        }
    }

    async fn connection(self, mut socket: WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>) {
        let (sender, mut queue) = mpsc::unbounded_channel();
        {
            let mut inner = self.lock();
            inner.opened += 1;
            inner.connections.push(sender);
        }
        self.change();
        loop {
            let deaf = self.lock().deaf;
            tokio::select! {
                frame = queue.recv() => match frame {
                    Some(Message::Close(_)) | None => { let _ = socket.close(None).await; return }
                    Some(frame) => if socket.send(frame).await.is_err() { return },
                },
                frame = socket.next(), if !deaf => match frame {
                    Some(Ok(Message::Text(text))) => {
                        let call: Value = serde_json::from_str(&text).expect("a call is JSON");
                        let answer = self.answer_call(&call);
                        self.count(&call, &answer);
                        self.change();
                        match answer {
                            Ok(Some(answer)) => if socket.send(Message::text(answer.to_string())).await.is_err() { return },
                            Ok(None) => {}
                            Err(()) => return,
                        }
                    }
                    Some(Ok(Message::Ping(_))) => { self.lock().pings += 1; self.change(); }
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => { self.change(); return }
                },
            }
        }
    }

    fn count(&self, call: &Value, answer: &Result<Option<Value>, ()>) {
        let mut inner = self.lock();
        if call["method"] == "send_message" && answer == &Ok(None) {
            inner.unanswered += 1;
            inner.most_unanswered = inner.most_unanswered.max(inner.unanswered);
        }
    }
}

pub fn message(channel_uid: &str, username: &str, text: &str, is_final: bool) -> Value {
    json!({"event": "message", "message": text, "username": username, "user_nick": username,
           "channel_uid": channel_uid, "is_final": is_final})
}

async fn serve(State(fake): State<FakeSnek>, request: Request<Body>) -> Response<Body> {
    if request.uri().path() == "/rpc.ws" {
        return upgrade(fake, request);
    }
    let asked = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let file = fake.lock().files.get(request.uri().path()).cloned();
    fake.lock().fetched.push(format!("{} {asked}", request.method()));
    fake.change();
    let is_head = request.method() == Method::HEAD;
    let response = Response::builder();
    match file {
        Some(File::Bytes(kind, bytes)) => {
            let response = response.header(header::CONTENT_TYPE, kind).header(header::CONTENT_LENGTH, bytes.len());
            response.body(if is_head { Body::empty() } else { Body::from(bytes) })
        }
        Some(File::Endless) => {
            let chunk = Bytes::from_static(&[b'x'; 4096]);
            let body = stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone()));
            let response = response.header(header::CONTENT_TYPE, "text/plain");
            response.body(if is_head { Body::empty() } else { Body::from_stream(body) })
        }
        None => response.status(StatusCode::NOT_FOUND).body(Body::empty()),
    }
    .unwrap()
}

fn upgrade(fake: FakeSnek, request: Request<Body>) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    {
        let mut inner = fake.lock();
        if inner.refuse_upgrades > 0 {
            inner.refuse_upgrades -= 1;
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            return response;
        }
    }
    let key = request.headers()[header::SEC_WEBSOCKET_KEY].clone();
    tokio::spawn(async move {
        let upgraded = hyper::upgrade::on(request).await.unwrap();
        let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
        fake.connection(socket).await;
    });
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    let accept = derive_accept_key(key.as_bytes()).parse().unwrap();
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    response
}
