//! Channels, who is in them, and how far each has read.

use super::{Context, Decision, Outcome, quotas, visible_name, wakes};
use crate::command::Reply;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::state::Room;
use crate::{Actor, access};

const MAX_NAME_CHARS: usize = 80;
const MAX_TOPIC_CHARS: usize = 1000;
const MAX_DIRECT_MEMBERS: usize = 20;

pub fn subscribe(context: &mut Context<'_>, actor: Actor, channel: ChannelId) -> Outcome {
    access::room_inside(context.state, actor, channel)?;
    Ok(Decision::nothing(Reply::Subscribed(channel)))
}

pub fn typing(context: &mut Context<'_>, actor: Actor, channel: ChannelId, on: bool, color: Option<Color>) -> Outcome {
    access::room_to_speak(context.state, actor, channel)?;
    let mut events = vec![Event::Typing { channel, member: actor.member, on, color }];
    wakes::on_typing(context, actor, channel, on, &mut events);
    Ok(Decision::new(Reply::Done, events))
}

pub fn create(
    context: &mut Context<'_>,
    actor: Actor,
    workspace: Option<WorkspaceId>,
    name: String,
    kind: ChannelKind,
    topic: String,
) -> Outcome {
    let workspace = match workspace {
        Some(workspace) => workspace,
        None => access::member(context.state, actor)?.workspace,
    };
    let creator = access::workspace_member(context.state, actor, workspace)?.id;
    if kind.is_direct() {
        return Err(Refusal::bad_request(
            "type must be `channel` or `private`; direct channels are opened with their members",
        ));
    }
    quotas::one_more_channel(context, creator)?;
    let name = free_name(context, workspace, &name, None)?;
    let channel = new_channel(context, workspace, kind, name, creator);
    let channel = Channel { topic: topic_text(&topic)?, ..channel };
    let membership = new_membership(context, &channel, creator);
    let events = vec![Event::Saved(channel.clone().into()), Event::Joined(membership)];
    Ok(Decision::new(Reply::Channel { channel, created: true }, events))
}

fn new_channel(
    context: &mut Context<'_>,
    workspace: WorkspaceId,
    kind: ChannelKind,
    name: String,
    by: MemberId,
) -> Channel {
    Channel {
        id: ChannelId(context.new_id()),
        workspace,
        kind,
        name,
        topic: String::new(),
        created_by: by,
        created_at: context.now,
        archived: false,
    }
}

/// A newcomer has nothing unread: what was said before is there to read, not to catch up with.
pub(super) fn new_membership(context: &mut Context<'_>, channel: &Channel, member: MemberId) -> Membership {
    let head = context.state.channel(channel.id).map(|room| room.head).unwrap_or_default();
    Membership {
        id: MembershipId(context.new_id()),
        channel: channel.id,
        member,
        joined_at: context.now,
        read: ReadPosition { seq: head.seq, version: head.version },
        notify: NotifyPreference::All,
    }
}

pub fn update(
    context: &mut Context<'_>,
    actor: Actor,
    id: ChannelId,
    name: Option<String>,
    topic: Option<String>,
    is_private: Option<bool>,
) -> Outcome {
    let room = access::room_to_manage(context.state, actor, id)?;
    let mut channel = room.channel.clone();
    if let Some(is_private) = is_private {
        channel.kind = opened_or_closed(context, actor, &channel, is_private)?;
    }
    if let Some(name) = name {
        channel.name = free_name(context, channel.workspace, &name, Some(id))?;
    }
    if let Some(topic) = topic {
        channel.topic = topic_text(&topic)?;
    }
    Ok(Decision::saved(Reply::Channel { channel: channel.clone(), created: false }, channel))
}

/// Only somebody inside closes a channel: who is not would lose it, and perhaps everybody.
fn opened_or_closed(
    context: &Context<'_>,
    actor: Actor,
    channel: &Channel,
    is_private: bool,
) -> Result<ChannelKind, Refusal> {
    if channel.kind.is_direct() {
        return Err(Refusal::bad_request("a direct channel is always private"));
    }
    if !is_private {
        return Ok(ChannelKind::Channel);
    }
    access::room_inside(context.state, actor, channel.id)?;
    Ok(ChannelKind::Private)
}

pub fn archive(context: &mut Context<'_>, actor: Actor, id: ChannelId, archived: bool) -> Outcome {
    let room = access::room_to_manage(context.state, actor, id)?;
    let channel = Channel { archived, ..room.channel.clone() };
    Ok(Decision::saved(Reply::Channel { channel: channel.clone(), created: false }, channel))
}

pub fn delete(context: &mut Context<'_>, actor: Actor, id: ChannelId) -> Outcome {
    let room = access::room_to_manage(context.state, actor, id)?;
    if room.channel.kind.is_direct() {
        // It holds the words of others, who could not get them back.
        return Err(refusal::DIRECT_STAYS);
    }
    let webhooks = context.state.webhooks_in(room.channel.workspace).filter(|webhook| webhook.channel == id);
    let mut events: Vec<_> = webhooks.map(|webhook| Event::Removed(webhook.clone().into())).collect();
    events.extend(context.state.pools().link(id).map(|link| Event::Removed(link.clone().into())));
    // The channel's end is told while its people are still in it.
    events.push(Event::Removed(room.channel.clone().into()));
    events.extend(room.members.values().cloned().map(Event::Left));
    Ok(Decision::new(Reply::Done, events))
}

