//! The rules of the document and the facts, one test each, with fake time; the life-cycle pictures as transcripts.

mod rules;
mod transcripts;

use std::sync::Arc;

use folkmoot_core::Millis;
use serde_json::{Value, json};

use super::mapping::{Answer, Hello, Said};
use super::session::{ChopsticksSession, Pulse, Terms};
use crate::door::{Ask, Session, Step};

pub const START: Millis = 1_716_849_600_000;

/// One connection, and everything that came of it so far.
pub struct Line {
    pub session: ChopsticksSession,
    pub pulse: Arc<Pulse>,
    pub now: Millis,
}

/// What the session wants, in words that can be compared.
#[derive(Debug, PartialEq)]
pub enum Heard {
    Frame(Value),
    Close(u16, &'static str),
    Ping,
    Hello(Hello),
    Guilds(Vec<String>),
    /// `released MUSIC guild/channel reason`, and the like.
    Event(String),
    Answer(String, Result<Value, String>),
}

impl Line {
    pub fn new() -> Self {
        Self::on(Terms::default())
    }

    pub fn on(terms: Terms) -> Self {
        let pulse = Arc::new(Pulse::new(START));
        let session = ChopsticksSession::new(Arc::new(terms), Arc::clone(&pulse), START);
        Self { session, pulse, now: START }
    }

    /// A line whose agent `a1` has said hello.
    pub fn known() -> Self {
        let mut line = Self::new();
        assert_eq!(line.says(hello()).len(), 1);
        line
    }

    pub fn says(&mut self, frame: Value) -> Vec<Heard> {
        self.says_text(&frame.to_string())
    }

    pub fn says_text(&mut self, text: &str) -> Vec<Heard> {
        self.session.on_text(text, self.now).into_iter().map(heard).collect()
    }

    /// Lets time pass, step by step as the session wants to be called.
    pub fn wait(&mut self, by: Millis) -> Vec<Heard> {
        let until = self.now + by;
        let mut steps = Vec::new();
        while self.session.deadline() <= until {
            self.now = self.now.max(self.session.deadline());
            let heard: Vec<_> = self.session.on_deadline(self.now).into_iter().map(heard).collect();
            let closed = heard.iter().any(|heard| matches!(heard, Heard::Close(..)));
            steps.extend(heard);
            if closed {
                break;
            }
        }
        self.now = self.now.max(until);
        steps
    }
}

pub fn hello() -> Value {
    json!({
        "type": "hello", "protocolVersion": "1.0.0", "agentId": "a1", "botUserId": "1", "tag": "MusicBot#1",
        "ready": true, "guildIds": ["g1"], "poolId": "p1",
    })
}

pub fn heard(step: Step) -> Heard {
    match step {
        Step::Send(text) => Heard::Frame(serde_json::from_str(&text).expect("JSON")),
        Step::Close { code, reason } => Heard::Close(code, reason),
        Step::Ping => Heard::Ping,
        Step::Ask(Ask::Host(said), _) => said_as_heard(*said.downcast().unwrap()),
        Step::Ask(other, _) => panic!("not for pools: {other:?}"),
    }
}

fn said_as_heard(said: Said) -> Heard {
    match said {
        Said::Hello(hello) => Heard::Hello(hello),
        Said::Guilds(guilds) => Heard::Guilds(guilds),
        Said::Released { place, reason } => {
            Heard::Event(format!("released {} {}/{} {reason}", place.kind.as_str(), place.guild, place.voice_channel))
        }
        Said::Added { place } => {
            Heard::Event(format!("added {} {}/{}", place.kind.as_str(), place.guild, place.voice_channel))
        }
        Said::NotAdded { place, error } => {
            Heard::Event(format!("not added {} {}/{} {error}", place.kind.as_str(), place.guild, place.voice_channel))
        }
        Said::Answer(Answer { id, outcome }) => {
            let data = outcome.map(|data| data.map_or(Value::Null, |data| serde_json::from_str(data.get()).unwrap()));
            Heard::Answer(id.to_string(), data)
        }
    }
}
