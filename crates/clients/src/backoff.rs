//! How long to wait before the next attempt: doubling, bounded, with some chance in it so that peers do not march in step.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    jitter: Jitter,
    attempts: u32,
}

#[derive(Clone, Copy, Debug)]
enum Jitter {
    None,
    /// Up to this share less or more.
    Share(f64),
    /// Up to this much more.
    Plus(Duration),
}

impl Backoff {
    pub fn new(first: Duration, most: Duration) -> Self {
        Self { first, most, jitter: Jitter::None, attempts: 0 }
    }

    /// A second at first, half a minute at most, give or take a quarter: for whoever waits for a hub to come back.
    pub fn for_reconnecting() -> Self {
        Self::new(Duration::from_secs(1), Duration::from_secs(30)).give_or_take(0.25)
    }

    pub fn give_or_take(mut self, share: f64) -> Self {
        self.jitter = Jitter::Share(share);
        self
    }

    pub fn plus_up_to(mut self, most: Duration) -> Self {
        self.jitter = Jitter::Plus(most);
        self
    }

    /// How often [`Self::next`] was asked since the last success.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// The pause before the next attempt; `chance` is a random number from 0 to 1.
    pub fn next(&mut self, chance: f64) -> Duration {
        let doubled = 2u32.checked_pow(self.attempts).and_then(|factor| self.first.checked_mul(factor));
        let pause = doubled.unwrap_or(self.most).min(self.most);
        self.attempts = self.attempts.saturating_add(1);
        let chance = chance.clamp(0.0, 1.0);
        match self.jitter {
            Jitter::None => pause,
            Jitter::Share(share) => pause.mul_f64((1.0 + share * (2.0 * chance - 1.0)).max(0.0)),
            Jitter::Plus(most) => pause + most.mul_f64(chance),
        }
    }

    /// It worked: the next failure begins again with the first pause.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(backoff: &mut Backoff, chance: f64, count: usize) -> Vec<f64> {
        (0..count).map(|_| backoff.next(chance).as_secs_f64()).collect()
    }

    #[test]
    fn it_doubles_up_to_the_most_and_begins_again_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
        assert_eq!(seconds(&mut backoff, 0.5, 7), [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]);
        backoff.reset();
        assert_eq!(seconds(&mut backoff, 0.5, 1), [1.0]);
    }

    #[test]
    fn it_never_overflows_however_long_the_peer_is_away() {
        let mut backoff = Backoff { attempts: u32::MAX - 1, ..Backoff::for_reconnecting() };
        assert_eq!(seconds(&mut backoff, 0.5, 3), [30.0, 30.0, 30.0]);
    }

    #[test]
    fn chance_moves_the_pause_within_its_bounds() {
        let share = || Backoff::for_reconnecting();
        assert_eq!(seconds(&mut share(), 0.0, 2), [0.75, 1.5]);
        assert_eq!(seconds(&mut share(), 1.0, 2), [1.25, 2.5]);
        let plus =
            || Backoff::new(Duration::from_secs(1), Duration::from_secs(30)).plus_up_to(Duration::from_millis(500));
        assert_eq!(seconds(&mut plus(), 0.0, 2), [1.0, 2.0]);
        assert_eq!(seconds(&mut plus(), 1.0, 2), [1.5, 2.5]);
    }
}
