//! How well an agent does, from 0 to 100: errors of the last minute and how long it takes to answer a ping.

use std::collections::VecDeque;

use crate::Millis;

const ERROR_WINDOW: Millis = 60_000;
const PER_ERROR: u32 = 10;
const MAX_FOR_ERRORS: u32 = 40;
/// A new measurement counts a fifth, so that one slow answer condemns nobody.
const NEW_SHARE: f64 = 0.2;

#[derive(Clone, Debug, Default)]
pub struct Health {
    errors: VecDeque<Millis>,
    round_trip: Option<f64>,
}

impl Health {
    /// A time-out or a lost connection. What the agent answers, an error included, shows that it is well.
    pub fn error(&mut self, now: Millis) {
        self.errors.push_back(now);
        // More than this many change nothing.
        if self.errors.len() > (MAX_FOR_ERRORS / PER_ERROR) as usize {
            self.errors.pop_front();
        }
    }

    pub fn round_trip(&mut self, took: Millis) {
        let took = took.max(0) as f64;
        self.round_trip = Some(self.round_trip.map_or(took, |known| known * (1.0 - NEW_SHARE) + took * NEW_SHARE));
    }

    /// The average of the last round trips in milliseconds.
    pub fn average_round_trip(&self) -> Option<f64> {
        self.round_trip
    }

    pub fn score(&self, now: Millis) -> u32 {
        let recent = self.errors.iter().filter(|at| now - **at < ERROR_WINDOW).count() as u32;
        100 - (recent * PER_ERROR).min(MAX_FOR_ERRORS) - self.for_slowness()
    }

    fn for_slowness(&self) -> u32 {
        match self.round_trip {
            Some(average) if average > 1000.0 => 30,
            Some(average) if average > 500.0 => 20,
            Some(average) if average > 200.0 => 10,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_of_the_last_minute_costs_ten_and_all_of_them_forty_at_most() {
        let mut health = Health::default();
        assert_eq!(health.score(0), 100);
        for (count, expected) in [(1, 90), (2, 80), (3, 70), (4, 60), (5, 60), (60, 60)] {
            let mut health = Health::default();
            (0..count).for_each(|_| health.error(1000));
            assert_eq!(health.score(1000), expected, "{count} errors");
        }
        health.error(1000);
        assert_eq!(health.score(1000 + ERROR_WINDOW - 1), 90);
        assert_eq!(health.score(1000 + ERROR_WINDOW), 100);
    }

    #[test]
    fn slow_answers_cost_ten_twenty_or_thirty() {
        for (took, expected) in [(0, 100), (200, 100), (201, 90), (500, 90), (501, 80), (1000, 80), (1001, 70)] {
            let mut health = Health::default();
            health.round_trip(took);
            assert_eq!(health.score(0), expected, "{took} ms");
        }
    }

    #[test]
    fn a_new_round_trip_counts_a_fifth() {
        let mut health = Health::default();
        health.round_trip(100);
        health.round_trip(600);
        assert_eq!(health.average_round_trip(), Some(200.0));
    }
}
