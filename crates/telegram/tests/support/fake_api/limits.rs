//! Pace and faults: what the real server does to a bot that is too quick, and what the network does to all of them.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use serde_json::Value;

use super::Reply;

/// Something that goes wrong with a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A proxy answers; nothing happens.
    Status(u16),
    /// The server answers this; nothing happens.
    Reply(Reply),
    /// It happens, but the connection breaks before the answer.
    BeforeAnswer,
    /// No answer, ever; nothing happens.
    Hang,
}

impl Fault {
    pub fn too_many(seconds: u64) -> Self {
        Self::Reply(Reply::too_many(seconds))
    }

    pub fn refused(description: &str) -> Self {
        Self::Reply(Reply::refused(400, description))
    }
}

/// Faults that wait for their call, and those of chance.
#[derive(Debug, Default)]
pub struct Faults {
    planned: HashMap<String, VecDeque<Fault>>,
    /// Percentages of 429 and of 502 among the calls that write, and a state for chance.
    random: Option<(u64, u64, u64)>,
}

impl Faults {
    pub fn push(&mut self, method: &str, fault: Fault) {
        self.planned.entry(method.to_owned()).or_default().push_back(fault);
    }

    /// From now on so many of a hundred calls fail by chance.
    pub fn at_random(&mut self, seed: u64, too_many: u64, bad_gateway: u64) {
        self.random = (too_many + bad_gateway > 0).then_some((too_many, bad_gateway, seed | 1));
    }

    pub fn take(&mut self, method: &str) -> Option<Fault> {
        if let Some(fault) = self.planned.get_mut(method).and_then(VecDeque::pop_front) {
            return Some(fault);
        }
        let (too_many, bad_gateway, state) = self.random.as_mut()?;
        if !is_writing(method) {
            return None;
        }
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        match (*state >> 16) % 100 {
            roll if roll < *too_many => Some(Fault::too_many(1)),
            roll if roll < *too_many + *bad_gateway => Some(Fault::Status(502)),
            _ => None,
        }
    }
}

/// Methods that put something into a chat.
pub fn is_writing(method: &str) -> bool {
    matches!(method, "sendMessage" | "editMessageText" | "deleteMessage" | "sendDocument")
}

/// Who called when, and who has to wait.
#[derive(Debug, Default)]
pub struct Pace {
    overall: VecDeque<Duration>,
    chats: HashMap<i64, ChatPace>,
    /// Calls into a chat that had been told to wait.
    pub violations: usize,
    /// Calls that were more than a chat, or all of them together, may get.
    pub exceeded: usize,
    pub off: bool,
}

#[derive(Debug, Default)]
struct ChatPace {
    calls: VecDeque<Duration>,
    paused_until: Duration,
}

impl Pace {
    /// Notes a call; an answer if it comes too soon.
    pub fn check(&mut self, method: &str, body: &Value, now: Duration) -> Option<Reply> {
        let chat = body["chat_id"].as_i64().filter(|_| is_writing(method) && !self.off)?;
        let pace = self.chats.entry(chat).or_default();
        if now < pace.paused_until {
            self.violations += 1;
            return Some(Reply::too_many((pace.paused_until - now).as_secs() + 1));
        }
        // In a group everything counts; with a person, messages do, and a short burst of them is forgiven.
        let (most, span) = if chat < 0 { (20, 60) } else { (8, 3) };
        if chat > 0 && method != "sendMessage" {
            return None;
        }
        let overall = full(&mut self.overall, 30, Duration::from_secs(1), now);
        if overall || full(&mut pace.calls, most, Duration::from_secs(span), now) {
            self.exceeded += 1;
            pace.paused_until = now + Duration::from_secs(3);
            return Some(Reply::too_many(3));
        }
        None
    }

    /// Makes a chat wait, as an answer 429 does.
    pub fn pause(&mut self, chat: i64, until: Duration) {
        self.chats.entry(chat).or_default().paused_until = until;
    }
}

fn full(calls: &mut VecDeque<Duration>, most: usize, span: Duration, now: Duration) -> bool {
    while calls.front().is_some_and(|first| *first + span <= now) {
        calls.pop_front();
    }
    if calls.len() >= most {
        return true;
    }
    calls.push_back(now);
    false
}
