//! What the hub is owed: written down, sent, and sent again until it has answered.

use folkmoot_peers::Backoff;
use serde_json::Value;

use super::{Daemon, Event};
use crate::hub::{NotKept, Rest};
use crate::journal::Owed;
use crate::link::{CallError, Link};
use crate::wire::{new_id, text};

/// A diff is too long for a frame and goes over REST; it is owed like everything else.
pub(super) const DIFF: &str = "run.diff";

const MOST_REFUSALS: u32 = 5;

/// Tries as long as the hub is there; what it does not get is sent with the next connection.
async fn put_diff(rest: &Rest, link: &Link, data: &Value) -> Result<Value, CallError> {
    let (run, diff) = (text(data, "run_id").unwrap_or_default(), text(data, "diff").unwrap_or_default());
    let (mut backoff, mut refusals) = (Backoff::for_reconnecting(), 0);
    while link.is_ready() {
        match rest.put_diff(run, diff).await {
            Ok(()) => return Ok(Value::Null),
            // A hub that has just come back may not know yet for whom we speak.
            Err(NotKept::Refused(text)) if refusals == MOST_REFUSALS => {
                return Err(CallError::Refused { code: "refused".to_owned(), text });
            }
            Err(NotKept::Refused(why)) => {
                refusals += 1;
                tracing::debug!(why, "the diff of a run is sent again");
            }
            Err(NotKept::ForNow(why)) => tracing::debug!(why, "the diff of a run is sent again"),
        }
        tokio::time::sleep(backoff.next(rand::random())).await;
    }
    Err(CallError::Lost)
}

impl Daemon {
    /// Writes it down, then sends it; returns its name. `delivery` names what this settles.
    pub(super) async fn owe(&mut self, kind: &str, data: Value, delivery: Option<&str>) -> String {
        let owed = self.owing(&new_id(), kind, data, delivery);
        if let Err(error) = self.journal.owe(owed.clone()).await {
            // Sent all the same: if the hub takes it, nothing is lost.
            tracing::error!(%error, "what the hub is owed cannot be written down");
        }
        if let Some(delivery) = delivery {
            self.finished.insert(delivery.to_owned());
        }
        let id = owed.id.clone();
        self.deliver(owed);
        id
    }

    /// Everything that is owed, after a reconnect.
    pub(super) async fn pay(&mut self) {
        match self.journal.owed().await {
            Ok(owed) => owed.into_iter().for_each(|owed| self.deliver(owed)),
            Err(error) => tracing::error!(%error, "what the hub is owed cannot be read"),
        }
    }

    /// A wake came again although it has its result: the result is sent again.
    pub(super) async fn repeat(&mut self, delivery: &str) {
        let results = self.journal.results_of(delivery.to_owned()).await.unwrap_or_default();
        results.into_iter().for_each(|owed| self.deliver(owed));
    }

    fn deliver(&self, owed: Owed) {
        if !self.link.is_ready() {
            return;
        }
        let (link, events): (Link, _) = (self.link.clone(), self.events.clone());
        if owed.kind == DIFF {
            let rest = self.rest.clone();
            tokio::spawn(async move {
                let answer = put_diff(&rest, &link, &owed.data).await;
                let _ = events.send(Event::Settled { id: owed.id, answer });
            });
            return;
        }
        let asked = link.begin(&owed.id, &owed.kind, &owed.data);
        tokio::spawn(async move {
            let answer = asked.await;
            let _ = events.send(Event::Settled { id: owed.id, answer });
        });
    }

    pub(super) async fn settled(&mut self, id: String, answer: Result<Value, CallError>) {
        match answer {
            // Sent again with the next connection.
            Err(CallError::Lost) => return,
            Err(CallError::Refused { code, text }) => tracing::warn!(code, text, "the hub does not take a result"),
            Ok(_) => {}
        }
        self.sent_before.remove(&id);
        if let Err(error) = self.journal.settle(id).await {
            tracing::error!(%error, "the journal cannot be written");
        }
    }
}
