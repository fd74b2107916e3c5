//! Leaves an agent alone that does not answer: half of its requests failed within ten seconds, so it gets thirty to recover.
//!
//! One breaker per agent: an agent that hangs must not stop the others. Only time-outs and lost connections count
//! as failures; an agent that answers "Track not found" works.

use crate::Millis;

const WINDOW: Millis = 10_000;
const BUCKETS: usize = 10;
const BUCKET: Millis = WINDOW / BUCKETS as Millis;
/// Fewer requests than this say nothing about an agent.
const MIN_REQUESTS: u32 = 5;
pub const OPEN_FOR: Millis = 30_000;

/// What a breaker says of the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Go,
    /// Not before this time.
    Wait(Millis),
}

#[derive(Clone, Debug, Default)]
pub struct Breaker {
    buckets: [Bucket; BUCKETS],
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    began: Millis,
    requests: u32,
    failures: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Closed,
    Open {
        until: Millis,
    },
    /// One request was let through; its outcome decides, or this time does.
    Trying {
        until: Millis,
    },
}

impl Breaker {
    /// Whether a request may be made now. After the pause one may, as a trial.
    pub fn ask(&mut self, now: Millis) -> Verdict {
        let verdict = self.look(now);
        if verdict == Verdict::Go && self.phase != Phase::Closed {
            self.phase = Phase::Trying { until: now + OPEN_FOR };
        }
        verdict
    }

    /// The same without making a request.
    pub fn look(&self, now: Millis) -> Verdict {
        match self.phase {
            Phase::Closed => Verdict::Go,
            Phase::Open { until } | Phase::Trying { until } if now < until => Verdict::Wait(until),
            Phase::Open { .. } | Phase::Trying { .. } => Verdict::Go,
        }
    }

    pub fn succeeded(&mut self, now: Millis) {
        if matches!(self.phase, Phase::Trying { .. }) {
            *self = Self::default();
        }
        self.bucket(now).requests += 1;
    }

    pub fn failed(&mut self, now: Millis) {
        let bucket = self.bucket(now);
        bucket.requests += 1;
        bucket.failures += 1;
        let (requests, failures) = self.recent(now);
        let too_many = requests >= MIN_REQUESTS && failures * 2 >= requests;
        match self.phase {
            Phase::Trying { .. } => self.phase = Phase::Open { until: now + OPEN_FOR },
            Phase::Closed if too_many => self.phase = Phase::Open { until: now + OPEN_FOR },
            Phase::Closed | Phase::Open { .. } => {}
        }
    }

    fn recent(&self, now: Millis) -> (u32, u32) {
        let recent = self.buckets.iter().filter(|bucket| now - bucket.began < WINDOW);
        recent.fold((0, 0), |(requests, failures), bucket| (requests + bucket.requests, failures + bucket.failures))
    }

    fn bucket(&mut self, now: Millis) -> &mut Bucket {
        let began = now - now.rem_euclid(BUCKET);
        let bucket = &mut self.buckets[(began / BUCKET).rem_euclid(BUCKETS as Millis) as usize];
        if bucket.began != began {
            *bucket = Bucket { began, ..Bucket::default() };
        }
        bucket
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(times: u32, now: Millis) -> Breaker {
        let mut breaker = Breaker::default();
        (0..times).for_each(|_| breaker.failed(now));
        breaker
    }

    #[test]
    fn half_of_the_requests_of_ten_seconds_open_it_for_thirty() {
        let mut breaker = Breaker::default();
        (0..4).for_each(|_| breaker.succeeded(50_000));
        (0..3).for_each(|_| breaker.failed(55_000));
        assert_eq!(breaker.ask(55_000), Verdict::Go, "3 of 7");
        breaker.failed(55_000);
        assert_eq!(breaker.ask(55_000), Verdict::Wait(85_000), "4 of 8");
        assert_eq!(breaker.ask(84_999), Verdict::Wait(85_000));
        assert_eq!(breaker.ask(85_000), Verdict::Go);
    }

    #[test]
    fn a_few_failures_say_nothing() {
        assert_eq!(failing(4, 0).ask(0), Verdict::Go);
        assert_eq!(failing(5, 0).ask(0), Verdict::Wait(OPEN_FOR));
    }

    #[test]
    fn what_is_older_than_ten_seconds_does_not_count() {
        let mut breaker = failing(4, 0);
        breaker.failed(WINDOW);
        assert_eq!(breaker.ask(WINDOW), Verdict::Go);
    }

    #[test]
    fn after_the_pause_one_request_is_let_through_and_its_success_closes_it() {
        let mut breaker = failing(5, 0);
        assert_eq!(breaker.ask(OPEN_FOR), Verdict::Go);
        assert_eq!(breaker.ask(OPEN_FOR), Verdict::Wait(2 * OPEN_FOR), "one trial at a time");
        breaker.succeeded(OPEN_FOR + 5);
        assert_eq!(breaker.ask(OPEN_FOR + 5), Verdict::Go);
        assert_eq!(breaker.ask(OPEN_FOR + 5), Verdict::Go);
    }

    #[test]
    fn a_failed_trial_opens_it_again() {
        let mut breaker = failing(5, 0);
        assert_eq!(breaker.ask(OPEN_FOR), Verdict::Go);
        breaker.failed(OPEN_FOR + 5);
        assert_eq!(breaker.ask(OPEN_FOR + 5), Verdict::Wait(2 * OPEN_FOR + 5));
    }

    #[test]
    fn a_trial_whose_outcome_nobody_reports_does_not_close_the_way_for_ever() {
        let mut breaker = failing(5, 0);
        assert_eq!(breaker.ask(OPEN_FOR), Verdict::Go);
        assert_eq!(breaker.ask(2 * OPEN_FOR), Verdict::Go);
    }
}
