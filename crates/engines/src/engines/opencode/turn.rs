//! Which of opencode's signs of the end is the end of what it was given.
//!
//! Its server says that a session is idle twice, in two words (`session.status` and `session.idle`); after a failure or an
//! abort it says so once before its last message is finished, and swallows what it is told between the two. So an idle
//! session has come to its end only when all that people said was heard and answered, and no answer is still being written.

use std::collections::BTreeSet;
use std::time::Duration;

/// How long an idle session may leave something unanswered before we say so.
pub const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct Turn {
    /// Prompts on their way, which did not come back as messages yet.
    sent: usize,
    /// What people said in this turn.
    said: BTreeSet<String>,
    /// The last of it, until something answers it.
    unanswered: Option<String>,
    /// Answers that are being written.
    open: BTreeSet<String>,
    idle: bool,
}

impl Turn {
    pub fn prompt(&mut self) {
        self.sent += 1;
    }

    pub fn refused(&mut self) {
        self.sent = self.sent.saturating_sub(1);
    }

    /// A message of people; whether it is a new one.
    pub fn said(&mut self, message: &str) {
        if self.said.insert(message.to_owned()) {
            self.sent = self.sent.saturating_sub(1);
            self.unanswered = Some(message.to_owned());
            self.idle = false;
        }
    }

    /// A message of the model; `false` when it answers something of an earlier turn.
    pub fn answers(&mut self, message: &str, to: Option<&str>, is_finished: bool) -> bool {
        if to.is_some_and(|to| !self.said.contains(to)) {
            return false;
        }
        if to.is_none() || to == self.unanswered.as_deref() {
            self.unanswered = None;
        }
        if is_finished {
            self.open.remove(message);
        } else {
            self.open.insert(message.to_owned());
        }
        true
    }

    pub fn busy(&mut self) {
        self.idle = false;
    }

    /// The session says that it does nothing; what is left of an earlier turn says nothing.
    pub fn idle(&mut self) {
        self.idle = self.has_begun();
    }

    /// Whether anything of this turn was heard.
    pub fn has_begun(&self) -> bool {
        !self.said.is_empty()
    }

    pub fn is_idle(&self) -> bool {
        self.idle
    }

    pub fn is_answered(&self) -> bool {
        self.sent == 0 && self.unanswered.is_none()
    }

    /// Nothing more will come; after a failure nothing need be answered.
    pub fn is_over(&self, has_failed: bool) -> bool {
        self.idle && self.open.is_empty() && (has_failed || self.is_answered())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Turn {
        let mut turn = Turn::default();
        turn.prompt();
        turn.said("u1");
        turn
    }

    #[test]
    fn an_idle_session_is_at_its_end_when_everything_is_answered_and_written() {
        let mut turn = asked();
        turn.idle();
        assert!(!turn.is_over(false), "nobody has answered yet");
        assert!(turn.answers("a1", Some("u1"), false) && !turn.is_over(false), "the answer is being written");
        turn.answers("a1", Some("u1"), true);
        assert!(turn.is_over(false));
    }

    #[test]
    fn the_end_of_an_earlier_turn_is_not_the_end_of_this_one() {
        let mut turn = Turn::default();
        turn.prompt();
        turn.idle();
        assert!(!turn.is_idle() && !turn.answers("a0", Some("u0"), true));
        turn.said("u1");
        assert!(!turn.is_over(false));
    }

    #[test]
    fn words_that_come_during_the_last_answer_are_waited_for() {
        let mut turn = asked();
        turn.prompt();
        turn.answers("a1", Some("u1"), true);
        turn.idle();
        assert!(!turn.is_over(false), "they are on their way");
        turn.said("u2");
        turn.idle();
        assert!(!turn.is_over(false), "they are heard");
        turn.answers("a2", Some("u2"), true);
        assert!(turn.is_over(false));
    }

    #[test]
    fn after_a_failure_the_last_message_must_be_finished_but_nothing_answered() {
        let mut turn = asked();
        turn.idle();
        assert!(turn.is_over(true));
        turn.answers("a1", Some("u1"), false);
        assert!(!turn.is_over(true), "it is still at it, and would swallow what comes now");
    }
}
