//! Questions to others: approvals that people decide, reviews that a named member decides.

use super::{Context, Decision, Outcome, held, notify, runs, short_text, wakes};
use crate::command::{Reply, RequestApproval};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::Filter;
use crate::refusal::{self, Refusal};
use crate::run::Run;
use crate::state::State;
use crate::{Actor, Millis, access};

const MAX_PAYLOAD_BYTES: usize = 64 * 1024;
const MAX_HASH_CHARS: usize = 128;
/// A question that nobody decides in this time is denied, and a decision nobody took up in this time no longer counts.
const LIFE: Millis = 24 * 60 * 60 * 1000;
/// How many questions expire at a time; the rest follows with the next look at the clock.
const MAX_EXPIRED_AT_ONCE: usize = 100;

pub fn request(context: &mut Context<'_>, actor: Actor, request: RequestApproval) -> Outcome {
    let agent = access::agent(context.state, actor).map_err(|_| refusal::NOT_AN_AGENT)?;
    let workspace = agent.workspace;
    let run = runs::open_run_of(context, actor.member, request.run).cloned();
    let channel = request.channel.or(run.as_ref().map(|run| run.channel));
    if let Some(channel) = channel {
        access::room_inside(context.state, actor, channel)?;
    }
    if request.kind == ApprovalKind::LoopGuard {
        // Only the hub holds texts back; deciding such a question posts one.
        return Err(Refusal::bad_request("kind must be one of action, permission"));
    }
    if request.payload.len() > MAX_PAYLOAD_BYTES {
        return Err(Refusal::bad_request("payload is too large (max 65536 bytes)"));
    }
    let hash = request.hash.map(|hash| short_text(&hash, "fingerprint", MAX_HASH_CHARS)).transpose()?;
    let action = short_text(&request.action, "action", 500)?;
    let same = Same { agent: actor.member, hash: hash.as_deref(), action: &action, payload: &request.payload };
    if let Some(known) = asked_before(context, same, request.run)? {
        return Ok(known);
    }
    let approval = Approval {
        id: ApprovalId(context.new_id()),
        workspace,
        channel,
        agent: actor.member,
        action,
        payload: request.payload,
        status: ApprovalStatus::Pending,
        reviewer: None,
        note: None,
        created_at: context.now,
        reviewed_at: None,
        kind: request.kind,
        hash,
        run: request.run,
        asker: asker(context, actor.member, run.as_deref(), request.about)?,
        scope: ApprovalScope::Once,
        expires_at: context.now + LIFE,
        used_at: None,
    };
    let mut events = vec![Event::Saved(approval.clone().into())];
    runs::wait(context, actor.member, approval.run, &mut events)?;
    Ok(Decision::new(Reply::Approval(approval), events))
}

/// What makes a question the same: the fingerprint finds it, and what people saw must be what is asked for now. The fingerprint is the
/// agent's word, and a word for one thing must not cover another.
#[derive(Clone, Copy)]
struct Same<'a> {
    agent: MemberId,
    hash: Option<&'a str>,
    action: &'a str,
    payload: &'a str,
}

/// The same question asked again, after a restart for instance: one that is still open stays one, and a decision that was
/// made while nobody waited for it is used now.
fn asked_before(context: &Context<'_>, same: Same<'_>, run: Option<RunId>) -> Result<Option<Decision>, Refusal> {
    let Some(hash) = same.hash else { return Ok(None) };
    let filter = Filter::owner(same.agent).named(hash).limit(20);
    let alike = |approval: &Approval| approval.action == same.action && approval.payload == same.payload;
    for approval in context.history.list::<Approval>(&filter)?.into_iter().filter(alike) {
        // What expired, or ended with its run, nobody decided.
        let fresh = approval.reviewer.is_some() && approval.reviewed_at.is_some_and(|at| at + LIFE > context.now);
        let for_this_run = approval.scope == ApprovalScope::Run && run.is_some() && approval.run == run;
        match approval.status {
            ApprovalStatus::Pending => return still_open(context, approval, run).map(Some),
            _ if fresh && approval.used_at.is_none() => return Ok(Some(used(context, approval))),
            ApprovalStatus::Approved if for_this_run => {
                return Ok(Some(Decision::nothing(Reply::Approval(approval))));
            }
            _ => {}
        }
    }
    Ok(None)
}

/// The question is the one that is open; from now on it is the run's that asks it.
fn still_open(context: &Context<'_>, approval: Approval, run: Option<RunId>) -> Result<Decision, Refusal> {
    let mut events = Vec::new();
    let approval = if run.is_some() && approval.run != run { Approval { run, ..approval } } else { approval };
    runs::wait(context, approval.agent, run, &mut events)?;
    if !events.is_empty() {
        events.insert(0, Event::Saved(approval.clone().into()));
    }
    Ok(Decision::new(Reply::Approval(approval), events))
}

fn used(context: &Context<'_>, approval: Approval) -> Decision {
    let approval = Approval { used_at: Some(context.now), ..approval };
    Decision::saved(Reply::Approval(approval.clone()), approval)
}

/// The person who caused the work. The hub knows it from the run; without one, a message names somebody only if it woke the agent
/// and that wake is still open. Whatever else the agent names is its own choice, and it does not choose who decides.
fn asker(
    context: &Context<'_>,
    agent: MemberId,
    run: Option<&Run>,
    about: Option<MessageId>,
) -> Result<Option<MemberId>, Refusal> {
    if let Some(run) = run {
        return Ok(run.asker);
    }
    let Some(about) = about else { return Ok(None) };
    let mut open = context.state.deliveries().of_agent(agent);
    match open.find(|delivery| delivery.messages.contains(&about)) {
        Some(delivery) => wakes::person_behind(context, delivery),
        None => Ok(None),
    }
}

