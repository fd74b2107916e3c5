//! Where a run's lines come from: a process, a local server, or a script.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use crate::process::lines::{Line, MAX_LINE};
use crate::process::{Host, Process};
use folkmoot_engines::engine::{EngineError, Exit, LocalServer, Source};
use folkmoot_engines::json;

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
/// How long a server whose events broke off has to end by itself, so that its own last words are told.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A request, and the tag that its answer gets.
type Order = (Value, reqwest::RequestBuilder);

/// What the tasks that talk to a server bring.
enum Heard {
    Line(Line),
    /// Its events ended, and why.
    Broken(String),
}

/// A process that serves HTTP on loopback. Orders are lines `{"method","path","body","tag"}`; what it answers comes
/// back as `{"type":"moot.response","tag","status","body"}` among the events of `/event`.
pub struct Server {
    process: Process,
    client: reqwest::Client,
    user: &'static str,
    password: String,
    base: Option<String>,
    waiting: Vec<String>,
    /// Requests for the task that makes them, once it is known where to.
    orders: Option<mpsc::UnboundedSender<Order>>,
    heard: mpsc::Receiver<Heard>,
    sender: mpsc::Sender<Heard>,
    /// When to give it up, and in which words.
    deadline: Option<(Instant, String)>,
}

impl Server {
    fn start(server: LocalServer, host: &Host) -> Result<Self, EngineError> {
        let LocalServer { mut launch, user, password: variable } = server;
        let password = uuid::Uuid::new_v4().simple().to_string();
        launch.env.push((variable.to_owned(), Some(password.clone())));
        let process = Process::start(&launch, host)?;
        let builder = reqwest::Client::builder().no_proxy().tls_certs_only([]);
        let client = builder.build().map_err(|error| EngineError { sentence: error.to_string(), hint: None })?;
        let (sender, heard) = mpsc::channel(64);
        let deadline = Some((Instant::now() + SERVER_START, "the server did not say where it listens".to_owned()));
        let (base, waiting, orders) = (None, Vec::new(), None);
        Ok(Self { process, client, user, password, base, waiting, orders, heard, sender, deadline })
    }

    async fn next(&mut self) -> Incoming {
        loop {
            let starting = self.base.is_none();
            let late = self.deadline.as_ref().map(|(at, _)| *at);
            tokio::select! {
                Some(heard) = self.heard.recv() => match heard {
                    Heard::Line(line) => return Incoming::Line(line),
                    Heard::Broken(why) => self.deadline = Some((Instant::now() + LAST_WORDS, why)),
                },
                line = self.process.line() => match line {
                    None => return Incoming::Exited(self.process.exit().await),
                    Some(Line::Text(text)) if starting => self.read_address(&text),
                    Some(_) => {}
                },
                () = sleep_until(late.unwrap_or_else(Instant::now)), if late.is_some() => {
                    let stderr = self.deadline.as_ref().map(|(_, why)| why.clone()).unwrap_or_default();
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
        self.base = Some(base);
        self.deadline = None;
        let (orders, given) = mpsc::unbounded_channel();
        self.orders = Some(orders);
        tokio::spawn(listen(events, given, self.sender.clone()));
        for order in std::mem::take(&mut self.waiting) {
            self.send(&order);
        }
    }

    fn send(&mut self, text: &str) {
        match &self.orders {
            None => self.waiting.push(text.to_owned()),
            Some(orders) => {
                if let Some(order) = self.order(text) {
                    // Without anybody to make it, the end of the events says why.
                    let _ = orders.send(order);
                }
            }
        }
    }

    fn order(&self, text: &str) -> Option<Order> {
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

/// Hears the events first, then gives the orders: nothing that they cause is missed.
async fn listen(events: reqwest::RequestBuilder, orders: mpsc::UnboundedReceiver<Order>, to: mpsc::Sender<Heard>) {
    let why = match events.send().await.and_then(reqwest::Response::error_for_status) {
        Ok(response) => follow(response, orders, &to).await,
        Err(error) => error.to_string(),
    };
    let _ = to.send(Heard::Broken(format!("the server's stream of events broke off: {why}"))).await;
}

/// Brings the events until there are no more; returns why.
async fn follow(
    response: reqwest::Response,
    orders: mpsc::UnboundedReceiver<Order>,
    to: &mpsc::Sender<Heard>,
) -> String {
    tokio::spawn(give(orders, to.clone()));
    let mut body = response.bytes_stream();
    let mut buffer = Vec::new();
    loop {
        match body.next().await {
            Some(Ok(chunk)) => buffer.extend_from_slice(&chunk),
            Some(Err(error)) => return error.to_string(),
            None => return "it was closed".to_owned(),
        }
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            let Some(data) = line.strip_prefix(b"data:") else { continue };
            if to.send(Heard::Line(Line::Text(data.trim_ascii().to_vec()))).await.is_err() {
                return "nobody listens".to_owned();
            }
        }
        if buffer.len() > MAX_LINE {
            let _ = to.send(Heard::Line(Line::TooLong(buffer.len()))).await;
            buffer = Vec::new();
        }
    }
}

/// One after the other: what was said first is heard first.
async fn give(mut orders: mpsc::UnboundedReceiver<Order>, to: mpsc::Sender<Heard>) {
    while let Some((tag, request)) = orders.recv().await {
        ask(tag, request, &to).await;
    }
}

async fn ask(tag: Value, request: reqwest::RequestBuilder, to: &mpsc::Sender<Heard>) {
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
    let _ = to.send(Heard::Line(Line::Text(line.to_string().into_bytes()))).await;
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
