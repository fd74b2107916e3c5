//! Daemons: whom they may carry, what they may do for them, and what remains when they go.

use super::support::World;
use super::support::world::{message_of, presences, register_daemon, say};
use crate::command::{Command, Reply, UpdateMember, WelcomeGuest};
use crate::ids::*;
use crate::model::*;
use crate::{Actor, refusal};

fn on(member: MemberId, connection: ConnectionId) -> Actor {
    Actor::connected(member, Door::Lark, connection)
}

#[test]
fn a_daemon_is_known_by_its_member_and_time_and_its_agents_come_online() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    let connection = world.connect(alice);
    let decision = world.done(on(alice, connection), register_daemon(&[codebot]));
    assert_eq!(presences(&decision), [(codebot, Presence::Online)]);
    assert_eq!(decision.told_before_reply, 0);
    let Reply::Daemon { id, agents, .. } = decision.reply else { panic!() };
    assert_eq!(id, format!("daemon_{alice}_{}", world.now));
    assert_eq!(agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["codebot"], "by its own name");
    assert_eq!(world.state.carrier_of(codebot), Some(connection));
}

#[test]
fn a_daemon_names_at_least_one_agent_and_has_a_connection() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    let connection = world.connect(alice);
    assert_eq!(world.refused(on(alice, connection), register_daemon(&[])), refusal::NO_AGENTS);
    let without = Actor::new(alice, Door::Rest);
    assert_eq!(world.refused(without, register_daemon(&[codebot])), refusal::NOT_AUTHENTICATED);
}

#[test]
fn an_agent_is_carried_by_itself_its_owner_or_a_person_who_is_an_admin_and_by_nobody_else() {
    let mut world = World::new();
    let admin = world.admin("admin");
    let owned = world.add(admin, MemberKind::Agent, "owned", None);
    let sibling = world.add(admin, MemberKind::Agent, "sibling", None);
    let sister = world.add(admin, MemberKind::Human, "sister", None);
    let (human, other_agent) = (world.human("human"), world.agent("other"));
    let admin_agent = world.agent("admin-agent");
    let promote = UpdateMember { member: admin_agent, role: Some(Role::Admin), ..UpdateMember::default() };
    world.done(Actor::new(world.alice, Door::Rest), Command::UpdateMember(promote));
    let made_by_agent = world.add(admin_agent, MemberKind::Agent, "made-by-agent", None);
    let (_, stranger) = world.register("stranger");
    let carries = |world: &mut World, carrier: MemberId| {
        let connection = world.daemon(carrier, &[owned]);
        let carried = world.state.carrier_of(owned) == Some(connection);
        world.disconnect(carrier, connection);
        carried
    };
    for carrier in [owned, admin, world.alice] {
        assert!(carries(&mut world, carrier), "{}", world.state.name_of(carrier));
    }
    for carrier in [sibling, admin_agent, sister, human, other_agent, stranger] {
        assert!(!carries(&mut world, carrier), "{}", world.state.name_of(carrier));
    }
    let connection = world.daemon(admin_agent, &[made_by_agent]);
    assert_ne!(world.state.carrier_of(made_by_agent), Some(connection), "not those it made either");
}

#[test]
fn people_cannot_be_carried() {
    let mut world = World::new();
    let bob = world.human("bob");
    let connection = world.connect(world.alice);
    let decision = world.done(on(world.alice, connection), register_daemon(&[bob, MemberId(1)]));
    let Reply::Daemon { agents, refused, .. } = decision.reply else { panic!() };
    assert!(agents.is_empty());
    assert_eq!(refused.iter().map(|one| one.agent).collect::<Vec<_>>(), [bob, MemberId(1)]);
    assert_eq!(world.presence(bob), Presence::Offline);
}

