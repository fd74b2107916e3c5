//! People and agents in a workspace: adding, changing, removing them, and their secrets.

use super::support::World;
use super::support::world::{key, new_member};
use crate::command::*;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::record::Record;
use crate::refusal::{self, Code};

fn rename(member: MemberId, name: &str) -> Command {
    Command::UpdateMember(UpdateMember { member, name: Some(name.to_owned()), ..UpdateMember::default() })
}

fn change_role(member: MemberId, role: Role) -> Command {
    Command::UpdateMember(UpdateMember { member, role: Some(role), ..UpdateMember::default() })
}

struct Staff {
    world: World,
    owner: MemberId,
    admin: MemberId,
    other_admin: MemberId,
    member: MemberId,
    /// Made by the admin.
    agent: MemberId,
    stranger: MemberId,
}

fn staff() -> Staff {
    let mut world = World::new();
    let owner = world.alice;
    let (admin, other_admin, member) = (world.admin("admin"), world.admin("other"), world.human("member"));
    let agent = world.add(admin, MemberKind::Agent, "agent", None);
    let (_, stranger) = world.register("stranger");
    Staff { world, owner, admin, other_admin, member, agent, stranger }
}

#[test]
fn members_are_added_by_admins_of_the_workspace() {
    let Staff { mut world, admin, member, stranger, .. } = staff();
    let add = Command::AddMember(new_member(world.workspace, MemberKind::Human, "new"));
    assert_eq!(world.refused(member, add.clone()), refusal::ADMINS_ONLY);
    assert_eq!(world.refused(stranger, add.clone()), refusal::WORKSPACE_NOT_FOUND);
    let Reply::Member(added) = world.done(admin, add).reply else { panic!() };
    assert_eq!((added.role, added.created_by), (Role::Member, Some(admin)));
}

#[test]
fn the_owner_gives_roles_and_nobody_gives_ownership() {
    let Staff { mut world, owner, admin, member, .. } = staff();
    let add = |world: &World, role| {
        Command::AddMember(AddMember { role: Some(role), ..new_member(world.workspace, MemberKind::Human, "new") })
    };
    for (who, role) in [(admin, Role::Admin), (admin, Role::Owner), (owner, Role::Owner)] {
        let refusal = world.refused(who, add(&world, role));
        assert_eq!(refusal.text, "only the owner may give this role");
        assert_eq!(world.refused(who, change_role(member, role)).code, Code::Forbidden);
    }
    world.done(owner, add(&world, Role::Admin));
    world.done(owner, change_role(member, Role::Admin));
    world.done(owner, change_role(member, Role::Member));
    assert_eq!(world.refused(owner, change_role(owner, Role::Member)).code, Code::Forbidden, "it keeps its owner");
    assert_eq!(world.refused(member, change_role(member, Role::Admin)).code, Code::Forbidden);
}

#[test]
fn names_are_unique_in_a_workspace_whatever_their_case() {
    let Staff { mut world, owner, member, stranger, .. } = staff();
    for taken in ["member", "MEMBER", " Member "] {
        let add = new_member(world.workspace, MemberKind::Agent, taken);
        assert_eq!(world.refused(owner, Command::AddMember(add)), refusal::NAME_TAKEN, "{taken}");
        assert_eq!(world.refused(owner, rename(owner, taken)), refusal::NAME_TAKEN, "{taken}");
    }
    world.done(member, rename(member, "MEMBER"));
    world.add(stranger, MemberKind::Human, "member", None);
}

#[test]
fn a_name_can_be_mentioned_and_shown() {
    let Staff { mut world, owner, .. } = staff();
    for wrong in ["", "  ", "@bot", "#bot", "a\u{7}b", &"n".repeat(65)] {
        let add = new_member(world.workspace, MemberKind::Human, wrong);
        assert_eq!(world.refused(owner, Command::AddMember(add)).code, Code::BadRequest, "{wrong:?}");
    }
    world.human(&"n".repeat(64));
}

