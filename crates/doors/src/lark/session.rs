//! One Lark connection: log in first, then requests; pings while it is quiet.

use folkmoot_core::ids::MemberId;
use folkmoot_core::refusal;
use folkmoot_core::{Millis, Refusal};

use super::mapping::{self, Request};
use super::wire::{AUTH_TIMEOUT_MS, PING_INTERVAL_MS, PONG_TIMEOUT_MS};
use crate::door::{Ask, Session, Step, Ticket};
use crate::heartbeat::Heartbeat;

/// A client that guesses is cut off; an honest one that mistyped a key is not.
const MAX_FAILED_LOGINS: u32 = 5;
const POLICY_VIOLATION: u16 = 1008;

pub struct LarkSession {
    phase: Phase,
    failed_logins: u32,
    heartbeat: Heartbeat,
}

enum Phase {
    /// Nobody yet; the door closes at this time.
    Waiting {
        until: Millis,
        ticket: Option<Box<Ticket>>,
    },
    LoggedIn(MemberId),
}

impl LarkSession {
    pub fn new(now: Millis) -> Self {
        Self {
            phase: Phase::Waiting { until: now + AUTH_TIMEOUT_MS, ticket: None },
            failed_logins: 0,
            heartbeat: Heartbeat::new(now, PING_INTERVAL_MS, PONG_TIMEOUT_MS),
        }
    }

    fn on_request(&mut self, request: Request, ticket: Ticket, now: Millis) -> Vec<Step> {
        match (&mut self.phase, request) {
            (Phase::Waiting { ticket: pending, .. }, Request::LogIn { token, agent, dialect }) => {
                *pending = Some(Box::new(ticket.clone()));
                vec![Step::Ask(Ask::LogIn { token, agent, dialect }, ticket)]
            }
            (Phase::Waiting { .. }, Request::Ask(_)) if ticket.request == "agent.hello" => {
                refuse(&ticket, &refusal::MUST_AUTHENTICATE_BEFORE_HELLO, now)
            }
            (Phase::Waiting { .. }, Request::Ask(_)) => refuse(&ticket, &refusal::NOT_AUTHENTICATED, now),
            (Phase::LoggedIn(_), Request::LogIn { .. }) => {
                refuse(&ticket, &Refusal::bad_request("already authenticated"), now)
            }
            (Phase::LoggedIn(_), Request::Ask(ask)) => vec![Step::Ask(ask, ticket)],
        }
    }
}

fn refuse(ticket: &Ticket, refusal: &Refusal, now: Millis) -> Vec<Step> {
    vec![Step::Send(mapping::error(ticket, refusal, now))]
}

/// Whether something was asked that only members may ask: not a log-in, and not a frame without any type.
fn is_a_request(refusal: &Refusal, ticket: &Ticket) -> bool {
    let no_envelope = ticket.request.is_empty() && *refusal == refusal::INVALID_DATA;
    ticket.request != "auth.login" && !no_envelope
}

impl Session for LarkSession {
    fn on_text(&mut self, text: &str, now: Millis) -> Vec<Step> {
        self.heartbeat.alive(now);
        match mapping::request(text) {
            Ok((request, ticket)) => self.on_request(request, ticket, now),
            // Whoever has not logged in learns that first, whatever else is wrong with the request.
            Err((refusal, ticket)) if self.member().is_none() && is_a_request(&refusal, &ticket) => {
                refuse(&ticket, &refusal::NOT_AUTHENTICATED, now)
            }
            Err((refusal, ticket)) => refuse(&ticket, &refusal, now),
        }
    }

    fn on_binary(&mut self, _data: &[u8], now: Millis) -> Vec<Step> {
        self.heartbeat.alive(now);
        refuse(
            &Ticket::default(),
            &Refusal::bad_request("invalid data: binary frames are not part of the protocol"),
            now,
        )
    }

    fn on_sign_of_life(&mut self, now: Millis) {
        self.heartbeat.alive(now);
    }

    fn on_login(&mut self, outcome: Result<MemberId, Refusal>, now: Millis) -> Vec<Step> {
        let Phase::Waiting { ticket, .. } = &mut self.phase else { return Vec::new() };
        match outcome {
            Ok(member) => {
                self.phase = Phase::LoggedIn(member);
                Vec::new()
            }
            Err(refusal) => {
                let ticket = ticket.take().map(|ticket| *ticket).unwrap_or_default();
                self.failed_logins += 1;
                let mut steps = vec![Step::Send(mapping::auth_fail(&ticket, &refusal.text, now))];
                if self.failed_logins >= MAX_FAILED_LOGINS {
                    steps.push(Step::Close { code: POLICY_VIOLATION, reason: "too many failed logins" });
                }
                steps
            }
        }
    }

    fn on_deadline(&mut self, now: Millis) -> Vec<Step> {
        if matches!(self.phase, Phase::Waiting { until, .. } if now >= until) {
            let fail = mapping::auth_fail(&Ticket::default(), "auth timeout", now);
            return vec![Step::Send(fail), Step::Close { code: POLICY_VIOLATION, reason: "auth timeout" }];
        }
        self.heartbeat.on_deadline(now)
    }

    fn deadline(&self) -> Millis {
        let next = self.heartbeat.deadline();
        match self.phase {
            Phase::Waiting { until, .. } => next.min(until),
            Phase::LoggedIn(_) => next,
        }
    }

    fn member(&self) -> Option<MemberId> {
        match self.phase {
            Phase::LoggedIn(member) => Some(member),
            Phase::Waiting { .. } => None,
        }
    }
}
