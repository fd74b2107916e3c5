//! The channels as the bot sees them: which there are, where it was asked to join, what was said, whose turn it is.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::context::{History, Said};
use crate::link::Channel;
use crate::route::Place;

/// Questions that may wait in one channel; more would be answered when nobody remembers them.
const MAX_WAITING: usize = 20;

pub struct Rooms {
    rooms: Mutex<HashMap<String, Room>>,
    most_messages: usize,
}

#[derive(Default)]
struct Room {
    channel: Option<Channel>,
    is_joined: bool,
    history: History,
    floor: Arc<tokio::sync::Mutex<()>>,
    waiting: Arc<()>,
}

/// A place in the queue of a channel. Whoever holds it may wait for the floor: a growing answer is one message of one
/// speaker, so nothing else may be said there in between.
pub struct Turn {
    floor: Arc<tokio::sync::Mutex<()>>,
    _place: Arc<()>,
}

impl Turn {
    pub async fn floor(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.floor.lock().await
    }

    pub fn floor_now(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        self.floor.try_lock().ok()
    }
}

impl Rooms {
    pub fn new(most_messages: usize) -> Self {
        Self { rooms: Mutex::default(), most_messages }
    }

    /// Takes over the server's list.
    pub fn learn(&self, channels: Vec<Channel>) {
        let mut rooms = self.rooms.lock();
        for room in rooms.values_mut() {
            room.channel = None;
        }
        for channel in channels {
            let room = rooms.entry(channel.uid.clone()).or_default();
            room.channel = Some(channel);
        }
    }

    pub fn set_joined(&self, channel_uid: &str, is_joined: bool) {
        self.rooms.lock().entry(channel_uid.to_owned()).or_default().is_joined = is_joined;
    }

    /// Where the permission to answer depends on the channel; none when the server has not listed it.
    pub fn place(&self, channel_uid: &str) -> Option<Place> {
        let rooms = self.rooms.lock();
        let room = rooms.get(channel_uid)?;
        Some(Place { is_direct: room.channel.as_ref()?.is_direct, is_joined: room.is_joined })
    }

    /// The channel with this id or name, with or without `#`.
    pub fn find(&self, name: &str) -> Option<Channel> {
        let rooms = self.rooms.lock();
        let known = || rooms.values().filter_map(|room| room.channel.as_ref());
        let plain = name.trim_start_matches('#').to_lowercase();
        let by_name = || known().find(|channel| channel.name.trim_start_matches('#').to_lowercase() == plain);
        known().find(|channel| channel.uid == name).or_else(by_name).cloned()
    }

    pub fn name(&self, channel_uid: &str) -> String {
        self.find(channel_uid).map_or_else(|| channel_uid.to_owned(), |channel| channel.name)
    }

    /// How many channels are listed, and in how many the bot was asked to join.
    pub fn count(&self) -> (usize, usize) {
        let rooms = self.rooms.lock();
        let listed = rooms.values().filter(|room| room.channel.is_some());
        (listed.count(), rooms.values().filter(|room| room.is_joined).count())
    }

    /// Remembers what somebody said, and returns its number.
    pub fn heard(&self, channel_uid: &str, nick: &str, text: &str) -> u64 {
        self.with(channel_uid, |room| room.history.push(self.most_messages, false, nick, text))
    }

    pub fn said(&self, channel_uid: &str, nick: &str, text: &str) {
        self.with(channel_uid, |room| room.history.push_own(self.most_messages, nick, text));
    }

    pub fn up_to(&self, channel_uid: &str, number: u64) -> Vec<Said> {
        self.with(channel_uid, |room| room.history.up_to(number))
    }

    /// A place in the channel's queue, if it is not too long.
    pub fn turn(&self, channel_uid: &str) -> Option<Turn> {
        self.with(channel_uid, |room| {
            let free = Arc::strong_count(&room.waiting) <= MAX_WAITING;
            free.then(|| Turn { floor: room.floor.clone(), _place: room.waiting.clone() })
        })
    }

    fn with<T>(&self, channel_uid: &str, work: impl FnOnce(&mut Room) -> T) -> T {
        work(self.rooms.lock().entry(channel_uid.to_owned()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn general() -> Channel {
        Channel { uid: "ch1".into(), name: "general".into(), is_direct: false }
    }

    #[test]
    fn a_channel_is_found_by_id_and_by_name() {
        let rooms = Rooms::new(50);
        rooms.learn(vec![general()]);
        for name in ["ch1", "general", "#General"] {
            assert_eq!(rooms.find(name), Some(general()), "{name}");
        }
        assert_eq!(rooms.find("other"), None);
    }

    #[test]
    fn what_was_joined_and_said_survives_a_new_list() {
        let rooms = Rooms::new(50);
        rooms.set_joined("ch1", true);
        rooms.heard("ch1", "ann", "hi");
        assert!(rooms.place("ch1").is_none(), "not listed yet");
        rooms.learn(vec![general()]);
        assert!(rooms.place("ch1").is_some_and(|place| place.is_joined));
        assert_eq!(rooms.up_to("ch1", 0).len(), 1);
        rooms.learn(Vec::new());
        assert!(rooms.place("ch1").is_none(), "the bot was removed from it");
        assert_eq!(rooms.count(), (0, 1));
    }

    #[test]
    fn a_queue_has_an_end() {
        let rooms = Rooms::new(50);
        let turns: Vec<_> = (0..25).filter_map(|_| rooms.turn("ch1")).collect();
        assert_eq!(turns.len(), MAX_WAITING);
        drop(turns);
        assert!(rooms.turn("ch1").is_some());
    }

    #[test]
    fn only_one_has_the_floor() {
        let rooms = Rooms::new(50);
        let (one, two) = (rooms.turn("ch1").unwrap(), rooms.turn("ch1").unwrap());
        let floor = one.floor_now();
        assert!(floor.is_some() && two.floor_now().is_none());
        drop(floor);
        assert!(two.floor_now().is_some());
    }
}
