//! Where a run's lines come from: a process, a local server, or a script.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use crate::engine::{EngineError, Exit, LocalServer, Source};
use crate::json;
use crate::process::lines::{Line, MAX_LINE};
use crate::process::{Host, Process};

/// What comes next.
#[derive(Debug)]
pub enum Incoming {
    Line(Line),
    Exited(Exit),
}

pub enum Feed {
    Process(Box<Process>),
    Server(Box<Server>),
    Script(Script),
}

impl Feed {
    pub fn start(source: Source, host: &Host) -> Result<Self, EngineError> {
        Ok(match source {
            Source::Process(launch) => Self::Process(Box::new(Process::start(&launch, host)?)),
            Source::Server(server) => Self::Server(Box::new(Server::start(server, host)?)),
            Source::Script(lines) => Self::Script(Script::new(lines)),
        })
    }

    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Incoming {
        match self {
            Self::Process(process) => match process.line().await {
                Some(line) => Incoming::Line(line),
                None => Incoming::Exited(process.exit().await),
            },
            Self::Server(server) => server.next().await,
            Self::Script(script) => script.next().await,
        }
    }

    pub fn send(&mut self, text: String) {
        match self {
            Self::Process(process) => process.write(text),
            Self::Server(server) => server.send(&text),
            Self::Script(script) => script.heard(&text),
        }
    }

    pub fn close(&mut self) {
        if let Self::Process(process) = self {
            process.close_stdin();
        }
    }

    /// Lets it end by itself for the grace, then ends it; at once when `hurry` comes.
    pub async fn finish(self, hurry: impl Future<Output = ()>) {
        match self {
            Self::Process(process) => process.finish(hurry).await,
            // A server does not end by itself.
            Self::Server(server) => server.process.end().await,
            Self::Script(_) => {}
        }
    }

    /// Ends it now.
    pub async fn end(self) {
        match self {
            Self::Process(process) => process.end().await,
            Self::Server(server) => server.process.end().await,
            Self::Script(_) => {}
        }
    }
}

/// How long a local server may take to say where it listens.
const SERVER_START: Duration = Duration::from_secs(30);
/// What a server writes before its address.
const LISTENING: &str = "listening on ";

/// A process that serves HTTP on loopback. Orders are lines `{"method","path","body","tag"}`; what it answers comes
/// back as `{"type":"moot.response","tag","status","body"}` among the events of `/event`.
pub struct Server {
    process: Process,
    client: reqwest::Client,
    user: &'static str,
    password: String,
    base: Option<String>,
    waiting: Vec<String>,
    lines: mpsc::Receiver<Line>,
    sender: mpsc::Sender<Line>,
    begun: Instant,
}

impl Server {
    fn start(server: LocalServer, host: &Host) -> Result<Self, EngineError> {
        let LocalServer { mut launch, user, password: variable } = server;
        let password = uuid::Uuid::new_v4().simple().to_string();
        launch.env.push((variable.to_owned(), Some(password.clone())));
        let process = Process::start(&launch, host)?;
        let builder = reqwest::Client::builder().no_proxy().tls_certs_only([]);
        let client = builder.build().map_err(|error| EngineError { sentence: error.to_string(), hint: None })?;
        let (sender, lines) = mpsc::channel(64);
        let begun = Instant::now();
        Ok(Self { process, client, user, password, base: None, waiting: Vec::new(), lines, sender, begun })
    }

    async fn next(&mut self) -> Incoming {
        loop {
            let starting = self.base.is_none();
            tokio::select! {
                Some(line) = self.lines.recv() => return Incoming::Line(line),
                line = self.process.line() => match line {
                    None => return Incoming::Exited(self.process.exit().await),
                    Some(Line::Text(text)) if starting => self.read_address(&text),
                    Some(_) => {}
                },
                () = sleep_until(self.begun + SERVER_START), if starting => {
                    let stderr = "the server did not say where it listens".to_owned();
                    return Incoming::Exited(Exit { code: None, signal: None, stderr });
                }
            }
        }
    }

    fn read_address(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        let Some(base) = text.split_once(LISTENING).map(|(_, base)| base.trim().trim_end_matches('/').to_owned())
        else {
            return;
        };
        let events = self.request("GET", &format!("{base}/event"));
        let orders: Vec<String> = self.waiting.drain(..).collect();
        self.base = Some(base);
        let orders = orders.iter().filter_map(|order| self.order(order)).collect();
        tokio::spawn(listen(events, orders, self.sender.clone()));
    }

    fn send(&mut self, text: &str) {
        if self.base.is_none() {
            self.waiting.push(text.to_owned());
        } else if let Some((tag, request)) = self.order(text) {
            tokio::spawn(ask(tag, request, self.sender.clone()));
        }
    }

