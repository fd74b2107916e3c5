//! Protocols as values: what travels on each wire, and the state machine of one connection. No sockets, no clock.
//!
//! What travels is of `folkmoot-wire`. Every door has the same files: `mapping.rs` (wire ↔ core, total functions),
//! `session.rs` (one connection), `tests.rs` (the document's rules). A new door is a folder and a line in [`DOORS`].

pub mod chopsticks;
pub mod door;
mod heartbeat;
pub mod lark;
pub mod query;
pub mod smarthole;
pub mod snek;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod testing;

pub use door::{Ask, Events, Limits, Poll, Protocol, Replayed, Session, Step, Ticket, View};
pub use query::{Query, QueryResult};

/// Every door that takes WebSocket connections, on the main listener or on one of its own.
pub const DOORS: &[&dyn Protocol] = &[
    &lark::Lark,
    &lark::PlainLark,
    &snek::Snek::DOCUMENT,
    &snek::Snek::V2,
    &chopsticks::Chopsticks,
    &smarthole::SmartHole,
];
