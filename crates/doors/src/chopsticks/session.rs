//! One connection of a pool agent: it says hello in a version we speak, then it is asked and answers.
//!
//! Nobody is told that a hello was accepted: success is silence. The frames of an agent count as its own by the
//! connection they came on, whatever `agentId` they carry.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use folkmoot_core::ids::MemberId;
use folkmoot_core::{Millis, Refusal};
use subtle::ConstantTimeEq;

use super::mapping::{self, Hello, Offer, Said, Understood};
use super::wire::*;
use crate::door::{Ask, Session, Step, Ticket};

const POLICY_VIOLATION: u16 = 1008;
const GOING_AWAY: u16 = 1001;
const SECOND: Millis = 1000;
/// How much of a version that nobody knows is given back.
const SHOWN_VERSION_CHARS: usize = 40;

/// What the operator decided for all agents.
#[derive(Clone, Debug)]
pub struct Terms {
    pub handshake_ms: Millis,
    pub stale_ms: Millis,
    /// What a hello must carry; none where only programs of this machine reach the door.
    pub runner_secret: Option<String>,
}

impl Default for Terms {
    fn default() -> Self {
        Self { handshake_ms: HANDSHAKE_MS, stale_ms: STALE_MS, runner_secret: None }
    }
}

/// What the session and the hub both know of a connection.
#[derive(Debug, Default)]
pub struct Pulse {
    last_seen: AtomicI64,
    /// How often anything was heard of it.
    beats: AtomicU32,
    /// Requests the agent has not answered yet: their answers are no flood.
    owed: AtomicU32,
    /// The last round trip of a ping, until somebody takes it; negative when there is none.
    round_trip: AtomicI64,
}

impl Pulse {
    pub fn new(now: Millis) -> Self {
        let (beats, owed) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { last_seen: AtomicI64::new(now), beats, owed, round_trip: AtomicI64::new(-1) }
    }

    pub fn last_seen(&self) -> Millis {
        self.last_seen.load(Ordering::Relaxed)
    }

    /// A number that changes with every sign of life.
    pub fn beats(&self) -> u32 {
        self.beats.load(Ordering::Acquire)
    }

