//! One program and its own connection to the hub: what either says goes to the other as it is.
//!
//! The connection is logged in with the daemon's key for the agent; the key itself never comes here. While the hub is away the
//! program is not read, so what it says waits in its own buffers; after a reconnect its last hello is repeated.

use std::sync::Arc;
use std::time::Duration;

use folkmoot_peers::Backoff;
use folkmoot_peers::line::{self, Line};
use reqwest::{Client, Url};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::socket;
use crate::settings::Key;
use crate::wire::{Frame, envelope, new_id, owned};

const HEARTBEAT: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(20);
const QUEUE: usize = 256;

/// How to reach the hub for an agent.
pub struct Wanted {
    pub client: Client,
    pub server: Url,
    pub key: Key,
    pub agent: String,
}

struct Open {
    line: Arc<Line>,
    frames: mpsc::Receiver<String>,
    welcome: Value,
}

/// Serves a program that was let in until it leaves.
pub async fn relay(
    wanted: Wanted,
    name: &str,
    mut program: BufReader<OwnedReadHalf>,
    mut writing: OwnedWriteHalf,
    answer: impl Fn(&str, Value) -> String,
) {
    let mut backoff = Backoff::for_reconnecting();
    let mut hello: Option<String> = None;
    let mut greeted = false;
    loop {
        let mut open = match wanted.connect().await {
            Ok(open) => open,
            Err(why) if !greeted && why.is_final => {
                let _ = writing.write_all(answer("error", json!({"error": why.text})).as_bytes()).await;
                return;
            }
            Err(why) => {
                tracing::debug!(agent = name, why = why.text, "the hub cannot be reached for a program");
                tokio::time::sleep(backoff.next(rand::random())).await;
                continue;
            }
        };
        backoff.reset();
        if !greeted {
            greeted = true;
            let ids = json!({"agent_id": wanted.agent, "workspace_id": open.welcome["workspace_id"], "name": open.welcome["name"]});
            if writing.write_all(answer("agent.auth_ok", ids).as_bytes()).await.is_err() {
                return;
            }
            tracing::info!(agent = name, "a program is connected");
        }
        if let Some(hello) = &hello {
            let _ = open.line.write(hello.clone()).await;
        }
        if carry(&mut open, &mut program, &mut writing, &mut hello).await.is_break() {
            open.line.close();
            tracing::info!(agent = name, "a program has left");
            return;
        }
    }
}

/// Passes on until one side ends; breaks when it is the program.
async fn carry(
    open: &mut Open,
    program: &mut BufReader<OwnedReadHalf>,
    writing: &mut OwnedWriteHalf,
    hello: &mut Option<String>,
) -> std::ops::ControlFlow<()> {
    use std::ops::ControlFlow::{Break, Continue};
    let (lines_in, mut lines) = mpsc::channel::<Option<String>>(1);
    // Reading a line is not to be cut off in its middle, so it has a future of its own.
    let read = async {
        loop {
            let line = socket::line(program).await;
            let over = line.is_none();
            if lines_in.send(line).await.is_err() || over {
                return;
            }
        }
    };
    let pass = async {
        loop {
            tokio::select! {
                frame = open.frames.recv() => {
                    let Some(mut frame) = frame else { return Continue(()) };
                    frame.push('\n');
                    if writing.write_all(frame.as_bytes()).await.is_err() {
                        return Break(());
                    }
                }
                line = lines.recv() => {
                    let Some(Some(line)) = line else { return Break(()) };
                    if line.trim().is_empty() {
                        continue;
                    }
                    if Frame::parse(&line).is_some_and(|frame| frame.kind == "agent.hello") {
                        *hello = Some(line.clone());
                    }
                    if open.line.write(line).await.is_err() {
                        return Continue(());
                    }
                }
            }
        }
    };
    tokio::pin!(read, pass);
    tokio::select! {
        biased;
        over = &mut pass => over,
        () = &mut read => pass.await,
    }
}

struct Trouble {
    text: String,
    is_final: bool,
}

impl Wanted {
    async fn connect(&self) -> Result<Open, Trouble> {
        let away = |text: String| Trouble { text, is_final: false };
        let opened = timeout(PATIENCE, line::open(&self.client, &self.server)).await;
        let socket = opened.map_err(|_| away("the hub does not answer".to_owned()))?.map_err(away)?;
        let (incoming, mut frames) = mpsc::channel(QUEUE);
        let line = Arc::new(Line::start(socket, HEARTBEAT, incoming, |text: &str| Some(text.to_owned())));
        let login = json!({"token": (self.key)(), "agent_id": self.agent});
        let sent = line.write(envelope(&new_id(), "auth.login", &login)).await;
        sent.map_err(|ended| away(ended.to_string()))?;
        let text = timeout(PATIENCE, frames.recv()).await.ok().flatten();
        let frame = text.and_then(|text| Frame::parse(&text)).ok_or_else(|| away("the hub is silent".to_owned()))?;
        match frame.kind.as_str() {
            "auth.success" => Ok(Open { line, frames, welcome: frame.data }),
            _ => {
                let text = owned(&frame.data, "error").unwrap_or_else(|| "refused".to_owned());
                Err(Trouble { text, is_final: true })
            }
        }
    }
}
