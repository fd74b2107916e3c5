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
/// Where the shortest wait gathers this many, it is long enough.
const ENOUGH: u32 = 5;
/// Where it does not, a message waits for a commit that serves this many.
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
        let speakers = self.speakers();
        let count = self.expected(speakers);
        (count > 1).then(|| Gathering { count, at_most: self.wait(), lull: self.lull(speakers) })
    }

    /// As short as it gathers enough, else until a good batch has come.
    fn wait(&self) -> Duration {
        let count = u32::try_from(self.arrivals.len().max(1)).unwrap_or(u32::MAX);
        if MIN_WAIT * count >= WINDOW * ENOUGH {
            return MIN_WAIT;
        }
        (WINDOW * GOOD_BATCH / count).clamp(MIN_WAIT, MAX_WAIT)
    }

    /// More speakers than a full batch holds do not all wait for somebody who is in it: looking for a lull among them only
    /// wakes the executor.
    fn lull(&self, speakers: usize) -> Duration {
        let between_arrivals = WINDOW / u32::try_from(self.arrivals.len().max(1)).unwrap_or(u32::MAX);
        let lull = (between_arrivals * LULL).max(SHORTEST_LULL);
        if lull > LONGEST_LULL || speakers > FULL_BATCH { MAX_WAIT } else { lull }
    }

    fn note(&mut self, speakers: impl Iterator<Item = MemberId>, now: Instant) {
        self.arrivals.extend(speakers.map(|member| (now, member)));
        let old = |at: &Instant| now.duration_since(*at) > WINDOW;
        while self.arrivals.len() > REMEMBERED || self.arrivals.front().is_some_and(|(at, _)| old(at)) {
            self.arrivals.pop_front();
        }
    }

    /// How many spoke within the window, each counted once; nobody where so few spoke at all that it does not matter.
    fn speakers(&self) -> usize {
        if self.arrivals.len() < FEW_SPEAKERS {
            return 0;
        }
        let mut speakers: Vec<_> = self.arrivals.iter().map(|(_, member)| *member).collect();
        speakers.sort_unstable();
        speakers.dedup();
        speakers.len()
    }

    /// How many will have spoken by the end of the wait, at the pace of the window: whoever waits for an answer does not speak
    /// again before it.
    fn expected(&self, speakers: usize) -> usize {
        if speakers < FEW_SPEAKERS {
            return 0;
        }
        let per_wait = self.arrivals.len() * self.wait().as_millis() as usize / WINDOW.as_millis() as usize;
        (per_wait + 1).min(speakers * 3 / 4).min(FULL_BATCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace_of(arrivals: impl Iterator<Item = (u64, u128)>) -> Pace {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        for (at_ms, member) in arrivals {
            pace.note([MemberId(member)].into_iter(), start + Duration::from_millis(at_ms));
        }
        pace
    }

    fn expected(arrivals: impl Iterator<Item = (u64, u128)>) -> usize {
        pace_of(arrivals).gathering().map_or(0, |gathering| gathering.count)
    }

    #[test]
    fn one_member_that_waits_for_each_acknowledgement_is_never_kept_waiting() {
        assert_eq!(expected((0..200).map(|number| (number / 4, 1))), 0);
    }

    #[test]
    fn many_members_at_a_steady_pace_share_commits() {
        // 500 members, one message each per second: one every 2 ms.
        assert_eq!(expected((0..100).map(|number| (number * 2, number.into()))), 19);
    }

    #[test]
    fn where_many_speak_nobody_waits_longer_than_it_takes_to_gather_enough() {
        // 500 members, four messages each per second: one every half millisecond.
        let gathering = pace_of((0..400).map(|number| (number / 2, number.into()))).gathering().unwrap();
        assert_eq!((gathering.count, gathering.at_most), (9, MIN_WAIT));
        assert!(gathering.lull > gathering.at_most, "nobody looks for a lull");
    }

    #[test]
    fn a_closed_circle_of_senders_is_served_when_most_of_them_wait() {
        let circle = || (0..400).map(|number| (number / 8, (number % 12).into()));
        assert_eq!(expected(circle()), 9);
        let gathering = pace_of(circle()).gathering().unwrap();
        assert!(gathering.lull < gathering.at_most, "those who are not in the batch may wait for somebody who is");
    }

    #[test]
    fn a_full_batch_is_enough() {
        assert_eq!(expected((0..1000).map(|number| (number / 20, number.into()))), FULL_BATCH);
    }
}
