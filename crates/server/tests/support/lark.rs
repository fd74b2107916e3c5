//! A Lark client made from an ordinary WebSocket client and the document.
//!
//! Frames that a test did not ask for are kept, so the order of expectations is free; where order is the rule,
//! [`Lark::next`] gives the frames one by one.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async, connect_async};
use uuid::Uuid;

use super::DEADLINE;

pub struct Lark {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    waiting: VecDeque<Value>,
    patience: Duration,
}

impl Lark {
    pub async fn connect(address: SocketAddr) -> Lark {
        Lark::dial(address, None).await.expect("the upgrade")
    }

    /// The upgrade with an `Origin`, as a browser makes it.
    pub async fn dial(address: SocketAddr, origin: Option<&str>) -> Result<Lark, tungstenite::Error> {
        let mut request = format!("ws://{address}/ws").into_client_request()?;
        if let Some(origin) = origin {
            let value = origin.parse().expect("an origin");
            request.headers_mut().insert("origin", value);
        }
        let (socket, _) = connect_async(request).await?;
        Ok(Lark::over(socket))
    }

    /// A connection whose receive buffer holds only a few kilobytes: what is not read stays with the hub.
    pub async fn narrow(address: SocketAddr) -> Lark {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        let stream = socket.connect(address).await.expect("a connection");
        let url = format!("ws://{address}/ws");
        let (socket, _) = client_async(url, MaybeTlsStream::Plain(stream)).await.expect("the upgrade");
        Lark::over(socket)
    }

    fn over(socket: WebSocketStream<MaybeTlsStream<TcpStream>>) -> Lark {
        Lark { socket, waiting: VecDeque::new(), patience: DEADLINE }
    }

    /// For the rules that give the hub more time than [`DEADLINE`].
    pub fn wait_up_to(&mut self, patience: Duration) {
        self.patience = patience;
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

    pub async fn send_text(&mut self, text: impl Into<String>) {
        let text: String = text.into();
        self.send_message(Message::text(text)).await;
    }

    pub async fn send_message(&mut self, message: Message) {
        self.socket.send(message).await.expect("the socket is open");
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

    async fn find(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.waiting.iter().position(&fits) {
            return self.waiting.remove(place).expect("a kept frame");
        }
        let give_up = tokio::time::Instant::now() + self.patience;
        loop {
            let read = tokio::time::timeout_at(give_up, self.read()).await;
            match read {
                Ok(Ok(frame)) if fits(&frame) => return frame,
                Ok(Ok(frame)) => self.waiting.push_back(frame),
                Ok(Err(code)) => panic!("{what}: closed with {code:?}; kept: {}", summary(&self.waiting)),
                Err(_) => panic!("{what}: not within {:?}; kept: {}", self.patience, summary(&self.waiting)),
            }
        }
    }

    /// The next frame in the order of arrival.
    pub async fn next(&mut self) -> Value {
        if let Some(frame) = self.waiting.pop_front() {
            return frame;
        }
        timeout(self.patience, self.read())
            .await
            .unwrap_or_else(|_| panic!("no frame in time"))
            .unwrap_or_else(|code| panic!("closed with {code:?} instead of a frame"))
    }

    /// The next frame, or nothing once the connection has ended for whatever reason.
    pub async fn next_until_end(&mut self) -> Option<Value> {
        if let Some(frame) = self.waiting.pop_front() {
            return Some(frame);
        }
        let read = timeout(self.patience, self.read()).await;
        read.expect("a frame or the end").ok()
    }

    /// Sends to a hub that may be gone; says whether the frame could be handed over.
    pub async fn try_send(&mut self, id: &str, kind: &str, data: Value) -> bool {
        let envelope = json!({ "v": 1, "id": id, "type": kind, "ts": 1, "data": data });
        let message = Message::text(envelope.to_string());
        self.socket.send(message).await.is_ok()
    }

    /// Reads until the hub closes, and returns the close code (`None`: no close frame).
    pub async fn closed(&mut self) -> Option<u16> {
        let give_up = tokio::time::Instant::now() + self.patience;
        loop {
            match tokio::time::timeout_at(give_up, self.read()).await {
                Ok(Ok(frame)) => self.waiting.push_back(frame),
                Ok(Err(code)) => return code,
                Err(_) => panic!("the socket is still open after {:?}", self.patience),
            }
        }
    }

    /// Forgets every frame kept so far.
    pub fn forget(&mut self) {
        self.waiting.clear();
    }

    /// Frames of this type kept so far, without waiting for more.
    pub fn kept(&self, kind: &str) -> Vec<Value> {
        let of_kind = self.waiting.iter().filter(|frame| frame["type"] == kind);
        of_kind.map(|frame| frame["data"].clone()).collect()
    }

    /// Ends the connection the polite way.
    pub async fn close(mut self) {
        self.socket.close(None).await.expect("an open socket");
        // The hub's answer ends the stream; what arrives before it no longer matters.
        let ended = timeout(DEADLINE, async { while let Some(Ok(_)) = self.socket.next().await {} });
        ended.await.expect("the hub answers a close");
    }

    /// The next text frame, or the close code of the end.
    async fn read(&mut self) -> Result<Value, Option<u16>> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Ok(serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}")));
                }
                Some(Ok(Message::Close(close))) => {
                    return Err(close.map(|close| u16::from(close.code)));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
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

fn summary(frames: &VecDeque<Value>) -> String {
    let mut lines = frames.iter().rev().take(12).map(|frame| {
        let line = format!("{} {}", frame["type"], frame["data"]);
        line.chars().take(300).collect::<String>()
    });
    lines.by_ref().collect::<Vec<_>>().join("\n  ")
}