#[test]
fn a_daemon_speaks_for_the_agents_its_own_connection_carries() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    let general = world.channel("general", &[alice, codebot]);
    let daemon = world.daemon(alice, &[codebot]);
    let other = world.connect(alice);
    let speak = |connection| Actor { on_behalf: Some(codebot), ..on(alice, connection) };
    let decision = world.done(speak(daemon), say(general, "for codebot"));
    assert_eq!(message_of(&decision).sender, codebot);
    assert_eq!(world.refused(speak(other), say(general, "no")), refusal::NOT_AUTHORIZED);
    let without = Actor { on_behalf: Some(codebot), ..Actor::new(alice, Door::Rest) };
    assert_eq!(world.refused(without, say(general, "no")), refusal::NOT_AUTHORIZED);
    let itself = Actor { on_behalf: Some(alice), ..on(alice, other) };
    assert_eq!(message_of(&world.done(itself, say(general, "as myself"))).sender, alice);
}

#[test]
fn what_an_agent_may_not_its_daemon_may_not_do_for_it() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    let private = world.private("people", &[alice]);
    let daemon = world.daemon(alice, &[codebot]);
    let actor = Actor { on_behalf: Some(codebot), ..on(alice, daemon) };
    assert_eq!(world.refused(actor, say(private, "let me in")), refusal::NOT_CHANNEL_MEMBER);
    world.say(alice, private, "I am in");
}

#[test]
fn agents_go_offline_with_their_daemon_unless_they_are_reached_otherwise() {
    let mut world = World::new();
    let alice = world.alice;
    let (carried, connected, moved) = (world.agent("carried"), world.agent("connected"), world.agent("moved"));
    let daemon = world.daemon(alice, &[carried, connected, moved]);
    world.connect(connected);
    let second = world.daemon(alice, &[moved]);
    let decision = world.disconnect(alice, daemon);
    assert_eq!(presences(&decision), [(carried, Presence::Offline)]);
    let presence = [carried, connected, moved].map(|agent| world.presence(agent));
    assert_eq!(presence, [Presence::Offline, Presence::Online, Presence::Online]);
    assert_eq!(presences(&world.disconnect(alice, second)), [(alice, Presence::Offline), (moved, Presence::Offline)]);
}

#[test]
fn the_newest_list_of_a_daemon_counts() {
    let mut world = World::new();
    let alice = world.alice;
    let (kept, dropped) = (world.agent("kept"), world.agent("dropped"));
    let daemon = world.daemon(alice, &[kept, dropped]);
    let decision = world.done(on(alice, daemon), register_daemon(&[kept]));
    assert_eq!(presences(&decision), [(dropped, Presence::Offline)]);
    assert_eq!((world.state.carrier_of(kept), world.state.carrier_of(dropped)), (Some(daemon), None));
}

#[test]
fn a_replaced_connection_takes_the_agents_it_carried_with_it() {
    let mut world = World::new();
    let agent = world.agent("codebot");
    let Guest { door, key } = Guest::daemon();
    let welcome = WelcomeGuest { door, key, name: "agentd".to_owned(), role_card: RoleCard::default() };
    let Reply::Member(hubs_own) = world.done(Actor::hub(Door::Lark), Command::WelcomeGuest(welcome)).reply else {
        panic!()
    };
    world.daemon(hubs_own.id, &[agent]);
    let again = world.new_connection();
    let decision = world.done(on(hubs_own.id, again), Command::Connect);
    assert_eq!(presences(&decision), [(agent, Presence::Offline)]);
    assert_eq!((world.presence(hubs_own.id), world.presence(agent)), (Presence::Online, Presence::Offline));
    world.done(on(hubs_own.id, again), register_daemon(&[agent]));
    assert_eq!(world.presence(agent), Presence::Online);
}

#[test]
fn a_carried_agent_sleeps_on_when_its_own_connection_ends() {
    let mut world = World::new();
    let (alice, codebot) = (world.alice, world.agent("codebot"));
    world.daemon(alice, &[codebot]);
    let own = world.connect(codebot);
    world.done(codebot, Command::Sleep);
    assert!(presences(&world.disconnect(codebot, own)).is_empty());
    assert_eq!(world.presence(codebot), Presence::Sleeping);
}
