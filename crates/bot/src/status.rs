//! What the bot is doing, for whoever watches it: its state and its counters.

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::watch;

use crate::life::State;
use crate::route::Me;

/// A look at the bot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    pub state: State,
    /// The server, without what may be secret in its address.
    pub server: String,
    pub username: String,
    pub nick: String,
    pub channels: usize,
    /// Channels whose every message it answers because it was asked to join.
    pub joined: usize,
    pub counters: Counters,
}

/// What happened since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    pub messages: u64,
    pub answers: u64,
    pub failures: u64,
    pub tool_calls: u64,
    pub connections: u64,
}

impl Counters {
    /// By name, as the database keeps them, and less what was kept before.
    pub fn since(self, kept: Self) -> Vec<(&'static str, u64)> {
        vec![
            ("messages", self.messages - kept.messages),
            ("answers", self.answers - kept.answers),
            ("failures", self.failures - kept.failures),
            ("tool_calls", self.tool_calls - kept.tool_calls),
            ("connections", self.connections - kept.connections),
        ]
    }
}

/// The present status; many may watch it.
pub struct Status {
    sender: watch::Sender<Snapshot>,
    kept: Mutex<Counters>,
}

impl Status {
    pub fn new(server: String) -> Self {
        let snapshot = Snapshot {
            state: State::Initializing,
            server,
            username: String::new(),
            nick: String::new(),
            channels: 0,
            joined: 0,
            counters: Counters::default(),
        };
        Self { sender: watch::Sender::new(snapshot), kept: Mutex::default() }
    }

    pub fn watch(&self) -> watch::Receiver<Snapshot> {
        self.sender.subscribe()
    }

    pub fn state(&self) -> State {
        self.sender.borrow().state
    }

    /// Goes on to the next state, if the life of a bot allows it.
    pub fn become_(&self, next: State) {
        self.sender.send_if_modified(|snapshot| {
            let allowed = snapshot.state.may_become(next);
            if allowed {
                tracing::info!(from = snapshot.state.word(), to = next.word(), "state");
                snapshot.state = next;
            }
            allowed
        });
    }

    pub fn is(&self, me: &Me) {
        self.sender.send_modify(|snapshot| {
            snapshot.username = me.username.clone();
            snapshot.nick = me.nick.clone();
        });
    }

    pub fn rooms(&self, channels: usize, joined: usize) {
        self.sender.send_modify(|snapshot| (snapshot.channels, snapshot.joined) = (channels, joined));
    }

    pub fn count(&self, change: impl FnOnce(&mut Counters)) {
        self.sender.send_modify(|snapshot| change(&mut snapshot.counters));
    }

    /// What the database does not know yet; the caller writes it.
    pub fn take_counts(&self) -> Option<Vec<(&'static str, u64)>> {
        let now = self.sender.borrow().counters;
        let mut kept = self.kept.lock();
        let counts = now.since(*kept);
        *kept = now;
        counts.iter().any(|(_, count)| *count > 0).then_some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_may_not_follow_is_not_taken() {
        let status = Status::new("ws://h".into());
        status.become_(State::Running);
        assert_eq!(status.state(), State::Initializing);
        status.become_(State::Initialized);
        assert_eq!(status.state(), State::Initialized);
    }

    #[test]
    fn every_count_is_handed_out_once() {
        let status = Status::new("ws://h".into());
        assert_eq!(status.take_counts(), None);
        status.count(|counters| counters.answers += 2);
        assert!(status.take_counts().unwrap().contains(&("answers", 2)));
        assert_eq!(status.take_counts(), None);
    }
}
