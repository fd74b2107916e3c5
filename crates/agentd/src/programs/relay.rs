//! One program and its own connection to the hub: what either says goes to the other as it is.
//!
//! The connection is logged in with the daemon's key for the agent; the key itself never comes here. While the hub is away the
//! program is not read, so what it says waits in its own buffers; after a reconnect its last hello is repeated.

use folkmoot_clients::Backoff;
use folkmoot_clients::lark::{self, LoginError, MAX_REFUSALS, Timing};
use folkmoot_clients::line::Line;
use folkmoot_wire::lark::{AgentAuthOk, AuthLogin, AuthSuccess, Frame};
use reqwest::{Client, Url};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use super::socket::{self, Answers};
use crate::settings::Key;

const QUEUE: usize = 256;

/// How to reach the hub for an agent.
pub struct Wanted {
    pub client: Client,
    pub server: Url,
    pub key: Key,
    pub agent: String,
}

struct Open {
    line: Line,
    frames: mpsc::Receiver<String>,
    identity: AuthSuccess,
}

/// Serves a program that was let in until it leaves.
pub async fn relay(
    wanted: Wanted,
    name: &str,
    mut program: BufReader<OwnedReadHalf>,
    mut writing: OwnedWriteHalf,
    answers: Answers,
) {
    let mut backoff = Backoff::for_reconnecting();
    let mut hello: Option<String> = None;
    let mut greeted = false;
    let mut refusals = 0;
    loop {
        let mut open = match wanted.connect().await {
            Ok(open) => open,
            Err(LoginError::Refused(why)) if !greeted || refusals + 1 == MAX_REFUSALS => {
                tracing::warn!(agent = name, why, "the hub does not let a program in; it is not tried again");
                let _ = writing.write_all(answers.error(&why).as_bytes()).await;
                return;
            }
            Err(why) => {
                refusals = if matches!(why, LoginError::Refused(_)) { refusals + 1 } else { refusals };
                tracing::debug!(agent = name, %why, "the hub cannot be reached for a program");
                tokio::time::sleep(backoff.next(rand::random())).await;
                continue;
            }
        };
        backoff.reset();
        refusals = 0;
        if !greeted {
            greeted = true;
            let AuthSuccess { workspace_id, name: member, .. } = open.identity.clone();
            let ids = AgentAuthOk { agent_id: (&wanted.agent).into(), workspace_id, name: member };
            if writing.write_all(answers.line("agent.auth_ok", ids).as_bytes()).await.is_err() {
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

impl Wanted {
    async fn connect(&self) -> Result<Open, LoginError> {
        let (incoming, frames) = mpsc::channel(QUEUE);
        // The program speaks for itself from here on, so its messages come as it knows them from a hub.
        let login = AuthLogin { token: (self.key)(), agent_id: Some((&self.agent).into()), frames: None };
        let pass = |text: &str| Some(text.to_owned());
        let (line, identity) =
            lark::open(&self.client, &self.server, &login, Timing::default(), incoming, pass).await?;
        Ok(Open { line, frames, identity })
    }
}
