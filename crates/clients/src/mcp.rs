//! A bridge for assistants that start their MCP servers as programs: every line becomes a request to a hub's `/mcp`, every answer
//! and event a line. Nothing is decided here, so there is one implementation of the tools and two ways to them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::llm::sse::Events;

/// The longest line of an assistant, and how many requests are under way at once.
const MAX_LINE_BYTES: u64 = 1024 * 1024;
const MAX_REQUESTS: usize = 64;
/// Longer than the longest wait of the hub.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
const MODERN_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The hub, and who we are there.
pub struct Bridge {
    http: reqwest::Client,
    address: String,
    key: String,
}

/// What is shared by the requests of one assistant.
struct Shared {
    bridge: Bridge,
    out: mpsc::Sender<Value>,
    /// By the text of their ids; what is cancelled is dropped here.
    running: Mutex<HashMap<String, AbortHandle>>,
    /// What an older client agreed on; it says so in every later request.
    version: Mutex<Option<String>>,
}

impl Bridge {
    /// `base` is the hub's address without a path.
    pub fn new(http: reqwest::Client, base: &str, key: &str) -> Self {
        Self { http, address: format!("{}/mcp", base.trim_end_matches('/')), key: key.to_owned() }
    }

    /// Until the assistant closes its end, or no longer listens.
    pub async fn run(self, input: impl AsyncBufRead + Unpin, output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
        let (out, lines) = mpsc::channel(MAX_REQUESTS);
        let shared = Arc::new(Shared { bridge: self, out, running: Mutex::default(), version: Mutex::default() });
        tokio::select! {
            read = read_lines(&shared, input) => read,
            written = write_lines(lines, output) => written,
        }
    }
}

async fn write_lines(mut lines: mpsc::Receiver<Value>, mut output: impl AsyncWrite + Unpin) -> std::io::Result<()> {
    while let Some(line) = lines.recv().await {
        output.write_all(format!("{line}\n").as_bytes()).await?;
        output.flush().await?;
    }
    Ok(())
}

async fn read_lines(shared: &Arc<Shared>, mut input: impl AsyncBufRead + Unpin) -> std::io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = (&mut input).take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line).await?;
        if length == 0 {
            return Ok(());
        }
        if length as u64 > MAX_LINE_BYTES {
            let _ = shared.out.send(fault(&Value::Null, -32600, "a line is longer than 1 MB")).await;
            return Ok(());
        }
        if !line.trim_ascii().is_empty() {
            take(shared, &line).await;
        }
    }
}

async fn take(shared: &Arc<Shared>, line: &[u8]) {
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => {
            let _ = shared.out.send(fault(&Value::Null, -32700, &format!("a line is not JSON: {error}"))).await;
            return;
        }
    };
    if message["method"] == "notifications/cancelled" {
        let cancelled = shared.running.lock().remove(&message["params"]["requestId"].to_string());
        cancelled.iter().for_each(AbortHandle::abort);
        return;
    }
    let id = message["id"].clone();
    if !id.is_null() && shared.running.lock().len() >= MAX_REQUESTS {
        let _ = shared.out.send(fault(&id, -32603, "too many requests are under way")).await;
        return;
    }
    let (task, name) = (Arc::clone(shared), id.to_string());
    let mut running = shared.running.lock();
    let begun = tokio::spawn(async move { carry(&task, message).await });
    if !id.is_null() {
        running.insert(name, begun.abort_handle());
    }
}

async fn carry(shared: &Shared, message: Value) {
    let id = message["id"].clone();
    let told = match shared.request(&message).send().await {
        Ok(answer) => tell(shared, &message, answer).await,
        Err(error) => Err(format!("the hub cannot be reached: {}", without_address(error))),
    };
    if let (Err(sentence), false) = (told, id.is_null()) {
        let _ = shared.out.send(fault(&id, -32603, &sentence)).await;
    }
    shared.running.lock().remove(&id.to_string());
}

fn without_address(error: reqwest::Error) -> String {
    error.without_url().to_string()
}

/// Passes an answer on: one message, or the events of a stream.
async fn tell(shared: &Shared, asked: &Value, mut answer: Response) -> Result<(), String> {
    let is_stream =
        answer.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    if is_stream {
        let mut events = Events::default();
        while let Some(bytes) = answer.chunk().await.map_err(without_address)? {
            events.push(&bytes).map_err(|error| error.to_string())?;
            while let Some(event) = events.pop() {
                let message = serde_json::from_str(&event).map_err(|error| format!("the hub sent no JSON: {error}"))?;
                let _ = shared.out.send(message).await;
            }
        }
        return Ok(());
    }
    let status = answer.status();
    let bytes = answer.bytes().await.map_err(without_address)?;
    if asked["id"].is_null() {
        return Ok(());
    }
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(message) if message["jsonrpc"] == "2.0" => {
            shared.note_version(&message);
            let _ = shared.out.send(message).await;
            Ok(())
        }
        Ok(refusal) => Err(format!("{status}: {}", refusal["message"].as_str().unwrap_or("the hub refused it"))),
        Err(_) => Err(format!("{status}: this address is no hub's `/mcp`")),
    }
}

