//! Lark: envelopes of JSON between a hub and its people and agents, with the document's limits.

mod answers;
mod events;
mod programs;
mod requests;
mod runs;
mod values;
mod wake;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use answers::*;
pub use events::*;
pub use programs::*;
pub use requests::*;
pub use runs::*;
pub use values::*;
pub use wake::*;

use crate::{Id, Millis};

/// The largest frame that a hub reads.
pub const MAX_FRAME_BYTES: usize = 65_536;
pub const MAX_QUEUED_FRAMES: usize = 256;
pub const MAX_SUBSCRIPTIONS: usize = 200;
/// The longest text of a message.
pub const MAX_CONTENT_CHARS: usize = 10_000;

pub const AUTH_TIMEOUT_MS: Millis = 30_000;
pub const PING_INTERVAL_MS: Millis = 30_000;
pub const PONG_TIMEOUT_MS: Millis = 60_000;

/// The envelope as a hub receives it. `v` and `ts` of incoming frames are not checked: real clients send all sorts.
#[derive(Deserialize)]
pub struct Incoming<'a> {
    /// Kept as it was written, to be given back as `reply_to`.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
}

/// The envelope as either side sends it.
#[derive(Serialize)]
pub struct Envelope<'a, T> {
    pub v: u8,
    pub id: Id,
    #[serde(rename = "type")]
    pub kind: &'a str,
    pub ts: Millis,
    /// The id of the request this answers; replies keep an id of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<&'a RawValue>,
    pub data: T,
}

impl<'a, T: Serialize> Envelope<'a, T> {
    pub fn new(id: Id, kind: &'a str, ts: Millis, data: T) -> Self {
        Self { v: 1, id, kind, ts, reply_to: None, data }
    }

    pub fn text(&self) -> String {
        // Our own types have string keys and no failing serializers, so this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The frame that asks for something.
pub fn request<R: Request>(id: &str, now: Millis, request: &R) -> String {
    Envelope::new(id.into(), R::TYPE, now, request).text()
}

/// The envelope as a client receives it.
#[derive(Clone, Debug, Deserialize)]
pub struct Frame {
    #[serde(rename = "type")]
    pub kind: String,
    /// Only texts, because clients of ours name their requests with texts.
    #[serde(default, deserialize_with = "crate::lenient::fitting")]
    pub reply_to: Option<String>,
    #[serde(default)]
    pub data: Option<Box<RawValue>>,
}

impl Frame {
    /// None for what is no envelope. Lists are turned away, because serde would take one for the fields in their order.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.trim_start().starts_with('{') {
            return None;
        }
        serde_json::from_str(text).ok()
    }

    /// The data, if it has this shape.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_str(self.data.as_ref()?.get()).ok()
    }

    /// The refusal in an `error` or `auth.fail`.
    pub fn refused(&self) -> Refused<'_> {
        self.read().unwrap_or_default()
    }
}
