//! Questions to others: approvals that people decide, reviews that a named member decides.

use super::{Context, Decision, Outcome, attention, short_text};
use crate::command::Reply;
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

const MAX_PAYLOAD_BYTES: usize = 64 * 1024;

pub fn request(
    context: &mut Context<'_>,
    actor: Actor,
    channel: Option<ChannelId>,
    action: String,
    payload: String,
) -> Outcome {
    let agent = access::agent(context.state, actor).map_err(|_| refusal::NOT_AN_AGENT)?;
    let workspace = agent.workspace;
    if let Some(channel) = channel {
        access::room_inside(context.state, actor, channel)?;
    }
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(Refusal::bad_request("payload is too large (max 65536 bytes)"));
    }
    let approval = Approval {
        id: ApprovalId(context.new_id()),
        workspace,
        channel,
        agent: actor.member,
        action: short_text(&action, "action", 500)?,
        payload,
        status: ApprovalStatus::Pending,
        reviewer: None,
        note: None,
        created_at: context.now,
        reviewed_at: None,
    };
    Ok(Decision::saved(Reply::Approval(approval.clone()), approval))
}

/// People who can see the question decide it; the agent that asks never does, and neither do other agents.
pub fn decide(
    context: &mut Context<'_>,
    actor: Actor,
    id: ApprovalId,
    approved: bool,
    note: Option<String>,
) -> Outcome {
    let member = access::member(context.state, actor)?;
    let visible =
        |approval: &Approval| access::may_see_within(context.state, member, approval.workspace, approval.channel);
    let approval = context.history.get::<Approval>(id)?.filter(visible).ok_or(refusal::APPROVAL_NOT_FOUND)?;
    if approval.agent == member.id {
        return Err(refusal::OWN_APPROVAL);
    }
    if member.is_agent() {
        return Err(refusal::NOT_AUTHORIZED);
    }
    if approval.status != ApprovalStatus::Pending {
        return Err(refusal::ALREADY_REVIEWED);
    }
    let approval = Approval {
        status: if approved { ApprovalStatus::Approved } else { ApprovalStatus::Denied },
        reviewer: Some(member.id),
        note: note.filter(|note| !note.trim().is_empty()),
        reviewed_at: Some(context.now),
        ..approval
    };
    Ok(Decision::saved(Reply::Approval(approval.clone()), approval))
}

pub fn request_review(
    context: &mut Context<'_>,
    actor: Actor,
    reviewer: MemberId,
    subject: String,
    content: String,
    channel: Option<ChannelId>,
) -> Outcome {
    let requester = access::member(context.state, actor)?;
    // On Lark's socket reviews are between agents, as its clients know it; people ask for one over REST.
    if actor.door == Door::Lark && !requester.is_agent() {
        return Err(refusal::NOT_AUTHORIZED);
    }
    let workspace = requester.workspace;
    let reviewer = access::colleague(context.state, actor, reviewer)?.id;
    if reviewer == actor.member {
        return Err(Refusal::bad_request("the reviewer must be somebody else"));
    }
    if let Some(channel) = channel {
        access::room_inside(context.state, actor, channel)?;
    }
    let review = Review {
        id: ReviewId(context.new_id()),
        workspace,
        channel,
        requester: actor.member,
        reviewer,
        subject: short_text(&subject, "subject", 500)?,
        content,
        status: "pending".to_owned(),
        comment: None,
        created_at: context.now,
        decided_at: None,
    };
    let body = format!("{}: {}", context.state.name_of(actor.member), review.subject);
    let notification = Notification {
        channel,
        payload: Some(pointer("review_id", review.id)),
        ack_required: true,
        ..attention::notification(context, reviewer, "review_request", "Review requested".to_owned(), body)
    };
    let events = vec![Event::Saved(review.clone().into()), Event::Saved(notification.into())];
    Ok(Decision::new(Reply::Review(review), events).reply_after(1))
}

pub fn decide_review(
    context: &mut Context<'_>,
    actor: Actor,
    id: ReviewId,
    status: String,
    comment: Option<String>,
) -> Outcome {
    let member = access::member(context.state, actor)?;
    let visible = |review: &Review| review.workspace == member.workspace;
    let review = context.history.get::<Review>(id)?.filter(visible).ok_or(refusal::REVIEW_NOT_FOUND)?;
    if review.reviewer != member.id {
        return Err(refusal::NOT_THE_REVIEWER);
    }
    if review.decided_at.is_some() {
        return Err(refusal::ALREADY_REVIEWED);
    }
    let review =
        Review { status: short_text(&status, "status", 64)?, comment, decided_at: Some(context.now), ..review };
    let body = format!("{}: {}", review.subject, review.status);
    let notification = Notification {
        channel: review.channel,
        payload: Some(pointer("review_id", review.id)),
        ..attention::notification(context, review.requester, "review_result", "Review completed".to_owned(), body)
    };
    let events = vec![Event::Saved(review.clone().into()), Event::Saved(notification.into())];
    Ok(Decision::new(Reply::Review(review), events).reply_after(1))
}

/// What a notification points to, for programs: the document keeps payloads as JSON text.
fn pointer(field: &str, id: impl std::fmt::Display) -> String {
    format!("{{\"{field}\":\"{id}\"}}")
}
