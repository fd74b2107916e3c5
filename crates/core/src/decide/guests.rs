//! Guests: local programs that came in through a door without an account, as agents of the oldest workspace.

use std::sync::Arc;

use super::{Context, Decision, Outcome, members, messages, quotas};
use crate::command::{AnswerAsGuest, Reply, Send, WelcomeGuest};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::{Actor, Millis, access};

/// How many guests a hub has at most, connected or not.
pub const MAX_GUESTS: usize = 1_000;
/// A guest that has not been here for this long is not expected back.
const GONE_FOR_LONG: Millis = 30 * 24 * 60 * 60 * 1000;
/// A visit is noted again after this time, not each time.
const SEEN_LATELY: Millis = 60 * 60 * 1000;

pub fn welcome(context: &mut Context<'_>, actor: Actor, welcome: WelcomeGuest) -> Outcome {
    access::hub(actor)?;
    let WelcomeGuest { door, key, name, role_card } = welcome;
    let guest = Guest { door, key };
    let workspace = access::oldest_workspace(context.state)
        .ok_or_else(|| Refusal::unavailable("nobody has an account here yet, so nobody can take in a guest"))?;
    if let Some(known) = context.state.members_of(workspace).find(|member| member.guest.as_ref() == Some(&guest)) {
        return Ok(welcome_back(context, known, role_card));
    }
    let mut events = make_room(context, workspace, &guest)?;
    let owner = context.state.members_of(workspace).find(|member| member.role == Role::Owner).map(|owner| owner.id);
    quotas::one_more_member(context, workspace)?;
    let name = first_free_name(context, workspace, &name)?;
    let fresh = members::new_member(context, workspace, MemberKind::Agent, name, owner);
    let visit = Some(Visit { seen_at: context.now, spoke: false });
    let member = Member { role_card: Some(role_card), guest: Some(guest), visit, ..fresh };
    events.push(Event::Saved(member.clone().into()));
    Ok(Decision::new(Reply::Member(Arc::new(member)), events))
}

fn welcome_back(context: &Context<'_>, known: &Arc<Member>, role_card: RoleCard) -> Decision {
    let seen_lately = known.visit.is_some_and(|visit| context.now - visit.seen_at < SEEN_LATELY);
    if known.role_card.as_ref() == Some(&role_card) && seen_lately {
        return Decision::nothing(Reply::Member(Arc::clone(known)));
    }
    let visit = Some(Visit { seen_at: context.now, spoke: known.visit.is_none_or(|visit| visit.spoke) });
    let member = Member { role_card: Some(role_card), visit, ..(**known).clone() };
    Decision::saved(Reply::Member(Arc::new(member.clone())), member)
}

/// Guests come without an account, so there is an end to them: those that have not been here for long go when a new one
/// comes, and at the most there may be, the one that was away longest.
fn make_room(context: &Context<'_>, workspace: WorkspaceId, newcomer: &Guest) -> Result<Vec<Event>, Refusal> {
    if newcomer.is_the_hubs_own() {
        return Ok(Vec::new());
    }
    let is_kept = |member: &Arc<Member>| member.guest.as_ref().is_none_or(Guest::is_the_hubs_own);
    let guests: Vec<_> = context.state.members_of(workspace).filter(|member| !is_kept(member)).collect();
    let seen = |member: &Member| member.visit.map_or(member.created_at, |visit| visit.seen_at);
    let mut away: Vec<_> =
        guests.iter().filter(|guest| context.state.connections_of(guest.id).is_empty()).copied().collect();
    away.sort_by_key(|guest| (seen(guest), guest.id));
    let over = (guests.len() + 1).saturating_sub(MAX_GUESTS);
    if over > away.len() {
        return Err(Refusal::conflict(format!("there are {MAX_GUESTS} guests here, which is the most")));
    }
    let is_long_gone = |guest: &&&Arc<Member>| context.now - seen(guest) > GONE_FOR_LONG;
    let going = away.iter().filter(is_long_gone).count().max(over);
    Ok(away.iter().take(going).flat_map(|guest| leaves(context, guest)).collect())
}

/// A guest goes: with everything, unless it said something.
fn leaves(context: &Context<'_>, guest: &Arc<Member>) -> Vec<Event> {
    let rooms = context.state.channels_of(guest.id).filter_map(|room| room.members.get(&guest.id));
    let mut events: Vec<_> = rooms.cloned().map(Event::Left).collect();
    let gone = members::gone(guest, context.now);
    events.push(Event::Saved(gone.clone().into()));
    if guest.visit.is_some_and(|visit| !visit.spoke) {
        events.push(Event::Removed(gone.into()));
    }
    events
}

fn first_free_name(context: &Context<'_>, workspace: WorkspaceId, wanted: &str) -> Result<String, Refusal> {
    let numbered = (2..1000).map(|number| format!("{wanted}-{number}"));
    for name in std::iter::once(wanted.to_owned()).chain(numbered) {
        match members::free_name(context, workspace, &name, None) {
            Err(taken) if taken == refusal::NAME_TAKEN => {}
            free_or_wrong => return free_or_wrong,
        }
    }
    Err(refusal::NAME_TAKEN)
}

/// What a guest says mentions nobody and wakes nobody: it repeats names it was given, track titles for instance.
pub fn answer(context: &mut Context<'_>, actor: Actor, answer: AnswerAsGuest) -> Outcome {
    access::hub(actor)?;
    let guest = context.state.member(answer.guest).ok_or(refusal::MEMBER_NOT_FOUND)?;
    let door = guest.guest.as_ref().ok_or(refusal::MEMBER_NOT_FOUND)?.door;
    let asked = context.history.message(answer.message)?.ok_or(refusal::MESSAGE_NOT_FOUND)?;
    let in_workspace = |channel: &Channel| channel.workspace == guest.workspace;
    let room = context.state.channel(asked.channel).filter(|room| in_workspace(&room.channel));
    let room = room.ok_or(refusal::MESSAGE_NOT_FOUND)?;
    if room.channel.archived {
        return Err(refusal::CHANNEL_ARCHIVED);
    }
    let send = Send {
        channel: asked.channel,
        content: answer.content,
        thread: asked.thread,
        metadata: answer.metadata,
        key: answer.key,
        ..Send::default()
    };
    messages::post(context, Actor::new(answer.guest, door), room, send, messages::Voice::Silent)
}