#[test]
fn nobody_looks_like_somebody_else_by_characters_that_cannot_be_seen() {
    let Staff { mut world, owner, member, .. } = staff();
    for name in
        ["member\u{200b}", "mem\u{200d}ber", "\u{202e}rebmem", "member\u{feff}", "mem\u{ad}ber", "member\u{e0041}"]
    {
        let refused = world.refused(owner, rename(member, name));
        assert_eq!(refused.text, "name may not contain invisible characters", "{name:?}");
    }
    for name in ["👩\u{200d}💻", "می\u{200c}خواهم", "❤\u{fe0f} bot", "Ünï"] {
        world.done(owner, rename(member, name));
    }
}

#[test]
fn a_nick_is_nobody_elses_name_or_nick() {
    let Staff { mut world, admin, member, .. } = staff();
    let nick = |member, nick: &str| {
        Command::UpdateMember(UpdateMember { member, nick: Some(nick.to_owned()), ..UpdateMember::default() })
    };
    world.done(admin, nick(admin, "Boss"));
    for taken in ["admin", "ADMIN", " boss "] {
        assert_eq!(world.refused(member, nick(member, taken)), refusal::NAME_TAKEN, "{taken:?}");
    }
    world.done(member, nick(member, "Member"));
    world.done(admin, nick(admin, "boss"));
    assert!(world.refused(member, nick(member, "bo\u{200b}ss")).text.contains("invisible"));
}

#[test]
fn a_freed_name_can_be_taken() {
    let Staff { mut world, owner, member, .. } = staff();
    world.done(member, rename(member, "renamed"));
    let successor = world.human("member");
    assert_eq!(world.state.member_named(world.workspace, "member").map(|member| member.id), Some(successor));
    world.done(owner, Command::RemoveMember { member: successor });
    assert!(world.state.member_named(world.workspace, "member").is_none());
    world.human("member");
}

#[test]
fn members_are_changed_by_themselves_by_who_answers_for_them_and_by_admins_above_them() {
    let Staff { mut world, owner, admin, other_admin, member, agent, stranger } = staff();
    let may = [
        (member, member),
        (admin, member),
        (owner, member),
        (admin, agent),
        (other_admin, agent),
        (agent, agent),
        (owner, admin),
        (admin, admin),
    ];
    for (who, whom) in may {
        world.done(who, rename(whom, &format!("{}x", world.state.name_of(whom))));
    }
    for (who, whom) in [(member, agent), (member, admin), (admin, other_admin), (admin, owner), (agent, member)] {
        assert_eq!(world.refused(who, rename(whom, "x")), refusal::ADMINS_ONLY);
    }
    assert_eq!(world.refused(stranger, rename(member, "x")), refusal::MEMBER_NOT_FOUND);
}

#[test]
fn a_member_answers_for_the_agents_it_made() {
    let Staff { mut world, owner, admin, agent, .. } = staff();
    world.done(owner, change_role(admin, Role::Member));
    world.done(admin, rename(agent, "renamed"));
    world.done(admin, Command::ReplaceKey { member: agent, key_hash: key(1) });
    world.done(admin, Command::RemoveMember { member: agent });
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let Staff { mut world, owner, member, .. } = staff();
    let update = UpdateMember {
        member,
        email: Some("m@example.org".to_owned()),
        nick: Some("Emm".to_owned()),
        avatar: Some(FileId(7)),
        role_card: Some(RoleCard { system_prompt: "kind".to_owned(), capabilities: Vec::new() }),
        ..UpdateMember::default()
    };
    world.done(member, Command::UpdateMember(update));
    world.done(member, rename(member, "emma"));
    let after = world.state.member(member).unwrap();
    assert_eq!((after.name.as_str(), after.nick.as_deref()), ("emma", Some("Emm")));
    assert_eq!((after.avatar, after.role), (Some(FileId(7)), Role::Member));
    assert_eq!(after.role_card.as_ref().map(|card| card.system_prompt.as_str()), Some("kind"));
    assert_eq!(world.state.member_by_email("M@Example.org").map(|found| found.id), Some(member));
    let no_nick = UpdateMember { member, nick: Some(" ".to_owned()), ..UpdateMember::default() };
    world.done(member, Command::UpdateMember(no_nick));
    assert_eq!(world.state.member(member).unwrap().nick, None);
    let theirs = UpdateMember { member: owner, email: Some("m@example.org".to_owned()), ..UpdateMember::default() };
    assert_eq!(world.refused(owner, Command::UpdateMember(theirs)), refusal::EMAIL_EXISTS);
}

