//! Invitations: who gives them, what they are good for, and when they end.

use super::support::World;
use super::support::world::key;
use crate::command::*;
use crate::decide::INVITE_LIFE;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::record::Record;
use crate::refusal::{self, Code};
use crate::{Actor, Refusal, access};

fn invite(world: &World, number: u8) -> CreateInvite {
    CreateInvite { workspace: world.workspace, role: None, channels: Vec::new(), code_hash: key(number) }
}

fn give(world: &mut World, by: MemberId, number: u8, channels: &[ChannelId]) -> Invite {
    let create = CreateInvite { channels: channels.to_vec(), ..invite(world, number) };
    let Reply::Invite(invite) = world.done(by, Command::CreateInvite(create)).reply else { panic!() };
    invite
}

fn join(number: u8, name: &str) -> Command {
    Command::Join(Join { code_hash: key(number), name: name.to_owned(), email: None, password_hash: "hash".to_owned() })
}

fn somebody() -> Actor {
    Actor::nobody(Door::Rest)
}

#[test]
fn admins_of_the_workspace_invite_and_nobody_else() {
    let mut world = World::new();
    let (admin, member) = (world.admin("admin"), world.human("member"));
    let (_, stranger) = world.register("stranger");
    let create = Command::CreateInvite(invite(&world, 1));
    assert_eq!(world.refused(member, create.clone()), refusal::ADMINS_ONLY);
    assert_eq!(world.refused(stranger, create.clone()), refusal::WORKSPACE_NOT_FOUND);
    assert_eq!(world.refused(somebody(), create), refusal::NOT_AUTHENTICATED);
    let now = world.now;
    let given = give(&mut world, admin, 1, &[]);
    assert_eq!((given.role, given.made_by, given.expires_at), (Role::Member, admin, now + INVITE_LIFE));
}

#[test]
fn an_invitation_gives_only_a_role_that_its_giver_may_give() {
    let mut world = World::new();
    let (owner, admin) = (world.alice, world.admin("admin"));
    let with = |world: &World, role| Command::CreateInvite(CreateInvite { role: Some(role), ..invite(world, 1) });
    for (who, role) in [(admin, Role::Admin), (admin, Role::Owner), (owner, Role::Owner)] {
        assert_eq!(world.refused(who, with(&world, role)).text, "only the owner may give this role");
    }
    world.done(owner, with(&world, Role::Admin));
    let Reply::Registered { member, .. } = world.done(somebody(), join(1, "new")).reply else { panic!() };
    assert_eq!(member.role, Role::Admin);
}

#[test]
fn who_takes_an_invitation_up_has_an_account_and_is_in_every_open_channel() {
    let mut world = World::new();
    let alice = world.alice;
    let general = world.channel("general", &[alice]);
    let secret = world.private("secret", &[alice]);
    give(&mut world, alice, 1, &[]);
    let later = world.channel("later", &[alice]);
    let decision = world.done(somebody(), join(1, "bob"));
    let Reply::Registered { member, workspace } = decision.reply else { panic!() };
    assert_eq!((member.kind, member.role, member.created_by), (MemberKind::Human, Role::Member, Some(alice)));
    assert_eq!(workspace.id, world.workspace);
    let inside = |channel| world.state.membership(channel, member.id).is_some();
    assert!(inside(general) && inside(later) && !inside(secret));
}

#[test]
fn an_invitation_with_channels_leads_into_these_alone_if_they_are_still_there() {
    let mut world = World::new();
    let alice = world.alice;
    let (general, secret) = (world.channel("general", &[alice]), world.private("secret", &[alice]));
    let gone = world.channel("gone", &[alice]);
    give(&mut world, alice, 1, &[secret, gone]);
    world.done(alice, Command::DeleteChannel { channel: gone });
    let Reply::Registered { member, .. } = world.done(somebody(), join(1, "bob")).reply else { panic!() };
    let inside = |channel| world.state.membership(channel, member.id).is_some();
    assert!(inside(secret) && !inside(general));
}

#[test]
fn nobody_is_invited_into_a_channel_that_the_giver_cannot_open() {
    let mut world = World::new();
    let (alice, admin, bob) = (world.alice, world.admin("admin"), world.human("bob"));
    let secret = world.private("secret", &[alice]);
    let into =
        |world: &World, channel| Command::CreateInvite(CreateInvite { channels: vec![channel], ..invite(world, 1) });
    assert_eq!(world.refused(admin, into(&world, secret)), refusal::CHANNEL_NOT_FOUND);
    assert_eq!(world.refused(admin, into(&world, ChannelId::NONE)), refusal::CHANNEL_NOT_FOUND);
    let direct = world.direct(&[alice, bob]);
    assert_eq!(world.refused(alice, into(&world, direct)).code, Code::BadRequest);
    let many = Command::CreateInvite(CreateInvite { channels: vec![secret; 51], ..invite(&world, 1) });
    assert_eq!(world.refused(alice, many).code, Code::BadRequest);
}

