//! Machines: whose agents they carry, what they cannot do, and when they end.

use super::support::World;
use super::support::world::{message_of, presences, register_daemon, say};
use crate::command::{Command, Reply, RequestApproval, UpdateMember};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::record::Record;
use crate::{Actor, access, refusal};

fn rest(member: MemberId) -> Actor {
    Actor::new(member, Door::Rest)
}

fn on(machine: &Machine, connection: ConnectionId) -> Actor {
    Actor::connected(machine.as_member(), Door::Lark, connection)
}

fn add(workspace: WorkspaceId, number: u8) -> Command {
    Command::AddMachine { workspace, name: " laptop ".to_owned(), key_hash: KeyHash([number; 32]) }
}

fn machine_of(world: &mut World, owner: MemberId) -> Machine {
    let workspace = world.state.member(owner).expect("the owner").workspace;
    let Reply::Machine(machine) = world.done(rest(owner), add(workspace, 7)).reply else { panic!() };
    machine
}

/// A machine whose daemon carries these agents.
fn carrying(world: &mut World, owner: MemberId, agents: &[MemberId]) -> (Machine, ConnectionId) {
    let machine = machine_of(world, owner);
    let connection = world.new_connection();
    world.done(on(&machine, connection), Command::Connect);
    world.done(on(&machine, connection), register_daemon(agents));
    (machine, connection)
}

#[test]
fn a_person_makes_a_machine_and_finds_it_by_its_key() {
    let mut world = World::new();
    let bob = world.human("bob");
    let machine = machine_of(&mut world, bob);
    assert_eq!((machine.name.as_str(), machine.owner, machine.last_seen_at), ("laptop", bob, None));
    let found = world.state.machine_by_key(&KeyHash([7; 32])).expect("the machine");
    assert_eq!(found, &machine);
}

#[test]
fn agents_and_strangers_make_no_machines() {
    let mut world = World::new();
    let agent = world.agent("codebot");
    let (_, stranger) = world.register("stranger");
    let own = add(world.workspace, 1);
    assert_eq!(world.refused(rest(agent), own.clone()), refusal::PEOPLE_ONLY);
    assert_eq!(world.refused(rest(stranger), own.clone()), refusal::WORKSPACE_NOT_FOUND);
    let alice = world.alice;
    let machine = machine_of(&mut world, alice);
    assert_eq!(world.refused(rest(machine.as_member()), own), refusal::MACHINES_ONLY_CARRY);
}

#[test]
fn a_machine_carries_whom_its_owner_may_carry_and_speaks_for_them_alone() {
    let mut world = World::new();
    let admin = world.admin("admin");
    let bob = world.human("bob");
    let (own, foreign) = (world.add(admin, MemberKind::Agent, "own", None), world.agent("foreign"));
    world.done(
        rest(world.alice),
        Command::UpdateMember(UpdateMember { member: admin, role: Some(Role::Member), ..UpdateMember::default() }),
    );
    let machine = machine_of(&mut world, admin);
    let connection = world.new_connection();
    let connected = world.done(on(&machine, connection), Command::Connect);
    assert!(presences(&connected).is_empty(), "nobody came online");
    let decision = world.done(on(&machine, connection), register_daemon(&[own, foreign, bob]));
    let Reply::Daemon { agents, refused, .. } = decision.reply else { panic!() };
    assert_eq!(agents.iter().map(|agent| agent.agent).collect::<Vec<_>>(), [own]);
    assert_eq!(refused.iter().map(|agent| agent.agent).collect::<Vec<_>>(), [foreign, bob]);
    assert_eq!(world.state.machine(machine.id).expect("the machine").agents, [own]);
    let general = world.channel("general", &[admin, own, foreign]);
    let speak = |agent| Actor { on_behalf: Some(agent), ..on(&machine, connection) };
    assert_eq!(message_of(&world.done(speak(own), say(general, "hello"))).sender, own);
    assert_eq!(world.refused(speak(foreign), say(general, "no")), refusal::NOT_AUTHORIZED);
    assert_eq!(world.refused(speak(admin), say(general, "no")), refusal::NOT_AUTHORIZED);
    assert_eq!(access::speaks_for(&world.state, machine.as_member(), own), Ok(own));
    assert_eq!(access::speaks_for(&world.state, machine.as_member(), foreign), Err(refusal::NOT_AUTHORIZED));
    assert_eq!(access::speaks_for(&world.state, machine.as_member(), admin), Err(refusal::NOT_AUTHORIZED));
}

