//! A fake OpenAI-compatible endpoint on loopback: it speaks the real wire format, answers as it was told, and remembers
//! what it was asked.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri, header};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

/// What the endpoint does with one request.
pub enum Reply {
    Json(u16, Value),
    /// Asks to come back later.
    SlowDown(u64),
    /// A streamed answer: each is one event. `Cut` ends it in the middle.
    Events(Vec<String>, End),
    /// Takes the request and never answers.
    Never,
}

pub enum End {
    Done,
    /// Without the last marker, but the last piece said it was the last.
    Quiet,
    Cut,
}

pub struct Asked {
    pub path: String,
    pub authorization: Option<String>,
    pub body: Bytes,
}

impl Asked {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
}

#[derive(Clone)]
pub struct FakeOpenAi {
    pub address: SocketAddr,
    script: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    replies: VecDeque<Reply>,
    asked: Vec<Asked>,
}

impl FakeOpenAi {
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let fake = Self { address: listener.local_addr().expect("an address"), script: Arc::default() };
        let router = Router::new().fallback(answer).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        fake
    }

    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Queues an answer; without one the endpoint fails with 500.
    pub fn will(&self, reply: Reply) {
        self.script.lock().unwrap().replies.push_back(reply);
    }

    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.script.lock().unwrap().asked)
    }
}

pub fn says(text: &str) -> Reply {
    let message = json!({"role": "assistant", "content": text});
    Reply::Json(200, json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}))
}

pub fn calls(name: &str, arguments: &str) -> Reply {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    Reply::Json(200, json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}))
}

pub fn piece(delta: Value, finish_reason: Option<&str>) -> String {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]}).to_string()
}

async fn answer(State(fake): State<FakeOpenAi>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let reply = {
        let mut script = fake.script.lock().unwrap();
        script.asked.push(Asked { path: uri.path().to_owned(), authorization, body });
        script.replies.pop_front()
    };
    let response = Response::builder().header(header::CONTENT_TYPE, "application/json");
    let response = match reply {
        Some(Reply::Json(status, value)) => response.status(status).body(Body::from(value.to_string())),
        Some(Reply::SlowDown(seconds)) => {
            let error = json!({"error": {"message": "slow down"}}).to_string();
            response.status(StatusCode::TOO_MANY_REQUESTS).header(header::RETRY_AFTER, seconds).body(Body::from(error))
        }
        Some(Reply::Events(events, end)) => {
            Response::builder().header(header::CONTENT_TYPE, "text/event-stream").body(streamed(events, end))
        }
        Some(Reply::Never) => std::future::pending().await,
        None => response.status(500).body(Body::from(r#"{"error":{"message":"nothing was prepared"}}"#)),
    };
    response.expect("a response")
}

fn streamed(events: Vec<String>, end: End) -> Body {
    let mut pieces: Vec<_> = events.into_iter().map(|event| Bytes::from(format!("data: {event}\n\n"))).collect();
    if matches!(end, End::Done) {
        pieces.push(Bytes::from("data: [DONE]\n\n"));
    }
    let cut = async move {
        // What came before goes out first.
        tokio::task::yield_now().await;
        matches!(end, End::Cut).then(|| Err(std::io::Error::other("cut")))
    };
    let last = stream::once(cut).filter_map(std::future::ready);
    Body::from_stream(stream::iter(pieces).map(Ok).chain(last))
}
