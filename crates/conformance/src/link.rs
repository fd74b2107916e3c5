//! One WebSocket with JSON objects as frames, from either side.
//!
//! Frames that a case did not ask for are kept, so that the order of what it looks for is free.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use crate::case::{Fault, Verdict};

/// More than any case needs; a server that floods is not kept in memory.
const MAX_KEPT: usize = 10_000;
const MAX_FRAME: usize = 64 << 20;

tokio::task_local! {
    /// What the case is waiting for, to be said when its time is over.
    pub static WAITING: RefCell<String>;
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub struct Link {
    socket: Socket,
    kept: VecDeque<Value>,
}

/// How a connection ended: the code of the close frame, if there was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended(pub Option<u16>);

enum Came {
    Frame(Value),
    Ping,
    Pong(Bytes),
    Ended(Ended),
}

impl Link {
    pub async fn dial(url: &str) -> Verdict<Self> {
        waiting_for("the WebSocket upgrade");
        let dialled = connect_async_with_config(url, Some(config()), true).await;
        let (socket, _) = dialled.map_err(|error| Fault::broken(format!("no connection to {url}: {error}")))?;
        Ok(Self::over(socket))
    }

    pub fn over(socket: Socket) -> Self {
        Self { socket, kept: VecDeque::new() }
    }

    pub async fn send(&mut self, frame: Value) -> Verdict {
        self.send_text(frame.to_string()).await
    }

    pub async fn send_text(&mut self, text: String) -> Verdict {
        self.send_message(Message::text(text)).await
    }

    async fn send_message(&mut self, message: Message) -> Verdict {
        waiting_for("the peer to take a frame");
        self.socket.send(message).await.map_err(|error| Fault::broken(format!("a frame could not be sent: {error}")))
    }

    /// The next frame that fits, of those that were kept or are still to come.
    pub async fn find(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Verdict<Value> {
        if let Some(at) = self.kept.iter().position(&fits) {
            return Ok(self.kept.remove(at).expect("it was just found"));
        }
        waiting_for(what);
        loop {
            let frame = self.next_frame(what).await?;
            if fits(&frame) {
                return Ok(frame);
            }
            self.keep(frame);
        }
    }

    /// The next frame, whatever it is.
    pub async fn next(&mut self, what: &str) -> Verdict<Value> {
        self.find(what, |_| true).await
    }

    async fn next_frame(&mut self, what: &str) -> Verdict<Value> {
        loop {
            match self.came().await? {
                Came::Frame(frame) => return Ok(frame),
                Came::Ping | Came::Pong(_) => {}
                Came::Ended(Ended(code)) => {
                    return Err(Fault::broken(format!("the connection ended (code {code:?}) before {what}")));
                }
            }
        }
    }

    /// Whether one of the frames that were kept fits.
    pub fn has_kept(&self, fits: impl Fn(&Value) -> bool) -> bool {
        self.kept.iter().any(fits)
    }

    /// Drops what was kept: from here on only what is new counts.
    pub fn forget(&mut self) {
        self.kept.clear();
    }

    /// Listens for a while; what fits must not come.
    pub async fn silence(&mut self, quiet: Duration, what: &str, fits: impl Fn(&Value) -> bool) -> Verdict {
        let listening = tokio::time::timeout(quiet, self.find(what, fits)).await;
        match listening {
            Err(_) => Ok(()),
            Ok(Ok(frame)) => Err(Fault::broken(format!("{what} came, which must not: {}", short(&frame)))),
            Ok(Err(fault)) => Err(fault),
        }
    }

    /// Waits for the end of the connection.
    pub async fn end(&mut self) -> Verdict<Ended> {
        waiting_for("the peer to end the connection");
        loop {
            match self.came().await? {
                Came::Ended(ended) => return Ok(ended),
                Came::Frame(frame) => self.keep(frame),
                Came::Ping | Came::Pong(_) => {}
            }
        }
    }

    /// Waits for a ping of the peer.
    pub async fn pinged(&mut self) -> Verdict {
        waiting_for("a ping frame");
        loop {
            match self.came().await? {
                Came::Ping => return Ok(()),
                Came::Frame(frame) => self.keep(frame),
                Came::Pong(_) => {}
                Came::Ended(ended) => return Err(Fault::broken(format!("ended before a ping: {ended:?}"))),
            }
        }
    }

    /// Sends a ping and waits for the pong that carries the same.
    pub async fn is_alive(&mut self) -> Verdict {
        let payload = Bytes::from(word());
        self.send_message(Message::Ping(payload.clone())).await?;
        waiting_for("the pong to a ping");
        loop {
            match self.came().await? {
                Came::Pong(echoed) if echoed == payload => return Ok(()),
                Came::Frame(frame) => self.keep(frame),
                Came::Ping | Came::Pong(_) => {}
                Came::Ended(ended) => return Err(Fault::broken(format!("the connection ended: {ended:?}"))),
            }
        }
    }

    /// Reads without ever answering, pings neither, until the peer gives up.
    pub async fn play_dead(self) -> Verdict {
        waiting_for("the peer to give up a connection that answers no ping");
        let MaybeTlsStream::Plain(mut stream) = self.socket.into_inner() else {
            return Err(Fault::NotRun("only over ws://, not wss://".to_owned()));
        };
        let mut buffer = [0; 4096];
        while let Ok(1..) = stream.read(&mut buffer).await {}
        Ok(())
    }

    /// Ends the connection in the proper way.
    pub async fn close(mut self) {
        let closing = async {
            let _ = self.socket.close(None).await;
            while let Some(Ok(_)) = self.socket.next().await {}
        };
        let _ = tokio::time::timeout(Duration::from_secs(5), closing).await;
    }

    fn keep(&mut self, frame: Value) {
        if self.kept.len() < MAX_KEPT {
            self.kept.push_back(frame);
        }
    }

    async fn came(&mut self) -> Verdict<Came> {
        Ok(match self.socket.next().await {
            Some(Ok(Message::Text(text))) => Came::Frame(parsed(&text)?),
            Some(Ok(Message::Ping(_))) => Came::Ping,
            Some(Ok(Message::Pong(payload))) => Came::Pong(payload),
            Some(Ok(Message::Close(frame))) => Came::Ended(Ended(frame.map(|frame| frame.code.into()))),
            Some(Ok(_)) => return Err(Fault::broken("a frame came that is not text")),
            Some(Err(Error::Protocol(error))) if !is_end(&error) => {
                return Err(Fault::broken(format!("the peer broke the WebSocket protocol: {error}")));
            }
            Some(Err(_)) | None => Came::Ended(Ended(None)),
        })
    }
}

fn is_end(error: &tokio_tungstenite::tungstenite::error::ProtocolError) -> bool {
    use tokio_tungstenite::tungstenite::error::ProtocolError;
    matches!(error, ProtocolError::ResetWithoutClosingHandshake)
}

fn parsed(text: &str) -> Verdict<Value> {
    let value: Value =
        serde_json::from_str(text).map_err(|_| Fault::broken(format!("a frame is not JSON: {}", cut(text))))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(Fault::broken(format!("a frame is not a JSON object: {}", cut(text)))),
    }
}

pub fn config() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(MAX_FRAME)).max_frame_size(Some(MAX_FRAME))
}

pub fn waiting_for(what: &str) {
    // Outside a case, as in the tests of this crate, nobody asks.
    let _ = WAITING.try_with(|waiting| what.clone_into(&mut waiting.borrow_mut()));
}

/// A frame as it is quoted in a finding.
pub fn short(frame: &Value) -> String {
    cut(&frame.to_string())
}

fn cut(text: &str) -> String {
    let cut: String = text.chars().take(300).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

/// A word that nobody else says.
pub fn word() -> String {
    let id = uuid::Uuid::new_v4().simple().to_string();
    format!("w{}", &id[..12])
}

/// The string at a key, or what is there instead.
pub fn text<'a>(value: &'a Value, key: &str) -> Verdict<&'a str> {
    let found = value[key].as_str();
    found.ok_or_else(|| Fault::broken(format!("`{key}` is not a string in {}", short(value))))
}
