//! Calls that wait for their answer.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::oneshot;

/// What a server answered: a result, or why not.
pub type Outcome = Result<Value, String>;

/// The calls of one connection, by their id.
#[derive(Default)]
pub struct Calls {
    waiting: Mutex<HashMap<String, oneshot::Sender<Outcome>>>,
}

/// A call that waits; dropping it forgets the call.
pub struct Waiting<'a> {
    calls: &'a Calls,
    id: String,
    answer: oneshot::Receiver<Outcome>,
}

impl Calls {
    pub fn begin(&self, id: &str) -> Waiting<'_> {
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().insert(id.to_owned(), sender);
        Waiting { calls: self, id: id.to_owned(), answer }
    }

    pub fn is_waiting(&self, id: &str) -> bool {
        self.waiting.lock().contains_key(id)
    }

    /// Hands an answer to its call; an answer that nobody waits for is dropped.
    pub fn answer(&self, id: &str, outcome: Outcome) {
        if let Some(sender) = self.waiting.lock().remove(id) {
            // The caller may have given up in this very moment.
            let _ = sender.send(outcome);
        }
    }
}

impl Waiting<'_> {
    /// The answer; none when the connection is gone.
    pub async fn answer(&mut self) -> Option<Outcome> {
        (&mut self.answer).await.ok()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.calls.waiting.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn answers_find_their_calls_in_any_order() {
        let calls = Calls::default();
        let (mut one, mut two) = (calls.begin("1"), calls.begin("2"));
        calls.answer("2", Ok(json!("two")));
        calls.answer("1", Err("no".into()));
        assert_eq!(one.answer().await, Some(Err("no".into())));
        assert_eq!(two.answer().await, Some(Ok(json!("two"))));
    }

    #[tokio::test]
    async fn a_call_that_was_given_up_is_forgotten() {
        let calls = Calls::default();
        drop(calls.begin("1"));
        assert!(!calls.is_waiting("1"));
        calls.answer("1", Ok(Value::Null));
        assert!(calls.waiting.lock().is_empty());
    }
}
