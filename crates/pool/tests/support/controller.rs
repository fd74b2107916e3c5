//! A controller made from an ordinary WebSocket server and the document.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

pub const DEADLINE: Duration = Duration::from_secs(30);

pub struct Controller {
    listener: TcpListener,
}

impl Controller {
    pub async fn start() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.expect("a port") }
    }

    pub fn url(&self) -> String {
        format!("ws://{}/agents", self.listener.local_addr().expect("an address"))
    }

    /// The next agent that connects, before it has said anything.
    pub async fn accept(&self) -> Line {
        let accepted = timeout(DEADLINE, self.listener.accept()).await.expect("an agent connects in time");
        let socket = tokio_tungstenite::accept_async(accepted.expect("a connection").0).await.expect("the upgrade");
        Line { socket, requests: 0 }
    }

    /// The next agent, after its hello and its guilds.
    pub async fn welcome(&self) -> Line {
        let mut line = self.accept().await;
        assert_eq!(line.next().await["type"], "hello");
        assert_eq!(line.next().await["type"], "guilds");
        line
    }
}

/// One connection, seen from the controller.
pub struct Line {
    socket: WebSocketStream<TcpStream>,
    requests: u32,
}

impl Line {
    /// The next frame of the agent; pings and the like are passed over.
    pub async fn next(&mut self) -> Value {
        loop {
            let message = timeout(DEADLINE, self.socket.next()).await.expect("a frame in time");
            match message.expect("the connection is open").expect("a whole frame") {
                Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
                Message::Close(frame) => panic!("closed instead of a frame: {frame:?}"),
                _ => {}
            }
        }
    }

    /// The next frame that is no heartbeat.
    pub async fn told(&mut self) -> Value {
        loop {
            let frame = self.next().await;
            if frame["type"] != "hello" && frame["type"] != "guilds" {
                return frame;
            }
        }
    }

    /// How the agent closes the connection.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            let message = timeout(DEADLINE, self.socket.next()).await.expect("the end in time");
            match message {
                Some(Ok(Message::Close(Some(frame)))) => return (frame.code.into(), frame.reason.to_string()),
                Some(Ok(_)) => {}
                other => panic!("no close: {other:?}"),
            }
        }
    }

    pub async fn send(&mut self, frame: Value) {
        self.send_text(&frame.to_string()).await;
    }

    pub async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.expect("the connection is open");
    }

    /// Sends a request and returns its id.
    pub async fn request(&mut self, op: &str, data: Value) -> String {
        self.requests += 1;
        let id = format!("request-{}", self.requests);
        self.send(json!({ "type": "req", "id": id, "op": op, "data": data, "agentId": "agent-1" })).await;
        id
    }

    /// Asks, and returns the answer that must come next.
    pub async fn ask(&mut self, op: &str, data: Value) -> Value {
        let id = self.request(op, data).await;
        let resp = self.told().await;
        assert_eq!((&resp["type"], &resp["id"]), (&json!("resp"), &json!(id)), "{resp}");
        resp
    }

    /// The data of an answer that must be a success.
    pub async fn done(&mut self, op: &str, data: Value) -> Value {
        let resp = self.ask(op, data).await;
        assert_eq!(resp["ok"], true, "{op}: {resp}");
        resp["data"].clone()
    }

    /// The error of an answer that must be a failure.
    pub async fn refused(&mut self, op: &str, data: Value) -> String {
        let resp = self.ask(op, data).await;
        assert_eq!(resp["ok"], false, "{op}: {resp}");
        resp["error"].as_str().expect("a text").to_owned()
    }

    pub async fn close(&mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame { code: code.into(), reason: reason.into() };
        self.socket.send(Message::Close(Some(frame))).await.expect("the connection is open");
    }
}
