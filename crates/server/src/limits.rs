//! How often somebody may try: a generous bucket per member for requests, a tight one for failed log-ins.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use folkmoot_core::ids::MemberId;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use parking_lot::Mutex;

const REQUESTS_PER_SECOND: u32 = 1000;
const REQUEST_BURST: u32 = 2000;
const FAILURES_PER_ACCOUNT: u32 = 5;
const FAILURES_PER_ADDRESS: u32 = 30;
const FAILURE_WINDOW: Duration = Duration::from_secs(60);
/// Beyond this many keys the expired ones are swept out, so that guessing names costs no memory for long.
const SWEEP_AT: usize = 10_000;

/// Try again after this long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAfter(pub Duration);

impl RetryAfter {
    /// Rounded up and never zero: a client that waits this long may come back.
    pub fn whole_seconds(self) -> u64 {
        (self.0.as_millis().div_ceil(1000) as u64).max(1)
    }
}

pub struct RateLimits {
    requests: DefaultKeyedRateLimiter<MemberId>,
    clock: DefaultClock,
    accounts: Mutex<Failures<String>>,
    addresses: Mutex<Failures<IpAddr>>,
}

impl Default for RateLimits {
    fn default() -> Self {
        let per_second = NonZeroU32::new(REQUESTS_PER_SECOND).unwrap_or(NonZeroU32::MIN);
        let burst = NonZeroU32::new(REQUEST_BURST).unwrap_or(NonZeroU32::MIN);
        Self {
            requests: RateLimiter::keyed(Quota::per_second(per_second).allow_burst(burst)),
            clock: DefaultClock::default(),
            accounts: Mutex::new(Failures::new(FAILURES_PER_ACCOUNT)),
            addresses: Mutex::new(Failures::new(FAILURES_PER_ADDRESS)),
        }
    }
}

impl RateLimits {
    pub fn check_request(&self, member: MemberId) -> Result<(), RetryAfter> {
        self.requests.check_key(&member).map_err(|until| RetryAfter(until.wait_time_from(self.clock.now())))
    }

    /// Whether another log-in may be tried now; only failures count against it.
    pub fn check_login(&self, account: &str, address: IpAddr) -> Result<(), RetryAfter> {
        let now = Instant::now();
        self.accounts.lock().check(&fold(account), now)?;
        self.addresses.lock().check(&address, now)
    }

    /// Whether somebody who has no address may guess again.
    pub fn check_guess(&self, guesser: &str) -> Result<(), RetryAfter> {
        self.accounts.lock().check(&fold(guesser), Instant::now())
    }

    pub fn guess_failed(&self, guesser: &str) {
        self.accounts.lock().count(fold(guesser), Instant::now());
    }

    pub fn login_failed(&self, account: &str, address: IpAddr) {
        let now = Instant::now();
        self.accounts.lock().count(fold(account), now);
        self.addresses.lock().count(address, now);
    }
}

fn fold(account: &str) -> String {
    account.trim().to_lowercase()
}

/// Failures within a window that starts with the first of them.
struct Failures<K> {
    allowed: u32,
    seen: HashMap<K, (u32, Instant)>,
}

impl<K: Hash + Eq> Failures<K> {
    fn new(allowed: u32) -> Self {
        Self { allowed, seen: HashMap::new() }
    }

    fn check(&self, key: &K, now: Instant) -> Result<(), RetryAfter> {
        let Some((count, since)) = self.seen.get(key) else { return Ok(()) };
        let left = FAILURE_WINDOW.saturating_sub(now.duration_since(*since));
        if *count >= self.allowed && !left.is_zero() { Err(RetryAfter(left)) } else { Ok(()) }
    }

    fn count(&mut self, key: K, now: Instant) {
        if self.seen.len() >= SWEEP_AT {
            self.seen.retain(|_, (_, since)| now.duration_since(*since) < FAILURE_WINDOW);
        }
        let entry = self.seen.entry(key).or_insert((0, now));
        if now.duration_since(entry.1) >= FAILURE_WINDOW {
            *entry = (0, now);
        }
        entry.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_limited_per_member() {
        let limits = RateLimits::default();
        let (busy, calm) = (MemberId(1), MemberId(2));
        let refused = (0..100_000).find_map(|_| limits.check_request(busy).err()).expect("a limit");
        assert_eq!(refused.whole_seconds(), 1);
        assert_eq!(limits.check_request(calm), Ok(()));
    }

    #[test]
    fn failed_logins_are_limited_per_key_until_the_window_is_over() {
        let start = Instant::now();
        let mut failures = Failures::new(2);
        failures.count("a", start);
        assert_eq!(failures.check(&"a", start), Ok(()));
        failures.count("a", start);
        assert_eq!(failures.check(&"a", start), Err(RetryAfter(FAILURE_WINDOW)));
        assert_eq!(failures.check(&"b", start), Ok(()));
        assert_eq!(failures.check(&"a", start + FAILURE_WINDOW), Ok(()));
    }

    #[test]
    fn an_account_is_the_same_in_any_case() {
        let limits = RateLimits::default();
        let address = IpAddr::from([127, 0, 0, 1]);
        for name in ["Ana", "ana", "ANA", "ana ", " aNa"] {
            assert!(limits.check_login(name, address).is_ok());
            limits.login_failed(name, address);
        }
        assert!(limits.check_login("ana", address).is_err());
    }
}
