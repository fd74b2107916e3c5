//! Envelopes: what travels to the hub and to programs, one JSON object each.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// The largest frame the hub reads.
pub const MOST_FRAME_BYTES: usize = 65_536;
/// The longest text of a message.
pub const MOST_TEXT_CHARS: usize = 10_000;

/// A frame as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub kind: String,
    pub reply_to: Option<String>,
    pub data: Value,
}

impl Frame {
    pub fn parse(text: &str) -> Option<Self> {
        let mut value: Value = serde_json::from_str(text).ok()?;
        let kind = value["type"].as_str()?.to_owned();
        let reply_to = value["reply_to"].as_str().map(str::to_owned);
        Some(Self { kind, reply_to, data: value["data"].take() })
    }
}

pub fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

pub fn envelope(id: &str, kind: &str, data: &Value) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    json!({"v": 1, "id": id, "type": kind, "ts": u64::try_from(now).unwrap_or_default(), "data": data}).to_string()
}

/// A text field that says something.
pub fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value[name].as_str().filter(|text| !text.is_empty())
}

pub fn owned(value: &Value, name: &str) -> Option<String> {
    text(value, name).map(str::to_owned)
}
