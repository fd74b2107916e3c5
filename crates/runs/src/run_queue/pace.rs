//! When the view of a run is shown again: soon after a change, and now and then so that the clock moves.

use std::time::Duration;

/// Times are counted from the beginning of the run.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    interval: Duration,
    shown: Duration,
    changed: bool,
}

impl Pace {
    /// The first view counts as shown at the beginning.
    pub fn new(interval: Duration) -> Self {
        Self { interval, shown: Duration::ZERO, changed: false }
    }

    pub fn changed(&mut self) {
        self.changed = true;
    }

    /// When to show next.
    pub fn due(&self) -> Duration {
        let wait = if self.changed { self.interval } else { self.interval.max(tick(self.shown)) };
        self.shown + wait
    }

    pub fn shown(&mut self, now: Duration) {
        self.shown = now;
        self.changed = false;
    }
}

/// A clock that nobody watches closely for an hour need not move every second.
fn tick(elapsed: Duration) -> Duration {
    Duration::from_secs(match elapsed.as_secs() {
        0..30 => 2,
        30..600 => 5,
        _ => 30,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn edits_are_not_more_frequent_than_the_configured_interval() {
        let mut pace = Pace::new(3 * SECOND);
        pace.changed();
        assert_eq!(pace.due(), 3 * SECOND);
        pace.shown(4 * SECOND);
        pace.changed();
        pace.changed();
        assert_eq!(pace.due(), 7 * SECOND);
    }

    #[test]
    fn without_a_change_only_the_clock_moves_and_the_longer_the_slower() {
        let mut pace = Pace::new(SECOND);
        assert_eq!(pace.due(), 2 * SECOND);
        pace.shown(100 * SECOND);
        assert_eq!(pace.due(), 105 * SECOND);
        pace.shown(3600 * SECOND);
        assert_eq!(pace.due(), 3630 * SECOND);
    }
}
