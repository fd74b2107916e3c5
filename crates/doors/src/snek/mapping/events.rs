//! From what happened to the frame that tells it.

use folkmoot_core::event::Event;
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_wire::Id;
use serde::Serialize;

use super::super::objects::{self, color, names, text};
use super::super::{Dialect, wire};
use crate::door::View;

/// The frame for an event; none for what Snek has no word for.
pub fn event(event: &Event, dialect: Dialect, view: View<'_>) -> Option<String> {
    Some(match event {
        Event::MessageSent(message) => message_event("new_message", message, dialect, view),
        Event::MessageEdited { message, .. } | Event::Progressed(message) => {
            message_event("update_message_text", message, dialect, view)
        }
        Event::MessageDeleted { message, .. } => deleted(message.channel, message.id),
        Event::Streamed(stream) => streamed(stream, dialect, view)?,
        // The final message takes its place, because it has the same uid; without one it goes.
        Event::StreamEnded { said: true, .. } => return None,
        Event::StreamEnded { stream, said: false } => deleted(stream.channel, stream.message),
        Event::Typing { on: false, .. } => return None,
        Event::Typing { channel, member, on: true, color } => typing(*channel, *member, *color, view),
        Event::Joined(membership) => came_or_went("join", membership),
        Event::Left(membership) => came_or_went("leave", membership),
        Event::Reacted { .. }
        | Event::Pinned { .. }
        | Event::Unpinned { .. }
        | Event::Saved(_)
        | Event::Removed(_)
        | Event::PresenceChanged { .. }
        | Event::Woken(_)
        | Event::TaskAssigned { .. }
        | Event::CallSignal { .. }
        | Event::Handed { .. }
        | Event::StopAsked { .. }
        | Event::ConnectionReplaced(_)
        | Event::Connected { .. }
        | Event::Disconnected { .. }
        | Event::DaemonRegistered { .. } => return None,
    })
}

/// A message, or what it says now: the document has one event for both, and the uid tells them apart.
fn message_event(v2_name: &'static str, message: &Message, dialect: Dialect, view: View<'_>) -> String {
    let text = text(message);
    let fields = objects::message(message, &text, view.state);
    match dialect {
        Dialect::Document => to_text(&wire::MessageEvent { event: "message".into(), fields }),
        Dialect::V2 => {
            let channel_uid = fields.channel_uid.clone();
            to_text(&wire::ChannelEvent { channel_uid, event: v2_name.into(), data: fields })
        }
    }
}

/// The other dialect has no word for a message that is not final.
fn streamed(stream: &Stream, dialect: Dialect, view: View<'_>) -> Option<String> {
    let fields = objects::partial(stream, view.state);
    (dialect == Dialect::Document).then(|| to_text(&wire::MessageEvent { event: "message".into(), fields }))
}

fn deleted(channel: ChannelId, message: MessageId) -> String {
    let data = wire::MessageDeleted { channel_uid: Id::of(channel), uid: Id::of(message) };
    to_text(&wire::Event { event: "message_deleted".into(), data })
}

fn typing(channel: ChannelId, member: MemberId, chosen: Option<Color>, view: View<'_>) -> String {
    let (username, nick) = names(member, view.state);
    let own = color(member.0);
    let data = wire::SetTyping {
        user_uid: Id::of(member),
        username: username.into(),
        nick: nick.into(),
        channel_uid: Id::of(channel),
        color: chosen.as_ref().map_or(own.as_str(), Color::as_str).into(),
    };
    to_text(&wire::Event { event: "set_typing".into(), data })
}

fn came_or_went(event: &'static str, membership: &Membership) -> String {
    let data = wire::JoinOrLeave { channel_uid: Id::of(membership.channel) };
    to_text(&wire::Event { event: event.into(), data })
}

/// What a reader that was too slow is told once it reads again: `get_messages` has what it missed.
pub fn lagged(dropped: u64, positions: &[(ChannelId, u64)]) -> String {
    let channel_uids = positions.iter().map(|(channel, _)| Id::of(channel)).collect();
    to_text(&wire::Event { event: "lagged".into(), data: wire::Lagged { dropped, channel_uids } })
}

fn to_text(frame: &impl Serialize) -> String {
    // Our own types have string keys and no failing serializers, so this cannot fail.
    serde_json::to_string(frame).unwrap_or_default()
}
