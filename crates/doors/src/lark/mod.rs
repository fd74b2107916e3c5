//! The Lark door: the workspace protocol for people and agents, `/ws`.

mod describe;
pub mod mapping;
pub mod objects;
pub mod session;
#[cfg(test)]
mod tests;

pub use describe::asyncapi_json;
use folkmoot_core::ids::ChannelId;
use folkmoot_core::model::{Door, Notification};
use folkmoot_core::{Event, Millis, Refusal, Reply};
pub use folkmoot_wire::lark as wire;

use mapping::Shape;

use crate::door::{Events, Limits, Protocol, Replayed, Session, Ticket, View};

pub const LIMITS: Limits = Limits {
    frame_bytes: wire::MAX_FRAME_BYTES,
    queued_frames: wire::MAX_QUEUED_FRAMES,
    subscriptions: wire::MAX_SUBSCRIPTIONS,
};

/// The door as clients of the document and of its first server know it: a message twice in one frame.
pub struct Lark;

/// The same door for whoever asked for plain frames when logging in: a message once. See decision 0007.
pub struct PlainLark;

impl Protocol for Lark {
    fn door(&self) -> Door {
        Door::Lark
    }

    fn path(&self) -> &'static str {
        "/ws"
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn open(&self, now: Millis) -> Box<dyn Session> {
        Box::new(session::LarkSession::new(now))
    }
}

impl Events for Lark {
    fn event(&self, event: &Event, view: View<'_>) -> Option<String> {
        mapping::event(event, Shape::Double, view)
    }

    fn reply(&self, ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> Option<String> {
        mapping::reply(ticket, outcome, view)
    }

    fn inbox(&self, ticket: &Ticket, items: &[Notification], view: View<'_>) -> Option<String> {
        Some(mapping::inbox(ticket, items, view))
    }

    fn replayed(&self, event: &Replayed<'_>, view: View<'_>) -> Option<String> {
        mapping::replayed(event, Shape::Double, view)
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

impl Protocol for PlainLark {
    fn door(&self) -> Door {
        Lark.door()
    }

    fn path(&self) -> &'static str {
        Lark.path()
    }

    fn dialect(&self) -> &'static str {
        mapping::PLAIN
    }

    fn limits(&self) -> Limits {
        Lark.limits()
    }

    fn open(&self, now: Millis) -> Box<dyn Session> {
        Lark.open(now)
    }
}

impl Events for PlainLark {
    fn event(&self, event: &Event, view: View<'_>) -> Option<String> {
        mapping::event(event, Shape::Plain, view)
    }

    fn reply(&self, ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> Option<String> {
        Lark.reply(ticket, outcome, view)
    }

    fn inbox(&self, ticket: &Ticket, items: &[Notification], view: View<'_>) -> Option<String> {
        Lark.inbox(ticket, items, view)
    }

    fn replayed(&self, event: &Replayed<'_>, view: View<'_>) -> Option<String> {
        mapping::replayed(event, Shape::Plain, view)
    }

    fn resumed(&self, ticket: &Ticket, channel: ChannelId, seq: u64, complete: bool, view: View<'_>) -> Option<String> {
        Lark.resumed(ticket, channel, seq, complete, view)
    }

    fn can_catch_up(&self) -> bool {
        Lark.can_catch_up()
    }

    fn lagged(&self, dropped: u64, positions: &[(ChannelId, u64)], now: Millis) -> Option<String> {
        Lark.lagged(dropped, positions, now)
    }
}
