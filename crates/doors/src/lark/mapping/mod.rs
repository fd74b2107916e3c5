//! Between Lark's wire and the core: requests become commands, events and replies become frames. Total functions.

mod events;
mod replies;
mod requests;
mod runs;

use folkmoot_core::ids::ChannelId;
use folkmoot_core::{Millis, Refusal};
use folkmoot_wire::Id;
use serde::Serialize;
use serde_json::value::RawValue;

use super::wire;
use crate::door::{Ticket, View};

pub use events::event;
pub use replies::{inbox, replayed, reply, resumed};
pub use requests::{Request, request, request_types};

/// The dialect of clients that asked for plain frames.
pub const PLAIN: &str = "plain";

/// How a message stands in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Its fields at the top of `data`, and again under `message`.
    Double,
    /// Its fields at the top of `data`.
    Plain,
}

fn envelope<T: Serialize>(kind: &str, reply_to: Option<&str>, data: T, nonce: u128, now: Millis) -> String {
    let reply_to: Option<&RawValue> = reply_to.and_then(|raw| serde_json::from_str(raw).ok());
    let id = uuid::Builder::from_random_bytes(nonce.to_be_bytes()).into_uuid();
    let id = Id::from(&*id.hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()));
    wire::Envelope { reply_to, ..wire::Envelope::new(id, kind, now, data) }.text()
}

fn frame(kind: &str, data: impl Serialize, view: View<'_>) -> String {
    envelope(kind, None, data, view.nonce, view.now)
}

fn answer(kind: &str, ticket: &Ticket, data: impl Serialize, view: View<'_>) -> String {
    envelope(kind, ticket.id.as_deref(), data, view.nonce, view.now)
}

/// A refusal in the document's words, with a stable code beside the sentence.
pub fn error(ticket: &Ticket, refusal: &Refusal, now: Millis) -> String {
    let message = refusal.detail.is_some().then(|| refusal.to_string().into());
    let data = wire::Refused { error: (&*refusal.text).into(), code: refusal.code.as_str().into(), message };
    envelope("error", ticket.id.as_deref(), data, fresh(), now)
}

pub fn auth_fail(ticket: &Ticket, text: &str, now: Millis) -> String {
    envelope("auth.fail", ticket.id.as_deref(), wire::AuthFail { error: text.into() }, fresh(), now)
}

/// What a reader that was too slow is told once it reads again: resume each channel after its position.
pub fn lagged(dropped: u64, positions: &[(ChannelId, u64)], now: Millis) -> String {
    let position = |(channel, seq): &(ChannelId, u64)| wire::SyncDone { channel_id: Id::of(channel), seq: *seq };
    let channels = positions.iter().map(position).collect();
    envelope("sync.lagged", None, wire::SyncLagged { dropped, channels }, fresh(), now)
}

/// Ids of frames that answer bad input need to differ, nothing more.
fn fresh() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}
