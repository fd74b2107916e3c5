//! What travels between the controller of a pool and its agents, in the document's order and words, with its limits.
//!
//! Agents are written by many hands, so what they send is read leniently: a field of the wrong type counts as missing.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::door::Limits;

/// Beyond 256 KiB the connection ends; requests in the other direction are bounded by those in flight.
pub const LIMITS: Limits = Limits { frame_bytes: 256 * 1024, queued_frames: 256, subscriptions: 0 };
/// A larger frame is refused, and the connection stays.
pub const MAX_FRAME_BYTES: usize = 64 * 1024;
pub const MAX_FRAMES_PER_SECOND: u32 = 100;
pub const MAX_GUILDS: usize = 5000;
pub const MAX_ID_CHARS: usize = 100;

pub const HANDSHAKE_MS: i64 = 8_000;
pub const PING_INTERVAL_MS: i64 = 15_000;
pub const STALE_MS: i64 = 45_000;

/// A version of the protocol that agents may speak. What differs between versions becomes a field here.
#[derive(Debug, PartialEq, Eq)]
pub struct Version {
    pub name: &'static str,
}

pub const SUPPORTED_VERSIONS: &[Version] = &[Version { name: "1.0.0" }];
/// What the controller speaks, and says that it expects.
pub const PROTOCOL_VERSION: &str = "1.0.0";

// Agent → controller

/// The part of any frame that says what it is, together with all of a `resp`: those are the many.
#[derive(Deserialize)]
pub struct Frame<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub id: Option<Cow<'a, str>>,
    #[serde(default)]
    pub ok: Option<bool>,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
pub struct Hello {
    pub protocol_version: Value,
    /// Other spellings of the same, as real agents send them.
    #[serde(rename = "protocol_version")]
    pub snake_version: Value,
    #[serde(rename = "protocolversion")]
    pub flat_version: Value,
    pub version: Value,
    pub agent_id: Value,
    pub bot_user_id: Value,
    pub tag: Value,
    pub ready: Value,
    pub guild_ids: Value,
    pub pool_id: Value,
    pub runner_secret: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Guilds {
    pub guild_ids: Value,
}

/// `released` and `add`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct Event {
    pub event: Value,
    pub guild_id: Value,
    pub voice_channel_id: Value,
    /// The same as `voiceChannelId`; some agents send only this one.
    pub channel_id: Value,
    pub kind: Value,
    pub reason: Value,
    pub ok: Value,
    pub error: Value,
}

// Controller → agent

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Req<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub id: uuid::Uuid,
    pub op: &'a str,
    pub data: &'a RawValue,
    pub agent_id: &'a str,
}

#[derive(Serialize)]
pub struct Error<'a> {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub error: &'a str,
}