#[test]
fn a_machine_neither_speaks_reads_nor_decides_for_its_owner() {
    let mut world = World::new();
    let (alice, bob, agent) = (world.alice, world.human("bob"), world.agent("codebot"));
    let (general, direct) = (world.channel("general", &[alice, agent]), world.direct(&[alice, bob]));
    let (machine, connection) = carrying(&mut world, alice, &[agent]);
    let itself = on(&machine, connection);
    for command in [
        say(general, "as my owner"),
        say(direct, "psst"),
        Command::Subscribe { channel: direct },
        Command::Subscribe { channel: general },
        Command::CreateChannel { workspace: None, name: "x".into(), kind: ChannelKind::Channel, topic: String::new() },
        Command::ReplaceKey { member: agent, key_hash: KeyHash([9; 32]) },
        Command::IssueProvisionToken { workspace: world.workspace, hash: KeyHash([9; 32]) },
        Command::RemoveMachine { machine: machine.id },
        Command::SetPresence(Presence::Dnd),
    ] {
        assert_eq!(world.refused(itself, command.clone()), refusal::MACHINES_ONLY_CARRY, "{command:?}");
    }
    assert!(access::room_to_read(&world.state, itself, direct).is_err());
    let asked = Actor { on_behalf: Some(agent), ..itself };
    let request = RequestApproval { channel: Some(general), action: "rm".into(), ..RequestApproval::default() };
    let Reply::Approval(approval) = world.done(asked, Command::RequestApproval(request)).reply else { panic!() };
    let decide =
        Command::DecideApproval { approval: approval.id, approved: true, scope: ApprovalScope::Once, note: None };
    assert_eq!(world.refused(itself, decide), refusal::MACHINES_ONLY_CARRY);
}

#[test]
fn a_machine_comes_in_through_lark_alone() {
    let mut world = World::new();
    let alice = world.alice;
    let machine = machine_of(&mut world, alice);
    let connection = world.new_connection();
    let elsewhere = Actor::connected(machine.as_member(), Door::Snek, connection);
    assert_eq!(world.refused(elsewhere, Command::Connect), refusal::MACHINES_ONLY_CARRY);
}

#[test]
fn a_machine_is_taken_back_by_its_owner_and_by_people_who_are_admins() {
    let mut world = World::new();
    let (bob, joe, agent) = (world.human("bob"), world.human("joe"), world.agent("codebot"));
    let promote = UpdateMember { member: agent, role: Some(Role::Admin), ..UpdateMember::default() };
    world.done(rest(world.alice), Command::UpdateMember(promote));
    let machine = machine_of(&mut world, bob);
    let take_back = Command::RemoveMachine { machine: machine.id };
    for stranger in [joe, agent] {
        assert_eq!(world.refused(rest(stranger), take_back.clone()), refusal::MACHINE_NOT_FOUND);
    }
    world.done(rest(bob), take_back.clone());
    assert!(world.state.machine_by_key(&KeyHash([7; 32])).is_none());
    let again = machine_of(&mut world, bob);
    world.done(rest(world.alice), Command::RemoveMachine { machine: again.id });
    assert_eq!(world.refused(rest(bob), take_back), refusal::MACHINE_NOT_FOUND);
}

#[test]
fn a_machine_that_was_taken_back_carries_nobody_any_more() {
    let mut world = World::new();
    let (alice, agent) = (world.alice, world.agent("codebot"));
    let general = world.channel("general", &[alice, agent]);
    let (machine, connection) = carrying(&mut world, alice, &[agent]);
    world.done(rest(alice), Command::RemoveMachine { machine: machine.id });
    assert_eq!(access::overreaching_daemons(&world.state).collect::<Vec<_>>(), [connection]);
    let speak = Actor { on_behalf: Some(agent), ..on(&machine, connection) };
    assert_eq!(world.refused(speak, say(general, "no")), refusal::NOT_AUTHORIZED);
    assert_eq!(world.refused(on(&machine, connection), register_daemon(&[agent])), refusal::NOT_AUTHENTICATED);
}

#[test]
fn the_machines_of_somebody_who_is_removed_end_with_them() {
    let mut world = World::new();
    let bob = world.admin("bob");
    let machine = machine_of(&mut world, bob);
    let decision = world.done(rest(world.alice), Command::RemoveMember { member: bob });
    let removed = |event: &Event| matches!(event, Event::Removed(Record::Machine(gone)) if gone.id == machine.id);
    assert!(decision.events.iter().any(removed));
    assert!(world.state.machine_behind(machine.as_member()).is_none());
}

#[test]
fn a_program_that_a_machine_brings_is_one_of_its_agents() {
    let mut world = World::new();
    let (alice, agent, bob) = (world.alice, world.agent("codebot"), world.human("bob"));
    let machine = machine_of(&mut world, alice);
    let carried = Command::ConnectCarried { carrier: machine.as_member() };
    let connection = world.new_connection();
    world.done(Actor::connected(agent, Door::Lark, connection), carried.clone());
    assert_eq!(world.state.machine(machine.id).expect("the machine").agents, [agent]);
    assert_eq!(world.presence(agent), Presence::Online);
    let person = Actor::connected(bob, Door::Lark, world.new_connection());
    assert_eq!(world.refused(person, carried), refusal::NOT_AUTHORIZED);
}
