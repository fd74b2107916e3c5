//! A WebSocket client whose frames are JSON objects.
//!
//! Frames that a test did not ask for are kept, so the order of expectations is free; where order is the rule,
//! [`Socket::next`] gives the frames one by one.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async, connect_async_with_config};

use super::DEADLINE;

pub struct Socket {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    waiting: VecDeque<Value>,
    patience: Duration,
}

impl Socket {
    /// The upgrade, with an `Origin` when a browser makes it.
    pub async fn dial(address: SocketAddr, path: &str, origin: Option<&str>) -> Result<Socket, tungstenite::Error> {
        let mut request = format!("ws://{address}{path}").into_client_request()?;
        if let Some(origin) = origin {
            let value = origin.parse().expect("an origin");
            request.headers_mut().insert("origin", value);
        }
        // Each frame goes out at once; otherwise the second of two waits for the answer to the first.
        let (socket, _) = connect_async_with_config(request, None, true).await?;
        Ok(Socket::over(socket))
    }

    /// A connection whose receive buffer holds only a few kilobytes: what is not read stays with the hub.
    pub async fn narrow(address: SocketAddr, path: &str) -> Socket {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        let stream = socket.connect(address).await.expect("a connection");
        let url = format!("ws://{address}{path}");
        let (socket, _) = client_async(url, MaybeTlsStream::Plain(stream)).await.expect("the upgrade");
        Socket::over(socket)
    }

    fn over(socket: WebSocketStream<MaybeTlsStream<TcpStream>>) -> Socket {
        Socket { socket, waiting: VecDeque::new(), patience: DEADLINE }
    }

    /// For the rules that give the hub more time than [`DEADLINE`].
    pub fn wait_up_to(&mut self, patience: Duration) {
        self.patience = patience;
    }

    pub async fn send_text(&mut self, text: impl Into<String>) {
        let text: String = text.into();
        self.send_message(Message::text(text)).await;
    }

    pub async fn send_message(&mut self, message: Message) {
        self.socket.send(message).await.expect("the socket is open");
    }

    /// Sends to a hub that may be gone; says whether the frame could be handed over.
    pub async fn hand_over(&mut self, message: Message) -> bool {
        self.socket.send(message).await.is_ok()
    }

    /// Hands many frames over in one piece, as somebody does who wants them read together; says whether it could be done.
    pub async fn hand_over_all(&mut self, messages: impl Iterator<Item = Message>) -> bool {
        for message in messages {
            if self.socket.feed(message).await.is_err() {
                return false;
            }
        }
        self.socket.flush().await.is_ok()
    }

    /// The first frame that fits, among those kept and those to come.
    pub async fn find(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
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

    /// Frames kept so far that fit, without waiting for more.
    pub fn kept_where(&self, fits: impl Fn(&Value) -> bool) -> impl Iterator<Item = &Value> {
        self.waiting.iter().filter(move |frame| fits(frame))
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

fn summary(frames: &VecDeque<Value>) -> String {
    let mut lines = frames.iter().rev().take(12).map(|frame| {
        let line = frame.to_string();
        line.chars().take(300).collect::<String>()
    });
    lines.by_ref().collect::<Vec<_>>().join("\n  ")
}
