//! The connection of `moot tail`: one that is logged in, and what went wrong in words for people.

use std::time::Duration;

use folkmoot_clients::lark::{self, LoginError, Outside, Timing};
use folkmoot_clients::line::{Ended, Line};
use folkmoot_clients::websocket::OpenError;
use folkmoot_wire::lark::{Frame, Request};
use tokio::sync::mpsc;

use crate::Fault;
use crate::client::Hub;

const TIMING: Timing = Timing { heartbeat: Duration::from_secs(30), timeout: Duration::from_secs(15) };
/// Frames that wait to be shown; then the hub waits too.
const INCOMING: usize = 256;

/// A connection that is logged in.
pub struct Socket {
    line: Line,
    frames: mpsc::Receiver<Frame>,
}

/// Why there is no connection.
pub enum Trouble {
    /// Trying again may help.
    Lost(String),
    /// It will not.
    Refused(Fault),
}

impl Socket {
    pub async fn open(hub: &Hub) -> Result<Self, Trouble> {
        let url = hub.url("/ws").map_err(|error| Trouble::Refused(Fault::failed(error.to_string())))?;
        let token = hub.token().map(|token| token.expose()).unwrap_or_default();
        let login = lark::login(token.to_owned(), None);
        let (incoming, frames) = mpsc::channel(INCOMING);
        match lark::open(hub.http(), &url, &login, TIMING, incoming, Frame::parse).await {
            Ok((line, _)) => Ok(Self { line, frames }),
            Err(error) => Err(trouble(hub, error)),
        }
    }

    pub async fn send<R: Request>(&mut self, asked: &R) -> Result<(), Trouble> {
        let Outside { id, .. } = Outside::REAL;
        self.line.write(Outside::REAL.frame(&id(), asked)).await.map_err(|ended| lost(&ended))
    }

    /// The next envelope; pings are answered on the way.
    pub async fn next(&mut self) -> Result<Frame, Trouble> {
        match self.frames.recv().await {
            Some(frame) => Ok(frame),
            None => Err(lost(&self.line.ended().await)),
        }
    }
}

fn trouble(hub: &Hub, error: LoginError) -> Trouble {
    match error {
        LoginError::Unreachable(OpenError::Unreachable(error)) => Trouble::Lost(hub.unreachable(&error).sentence),
        // A proxy in front of a hub that restarts answers like this for a while.
        LoginError::Unreachable(OpenError::Refused(status)) if status.is_server_error() => {
            Trouble::Lost(format!("{} answered {status}", hub.address()))
        }
        LoginError::Unreachable(OpenError::Refused(status)) => {
            Trouble::Refused(hub.strange(&format!("/ws answered {status} instead of a WebSocket")))
        }
        LoginError::Silent => Trouble::Lost("the hub does not answer the login".into()),
        LoginError::Lost(ended) => lost(&ended),
        LoginError::Refused(said) => {
            let fault = Fault::failed(format!("the hub refused the login: {said}"));
            Trouble::Refused(fault.hint("log in again with `moot login`"))
        }
    }
}

fn lost(ended: &Ended) -> Trouble {
    Trouble::Lost(match ended {
        Ended::Closed => "the hub closed the connection".into(),
        Ended::Broken(_) => ended.to_string(),
    })
}
