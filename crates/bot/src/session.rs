//! The bot's connection over time: made, kept, made again, and used to say things until they are said.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::error::{BotError, RpcFailure};
use crate::life::State;
use crate::link::{Dependencies, Link, Saying};
use crate::reconnect::{Next, Reconnect};
use crate::rooms::Rooms;
use crate::settings::seconds;
use crate::status::Status;

pub struct Session {
    dependencies: Dependencies,
    rooms: Arc<Rooms>,
    status: Arc<Status>,
    current: Mutex<Option<Arc<Link>>>,
    /// One at a time connects; the others wait and take what it made.
    connecting: tokio::sync::Mutex<()>,
    pauses: Reconnect,
}

impl Session {
    pub fn new(dependencies: Dependencies, rooms: Arc<Rooms>, status: Arc<Status>) -> Self {
        let pauses = Reconnect::new(&dependencies.settings.limits);
        Self {
            dependencies,
            rooms,
            status,
            current: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            pauses,
        }
    }

    /// Keeps the bot connected; returns only with a failure that no new attempt can mend.
    pub async fn keep(&self) -> BotError {
        let mut reconnect = self.pauses.clone();
        let mut refusals = 0;
        loop {
            let was_connected = self.status.watch().borrow().counters.connections > 0;
            let error = match self.fresh().await {
                Ok(link) => {
                    self.status.become_(State::Running);
                    reconnect.connected();
                    refusals = 0;
                    lost(link.ended().await)
                }
                Err(error) => error,
            };
            if let BotError::Authentication(_) = &error {
                // A server that restarts may refuse for a moment whom it knew before; a wrong password stays wrong.
                refusals += 1;
                if !was_connected || refusals > self.dependencies.settings.limits.reconnect_max_retries {
                    return error;
                }
            }
            self.pause(&mut reconnect, &error).await;
        }
    }

    async fn pause(&self, reconnect: &mut Reconnect, error: &BotError) {
        self.status.become_(State::Connecting);
        let (pause, anew) = match reconnect.failed() {
            Next::Retry(pause) => (pause, false),
            Next::Anew(pause) => (pause, true),
        };
        let broken = matches!(error, BotError::Rpc { why: RpcFailure::Broken(_), .. });
        let pause =
            if broken { pause.max(seconds(self.dependencies.settings.limits.ws_receive_retry_delay_s)) } else { pause };
        match error {
            // Either it passes, or whoever ends says so, once.
            BotError::Authentication(_) => tracing::debug!(%error, pause_s = pause.as_secs_f64(), "refused"),
            _ => tracing::warn!(%error, pause_s = pause.as_secs_f64(), anew, "not connected"),
        }
        tokio::time::sleep(pause).await;
    }

    /// The connection, if it stands.
    pub fn link(&self) -> Option<Arc<Link>> {
        self.current.lock().clone().filter(|link| link.is_open())
    }

    /// The connection; a new one with a full login when the old one is gone.
    pub async fn fresh(&self) -> Result<Arc<Link>, BotError> {
        let _one = self.connecting.lock().await;
        if let Some(link) = self.link() {
            return Ok(link);
        }
        self.status.become_(State::Connecting);
        let link = Arc::new(Link::connect(&self.dependencies).await?);
        let channels = link.channels().await?;
        tracing::info!(username = link.me().username, channels = channels.len(), "logged in");
        self.rooms.learn(channels);
        self.status.is(link.me());
        self.show_rooms();
        self.status.count(|counters| counters.connections += 1);
        self.status.become_(State::Connected);
        *self.current.lock() = Some(link.clone());
        Ok(link)
    }

    /// Asks for the channels again: somebody speaks in one that was not listed.
    pub async fn learn_channels(&self) -> Result<(), BotError> {
        let link = self.link().ok_or_else(|| BotError::rpc("get_channels", RpcFailure::Closed))?;
        self.rooms.learn(link.channels().await?);
        self.show_rooms();
        Ok(())
    }

    pub fn show_rooms(&self) {
        let (channels, joined) = self.rooms.count();
        self.status.rooms(channels, joined);
    }

    /// Says something; after a failure again on a new connection, with growing pauses (section 13).
    pub async fn say(&self, saying: Saying<'_>) -> Result<(), BotError> {
        let attempts = self.dependencies.settings.limits.max_retry_attempts.max(1);
        let begun = Instant::now();
        for attempt in 0..attempts {
            if attempt > 0 {
                tokio::time::sleep(self.pauses.delay(attempt - 1)).await;
            }
            let error = match self.attempt(saying, attempt > 0).await {
                Ok(()) => return Ok(()),
                Err(error) if !error.may_be_retried() => return Err(error),
                Err(error) => error,
            };
            tracing::warn!(%error, attempt = attempt + 1, "a message was not sent");
        }
        let waited = begun.elapsed().as_secs_f64();
        Err(BotError::Connection(format!("a message was not sent in {attempts} attempts and {waited:.1} s")))
    }

    async fn attempt(&self, saying: Saying<'_>, reconnect: bool) -> Result<(), BotError> {
        let link = if reconnect { self.fresh().await? } else { self.link().ok_or_else(closed)? };
        let said = link.say(saying).await;
        if said.as_ref().is_err_and(BotError::may_be_retried) {
            // A connection on which a call got lost is not trusted any more; the next attempt makes a new one.
            link.close();
        }
        said
    }

    pub fn close(&self) {
        if let Some(link) = self.current.lock().take() {
            link.close();
        }
    }
}

fn closed() -> BotError {
    BotError::rpc("send_message", RpcFailure::Closed)
}

fn lost(why: RpcFailure) -> BotError {
    match why {
        RpcFailure::Broken(_) => BotError::rpc("receive", why),
        other => BotError::Connection(other.to_string()),
    }
}
