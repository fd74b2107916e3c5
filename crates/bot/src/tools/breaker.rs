//! The circuit breaker of one tool (section 13): after too many failures it rests, then is tried carefully.

use std::time::{Duration, Instant};

use crate::settings::{Limits, seconds};

/// `CLOSED` → (threshold exceeded) → `OPEN` → (timeout elapsed) → `HALF_OPEN` → (success) → `CLOSED`.
#[derive(Clone, Debug)]
pub struct Breaker {
    threshold: u32,
    recovery: Duration,
    trials: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { since: Instant },
    HalfOpen { since: Instant, calls: u32 },
}

impl Breaker {
    pub fn new(limits: &Limits) -> Self {
        Self {
            threshold: limits.circuit_failure_threshold.max(1),
            recovery: seconds(limits.circuit_recovery_timeout_s),
            trials: limits.circuit_half_open_max_calls.max(1),
            state: State::Closed { failures: 0 },
        }
    }

    /// Whether a call may be made now; `Err` is the time until one may.
    pub fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        match self.state {
            State::Closed { .. } => Ok(()),
            State::Open { since } => {
                let left = self.recovery.saturating_sub(now.saturating_duration_since(since));
                if !left.is_zero() {
                    return Err(left);
                }
                self.state = State::HalfOpen { since: now, calls: 1 };
                Ok(())
            }
            State::HalfOpen { calls, since } if calls < self.trials => {
                self.state = State::HalfOpen { since, calls: calls + 1 };
                Ok(())
            }
            State::HalfOpen { since, .. } => {
                // Trials that never came back must not keep the tool shut for ever.
                let left = self.recovery.saturating_sub(now.saturating_duration_since(since));
                if left.is_zero() {
                    self.state = State::HalfOpen { since: now, calls: 1 };
                    return Ok(());
                }
                Err(left)
            }
        }
    }

    pub fn succeeded(&mut self) {
        self.state = State::Closed { failures: 0 };
    }

    pub fn failed(&mut self, now: Instant) {
        self.state = match self.state {
            State::Closed { failures } if failures + 1 < self.threshold => State::Closed { failures: failures + 1 },
            State::Closed { .. } | State::HalfOpen { .. } => State::Open { since: now },
            // A call that began before the breaker opened.
            open @ State::Open { .. } => open,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secs(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn opened(now: Instant) -> Breaker {
        let mut breaker = Breaker::new(&Limits::default());
        for _ in 0..5 {
            breaker.admit(now).unwrap();
            breaker.failed(now);
        }
        breaker
    }

    #[test]
    fn it_opens_at_the_fifth_consecutive_failure() {
        let now = Instant::now();
        let mut breaker = Breaker::new(&Limits::default());
        for _ in 0..4 {
            breaker.failed(now);
        }
        assert!(breaker.admit(now).is_ok());
        breaker.failed(now);
        assert_eq!(breaker.admit(now), Err(secs(60)));
    }

    #[test]
    fn a_success_in_between_starts_the_count_again() {
        let now = Instant::now();
        let mut breaker = Breaker::new(&Limits::default());
        for _ in 0..4 {
            breaker.failed(now);
        }
        breaker.succeeded();
        breaker.failed(now);
        assert!(breaker.admit(now).is_ok());
    }

    #[test]
    fn after_60_seconds_it_lets_three_calls_through() {
        let now = Instant::now();
        let mut breaker = opened(now);
        assert!(breaker.admit(now + secs(59)).is_err());
        for _ in 0..3 {
            assert!(breaker.admit(now + secs(60)).is_ok());
        }
        assert!(breaker.admit(now + secs(60)).is_err());
    }

    #[test]
    fn a_success_while_half_open_closes_it() {
        let now = Instant::now();
        let mut breaker = opened(now);
        breaker.admit(now + secs(60)).unwrap();
        breaker.succeeded();
        for _ in 0..10 {
            assert!(breaker.admit(now + secs(60)).is_ok());
        }
    }

    #[test]
    fn a_failure_while_half_open_opens_it_again() {
        let now = Instant::now();
        let mut breaker = opened(now);
        breaker.admit(now + secs(60)).unwrap();
        breaker.failed(now + secs(61));
        assert_eq!(breaker.admit(now + secs(62)), Err(secs(59)));
    }

    proptest! {
        /// Whatever happens, a breaker that is left alone for long enough lets somebody through.
        #[test]
        fn it_never_stays_shut(steps in prop::collection::vec((0u8..3, 0u64..30), 0..60)) {
            let mut now = Instant::now();
            let mut breaker = Breaker::new(&Limits::default());
            for (what, later) in steps {
                now += secs(later);
                match what {
                    0 => { let _ = breaker.admit(now); }
                    1 => breaker.failed(now),
                    _ => breaker.succeeded(),
                }
            }
            prop_assert!(breaker.admit(now + secs(60)).is_ok());
        }
    }
}