#[test]
fn an_invitation_leads_into_no_channel_that_its_giver_has_left_since() {
    let mut world = World::new();
    let (alice, admin) = (world.alice, world.admin("admin"));
    let (secret, open) = (world.private("secret", &[alice, admin]), world.channel("open", &[alice]));
    give(&mut world, admin, 1, &[secret, open]);
    world.done(alice, Command::RemoveFromChannel { channel: secret, member: admin });
    let Reply::Registered { member, .. } = world.done(somebody(), join(1, "new")).reply else { panic!() };
    assert!(world.state.membership(secret, member.id).is_none(), "the giver is outside, and so is who it was given to");
    assert!(world.state.membership(open, member.id).is_some());
}

#[test]
fn an_invitation_is_good_for_one_account() {
    let mut world = World::new();
    let alice = world.alice;
    give(&mut world, alice, 1, &[]);
    world.done(somebody(), join(1, "bob"));
    assert_eq!(world.refused(somebody(), join(1, "carol")), refusal::INVITE_OVER);
    assert_eq!(world.refused(somebody(), join(2, "carol")), refusal::INVITE_OVER, "and an unknown code for none");
}

#[test]
fn an_invitation_ends_with_its_time_and_with_the_rights_of_who_gave_it() {
    let mut world = World::new();
    let (alice, admin, leaver) = (world.alice, world.admin("admin"), world.admin("leaver"));
    for (number, by) in [(1, alice), (2, admin), (3, leaver)] {
        give(&mut world, by, number, &[]);
    }
    let lower = UpdateMember { member: admin, role: Some(Role::Member), ..UpdateMember::default() };
    world.done(alice, Command::UpdateMember(lower));
    world.done(alice, Command::RemoveMember { member: leaver });
    for number in [2, 3] {
        assert_eq!(world.refused(somebody(), join(number, "bob")), refusal::INVITE_OVER);
    }
    world.later(INVITE_LIFE - 1);
    assert!(access::open_invite(&world.state, &key(1), world.now).is_ok());
    world.later(1);
    assert_eq!(world.refused(somebody(), join(1, "bob")), refusal::INVITE_OVER);
    let decision = world.done(alice, Command::CreateInvite(invite(&world, 4)));
    assert!(decision.events.iter().any(|event| matches!(event, Event::Removed(Record::Invite(_)))), "swept away");
}

#[test]
fn an_admin_takes_an_invitation_back() {
    let mut world = World::new();
    let (alice, member) = (world.alice, world.human("member"));
    let (_, stranger) = world.register("stranger");
    let given = give(&mut world, alice, 1, &[]);
    let revoke = Command::RevokeInvite { invite: given.id };
    assert_eq!(world.refused(member, revoke.clone()), refusal::ADMINS_ONLY);
    assert_eq!(world.refused(stranger, revoke.clone()), refusal::INVITE_NOT_FOUND, "another workspace's");
    world.done(alice, revoke.clone());
    assert_eq!(world.refused(alice, revoke), refusal::INVITE_NOT_FOUND);
    assert_eq!(world.refused(somebody(), join(1, "bob")), refusal::INVITE_OVER);
}

#[test]
fn a_refused_attempt_leaves_the_invitation_open() {
    let mut world = World::new();
    let alice = world.alice;
    give(&mut world, alice, 1, &[]);
    assert_eq!(world.refused(somebody(), join(1, "ALICE")), refusal::NAME_TAKEN);
    assert_eq!(world.refused(somebody(), join(1, " ")).code, Code::BadRequest);
    let taken = Join {
        code_hash: key(1),
        name: "bob".to_owned(),
        email: Some("alice@example.org".to_owned()),
        password_hash: "hash".to_owned(),
    };
    assert_eq!(world.refused(somebody(), Command::Join(taken)), refusal::EMAIL_EXISTS);
    world.done(somebody(), join(1, "bob"));
}

#[test]
fn the_first_account_from_elsewhere_needs_the_code_and_later_ones_do_not() {
    let mut world = World::empty();
    let register = |name: &str, standing| {
        Command::Register(Register {
            policy: Registration::Open,
            standing,
            email: format!("{name}@example.org"),
            name: name.to_owned(),
            workspace_name: None,
            password_hash: "hash".to_owned(),
        })
    };
    let refused: Refusal = world.refused(somebody(), register("alice", Standing::Unproven));
    assert_eq!(refused, refusal::SETUP_CODE_NEEDED);
    world.done(somebody(), register("alice", Standing::Proven));
    world.done(somebody(), register("bob", Standing::Unproven));
}
