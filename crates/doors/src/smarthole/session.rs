//! One SmartHole connection: register once, then take sentences and answer them; pings all the while.

use folkmoot_core::ids::MemberId;
use folkmoot_core::{Millis, Refusal};

use super::mapping::{self, REGISTRATION, RESPONSE, Request};
use super::wire::{ErrorCode, PING_INTERVAL_MS, PONG_TIMEOUT_MS};
use super::{Enlistment, HostRequest};
use crate::door::{Ask, Session, Step, Ticket};

const GOING_AWAY: u16 = 1001;

pub struct SmartHoleSession {
    phase: Phase,
    next_ping: Millis,
    /// When the pong to the last ping is due.
    pong_due: Option<Millis>,
}

enum Phase {
    /// Not registered yet, or refused; a corrected registration is welcome.
    Open,
    /// Asked for under this name.
    Asking(String),
    Registered,
}

impl SmartHoleSession {
    pub fn new(now: Millis) -> Self {
        Self { phase: Phase::Open, next_ping: now + PING_INTERVAL_MS, pong_due: None }
    }

    fn register(&mut self, enlistment: Result<Enlistment, (ErrorCode, String)>) -> Vec<Step> {
        if !matches!(self.phase, Phase::Open) {
            let sentence = "This connection is already registered";
            return vec![Step::Send(mapping::not_registered(ErrorCode::AlreadyRegistered, sentence))];
        }
        match enlistment {
            Ok(enlistment) => {
                let name = enlistment.name.clone();
                self.phase = Phase::Asking(name.clone());
                let ask = Ask::Host(Box::new(HostRequest::Enlist(enlistment)));
                vec![Step::Ask(ask, Ticket { id: Some(name), request: REGISTRATION })]
            }
            Err((code, sentence)) => vec![Step::Send(mapping::not_registered(code, &sentence))],
        }
    }
}

impl Session for SmartHoleSession {
    fn on_text(&mut self, text: &str, _now: Millis) -> Vec<Step> {
        match mapping::request(text) {
            Some(Request::Register(enlistment)) => self.register(enlistment),
            Some(Request::Answer { route, said }) if matches!(self.phase, Phase::Registered) => {
                let ask = Ask::Host(Box::new(HostRequest::Answer { route, said }));
                vec![Step::Ask(ask, Ticket { id: None, request: RESPONSE })]
            }
            // Neither answered nor closed for: real clients send all sorts.
            Some(Request::Answer { .. }) | None => Vec::new(),
        }
    }

    fn on_binary(&mut self, _data: &[u8], _now: Millis) -> Vec<Step> {
        Vec::new()
    }

    fn on_sign_of_life(&mut self, _now: Millis) {
        self.pong_due = None;
    }

    fn on_login(&mut self, outcome: Result<MemberId, Refusal>, _now: Millis) -> Vec<Step> {
        let Phase::Asking(name) = &self.phase else { return Vec::new() };
        match outcome {
            Ok(_) => {
                self.phase = Phase::Registered;
                Vec::new()
            }
            Err(refusal) => {
                let sentence = mapping::refused(name, &refusal);
                self.phase = Phase::Open;
                vec![Step::Send(sentence)]
            }
        }
    }

    fn on_deadline(&mut self, now: Millis) -> Vec<Step> {
        if self.pong_due.is_some_and(|due| now >= due) {
            return vec![Step::Close { code: GOING_AWAY, reason: "no pong" }];
        }
        if now >= self.next_ping {
            self.next_ping = now + PING_INTERVAL_MS;
            self.pong_due = Some(now + PONG_TIMEOUT_MS);
            return vec![Step::Ping];
        }
        Vec::new()
    }

    fn deadline(&self) -> Millis {
        self.pong_due.map_or(self.next_ping, |due| due.min(self.next_ping))
    }

    /// The hub keeps the book of its clients itself: nobody here has proven to be a member.
    fn member(&self) -> Option<MemberId> {
        None
    }
}
