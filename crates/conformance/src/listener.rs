//! The suite as the server: a listener to which the client under test connects, again and again.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio_tungstenite::{MaybeTlsStream, accept_async_with_config};

use crate::case::Verdict;
use crate::link::{Link, config, waiting_for};

pub struct Listener {
    listener: TcpListener,
    /// The connection that the last case left open, and the frame with which it began.
    open: Mutex<Option<Seat>>,
}

/// A client that has connected, and the first frame it sent.
pub struct Seat {
    pub link: Link,
    pub first: serde_json::Value,
}

impl Listener {
    pub async fn bind(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        Ok(Self { listener, open: Mutex::new(None) })
    }

    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The connection that is open, or else the next that the client makes; `welcome` greets a new one.
    pub async fn seat(&self, welcome: impl AsyncFn(&mut Seat) -> Verdict) -> Verdict<Seat> {
        if let Some(mut seat) = self.open.lock().await.take()
            && seat.link.is_alive().await.is_ok()
        {
            return Ok(seat);
        }
        let mut seat = self.next().await?;
        welcome(&mut seat).await?;
        Ok(seat)
    }

    /// The next connection that the client makes. Upgrades that fail (a look at the port, say) do not count.
    pub async fn next(&self) -> Verdict<Seat> {
        loop {
            waiting_for("the client to connect");
            let Ok((stream, _)) = self.listener.accept().await else { continue };
            let accepted = accept_async_with_config(MaybeTlsStream::Plain(stream), Some(config())).await;
            let Ok(socket) = accepted else { continue };
            let mut link = Link::over(socket);
            let first = link.next("the client's first frame").await?;
            return Ok(Seat { link, first });
        }
    }

    /// Leaves the connection to the next case.
    pub async fn leave(&self, seat: Seat) -> Verdict {
        *self.open.lock().await = Some(seat);
        Ok(())
    }
}
