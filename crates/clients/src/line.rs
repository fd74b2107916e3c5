//! A WebSocket that is read and written at the same time, with a heartbeat, until one side ends it.

use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use reqwest::{Client, Url};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval_at, timeout};
use tungstenite::Message;
use tungstenite::protocol::WebSocketConfig;

use crate::websocket::{self, OpenError};

/// Frames that wait for a slow server; then whoever writes waits too.
const QUEUE: usize = 64;
const MAX_FRAME_BYTES: usize = 16 << 20;

/// Why a line is no more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    #[error("the connection is closed")]
    Closed,
    #[error("the connection broke: {0}")]
    Broken(String),
}

/// The way to a running connection. Dropping it closes the connection.
pub struct Line {
    outgoing: mpsc::Sender<Message>,
    stop: watch::Sender<bool>,
    ended: watch::Receiver<Option<Ended>>,
}

/// Opens the WebSocket.
pub async fn connect(client: &Client, url: &Url) -> Result<websocket::Socket, OpenError> {
    let config = WebSocketConfig::default()
        .read_buffer_size(16 << 10)
        .max_message_size(Some(MAX_FRAME_BYTES))
        .max_frame_size(Some(MAX_FRAME_BYTES));
    websocket::open(client, url.clone(), Some(config)).await
}

/// What is wrong in words for people, without the address.
pub fn words(error: &OpenError) -> String {
    match error {
        OpenError::Unreachable(error) => innermost(error),
        OpenError::Refused(status) => format!("the server answered {status} instead of a WebSocket"),
    }
}

fn innermost(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

impl Line {
    /// Starts reading and writing. `on_text` sees every frame and returns what is to be passed on.
    pub fn start<T: Send + 'static>(
        socket: websocket::Socket,
        heartbeat: Duration,
        incoming: mpsc::Sender<T>,
        on_text: impl FnMut(&str) -> Option<T> + Send + 'static,
    ) -> Self {
        let (outgoing, queue) = mpsc::channel(QUEUE);
        let (stop, stopped) = watch::channel(false);
        let (end, ended) = watch::channel(None);
        let (sink, stream) = socket.split();
        tokio::spawn(async move {
            // Something comes at least with every pong; a line that is silent for longer is dead.
            let silence = heartbeat + heartbeat / 2;
            let why = tokio::select! {
                why = read(stream, silence, incoming, on_text) => why,
                why = write(sink, heartbeat, queue, stopped) => why,
            };
            end.send_replace(Some(why));
        });
        Self { outgoing, stop, ended }
    }

    pub async fn write(&self, text: String) -> Result<(), Ended> {
        self.outgoing.send(Message::text(text)).await.map_err(|_| Ended::Closed)
    }

    pub fn is_open(&self) -> bool {
        self.ended.borrow().is_none() && !*self.stop.borrow()
    }

    pub fn close(&self) {
        self.stop.send_replace(true);
    }

    pub async fn ended(&self) -> Ended {
        let mut ended = self.ended.clone();
        let why = ended.wait_for(Option::is_some).await;
        why.ok().and_then(|why| why.clone()).unwrap_or(Ended::Closed)
    }
}

async fn read<T>(
    mut stream: SplitStream<websocket::Socket>,
    silence: Duration,
    incoming: mpsc::Sender<T>,
    mut on_text: impl FnMut(&str) -> Option<T>,
) -> Ended {
    loop {
        let frame = match timeout(silence, stream.next()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => return Ended::Broken(error.to_string()),
            Ok(None) => return Ended::Closed,
            Err(_) => return Ended::Broken("the server fell silent".to_owned()),
        };
        let told = match frame {
            Message::Text(text) => on_text(&text),
            Message::Close(_) => return Ended::Closed,
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => None,
        };
        if let Some(told) = told
            && incoming.send(told).await.is_err()
        {
            return Ended::Closed;
        }
    }
}

async fn write(
    mut sink: SplitSink<websocket::Socket, Message>,
    heartbeat: Duration,
    mut queue: mpsc::Receiver<Message>,
    mut stopped: watch::Receiver<bool>,
) -> Ended {
    let mut beat = interval_at(tokio::time::Instant::now() + heartbeat, heartbeat);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let frame = tokio::select! {
            frame = queue.recv() => frame,
            _ = beat.tick() => Some(Message::Ping(tungstenite::Bytes::new())),
            _ = stopped.wait_for(|stopped| *stopped) => None,
        };
        let sent = match frame {
            Some(frame) => sink.send(frame).await,
            None => {
                // The server may be gone already; then there is nobody to say goodbye to.
                let _ = timeout(Duration::from_secs(1), sink.close()).await;
                return Ended::Closed;
            }
        };
        if let Err(error) = sent {
            return Ended::Broken(error.to_string());
        }
    }
}
