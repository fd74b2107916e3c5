//! Hashing passwords: argon2id on a few threads of its own, each with one arena that it uses again and again and gives
//! back when nobody has logged in for a while; and the bounded, fair queue before it.
//!
//! Each hash needs 19 MiB, so how many are made at once decides how much memory a flood of log-ins takes. Who waits too
//! long is better told so at once: a full queue refuses early. Who is known (a device or an address that logged in
//! before, a member with a token) comes first, and within each lane everybody takes turns, so that many guesses from one
//! place delay one log-in from another by one hash.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Algorithm, Argon2, Block, Params, RECOMMENDED_SALT_LEN, Version};
use data_encoding::BASE64_NOPAD;
use folkmoot_core::Refusal;
use parking_lot::{Condvar, Mutex};
use rand::Rng;
use subtle::ConstantTimeEq;
use tokio::sync::oneshot;

use super::limits::{Attempt, RetryAfter};

/// More would fight over the cores with everybody who is already here.
const THREADS: usize = 2;
/// How many may wait in each lane: about as many as are served in two seconds.
const MAX_WAITING: usize = 100;
/// Whoever finds the queue full may try again then.
const BUSY: RetryAfter = RetryAfter(Duration::from_secs(2));
/// An arena that nobody used for so long goes back to the system.
const IDLE: Duration = Duration::from_secs(5);
/// So many known ones are served before one of the others gets a turn, if both wait.
const KNOWN_IN_A_ROW: u32 = 4;
/// The largest arena that a stored hash may ask for, in blocks of 1 KiB.
const MAX_BLOCKS: usize = 64 * 1024;
/// Allocated in one piece and mostly never touched. What is larger than this is mapped by glibc for itself and unmapped when it
/// is freed; anything smaller would, once freed, teach it to keep such pieces for good.
const MAPPED_BLOCKS: usize = 40 * 1024;

/// Verified instead when the account is unknown, so that both answers take the same time. Of a password nobody has.
const DECOY: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5IGhhcyB0aGlz$1wp8yGyJz4cSXPBQDkVO7gi0gfdFHGAZ2Yb1x0oXBJE";

/// Where somebody stands in the queue: with those who are known or not, and behind whose other attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub is_known: bool,
    /// Those who share it take turns with everybody else as one.
    pub group: u64,
}

/// Why a password was neither verified nor hashed.
#[derive(Debug, PartialEq, Eq)]
pub enum NotHashed {
    /// Refused when its turn came, or because too many wait.
    TooOften(RetryAfter),
    Failed,
}

impl From<NotHashed> for Refusal {
    fn from(reason: NotHashed) -> Self {
        match reason {
            NotHashed::TooOften(wait) => wait.into(),
            NotHashed::Failed => Self::unavailable("the password could not be hashed"),
        }
    }
}

pub struct Hashing {
    desk: Arc<Desk>,
}

struct Desk {
    queue: Mutex<Queue>,
    news: Condvar,
    idle: Duration,
}

#[derive(Default)]
struct Queue {
    known: Lane<Job>,
    others: Lane<Job>,
    /// How many known ones were served since one of the others.
    in_a_row: u32,
    threads: usize,
    idle_threads: usize,
}

struct Job {
    work: Work,
    answer: oneshot::Sender<Result<Outcome, NotHashed>>,
}

enum Work {
    Hash {
        password: String,
    },
    /// Counted when its turn comes, not before: many right ones at once are all let in, and many wrong ones are no more
    /// than the limit.
    Verify {
        password: String,
        hash: String,
        attempt: Attempt,
    },
}

enum Outcome {
    Hashed(String),
    Verified(bool),
}

impl Default for Hashing {
    fn default() -> Self {
        Self { desk: Arc::new(Desk { queue: Mutex::default(), news: Condvar::new(), idle: IDLE }) }
    }
}

impl Hashing {
    pub async fn hash(&self, password: String, standing: Standing) -> Result<String, NotHashed> {
        match self.ask(Work::Hash { password }, standing).await? {
            Outcome::Hashed(hash) => Ok(hash),
            Outcome::Verified(_) => Err(NotHashed::Failed),
        }
    }

