//! Guests: local programs that came in through a door without an account, as agents of the oldest workspace.

use std::sync::Arc;

use super::{Context, Decision, Outcome, members, messages};
use crate::command::{AnswerAsGuest, Reply, Send, WelcomeGuest};
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

pub fn welcome(context: &mut Context<'_>, actor: Actor, welcome: WelcomeGuest) -> Outcome {
    access::hub(actor)?;
    let WelcomeGuest { door, key, name, role_card } = welcome;
    let guest = Guest { door, key };
    let workspace = access::oldest_workspace(context.state)
        .ok_or_else(|| Refusal::unavailable("nobody has an account here yet, so nobody can take in a guest"))?;
    if let Some(known) = context.state.members_of(workspace).find(|member| member.guest.as_ref() == Some(&guest)) {
        return Ok(welcome_back(known, role_card));
    }
    let owner = context.state.members_of(workspace).find(|member| member.role == Role::Owner).map(|owner| owner.id);
    let name = first_free_name(context, workspace, &name)?;
    let fresh = members::new_member(context, workspace, MemberKind::Agent, name, owner);
    let member = Member { role_card: Some(role_card), guest: Some(guest), ..fresh };
    Ok(Decision::saved(Reply::Member(Arc::new(member.clone())), member))
}

fn welcome_back(known: &Arc<Member>, role_card: RoleCard) -> Decision {
    if known.role_card.as_ref() == Some(&role_card) {
        return Decision::nothing(Reply::Member(Arc::clone(known)));
    }
    let member = Member { role_card: Some(role_card), ..(**known).clone() };
    Decision::saved(Reply::Member(Arc::new(member.clone())), member)
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
