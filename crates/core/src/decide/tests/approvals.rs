//! Approvals that people decide, and reviews that a named member decides.

use super::support::World;
use super::support::world::notifications;
use crate::command::{Command, Reply};
use crate::event::Audience;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Code};
use crate::{Refusal, access};

fn ask(channel: Option<ChannelId>) -> Command {
    Command::RequestApproval { channel, action: "deploy_to_production".to_owned(), payload: "{}".to_owned() }
}

fn decide(approval: ApprovalId, approved: bool) -> Command {
    Command::DecideApproval { approval, approved, note: Some("looks good".to_owned()) }
}

struct Asked {
    world: World,
    alice: MemberId,
    bob: MemberId,
    codebot: MemberId,
    general: ChannelId,
    approval: ApprovalId,
}

fn asked() -> Asked {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, codebot) = (world.human("bob"), world.agent("codebot"));
    let general = world.channel("general", &[alice, codebot]);
    let Reply::Approval(approval) = world.done(codebot, ask(Some(general))).reply else { panic!() };
    assert_eq!((approval.status, approval.agent, approval.reviewer), (ApprovalStatus::Pending, codebot, None));
    Asked { world, alice, bob, codebot, general, approval: approval.id }
}

#[test]
fn agents_ask_and_people_do_not() {
    let Asked { mut world, alice, codebot, general, .. } = asked();
    assert_eq!(world.refused(alice, ask(Some(general))), refusal::NOT_AN_AGENT);
    let nobody = crate::Actor::nobody(Door::Lark);
    assert_eq!(world.refused(nobody, ask(None)), refusal::NOT_AN_AGENT);
    world.done(codebot, ask(None));
}

#[test]
fn an_approval_is_asked_in_a_channel_the_agent_is_in_or_in_none() {
    let Asked { mut world, alice, codebot, .. } = asked();
    let outside = world.channel("outside", &[alice]);
    assert_eq!(world.refused(codebot, ask(Some(outside))), refusal::NOT_CHANNEL_MEMBER);
    world.done(codebot, ask(None));
}

#[test]
fn an_approval_names_its_action_and_its_payload_has_a_limit() {
    let Asked { mut world, codebot, .. } = asked();
    let ask = |action: &str, payload: usize| Command::RequestApproval {
        channel: None,
        action: action.to_owned(),
        payload: "p".repeat(payload),
    };
    assert_eq!(world.refused(codebot, ask(" ", 0)), Refusal::bad_request("action is required"));
    let too_large = Refusal::bad_request("payload is too large (max 65536 bytes)");
    assert_eq!(world.refused(codebot, ask("deploy", 65_537)), too_large);
    world.done(codebot, ask("deploy", 65_536));
}

#[test]
fn a_question_is_told_in_the_workspace_or_within_its_private_channel() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    let (open, closed) = (world.channel("open", &[alice, codebot]), world.private("closed", &[alice, codebot]));
    let workspace = Audience::Workspace(world.workspace);
    for (channel, heard) in [(None, workspace), (Some(open), workspace), (Some(closed), Audience::Channel(closed))] {
        let decision = world.done(codebot, ask(channel));
        assert_eq!(decision.events[0].audience(&world.state), heard, "{channel:?}");
    }
}

#[test]
fn an_approval_is_decided_once_by_a_person() {
    let Asked { mut world, alice, bob, approval, .. } = asked();
    world.later(5);
    let Reply::Approval(decided) = world.done(bob, decide(approval, true)).reply else { panic!() };
    assert_eq!((decided.status, decided.reviewer), (ApprovalStatus::Approved, Some(bob)));
    assert_eq!((decided.note.as_deref(), decided.reviewed_at), (Some("looks good"), Some(world.now)));
    assert_eq!(world.refused(alice, decide(approval, false)), refusal::ALREADY_REVIEWED);
}

#[test]
fn neither_the_agent_that_asks_nor_another_agent_decides() {
    let Asked { mut world, codebot, alice, approval, .. } = asked();
    let other = world.agent("other");
    assert_eq!(world.refused(codebot, decide(approval, true)), refusal::OWN_APPROVAL);
    assert_eq!(world.refused(other, decide(approval, true)), refusal::NOT_AUTHORIZED);
    let Reply::Approval(decided) = world.done(alice, decide(approval, false)).reply else { panic!() };
    assert_eq!(decided.status, ApprovalStatus::Denied);
}

