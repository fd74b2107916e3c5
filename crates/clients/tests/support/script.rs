//! A server on loopback that does what a test tells it to, connection by connection.

use std::future::Future;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use reqwest::{Client, Url};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tungstenite::Message;

/// What does not happen within this does not happen.
const DEADLINE: Duration = Duration::from_secs(60);

pub async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what).await.expect("it takes too long")
}

pub fn http() -> Client {
    Client::builder().http1_only().no_proxy().build().expect("a client")
}

pub struct Server {
    listener: TcpListener,
}

impl Server {
    pub async fn new() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.expect("a port") }
    }

    pub fn url(&self, path: &str) -> Url {
        let address = self.listener.local_addr().expect("an address");
        Url::parse(&format!("ws://{address}{path}")).expect("an address")
    }

    /// The next connection that somebody makes.
    pub async fn accept(&self) -> Peer {
        let (stream, _) = soon(self.listener.accept()).await.expect("a connection");
        Peer { socket: soon(tokio_tungstenite::accept_async(stream)).await.expect("a WebSocket") }
    }
}

pub struct Peer {
    socket: WebSocketStream<TcpStream>,
}

impl Peer {
    /// The next frame of the client.
    pub async fn next(&mut self) -> Value {
        loop {
            match soon(self.socket.next()).await.expect("a frame").expect("a frame") {
                Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
                Message::Close(_) => panic!("the client closed"),
                _ => {}
            }
        }
    }

    pub async fn say(&mut self, frame: &Value) {
        self.say_text(&frame.to_string()).await;
    }

    pub async fn say_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.expect("the client is there");
    }
}
