//! What the hub is owed: written down, sent, and sent again until it has answered.

use serde_json::Value;

use super::{Daemon, Event};
use crate::journal::Owed;
use crate::link::{CallError, Link};
use crate::wire::new_id;

impl Daemon {
    /// Writes it down, then sends it. `delivery` names what this settles.
    pub(super) async fn owe(&mut self, kind: &str, data: Value, delivery: Option<&str>) {
        let owed = self.owing(&new_id(), kind, data, delivery);
        if let Err(error) = self.journal.owe(owed.clone()).await {
            // Sent all the same: if the hub takes it, nothing is lost.
            tracing::error!(%error, "what the hub is owed cannot be written down");
        }
        if let Some(delivery) = delivery {
            self.finished.insert(delivery.to_owned());
        }
        self.deliver(owed);
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
        if let Err(error) = self.journal.settle(id).await {
            tracing::error!(%error, "the journal cannot be written");
        }
    }
}
