//! Who is there: several connections of people, the one of an agent, and what each says of itself.

use super::support::World;
use super::support::world::presences;
use crate::command::{Command, Reply};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::{Actor, Refusal, refusal};

fn on(member: MemberId, connection: ConnectionId) -> Actor {
    Actor::connected(member, Door::Lark, connection)
}

#[test]
fn the_first_connection_makes_a_person_online_and_the_last_one_offline() {
    let mut world = World::new();
    let alice = world.alice;
    assert_eq!(world.presence(alice), Presence::Offline);
    let (first, second) = (world.new_connection(), world.new_connection());
    let came = world.done(on(alice, first), Command::Connect);
    assert_eq!(presences(&came), [(alice, Presence::Online)]);
    assert!(presences(&world.done(on(alice, second), Command::Connect)).is_empty());
    assert_eq!(world.state.connections_of(alice), [first, second]);
    assert!(presences(&world.disconnect(alice, first)).is_empty());
    assert_eq!(world.presence(alice), Presence::Online);
    assert_eq!(presences(&world.disconnect(alice, second)), [(alice, Presence::Offline)]);
    assert_eq!(world.presence(alice), Presence::Offline);
}

#[test]
fn who_connects_learns_who_it_is_before_anything_else() {
    let mut world = World::new();
    let connection = world.new_connection();
    let decision = world.done(on(world.alice, connection), Command::Connect);
    assert_eq!(decision.told_before_reply, 0);
    assert!(matches!(decision.reply, Reply::Connected(member) if member.name == "alice"));
}

#[test]
fn connecting_takes_a_connection_and_a_member() {
    let mut world = World::new();
    let nobody = on(MemberId::NONE, ConnectionId(1));
    assert_eq!(world.refused(nobody, Command::Connect), refusal::NOT_AUTHENTICATED);
    let without = Actor::new(world.alice, Door::Rest);
    assert_eq!(world.refused(without, Command::Connect), refusal::NOT_AUTHENTICATED);
    assert_eq!(world.refused(without, Command::Disconnect), refusal::NOT_AUTHENTICATED);
}

#[test]
fn the_newest_connection_of_an_agent_replaces_the_older_one() {
    let mut world = World::new();
    let codebot = world.agent("codebot");
    let first = world.connect(codebot);
    let second = world.new_connection();
    let decision = world.done(on(codebot, second), Command::Connect);
    assert!(decision.events.iter().any(|event| matches!(event, Event::ConnectionReplaced(old) if *old == first)));
    assert_eq!(world.state.connections_of(codebot), [second]);
    assert!(presences(&decision).is_empty(), "it was online and it is");
}

#[test]
fn the_clean_up_of_a_replaced_connection_touches_nothing_of_the_newer_one() {
    let mut world = World::new();
    let codebot = world.agent("codebot");
    let first = world.connect(codebot);
    let second = world.connect(codebot);
    assert!(world.disconnect(codebot, first).events.is_empty());
    assert_eq!(world.state.connections_of(codebot), [second]);
    assert_eq!(world.presence(codebot), Presence::Online);
    assert_eq!(presences(&world.disconnect(codebot, second)), [(codebot, Presence::Offline)]);
}

#[test]
fn what_people_say_of_themselves_counts_while_they_are_there() {
    let mut world = World::new();
    let alice = world.alice;
    let connection = world.connect(alice);
    for said in [Presence::Idle, Presence::Dnd, Presence::Online] {
        let decision = world.done(alice, Command::SetPresence(said));
        assert_eq!(presences(&decision), [(alice, said)]);
        assert_eq!(world.presence(alice), said);
        assert!(world.done(alice, Command::SetPresence(said)).events.is_empty(), "told once");
    }
    world.done(alice, Command::SetPresence(Presence::Dnd));
    world.disconnect(alice, connection);
    assert_eq!(world.presence(alice), Presence::Offline);
    world.connect(alice);
    assert_eq!(world.presence(alice), Presence::Online, "what was said is forgotten");
}

#[test]
fn nothing_is_told_of_who_is_not_connected() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    let hello = Command::Hello { role_card: RoleCard::default(), runtime: None };
    let said = [(alice, Command::SetPresence(Presence::Idle)), (codebot, Command::Sleep), (codebot, hello)];
    for (who, command) in said {
        assert!(presences(&world.done(who, command)).is_empty());
        assert_eq!(world.presence(who), Presence::Offline);
    }
}

#[test]
fn another_tab_does_not_disturb_who_does_not_want_to_be_disturbed() {
    let mut world = World::new();
    let alice = world.alice;
    world.connect(alice);
    world.done(alice, Command::SetPresence(Presence::Dnd));
    let second = world.new_connection();
    assert!(presences(&world.done(on(alice, second), Command::Connect)).is_empty());
    assert_eq!(world.presence(alice), Presence::Dnd);
}

#[test]
fn nobody_is_offline_by_saying_so_and_only_agents_sleep() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    world.connect(alice);
    world.connect(codebot);
    let wrong = Refusal::bad_request("status must be one of online, idle, dnd");
    for (who, said) in [(alice, Presence::Offline), (codebot, Presence::Offline), (alice, Presence::Sleeping)] {
        assert_eq!(world.refused(who, Command::SetPresence(said)), wrong);
    }
    world.done(codebot, Command::SetPresence(Presence::Sleeping));
    assert_eq!(world.presence(codebot), Presence::Sleeping);
}

#[test]
fn a_sleeping_agent_that_connects_again_is_awake() {
    let mut world = World::new();
    let codebot = world.agent("codebot");
    world.connect(codebot);
    world.done(codebot, Command::Sleep);
    let again = world.new_connection();
    let decision = world.done(on(codebot, again), Command::Connect);
    assert_eq!(presences(&decision), [(codebot, Presence::Online)]);
    assert_eq!(world.presence(codebot), Presence::Online);
}

#[test]
fn a_removed_member_can_still_be_cleaned_up_after() {
    let mut world = World::new();
    let bob = world.human("bob");
    let connection = world.connect(bob);
    world.done(world.alice, Command::RemoveMember { member: bob });
    let decision = world.disconnect(bob, connection);
    assert!(matches!(decision.events[..], [Event::Disconnected { .. }]));
    assert!(world.state.connections_of(bob).is_empty());
}
