//! The Lark door: the workspace protocol for people and agents, `/ws`.

pub mod mapping;
pub mod objects;
pub mod session;
#[cfg(test)]
mod tests;
pub mod wire;

use folkmoot_core::ids::ChannelId;
use folkmoot_core::model::{Door, Notification};
use folkmoot_core::{Event, Millis, Refusal, Reply};

use crate::door::{Events, Limits, Protocol, Replayed, Session, Ticket, View};

pub struct Lark;

impl Protocol for Lark {
    fn door(&self) -> Door {
        Door::Lark
    }

    fn path(&self) -> &'static str {
        "/ws"
    }

    fn limits(&self) -> Limits {
        wire::LIMITS
    }

    fn open(&self, now: Millis) -> Box<dyn Session> {
        Box::new(session::LarkSession::new(now))
    }
}

impl Events for Lark {
    fn event(&self, event: &Event, view: View<'_>) -> Option<String> {
        mapping::event(event, view)
    }

    fn reply(&self, ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> Option<String> {
        mapping::reply(ticket, outcome, view)
    }

    fn inbox(&self, ticket: &Ticket, items: &[Notification], view: View<'_>) -> Option<String> {
        Some(mapping::inbox(ticket, items, view))
    }

    fn replayed(&self, event: &Replayed<'_>, view: View<'_>) -> Option<String> {
        mapping::replayed(event, view)
    }

    fn resumed(&self, ticket: &Ticket, channel: ChannelId, seq: u64, complete: bool, view: View<'_>) -> Option<String> {
        Some(mapping::resumed(ticket, channel, seq, complete, view))
    }

    fn can_catch_up(&self) -> bool {
        true
    }

    fn lagged(&self, dropped: u64, positions: &[(ChannelId, u64)], now: Millis) -> Option<String> {
        Some(mapping::lagged(dropped, positions, now))
    }
}
