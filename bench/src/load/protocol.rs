//! What the suite asks of a load generator process and what that one answers: one JSON line each.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::stats::Spread;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    /// Connect, log in and subscribe; answered when every connection is ready.
    Open(Open),
    /// Send messages and wait until all are acknowledged and delivered.
    Drive(Drive),
    /// Read until nothing has come for so long.
    Settle { quiet_ms: u64 },
    /// Close every connection.
    Close,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Open {
    pub tokens: Vec<String>,
    pub rooms: Vec<String>,
    /// The first connection of a room is its sender.
    pub connections: Vec<Seat>,
    /// Bytes of text per message.
    pub content_bytes: usize,
    /// How many connections may be in the middle of connecting.
    pub at_once: usize,
}

/// Whose connection it is and which room's messages it gets, as places in the lists of [`Open`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Seat {
    pub token: usize,
    pub room: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drive {
    pub pace: Pace,
    /// Stop sending after so long …
    pub seconds: f64,
    /// … or after so many messages.
    pub messages: Option<u64>,
    /// Only the first so many rooms send; all when absent.
    pub rooms: Option<usize>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// Messages per second over all rooms, evenly spread.
    PerSecond(f64),
    /// So many messages of each room in flight: neither acknowledged nor delivered to all its connections.
    InFlight(u64),
    /// Each sender sends when its last message is acknowledged, whether delivered or not.
    ClosedLoop,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub error: Option<String>,
    pub seconds: f64,
    pub server_cpu_s: f64,
    pub load_cpu_s: f64,
    pub sent: u64,
    pub acked: u64,
    pub delivered: u64,
    /// How many deliveries the messages sent should have made.
    pub expected: u64,
    /// Mean payload of a delivery.
    pub delivery_bytes: f64,
    /// From sending to the acknowledgement.
    pub ack: Spread,
    /// From sending to the delivery to the last connection of the room.
    pub delivery: Spread,
    /// Frames that are neither deliveries nor acknowledgements, by type.
    pub others: BTreeMap<String, u64>,
}