    /// Takes as long for an unknown account as for a wrong password.
    pub async fn verify(&self, hash: Option<String>, password: String, attempt: Attempt) -> Result<bool, NotHashed> {
        let standing = attempt.standing;
        let work = Work::Verify { password, hash: hash.unwrap_or_else(|| DECOY.to_owned()), attempt };
        match self.ask(work, standing).await? {
            Outcome::Verified(fits) => Ok(fits),
            Outcome::Hashed(_) => Err(NotHashed::Failed),
        }
    }

    async fn ask(&self, work: Work, standing: Standing) -> Result<Outcome, NotHashed> {
        let (answer, outcome) = oneshot::channel();
        self.put(Job { work, answer }, standing);
        outcome.await.unwrap_or(Err(NotHashed::Failed))
    }

    fn put(&self, job: Job, standing: Standing) {
        let mut queue = self.desk.queue.lock();
        let lane = if standing.is_known { &mut queue.known } else { &mut queue.others };
        if let Some(refused) = lane.push(standing.group, job) {
            let _ = refused.answer.send(Err(NotHashed::TooOften(BUSY)));
        }
        let waiting = queue.known.len + queue.others.len;
        if queue.idle_threads < waiting && queue.threads < THREADS {
            queue.threads += 1;
            let desk = Arc::clone(&self.desk);
            let started = std::thread::Builder::new().name("hashing".to_owned()).spawn(move || desk.work());
            if let Err(error) = started {
                tracing::error!(%error, "cannot start a thread to hash passwords");
                queue.threads -= 1;
            }
        }
        drop(queue);
        self.desk.news.notify_one();
    }
}

impl Desk {
    /// One thread: works off what waits, and ends with its arena when nothing came for a while.
    fn work(&self) {
        step_back();
        let _leaving = Leaving(self);
        let mut arena = Arena::default();
        while let Some(job) = self.next() {
            job.done(&mut arena);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.pop() {
                return Some(job);
            }
            queue.idle_threads += 1;
            let is_over = self.news.wait_for(&mut queue, self.idle).timed_out();
            queue.idle_threads -= 1;
            if is_over && queue.known.len + queue.others.len == 0 {
                queue.threads -= 1;
                return None;
            }
        }
    }
}

/// Whoever speaks goes before whoever logs in: a hash takes long, and a message must not wait for the rest of one.
fn step_back() {
    // Only Linux takes this for the calling thread; elsewhere it would be the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}

/// A thread that dies makes room for another.
struct Leaving<'a>(&'a Desk);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.queue.lock().threads -= 1;
        }
    }
}

impl Queue {
    fn pop(&mut self) -> Option<Job> {
        let others_turn = self.in_a_row >= KNOWN_IN_A_ROW;
        if let Some(job) = others_turn.then(|| self.others.pop()).flatten() {
            self.in_a_row = 0;
            return Some(job);
        }
        if let Some(job) = self.known.pop() {
            self.in_a_row += 1;
            return Some(job);
        }
        self.in_a_row = 0;
        self.others.pop()
    }
}

impl Job {
    fn done(self, arena: &mut Arena) {
        // Who hung up while waiting learns nothing, so nothing is done.
        if self.answer.is_closed() {
            return;
        }
        let _ = self.answer.send(self.work.done(arena));
    }
}

impl Work {
    fn done(self, arena: &mut Arena) -> Result<Outcome, NotHashed> {
        match self {
            Self::Hash { password } => arena.hash(&password).map(Outcome::Hashed).ok_or(NotHashed::Failed),
            Self::Verify { password, hash, attempt } => {
                attempt.begin(Instant::now()).map_err(NotHashed::TooOften)?;
                let fits = arena.verify(&password, &hash).unwrap_or(false) && hash != DECOY;
                if fits {
                    attempt.give_back();
                }
                Ok(Outcome::Verified(fits))
            }
        }
    }
}

/// Those who wait, in groups that take turns.
struct Lane<T> {
    groups: VecDeque<(u64, VecDeque<T>)>,
    len: usize,
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Self { groups: VecDeque::new(), len: 0 }
    }
}

