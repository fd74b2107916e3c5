//! How often somebody may try what can be guessed.
//!
//! A guess is counted before it is looked at and given back if it was right, so that many at once are not more than
//! many in turn. Whom a failure counts against depends on who it may be: a device that has logged in before answers for
//! itself alone, and an address from which the account was used before for this account alone. Only strangers share the
//! limits of their address, so nobody can shut an account for its owner by guessing at it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use folkmoot_core::{Code, Refusal};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::hashing::Standing;

/// Failures within a window: of one account from one address, of one device, of one address, of one network that gives
/// out addresses (IPv6), and of one account from all places where it was never used.
const PER_ACCOUNT_AND_ADDRESS: u32 = 5;
const PER_DEVICE: u32 = 10;
const PER_ADDRESS: u32 = 30;
const PER_NETWORK: u32 = 120;
const PER_ACCOUNT: u32 = 300;
const WINDOW: Duration = Duration::from_secs(60);
/// An address from which an account was used counts as its own for so long.
const FAMILIAR_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Beyond this the older half of a table is forgotten, so that guessing costs no memory.
const MAX_ENTRIES: usize = 16_384;

/// Try again after this long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RetryAfter(pub Duration);

impl RetryAfter {
    /// Rounded up and never zero: a client that waits this long may come back.
    pub fn whole_seconds(self) -> u64 {
        (self.0.as_millis().div_ceil(1000) as u64).max(1)
    }
}

impl From<RetryAfter> for Refusal {
    fn from(wait: RetryAfter) -> Self {
        let text = format!("too many attempts; try again in {} s", wait.whole_seconds());
        Self::with_text(Code::RateLimited, text)
    }
}

pub struct RateLimits {
    /// Nobody can make names that fall on a chosen key.
    salt: [u8; 16],
    logins: Arc<Mutex<Attempts>>,
    /// Of its own, since these cost nothing: they must not push the log-ins out.
    guesses: Arc<Mutex<Attempts>>,
    familiar: Mutex<HashMap<Key, Instant>>,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self { salt: rand::random(), logins: Arc::default(), guesses: Arc::default(), familiar: Mutex::default() }
    }
}

impl RateLimits {
    /// What a log-in to an account is counted against. The device is one that has proven to have logged in before.
    pub fn login(&self, account: &str, address: IpAddr, device: Option<&str>, now: Instant) -> Attempt {
        let place = place_of(address);
        let here = self.key(&["account at", account, &place]);
        let (group, is_known, bounds) = if let Some(device) = device {
            let key = self.key(&["device", device]);
            (key, true, vec![(key, PER_DEVICE)])
        } else if self.is_familiar(here, now) {
            (here, true, vec![(here, PER_ACCOUNT_AND_ADDRESS)])
        } else {
            let mut bounds = vec![(here, PER_ACCOUNT_AND_ADDRESS), (self.key(&["account", account]), PER_ACCOUNT)];
            bounds.extend(self.of_address(address));
            (self.key(&["address", &place]), false, bounds)
        };
        Attempt { table: Arc::clone(&self.logins), bounds, standing: Standing { is_known, group: group.0 as u64 } }
    }

    /// What guessing at something else is counted against: a code, an invitation.
    pub fn guess(&self, what: &str, address: IpAddr) -> Attempt {
        let place = place_of(address);
        let here = self.key(&["guess at", what, &place]);
        let bounds = [(here, PER_ACCOUNT_AND_ADDRESS)].into_iter().chain(self.of_address(address)).collect();
        let standing = Standing { is_known: false, group: self.key(&["address", &place]).0 as u64 };
        Attempt { table: Arc::clone(&self.guesses), bounds, standing }
    }

    /// The same for somebody who is known and has no address, such as the holder of a session.
    pub fn guess_of(&self, guesser: &str) -> Attempt {
        let key = self.key(&["guesser", guesser]);
        let standing = Standing { is_known: true, group: key.0 as u64 };
        Attempt { table: Arc::clone(&self.guesses), bounds: vec![(key, PER_ACCOUNT_AND_ADDRESS)], standing }
    }

    /// From now on this address is one of the account's own.
    pub fn logged_in(&self, account: &str, address: IpAddr, now: Instant) {
        let key = self.key(&["account at", account, &place_of(address)]);
        let mut familiar = self.familiar.lock();
        make_room(&mut familiar, |since| *since);
        familiar.insert(key, now);
    }

    /// Forgets what is over.
    pub fn sweep(&self, now: Instant) {
        self.logins.lock().sweep(now);
        self.guesses.lock().sweep(now);
        let mut familiar = self.familiar.lock();
        familiar.retain(|_, since| now.duration_since(*since) < FAMILIAR_FOR);
        familiar.shrink_to_fit();
    }

