//! The hub's things as Snek's objects.

use folkmoot_core::decide::DRIVE;
use folkmoot_core::ids::MemberId;
use folkmoot_core::model::*;
use folkmoot_core::state::Room;
use folkmoot_core::{Actor, State, access, moment};
use folkmoot_wire::Id;

use super::wire;

/// A member as others see it.
pub fn user<'a>(member: &'a Member, state: &State) -> wire::User<'a> {
    wire::User {
        uid: Id::of(member.id),
        username: (&member.name).into(),
        nick: nick(member).into(),
        color: color(member.id.0).into(),
        email: None,
        is_bot: member.is_agent(),
        is_online: state.presence_of(member.id) != Presence::Offline,
        created_at: moment::iso(member.created_at).into(),
    }
}

/// A member as this reader sees it.
pub fn user_seen_by<'a>(member: &'a Member, reader: MemberId, state: &State) -> wire::User<'a> {
    let email = if member.id == reader { member.email.as_deref() } else { None };
    wire::User { email: email.map(Into::into), ..user(member, state) }
}

/// What people call somebody; the name when there is no nick.
pub fn nick(member: &Member) -> &str {
    member.nick.as_deref().unwrap_or(&member.name)
}

/// Name and nick on what somebody said, also after they left.
pub fn names(member: MemberId, state: &State) -> (&str, &str) {
    let name = state.name_of(member);
    (name, state.member(member).map_or(name, |member| nick(member)))
}

pub fn channel<'a>(room: &'a Room, reader: Actor, state: &State) -> wire::Channel<'a> {
    let channel = &room.channel;
    wire::Channel {
        uid: Id::of(channel.id),
        name: channel_name(room, reader.member, state).into(),
        tag: tag(channel.kind).into(),
        description: (&channel.topic).into(),
        new_count: state.unread(channel.id, reader.member),
        is_moderator: access::room_to_manage(state, reader, channel.id).is_ok(),
        is_read_only: channel.archived,
        color: color(channel.id.0).into(),
    }
}

/// `dm` means that a bot always answers, so only the channel of exactly two has it.
pub fn tag(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Dm => "dm",
        ChannelKind::GroupDm => "group",
        ChannelKind::Channel => "public",
        ChannelKind::Private => "private",
    }
}

/// A direct channel is called after the others in it.
fn channel_name(room: &Room, reader: MemberId, state: &State) -> String {
    if !room.channel.kind.is_direct() {
        return room.channel.name.clone();
    }
    let others = room.members.keys().filter(|id| **id != reader);
    let names: Vec<_> = others.map(|id| names(*id, state).1).filter(|name| !name.is_empty()).collect();
    if names.is_empty() { room.channel.name.clone() } else { names.join(", ") }
}

/// A message; `text` is what it says, see [`text`].
pub fn message<'a>(message: &Message, text: &'a str, state: &'a State) -> wire::MessageFields<'a> {
    let (username, user_nick) = names(message.sender, state);
    wire::MessageFields {
        message: text.into(),
        username: username.into(),
        user_nick: user_nick.into(),
        channel_uid: Id::of(message.channel),
        is_final: true,
        uid: Id::of(message.id),
        user_uid: Id::of(message.sender),
        color: color(message.sender.0).into(),
        created_at: moment::iso(message.created_at).into(),
        updated_at: moment::iso(message.updated_at).into(),
    }
}

/// A message as far as it has grown.
pub fn partial<'a>(stream: &'a Stream, state: &'a State) -> wire::MessageFields<'a> {
    let (username, user_nick) = names(stream.sender, state);
    wire::MessageFields {
        message: (&stream.content).into(),
        username: username.into(),
        user_nick: user_nick.into(),
        channel_uid: Id::of(stream.channel),
        is_final: false,
        uid: Id::of(stream.message),
        user_uid: Id::of(stream.sender),
        color: color(stream.sender.0).into(),
        created_at: moment::iso(stream.started_at).into(),
        updated_at: moment::iso(stream.updated_at).into(),
    }
}

/// A file that was posted beside the text, through another door, is a link here.
pub fn text(message: &Message) -> std::borrow::Cow<'_, str> {
    match message.file {
        None => message.content.as_str().into(),
        Some(file) => format!("{}\n[attachment]({DRIVE}{file})", message.content).trim_start().to_owned().into(),
    }
}

/// A bright colour of one's own, always the same: the document's ranges, hue by the id.
pub fn color(id: u128) -> String {
    // The low bits of an id are its random ones.
    let scattered = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let hue = (scattered >> 32) as f64 / f64::from(u32::MAX) * 6.0;
    let (saturation, lightness) = (0.85, 0.6);
    let chroma = (1.0 - (2.0 * lightness - 1.0_f64).abs()) * saturation;
    let second = chroma * (1.0 - (hue % 2.0 - 1.0).abs());
    let (red, green, blue) = match hue as u32 {
        0 => (chroma, second, 0.0),
        1 => (second, chroma, 0.0),
        2 => (0.0, chroma, second),
        3 => (0.0, second, chroma),
        4 => (second, 0.0, chroma),
        _ => (chroma, 0.0, second),
    };
    let byte = |part: f64| ((part + lightness - chroma / 2.0) * 255.0).round() as u8;
    format!("#{:02X}{:02X}{:02X}", byte(red), byte(green), byte(blue))
}