#[test]
fn only_who_sees_the_question_decides_it() {
    let Asked { mut world, alice, bob, codebot, .. } = asked();
    let (_, stranger) = world.register("stranger");
    let closed = world.private("closed", &[alice, codebot]);
    let Reply::Approval(approval) = world.done(codebot, ask(Some(closed))).reply else { panic!() };
    for who in [bob, stranger] {
        assert_eq!(world.refused(who, decide(approval.id, true)), refusal::APPROVAL_NOT_FOUND);
    }
    assert_eq!(world.refused(alice, decide(ApprovalId::NONE, true)), refusal::APPROVAL_NOT_FOUND);
    world.done(alice, decide(approval.id, true));
}

// Reviews.

fn request(reviewer: MemberId, channel: Option<ChannelId>) -> Command {
    let (subject, content) = ("PR 7".to_owned(), "please look".to_owned());
    Command::RequestReview { reviewer, subject, content, channel }
}

fn result(review: ReviewId) -> Command {
    Command::DecideReview { review, status: "approved".to_owned(), comment: Some("fine".to_owned()) }
}

#[test]
fn a_review_goes_to_the_reviewer_and_its_result_to_who_asked() {
    let Asked { mut world, alice, codebot, general, .. } = asked();
    let reviewbot = world.agent("reviewbot");
    let asked = world.done(codebot, request(reviewbot, Some(general)));
    let Reply::Review(review) = &asked.reply else { panic!("{:?}", asked.reply) };
    assert_eq!(review.status, "pending");
    assert_eq!(asked.events[0].audience(&world.state), Audience::Member(reviewbot));
    let [notification] = notifications(&asked)[..] else { panic!() };
    assert_eq!((notification.member, notification.title.as_str()), (reviewbot, "Review requested"));
    assert!(notification.ack_required && notification.payload.as_ref().unwrap().contains(&review.id.to_string()));
    assert_eq!(world.refused(alice, result(review.id)), refusal::NOT_THE_REVIEWER);
    let answered = world.done(reviewbot, result(review.id));
    assert!(matches!(&answered.reply, Reply::Review(review) if review.status == "approved"));
    assert_eq!(answered.events[0].audience(&world.state), Audience::Member(codebot));
    assert_eq!(notifications(&answered)[0].title, "Review completed");
    assert_eq!(world.refused(reviewbot, result(review.id)), refusal::ALREADY_REVIEWED);
}

#[test]
fn a_review_is_asked_of_a_colleague_other_than_oneself() {
    let Asked { mut world, alice, codebot, .. } = asked();
    let (_, stranger) = world.register("stranger");
    let outside = world.channel("outside", &[alice]);
    assert_eq!(world.refused(codebot, request(stranger, None)), refusal::MEMBER_NOT_FOUND);
    let oneself = Refusal::bad_request("the reviewer must be somebody else");
    assert_eq!(world.refused(codebot, request(codebot, None)), oneself);
    assert_eq!(world.refused(codebot, request(alice, Some(outside))), refusal::NOT_CHANNEL_MEMBER);
    let Reply::Review(review) = world.done(codebot, request(alice, None)).reply else { panic!() };
    assert_eq!(world.refused(stranger, result(review.id)), refusal::REVIEW_NOT_FOUND);
    let silent = Command::DecideReview { review: review.id, status: " ".to_owned(), comment: None };
    assert_eq!(world.refused(alice, silent).code, Code::BadRequest);
    world.done(alice, result(review.id));
}

#[test]
fn on_larks_socket_agents_ask_for_reviews_and_people_ask_elsewhere() {
    let Asked { mut world, alice, bob, codebot, .. } = asked();
    assert_eq!(world.refused(alice, request(bob, None)), refusal::NOT_AUTHORIZED);
    world.done(crate::Actor::new(alice, Door::Rest), request(bob, None));
    world.done(codebot, request(bob, None));
}

#[test]
fn an_agents_own_things_are_nobody_elses() {
    let Asked { world, alice, codebot, .. } = asked();
    let actor = |member| crate::Actor::new(member, Door::Rest);
    assert!(access::own(&world.state, actor(codebot), codebot).is_ok());
    let refused = access::own(&world.state, actor(alice), codebot).map(|member| member.id);
    assert_eq!(refused, Err(refusal::NOT_AUTHORIZED));
}
