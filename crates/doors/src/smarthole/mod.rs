//! The SmartHole door: local programs say what they can do and are handed the sentences that are for them.

pub mod mapping;
pub mod objects;
pub mod session;
#[cfg(test)]
mod tests;

use folkmoot_core::ids::RouteId;
use folkmoot_core::model::Door;
use folkmoot_core::route::Said;
use folkmoot_core::{Event, Millis, Refusal, Reply};
pub use folkmoot_wire::smarthole as wire;

use crate::door::{Events, Limits, Protocol, Session, Ticket, View};

pub const LIMITS: Limits =
    Limits { frame_bytes: wire::MAX_FRAME_BYTES, queued_frames: wire::MAX_QUEUED_FRAMES, subscriptions: 0 };

pub struct SmartHole;

/// What its sessions ask of the door's host.
#[derive(Debug)]
pub enum HostRequest {
    /// A local program wants to take part; the outcome comes as that of a log-in.
    Enlist(Enlistment),
    /// What an enlisted program says to a sentence it was handed.
    Answer { route: RouteId, said: Said },
}

/// What a local program says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enlistment {
    pub name: String,
    pub description: String,
    pub version: Option<String>,
    pub capabilities: Vec<String>,
}

impl Protocol for SmartHole {
    fn door(&self) -> Door {
        Door::SmartHole
    }

    fn path(&self) -> &'static str {
        "/"
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn open(&self, now: Millis) -> Box<dyn Session> {
        Box::new(session::SmartHoleSession::new(now))
    }
}

/// Clients have no inbox, no channels and no positions in them.
impl Events for SmartHole {
    fn event(&self, event: &Event, _view: View<'_>) -> Option<String> {
        mapping::event(event)
    }

    fn reply(&self, ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> Option<String> {
        mapping::reply(ticket, outcome, view)
    }
}
