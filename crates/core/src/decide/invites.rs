//! Invitations: a link with which one person makes an account of their own in a workspace.

use std::sync::Arc;

use super::{Context, Decision, Outcome, channels, members, quotas};
use crate::command::*;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::state::Room;
use crate::{Actor, Millis, access};

/// Long enough for somebody on holiday, short enough that a forgotten link is not a door.
pub const INVITE_LIFE: Millis = 7 * 24 * 60 * 60 * 1000;
const MAX_CHANNELS: usize = 50;

pub fn create(context: &mut Context<'_>, actor: Actor, create: CreateInvite) -> Outcome {
    let made_by = Arc::clone(access::admin(context.state, actor, create.workspace)?);
    access::brings_people_in(&made_by)?;
    let role = create.role.unwrap_or(Role::Member);
    access::may_give_role(&made_by, role)?;
    if create.channels.len() > MAX_CHANNELS {
        return Err(Refusal::bad_request(format!("an invitation names at most {MAX_CHANNELS} channels")));
    }
    for channel in &create.channels {
        // Whoever invites somebody into a channel must be able to add them there.
        let room = access::room_to_read(context.state, actor, *channel)?;
        if room.channel.kind.is_direct() {
            return Err(Refusal::bad_request("nobody is invited into a direct channel; open another one with them"));
        }
    }
    let invite = Invite {
        id: InviteId(context.new_id()),
        workspace: create.workspace,
        made_by: made_by.id,
        role,
        channels: create.channels,
        code_hash: create.code_hash,
        created_at: context.now,
        expires_at: context.now + INVITE_LIFE,
    };
    // Those that nobody took up go when new ones come.
    let over = context.state.invites_in(create.workspace).filter(|invite| invite.expires_at <= context.now);
    let swept = over.map(|invite| Event::Removed(invite.clone().into()));
    let events = std::iter::once(Event::Saved(invite.clone().into())).chain(swept).collect();
    Ok(Decision::new(Reply::Invite(invite), events))
}

pub fn revoke(context: &mut Context<'_>, actor: Actor, id: InviteId) -> Outcome {
    let workspace = access::member(context.state, actor)?.workspace;
    access::admin(context.state, actor, workspace)?;
    let invite = context.state.invite(id).filter(|invite| invite.workspace == workspace);
    let invite = invite.cloned().ok_or(refusal::INVITE_NOT_FOUND)?;
    Ok(Decision::new(Reply::Done, vec![Event::Removed(invite.into())]))
}

/// Takes an invitation up; it cannot be taken up again.
pub fn join(context: &mut Context<'_>, join: Join) -> Outcome {
    let invite = access::open_invite(context.state, &join.code_hash, context.now)?.clone();
    let workspace = context.state.workspace(invite.workspace).cloned().ok_or(refusal::INVITE_OVER)?;
    quotas::one_more_member(context, workspace.id)?;
    let name = members::free_name(context, workspace.id, &join.name, None)?;
    let email = match &join.email {
        Some(email) => Some(members::free_email(context, email, None)?),
        None => None,
    };
    let member = Member {
        role: invite.role,
        email,
        secrets: Secrets { password_hash: Some(join.password_hash), ..Secrets::default() },
        ..members::new_member(context, workspace.id, MemberKind::Human, name, Some(invite.made_by))
    };
    let rooms = rooms_for(context, &invite);
    let mut events = vec![Event::Removed(invite.into()), Event::Saved(member.clone().into())];
    events.extend(rooms.iter().map(|channel| Event::Joined(channels::new_membership(context, channel, member.id))));
    Ok(Decision::new(Reply::Registered { member: Arc::new(member), workspace }, events))
}

/// The channels a newcomer is put into: those the invitation names and its giver may still read, otherwise every open one.
fn rooms_for(context: &Context<'_>, invite: &Invite) -> Vec<Channel> {
    let giver = context.state.member(invite.made_by);
    // Who was sent out of a private channel does not come back by an invitation given before.
    let still_opens = |room: &&Room| giver.is_some_and(|giver| access::may_read(context.state, giver, room));
    let meant = |room: &&Room| match invite.channels.is_empty() {
        true => room.channel.kind.is_open(),
        false => invite.channels.contains(&room.channel.id) && still_opens(room),
    };
    let rooms = context.state.channels_in(invite.workspace).filter(|room| !room.channel.archived).filter(meant);
    let mut channels: Vec<_> = rooms.map(|room| room.channel.clone()).collect();
    channels.sort_by_key(|channel| channel.id);
    channels
}
