//! Guests: programs without an account that a door let in.

use super::support::World;
use super::support::world::message_of;
use crate::command::*;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::record::Record;
use crate::{Actor, refusal};

fn welcome(key: &str, name: &str) -> Command {
    let role_card = RoleCard { system_prompt: "notes".to_owned(), capabilities: vec!["notes".to_owned()] };
    let (key, name) = (key.to_owned(), name.to_owned());
    Command::WelcomeGuest(WelcomeGuest { door: Door::SmartHole, key, name, role_card })
}

fn hub() -> Actor {
    Actor::hub(Door::SmartHole)
}

fn member_of(world: &mut World, command: Command) -> std::sync::Arc<Member> {
    let Reply::Member(member) = world.done(hub(), command).reply else { panic!("no member") };
    member
}

fn answer(guest: MemberId, message: MessageId, content: &str) -> Command {
    let key = Some("once".to_owned());
    Command::AnswerAsGuest(AnswerAsGuest { guest, message, content: content.to_owned(), metadata: None, key })
}

#[test]
fn a_guest_is_an_agent_of_the_oldest_workspace_and_its_owner_answers_for_it() {
    let mut world = World::new();
    let (oldest, owner) = (world.workspace, world.alice);
    world.register("mallory");
    let guest = member_of(&mut world, welcome("notebook", "notebook"));
    assert_eq!((guest.workspace, guest.kind, guest.created_by), (oldest, MemberKind::Agent, Some(owner)));
    assert_eq!(guest.role_card.as_ref().unwrap().capabilities, ["notes"]);
}

#[test]
fn a_guest_that_comes_back_is_the_same_member() {
    let mut world = World::new();
    let first = member_of(&mut world, welcome("notebook", "notebook"));
    let decision = world.done(hub(), welcome("notebook", "notebook"));
    assert!(decision.events.is_empty(), "nothing to store when nothing changed");
    assert_eq!(member_of(&mut world, welcome("notebook", "notebook")).id, first.id);
    assert_ne!(member_of(&mut world, welcome("other", "other")).id, first.id);
}

#[test]
fn a_guest_whose_name_is_taken_gets_a_number() {
    let mut world = World::new();
    world.human("Notebook");
    assert_eq!(member_of(&mut world, welcome("notebook", "notebook")).name, "notebook-2");
}

#[test]
fn nobody_but_the_hub_lets_guests_in_or_speaks_for_them() {
    let mut world = World::new();
    let alice = world.alice;
    let general = world.channel("general", &[alice]);
    let asked = world.say(alice, general, "/play").id;
    let guest = member_of(&mut world, welcome("notebook", "notebook")).id;
    for actor in [Actor::new(alice, Door::Lark), Actor::new(guest, Door::SmartHole), Actor::nobody(Door::Rest)] {
        assert_eq!(world.refused(actor, welcome("spy", "spy")), refusal::NOT_AUTHORIZED);
        assert_eq!(world.refused(actor, answer(guest, asked, "hi")), refusal::NOT_AUTHORIZED);
    }
}

#[test]
fn a_guest_answers_where_it_was_addressed_once_and_calls_nobody() {
    let mut world = World::new();
    let alice = world.alice;
    let bob = world.human("bob");
    let general = world.channel("general", &[alice, bob]);
    let asked = world.say(alice, general, "/play something").id;
    let guest = member_of(&mut world, welcome("notebook", "notebook")).id;
    let decision = world.done(hub(), answer(guest, asked, "playing @bob"));
    let message = message_of(&decision);
    assert_eq!((message.sender, message.channel, message.door), (guest, general, Door::SmartHole));
    let is_about_itself = |event: &Event| matches!(event, Event::Saved(Record::Member(member)) if member.id == guest);
    let others = decision.events.iter().filter(|event| !is_about_itself(event)).count();
    assert_eq!(others, 1, "a title that looks like a mention notifies nobody");
    let Reply::Sent { repeated, .. } = world.done(hub(), answer(guest, asked, "playing @bob")).reply else { panic!() };
    assert!(repeated);
}

#[test]
fn only_guests_answer_without_being_in_the_channel_and_only_in_their_own_workspace() {
    let mut world = World::new();
    let alice = world.alice;
    let general = world.channel("general", &[alice]);
    let asked = world.say(alice, general, "hello").id;
    let agent = world.agent("bot");
    assert_eq!(world.refused(hub(), answer(agent, asked, "hi")), refusal::MEMBER_NOT_FOUND);
    let guest = member_of(&mut world, welcome("notebook", "notebook")).id;
    assert_eq!(world.refused(hub(), answer(guest, MessageId::NONE, "hi")), refusal::MESSAGE_NOT_FOUND);
    world.done(alice, Command::ArchiveChannel { channel: general, archived: true });
    assert_eq!(world.refused(hub(), answer(guest, asked, "hi")), refusal::CHANNEL_ARCHIVED);
}

#[test]
fn a_guest_is_not_called_like_somebody_it_could_be_taken_for() {
    let mut world = World::new();
    world.human("notebook");
    assert_eq!(member_of(&mut world, welcome("n1", "n\u{43e}tebook")).name, "n\u{43e}tebook-2");
    let invisible = world.refused(hub(), welcome("n2", "note\u{200b}book"));
    assert_eq!(invisible.code, crate::Code::BadRequest);
}

const DAY: crate::Millis = 24 * 60 * 60 * 1000;

#[test]
fn a_guest_that_has_not_been_here_for_long_goes_when_another_comes() {
    let mut world = World::new();
    let silent = member_of(&mut world, welcome("silent", "silent"));
    let spoke = member_of(&mut world, welcome("spoke", "spoke"));
    let here = member_of(&mut world, welcome("here", "here"));
    let back = member_of(&mut world, welcome("back", "back"));
    let general = world.channel("general", &[world.alice]);
    let asked = world.say(world.alice, general, "@spoke hello");
    world.done(hub(), answer(spoke.id, asked.id, "hi"));
    world.connect(here.id);
    world.later(29 * DAY);
    member_of(&mut world, welcome("back", "back"));
    world.later(2 * DAY);
    member_of(&mut world, welcome("new", "new"));
    for (guest, stays) in [(&silent, false), (&spoke, false), (&here, true), (&back, true)] {
        assert_eq!(world.state.member(guest.id).is_some(), stays, "{}", guest.name);
    }
    assert_eq!(world.state.name_of(spoke.id), "spoke", "its name stays on what it said");
    assert_eq!(world.state.name_of(silent.id), "", "of one that said nothing nothing is left");
}

#[test]
fn there_is_a_most_of_guests_and_the_one_that_was_away_longest_makes_room() {
    let mut world = World::new();
    let most = crate::decide::guests::MAX_GUESTS;
    let first = member_of(&mut world, welcome("g0", "guest-0"));
    world.connect(first.id);
    for number in 1..most + 5 {
        world.later(1);
        member_of(&mut world, welcome(&format!("g{number}"), &format!("guest-{number}")));
    }
    let workspace = world.workspace;
    let guests = world.state.members_of(workspace).filter(|member| member.guest.is_some()).count();
    assert_eq!(guests, most);
    assert!(world.state.member(first.id).is_some(), "who is here stays");
    assert!(
        world.state.member_named(workspace, "guest-1").is_none()
            && world.state.member_named(workspace, "guest-6").is_some()
    );
    let stored = world.ledger.all_records().filter(|record| matches!(record, crate::record::Record::Member(_))).count();
    assert!(stored < most + 10, "and nothing is kept of the others: {stored}");
}
