//! The ways in that a member has, and what ends them.

use super::support::World;
use super::support::world::key;
use crate::access::{self, SessionToken};
use crate::command::*;
use crate::decide::credentials::{MAX_SESSIONS, SEEN_STEP};
use crate::decide::{Credential, CredentialKind, credentials_of};
use crate::ids::*;
use crate::model::*;
use crate::refusal;

const DAY: crate::Millis = 24 * 60 * 60 * 1000;

fn sign_in(world: &World, member: MemberId, session: &str) -> Command {
    Command::SignIn(SignIn {
        session: session.to_owned(),
        generation: world.state.member(member).unwrap().secrets.generation,
        address: "192.0.2.7".to_owned(),
        device: "a browser".to_owned(),
        expires_at: world.now + DAY,
    })
}

/// A token of the session as it would be signed now.
fn token(world: &World, member: MemberId, session: &str) -> SessionToken {
    SessionToken {
        jti: session.to_owned(),
        session: session.to_owned(),
        generation: Some(world.state.member(member).unwrap().secrets.generation),
        issued_at: world.now,
    }
}

fn counts(world: &World, member: MemberId, token: &SessionToken) -> bool {
    world.state.member(member).is_some_and(|member| access::token_counts(&world.state, member, token, world.now))
}

fn ways_in(world: &World, member: MemberId) -> Vec<Credential> {
    credentials_of(&world.state, world.state.member(member).unwrap())
}

fn change(keep: &[&str]) -> Command {
    let keep = keep.iter().map(|id| (*id).to_owned()).collect();
    Command::ChangePassword { password_hash: "new".to_owned(), keep }
}

fn ended(decision: &crate::Decision) -> Vec<String> {
    let Reply::Ended(ids) = &decision.reply else { panic!("{decision:?}") };
    ids.clone()
}

#[test]
fn a_changed_password_ends_every_session_and_key_that_is_not_kept() {
    let mut world = World::new();
    let bob = world.human("bob");
    world.done(bob, Command::ReplaceKey { member: bob, key_hash: key(1) });
    let (laptop, phone) = (token(&world, bob, "laptop"), token(&world, bob, "phone"));
    world.done(bob, sign_in(&world, bob, "laptop"));
    world.done(bob, sign_in(&world, bob, "phone"));
    let all = ways_in(&world, bob);
    let kept = world.state.session(bob, "phone").unwrap().0.id.to_string();
    let decision = world.done(bob, change(&[&kept]));
    let over: Vec<_> = all.iter().map(|way| way.id.clone()).filter(|id| *id != kept).collect();
    assert_eq!((ended(&decision), over.len()), (over, 2));
    assert!(!counts(&world, bob, &laptop) && counts(&world, bob, &phone));
    assert!(world.state.member_by_key(&key(1)).is_none());
    world.done(bob, change(&[]));
    assert!(!counts(&world, bob, &phone), "kept once is not kept for ever");
}

#[test]
fn a_key_can_be_kept_and_an_agents_always_is() {
    let mut world = World::new();
    let (bob, agent) = (world.human("bob"), world.agent("agent"));
    for (member, number) in [(bob, 1), (agent, 2)] {
        world.done(member, Command::ReplaceKey { member, key_hash: key(number) });
    }
    let id = ways_in(&world, bob)[0].id.clone();
    world.done(bob, change(&[&id]));
    world.done(agent, change(&[]));
    assert_eq!(world.state.member_by_key(&key(1)).map(|member| member.id), Some(bob));
    assert_eq!(world.state.member_by_key(&key(2)).map(|member| member.id), Some(agent));
}

#[test]
fn who_wants_to_keep_what_is_not_theirs_is_told_and_nothing_changes() {
    let mut world = World::new();
    let bob = world.human("bob");
    world.done(world.alice, sign_in(&world, world.alice, "hers"));
    let hers = world.state.session(world.alice, "hers").unwrap().0.id.to_string();
    let refused = world.refused(bob, change(&[&hers]));
    assert!(refused.text.contains(&hers), "{refused}");
    assert_eq!(world.state.member(bob).unwrap().secrets.generation, 0);
}

#[test]
fn a_token_from_the_future_does_not_outlive_a_changed_password() {
    let mut world = World::new();
    let bob = world.human("bob");
    let ahead = SessionToken { issued_at: world.now + DAY, ..token(&world, bob, "ahead") };
    let unnumbered = SessionToken { generation: None, ..ahead.clone() };
    assert!(counts(&world, bob, &ahead) && counts(&world, bob, &unnumbered));
    world.done(bob, change(&[]));
    assert!(!counts(&world, bob, &ahead) && !counts(&world, bob, &unnumbered));
    world.later(2 * DAY);
    assert!(!counts(&world, bob, &ahead) && !counts(&world, bob, &unnumbered));
}

#[test]
fn tokens_of_earlier_versions_count_until_something_ends_them() {
    let mut world = World::new();
    let bob = world.human("bob");
    let old = SessionToken { generation: None, ..token(&world, bob, "old") };
    let mut changed_before = (**world.state.member(bob).unwrap()).clone();
    changed_before.secrets.valid_after = world.now;
    let judged = |issued_at| {
        let token = SessionToken { issued_at, ..old.clone() };
        access::token_counts(&world.state, &changed_before, &token, world.now)
    };
    // Changed by an earlier version: only the clock tells, and it does not reach into the future.
    assert_eq!([judged(world.now - 1), judged(world.now), judged(world.now + 1)], [false, true, false]);
    assert!(counts(&world, bob, &old));
    world.done(bob, change(&[]));
    assert!(!counts(&world, bob, &old));
}

