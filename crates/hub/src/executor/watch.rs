//! Parts of the server that react to what happens: slash commands, the router, agents hosted here.
//!
//! A watcher says what it is interested in and hears of it after the commit. Its queue is bounded and the hub never waits
//! for it: one that falls behind is told that it missed something and reads the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use folkmoot_core::State;
use folkmoot_core::event::Event;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

const QUEUED_SIGHTINGS: usize = 4096;

/// Asked on the hub's own thread for every event: it must be quick.
pub type Interest = Box<dyn Fn(&Event, &State) -> bool + Send>;

/// What a watcher hears.
#[derive(Debug)]
pub enum Sighting {
    Event(Box<Event>),
    /// Something was dropped here because the queue was full.
    Missed,
}

/// The hub's end.
pub struct Watcher {
    interest: Interest,
    queue: mpsc::Sender<Box<Event>>,
    missed: Arc<AtomicBool>,
}

/// The listener's end.
pub struct Watch {
    queue: mpsc::Receiver<Box<Event>>,
    missed: Arc<AtomicBool>,
}

pub fn pair(interest: Interest) -> (Watcher, Watch) {
    let (sender, receiver) = mpsc::channel(QUEUED_SIGHTINGS);
    let missed = Arc::new(AtomicBool::new(false));
    (Watcher { interest, queue: sender, missed: Arc::clone(&missed) }, Watch { queue: receiver, missed })
}

impl Watcher {
    /// Tells of the event if it is of interest; false once nobody listens any more.
    pub fn tell(&self, event: &Event, state: &State) -> bool {
        if !(self.interest)(event, state) {
            return true;
        }
        match self.queue.try_send(Box::new(event.clone())) {
            Ok(()) => true,
            Err(TrySendError::Full(_)) => {
                self.missed.store(true, Ordering::Release);
                true
            }
            Err(TrySendError::Closed(_)) => false,
        }
    }
}

impl Watch {
    /// The next thing of interest; none when the hub is gone.
    pub async fn next(&mut self) -> Option<Sighting> {
        // What was dropped came after all that is queued, so the queue is emptied first.
        if self.queue.is_empty() && self.missed.swap(false, Ordering::AcqRel) {
            return Some(Sighting::Missed);
        }
        self.queue.recv().await.map(Sighting::Event)
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_core::ids::{ChannelId, MemberId};

    use super::*;

    fn typing(channel: u128) -> Event {
        Event::Typing { channel: ChannelId(channel), member: MemberId(1), on: true, color: None }
    }

    fn only(channel: u128) -> Interest {
        Box::new(move |event, _| matches!(event, Event::Typing { channel: seen, .. } if seen.0 == channel))
    }

    #[tokio::test]
    async fn a_watcher_hears_what_it_is_interested_in_and_nothing_else() {
        let (watcher, mut watch) = pair(only(7));
        let state = State::default();
        assert!(watcher.tell(&typing(6), &state) && watcher.tell(&typing(7), &state));
        let Some(Sighting::Event(event)) = watch.next().await else { panic!("no event") };
        assert!(only(7)(&event, &state));
        drop(watcher);
        assert!(watch.next().await.is_none(), "the hub is gone");
    }

    #[tokio::test]
    async fn a_watcher_that_falls_behind_is_told_after_what_it_still_got() {
        let (watcher, mut watch) = pair(only(7));
        let state = State::default();
        for _ in 0..=QUEUED_SIGHTINGS {
            assert!(watcher.tell(&typing(7), &state));
        }
        for _ in 0..QUEUED_SIGHTINGS {
            assert!(matches!(watch.next().await, Some(Sighting::Event(_))));
        }
        assert!(matches!(watch.next().await, Some(Sighting::Missed)));
    }

    #[test]
    fn a_watcher_that_went_away_is_forgotten() {
        let (watcher, watch) = pair(only(7));
        drop(watch);
        assert!(!watcher.tell(&typing(7), &State::default()));
    }
}
