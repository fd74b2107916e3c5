//! What travels between SmartHole and its clients, in the document's order and words, with the document's limits.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Id, Millis};

pub const MAX_FRAME_BYTES: usize = 1024 * 1024;
/// A client that does not read is cut off at this many waiting sentences; it is never thinned silently.
pub const MAX_QUEUED_FRAMES: usize = 1024;

pub const MAX_CONNECTIONS: usize = 100;
pub const PING_INTERVAL_MS: Millis = 30_000;
pub const PONG_TIMEOUT_MS: Millis = 10_000;

pub const MAX_NAME_CHARS: usize = 64;
pub const MAX_DESCRIPTION_CHARS: usize = 1024;
/// Not the document's: bounds for what it leaves unbounded.
pub const MAX_VERSION_CHARS: usize = 100;
pub const MAX_CAPABILITIES: usize = 100;
pub const MAX_CAPABILITY_CHARS: usize = 200;

/// Every message: `type` and `payload`.
#[derive(Deserialize)]
pub struct Incoming<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub payload: Option<&'a RawValue>,
}

/// The same as either side sends it.
#[derive(Clone, Debug, Serialize)]
pub struct Outgoing<'a, T> {
    #[serde(rename = "type")]
    pub kind: &'a str,
    pub payload: T,
}

/// Registration as it came: each field is looked at on its own, because each has an error of its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Registration {
    #[serde(default)]
    pub name: Value,
    #[serde(default)]
    pub description: Value,
    #[serde(default)]
    pub version: Value,
    #[serde(default)]
    pub capabilities: Value,
}

/// `registration_response`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationResponse<'a> {
    pub success: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    pub message: Cow<'a, str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    InvalidName,
    InvalidDescription,
    DuplicateName,
    AlreadyRegistered,
    ValidationError,
}

/// `message`: a sentence for the client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoutedMessage<'a> {
    pub id: Id,
    pub text: Cow<'a, str>,
    pub timestamp: Cow<'a, str>,
    pub metadata: Metadata<'a>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata<'a> {
    pub input_method: Cow<'a, str>,
    pub direct_routed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing_reason: Option<Cow<'a, str>>,
}

/// `response`: what the client says to a sentence.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    pub message_id: Id,
    #[serde(rename = "type")]
    pub kind: ResponseKind,
    pub payload: ResponsePayload,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResponseKind {
    Ack,
    Reject,
    Notification,
}

/// All fields are optional, and clients that fill one with something else than text mean nothing by it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ResponsePayload {
    #[serde(default)]
    pub reason: Value,
    #[serde(default)]
    pub title: Value,
    #[serde(default)]
    pub body: Value,
    #[serde(default)]
    pub priority: Value,
}
