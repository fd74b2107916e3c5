//! A WebSocket that is read and written at the same time, with a heartbeat, until one side ends it.

use std::time::Duration;

use folkmoot_peers::websocket::{self, OpenError};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use reqwest::{Client, Url};
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval_at, timeout};
use tungstenite::Message;
use tungstenite::protocol::WebSocketConfig;

use super::Incoming;
use crate::error::{BotError, RpcFailure};

/// Frames that wait for a slow server; then whoever writes waits too.
const QUEUE: usize = 64;
const MOST_FRAME_BYTES: usize = 16 << 20;

/// The way to a running connection. Dropping it closes the connection.
pub struct Line {
    outgoing: mpsc::Sender<Message>,
    stop: watch::Sender<bool>,
    ended: watch::Receiver<Option<RpcFailure>>,
}

/// Opens the WebSocket.
pub async fn open(client: &Client, url: &Url) -> Result<websocket::Socket, BotError> {
    let config = WebSocketConfig::default()
        .read_buffer_size(16 << 10)
        .max_message_size(Some(MOST_FRAME_BYTES))
        .max_frame_size(Some(MOST_FRAME_BYTES));
    websocket::open(client, url.clone(), Some(config)).await.map_err(|error| {
        BotError::Connection(match error {
            OpenError::Unreachable(error) => innermost(&error.without_url()),
            OpenError::Refused(status) => format!("the server answered {status} instead of a WebSocket"),
        })
    })
}

fn innermost(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

impl Line {
    /// Starts reading and writing. `on_text` sees every frame and returns what the bot should hear of.
    pub fn start(
        socket: websocket::Socket,
        heartbeat: Duration,
        incoming: mpsc::Sender<Incoming>,
        on_text: impl FnMut(&str) -> Option<Incoming> + Send + 'static,
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

    pub async fn write(&self, text: String) -> Result<(), RpcFailure> {
        self.outgoing.send(Message::text(text)).await.map_err(|_| RpcFailure::Closed)
    }

    pub fn is_open(&self) -> bool {
        self.ended.borrow().is_none() && !*self.stop.borrow()
    }

    pub fn close(&self) {
        self.stop.send_replace(true);
    }

    pub async fn ended(&self) -> RpcFailure {
        let mut ended = self.ended.clone();
        let why = ended.wait_for(Option::is_some).await;
        why.ok().and_then(|why| why.clone()).unwrap_or(RpcFailure::Closed)
    }
}

async fn read(
    mut stream: SplitStream<websocket::Socket>,
    silence: Duration,
    incoming: mpsc::Sender<Incoming>,
    mut on_text: impl FnMut(&str) -> Option<Incoming>,
) -> RpcFailure {
    loop {
        let frame = match timeout(silence, stream.next()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) => return RpcFailure::Broken(error.to_string()),
            Ok(None) => return RpcFailure::Closed,
            Err(_) => return RpcFailure::Broken("the server fell silent".to_owned()),
        };
        let told = match frame {
            Message::Text(text) => on_text(&text),
            Message::Close(_) => return RpcFailure::Closed,
            Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => None,
        };
        if let Some(told) = told
            && incoming.send(told).await.is_err()
        {
            return RpcFailure::Closed;
        }
    }
}

async fn write(
    mut sink: SplitSink<websocket::Socket, Message>,
    heartbeat: Duration,
    mut queue: mpsc::Receiver<Message>,
    mut stopped: watch::Receiver<bool>,
) -> RpcFailure {
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
                return RpcFailure::Closed;
            }
        };
        if let Err(error) = sent {
            return RpcFailure::Broken(error.to_string());
        }
    }
}
