//! The order of one channel: every event once, none left out, whatever the connection did meanwhile.
//!
//! The hub numbers the stored events of a channel without holes. So a number beyond the next one means that
//! something is missing; what came early waits until the hub has replayed the rest.

use std::collections::BTreeMap;

/// How far a channel was shown.
#[derive(Debug)]
pub struct Cursor<T> {
    shown: u64,
    early: BTreeMap<u64, T>,
    replaying: bool,
}

impl<T> Cursor<T> {
    /// Begins after event number `after`; nothing is shown before the first replay ends.
    pub fn new(after: u64) -> Self {
        Self { shown: after, early: BTreeMap::new(), replaying: true }
    }

    /// The number after which the hub should replay.
    pub fn shown(&self) -> u64 {
        self.shown
    }

    /// Takes an event, live or replayed, and returns what can be shown now.
    pub fn take(&mut self, seq: u64, event: T) -> Vec<T> {
        if seq > self.shown {
            self.early.entry(seq).or_insert(event);
        }
        if self.replaying { Vec::new() } else { self.next_in_order() }
    }

    /// The hub has replayed everything up to `seq`.
    pub fn replayed(&mut self, seq: u64) -> Vec<T> {
        let mut ready = Vec::new();
        while let Some(entry) = self.early.first_entry() {
            if *entry.key() > seq {
                break;
            }
            ready.push(entry.remove());
        }
        self.shown = self.shown.max(seq);
        self.replaying = false;
        ready.extend(self.next_in_order());
        ready
    }

    /// Whether a replay must be asked for; the answer is yes once per hole.
    pub fn must_replay(&mut self) -> bool {
        let hole = !self.replaying && !self.early.is_empty();
        self.replaying |= hole;
        hole
    }

    /// The connection is new, so the hub must replay.
    pub fn restart(&mut self) {
        self.replaying = true;
    }

    fn next_in_order(&mut self) -> Vec<T> {
        let mut ready = Vec::new();
        while let Some(event) = self.early.remove(&(self.shown + 1)) {
            self.shown += 1;
            ready.push(event);
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_is_shown_before_the_first_replay_has_ended() {
        let mut cursor = Cursor::new(3);
        assert!(cursor.take(6, 6).is_empty());
        assert!(cursor.take(4, 4).is_empty());
        assert_eq!(cursor.replayed(5), [4, 6]);
        assert_eq!(cursor.shown(), 6);
    }

    #[test]
    fn a_hole_is_asked_for_once_and_nothing_overtakes() {
        let mut cursor = Cursor::new(0);
        cursor.replayed(0);
        assert!(!cursor.must_replay());
        assert_eq!(cursor.take(1, 1), [1]);
        assert!(cursor.take(3, 3).is_empty());
        assert!(cursor.must_replay());
        assert!(!cursor.must_replay());
        assert!(cursor.take(2, 2).is_empty());
        assert_eq!(cursor.replayed(3), [2, 3]);
    }

    #[test]
    fn numbers_without_a_frame_are_skipped_by_the_replay() {
        let mut cursor = Cursor::new(0);
        cursor.replayed(0);
        assert!(cursor.take(2, 2).is_empty());
        assert_eq!(cursor.replayed(2), [2]);
        assert_eq!(cursor.take(3, 3), [3]);
    }

    proptest! {
        /// Live frames are lost, doubled and cut off by reconnects; what is shown is still 1, 2, 3, …
        #[test]
        fn every_event_is_shown_once_and_in_order(steps in prop::collection::vec((0u8..10, 1u64..4), 1..60)) {
            let mut cursor = Cursor::new(0);
            let mut stored = 0;
            let mut shown = Vec::new();
            let replay = |cursor: &mut Cursor<u64>, stored: u64, shown: &mut Vec<u64>| {
                for seq in cursor.shown() + 1..=stored {
                    shown.extend(cursor.take(seq, seq));
                }
                shown.extend(cursor.replayed(stored));
            };
            for (what, count) in steps {
                match what {
                    0..=5 => for _ in 0..count {
                        stored += 1;
                        shown.extend(cursor.take(stored, stored));
                    },
                    6..=7 => stored += count,
                    8 => {
                        let again = stored.saturating_sub(count);
                        if again > 0 {
                            shown.extend(cursor.take(again, again));
                        }
                    }
                    _ => {
                        cursor.restart();
                        replay(&mut cursor, stored, &mut shown);
                    }
                }
                if cursor.must_replay() {
                    replay(&mut cursor, stored, &mut shown);
                }
            }
            cursor.restart();
            replay(&mut cursor, stored, &mut shown);
            prop_assert_eq!(shown, (1..=stored).collect::<Vec<_>>());
        }
    }
}
