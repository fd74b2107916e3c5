//! How much somebody may use: so many things in so long a time, and so many bytes. Time is an argument, as everywhere here.

use std::collections::HashMap;
use std::hash::Hash;

use crate::ids::{MemberId, WorkspaceId};
use crate::{Millis, Refusal};

const MICROS: i64 = 1000;
const HOUR: Millis = 3_600_000;
/// Beyond this many keys those are swept out whose use is forgotten.
const SWEEP_AT: usize = 10_000;

/// So many within so long a time; a count of 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Allowance {
    pub count: u32,
    pub within: Millis,
}

impl Allowance {
    pub const fn per_hour(count: u32) -> Self {
        Self { count, within: HOUR }
    }

    pub const fn per_minute(count: u32) -> Self {
        Self { count, within: 60_000 }
    }

    /// On the average of a while: a burst of as many as that while allows is fine.
    pub const fn per_second(count: u32, over_seconds: u32) -> Self {
        Self { count: count.saturating_mul(over_seconds), within: over_seconds as Millis * 1000 }
    }

    /// How long it takes until the use of one is forgotten, in microseconds.
    fn interval(self) -> i64 {
        (self.within * MICROS / i64::from(self.count.max(1))).max(1)
    }
}

/// What each has used of an allowance. What was used is forgotten steadily, so there is no moment at which all begins anew.
#[derive(Clone, Debug)]
pub struct Tab<K> {
    /// When everything that was used is forgotten, in microseconds.
    due: HashMap<K, i64>,
}

impl<K> Default for Tab<K> {
    fn default() -> Self {
        Self { due: HashMap::new() }
    }
}

impl<K: Hash + Eq> Tab<K> {
    /// Whether one more is allowed now; otherwise in how many milliseconds.
    pub fn check(&self, key: &K, allowance: Allowance, now: Millis) -> Result<(), Millis> {
        let after = self.outstanding(key, now) + allowance.interval();
        let excess = after - allowance.within * MICROS;
        if allowance.count == 0 || excess <= 0 { Ok(()) } else { Err((excess / MICROS).max(1)) }
    }

    pub fn charge(&mut self, key: K, allowance: Allowance, now: Millis) {
        if allowance.count == 0 {
            return;
        }
        if self.due.len() >= SWEEP_AT && !self.due.contains_key(&key) {
            self.due.retain(|_, due| *due > now * MICROS);
        }
        let due = self.outstanding(&key, now) + allowance.interval();
        self.due.insert(key, now * MICROS + due);
    }

    /// Takes one, or says in how many milliseconds one may be taken.
    pub fn take(&mut self, key: K, allowance: Allowance, now: Millis) -> Result<(), Millis> {
        self.check(&key, allowance, now)?;
        self.charge(key, allowance, now);
        Ok(())
    }

    /// How many of the allowance are used up now.
    pub fn used(&self, key: &K, allowance: Allowance, now: Millis) -> u64 {
        let interval = allowance.interval();
        u64::try_from((self.outstanding(key, now) + interval - 1) / interval).unwrap_or(0)
    }

    fn outstanding(&self, key: &K, now: Millis) -> i64 {
        self.due.get(key).map_or(0, |due| (due - now * MICROS).max(0))
    }
}

/// The limits that the rules know. Settings; none of them stands for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QuotaRules {
    pub channels: Allowance,
    pub members: Allowance,
    pub reactions_per_message: u32,
    pub member_bytes: u64,
    pub workspace_bytes: u64,
}

/// What was made lately: channels by whoever answers for their maker, members by workspace. Not stored; a restart forgets it.
#[derive(Clone, Debug, Default)]
pub struct Made {
    pub channels: Tab<MemberId>,
    pub members: Tab<WorkspaceId>,
}

/// Too much at once: `what` is refused, and when it would not be.
pub fn too_often(what: &str, retry_in: Millis) -> Refusal {
    let seconds = (retry_in.max(1) + 999) / 1000;
    Refusal {
        retry_in: Some(retry_in),
        ..Refusal::with_text(crate::Code::RateLimited, format!("{what}; retry in {seconds} s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_the_whole_allowance_is_fine_and_then_one_at_a_time() {
        let (mut tab, allowance) = (Tab::default(), Allowance::per_minute(6));
        for _ in 0..6 {
            assert_eq!(tab.take("ana", allowance, 1000), Ok(()));
        }
        assert_eq!(tab.used(&"ana", allowance, 1000), 6);
        assert_eq!(tab.take("ana", allowance, 1000), Err(10_000));
        assert_eq!(tab.take("ben", allowance, 1000), Ok(()));
        assert_eq!(tab.take("ana", allowance, 11_000), Ok(()));
        assert!(tab.take("ana", allowance, 11_000).is_err());
        assert_eq!(tab.used(&"ana", allowance, 71_000), 0);
    }

    #[test]
    fn waiting_as_long_as_told_is_enough() {
        let (mut tab, allowance) = (Tab::default(), Allowance::per_second(7, 3));
        let mut now = 5;
        for _ in 0..100 {
            if let Err(wait) = tab.take((), allowance, now) {
                now += wait + 1;
                assert_eq!(tab.take((), allowance, now), Ok(()));
            }
        }
    }

    #[test]
    fn an_allowance_of_none_is_no_limit_and_keeps_nothing() {
        let mut tab = Tab::default();
        for key in 0..1000 {
            assert_eq!(tab.take(key, Allowance::per_hour(0), 0), Ok(()));
        }
        assert!(tab.due.is_empty());
    }

    #[test]
    fn what_is_forgotten_is_swept_out() {
        let (mut tab, allowance) = (Tab::default(), Allowance::per_minute(1));
        for key in 0..SWEEP_AT {
            tab.charge(key, allowance, 0);
        }
        tab.charge(SWEEP_AT, allowance, 120_000);
        assert_eq!(tab.due.len(), 1);
    }
}
