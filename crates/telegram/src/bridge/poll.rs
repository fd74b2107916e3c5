//! Fetching updates: one long poll after the other, each confirmed only when what it brought is stored.

use std::sync::Arc;
use std::time::{Duration, Instant};

use folkmoot_clients::backoff::Backoff;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use super::{BridgeEvent, RETRY};
use crate::api::{ApiError, UpdateId};
use crate::shared::Shared;

const LONG_POLL: Duration = Duration::from_secs(50);
/// A server that answers without waiting must not be asked without a pause.
const SHORT_POLL: Duration = Duration::from_millis(20);

pub(super) async fn poll(
    shared: Arc<Shared>,
    mut offset: Option<UpdateId>,
    events: mpsc::UnboundedSender<BridgeEvent>,
) {
    // What is for us cannot be told before we know our own name; until then Telegram keeps it.
    shared.known().await;
    let bot = &shared.bot;
    let mut backoff = Backoff::for_reconnecting();
    loop {
        let asked = Instant::now();
        match bot.get_updates(offset, LONG_POLL).await {
            Ok(updates) if updates.is_empty() => {
                backoff.reset();
                if asked.elapsed() < SHORT_POLL {
                    sleep(SHORT_POLL).await;
                }
            }
            Ok(updates) => {
                backoff.reset();
                let last = updates.iter().map(|update| update.update_id).max();
                let (stored, answer) = oneshot::channel();
                if events.send(BridgeEvent::Updates(updates, stored)).is_err() {
                    return;
                }
                if answer.await.unwrap_or(false) {
                    offset = last.map(|last| UpdateId(last.0 + 1));
                } else {
                    sleep(RETRY).await;
                }
            }
            Err(error) if error.is_unauthorized() => {
                let _ = events.send(BridgeEvent::Refused(error));
                return;
            }
            Err(error) => sleep(pause(&error, &mut backoff)).await,
        }
    }
}

fn pause(error: &ApiError, backoff: &mut Backoff) -> Duration {
    if let ApiError::RateLimited { retry_after } = error {
        return *retry_after;
    }
    let pause = backoff.next(rand::random());
    if error.is_conflict() {
        tracing::warn!("somebody else fetches the updates of this bot, or a webhook is set; only one can");
    } else if backoff.attempts() == 1 {
        tracing::warn!(%error, "updates could not be fetched; trying again");
    }
    pause
}
