//! What travels on Snek's wire, in the document's words, with its limits.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::door::Limits;

/// The document names no limits. A message has at most 10,000 characters, which JSON may write in twelve bytes each.
pub const LIMITS: Limits = Limits { frame_bytes: 262_144, queued_frames: 1024, subscriptions: 10_000 };

/// `WS_HEARTBEAT`; both sides ping.
pub const PING_INTERVAL_MS: i64 = 30_000;
pub const PONG_TIMEOUT_MS: i64 = 60_000;
/// A connection that never logs in is closed after the longest time a call may take (`DEFAULT_REQUEST_TIMEOUT`).
pub const LOGIN_TIMEOUT_MS: i64 = 190_000;

/// Section 3, client request. `args` and `kwargs` are left out by real bots, and `callId` may be any JSON value.
#[derive(Deserialize)]
pub struct Call<'a> {
    #[serde(borrow, default)]
    pub method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub args: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub kwargs: Option<&'a RawValue>,
    /// Kept as it was written, to be given back.
    #[serde(borrow, default, rename = "callId")]
    pub call_id: Option<&'a RawValue>,
}

/// Section 7, the message event: its fields stand at the top. Below the line what real servers add.
#[derive(Serialize)]
pub struct MessageEvent<'a> {
    pub event: &'static str,
    #[serde(flatten)]
    pub fields: MessageFields<'a>,
}

#[derive(Serialize)]
pub struct MessageFields<'a> {
    pub message: &'a str,
    pub username: &'a str,
    pub user_nick: &'a str,
    pub channel_uid: String,
    pub is_final: bool,
    // ---
    pub uid: String,
    pub user_uid: String,
    pub color: String,
    pub created_at: String,
    pub updated_at: String,
}

/// Section 7, every other event.
#[derive(Serialize)]
pub struct Event<T> {
    pub event: &'static str,
    pub data: T,
}

/// The other dialect (`?events=v2`): messages have their fields under `data` as well.
#[derive(Serialize)]
pub struct ChannelEvent<'a, T> {
    pub channel_uid: &'a str,
    pub event: &'static str,
    pub data: T,
}

/// Exactly this: clients unpack it as the arguments of `on_join` and `on_leave`.
#[derive(Serialize)]
pub struct JoinOrLeave {
    pub channel_uid: String,
}

#[derive(Serialize)]
pub struct SetTyping<'a> {
    pub user_uid: String,
    pub username: &'a str,
    pub nick: &'a str,
    pub channel_uid: String,
    pub color: &'a str,
}

#[derive(Serialize)]
pub struct MessageDeleted {
    pub channel_uid: String,
    pub uid: String,
}

/// Section 4, and what real servers add to it.
#[derive(Serialize)]
pub struct User<'a> {
    pub uid: String,
    pub username: &'a str,
    pub nick: &'a str,
    pub color: String,
    /// Shown to its owner only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<&'a str>,
    pub is_bot: bool,
    pub is_online: bool,
    pub created_at: String,
}

/// Section 5, channel object, and what real servers add to it.
#[derive(Serialize)]
pub struct Channel<'a> {
    pub uid: String,
    pub name: String,
    pub tag: &'static str,
    pub description: &'a str,
    pub new_count: u64,
    pub is_moderator: bool,
    pub is_read_only: bool,
    pub color: String,
}

/// A refused call: the sentence twice, because real servers call it an exception, and a stable code.
#[derive(Serialize)]
pub struct Failure<'a> {
    pub exception: &'a str,
    pub error: &'a str,
    pub code: &'static str,
}
