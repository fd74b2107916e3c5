//! How fast one chat, and all of them together, may be written to.
//!
//! Telegram's own words: about a message a second in a chat with short bursts above that, twenty a minute in a group,
//! thirty a second overall. Within that, edits leave room for what matters more: an answer must not wait because the
//! progress before it was shown too eagerly.

use std::collections::VecDeque;
use std::time::Duration;

/// The time since the outbox began.
pub type Moment = Duration;

/// What a call means for the pace; in the order of their rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// Looking for a message that may have arrived.
    Find,
    /// A first sign: short bursts of them do not wait.
    Sign,
    /// Any other message.
    Send,
    Delete,
    /// The last words of a message.
    LastWords,
    /// Progress.
    Edit,
}

const SECOND: Duration = Duration::from_secs(1);
const PRIVATE_BURST: f64 = 3.0;
const SIGN_BURST: f64 = 5.0;
/// Calls do not take equally long to arrive, so the server sees some of them closer together than they were made.
const MARGIN: Duration = Duration::from_millis(200);
const GROUP_WINDOW: Duration = Duration::from_secs(60);
const GROUP_EDITS_APART: Duration = Duration::from_secs(3);

/// The pace of one chat.
#[derive(Clone, Debug)]
pub struct Pace {
    group: bool,
    sends: Bucket,
    signs: Bucket,
    calls: Window,
    last_call: Option<Moment>,
    last_delete: Option<Moment>,
}

impl Pace {
    pub fn new(group: bool) -> Self {
        Self {
            group,
            sends: Bucket::new(PRIVATE_BURST),
            signs: Bucket::new(SIGN_BURST),
            calls: Window::new(GROUP_WINDOW),
            last_call: None,
            last_delete: None,
        }
    }

    /// From when on such a call may be made.
    pub fn ready_at(&self, weight: Weight) -> Moment {
        if self.group { self.ready_in_group(weight) } else { self.ready_in_private(weight) }
    }

    pub fn note(&mut self, weight: Weight, now: Moment) {
        match weight {
            Weight::Send | Weight::LastWords => self.sends.take(now),
            Weight::Sign => self.signs.take(now),
            Weight::Delete => self.last_delete = Some(now),
            Weight::Find | Weight::Edit => {}
        }
        self.last_call = Some(now);
        if self.group {
            self.calls.note(now);
        }
    }

    fn ready_in_private(&self, weight: Weight) -> Moment {
        match weight {
            Weight::Find => Moment::ZERO,
            Weight::Sign => self.signs.ready_at(),
            Weight::Send | Weight::LastWords => self.sends.ready_at(),
            Weight::Delete => after(self.last_delete, SECOND),
            Weight::Edit => after(self.last_call, SECOND),
        }
    }

    fn ready_in_group(&self, weight: Weight) -> Moment {
        match weight {
            Weight::Sign | Weight::Send | Weight::LastWords => self.calls.ready_at(20),
            Weight::Find | Weight::Delete => self.calls.ready_at(18),
            Weight::Edit => self.calls.ready_at(14).max(after(self.last_call, GROUP_EDITS_APART)),
        }
    }
}

/// The pace of all chats together.
#[derive(Clone, Debug)]
pub struct Overall(Window);

impl Default for Overall {
    fn default() -> Self {
        Self(Window::new(SECOND))
    }
}

impl Overall {
    pub fn ready_at(&self, weight: Weight) -> Moment {
        let most = match weight {
            // There may be many after a crash.
            Weight::Find => 20,
            Weight::Edit => 24,
            Weight::Sign | Weight::Send | Weight::Delete | Weight::LastWords => 30,
        };
        self.0.ready_at(most)
    }

    pub fn note(&mut self, now: Moment) {
        self.0.note(now);
    }
}

fn after(last: Option<Moment>, pause: Duration) -> Moment {
    last.map_or(Moment::ZERO, |last| last + pause)
}

/// A call a second, and some at once after a pause.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    burst: f64,
    /// What was left at `at`.
    left: f64,
    at: Moment,
}

impl Bucket {
    fn new(burst: f64) -> Self {
        Self { burst, left: burst, at: Moment::ZERO }
    }

    fn ready_at(&self) -> Moment {
        self.at + Duration::from_secs_f64((1.0 - self.left).max(0.0))
    }

    fn take(&mut self, now: Moment) {
        let gained = now.saturating_sub(self.at).as_secs_f64();
        self.left = (self.left + gained).min(self.burst) - 1.0;
        self.at = now;
    }
}

/// The calls of the last while.
#[derive(Clone, Debug)]
struct Window {
    span: Duration,
    calls: VecDeque<Moment>,
}

impl Window {
    fn new(span: Duration) -> Self {
        Self { span: span + MARGIN, calls: VecDeque::new() }
    }

    /// From when on there are fewer than `most` calls within the span.
    fn ready_at(&self, most: usize) -> Moment {
        let blocking = self.calls.len().checked_sub(most).and_then(|index| self.calls.get(index));
        after(blocking.copied(), self.span)
    }

    fn note(&mut self, now: Moment) {
        while self.calls.front().is_some_and(|first| *first + self.span <= now) {
            self.calls.pop_front();
        }
        self.calls.push_back(now);
    }
}