#[test]
fn a_replaced_key_of_an_agent_ends_its_password_and_tokens() {
    let mut world = World::new();
    let agent = world.agent("agent");
    world.done(agent, change(&[]));
    let held = token(&world, agent, "held");
    world.done(agent, sign_in(&world, agent, "held"));
    world.done(world.alice, Command::ReplaceKey { member: agent, key_hash: key(1) });
    let secrets = &world.state.member(agent).unwrap().secrets;
    assert_eq!((secrets.password_hash.as_ref(), secrets.key_hash), (None, Some(key(1))));
    assert!(!counts(&world, agent, &held) && world.state.session(agent, "held").is_none());
}

#[test]
fn a_new_key_of_a_person_leaves_their_sessions() {
    let mut world = World::new();
    let bob = world.human("bob");
    let held = token(&world, bob, "held");
    world.done(bob, sign_in(&world, bob, "held"));
    world.done(bob, Command::ReplaceKey { member: bob, key_hash: key(1) });
    assert!(counts(&world, bob, &held) && world.state.session(bob, "held").is_some());
}

#[test]
fn one_way_in_can_be_ended_by_its_holder_only() {
    let mut world = World::new();
    let bob = world.human("bob");
    world.done(bob, sign_in(&world, bob, "laptop"));
    world.done(bob, Command::ReplaceKey { member: bob, key_hash: key(1) });
    let renewed = SessionToken { jti: "second".to_owned(), ..token(&world, bob, "laptop") };
    let [session, api_key] = &ways_in(&world, bob)[..] else { panic!() };
    assert!(matches!(session.kind, CredentialKind::Session(_)) && api_key.kind == CredentialKind::ApiKey);
    let end = |id: &str| Command::EndCredential { id: id.to_owned() };
    for id in [&session.id, "tok_nothing"] {
        assert_eq!(world.refused(world.alice, end(id)), refusal::CREDENTIAL_NOT_FOUND);
    }
    assert!(counts(&world, bob, &renewed));
    world.done(bob, end(&session.id));
    assert!(!counts(&world, bob, &renewed), "all tokens of a session end with it");
    world.done(bob, end(&api_key.id));
    assert!(world.state.member_by_key(&key(1)).is_none() && ways_in(&world, bob).is_empty());
    let agent = world.agent("agent");
    world.done(agent, Command::ReplaceKey { member: agent, key_hash: key(2) });
    let id = ways_in(&world, agent)[0].id.clone();
    assert_eq!(world.refused(agent, end(&id)), refusal::KEY_OF_AN_AGENT);
}

#[test]
fn a_session_is_noted_once_however_often_it_is_renewed() {
    let mut world = World::new();
    let alice = world.alice;
    world.done(alice, sign_in(&world, alice, "one"));
    let first = world.state.session(alice, "one").unwrap().1.clone();
    world.later(DAY / 2);
    world.done(alice, sign_in(&world, alice, "one"));
    let (token, renewed) = world.state.session(alice, "one").unwrap();
    assert_eq!((renewed.created_at, token.expires_at), (first.created_at, world.now + DAY));
    assert_eq!(world.state.sessions_of(alice).count(), 1);
    let see = || Command::SeeSession { session: "one".to_owned(), address: "192.0.2.8".to_owned() };
    assert!(world.done(alice, see()).events.is_empty(), "just seen");
    world.later(SEEN_STEP);
    world.done(alice, see());
    let seen = world.state.session(alice, "one").unwrap().1;
    assert_eq!((seen.last_seen_at, &*seen.address), (world.now, "192.0.2.8"));
}

#[test]
fn the_sessions_of_a_member_are_bounded_and_those_over_are_swept() {
    let mut world = World::new();
    let alice = world.alice;
    for number in 0..=MAX_SESSIONS {
        world.later(1);
        world.done(alice, sign_in(&world, alice, &number.to_string()));
    }
    assert_eq!(world.state.sessions_of(alice).count(), MAX_SESSIONS);
    assert!(world.state.session(alice, "0").is_none() && world.state.session(alice, "1").is_some());
    world.later(2 * DAY);
    let bob = world.human("bob");
    world.done(bob, sign_in(&world, bob, "his"));
    assert_eq!(world.state.sessions_of(alice).count(), 0);
}

#[test]
fn a_sign_in_that_was_proven_before_everything_ended_is_too_late() {
    let mut world = World::new();
    let bob = world.human("bob");
    let late = sign_in(&world, bob, "late");
    world.done(bob, change(&[]));
    assert_eq!(world.refused(bob, late), refusal::INVALID_CREDENTIALS);
}

#[test]
fn provision_tokens_end_with_the_password_the_rights_and_the_member() {
    let come = |world: &World, number: u8| {
        access::open_provision(&world.state, world.workspace, &key(number), world.now).map(drop)
    };
    let issue = |world: &World, number| Command::IssueProvisionToken { workspace: world.workspace, hash: key(number) };
    let mut world = World::new();
    let admin = world.admin("admin");
    world.done(admin, issue(&world, 1));
    assert!(come(&world, 1).is_ok());
    world.done(admin, change(&[]));
    assert!(come(&world, 1).is_err());
    world.done(admin, issue(&world, 2));
    let demote = UpdateMember { member: admin, role: Some(Role::Member), ..UpdateMember::default() };
    world.done(world.alice, Command::UpdateMember(demote));
    assert!(come(&world, 2).is_err(), "who may no longer add members lets nobody in");
    world.done(world.alice, Command::RemoveMember { member: admin });
    assert_eq!(world.state.provision_tokens_of(admin).count(), 0);
}