impl<T> Lane<T> {
    /// Lets one wait; returns who must go instead where there is no more room: the last of the longest group.
    fn push(&mut self, group: u64, one: T) -> Option<T> {
        let waiting = self.groups.iter().find(|(of, _)| *of == group).map_or(0, |(_, ones)| ones.len());
        let mut refused = None;
        if self.len >= MAX_WAITING {
            let longest = self.groups.iter_mut().map(|(_, ones)| ones).max_by_key(|ones| ones.len());
            match longest.filter(|longest| longest.len() > waiting + 1) {
                Some(longest) => refused = longest.pop_back(),
                None => return Some(one),
            }
            self.len -= 1;
        }
        match self.groups.iter_mut().find(|(of, _)| *of == group) {
            Some((_, ones)) => ones.push_back(one),
            None => self.groups.push_back((group, VecDeque::from([one]))),
        }
        self.len += 1;
        refused
    }

    fn pop(&mut self) -> Option<T> {
        let (group, mut ones) = self.groups.pop_front()?;
        let one = ones.pop_front();
        if !ones.is_empty() {
            self.groups.push_back((group, ones));
        }
        self.len -= usize::from(one.is_some());
        one
    }
}

/// The memory that hashes are made in.
#[derive(Default)]
struct Arena {
    blocks: Vec<Block>,
}

impl Arena {
    fn hash(&mut self, password: &str) -> Option<String> {
        let mut salt = [0; RECOMMENDED_SALT_LEN];
        rand::rng().fill_bytes(&mut salt);
        let mut output = [0; Params::DEFAULT_OUTPUT_LEN];
        let params = Params::DEFAULT;
        let (memory, passes, lanes) = (params.m_cost(), params.t_cost(), params.p_cost());
        self.fill(Algorithm::Argon2id, Version::V0x13, params, password, &salt, &mut output)?;
        let (salt, output) = (BASE64_NOPAD.encode(&salt), BASE64_NOPAD.encode(&output));
        Some(format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${output}"))
    }

    fn verify(&mut self, password: &str, hash: &str) -> Option<bool> {
        let parsed = PasswordHash::new(hash).ok()?;
        let (salt, expected) = (parsed.salt?, parsed.hash?);
        let algorithm = Algorithm::new(parsed.algorithm.as_str()).ok()?;
        let version = parsed.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
        let params = Params::try_from(&parsed).ok()?;
        let mut output = vec![0; expected.as_bytes().len()];
        self.fill(algorithm, version, params, password, salt.as_ref(), &mut output)?;
        Some(output.ct_eq(expected.as_bytes()).into())
    }

    fn fill(
        &mut self,
        algorithm: Algorithm,
        version: Version,
        params: Params,
        password: &str,
        salt: &[u8],
        output: &mut [u8],
    ) -> Option<()> {
        let count = params.block_count();
        if count > MAX_BLOCKS {
            return None;
        }
        if self.blocks.len() < count {
            self.blocks = Vec::new();
            self.blocks.reserve_exact(count.max(MAPPED_BLOCKS));
            self.blocks.resize(count, Block::new());
        }
        let argon2 = Argon2::new(algorithm, version, params);
        argon2.hash_password_into_with_memory(password.as_bytes(), salt, output, &mut self.blocks[..count]).ok()
    }
}

#[cfg(test)]
mod tests {
    use argon2::password_hash::{PasswordHasher, PasswordVerifier};

    use super::super::limits::RateLimits;
    use super::*;

    fn order(lane: &mut Lane<u32>) -> Vec<u32> {
        std::iter::from_fn(|| lane.pop()).collect()
    }

    #[test]
    fn those_who_wait_take_turns_by_group_and_keep_their_order_within() {
        let mut lane = Lane::default();
        for (group, one) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (2, 21)] {
            assert_eq!(lane.push(group, one), None);
        }
        assert_eq!(order(&mut lane), [10, 20, 30, 11, 21, 12]);
        assert_eq!(lane.len, 0);
    }

