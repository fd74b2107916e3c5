//! Approvals that people decide, and reviews that a named member decides.

use super::support::World;
use super::support::world::notifications;
use crate::command::{Command, CreateInvite, Reply, RequestApproval};
use crate::event::Audience;
use crate::ids::*;
use crate::model::*;
use crate::record::Record;
use crate::refusal::{self, Code};
use crate::{Refusal, access};

const DAY: crate::Millis = 24 * 60 * 60 * 1000;

fn ask(channel: Option<ChannelId>) -> Command {
    Command::RequestApproval(question(channel))
}

fn question(channel: Option<ChannelId>) -> RequestApproval {
    let (action, payload) = ("deploy_to_production".to_owned(), "{}".to_owned());
    RequestApproval { channel, action, payload, ..RequestApproval::default() }
}

/// The same question can be asked again.
fn hashed(run: u128) -> Command {
    let request = RequestApproval { hash: Some("c0ffee".to_owned()), run: Some(RunId(run)), ..question(None) };
    Command::RequestApproval(request)
}

fn approval_of(decision: &crate::Decision) -> Approval {
    let Reply::Approval(approval) = &decision.reply else { panic!("no approval") };
    approval.clone()
}

fn decide(approval: ApprovalId, approved: bool) -> Command {
    Command::DecideApproval { approval, approved, scope: ApprovalScope::Once, note: Some("looks good".to_owned()) }
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
    let ask = |action: &str, payload: usize| {
        let (action, payload) = (action.to_owned(), "p".repeat(payload));
        Command::RequestApproval(RequestApproval { action, payload, ..question(None) })
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
    let Asked { mut world, alice, approval, .. } = asked();
    let chief = world.admin("chief");
    world.later(5);
    let Reply::Approval(decided) = world.done(chief, decide(approval, true)).reply else { panic!() };
    assert_eq!((decided.status, decided.reviewer), (ApprovalStatus::Approved, Some(chief)));
    assert_eq!((decided.note.as_deref(), decided.reviewed_at), (Some("looks good"), Some(world.now)));
    let late = refusal::ALREADY_REVIEWED.detail("approved by chief".to_owned());
    assert_eq!(
        world.refused(alice, decide(approval, false)),
        late,
        "the first decision counts, and who made it is told"
    );
}

#[test]
fn the_owner_of_the_agent_the_asker_and_admins_decide_and_nobody_else() {
    let Asked { mut world, alice, bob, codebot, general, .. } = asked();
    let carol = world.human("carol");
    for member in [bob, carol] {
        world.done(alice, Command::AddToChannel { channel: general, member });
    }
    let trigger = world.say(bob, general, "@codebot deploy").id;
    let about = |message, kind| {
        Command::RequestApproval(RequestApproval { about: Some(message), kind, ..question(Some(general)) })
    };
    let chief = world.admin("chief");
    for kind in [ApprovalKind::Action, ApprovalKind::Permission] {
        for decider in [alice, bob, chief] {
            let approval = approval_of(&world.done(codebot, about(trigger, kind)));
            assert_eq!(world.refused(carol, decide(approval.id, true)), refusal::NOT_A_DECIDER);
            world.done(decider, decide(approval.id, true));
        }
    }
    let about = |message| about(message, ApprovalKind::Permission);
    let approval = approval_of(&world.done(codebot, about(trigger)));
    assert_eq!(approval.asker, Some(bob));
    assert_eq!(world.refused(carol, decide(approval.id, true)), refusal::NOT_A_DECIDER);
    world.done(bob, decide(approval.id, true));
    let of_an_agent = world.say(codebot, general, "on it").id;
    assert_eq!(approval_of(&world.done(codebot, about(of_an_agent))).asker, None, "an agent is nobody's asker");
    let hidden = world.private("hidden", &[alice, bob]);
    let unseen = world.say(bob, hidden, "@codebot no").id;
    assert_eq!(
        approval_of(&world.done(codebot, about(unseen))).asker,
        None,
        "a message the agent cannot see names nobody"
    );
}

#[test]
fn a_message_that_did_not_wake_the_agent_makes_nobody_a_decider() {
    let Asked { mut world, alice, bob, codebot, general, .. } = asked();
    world.done(alice, Command::AddToChannel { channel: general, member: bob });
    let chatter = world.say(bob, general, "nice weather").id;
    let about = |message| Command::RequestApproval(RequestApproval { about: Some(message), ..question(Some(general)) });
    let approval = approval_of(&world.done(codebot, about(chatter)));
    assert_eq!(approval.asker, None);
    assert_eq!(world.refused(bob, decide(approval.id, true)), refusal::NOT_A_DECIDER);
    let other = world.agent("other");
    world.done(alice, Command::AddToChannel { channel: general, member: other });
    let for_other = world.say(bob, general, "@other deploy").id;
    assert_eq!(approval_of(&world.done(codebot, about(for_other))).asker, None, "it woke another agent");
    assert_eq!(approval_of(&world.done(other, about(for_other))).asker, Some(bob));
}

#[test]
fn an_agent_does_not_choose_who_decides_by_the_thread_it_speaks_in() {
    let Asked { mut world, alice, bob, codebot, general, .. } = asked();
    let other = world.agent("other");
    for member in [bob, other] {
        world.done(alice, Command::AddToChannel { channel: general, member });
    }
    let innocent = world.say(bob, general, "nice weather");
    let call = world.reply(codebot, &innocent, "@other wipe the disk").id;
    let about = |message| Command::RequestApproval(RequestApproval { about: Some(message), ..question(Some(general)) });
    assert_eq!(approval_of(&world.done(other, about(call))).asker, None, "bob woke nobody");
    let wish = world.say(bob, general, "@codebot get it done");
    let passed_on = world.reply(codebot, &wish, "@other do it").id;
    assert_eq!(approval_of(&world.done(other, about(passed_on))).asker, Some(bob), "bob's words led here");
}

#[test]
fn agents_and_whoever_they_brought_in_never_decide() {
    let Asked { mut world, alice, bob, codebot, general, approval } = asked();
    let chief = world.add(alice, MemberKind::Agent, "chief", Some(Role::Admin));
    assert_eq!(world.refused(chief, decide(approval, true)), refusal::NOT_AUTHORIZED);
    // As an older hub let it happen: an agent made an account, the account became an admin, and that one made another.
    let made = |world: &World, id: MemberId, by: MemberId| {
        let member = (**world.state.member(id).unwrap()).clone();
        Member { created_by: Some(by), role: Role::Admin, ..member }
    };
    let puppet = made(&world, bob, chief);
    world.store(puppet);
    assert_eq!(world.refused(bob, decide(approval, true)), refusal::NOT_AUTHORIZED);
    let child = world.add(bob, MemberKind::Human, "child", None);
    let grown = made(&world, child, bob);
    world.store(grown);
    assert_eq!(world.refused(child, decide(approval, true)), refusal::NOT_AUTHORIZED);
    world.done(alice, Command::RemoveMember { member: chief });
    assert_eq!(world.refused(child, decide(approval, true)), refusal::NOT_AUTHORIZED, "also when the agent has left");
    world.done(alice, Command::AddToChannel { channel: general, member: child });
    let held = Approval { kind: ApprovalKind::LoopGuard, ..approval_of(&world.done(codebot, ask(Some(general)))) };
    let may = access::may_decide(&world.state, world.state.member(child).unwrap(), &held);
    assert_eq!(may, Err(refusal::NOT_AUTHORIZED));
    world.done(alice, decide(approval, true));
}

#[test]
fn only_people_bring_people_in() {
    let Asked { mut world, alice, .. } = asked();
    let chief = world.add(alice, MemberKind::Agent, "chief", Some(Role::Admin));
    let workspace = world.workspace;
    let add = |kind, name: &str| Command::AddMember(super::support::world::new_member(workspace, kind, name));
    assert_eq!(world.refused(chief, add(MemberKind::Human, "puppet")), refusal::PEOPLE_BRING_PEOPLE);
    world.done(chief, add(MemberKind::Agent, "helper"));
    let invite = |number: u8| {
        let code_hash = super::support::world::key(number);
        Command::CreateInvite(CreateInvite { workspace, role: None, channels: Vec::new(), code_hash })
    };
    assert_eq!(world.refused(chief, invite(1)), refusal::PEOPLE_BRING_PEOPLE);
    // One that an agent gave before this was so.
    let Reply::Invite(given) = world.done(alice, invite(2)).reply else { panic!() };
    world.store(Invite { made_by: chief, ..given });
    assert!(access::open_invite(&world.state, &super::support::world::key(2), world.now).is_err());
}

#[test]
fn a_fingerprint_does_not_cover_another_action() {
    let Asked { mut world, alice, codebot, .. } = asked();
    let other = |run: u128| {
        let request = RequestApproval { hash: Some("c0ffee".to_owned()), run: Some(RunId(run)), ..question(None) };
        Command::RequestApproval(RequestApproval { payload: "{\"row_id\":\"*\"}".to_owned(), ..request })
    };
    let first = approval_of(&world.done(codebot, hashed(1)));
    assert_ne!(approval_of(&world.done(codebot, other(1))).id, first.id, "an open question is not another one");
    let for_run = Command::DecideApproval { approval: first.id, approved: true, scope: ApprovalScope::Run, note: None };
    world.done(alice, for_run);
    assert_eq!(approval_of(&world.done(codebot, hashed(1))).status, ApprovalStatus::Approved);
    assert_eq!(approval_of(&world.done(codebot, hashed(1))).status, ApprovalStatus::Approved, "for the whole run");
    assert_eq!(approval_of(&world.done(codebot, other(1))).status, ApprovalStatus::Pending, "nobody saw this one");
}

#[test]
fn whether_agents_may_go_on_among_themselves_is_decided_by_any_person_of_the_channel() {
    let Asked { mut world, alice, bob, codebot, general, approval } = asked();
    let asked = world.ledger.all_records().find_map(|record| match record {
        Record::Approval(known) if known.id == approval => Some(known.clone()),
        _ => None,
    });
    let held = Approval { kind: ApprovalKind::LoopGuard, ..asked.unwrap() };
    let other = world.agent("other");
    let may =
        |world: &World, member: MemberId| access::may_decide(&world.state, world.state.member(member).unwrap(), &held);
    assert_eq!(may(&world, bob), Err(refusal::NOT_IN_THE_CHANNEL));
    assert_eq!(may(&world, codebot), Err(refusal::OWN_APPROVAL));
    assert_eq!(may(&world, other), Err(refusal::NOT_AUTHORIZED));
    world.done(alice, Command::AddToChannel { channel: general, member: bob });
    assert_eq!(may(&world, bob), Ok(()));
}

#[test]
fn the_same_question_asked_again_while_it_is_open_stays_one_question() {
    let Asked { mut world, codebot, .. } = asked();
    let first = approval_of(&world.done(codebot, hashed(1)));
    let again = world.done(codebot, hashed(2));
    assert_eq!(approval_of(&again).id, first.id);
    assert!(again.events.is_empty());
    let other = world.agent("other");
    assert_ne!(approval_of(&world.done(other, hashed(1))).id, first.id, "another agent asks for itself");
}

#[test]
fn a_decision_made_while_nobody_waited_is_used_for_the_next_identical_question_once() {
    let Asked { mut world, alice, codebot, .. } = asked();
    let first = approval_of(&world.done(codebot, hashed(1)));
    world.done(alice, decide(first.id, true));
    let second = approval_of(&world.done(codebot, hashed(2)));
    assert_eq!((second.id, second.status, second.used_at), (first.id, ApprovalStatus::Approved, Some(world.now)));
    let third = approval_of(&world.done(codebot, hashed(3)));
    assert_ne!(third.id, first.id);
    assert_eq!(third.status, ApprovalStatus::Pending, "one yes is one action");
}

#[test]
fn a_decision_that_nobody_took_up_for_a_day_no_longer_counts() {
    let Asked { mut world, alice, codebot, .. } = asked();
    let first = approval_of(&world.done(codebot, hashed(1)));
    world.done(alice, decide(first.id, true));
    world.later(DAY);
    assert_eq!(approval_of(&world.done(codebot, hashed(2))).status, ApprovalStatus::Pending);
}

#[test]
fn a_decision_is_taken_up_once_by_the_agent_that_asked() {
    let Asked { mut world, alice, codebot, approval, .. } = asked();
    let take_up = || Command::UseApproval { approval };
    assert_eq!(world.refused(codebot, take_up()), Refusal::conflict("not decided yet"));
    world.done(alice, decide(approval, false));
    let other = world.agent("other");
    assert_eq!(world.refused(other, take_up()), refusal::APPROVAL_NOT_FOUND);
    assert_eq!(world.refused(alice, take_up()), refusal::NOT_AUTHORIZED);
    let used = approval_of(&world.done(codebot, take_up()));
    assert_eq!(
        (used.used_at, used.note.as_deref()),
        (Some(world.now), Some("looks good")),
        "the note reaches the agent"
    );
    assert_eq!(world.refused(codebot, take_up()), Refusal::conflict("this decision was already used"));
}

#[test]
fn allowed_for_this_run_holds_for_the_same_question_of_the_same_run_only() {
    let Asked { mut world, alice, codebot, .. } = asked();
    let first = approval_of(&world.done(codebot, hashed(1))).id;
    let for_run = Command::DecideApproval { approval: first, approved: true, scope: ApprovalScope::Run, note: None };
    world.done(alice, for_run);
    world.done(codebot, Command::UseApproval { approval: first });
    assert_eq!(approval_of(&world.done(codebot, hashed(1))).id, first);
    assert_eq!(approval_of(&world.done(codebot, hashed(2))).status, ApprovalStatus::Pending);
}

#[test]
fn a_question_that_nobody_decides_for_a_day_is_denied_and_that_is_told() {
    let Asked { mut world, alice, codebot, approval, .. } = asked();
    let hub = crate::Actor::hub(Door::Rest);
    assert_eq!(world.state.next_deadline(), Some(world.now + DAY));
    world.later(DAY - 1);
    assert!(world.done(hub, Command::LetTimePass).events.is_empty());
    world.later(1);
    let decision = world.done(hub, Command::LetTimePass);
    let [crate::Event::Saved(crate::Record::Approval(expired))] = &decision.events[..] else { panic!() };
    assert_eq!((expired.id, expired.status, expired.reviewer), (approval, ApprovalStatus::Denied, None));
    assert_eq!(expired.note.as_deref(), Some("nobody decided"));
    assert_eq!(world.state.next_deadline(), None);
    let late = refusal::ALREADY_REVIEWED.detail("denied, nobody decided in time".to_owned());
    assert_eq!(world.refused(alice, decide(approval, true)), late);
    assert_eq!(world.refused(codebot, Command::LetTimePass), refusal::NOT_AUTHORIZED);
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
fn a_review_ends_with_one_of_the_known_verdicts() {
    let Asked { mut world, codebot, .. } = asked();
    let reviewbot = world.agent("reviewbot");
    let asked = world.done(codebot, request(reviewbot, None));
    let Reply::Review(review) = &asked.reply else { panic!("{:?}", asked.reply) };
    let verdict = |status: &str| Command::DecideReview { review: review.id, status: status.to_owned(), comment: None };
    let wrong = "status must be one of approved, changes_requested, rejected, denied, commented";
    for status in ["pending", "zork", ""] {
        assert_eq!(world.refused(reviewbot, verdict(status)), Refusal::bad_request(wrong), "{status}");
    }
    let answered = world.done(reviewbot, verdict("Changes_Requested"));
    assert!(matches!(&answered.reply, Reply::Review(review) if review.status == "changes_requested"));
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

#[test]
fn a_review_in_a_channel_does_not_exist_for_who_cannot_read_it() {
    let Asked { mut world, codebot, .. } = asked();
    let (reviewbot, outsider) = (world.agent("reviewbot"), world.human("outsider"));
    let private = world.private("private", &[codebot, reviewbot]);
    let asked = world.done(codebot, request(reviewbot, Some(private)));
    let Reply::Review(review) = &asked.reply else { panic!("{:?}", asked.reply) };
    assert_eq!(world.refused(outsider, result(review.id)), refusal::REVIEW_NOT_FOUND);
    assert_eq!(world.refused(codebot, result(review.id)), refusal::NOT_THE_REVIEWER);
}
