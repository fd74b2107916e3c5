//! The Lark WebSocket as a client speaks it: upgrade, log in, frames in and out.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use folkmoot_peers::websocket::{self, OpenError};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tungstenite::Message;

use crate::cli::Fault;
use crate::cli::client::{Hub, text};

/// The hub pings every 30 s; a line that is silent for longer than two of them is dead.
const SILENCE: Duration = Duration::from_secs(75);
const LOGIN: Duration = Duration::from_secs(15);

/// A connection that is logged in.
pub struct Socket {
    stream: websocket::Socket,
}

/// Why there is no connection.
pub enum Trouble {
    /// Trying again may help.
    Lost(String),
    /// It will not.
    Refused(Fault),
}

impl Socket {
    pub async fn open(hub: &Hub) -> Result<Self, Trouble> {
        let mut socket = Self { stream: upgrade(hub).await? };
        let token = hub.token().map(|token| token.expose()).unwrap_or_default();
        socket.send("auth.login", &json!({"token": token})).await?;
        let answer = tokio::time::timeout(LOGIN, socket.next()).await;
        let answer = answer.map_err(|_| Trouble::Lost("the hub does not answer the login".into()))??;
        match text(&answer, "type") {
            "auth.success" => Ok(socket),
            "auth.fail" => {
                let said = text(&answer["data"], "error");
                let fault = Fault::failed(format!("the hub refused the login: {said}"));
                Err(Trouble::Refused(fault.hint("log in again with `moot login`")))
            }
            other => Err(Trouble::Refused(hub.strange(&format!("it answered the login with `{other}`")))),
        }
    }

    pub async fn send(&mut self, kind: &str, data: &Value) -> Result<(), Trouble> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let id = uuid::Uuid::new_v4().to_string();
        let frame = json!({"v": 1, "id": id, "type": kind, "ts": now as u64, "data": data});
        self.stream.send(Message::text(frame.to_string())).await.map_err(|error| lost(&error))
    }

    /// The next envelope; pings are answered on the way.
    pub async fn next(&mut self) -> Result<Value, Trouble> {
        loop {
            let frame = tokio::time::timeout(SILENCE, self.stream.next()).await;
            let frame = frame.map_err(|_| Trouble::Lost("the hub fell silent".into()))?;
            match frame {
                Some(Ok(Message::Text(text))) => {
                    if let Ok(envelope) = serde_json::from_str(&text) {
                        return Ok(envelope);
                    }
                }
                Some(Ok(Message::Close(_))) | None => {
                    return Err(Trouble::Lost("the hub closed the connection".into()));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(lost(&error)),
            }
        }
    }
}

async fn upgrade(hub: &Hub) -> Result<websocket::Socket, Trouble> {
    let url = hub.url("/ws").map_err(|error| Trouble::Refused(Fault::failed(error.to_string())))?;
    websocket::open(hub.http(), url, None).await.map_err(|error| match error {
        OpenError::Unreachable(error) => Trouble::Lost(hub.unreachable(&error).sentence),
        // A proxy in front of a hub that restarts answers like this for a while.
        OpenError::Refused(status) if status.is_server_error() => {
            Trouble::Lost(format!("{} answered {status}", hub.address()))
        }
        OpenError::Refused(status) => {
            Trouble::Refused(hub.strange(&format!("/ws answered {status} instead of a WebSocket")))
        }
    })
}

fn lost(error: &tungstenite::Error) -> Trouble {
    Trouble::Lost(format!("the connection broke: {error}"))
}