    pub fn asked(&self) {
        self.owed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn answered(&self) {
        self.owed.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many answers the agent owes.
    pub fn owed(&self) -> u32 {
        self.owed.load(Ordering::Relaxed)
    }

    pub fn take_round_trip(&self) -> Option<Millis> {
        Some(self.round_trip.swap(-1, Ordering::Relaxed)).filter(|took| *took >= 0)
    }
}

pub struct ChopsticksSession {
    terms: Arc<Terms>,
    pulse: Arc<Pulse>,
    phase: Phase,
    next_ping: Millis,
    pinged_at: Option<Millis>,
    /// Frames since this second began.
    second: Millis,
    frames: u32,
}

enum Phase {
    /// There is no room for it.
    TurnedAway(&'static str),
    Waiting {
        until: Millis,
    },
    Known {
        agent: String,
    },
    Closing,
}

impl ChopsticksSession {
    pub fn new(terms: Arc<Terms>, pulse: Arc<Pulse>, now: Millis) -> Self {
        let until = now + terms.handshake_ms;
        let next_ping = now + PING_INTERVAL_MS;
        Self { terms, pulse, phase: Phase::Waiting { until }, next_ping, pinged_at: None, second: now, frames: 0 }
    }

    /// A connection too many, which is only told so.
    pub fn turned_away(reason: &'static str, now: Millis) -> Self {
        let session = Self::new(Arc::default(), Arc::new(Pulse::new(now)), now);
        Self { phase: Phase::TurnedAway(reason), ..session }
    }

    fn close(&mut self, reason: &'static str) -> Step {
        self.phase = Phase::Closing;
        Step::Close { code: POLICY_VIOLATION, reason }
    }

    fn refuse(&mut self, error: &str, reason: &'static str) -> Vec<Step> {
        vec![complaint(error), self.close(reason)]
    }

    /// Whether this frame is one too many for this second.
    fn is_flood(&mut self, now: Millis) -> bool {
        if now - self.second >= SECOND || now < self.second {
            self.second = now;
            self.frames = 0;
        }
        self.frames += 1;
        self.frames > MAX_FRAMES_PER_SECOND
    }

    fn on_hello(&mut self, offer: Offer) -> Vec<Step> {
        let Some(written) = &offer.version else {
            return self.refuse("Protocol version required. Please upgrade agent.", "Missing protocol version");
        };
        let Some(version) = SUPPORTED_VERSIONS.iter().find(|version| version.name == written) else {
            let shown: String = written.chars().take(SHOWN_VERSION_CHARS).collect();
            let text = format!("Incompatible protocol version {shown}. Controller expects {PROTOCOL_VERSION}.");
            return self.refuse(&text, "Incompatible protocol version");
        };
        // Whoever has shown the secret once need not show it with every heartbeat.
        if !matches!(self.phase, Phase::Known { .. }) && !self.knows_secret(offer.secret.as_deref()) {
            return self.refuse("Unauthorized runner secret.", "Unauthorized");
        }
        let Some(agent) = offer.agent else { return Vec::new() };
        if matches!(&self.phase, Phase::Known { agent: known } if *known != agent) {
            return vec![complaint("This connection belongs to another agentId.")];
        }
        self.phase = Phase::Known { agent: agent.clone() };
        let Offer { tag, ready, guilds, pool, .. } = offer;
        vec![ask(Said::Hello(Hello { agent, version: version.name, tag, ready, guilds, pool }))]
    }

    /// In constant time, so that nobody can find the secret letter by letter.
    fn knows_secret(&self, shown: Option<&str>) -> bool {
        let Some(secret) = &self.terms.runner_secret else { return true };
        shown.is_some_and(|shown| shown.as_bytes().ct_eq(secret.as_bytes()).into())
    }

    fn on_understood(&mut self, understood: Understood) -> Vec<Step> {
        let is_known = matches!(self.phase, Phase::Known { .. });
        match understood {
            Understood::Hello(offer) => self.on_hello(*offer),
            Understood::Said(said) if is_known => vec![ask(said)],
            Understood::UnknownType if !is_known => self.refuse("Unknown message type", "protocol-error"),
            Understood::InvalidJson => vec![complaint("Invalid JSON")],
            Understood::Said(_) | Understood::UnknownType | Understood::Ignored => Vec::new(),
        }
    }
}

fn complaint(text: &str) -> Step {
    Step::Send(mapping::error(text))
}

fn ask(said: Said) -> Step {
    Step::Ask(Ask::Host(Box::new(said)), Ticket::default())
}

impl Session for ChopsticksSession {
    fn on_text(&mut self, text: &str, now: Millis) -> Vec<Step> {
        self.on_sign_of_life(now);
        if matches!(self.phase, Phase::Closing | Phase::TurnedAway(_)) {
            return Vec::new();
        }
        let flood = self.is_flood(now);
        if flood && self.pulse.owed() == 0 {
            return Vec::new();
        }
        if text.len() > MAX_FRAME_BYTES {
            return if flood { Vec::new() } else { vec![complaint("Frame too large")] };
        }
        let understood = mapping::understand(text);
        let is_answer = matches!(understood, Understood::Said(Said::Answer(_)));
        if flood && !is_answer { Vec::new() } else { self.on_understood(understood) }
    }

    fn on_binary(&mut self, _data: &[u8], now: Millis) -> Vec<Step> {
        self.on_sign_of_life(now);
        if matches!(self.phase, Phase::Closing | Phase::TurnedAway(_)) || self.is_flood(now) {
            return Vec::new();
        }
        vec![complaint("Invalid JSON")]
    }

    fn on_sign_of_life(&mut self, now: Millis) {
        self.pulse.last_seen.store(now, Ordering::Relaxed);
        self.pulse.beats.fetch_add(1, Ordering::Release);
        if let Some(pinged_at) = self.pinged_at.take() {
            self.pulse.round_trip.store(now - pinged_at, Ordering::Relaxed);
        }
    }

    fn on_login(&mut self, _: Result<MemberId, Refusal>, _: Millis) -> Vec<Step> {
        Vec::new()
    }

    fn on_deadline(&mut self, now: Millis) -> Vec<Step> {
        match self.phase {
            Phase::TurnedAway(reason) => return vec![self.close(reason)],
            Phase::Waiting { until } if now >= until => return vec![self.close("hello-required")],
            _ => {}
        }
        if now - self.pulse.last_seen() >= self.terms.stale_ms {
            self.phase = Phase::Closing;
            return vec![Step::Close { code: GOING_AWAY, reason: "stale" }];
        }
        if now >= self.next_ping {
            self.next_ping = now + PING_INTERVAL_MS;
            self.pinged_at = Some(now);
            return vec![Step::Ping];
        }
        Vec::new()
    }

    fn deadline(&self) -> Millis {
        let next = self.next_ping.min(self.pulse.last_seen() + self.terms.stale_ms);
        match self.phase {
            // At once.
            Phase::TurnedAway(_) => self.pulse.last_seen(),
            Phase::Waiting { until } => next.min(until),
            Phase::Known { .. } | Phase::Closing => next,
        }
    }

    /// Agents of pools have no account; they are guests, and the hub knows which.
    fn member(&self) -> Option<MemberId> {
        None
    }
}