/// Decided once; [`access::may_decide`] says by whom.
pub fn decide(
    context: &mut Context<'_>,
    actor: Actor,
    id: ApprovalId,
    approved: bool,
    scope: ApprovalScope,
    note: Option<String>,
) -> Outcome {
    let member = access::member(context.state, actor)?;
    let visible =
        |approval: &Approval| access::may_see_within(context.state, member, approval.workspace, approval.channel);
    let approval = context.history.get::<Approval>(id)?.filter(visible).ok_or(refusal::APPROVAL_NOT_FOUND)?;
    access::may_decide(context.state, member, &approval)?;
    if approval.status != ApprovalStatus::Pending {
        return Err(already_decided(context.state, &approval));
    }
    let approval = Approval {
        status: if approved { ApprovalStatus::Approved } else { ApprovalStatus::Denied },
        reviewer: Some(member.id),
        note: note.filter(|note| !note.trim().is_empty()),
        reviewed_at: Some(context.now),
        scope,
        ..approval
    };
    let mut events = vec![Event::Saved(approval.clone().into())];
    runs::go_on(context, std::slice::from_ref(&approval), &mut events)?;
    let told_before_reply = events.len();
    if approval.kind == ApprovalKind::LoopGuard {
        events.extend(held::decided(context, &approval)?);
    }
    Ok(Decision::new(Reply::Approval(approval), events).reply_after(told_before_reply))
}

fn already_decided(state: &State, approval: &Approval) -> Refusal {
    let verdict = if approval.status == ApprovalStatus::Approved { "approved" } else { "denied" };
    refusal::ALREADY_REVIEWED.detail(match approval.reviewer {
        Some(reviewer) => format!("{verdict} by {}", state.name_of(reviewer)),
        None => format!("{verdict}, nobody decided in time"),
    })
}

/// Before it acts on a decision the agent takes it up; a second time is refused, so that one yes is one action.
pub fn take_up(context: &mut Context<'_>, actor: Actor, id: ApprovalId) -> Outcome {
    access::agent(context.state, actor)?;
    let own = |approval: &Approval| approval.agent == actor.member;
    let approval = context.history.get::<Approval>(id)?.filter(own).ok_or(refusal::APPROVAL_NOT_FOUND)?;
    if approval.status == ApprovalStatus::Pending {
        return Err(Refusal::conflict("not decided yet"));
    }
    if approval.used_at.is_some() {
        return Err(Refusal::conflict("this decision was already used"));
    }
    Ok(used(context, approval))
}

/// Questions that nobody decided in their time are denied, loudly: whoever waits for the answer gets it.
pub fn let_time_pass(context: &mut Context<'_>, events: &mut Vec<Event>) -> Result<(), Refusal> {
    let overdue: Vec<_> = context.state.overdue_approvals(context.now).take(MAX_EXPIRED_AT_ONCE).collect();
    let mut expired = Vec::new();
    for id in overdue {
        let Some(approval) = context.history.get::<Approval>(id)? else { continue };
        expired.push(Approval {
            status: ApprovalStatus::Denied,
            note: Some("nobody decided".to_owned()),
            reviewed_at: Some(context.now),
            ..approval
        });
    }
    events.extend(expired.iter().map(|approval: &Approval| Event::Saved(approval.clone().into())));
    runs::go_on(context, &expired, events)?;
    for approval in expired.iter().filter(|approval| approval.kind == ApprovalKind::LoopGuard) {
        events.extend(held::decided(context, approval)?);
    }
    Ok(())
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
    if actor.door.facts().reviews_are_between_agents && !requester.is_agent() {
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
        ..notify::plain(context, reviewer, "review_request", "Review requested".to_owned(), body)
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
    let visible = |review: &Review| access::may_see_review(context.state, member, review);
    let review = context.history.get::<Review>(id)?.filter(visible).ok_or(refusal::REVIEW_NOT_FOUND)?;
    if review.reviewer != member.id {
        return Err(refusal::NOT_THE_REVIEWER);
    }
    if review.decided_at.is_some() {
        return Err(refusal::ALREADY_REVIEWED);
    }
    let review = Review { status: verdict(&status)?, comment, decided_at: Some(context.now), ..review };
    let body = format!("{}: {}", review.subject, review.status);
    let notification = Notification {
        channel: review.channel,
        payload: Some(pointer("review_id", review.id)),
        ..notify::plain(context, review.requester, "review_result", "Review completed".to_owned(), body)
    };
    let events = vec![Event::Saved(review.clone().into()), Event::Saved(notification.into())];
    Ok(Decision::new(Reply::Review(review), events).reply_after(1))
}

/// How a review can end; it is not pending again.
const VERDICTS: [&str; 5] = ["approved", "changes_requested", "rejected", "denied", "commented"];

fn verdict(status: &str) -> Result<String, Refusal> {
    let status = status.trim().to_ascii_lowercase();
    if VERDICTS.contains(&status.as_str()) {
        return Ok(status);
    }
    Err(Refusal::bad_request(format!("status must be one of {}", VERDICTS.join(", "))))
}

/// What a notification points to, for programs: the document keeps payloads as JSON text.
fn pointer(field: &str, id: impl std::fmt::Display) -> String {
    format!("{{\"{field}\":\"{id}\"}}")
}
