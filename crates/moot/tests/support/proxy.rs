//! A server that is right but for one thing: the real one, behind a proxy that bends frames.

use std::net::SocketAddr;

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{accept_hdr_async, connect_async};

/// Who says a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Client,
    Server,
}

/// What becomes of a frame: frames that were said, and by whom.
pub type Bend = fn(By, Value) -> Vec<(By, Value)>;

#[derive(Clone, Copy)]
pub struct Bends {
    pub frame: Bend,
    pub close: fn(u16) -> u16,
}

pub const HONEST: Bends = Bends { frame: |by, frame| vec![(by, frame)], close: |code| code };

/// Passes on to the target what comes, until it is dropped.
pub struct Proxy {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// `target` is an address like `ws://127.0.0.1:8484`; paths are kept.
    pub async fn before(target: String, bends: Bends) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(relay(stream, target.clone(), bends));
            }
        });
        Proxy { address, task }
    }
}

async fn relay(stream: TcpStream, target: String, bends: Bends) {
    let mut path = String::new();
    #[expect(clippy::result_large_err, reason = "the callback's type is given")]
    let note = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
        path = request.uri().path().to_owned();
        Ok(response)
    };
    let Ok(mut client) = accept_hdr_async(stream, note).await else { return };
    let Ok((mut server, _)) = connect_async(format!("{target}{path}")).await else { return };
    loop {
        let (by, came) = tokio::select! {
            came = client.next() => (By::Client, came),
            came = server.next() => (By::Server, came),
        };
        let Some(Ok(message)) = came else { return };
        for (by, message) in bent(by, message, bends) {
            let sent = match by {
                By::Client => server.send(message).await,
                By::Server => client.send(message).await,
            };
            if sent.is_err() {
                return;
            }
        }
    }
}

fn bent(by: By, message: Message, bends: Bends) -> Vec<(By, Message)> {
    match message {
        Message::Text(text) => match serde_json::from_str::<Value>(&text) {
            Ok(frame) if frame.is_object() => {
                let frames = (bends.frame)(by, frame).into_iter();
                frames.map(|(by, frame)| (by, Message::text(frame.to_string()))).collect()
            }
            _ => vec![(by, Message::Text(text))],
        },
        Message::Close(Some(close)) if by == By::Server => {
            let code = (bends.close)(close.code.into()).into();
            vec![(by, Message::Close(Some(CloseFrame { code, ..close })))]
        }
        // Each side answers its own pings.
        Message::Ping(_) | Message::Pong(_) => Vec::new(),
        other => vec![(by, other)],
    }
}
