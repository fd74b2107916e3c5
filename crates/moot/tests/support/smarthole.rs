//! A SmartHole client as the document describes it, for tests of the door.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::{DEADLINE, Hub, text};

pub struct SmartHole {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

/// Where the door listens, as `/readyz` tells.
pub async fn address(hub: &Hub) -> SocketAddr {
    let client = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
    let ready: Value = client.get(hub.url("/readyz")).send().await.expect("ready").json().await.expect("JSON");
    let door = ready["doors"].as_array().and_then(|doors| doors.iter().find(|door| door["door"] == "smarthole"));
    let door = door.unwrap_or_else(|| panic!("no smarthole in {ready}"));
    text(door, "address").parse().expect("an address")
}

/// Tries to connect with this `Origin`; the HTTP status if that is refused.
pub async fn try_connect(address: SocketAddr, origin: Option<&str>) -> Result<SmartHole, (u16, String)> {
    let mut request = format!("ws://{address}/any/path").into_client_request().expect("a request");
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", HeaderValue::from_str(origin).expect("a header"));
    }
    match connect_async(request).await {
        Ok((stream, _)) => Ok(SmartHole { stream }),
        Err(Error::Http(answer)) => {
            let body = answer.body().as_ref().map(|body| String::from_utf8_lossy(body).into_owned());
            Err((answer.status().as_u16(), body.unwrap_or_default()))
        }
        Err(error) => panic!("{error}"),
    }
}

/// A client that has registered.
pub async fn client(hub: &Hub, name: &str, description: &str) -> SmartHole {
    let mut client = connect(hub).await;
    let answer = client.register(json!({ "name": name, "description": description })).await;
    assert_eq!(answer["success"], true, "{answer}");
    client
}

pub async fn connect(hub: &Hub) -> SmartHole {
    try_connect(address(hub).await, None).await.unwrap_or_else(|refused| panic!("refused: {refused:?}"))
}

impl SmartHole {
    pub async fn send(&mut self, frame: Value) {
        self.send_text(frame.to_string()).await;
    }

    pub async fn send_text(&mut self, text: String) {
        self.stream.send(Message::text(text)).await.expect("the socket is open");
    }

    pub async fn send_binary(&mut self, bytes: &'static [u8]) {
        self.stream.send(Message::binary(bytes)).await.expect("the socket is open");
    }

    /// Sends a registration and returns the payload of the answer.
    pub async fn register(&mut self, payload: Value) -> Value {
        self.send(json!({ "type": "registration", "payload": payload })).await;
        let answer = self.next().await;
        assert_eq!(answer["type"], "registration_response", "{answer}");
        answer["payload"].clone()
    }

    /// The payload of the next routed message.
    pub async fn message(&mut self) -> Value {
        let frame = self.next().await;
        assert_eq!(frame["type"], "message", "{frame}");
        frame["payload"].clone()
    }

    pub async fn respond(&mut self, id: &str, kind: &str, payload: Value) {
        let payload = json!({ "messageId": id, "type": kind, "payload": payload });
        self.send(json!({ "type": "response", "payload": payload })).await;
    }

    pub async fn ack(&mut self, id: &str) {
        self.respond(id, "ack", json!({})).await;
    }

    pub async fn reject(&mut self, id: &str, reason: &str) {
        self.respond(id, "reject", json!({ "reason": reason })).await;
    }

    pub async fn next(&mut self) -> Value {
        let frame = tokio::time::timeout(DEADLINE, self.next_frame()).await;
        frame.expect("a frame in time").expect("an open socket")
    }

    /// The next frame, also when it comes late; none at the end.
    pub async fn next_frame(&mut self) -> Option<Value> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).expect("JSON")),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// Waits for the close frame.
    pub async fn closed(&mut self) -> Option<CloseFrame> {
        let closing = async {
            loop {
                match self.stream.next().await {
                    Some(Ok(Message::Close(frame))) => return frame,
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return None,
                }
            }
        };
        tokio::time::timeout(DEADLINE, closing).await.expect("a close in time")
    }

    /// Nothing was sent to this client before what it is asked now is answered.
    pub async fn heard_nothing(&mut self) {
        let answer = self.register(json!({})).await;
        assert_eq!(answer["code"], "ALREADY_REGISTERED", "{answer}");
    }

    /// Ends without a word, as a crash does.
    pub fn crash(self) {}
}
