//! What the hub is owed: written down, sent, and sent again until it has answered.

use folkmoot_clients::Backoff;
use folkmoot_clients::lark::{CallError, Client as Link};
use folkmoot_wire::lark::Request;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Daemon, DaemonEvent};
use crate::hub::{NotKept, Rest};
use crate::journal::Outgoing;

/// A diff is too long for a frame and goes over REST; it is owed like everything else.
const DIFF: &str = "run.diff";

#[derive(Serialize, Deserialize)]
struct Diff {
    run_id: String,
    diff: String,
}

const MAX_REFUSALS: u32 = 5;

/// Tries as long as the hub is there; what it does not get is sent with the next connection.
async fn put_diff(rest: &Rest, link: &Link, data: &Value) -> Result<(), CallError> {
    let unreadable =
        |_| CallError::Refused { code: String::new(), text: "the diff was kept in another way".to_owned() };
    let Diff { run_id, diff } = Diff::deserialize(data).map_err(unreadable)?;
    let (mut backoff, mut refusals) = (Backoff::for_reconnecting(), 0);
    while link.is_ready() {
        match rest.put_diff(&run_id, &diff).await {
            Ok(()) => return Ok(()),
            // A hub that has just come back may not know yet for whom we speak.
            Err(NotKept::Refused(text)) if refusals == MAX_REFUSALS => {
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
    pub(super) async fn enqueue<R: Request>(&mut self, request: R, delivery: Option<&str>) -> String {
        // Our own types have string keys, so this cannot fail.
        self.enqueue_kept(R::TYPE, serde_json::to_value(request).unwrap_or_default(), delivery).await
    }

    /// The same for the diff of a run.
    pub(super) async fn enqueue_diff(&mut self, run_id: &str, diff: &str) {
        let diff = Diff { run_id: run_id.to_owned(), diff: diff.to_owned() };
        self.enqueue_kept(DIFF, serde_json::to_value(diff).unwrap_or_default(), None).await;
    }

    async fn enqueue_kept(&mut self, kind: &str, data: Value, delivery: Option<&str>) -> String {
        let outgoing = self.outgoing(&uuid::Uuid::new_v4().to_string(), kind, data, delivery);
        if let Err(error) = self.journal.enqueue(outgoing.clone()).await {
            // Sent all the same: if the hub takes it, nothing is lost.
            tracing::error!(%error, "what the hub is owed cannot be written down");
        }
        if let Some(delivery) = delivery {
            self.finished.insert(delivery.to_owned());
        }
        let id = outgoing.id.clone();
        self.deliver(outgoing);
        id
    }

    /// Everything that is owed, after a reconnect.
    pub(super) async fn resend(&mut self) {
        match self.journal.unanswered().await {
            Ok(outgoing) => outgoing.into_iter().for_each(|outgoing| self.deliver(outgoing)),
            Err(error) => tracing::error!(%error, "what the hub is owed cannot be read"),
        }
    }

    /// A wake came again although it has its result: the result is sent again.
    pub(super) async fn repeat(&mut self, delivery: &str) {
        let results = self.journal.results_of(delivery.to_owned()).await.unwrap_or_default();
        results.into_iter().for_each(|outgoing| self.deliver(outgoing));
    }

    fn deliver(&self, outgoing: Outgoing) {
        if !self.link.is_ready() {
            return;
        }
        let (link, events): (Link, _) = (self.link.clone(), self.events.clone());
        if outgoing.kind == DIFF {
            let rest = self.rest.clone();
            tokio::spawn(async move {
                let answer = put_diff(&rest, &link, &outgoing.data).await;
                let _ = events.send(DaemonEvent::Settled { id: outgoing.id, answer });
            });
            return;
        }
        let asked = link.begin(&outgoing.id, &outgoing.kind, &outgoing.data);
        tokio::spawn(async move {
            let answer = asked.await.map(drop);
            let _ = events.send(DaemonEvent::Settled { id: outgoing.id, answer });
        });
    }

    pub(super) async fn settled(&mut self, id: String, answer: Result<(), CallError>) {
        match answer {
            // Sent again with the next connection.
            Err(CallError::Lost) => return,
            Err(CallError::Refused { code, text }) => tracing::warn!(code, text, "the hub does not take a result"),
            Ok(()) => {}
        }
        self.sent_before.remove(&id);
        if let Err(error) = self.journal.settle(id).await {
            tracing::error!(%error, "the journal cannot be written");
        }
    }
}
