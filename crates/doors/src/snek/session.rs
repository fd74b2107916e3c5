//! One Snek connection: log in first, then calls, as many at once as the client likes; pings while it is quiet.

use folkmoot_core::ids::MemberId;
use folkmoot_core::refusal;
use folkmoot_core::{Millis, Refusal};

use super::mapping::{self, Request};
use super::wire::{LOGIN_TIMEOUT_MS, PING_INTERVAL_MS, PONG_TIMEOUT_MS};
use crate::door::{Ask, Session, Step, Ticket};
use crate::heartbeat::Heartbeat;

const POLICY_VIOLATION: u16 = 1008;

pub struct SnekSession {
    phase: Phase,
    heartbeat: Heartbeat,
}

enum Phase {
    /// Nobody yet; the door closes at this time.
    Waiting {
        until: Millis,
        login: Option<Box<Ticket>>,
    },
    LoggedIn(MemberId),
}

impl SnekSession {
    pub fn new(now: Millis) -> Self {
        Self {
            phase: Phase::Waiting { until: now + LOGIN_TIMEOUT_MS, login: None },
            heartbeat: Heartbeat::new(now, PING_INTERVAL_MS, PONG_TIMEOUT_MS),
        }
    }

    fn on_call(&mut self, request: Request<'_>, ticket: Ticket) -> Step {
        match (&mut self.phase, request) {
            (Phase::Waiting { login: pending, .. }, Request::LogIn { login, secret }) => {
                *pending = Some(Box::new(ticket.clone()));
                Step::Ask(Ask::Prove { login, secret }, ticket)
            }
            (Phase::Waiting { .. }, _) => refuse(&ticket, &refusal::NOT_AUTHENTICATED),
            (Phase::LoggedIn(_), Request::LogIn { .. }) => {
                refuse(&ticket, &Refusal::bad_request("already logged in; open another connection"))
            }
            (Phase::LoggedIn(_), Request::Ping(args)) => Step::Send(mapping::pong(&ticket, args)),
            (Phase::LoggedIn(_), Request::Echo(args)) => Step::Send(mapping::echo(&ticket, args)),
            (Phase::LoggedIn(_), Request::Ask(ask)) => Step::Ask(ask, ticket),
        }
    }
}

fn refuse(ticket: &Ticket, refusal: &Refusal) -> Step {
    Step::Send(mapping::failure(ticket, refusal))
}

impl Session for SnekSession {
    fn on_text(&mut self, text: &str, now: Millis) -> Vec<Step> {
        self.heartbeat.alive(now);
        let step = match mapping::request(text) {
            Ok((request, ticket)) => self.on_call(request, ticket),
            // Whoever has not logged in learns that first, whatever else is wrong with the call.
            Err((_, ticket)) if self.member().is_none() && !["", "login"].contains(&ticket.request) => {
                refuse(&ticket, &refusal::NOT_AUTHENTICATED)
            }
            Err((refusal, ticket)) => refuse(&ticket, &refusal),
        };
        vec![step]
    }

    fn on_binary(&mut self, _data: &[u8], now: Millis) -> Vec<Step> {
        self.heartbeat.alive(now);
        vec![refuse(&Ticket::default(), &Refusal::bad_request("calls are JSON in text frames"))]
    }

    fn on_sign_of_life(&mut self, now: Millis) {
        self.heartbeat.alive(now);
    }

    fn on_login(&mut self, outcome: Result<MemberId, Refusal>, _: Millis) -> Vec<Step> {
        let Phase::Waiting { login, .. } = &mut self.phase else { return Vec::new() };
        match outcome {
            Ok(member) => {
                self.phase = Phase::LoggedIn(member);
                Vec::new()
            }
            Err(refusal) => {
                let ticket = login.take().map(|ticket| *ticket).unwrap_or_default();
                vec![refuse(&ticket, &refusal)]
            }
        }
    }

    fn on_deadline(&mut self, now: Millis) -> Vec<Step> {
        if matches!(self.phase, Phase::Waiting { until, .. } if now >= until) {
            return vec![Step::Close { code: POLICY_VIOLATION, reason: "no login" }];
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
