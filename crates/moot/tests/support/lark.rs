//! A Lark client made from an ordinary WebSocket client and the document.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message};
use uuid::Uuid;

use super::socket::Socket;

const PATH: &str = "/ws";

/// What the document lets a client ask once it has logged in.
pub const REQUESTS: [&str; 27] = [
    "channel.join",
    "channel.leave",
    "agent.hello",
    "agent.sleep",
    "agent.thinking",
    "daemon.register",
    "message.send",
    "message.edit",
    "message.delete",
    "thread.reply",
    "typing.start",
    "typing.stop",
    "presence.update",
    "call.offer",
    "call.answer",
    "call.ice",
    "call.end",
    "approval.request",
    "inbox.poll",
    "inbox.ack",
    "draft.create",
    "draft.validate",
    "draft.send",
    "review.request",
    "review.result",
    "workspace.update",
    "sync.resume",
];

pub struct Lark(Socket);

impl Deref for Lark {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        &self.0
    }
}

impl DerefMut for Lark {
    fn deref_mut(&mut self) -> &mut Socket {
        &mut self.0
    }
}

impl Lark {
    pub async fn connect(address: SocketAddr) -> Lark {
        Lark::dial(address, None).await.expect("the upgrade")
    }

    /// The upgrade with an `Origin`, as a browser makes it.
    pub async fn dial(address: SocketAddr, origin: Option<&str>) -> Result<Lark, tungstenite::Error> {
        Ok(Lark(Socket::dial(address, PATH, origin).await?))
    }

    /// A connection whose receive buffer holds only a few kilobytes: what is not read stays with the hub.
    pub async fn narrow(address: SocketAddr) -> Lark {
        Lark(Socket::narrow(address, PATH).await)
    }

    /// Logs in and returns the data of `auth.success`, which must be the first frame.
    pub async fn login(&mut self, token: &str) -> Value {
        self.send("auth.login", json!({ "token": token })).await;
        let frame = self.next().await;
        assert_eq!(frame["type"], "auth.success", "{frame}");
        frame["data"].clone()
    }

    /// Sends an envelope of the document and returns its id.
    pub async fn send(&mut self, kind: &str, data: Value) -> String {
        let id = Uuid::new_v4().to_string();
        self.send_as(&id, kind, data).await;
        id
    }

    pub async fn send_as(&mut self, id: &str, kind: &str, data: Value) {
        let envelope = json!({ "v": 1, "id": id, "type": kind, "ts": 1_716_849_600_000_i64, "data": data });
        self.send_text(envelope.to_string()).await;
    }

    /// Sends and waits for the frame that answers exactly this request.
    pub async fn ask(&mut self, kind: &str, data: Value) -> Value {
        let id = self.send(kind, data.clone()).await;
        self.reply_to(&id, &format!("{kind} {data}")).await
    }

    pub async fn reply_to(&mut self, id: &str, what: &str) -> Value {
        self.find(&format!("the answer to {what}"), |frame| frame["reply_to"] == id).await
    }

    /// Asks, and returns the data of the answer, which must be of the type `reply`.
    pub async fn asks(&mut self, kind: &str, data: Value, reply: &str) -> Value {
        let frame = self.ask(kind, data.clone()).await;
        assert_eq!(frame["type"], reply, "{kind} {data} → {frame}");
        frame["data"].clone()
    }

    /// Asks for something that must be refused, and returns the text of the error.
    pub async fn refused(&mut self, kind: &str, data: Value) -> String {
        let frame = self.ask(kind, data.clone()).await;
        error_text(&frame, &format!("{kind} {data}"))
    }

    /// Sends a message and returns its id once it is acknowledged.
    pub async fn say(&mut self, channel: &str, content: &str) -> String {
        let data = json!({ "channel_id": channel, "content": content });
        let ack = self.asks("message.send", data, "message.ack").await;
        super::text(&ack, "message_id").to_owned()
    }

    /// The data of the next frame of this type; other frames are kept.
    pub async fn expect(&mut self, kind: &str) -> Value {
        self.expect_where(kind, |_| true).await
    }

    pub async fn expect_where(&mut self, kind: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let frame = self.find(kind, |frame| frame["type"] == kind && fits(&frame["data"])).await;
        frame["data"].clone()
    }

    /// The text of the next `error` frame.
    pub async fn expect_error(&mut self) -> String {
        let frame = self.find("error", |frame| frame["type"] == "error").await;
        error_text(&frame, "a frame")
    }

    /// Sends to a hub that may be gone; says whether the frame could be handed over.
    pub async fn try_send(&mut self, id: &str, kind: &str, data: Value) -> bool {
        let envelope = json!({ "v": 1, "id": id, "type": kind, "ts": 1, "data": data });
        self.hand_over(Message::text(envelope.to_string())).await
    }

    /// Frames of this type kept so far, without waiting for more.
    pub fn kept(&self, kind: &str) -> Vec<Value> {
        self.kept_where(|frame| frame["type"] == kind).map(|frame| frame["data"].clone()).collect()
    }

    /// Ends the connection the polite way.
    pub async fn close(self) {
        self.0.close().await;
    }
}

/// The text of an `error` frame, which carries a stable code beside it.
#[track_caller]
fn error_text(frame: &Value, request: &str) -> String {
    assert_eq!(frame["type"], "error", "{request} → {frame}");
    let code = frame["data"]["code"].as_str().unwrap_or_default();
    assert!(!code.is_empty(), "{request} → an error without `code`: {frame}");
    super::text(&frame["data"], "error").to_owned()
}
