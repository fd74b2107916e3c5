//! An agent of a pool, made from an ordinary WebSocket client and the document.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{DEADLINE, Member, eventually, items};

pub struct Worker {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

/// What came next on a worker's connection.
#[derive(Debug, PartialEq)]
pub enum Next {
    Frame(Value),
    Close(u16, String),
    /// The connection ended without a word.
    End,
}

pub fn hello(agent: &str, guilds: &[&str]) -> Value {
    json!({
        "type": "hello", "protocolVersion": "1.0.0", "agentId": agent, "botUserId": "1", "tag": format!("Bot {agent}"),
        "ready": true, "guildIds": guilds, "poolId": "pool1",
    })
}

impl Worker {
    pub async fn dial(address: SocketAddr) -> Worker {
        Worker::dial_at(&format!("ws://{address}/agents"), None).await.expect("the upgrade")
    }

    pub async fn dial_at(url: &str, origin: Option<&str>) -> Result<Worker, tungstenite::Error> {
        let mut request = url.into_client_request()?;
        if let Some(origin) = origin {
            request.headers_mut().insert("origin", origin.parse().expect("an origin"));
        }
        let (socket, _) = connect_async(request).await?;
        Ok(Worker { socket })
    }

    /// An agent that has said hello and is known to the hub.
    pub async fn join(member: &Member, address: SocketAddr, agent: &str, guilds: &[&str]) -> Worker {
        let mut worker = Worker::dial(address).await;
        worker.send(hello(agent, guilds)).await;
        known(member, agent).await;
        worker
    }

    pub async fn send(&mut self, frame: Value) {
        self.send_message(Message::text(frame.to_string())).await;
    }

    pub async fn send_message(&mut self, message: Message) {
        self.socket.send(message).await.expect("the socket is open");
    }

    pub async fn next(&mut self) -> Next {
        loop {
            let message = timeout(DEADLINE, self.socket.next()).await.expect("something within the deadline");
            match message {
                Some(Ok(Message::Text(text))) => return Next::Frame(serde_json::from_str(&text).expect("JSON")),
                Some(Ok(Message::Close(Some(close)))) => {
                    return Next::Close(close.code.into(), close.reason.to_string());
                }
                Some(Ok(Message::Close(None)) | Err(_)) | None => return Next::End,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The next request.
    pub async fn asked(&mut self) -> Value {
        match self.next().await {
            Next::Frame(frame) if frame["type"] == "req" => frame,
            other => panic!("not a request: {other:?}"),
        }
    }

    /// The next request, which must be this operation.
    pub async fn asked_for(&mut self, op: &str) -> Value {
        let request = self.asked().await;
        assert_eq!(request["op"], op, "{request}");
        request
    }

    pub async fn answer(&mut self, request: &Value, data: Value) {
        self.send(json!({ "type": "resp", "id": request["id"], "ok": true, "data": data })).await;
    }

    pub async fn refuse(&mut self, request: &Value, error: &str) {
        self.send(json!({ "type": "resp", "id": request["id"], "ok": false, "error": error })).await;
    }

    pub async fn event(&mut self, event: &str, guild: &str, channel: &str, kind: &str, ok: bool) {
        self.send(json!({
            "type": "event", "event": event, "guildId": guild, "voiceChannelId": channel, "channelId": channel,
            "kind": kind, "ok": ok, "reason": "USER_LEFT",
        }))
        .await;
    }

    pub async fn close(mut self) {
        let _ = self.socket.close(None).await;
    }

    /// Answers every request from now on with what `answer` makes of it, until the connection or the task ends.
    pub fn obey(self, answer: impl Fn(&Value) -> Result<Value, String> + Send + 'static) -> JoinHandle<()> {
        tokio::spawn(async move {
            let mut worker = self;
            loop {
                let Some(Ok(message)) = worker.socket.next().await else { return };
                let Message::Text(text) = message else { continue };
                let request: Value = serde_json::from_str(&text).expect("JSON");
                let frame = match answer(&request) {
                    Ok(data) => json!({ "type": "resp", "id": request["id"], "ok": true, "data": data }),
                    Err(error) => json!({ "type": "resp", "id": request["id"], "ok": false, "error": error }),
                };
                if worker.socket.send(Message::text(frame.to_string())).await.is_err() {
                    return;
                }
            }
        })
    }
}

/// The agent as REST shows it, or nothing.
pub async fn shown(member: &Member, agent: &str) -> Option<Value> {
    let agents = member.rest.get("/v1/pools/agents").await.ok();
    items(&agents).iter().find(|known| known["agent_id"] == agent).cloned()
}

/// Waits until the agent is connected.
pub async fn known(member: &Member, agent: &str) -> Value {
    eventually(&format!("{agent} is known"), || shown(member, agent)).await
}

/// Waits until the agent is gone.
pub async fn gone(member: &Member, agent: &str) {
    eventually(&format!("{agent} is gone"), || async { shown(member, agent).await.is_none().then_some(()) }).await;
}

/// Who serves a voice channel.
pub async fn holder(member: &Member, guild: &str, channel: &str, kind: &str) -> Option<String> {
    let sessions = member.rest.get("/v1/pools/sessions").await.ok();
    let fits = |session: &&Value| {
        session["guild_id"] == guild && session["voice_channel_id"] == channel && session["kind"] == kind
    };
    items(&sessions).iter().find(fits).map(|session| session["agent_id"].as_str().expect("an agent").to_owned())
}

/// Waits until this agent (or nobody) serves the voice channel with music.
pub async fn held_by(member: &Member, guild: &str, channel: &str, agent: Option<&str>) {
    let what = format!("{guild}/{channel} is served by {agent:?}");
    eventually(&what, || async { (holder(member, guild, channel, "music").await.as_deref() == agent).then_some(()) })
        .await;
}

pub fn place(guild: &str, channel: &str, kind: &str) -> Value {
    json!({ "guild_id": guild, "voice_channel_id": channel, "kind": kind })
}
