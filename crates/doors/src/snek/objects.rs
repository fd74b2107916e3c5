//! The hub's things as Snek's objects.

use folkmoot_core::decide::DRIVE;
use folkmoot_core::ids::MemberId;
use folkmoot_core::model::*;
use folkmoot_core::state::Room;
use folkmoot_core::{Actor, State, access, moment};

use super::wire;

impl<'a> wire::User<'a> {
    /// As others see it.
    pub fn new(member: &'a Member, state: &State) -> Self {
        Self {
            uid: member.id.to_string(),
            username: &member.name,
            nick: nick(member),
            color: color(member.id.0),
            email: None,
            is_bot: member.is_agent(),
            is_online: state.presence_of(member.id) != Presence::Offline,
            created_at: moment::iso(member.created_at),
        }
    }

    /// As this reader sees it.
    pub fn seen_by(member: &'a Member, reader: MemberId, state: &State) -> Self {
        let email = if member.id == reader { member.email.as_deref() } else { None };
        Self { email, ..Self::new(member, state) }
    }
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

impl<'a> wire::Channel<'a> {
    pub fn new(room: &'a Room, reader: Actor, state: &State) -> Self {
        let channel = &room.channel;
        Self {
            uid: channel.id.to_string(),
            name: channel_name(room, reader.member, state),
            tag: tag(channel.kind),
            description: &channel.topic,
            new_count: state.unread(channel.id, reader.member),
            is_moderator: access::room_to_manage(state, reader, channel.id).is_ok(),
            is_read_only: channel.archived,
            color: color(channel.id.0),
        }
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

impl<'a> wire::MessageFields<'a> {
    /// `text` is what the message says, see [`text`].
    pub fn new(message: &Message, text: &'a str, state: &'a State) -> Self {
        let (username, user_nick) = names(message.sender, state);
        Self {
            message: text,
            username,
            user_nick,
            channel_uid: message.channel.to_string(),
            is_final: true,
            uid: message.id.to_string(),
            user_uid: message.sender.to_string(),
            color: color(message.sender.0),
            created_at: moment::iso(message.created_at),
            updated_at: moment::iso(message.updated_at),
        }
    }

    pub fn partial(stream: &'a Stream, state: &'a State) -> Self {
        let (username, user_nick) = names(stream.sender, state);
        Self {
            message: &stream.content,
            username,
            user_nick,
            channel_uid: stream.channel.to_string(),
            is_final: false,
            uid: stream.message.to_string(),
            user_uid: stream.sender.to_string(),
            color: color(stream.sender.0),
            created_at: moment::iso(stream.started_at),
            updated_at: moment::iso(stream.updated_at),
        }
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
