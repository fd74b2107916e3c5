//! Accounts and workspaces: who may make them, log out, and let agents in.

use super::support::World;
use super::support::world::{key, new_member, say};
use crate::command::*;
use crate::decide::check_password;
use crate::event::Event;
use crate::model::*;
use crate::record::Record;
use crate::refusal::{self, Code};
use crate::{Actor, Refusal, access};

fn register(policy: Registration, name: &str, email: &str) -> Command {
    Command::Register(Register {
        policy,
        standing: Standing::Proven,
        email: email.to_owned(),
        name: name.to_owned(),
        workspace_name: None,
        password_hash: "hash".to_owned(),
    })
}

fn somebody() -> Actor {
    Actor::nobody(Door::Rest)
}

#[test]
fn the_first_account_owns_the_first_workspace_and_then_registration_is_closed() {
    let mut world = World::empty();
    let decision = world.done(somebody(), register(Registration::First, "alice", "a@b.c"));
    let Reply::Registered { member, workspace } = decision.reply else { panic!() };
    assert_eq!((member.role, member.kind, member.workspace), (Role::Owner, MemberKind::Human, workspace.id));
    assert_eq!((workspace.name.as_str(), workspace.slug.as_str()), ("alice's workspace", "alice"));
    let second = register(Registration::First, "bob", "b@b.c");
    assert_eq!(world.refused(somebody(), second), refusal::REGISTRATION_CLOSED);
}

#[test]
fn open_registration_gives_everybody_a_workspace_and_closed_nobody() {
    let mut world = World::new();
    let closed = register(Registration::Closed, "bob", "b@b.c");
    assert_eq!(world.refused(somebody(), closed), refusal::REGISTRATION_CLOSED);
    let Reply::Registered { workspace, .. } =
        world.done(somebody(), register(Registration::Open, "alice", "b@b.c")).reply
    else {
        panic!()
    };
    assert_ne!(workspace.id, world.workspace);
    assert_eq!(workspace.slug, "alice-2", "slugs are unique");
}

#[test]
fn an_email_belongs_to_one_account_whatever_its_case() {
    let mut world = World::new();
    let again = register(Registration::Open, "alice", "ALICE@example.org");
    assert_eq!(world.refused(somebody(), again), refusal::EMAIL_EXISTS);
    for wrong in ["", "alice", "@example.org", "alice@", "a b@example.org"] {
        let refusal = world.refused(somebody(), register(Registration::Open, "bob", wrong));
        assert_eq!(refusal.code, Code::BadRequest, "{wrong}");
    }
}

#[test]
fn a_password_has_8_to_1024_characters() {
    assert_eq!(check_password("passwor"), Err(refusal::PASSWORD_TOO_SHORT));
    assert_eq!(check_password("pässwörd"), Ok(()), "characters count, not bytes");
    assert_eq!(check_password(&"p".repeat(1024)), Ok(()));
    let too_long = Refusal::bad_request("password is too long (max 1024 characters)");
    assert_eq!(check_password(&"p".repeat(1025)), Err(too_long));
}

#[test]
fn whoever_owns_a_workspace_makes_another_and_owns_it_too() {
    let mut world = World::new();
    let (alice, admin, agent) = (world.alice, world.admin("admin"), world.agent("agent"));
    let create = |name: &str| Command::CreateWorkspace { name: name.to_owned() };
    for who in [admin, agent] {
        assert_eq!(world.refused(who, create("Lab")).text, "only the owner of a workspace may make another");
    }
    assert_eq!(world.refused(somebody(), create("Lab")), refusal::NOT_AUTHENTICATED);
    assert_eq!(world.refused(alice, create(" ")).code, Code::BadRequest);
    let Reply::Registered { member, workspace } = world.done(alice, create("The Lab")).reply else { panic!() };
    assert_eq!((workspace.name.as_str(), workspace.slug.as_str()), ("The Lab", "the-lab"));
    assert_eq!((member.role, member.name.as_str(), member.workspace), (Role::Owner, "alice", workspace.id));
    assert_ne!(member.id, alice, "nobody is in two workspaces");
    assert_eq!(member.email, None, "an email belongs to one account");
    let called: Vec<_> = world.state.members_called("alice@the-lab").iter().map(|found| found.id).collect();
    assert_eq!(called, [member.id]);
}