impl Shared {
    fn request(&self, message: &Value) -> RequestBuilder {
        let request = self.bridge.http.post(&self.bridge.address).timeout(ANSWER_TIMEOUT);
        let request = request.header(AUTHORIZATION, format!("Bearer {}", self.bridge.key));
        let mut request = request.header(ACCEPT, "application/json, text/event-stream").json(message);
        let params = &message["params"];
        match params["_meta"][MODERN_VERSION].as_str() {
            Some(version) => {
                request = request.header("mcp-protocol-version", plain(version));
                request = request.header("mcp-method", plain(message["method"].as_str().unwrap_or_default()));
                if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                    request = request.header("mcp-name", plain(name));
                }
            }
            None => {
                if let Some(version) = &*self.version.lock() {
                    request = request.header("mcp-protocol-version", version);
                }
            }
        }
        request
    }

    fn note_version(&self, answer: &Value) {
        if let Some(version) = answer["result"]["protocolVersion"].as_str().filter(|version| version.is_ascii()) {
            *self.version.lock() = Some(plain(version));
        }
    }
}

/// A header takes no line ends; what is none of the hub's names anyway is refused there.
fn plain(text: &str) -> String {
    text.chars().filter(|character| matches!(character, ' '..='~')).take(200).collect()
}

fn fault(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::HeaderMap;
    use axum::routing::post;
    use tokio::io::BufReader;

    use super::*;

    /// A hub that answers with the headers it was shown, and never answers `wait`.
    async fn hub() -> String {
        let answer = |headers: HeaderMap, body: String| async move {
            let asked: Value = serde_json::from_str(&body).unwrap();
            if asked["method"] == "wait" {
                std::future::pending::<()>().await;
            }
            let header =
                |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
            let seen = json!({ "key": header("authorization"), "version": header("mcp-protocol-version"), "method": header("mcp-method") });
            json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "seen": seen, "protocolVersion": "2025-06-18" } })
                .to_string()
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().route("/mcp", post(answer))).await });
        address
    }

    /// What comes out for these lines, `count` lines of it.
    async fn said(base: &str, lines: &str, count: usize) -> Vec<Value> {
        let (mut assistant, ours) = tokio::io::duplex(1 << 22);
        let (input, output) = tokio::io::split(ours);
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let bridge = Bridge::new(http, base, "lr_key");
        let running = tokio::spawn(async move { bridge.run(BufReader::new(input), output).await });
        assistant.write_all(lines.as_bytes()).await.unwrap();
        let mut answers = BufReader::new(&mut assistant).lines();
        let mut all = Vec::new();
        while all.len() < count {
            all.push(serde_json::from_str(&answers.next_line().await.unwrap().unwrap()).unwrap());
        }
        drop(assistant);
        running.await.unwrap().ok();
        all
    }

    #[tokio::test]
    async fn a_line_becomes_a_request_with_the_key_and_the_answer_a_line() {
        let line = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": { "_meta": { MODERN_VERSION: "2026-07-28" } } });
        let answers = said(&hub().await, &format!("{line}\n"), 1).await;
        let seen = &answers[0]["result"]["seen"];
        assert_eq!((&answers[0]["id"], &seen["key"]), (&json!(3), &json!("Bearer lr_key")));
        assert_eq!((&seen["version"], &seen["method"]), (&json!("2026-07-28"), &json!("tools/list")));
    }

    #[tokio::test]
    async fn a_request_that_is_cancelled_does_not_hold_up_the_next() {
        let lines = [
            json!({ "jsonrpc": "2.0", "id": "w", "method": "wait" }),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "w" } }),
            json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }),
        ];
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(said(&hub().await, &lines, 1).await[0]["id"], 2);
    }

    #[tokio::test]
    async fn what_is_no_json_and_a_hub_that_is_not_there_are_said_in_words() {
        let answers =
            said("http://127.0.0.1:9", "nonsense\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", 2).await;
        assert_eq!(answers[0]["error"]["code"], -32700);
        let sentence = answers[1]["error"]["message"].as_str().unwrap();
        assert!(sentence.starts_with("the hub cannot be reached") && !sentence.contains("lr_key"), "{sentence}");
    }
}
