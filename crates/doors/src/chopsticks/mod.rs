//! The Chopsticks door: the controller of pools of worker agents, `/agents`.
//!
//! It differs from the other doors in its direction: the hub asks and the agents answer. So there are no replies and no
//! events here; what agents say goes to the hub's pools with [`crate::door::Ask::Host`], and requests are made with
//! [`mapping::request`].

pub mod mapping;
pub mod session;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use folkmoot_core::Millis;
use folkmoot_core::model::Door;
pub use folkmoot_wire::chopsticks as wire;

use crate::door::{Events, Limits, Protocol, Session};

pub const LIMITS: Limits =
    Limits { frame_bytes: wire::MAX_READ_BYTES, queued_frames: wire::MAX_QUEUED_FRAMES, subscriptions: 0 };

pub struct Chopsticks;

impl Protocol for Chopsticks {
    fn door(&self) -> Door {
        Door::Chopsticks
    }

    fn path(&self) -> &'static str {
        "/agents"
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn open(&self, now: Millis) -> Box<dyn Session> {
        let pulse = Arc::new(session::Pulse::new(now));
        Box::new(session::ChopsticksSession::new(Arc::default(), pulse, now))
    }
}

/// Nothing that happens in the hub is told here.
impl Events for Chopsticks {}
