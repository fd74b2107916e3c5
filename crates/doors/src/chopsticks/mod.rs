//! The Chopsticks door: the controller of pools of worker agents, `/agents`.
//!
//! It differs from the other doors in its direction: the hub asks and the agents answer. So there are no replies and no
//! events here; what agents say goes to the hub's pools with [`crate::door::Ask::Pool`], and requests are made with
//! [`mapping::request`].

pub mod mapping;
pub mod session;
#[cfg(test)]
mod tests;
pub mod wire;

use std::sync::Arc;

use folkmoot_core::ids::ChannelId;
use folkmoot_core::model::{Door, Notification};
use folkmoot_core::{Event, Millis, Refusal, Reply};

use crate::door::{Limits, Protocol, Replayed, Session, Ticket, View};

pub struct Chopsticks;

impl Protocol for Chopsticks {
    fn door(&self) -> Door {
        Door::Chopsticks
    }

    fn path(&self) -> &'static str {
        "/agents"
    }

    fn limits(&self) -> Limits {
        wire::LIMITS
    }

    fn open(&self, now: Millis) -> Box<dyn Session> {
        let pulse = Arc::new(session::Pulse::new(now));
        Box::new(session::ChopsticksSession::new(Arc::default(), pulse, now))
    }

    fn event(&self, _: &Event, _: View<'_>) -> Option<String> {
        None
    }

    fn reply(&self, _: &Ticket, _: Result<&Reply, &Refusal>, _: View<'_>) -> Option<String> {
        None
    }

    fn inbox(&self, _: &Ticket, _: &[Notification], _: View<'_>) -> Option<String> {
        None
    }

    fn replayed(&self, _: &Replayed<'_>, _: View<'_>) -> Option<String> {
        None
    }

    fn resumed(&self, _: &Ticket, _: ChannelId, _: u64, _: bool, _: View<'_>) -> Option<String> {
        None
    }

    fn lagged(&self, _: u64, _: &[(ChannelId, u64)], _: Millis) -> Option<String> {
        None
    }
}