pub fn add_member(context: &mut Context<'_>, actor: Actor, id: ChannelId, member: MemberId) -> Outcome {
    let room = access::room_to_read(context.state, actor, id)?;
    let newcomer = access::colleague(context.state, actor, member)?.id;
    let joins_by_itself = newcomer == actor.member && room.channel.kind.is_open();
    let inside = room.members.contains_key(&actor.member);
    let admin = access::member(context.state, actor)?.role >= Role::Admin;
    if room.channel.kind.is_direct() {
        return Err(Refusal::bad_request("a direct channel belongs to exactly its members; open another one"));
    }
    if !joins_by_itself && !inside && !admin {
        return Err(refusal::NOT_CHANNEL_MEMBER);
    }
    let channel = room.channel.clone();
    if room.members.contains_key(&newcomer) {
        return Ok(Decision::nothing(Reply::Channel { channel, created: false }));
    }
    let membership = new_membership(context, &channel, newcomer);
    Ok(Decision::new(Reply::Channel { channel, created: true }, vec![Event::Joined(membership)]))
}

/// Adds somebody who is known by name.
pub fn invite(context: &mut Context<'_>, actor: Actor, id: ChannelId, who: &str) -> Outcome {
    let workspace = access::member(context.state, actor)?.workspace;
    let by_name = context.state.member_named(workspace, who).map(|member| member.id);
    add_member(context, actor, id, by_name.unwrap_or_else(|| MemberId::parse(who)))
}

pub fn remove_member(context: &mut Context<'_>, actor: Actor, id: ChannelId, member: MemberId) -> Outcome {
    let room = if member == actor.member {
        access::room_inside(context.state, actor, id)?
    } else {
        access::room_to_manage(context.state, actor, id)?
    };
    if room.channel.kind == ChannelKind::Dm {
        return Err(Refusal::bad_request("a direct channel belongs to exactly its two members"));
    }
    let membership = room.members.get(&member).ok_or(refusal::MEMBER_NOT_FOUND)?;
    Ok(Decision::new(Reply::Done, vec![Event::Left(membership.clone())]))
}

pub fn open_direct(
    context: &mut Context<'_>,
    actor: Actor,
    workspace: WorkspaceId,
    mut members: Vec<MemberId>,
) -> Outcome {
    let caller = access::workspace_member(context.state, actor, workspace)?.id;
    members.push(caller);
    members.sort_unstable();
    members.dedup();
    if members.len() < 2 {
        return Err(Refusal::bad_request("member_ids must name somebody besides yourself"));
    }
    if members.len() > MAX_DIRECT_MEMBERS {
        return Err(Refusal::bad_request("a direct channel has at most 20 members; make a private channel"));
    }
    for id in &members {
        access::colleague(context.state, actor, *id)?;
    }
    if let Some(room) = context.state.direct_between(&members) {
        return Ok(Decision::nothing(Reply::Channel { channel: room.channel.clone(), created: false }));
    }
    quotas::one_more_channel(context, caller)?;
    let kind = if members.len() == 2 { ChannelKind::Dm } else { ChannelKind::GroupDm };
    let names: Vec<_> = members.iter().map(|id| context.state.name_of(*id)).collect();
    let channel = new_channel(context, workspace, kind, names.join(", "), caller);
    let mut events = vec![Event::Saved(channel.clone().into())];
    for member in members {
        events.push(Event::Joined(new_membership(context, &channel, member)));
    }
    Ok(Decision::new(Reply::Channel { channel, created: true }, events))
}

pub fn mark_read(context: &mut Context<'_>, actor: Actor, id: ChannelId, seq: Option<u64>) -> Outcome {
    let room = access::room_inside(context.state, actor, id)?;
    let read = read_position(context, room, seq)?;
    let membership = &room.members[&actor.member];
    if membership.read == read {
        return Ok(Decision::nothing(Reply::Done));
    }
    Ok(Decision::saved(Reply::Done, Membership { read, ..membership.clone() }))
}

fn read_position(context: &Context<'_>, room: &Room, seq: Option<u64>) -> Result<ReadPosition, Refusal> {
    match seq {
        Some(seq) if seq < room.head.seq => {
            let version = context.history.version_at(room.channel.id, seq)?;
            Ok(ReadPosition { seq, version })
        }
        _ => Ok(ReadPosition { seq: room.head.seq, version: room.head.version }),
    }
}

pub fn set_notify(context: &mut Context<'_>, actor: Actor, id: ChannelId, notify: NotifyPreference) -> Outcome {
    let room = access::room_inside(context.state, actor, id)?;
    let membership = Membership { notify, ..room.members[&actor.member].clone() };
    Ok(Decision::saved(Reply::Done, membership))
}

fn free_name(
    context: &Context<'_>,
    workspace: WorkspaceId,
    name: &str,
    except: Option<ChannelId>,
) -> Result<String, Refusal> {
    let name = visible_name(name.trim().trim_start_matches('#'), "name", MAX_NAME_CHARS)?;
    let taken = context.state.channels_alike(workspace, &name).find(|room| Some(room.channel.id) != except);
    // The answer is the same for a private channel of that name: a name in use is no secret worth two channels called alike.
    match taken {
        Some(room) => Err(Refusal::conflict(format!("a channel named `{}` exists", room.channel.name))),
        None => Ok(name),
    }
}

fn topic_text(topic: &str) -> Result<String, Refusal> {
    let topic = topic.trim();
    if topic.chars().count() > MAX_TOPIC_CHARS {
        return Err(Refusal::bad_request("topic is too long (max 1000 characters)"));
    }
    if topic.chars().any(|character| character.is_control() && !character.is_whitespace()) {
        return Err(Refusal::bad_request("topic may not contain control characters"));
    }
    Ok(topic.to_owned())
}