    fn order(&self, text: &str) -> Option<(Value, reqwest::RequestBuilder)> {
        let order: Value = serde_json::from_str(text).ok()?;
        let path = format!("{}{}", self.base.as_ref()?, json::text(&order, "path")?);
        let request = self.request(json::text(&order, "method")?, &path);
        let request = if order["body"].is_null() { request } else { request.json(&order["body"]) };
        Some((order["tag"].clone(), request))
    }

    fn request(&self, method: &str, url: &str) -> reqwest::RequestBuilder {
        let method = method.parse().unwrap_or(reqwest::Method::GET);
        self.client.request(method, url).basic_auth(self.user, Some(&self.password))
    }
}

/// Hears the events first, then gives the orders that waited: nothing that they cause is missed.
async fn listen(
    events: reqwest::RequestBuilder,
    orders: Vec<(Value, reqwest::RequestBuilder)>,
    to: mpsc::Sender<Line>,
) {
    let response = match events.send().await.and_then(reqwest::Response::error_for_status) {
        Ok(response) => response,
        Err(error) => {
            let line = json!({"type": "moot.lost", "message": error.to_string()});
            let _ = to.send(Line::Text(line.to_string().into_bytes())).await;
            return;
        }
    };
    for (tag, request) in orders {
        tokio::spawn(ask(tag, request, to.clone()));
    }
    let mut body = response.bytes_stream();
    let mut buffer = Vec::new();
    while let Some(Ok(chunk)) = body.next().await {
        buffer.extend_from_slice(&chunk);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data:") else { continue };
            if to.send(Line::Text(data.trim_ascii().to_vec())).await.is_err() {
                return;
            }
        }
        if buffer.len() > MAX_LINE {
            let _ = to.send(Line::TooLong(buffer.len())).await;
            buffer = Vec::new();
        }
    }
}

async fn ask(tag: Value, request: reqwest::RequestBuilder, to: mpsc::Sender<Line>) {
    let answer = timeout(Duration::from_secs(60), async {
        let response = request.send().await?;
        let status = response.status().as_u16();
        Ok::<_, reqwest::Error>((status, response.text().await?))
    });
    let (status, text) = match answer.await {
        Ok(Ok((status, text))) => (status, text),
        Ok(Err(error)) => (0, error.to_string()),
        Err(_) => (0, "it did not answer".to_owned()),
    };
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let line = json!({"type": "moot.response", "tag": tag, "status": status, "body": body});
    let _ = to.send(Line::Text(line.to_string().into_bytes())).await;
}

/// A script: events with delays, waits and failures between them.
pub struct Script {
    lines: std::vec::IntoIter<String>,
    until: Option<Instant>,
    waits_for: Option<String>,
    heard: Vec<String>,
    exit: Option<Exit>,
    lingers: bool,
}

impl Script {
    fn new(lines: Vec<String>) -> Self {
        let lines = lines.into_iter();
        Self { lines, until: None, waits_for: None, heard: Vec::new(), exit: None, lingers: false }
    }

    /// Something that the script may be waiting for.
    fn heard(&mut self, text: &str) {
        self.heard.push(text.trim().to_owned());
    }

    async fn next(&mut self) -> Incoming {
        loop {
            if let Some(until) = self.until {
                sleep_until(until).await;
                self.until = None;
            }
            if let Some(word) = &self.waits_for {
                match self.heard.iter().position(|heard| word == "any" || heard == word) {
                    Some(at) => drop(self.heard.remove(at)),
                    // Whoever says the word stops this wait first.
                    None => std::future::pending().await,
                }
                self.waits_for = None;
            }
            if let Some(exit) = &self.exit {
                return Incoming::Exited(exit.clone());
            }
            let Some(line) = self.lines.next() else {
                if self.lingers {
                    std::future::pending::<()>().await;
                }
                self.exit = Some(Exit { code: Some(0), ..Exit::default() });
                continue;
            };
            if !self.direct(&line) {
                return Incoming::Line(Line::Text(line.into_bytes()));
            }
        }
    }

    /// Follows a stage direction; `false` when the line is no direction.
    fn direct(&mut self, line: &str) -> bool {
        let Ok(value) = serde_json::from_str::<Value>(line) else { return false };
        match json::text(&value, "type") {
            Some("delay") => {
                let pause = value.get("ms").and_then(Value::as_u64).unwrap_or(0);
                self.until = Some(Instant::now() + Duration::from_millis(pause));
            }
            Some("wait") => self.waits_for = Some(json::text(&value, "for").unwrap_or("any").to_owned()),
            Some("fail") => {
                let code = value.get("code").and_then(Value::as_i64).and_then(|code| code.try_into().ok());
                let stderr = json::text(&value, "message").unwrap_or_default().to_owned();
                self.exit = Some(Exit { code: Some(code.unwrap_or(1)), signal: None, stderr });
            }
            Some("linger") => self.lingers = true,
            _ => return false,
        }
        true
    }
}
