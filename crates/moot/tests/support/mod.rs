//! What the end-to-end tests share: a hub process, a REST client, a client of each door and members to act with.
//!
//! Nothing here knows the hub's code. Names, shapes and texts come from the documents.

pub mod agents;
pub mod bot;
pub mod browser;
pub mod chopsticks;
pub mod contract;
pub mod hub;
pub mod jukebox;
pub mod lark;
pub mod mcp;
pub mod member;
pub mod proxy;
pub mod rest;
pub mod smarthole;
pub mod snek;
pub mod socket;
pub mod telegram;
pub mod terminal;
pub mod token;
#[path = "../../../pool/tests/support/wav.rs"]
pub mod wav;
pub mod worker;

use std::time::Duration;

pub use browser::Browser;
pub use hub::{Hub, Setup, moot};
pub use jukebox::Jukebox;
pub use lark::{Lark, REQUESTS};
pub use member::{Member, register, start};
pub use rest::{Answer, Rest};
pub use snek::Snek;

/// How long a frame, an answer or a state may take before the test gives up on it.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Bars in seconds are for release builds on a quiet machine; others get this many times as much.
pub const SLACK: u32 = if cfg!(debug_assertions) { 20 } else { 1 };

/// Asks `probe` again and again until it yields a value, and gives up after [`DEADLINE`].
pub async fn eventually<T, F>(what: &str, probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    eventually_within(DEADLINE, what, probe).await
}

/// The same with more patience, for what several processes do together.
pub async fn eventually_within<T, F>(patience: Duration, what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let give_up = tokio::time::Instant::now() + patience;
    loop {
        if let Some(value) = probe().await {
            return value;
        }
        assert!(tokio::time::Instant::now() < give_up, "{what}: not within {patience:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The string at `key`, or a panic that shows the whole value.
#[track_caller]
pub fn text<'a>(value: &'a serde_json::Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("`{key}` is not a string in {value}"))
}

/// The whole number at `key`, or a panic that shows the whole value.
#[track_caller]
pub fn number(value: &serde_json::Value, key: &str) -> i64 {
    value[key].as_i64().unwrap_or_else(|| panic!("`{key}` is not a whole number in {value}"))
}

/// The items of a bare array, or a panic that shows what came instead.
#[track_caller]
pub fn items(value: &serde_json::Value) -> &[serde_json::Value] {
    value.as_array().unwrap_or_else(|| panic!("not a bare array: {value}"))
}

/// The strings at `key` of every item.
#[track_caller]
pub fn column<'a>(value: &'a serde_json::Value, key: &str) -> Vec<&'a str> {
    items(value).iter().map(|item| text(item, key)).collect()
}
