//! Held drafts: a reply that knows which room version it was written against.

use super::{Context, Decision, Outcome, messages};
use crate::command::{DraftCheck, Reply, Send};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::{Actor, Millis, access};

/// A draft is stale when more than this many messages came since it was written.
pub const MAX_DRAFT_DELTA: u64 = 5;
const DRAFT_LIFE: Millis = 10 * 60 * 1000;
const MAX_STALE_MESSAGES: usize = 5;

pub fn create(
    context: &mut Context<'_>,
    actor: Actor,
    channel: ChannelId,
    thread: Option<MessageId>,
    content: String,
) -> Outcome {
    access::agent(context.state, actor)?;
    let room = access::room_to_speak(context.state, actor, channel)?;
    if content.trim().is_empty() {
        return Err(refusal::CONTENT_REQUIRED);
    }
    if content.chars().count() > messages::MAX_CONTENT_CHARS {
        let root = messages::thread_root(context, channel, thread)?;
        return messages::refused(context, actor, room, (None, root.as_deref()), refusal::CONTENT_TOO_LONG);
    }
    let draft = Draft {
        id: DraftId(context.new_id()),
        agent: actor.member,
        channel,
        thread,
        content,
        room_version: room.head.version,
        status: DraftStatus::Held,
        created_at: context.now,
        expires_at: context.now + DRAFT_LIFE,
    };
    Ok(Decision::saved(Reply::Draft(draft.clone()), draft))
}

pub fn validate(context: &mut Context<'_>, actor: Actor, id: DraftId) -> Outcome {
    let draft = own_draft(context, actor, id)?;
    let check = check(context, actor, &draft)?;
    Ok(Decision::nothing(Reply::DraftCheck(check)))
}

fn check(context: &Context<'_>, actor: Actor, draft: &Draft) -> Result<DraftCheck, Refusal> {
    let room = access::room_inside(context.state, actor, draft.channel)?;
    let current_version = room.head.version;
    let fresh = current_version.saturating_sub(draft.room_version) <= MAX_DRAFT_DELTA;
    let recent = if fresh { Vec::new() } else { context.history.newest_messages(draft.channel, MAX_STALE_MESSAGES)? };
    Ok(DraftCheck {
        draft: draft.id,
        valid: fresh && is_held(draft, context.now),
        draft_version: draft.room_version,
        current_version,
        recent,
    })
}

fn is_held(draft: &Draft, now: Millis) -> bool {
    draft.status == DraftStatus::Held && now < draft.expires_at
}

pub fn send(context: &mut Context<'_>, actor: Actor, id: DraftId, force: bool) -> Outcome {
    let draft = own_draft(context, actor, id)?;
    if !is_held(&draft, context.now) {
        return Err(refusal::DRAFT_NOT_HELD);
    }
    let room = access::room_to_speak(context.state, actor, draft.channel)?;
    let delta = room.head.version.saturating_sub(draft.room_version);
    if delta > MAX_DRAFT_DELTA && !force {
        return Err(refusal::DRAFT_STALE);
    }
    let sent = Draft { status: DraftStatus::Sent, ..draft.clone() };
    let message = Send { channel: draft.channel, thread: draft.thread, content: draft.content, ..Send::default() };
    let mut decision = messages::send(context, actor, message)?;
    if let Reply::Sent { message, .. } = decision.reply {
        decision.reply = Reply::DraftSent { draft: id, message };
    }
    decision.events.push(Event::Saved(sent.into()));
    Ok(decision)
}

pub fn cancel(context: &mut Context<'_>, actor: Actor, id: DraftId) -> Outcome {
    let draft = own_draft(context, actor, id)?;
    if !is_held(&draft, context.now) {
        return Err(refusal::DRAFT_NOT_HELD);
    }
    let draft = Draft { status: DraftStatus::Cancelled, ..draft };
    Ok(Decision::saved(Reply::Draft(draft.clone()), draft))
}

fn own_draft(context: &Context<'_>, actor: Actor, id: DraftId) -> Result<Draft, Refusal> {
    let agent = access::agent(context.state, actor)?;
    let in_workspace = |draft: &Draft| {
        context.state.channel(draft.channel).is_some_and(|room| room.channel.workspace == agent.workspace)
    };
    let draft = context.history.get::<Draft>(id)?.filter(in_workspace).ok_or(refusal::DRAFT_NOT_FOUND)?;
    if draft.agent == agent.id { Ok(draft) } else { Err(refusal::NOT_YOUR_DRAFT) }
}