    #[test]
    fn a_full_lane_takes_a_newcomer_in_for_the_last_of_those_who_crowd_it() {
        let mut lane = Lane::default();
        for one in 0..MAX_WAITING as u32 {
            assert_eq!(lane.push(1, one), None);
        }
        assert_eq!(lane.push(1, 1000), Some(1000), "who crowds it is refused");
        assert_eq!(lane.push(2, 2000), Some(MAX_WAITING as u32 - 1));
        assert_eq!(lane.len, MAX_WAITING);
        assert_eq!(order(&mut lane)[..2], [0, 2000]);
    }

    #[test]
    fn a_lane_full_of_different_ones_refuses_the_next() {
        let mut lane = Lane::default();
        for one in 0..MAX_WAITING as u32 {
            lane.push(u64::from(one), one);
        }
        assert_eq!(lane.push(1_000_000, 7), Some(7));
    }

    fn job(name: &'static str) -> Job {
        let (answer, _) = oneshot::channel();
        Job { work: Work::Hash { password: name.to_owned() }, answer }
    }

    fn next(queue: &mut Queue) -> Option<String> {
        match queue.pop()?.work {
            Work::Hash { password } | Work::Verify { password, .. } => Some(password),
        }
    }

    #[test]
    fn the_known_come_first_and_do_not_keep_the_others_out_for_ever() {
        let mut queue = Queue::default();
        for _ in 0..6 {
            queue.known.push(1, job("known"));
        }
        queue.others.push(2, job("other"));
        let served: Vec<_> = std::iter::from_fn(|| next(&mut queue)).collect();
        assert_eq!(served, ["known", "known", "known", "known", "other", "known", "known"]);
    }

    #[test]
    fn hashes_are_what_everybody_else_calls_argon2id() {
        let mut arena = Arena::default();
        let ours = arena.hash("a long password").unwrap();
        assert!(ours.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{ours}");
        let parsed = PasswordHash::new(&ours).unwrap();
        assert!(Argon2::default().verify_password(b"a long password", &parsed).is_ok());
        let theirs = Argon2::default().hash_password(b"another password").unwrap().to_string();
        assert_eq!(arena.verify("another password", &theirs), Some(true));
        assert_eq!(arena.verify("a wrong password", &theirs), Some(false));
        assert_ne!(arena.hash("a long password").unwrap(), ours, "salted");
    }

    #[test]
    fn a_stored_hash_may_ask_for_other_memory_and_not_for_all_of_it() {
        let mut arena = Arena::default();
        let small = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(64, 1, 1, None).unwrap());
        let hash = small.hash_password(b"a long password").unwrap().to_string();
        assert_eq!(arena.verify("a long password", &hash), Some(true));
        assert_eq!(arena.verify("a long password", &hash.replace("m=64", "m=4000000")), None);
        assert_eq!(arena.verify("a long password", "no hash"), None);
    }

    #[test]
    fn nobody_has_the_password_of_an_unknown_account_and_it_takes_as_long() {
        assert_eq!(Params::try_from(&PasswordHash::new(DECOY).unwrap()).unwrap().m_cost(), Params::DEFAULT_M_COST);
        assert_eq!(Arena::default().verify("a long password", DECOY), Some(false));
    }

    #[tokio::test]
    async fn who_is_refused_at_the_turn_is_told_and_a_thread_that_idles_ends() {
        let desk = Desk { queue: Mutex::default(), news: Condvar::new(), idle: Duration::from_millis(1) };
        let hashing = Hashing { desk: Arc::new(desk) };
        let standing = Standing { is_known: false, group: 1 };
        let limits = RateLimits::default();
        let hash = hashing.hash("a long password".to_owned(), standing).await.unwrap();
        let verify =
            |password: &str| hashing.verify(Some(hash.clone()), password.to_owned(), limits.guess_of("somebody"));
        for _ in 0..6 {
            assert_eq!(verify("a long password").await, Ok(true), "what was right is given back");
        }
        for _ in 0..5 {
            assert_eq!(verify("a wrong password").await, Ok(false));
        }
        assert!(matches!(verify("a long password").await, Err(NotHashed::TooOften(_))));
        let over = async {
            while hashing.desk.queue.lock().threads > 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), over).await.expect("the threads end");
    }
}
