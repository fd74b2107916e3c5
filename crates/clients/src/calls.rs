//! Calls over a connection: at most so many at once, each answered within its time or failed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use crate::line::{Ended, Line};

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallFailure {
    #[error("the connection is closed")]
    Closed,
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("no answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The server's own no.
    #[error("the server refused it: {0}")]
    Refused(String),
}

impl From<Ended> for CallFailure {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Closed => Self::Closed,
            Ended::Broken(why) => Self::Broken(why),
        }
    }
}

/// The calls of one connection that wait for their answer, by their id.
pub struct Calls<T> {
    waiting: Mutex<HashMap<String, oneshot::Sender<T>>>,
}

/// A call that waits; dropping it forgets the call.
pub struct Waiting<'a, T> {
    calls: &'a Calls<T>,
    id: String,
    answer: oneshot::Receiver<T>,
}

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default() }
    }
}

impl<T> Calls<T> {
    pub fn begin(&self, id: &str) -> Waiting<'_, T> {
        Waiting { calls: self, id: id.to_owned(), answer: self.expect(id) }
    }

    /// The same for whoever forgets it themselves.
    pub fn expect(&self, id: &str) -> oneshot::Receiver<T> {
        let (sender, answer) = oneshot::channel();
        self.waiting.lock().insert(id.to_owned(), sender);
        answer
    }

    pub fn is_waiting(&self, id: &str) -> bool {
        self.waiting.lock().contains_key(id)
    }

    /// Hands an answer to its call; an answer that nobody waits for is dropped.
    pub fn answer(&self, id: &str, outcome: T) {
        if let Some(sender) = self.waiting.lock().remove(id) {
            // The caller may have given up in this very moment.
            let _ = sender.send(outcome);
        }
    }

    pub fn forget(&self, id: &str) {
        self.waiting.lock().remove(id);
    }

    /// The connection is gone: nobody will be answered.
    pub fn forget_all(&self) {
        self.waiting.lock().clear();
    }
}

impl<T> Waiting<'_, T> {
    /// The answer; none when the connection is gone.
    pub async fn answer(&mut self) -> Option<T> {
        (&mut self.answer).await.ok()
    }
}

impl<T> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        self.calls.forget(&self.id);
    }
}

/// What bounds the calls of a connection.
#[derive(Clone)]
pub struct Bounds {
    /// Calls under way at once, over all connections that share it.
    pub places: Arc<Semaphore>,
    /// How long each may take.
    pub timeout: Duration,
}

/// A line on which calls are made.
pub struct Caller<T> {
    line: Line,
    calls: Arc<Calls<Result<T, String>>>,
    bounds: Bounds,
}

impl<T> Caller<T> {
    /// `calls` is what the line's reader hands the answers to.
    pub fn new(line: Line, calls: Arc<Calls<Result<T, String>>>, bounds: Bounds) -> Self {
        Self { line, calls, bounds }
    }

    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Sends a frame and waits for the answer with its id.
    pub async fn call(&self, id: &str, frame: String) -> Result<T, CallFailure> {
        let _place = self.bounds.places.acquire().await.map_err(|_| CallFailure::Closed)?;
        let mut waiting = self.calls.begin(id);
        let done = async {
            self.line.write(frame).await?;
            tokio::select! {
                biased;
                answer = waiting.answer() => answer.ok_or(CallFailure::Closed)?.map_err(CallFailure::Refused),
                why = self.line.ended() => Err(why.into()),
            }
        };
        timeout(self.bounds.timeout, done).await.unwrap_or(Err(CallFailure::Timeout(self.bounds.timeout)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_find_their_calls_in_any_order() {
        let calls = Calls::default();
        let (mut one, mut two) = (calls.begin("1"), calls.begin("2"));
        calls.answer("2", Ok("two"));
        calls.answer("1", Err("no"));
        assert_eq!(one.answer().await, Some(Err("no")));
        assert_eq!(two.answer().await, Some(Ok("two")));
    }

    #[tokio::test]
    async fn a_call_that_was_given_up_is_forgotten() {
        let calls = Calls::default();
        drop(calls.begin("1"));
        assert!(!calls.is_waiting("1"));
        calls.answer("1", ());
        assert!(calls.waiting.lock().is_empty());
    }
}
