//! Telegram accounts that speak for members: linked with a one-time code, for one account and one member of a workspace.

use super::{Context, Decision, Outcome};
use crate::command::Reply;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal;
use crate::state::State;
use crate::{Actor, Millis, access};

/// Long enough to reach for the phone.
pub const TELEGRAM_CODE_LIFE: Millis = 10 * 60 * 1000;
const MAX_NAME_CHARS: usize = 100;

/// A code for whoever asks. Agents get none: what Telegram decides is decided by people.
pub fn offer(context: &mut Context<'_>, actor: Actor, code_hash: KeyHash) -> Outcome {
    let member = access::member(context.state, actor)?;
    if member.is_agent() {
        return Err(refusal::NOT_AUTHORIZED);
    }
    let link = TelegramLink {
        id: TelegramLinkId(context.ids.next(context.now)),
        workspace: member.workspace,
        member: member.id,
        code_hash,
        created_at: context.now,
        expires_at: context.now + TELEGRAM_CODE_LIFE,
        account: None,
    };
    let before = context.state.telegram_links_of(member.id).filter(|link| link.account.is_none());
    let mut events: Vec<_> = before.map(removed).collect();
    events.push(Event::Saved(link.clone().into()));
    Ok(Decision::new(Reply::TelegramLink(link), events))
}

/// Takes a code up; it cannot be taken up again. What the account or the member was linked with before ends.
pub fn link(context: &mut Context<'_>, actor: Actor, code_hash: KeyHash, user: i64, name: &str) -> Outcome {
    access::hub(actor)?;
    let offer = access::telegram_offer(context.state, &code_hash, user, context.now)?;
    if offer.account.is_some() {
        return Ok(Decision::nothing(Reply::TelegramLink(offer.clone())));
    }
    let same_place = |link: &&TelegramLink| {
        let same_account = link.account.as_ref().is_some_and(|account| account.user == user);
        link.id != offer.id && (link.member == offer.member || same_account && link.workspace == offer.workspace)
    };
    let mut events: Vec<_> = context.state.telegram_links().filter(same_place).map(removed).collect();
    let name = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    let link = TelegramLink { account: Some(TelegramAccount { user, name, linked_at: context.now }), ..offer.clone() };
    events.push(Event::Saved(link.clone().into()));
    Ok(Decision::new(Reply::TelegramLink(link), events))
}

pub fn unlink(context: &mut Context<'_>, actor: Actor) -> Outcome {
    let member = access::member(context.state, actor)?;
    if context.state.telegram_links_of(member.id).all(|link| link.account.is_none()) {
        return Err(refusal::TELEGRAM_NOT_LINKED);
    }
    Ok(Decision::new(Reply::Done, ended(context.state, member.id).collect()))
}

/// No account speaks for this member any more, and no code is good for that.
fn ended(state: &State, member: MemberId) -> impl Iterator<Item = Event> {
    state.telegram_links_of(member).map(removed)
}

/// No code is good for linking this member with an account.
pub fn codes_ended(state: &State, member: MemberId) -> impl Iterator<Item = Event> {
    state.telegram_links_of(member).filter(|link| link.account.is_none()).map(removed)
}

fn removed(link: &TelegramLink) -> Event {
    Event::Removed(link.clone().into())
}
