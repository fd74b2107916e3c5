//! How long to wait before a connection is tried again.

use std::time::Duration;

use crate::settings::{Limits, seconds};

/// The delays of one outage: 1 s, 2 s, 4 s; then everything begins anew, from step 1 of the life cycle.
#[derive(Clone, Debug)]
pub struct Reconnect {
    initial: Duration,
    factor: f64,
    retries: u32,
    failed: u32,
}

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    /// Wait, then reconnect with a full login.
    Retry(Duration),
    /// The retries are exhausted: wait, then establish the full connection from step 1.
    Anew(Duration),
}

impl Reconnect {
    pub fn new(limits: &Limits) -> Self {
        Self {
            initial: seconds(limits.reconnect_initial_delay_s),
            factor: limits.reconnect_backoff_factor,
            retries: limits.reconnect_max_retries,
            failed: 0,
        }
    }

    /// Another failure of this outage.
    pub fn failed(&mut self) -> Next {
        if self.failed >= self.retries {
            self.failed = 1;
            return Next::Anew(self.delay(0));
        }
        self.failed += 1;
        Next::Retry(self.delay(self.failed - 1))
    }

    /// The connection stands: the next outage starts with the first delay.
    pub fn connected(&mut self) {
        self.failed = 0;
    }

    /// The delay after failure number `index`, counted from 0; also the pauses between the attempts of a send.
    pub fn delay(&self, index: u32) -> Duration {
        let factor = self.factor.powi(index.min(30) as i32);
        self.initial.mul_f64(factor.clamp(0.0, 3600.0)).min(Duration::from_secs(3600))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn delays_follow_1_2_4_and_then_it_begins_anew() {
        let mut reconnect = Reconnect::new(&Limits::default());
        let seen: Vec<Next> = (0..7).map(|_| reconnect.failed()).collect();
        let retry = |count| Next::Retry(secs(count));
        let anew = Next::Anew(secs(1));
        assert_eq!(seen, [retry(1), retry(2), retry(4), anew, retry(2), retry(4), anew]);
    }

    #[test]
    fn a_connection_that_stood_resets_the_delays() {
        let mut reconnect = Reconnect::new(&Limits::default());
        reconnect.failed();
        reconnect.failed();
        reconnect.connected();
        assert_eq!(reconnect.failed(), Next::Retry(secs(1)));
    }

    #[test]
    fn no_settings_make_a_delay_that_never_ends() {
        let limits = Limits { reconnect_backoff_factor: 1e12, reconnect_max_retries: 40, ..Limits::default() };
        let mut reconnect = Reconnect::new(&limits);
        for _ in 0..100 {
            let (Next::Retry(delay) | Next::Anew(delay)) = reconnect.failed();
            assert!(delay <= secs(3600));
        }
    }
}
