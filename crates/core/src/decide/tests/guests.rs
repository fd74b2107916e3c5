//! Guests: programs without an account that a door let in.

use super::support::World;
use super::support::world::message_of;
use crate::command::*;
use crate::ids::*;
use crate::model::*;
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
    assert_eq!(decision.events.len(), 1, "a title that looks like a mention notifies nobody");
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
