//! Between Lark's wire and the core: requests become commands, events and replies become frames. Total functions.

mod events;
mod replies;
mod requests;
mod runs;

use folkmoot_core::ids::ChannelId;
use folkmoot_core::{Millis, Refusal};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::door::{Ticket, View};

pub use events::event;
pub use replies::{inbox, replayed, reply, resumed};
pub use requests::{Request, request, request_types};

/// The envelope as sent.
#[derive(Serialize)]
struct Envelope<'a, T> {
    v: u8,
    id: uuid::Uuid,
    #[serde(rename = "type")]
    kind: &'a str,
    ts: Millis,
    /// The id of the request this answers; replies keep an id of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<&'a RawValue>,
    data: T,
}

fn envelope<T: Serialize>(kind: &str, reply_to: Option<&str>, data: T, nonce: u128, now: Millis) -> String {
    let reply_to: Option<&RawValue> = reply_to.and_then(|raw| serde_json::from_str(raw).ok());
    let id = uuid::Builder::from_random_bytes(nonce.to_be_bytes()).into_uuid();
    let frame = Envelope { v: 1, id, kind, ts: now, reply_to, data };
    // Our own types have string keys and no failing serializers, so this cannot fail.
    serde_json::to_string(&frame).unwrap_or_default()
}

fn frame(kind: &str, data: impl Serialize, view: View<'_>) -> String {
    envelope(kind, None, data, view.nonce, view.now)
}

fn answer(kind: &str, ticket: &Ticket, data: impl Serialize, view: View<'_>) -> String {
    envelope(kind, ticket.id.as_deref(), data, view.nonce, view.now)
}

/// A refusal in the document's words, with a stable code beside the sentence.
pub fn error(ticket: &Ticket, refusal: &Refusal, now: Millis) -> String {
    let mut data = json!({ "error": refusal.text, "code": refusal.code.as_str() });
    if refusal.detail.is_some() {
        data["message"] = refusal.to_string().into();
    }
    envelope("error", ticket.id.as_deref(), data, fresh(), now)
}

pub fn auth_fail(ticket: &Ticket, text: &str, now: Millis) -> String {
    envelope("auth.fail", ticket.id.as_deref(), json!({ "error": text }), fresh(), now)
}

/// What a reader that was too slow is told once it reads again: resume each channel after its position.
pub fn lagged(dropped: u64, positions: &[(ChannelId, u64)], now: Millis) -> String {
    let channels: Vec<_> =
        positions.iter().map(|(channel, seq)| json!({ "channel_id": channel, "seq": seq })).collect();
    envelope("sync.lagged", None, json!({ "dropped": dropped, "channels": channels }), fresh(), now)
}

/// Ids of frames that answer bad input need to differ, nothing more.
fn fresh() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}
