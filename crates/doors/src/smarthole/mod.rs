//! The SmartHole door: local programs say what they can do and are handed the sentences that are for them.

pub mod mapping;
pub mod objects;
pub mod session;
#[cfg(test)]
mod tests;
pub mod wire;

use folkmoot_core::ids::ChannelId;
use folkmoot_core::model::{Door, Notification};
use folkmoot_core::{Event, Millis, Refusal, Reply};

use crate::door::{Limits, Protocol, Replayed, Session, Ticket, View};

pub struct SmartHole;

impl Protocol for SmartHole {
    fn door(&self) -> Door {
        Door::SmartHole
    }

    fn path(&self) -> &'static str {
        "/"
    }

    fn is_apart(&self) -> bool {
        true
    }

    fn can_catch_up(&self) -> bool {
        false
    }

    fn limits(&self) -> Limits {
        wire::LIMITS
    }

    fn open(&self, now: Millis) -> Box<dyn Session> {
        Box::new(session::SmartHoleSession::new(now))
    }

    fn event(&self, event: &Event, _view: View<'_>) -> Option<String> {
        mapping::event(event)
    }

    fn reply(&self, ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> Option<String> {
        mapping::reply(ticket, outcome, view)
    }

    // Clients have no inbox, no channels and no positions in them.

    fn inbox(&self, _ticket: &Ticket, _items: &[Notification], _view: View<'_>) -> Option<String> {
        None
    }

    fn replayed(&self, _event: &Replayed<'_>, _view: View<'_>) -> Option<String> {
        None
    }

    fn resumed(&self, _: &Ticket, _: ChannelId, _: u64, _: bool, _: View<'_>) -> Option<String> {
        None
    }

    fn lagged(&self, _dropped: u64, _positions: &[(ChannelId, u64)], _now: Millis) -> Option<String> {
        None
    }
}
