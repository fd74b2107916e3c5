//! When to wait a moment before a commit, so that one commit serves more messages.
//!
//! A commit costs about the same for one message as for twenty. When many members speak at a steady pace, waiting a few
//! milliseconds saves most commits; when one member waits for each acknowledgement, it only costs time. So the executor
//! waits only if, going by the last moments, others are about to speak, and never longer than anybody would notice.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use folkmoot_core::ids::MemberId;

use super::{Job, Work};

/// How long a message waits for company where very many speak: half of it, on average, and nearly all that a delivery takes.
const MIN_WAIT: Duration = Duration::from_millis(4);
/// The longest it waits, where few speak and a commit would otherwise serve one or two.
const MAX_WAIT: Duration = Duration::from_millis(40);
/// A commit that serves this many is worth it.
const GOOD_BATCH: u32 = 20;
/// How far back the pace is judged.
const WINDOW: Duration = Duration::from_millis(50);
/// A batch of this size is worth a commit of its own.
const FULL_BATCH: usize = 64;
/// Fewer speakers than this in the window: everybody is served at once.
const FEW_SPEAKERS: usize = 8;
const REMEMBERED: usize = 1024;
/// A lull is this many times the usual time between two arrivals.
const LULL: u32 = 4;
const SHORTEST_LULL: Duration = Duration::from_micros(200);
/// Where arrivals are so far apart that a lull would last longer than this, looking for one costs more than it saves.
const LONGEST_LULL: Duration = Duration::from_millis(5);

/// How long to wait before a batch: until this many jobs wait, but no longer than this, and not through a lull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathering {
    pub count: usize,
    pub at_most: Duration,
    /// Nobody came for this long: those who are expected wait for somebody who is in the batch.
    pub lull: Duration,
}

pub struct Pace {
    arrivals: VecDeque<(Instant, MemberId)>,
    last_job: Instant,
}

impl Pace {
    pub fn new(now: Instant) -> Self {
        Self { arrivals: VecDeque::new(), last_job: now }
    }

    pub fn is_quiet(&self, now: Instant, long: Duration) -> bool {
        now.duration_since(self.last_job) >= long
    }

    /// Takes note of who spoke.
    pub fn follow(&mut self, batch: &[Job], now: Instant) {
        self.last_job = now;
        let speakers = batch.iter().filter(|job| matches!(job.work, Work::Decide(_))).map(|job| job.actor.member);
        self.note(speakers, now);
    }

    /// What to wait for before the next batch; none when everybody is served at once.
    pub fn gathering(&self) -> Option<Gathering> {
        let count = self.expected();
        let between_arrivals = WINDOW / u32::try_from(self.arrivals.len().max(1)).unwrap_or(u32::MAX);
        let lull = (between_arrivals * LULL).max(SHORTEST_LULL);
        let lull = if lull > LONGEST_LULL { MAX_WAIT } else { lull };
        (count > 1).then_some(Gathering { count, at_most: self.wait(), lull })
    }

    /// Until a good batch has come, within bounds.
    fn wait(&self) -> Duration {
        let count = u32::try_from(self.arrivals.len().max(1)).unwrap_or(u32::MAX);
        (WINDOW * GOOD_BATCH / count).clamp(MIN_WAIT, MAX_WAIT)
    }

    fn note(&mut self, speakers: impl Iterator<Item = MemberId>, now: Instant) {
        self.arrivals.extend(speakers.map(|member| (now, member)));
        let old = |at: &Instant| now.duration_since(*at) > WINDOW;
        while self.arrivals.len() > REMEMBERED || self.arrivals.front().is_some_and(|(at, _)| old(at)) {
            self.arrivals.pop_front();
        }
    }

    /// How many will have spoken by the end of the wait, at the pace of the window, each counted once: whoever waits for an
    /// answer does not speak again before it.
    fn expected(&self) -> usize {
        if self.arrivals.len() < FEW_SPEAKERS {
            return 0;
        }
        let mut speakers: Vec<_> = self.arrivals.iter().map(|(_, member)| *member).collect();
        speakers.sort_unstable();
        speakers.dedup();
        if speakers.len() < FEW_SPEAKERS {
            return 0;
        }
        let per_wait = self.arrivals.len() * self.wait().as_millis() as usize / WINDOW.as_millis() as usize;
        (per_wait + 1).min(speakers.len() * 3 / 4).min(FULL_BATCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace_of(arrivals: impl Iterator<Item = (u64, u128)>) -> usize {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        for (at_ms, member) in arrivals {
            pace.note([MemberId(member)].into_iter(), start + Duration::from_millis(at_ms));
        }
        pace.expected()
    }

    #[test]
    fn one_member_that_waits_for_each_acknowledgement_is_never_kept_waiting() {
        assert_eq!(pace_of((0..200).map(|number| (number / 4, 1))), 0);
    }

    #[test]
    fn many_members_at_a_steady_pace_share_commits() {
        // 500 members, one message each per second: one every 2 ms.
        assert_eq!(pace_of((0..100).map(|number| (number * 2, number.into()))), 19);
    }

    #[test]
    fn a_closed_circle_of_senders_is_served_when_most_of_them_wait() {
        assert_eq!(pace_of((0..400).map(|number| (number / 8, (number % 12).into()))), 9);
    }

    #[test]
    fn a_full_batch_is_enough() {
        assert_eq!(pace_of((0..1000).map(|number| (number / 20, number.into()))), FULL_BATCH);
    }
}
