//! The Snek door: calls and events as JSON, `/rpc.ws` and `/v2/rpc.ws`, the simplest way for a bot to join.

pub mod mapping;
pub mod objects;
pub mod session;
#[cfg(test)]
mod tests;

use folkmoot_core::event::Audience;
use folkmoot_core::ids::ChannelId;
use folkmoot_core::model::Door;
use folkmoot_core::{Actor, Event, Millis, Refusal, Reply};
pub use folkmoot_wire::snek as wire;

use crate::door::{Events, Limits, Protocol, Session, Ticket, View};
use crate::query::QueryResult;

pub const LIMITS: Limits = Limits {
    frame_bytes: wire::MAX_FRAME_BYTES,
    queued_frames: wire::MAX_QUEUED_FRAMES,
    subscriptions: wire::MAX_SUBSCRIPTIONS,
};

pub struct Snek {
    dialect: Dialect,
}

/// How events look. Never both on one connection: bots would answer twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Flat `message` events, as the document has them.
    Document,
    /// `new_message` with everything under `data`, as some real clients expect.
    V2,
}

impl Snek {
    pub const DOCUMENT: Self = Self { dialect: Dialect::Document };
    pub const V2: Self = Self { dialect: Dialect::V2 };
}

impl Protocol for Snek {
    fn door(&self) -> Door {
        Door::Snek
    }

    fn path(&self) -> &'static str {
        "/rpc.ws"
    }

    fn dialect(&self) -> &'static str {
        match self.dialect {
            Dialect::Document => "",
            Dialect::V2 => "v2",
        }
    }

    /// Bots of the published examples put `/rpc.ws` behind the address of the server they are given.
    fn own_path(&self) -> Option<&'static str> {
        match self.dialect {
            Dialect::Document => None,
            Dialect::V2 => Some("/v2/rpc.ws"),
        }
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn open(&self, now: Millis) -> Box<dyn Session> {
        Box::new(session::SnekSession::new(now))
    }
}

/// There is no inbox here, since agents hear the channels themselves; and no resuming: whoever was away calls `get_messages`.
impl Events for Snek {
    fn event(&self, event: &Event, view: View<'_>) -> Option<String> {
        mapping::event(event, self.dialect, view)
    }

    /// `join` and `leave` do not say who came or went: they are for the one who did.
    fn audience(&self, event: &Event, audience: Audience) -> Audience {
        match event {
            Event::Joined(membership) | Event::Left(membership) => Audience::Member(membership.member),
            _ => audience,
        }
    }

    fn reply(&self, ticket: &Ticket, outcome: Result<&Reply, &Refusal>, view: View<'_>) -> Option<String> {
        Some(mapping::reply(ticket, outcome, view))
    }

    fn result(&self, ticket: &Ticket, reader: Actor, result: &QueryResult, view: View<'_>) -> Option<String> {
        Some(mapping::result(ticket, reader, result, view))
    }

    fn can_catch_up(&self) -> bool {
        true
    }

    fn lagged(&self, dropped: u64, positions: &[(ChannelId, u64)], _: Millis) -> Option<String> {
        Some(mapping::lagged(dropped, positions))
    }
}
