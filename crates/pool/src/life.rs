//! The life of an agent: one connection after another, until it is told to stop.

use std::time::Duration;

use folkmoot_clients::Backoff;

use crate::agent::Agent;
use crate::connection::{self, End};

const MAX_JITTER: Duration = Duration::from_millis(500);

impl Agent {
    /// Serves until `stop` is done: then lets go of every session, closes the connection and returns.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        // As runners do: 1 s, doubling up to 30 s, and up to half a second more, so that agents that lost the same
        // controller do not all come back at the same moment.
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30)).plus_up_to(MAX_JITTER);
        loop {
            let end = connection::run(&self, stop.as_mut()).await;
            match end {
                End::Stopped => return,
                End::Lost(cause) => {
                    tracing::warn!(agent = %self.config().agent_id, %cause, "the connection to the controller is lost");
                    backoff.reset();
                }
                End::Unreachable(cause) => {
                    tracing::warn!(agent = %self.config().agent_id, %cause, "the controller cannot be reached");
                }
                End::Refused(cause) => {
                    tracing::error!(agent = %self.config().agent_id, %cause, "the controller refuses this agent");
                }
            }
            let wait = backoff.next(rand::random());
            tokio::select! {
                () = stop.as_mut() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }
}