#[test]
fn a_workspace_is_changed_by_admins_and_its_slug_is_its_own() {
    let mut world = World::new();
    let (bob, admin) = (world.human("bob"), world.admin("admin"));
    let (other, stranger) = world.register("stranger");
    let update = |workspace, slug: &str| Command::UpdateWorkspace {
        workspace,
        name: Some("Acme".to_owned()),
        slug: Some(slug.to_owned()),
    };
    let ours = world.workspace;
    assert_eq!(world.refused(bob, update(ours, "acme")), refusal::ADMINS_ONLY);
    assert_eq!(world.refused(stranger, update(ours, "acme")), refusal::WORKSPACE_NOT_FOUND);
    let Reply::Workspace(workspace) = world.done(admin, update(ours, "Acme & Sons!")).reply else { panic!() };
    assert_eq!((workspace.name.as_str(), workspace.slug.as_str()), ("Acme", "acme-sons"));
    let taken = Refusal::conflict("the slug `acme-sons` is taken");
    assert_eq!(world.refused(stranger, update(other, "acme sons")), taken);
    world.done(admin, update(ours, "acme-sons"));
}

#[test]
fn a_workspace_is_deleted_by_its_owner_with_everything_in_it() {
    let mut world = World::new();
    let (alice, admin) = (world.alice, world.admin("admin"));
    let general = world.channel("general", &[alice, admin]);
    world.say(alice, general, "soon gone");
    let delete = Command::DeleteWorkspace { workspace: world.workspace };
    assert_eq!(world.refused(admin, delete.clone()).text, "only the owner may delete the workspace");
    world.done(alice, delete);
    assert!(world.state.is_empty() && world.state.channel(general).is_none());
    assert_eq!(world.refused(alice, say(general, "hello?")), refusal::NOT_AUTHENTICATED);
    assert_eq!(world.ledger.all_messages().count(), 0);
}

#[test]
fn who_runs_the_hub_is_an_owner_or_admin_of_its_first_workspace() {
    let mut world = World::new();
    let (alice, admin, bob) = (world.alice, world.admin("admin"), world.human("bob"));
    let (_, stranger) = world.register("stranger");
    let runs = |member| access::operator(&world.state, Actor::new(member, Door::Rest));
    assert_eq!((runs(alice), runs(admin)), (Ok(()), Ok(())));
    assert_eq!(runs(bob), Err(refusal::ADMINS_ONLY));
    assert_eq!(runs(stranger), Err(refusal::NOT_THE_OPERATOR));
}

#[test]
fn who_signs_out_revokes_the_session_until_it_would_have_ended() {
    let mut world = World::new();
    let sign_out = |jti: &str, expires_at| Command::SignOut { jti: jti.to_owned(), expires_at };
    let soon = world.now + 1000;
    world.done(world.alice, sign_out("first", soon));
    assert!(world.state.is_revoked("first") && !world.state.is_revoked("second"));
    assert!(world.done(world.alice, sign_out("first", soon)).events.is_empty(), "once is enough");
    world.later(1000);
    let decision = world.done(world.alice, sign_out("second", soon + 1000));
    assert!(decision.events.iter().any(|event| matches!(event, Event::Removed(Record::Token(_)))));
    assert!(!world.state.is_revoked("first") && world.state.is_revoked("second"));
}

// Agents that add themselves.

fn invite(world: &World, number: u8) -> Command {
    Command::IssueProvisionToken { workspace: world.workspace, hash: key(number) }
}

