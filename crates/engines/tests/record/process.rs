//! A program as the recorder runs it: its lines, and orders to it, over pipes or over HTTP on loopback.

use std::process::Stdio;
use std::sync::Arc;

use folkmoot_engines::engine::{Exit, Launch, LocalServer, Source};
use futures_util::StreamExt;
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};

/// The name and password for a program that serves HTTP.
const PASSWORD: &str = "recorded";

pub enum Incoming {
    Line(String),
    Exited(Exit),
}

pub struct Process {
    child: Child,
    group: Option<Pid>,
    lines: mpsc::UnboundedReceiver<Option<String>>,
    orders: Option<mpsc::UnboundedSender<String>>,
    stderr: Arc<Mutex<String>>,
}

impl Process {
    pub fn start(source: Source) -> Result<Self, String> {
        match source {
            Source::Process(launch) => {
                let (mut process, sender) = Self::spawn(&launch)?;
                let (orders, mut orders_in) = mpsc::unbounded_channel::<String>();
                let mut stdin = process.child.stdin.take().ok_or("no standard input")?;
                tokio::spawn(async move {
                    while let Some(text) = orders_in.recv().await {
                        let _ = stdin.write_all(text.as_bytes()).await;
                    }
                });
                process.orders = Some(orders);
                process.read(sender, None);
                Ok(process)
            }
            Source::Server(LocalServer { mut launch, user, password }) => {
                launch.env.push((password.to_owned(), Some(PASSWORD.to_owned())));
                let (mut process, sender) = Self::spawn(&launch)?;
                let (address, base) = watch::channel(None);
                process.orders = Some(serve(user, base, sender.clone()));
                process.read(sender, Some(address));
                Ok(process)
            }
            Source::Script(_) => Err("a script is no program".to_owned()),
        }
    }

    fn spawn(launch: &Launch) -> Result<(Self, mpsc::UnboundedSender<Option<String>>), String> {
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).current_dir(&launch.folder).env_clear().env("LANG", "C.UTF-8");
        for (name, value) in &launch.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let child = command.spawn().map_err(|error| format!("{}: {error}", launch.program))?;
        let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let (sender, lines) = mpsc::unbounded_channel();
        Ok((Self { child, group, lines, orders: None, stderr: Arc::default() }, sender))
    }

    /// Reads both outputs; with `address`, standard output says only where the program listens.
    fn read(&mut self, lines: mpsc::UnboundedSender<Option<String>>, address: Option<watch::Sender<Option<String>>>) {
        let stdout = self.child.stdout.take().expect("piped");
        let (mut stderr, errors) = (self.child.stderr.take().expect("piped"), Arc::clone(&self.stderr));
        tokio::spawn(async move {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text).await;
            errors.lock().push_str(&String::from_utf8_lossy(&text));
        });
        tokio::spawn(async move {
            let mut stdout = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = stdout.next_line().await {
                match (&address, line.split_once("listening on ")) {
                    (Some(address), Some((_, base))) => drop(address.send_replace(Some(base.trim().to_owned()))),
                    (Some(_), None) => {}
                    (None, _) => drop(lines.send(Some(line))),
                }
            }
            let _ = lines.send(None);
        });
    }

    pub async fn next(&mut self) -> Incoming {
        match self.lines.recv().await.flatten() {
            Some(line) => Incoming::Line(line),
            None => {
                let status = self.child.wait().await.ok();
                let signal = status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status));
                let stderr = self.stderr.lock().clone();
                Incoming::Exited(Exit { code: status.and_then(|status| status.code()), signal, stderr })
            }
        }
    }

    pub fn send(&self, text: &str) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(text.to_owned());
        }
    }

    pub fn close(&mut self) {
        self.orders = None;
    }

    pub fn terminate(&self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    pub async fn end(&mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait().await;
    }
}

/// Hears `/event` and gives orders, as a run does; what is answered to an order becomes a line.
fn serve(
    user: &'static str,
    mut base: watch::Receiver<Option<String>>,
    lines: mpsc::UnboundedSender<Option<String>>,
) -> mpsc::UnboundedSender<String> {
    let (orders, mut orders_in) = mpsc::unbounded_channel::<String>();
    tokio::spawn(async move {
        let Ok(found) = base.wait_for(Option::is_some).await.map(|base| base.clone().unwrap_or_default()) else {
            return;
        };
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().expect("a client");
        let request = |method: &str, path: &str| {
            let method = method.parse().expect("a method");
            client.request(method, format!("{}{path}", found.trim_end_matches('/'))).basic_auth(user, Some(PASSWORD))
        };
        let Ok(events) = request("GET", "/event").send().await else { return };
        tokio::spawn(hear(events, lines.clone()));
        while let Some(order) = orders_in.recv().await {
            let order: Value = serde_json::from_str(&order).expect("an order");
            let text = |key: &str| order[key].as_str().unwrap_or_default();
            let request = request(text("method"), text("path"));
            let request = if order["body"].is_null() { request } else { request.json(&order["body"]) };
            tokio::spawn(ask(order["tag"].clone(), request, lines.clone()));
        }
    });
    orders
}

async fn hear(events: reqwest::Response, lines: mpsc::UnboundedSender<Option<String>>) {
    let (mut body, mut buffer) = (events.bytes_stream(), Vec::new());
    while let Some(Ok(chunk)) = body.next().await {
        buffer.extend_from_slice(&chunk);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            if let Some(data) = line.strip_prefix(b"data:") {
                let _ = lines.send(Some(String::from_utf8_lossy(data.trim_ascii()).into_owned()));
            }
        }
    }
}

async fn ask(tag: Value, request: reqwest::RequestBuilder, lines: mpsc::UnboundedSender<Option<String>>) {
    let (status, text) = match request.send().await {
        Ok(response) => (response.status().as_u16(), response.text().await.unwrap_or_default()),
        Err(error) => (0, error.to_string()),
    };
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    let _ = lines.send(Some(json!({"type": "moot.response", "tag": tag, "status": status, "body": body}).to_string()));
}