#[test]
fn members_are_removed_by_admins_above_them_and_the_owner_by_nobody() {
    let Staff { mut world, owner, admin, other_admin, member, agent, stranger } = staff();
    let remove = |member| Command::RemoveMember { member };
    for (who, whom) in [(admin, other_admin), (member, agent), (member, member), (agent, member)] {
        assert_eq!(world.refused(who, remove(whom)), refusal::ADMINS_ONLY);
    }
    for who in [owner, admin] {
        assert_eq!(world.refused(who, remove(owner)).text, "the owner cannot be removed");
    }
    assert_eq!(world.refused(stranger, remove(member)), refusal::MEMBER_NOT_FOUND);
    world.done(admin, remove(member));
    world.done(owner, remove(other_admin));
    assert_eq!(world.refused(owner, remove(member)), refusal::MEMBER_NOT_FOUND);
}

#[test]
fn a_removed_member_leaves_every_channel_and_keeps_only_the_name_on_what_it_said() {
    let Staff { mut world, owner, member, .. } = staff();
    let general = world.channel("general", &[owner, member]);
    let closed = world.private("closed", &[member]);
    world.say(member, general, "remember me");
    world.done(member, Command::ReplaceKey { member, key_hash: key(1) });
    let email = || Some("m@example.org".to_owned());
    world.done(member, Command::UpdateMember(UpdateMember { member, email: email(), ..UpdateMember::default() }));
    let decision = world.done(owner, Command::RemoveMember { member });
    assert_eq!(decision.events.iter().filter(|event| matches!(event, Event::Left(_))).count(), 2);
    assert!(world.state.member(member).is_none() && world.state.member_by_key(&key(1)).is_none());
    assert_eq!(world.state.name_of(member), "member");
    assert!(world.state.membership(closed, member).is_none());
    let Some(Event::Saved(Record::Member(gone))) = decision.events.last() else { panic!("{decision:?}") };
    assert!(gone.removed && gone.email.is_none() && gone.secrets.key_hash.is_none());
    assert_eq!(gone.secrets.valid_after, world.now);
    let successor = UpdateMember { member: owner, email: email(), ..UpdateMember::default() };
    world.done(owner, Command::UpdateMember(successor));
}

#[test]
fn a_new_key_replaces_the_old_one() {
    let Staff { mut world, owner, admin, member, agent, stranger, .. } = staff();
    let replace = |member, number| Command::ReplaceKey { member, key_hash: key(number) };
    world.done(agent, replace(agent, 1));
    world.done(admin, replace(agent, 2));
    assert!(world.state.member_by_key(&key(1)).is_none());
    assert_eq!(world.state.member_by_key(&key(2)).map(|found| found.id), Some(agent));
    assert_eq!(world.refused(member, replace(agent, 3)), refusal::ADMINS_ONLY);
    assert_eq!(world.refused(admin, replace(member, 3)), refusal::KEY_OF_A_PERSON, "an admin is not its people");
    assert_eq!(world.refused(stranger, replace(agent, 3)), refusal::MEMBER_NOT_FOUND);
    let boss = world.agent("boss");
    let promote = UpdateMember { member: boss, role: Some(Role::Admin), ..UpdateMember::default() };
    world.done(owner, Command::UpdateMember(promote));
    assert_eq!(world.refused(boss, replace(agent, 3)), refusal::ADMINS_ONLY, "no agent gets another's key");
}

#[test]
fn a_changed_password_ends_the_sessions_before_it() {
    let Staff { mut world, member, .. } = staff();
    world.later(5);
    world.done(member, Command::ChangePassword { password_hash: "new".to_owned(), keep: Vec::new() });
    let secrets = &world.state.member(member).unwrap().secrets;
    assert_eq!((secrets.password_hash.as_deref(), secrets.valid_after), (Some("new"), world.now));
    let nobody = crate::Actor::nobody(Door::Rest);
    let change = Command::ChangePassword { password_hash: "x".to_owned(), keep: Vec::new() };
    assert_eq!(world.refused(nobody, change), refusal::NOT_AUTHENTICATED);
}