    fn is_familiar(&self, key: Key, now: Instant) -> bool {
        self.familiar.lock().get(&key).is_some_and(|since| now.duration_since(*since) < FAMILIAR_FOR)
    }

    fn of_address(&self, address: IpAddr) -> Vec<Bound> {
        let mut bounds = vec![(self.key(&["address", &place_of(address)]), PER_ADDRESS)];
        if let IpAddr::V6(address) = address.to_canonical() {
            bounds.push((self.key(&["network", &prefix(address, 48).to_string()]), PER_NETWORK));
        }
        bounds
    }

    /// Of a fixed size, whatever somebody calls themselves.
    fn key(&self, parts: &[&str]) -> Key {
        let mut hasher = Sha256::new_with_prefix(self.salt);
        for part in parts {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        let digest: [u8; 32] = hasher.finalize().into();
        Key(digest[..16].iter().fold(0, |key, byte| key << 8 | u128::from(*byte)))
    }
}

/// What counts as one address: a network of IPv6 is one household, and any host in it can have any address of it.
fn place_of(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => prefix(address, 64).to_string(),
    }
}

fn prefix(address: Ipv6Addr, bits: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - bits)))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key(u128);

/// How many failures a key may have within a window.
type Bound = (Key, u32);

/// One attempt that may fail, and everything it would count against.
#[derive(Clone)]
pub struct Attempt {
    table: Arc<Mutex<Attempts>>,
    bounds: Vec<Bound>,
    /// Where it stands in the queue for hashing.
    pub standing: Standing,
}

impl Attempt {
    /// Whether it would be let through now; nothing is counted.
    pub fn check(&self, now: Instant) -> Result<(), RetryAfter> {
        self.table.lock().check(&self.bounds, now)
    }

    /// Counts it as failed, unless it is given back.
    pub fn begin(&self, now: Instant) -> Result<(), RetryAfter> {
        self.table.lock().begin(&self.bounds, now)
    }

    /// It was no guess.
    pub fn give_back(&self) {
        self.table.lock().give_back(&self.bounds);
    }
}

/// Failures within a window that starts with the first of them.
#[derive(Default)]
struct Attempts {
    seen: HashMap<Key, (u32, Instant)>,
}

impl Attempts {
    fn check(&self, bounds: &[Bound], now: Instant) -> Result<(), RetryAfter> {
        let over = bounds.iter().filter_map(|(key, allowed)| {
            let (count, since) = self.seen.get(key)?;
            let left = WINDOW.saturating_sub(now.duration_since(*since));
            (count >= allowed && !left.is_zero()).then_some(RetryAfter(left))
        });
        over.max().map_or(Ok(()), Err)
    }

    fn begin(&mut self, bounds: &[Bound], now: Instant) -> Result<(), RetryAfter> {
        self.check(bounds, now)?;
        make_room(&mut self.seen, |(_, since)| *since);
        for (key, _) in bounds {
            let entry = self.seen.entry(*key).or_insert((0, now));
            if now.duration_since(entry.1) >= WINDOW {
                *entry = (0, now);
            }
            entry.0 += 1;
        }
        Ok(())
    }

    fn give_back(&mut self, bounds: &[Bound]) {
        for (key, _) in bounds {
            if let Some((count, _)) = self.seen.get_mut(key) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.seen.remove(key);
                }
            }
        }
    }

    fn sweep(&mut self, now: Instant) {
        self.seen.retain(|_, (_, since)| now.duration_since(*since) < WINDOW);
        self.seen.shrink_to_fit();
    }
}