fn come(world: &World, invitation: u8, name: &str) -> Command {
    Command::RegisterAgent(RegisterAgent {
        workspace: world.workspace,
        provision_hash: key(invitation),
        name: name.to_owned(),
        key_hash: key(100),
        role_card: RoleCard::default(),
        runtime: Runtime::default(),
    })
}

#[test]
fn an_invitation_lets_agents_add_themselves_for_a_day() {
    let mut world = World::new();
    let bob = world.human("bob");
    assert_eq!(world.refused(bob, invite(&world, 1)), refusal::ADMINS_ONLY);
    world.done(world.alice, invite(&world, 1));
    let Reply::Member(agent) = world.done(somebody(), come(&world, 1, "newbot")).reply else { panic!() };
    assert_eq!((agent.kind, agent.role, agent.created_by), (MemberKind::Agent, Role::Member, Some(world.alice)));
    assert_eq!(world.state.member_by_key(&key(100)).map(|member| member.id), Some(agent.id));
    assert_eq!(world.refused(somebody(), come(&world, 2, "other")), refusal::INVALID_CREDENTIALS);
    assert_eq!(world.refused(somebody(), come(&world, 1, "NewBot")), refusal::NAME_TAKEN);
    world.later(24 * 60 * 60 * 1000);
    assert_eq!(world.refused(somebody(), come(&world, 1, "late")), refusal::INVALID_CREDENTIALS);
}

#[test]
fn an_invitation_is_for_its_own_workspace() {
    let mut world = World::new();
    world.done(world.alice, invite(&world, 1));
    let (workspace, _) = world.register("stranger");
    let Command::RegisterAgent(register) = come(&world, 1, "newbot") else { unreachable!() };
    let elsewhere = Command::RegisterAgent(RegisterAgent { workspace, ..register });
    assert_eq!(world.refused(somebody(), elsewhere), refusal::INVALID_CREDENTIALS);
}

#[test]
fn an_invitation_ends_with_who_gave_it_and_with_the_workspace() {
    let mut world = World::new();
    let admin = world.admin("admin");
    world.done(admin, invite(&world, 1));
    world.done(world.alice, invite(&world, 2));
    world.done(world.alice, Command::RemoveMember { member: admin });
    assert_eq!(world.refused(somebody(), come(&world, 1, "newbot")), refusal::INVALID_CREDENTIALS);
    world.done(somebody(), come(&world, 2, "newbot"));
    world.done(world.alice, Command::DeleteWorkspace { workspace: world.workspace });
    assert_eq!(world.refused(somebody(), come(&world, 2, "late")), refusal::INVALID_CREDENTIALS);
}

#[test]
fn an_invitation_for_agents_ends_when_its_giver_is_an_admin_no_longer() {
    let mut world = World::new();
    let admin = world.admin("admin");
    world.done(admin, invite(&world, 1));
    let demoted = UpdateMember { member: admin, role: Some(Role::Member), ..UpdateMember::default() };
    world.done(world.alice, Command::UpdateMember(demoted));
    assert_eq!(world.refused(somebody(), come(&world, 1, "newbot")), refusal::INVALID_CREDENTIALS);
}

#[test]
fn a_name_is_found_in_all_workspaces_and_name_at_slug_in_one() {
    let mut world = World::new();
    let (_, stranger) = world.register("stranger");
    let ours = world.human("sam");
    let theirs = world.add(stranger, MemberKind::Human, "Sam", None);
    let called = |login: &str| {
        let mut found: Vec<_> = world.state.members_called(login).iter().map(|member| member.id).collect();
        found.sort_unstable();
        found
    };
    assert_eq!(called("SAM"), [ours, theirs]);
    assert_eq!(called("sam@alice"), [ours]);
    assert_eq!(called("sam@stranger"), [theirs]);
    assert!(called("sam@nowhere").is_empty());
    let add = new_member(world.workspace, MemberKind::Human, "a@b");
    world.done(world.alice, Command::AddMember(add));
    assert_eq!(world.state.members_called("a@b").len(), 1, "a name may itself have an @");
}
