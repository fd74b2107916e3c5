//! Turns: prompts of one line are taken up one after the other, in the order in which they came.

use std::collections::HashMap;
use std::convert::Infallible;

use parking_lot::Mutex;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::ids::PromptId;
use crate::journal::Scope;

/// What has an order of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TurnLine {
    /// Finding out where the prompts of a chat or topic go, which takes a moment.
    Place(Scope),
    /// The thread with this key.
    Thread(String),
    /// The thread that this prompt begins.
    After(PromptId),
    /// Whatever thread of this engine goes on in a place.
    Session(Scope, String),
}

/// The last turn of every line in which somebody waits or is served.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<TurnLine, oneshot::Receiver<Infallible>>>);

/// A place in a line; whoever comes next waits until it is dropped.
pub struct Turn {
    before: Option<oneshot::Receiver<Infallible>>,
    _done: oneshot::Sender<Infallible>,
}

impl Turns {
    pub fn queue(&self, line: TurnLine) -> Turn {
        let (done, over) = oneshot::channel();
        let mut last = self.0.lock();
        last.retain(|_, over| over.try_recv() == Err(TryRecvError::Empty));
        Turn { before: last.insert(line, over), _done: done }
    }
}

impl Turn {
    /// Waits until everybody before has had their turn.
    pub async fn come(&mut self) {
        if let Some(before) = self.before.take() {
            let _ = before.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn has_come(turn: &mut Turn) -> bool {
        let Some(before) = &mut turn.before else { return true };
        before.now_or_never().is_some()
    }

    #[test]
    fn a_line_is_served_in_its_order_and_other_lines_do_not_wait() {
        let (turns, line) = (Turns::default(), TurnLine::After(PromptId(1)));
        let mut first = turns.queue(line.clone());
        let mut second = turns.queue(line.clone());
        let mut third = turns.queue(line);
        let mut elsewhere = turns.queue(TurnLine::After(PromptId(2)));
        assert!(has_come(&mut first) && has_come(&mut elsewhere));
        assert!(!has_come(&mut second) && !has_come(&mut third));
        drop(first);
        assert!(has_come(&mut second) && !has_come(&mut third));
        drop(second);
        assert!(has_come(&mut third));
    }

    #[test]
    fn lines_in_which_nobody_is_left_are_forgotten() {
        let turns = Turns::default();
        drop(turns.queue(TurnLine::Thread("codex:1".into())));
        let _turn = turns.queue(TurnLine::Thread("codex:2".into()));
        assert_eq!(turns.0.lock().len(), 1);
    }
}