/// Forgets the older half of a table that is full.
fn make_room<V>(table: &mut HashMap<Key, V>, since: impl Fn(&V) -> Instant) {
    if table.len() < MAX_ENTRIES {
        return;
    }
    let mut times: Vec<_> = table.values().map(&since).collect();
    let (_, middle, _) = times.select_nth_unstable(MAX_ENTRIES / 2);
    let middle = *middle;
    // Many may be of the very same moment; then all of them go.
    table.retain(|_, value| since(value) > middle);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn failures(attempt: impl Fn(usize) -> Attempt, now: Instant) -> usize {
        (0..1000).take_while(|number| attempt(*number).begin(now).is_ok()).count()
    }

    #[test]
    fn an_attempt_counts_when_it_begins_and_is_given_back_when_it_was_right() {
        let (limits, now) = (RateLimits::default(), Instant::now());
        let attempt = limits.login("ann", HERE, None, now);
        for _ in 0..100 {
            attempt.begin(now).unwrap();
            attempt.give_back();
        }
        assert!(limits.logins.lock().seen.is_empty(), "nothing is kept of what went well");
        assert_eq!(failures(|_| attempt.clone(), now), 5);
        assert_eq!(attempt.check(now), Err(RetryAfter(WINDOW)));
        assert_eq!(attempt.begin(now + WINDOW), Ok(()));
    }

    #[test]
    fn guesses_at_an_account_do_not_shut_out_other_addresses() {
        let (limits, now) = (RateLimits::default(), Instant::now());
        assert_eq!(failures(|_| limits.login("ann", HERE, None, now), now), 5);
        assert_eq!(limits.login("ann", THERE, None, now).begin(now), Ok(()));
        assert_eq!(limits.login("bob", HERE, None, now).begin(now), Ok(()));
    }

    #[test]
    fn a_device_that_logged_in_before_is_let_through_where_its_address_is_not() {
        let (limits, now) = (RateLimits::default(), Instant::now());
        assert_eq!(failures(|number| limits.login(&number.to_string(), HERE, None, now), now), 30);
        assert!(limits.login("ann", HERE, None, now).begin(now).is_err());
        let device = limits.login("ann", HERE, Some("nonce"), now);
        assert!(device.standing.is_known);
        assert_eq!(failures(|_| device.clone(), now), 10, "it has a limit too");
    }

    #[test]
    fn an_address_from_which_an_account_was_used_is_let_through_for_that_account() {
        let (limits, now) = (RateLimits::default(), Instant::now());
        limits.logged_in("ann", HERE, now);
        assert_eq!(failures(|number| limits.login(&number.to_string(), HERE, None, now), now), 30);
        let known = limits.login("ann", HERE, None, now);
        assert!(known.standing.is_known && known.begin(now).is_ok());
        assert!(!limits.login("bob", HERE, None, now).standing.is_known);
        let later = now + FAMILIAR_FOR;
        assert!(!limits.login("ann", HERE, None, later).standing.is_known);
        limits.sweep(later);
        assert!(limits.familiar.lock().is_empty());
    }

    #[test]
    fn an_account_that_is_guessed_at_from_everywhere_slows_strangers_down_and_nobody_else() {
        let (limits, now) = (RateLimits::default(), Instant::now());
        limits.logged_in("ann", HERE, now);
        let stranger = |number: usize| {
            let address = IpAddr::from([10, 0, (number >> 8) as u8, number as u8]);
            limits.login("ann", address, None, now)
        };
        assert_eq!(failures(stranger, now), 300);
        assert!(limits.login("ann", THERE, None, now).begin(now).is_err());
        assert_eq!(limits.login("ann", HERE, None, now).begin(now), Ok(()));
        assert_eq!(limits.login("ann", THERE, Some("nonce"), now).begin(now), Ok(()));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_its_provider_has_a_limit_too() {
        let (limits, now) = (RateLimits::default(), Instant::now());
        let address = |text: String| text.parse::<IpAddr>().unwrap();
        let house =
            |number: usize| limits.login(&number.to_string(), address(format!("2001:db8::{number:x}")), None, now);
        assert_eq!(failures(house, now), 30);
        let street = |number: usize| {
            let address = address(format!("2001:db8:0:{:x}::1", number + 1));
            limits.login(&format!("other {number}"), address, None, now)
        };
        assert_eq!(failures(street, now), 90);
        let mapped = address("::ffff:192.0.2.1".to_owned());
        assert_eq!(limits.login("ann", mapped, None, now).bounds, limits.login("ann", HERE, None, now).bounds);
    }

    #[test]
    fn what_is_counted_takes_the_same_room_whatever_it_is_called_and_is_swept_in_time() {
        let (limits, now) = (RateLimits::default(), Instant::now());
        let long = "x".repeat(1_000_000);
        limits.login(&long, HERE, None, now).begin(now).unwrap();
        for number in 0..3 * MAX_ENTRIES {
            let address = IpAddr::from((number as u32 + 1).to_be_bytes());
            let _ = limits.guess("a code", address).begin(now + Duration::from_nanos(number as u64));
        }
        assert!(limits.guesses.lock().seen.len() <= MAX_ENTRIES + 3);
        assert_eq!(limits.logins.lock().seen.len(), 3, "guesses do not push log-ins out");
        limits.sweep(now + WINDOW + Duration::from_secs(1));
        assert_eq!(limits.guesses.lock().seen.capacity() + limits.logins.lock().seen.capacity(), 0);
    }
}
