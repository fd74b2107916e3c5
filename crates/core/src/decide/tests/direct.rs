//! Direct channels: one for exactly these members, found again, never grown.

use super::support::World;
use super::support::world::channel_of;
use crate::command::{Command, Reply};
use crate::ids::*;
use crate::model::*;
use crate::{Refusal, refusal};

fn open(world: &World, members: &[MemberId]) -> Command {
    Command::OpenDirect { workspace: world.workspace, members: members.to_vec() }
}

/// Three people and an agent.
fn people() -> (World, MemberId, MemberId, MemberId, MemberId) {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, carol, codebot) = (world.human("bob"), world.human("carol"), world.agent("codebot"));
    (world, alice, bob, carol, codebot)
}

#[test]
fn the_direct_channel_of_the_same_members_is_the_same_channel() {
    let (mut world, alice, bob, carol, codebot) = people();
    let decision = world.done(alice, open(&world, &[alice, bob]));
    let Reply::Channel { channel, created: true } = &decision.reply else { panic!("{:?}", decision.reply) };
    assert_eq!((channel.kind, channel.name.as_str()), (ChannelKind::Dm, "alice, bob"));
    for (who, members) in [(alice, vec![bob]), (bob, vec![alice]), (bob, vec![bob, alice, alice])] {
        let again = world.done(who, open(&world, &members));
        assert!(matches!(again.reply, Reply::Channel { created: false, .. }));
        assert_eq!(channel_of(&again), channel.id);
    }
    let group = world.done(codebot, open(&world, &[alice, carol]));
    assert!(matches!(&group.reply, Reply::Channel { channel, .. } if channel.kind == ChannelKind::GroupDm));
    assert_eq!(channel_of(&world.done(carol, open(&world, &[codebot, alice]))), channel_of(&group));
}

#[test]
fn a_group_does_not_take_the_place_of_the_direct_channel_of_some_of_its_members() {
    let (mut world, alice, bob, carol, _) = people();
    let dm = world.direct(&[alice, bob]);
    let group = world.direct(&[alice, bob, carol]);
    assert_eq!(world.direct(&[alice, bob]), dm);
    assert_eq!(world.direct(&[alice, bob, carol]), group);
    assert_eq!(world.ledger.load().direct_between(&sorted([alice, bob])).map(|room| room.channel.id), Some(dm));
}

#[test]
fn what_is_left_of_a_group_is_no_direct_channel_of_two() {
    let (mut world, alice, bob, carol, codebot) = people();
    let four = world.direct(&[alice, bob, carol, codebot]);
    let three = world.direct(&[alice, bob, carol]);
    world.done(codebot, Command::RemoveFromChannel { channel: four, member: codebot });
    assert_eq!(world.direct(&[alice, bob, carol]), four, "of two that fit, the older one");
    world.done(carol, Command::RemoveFromChannel { channel: four, member: carol });
    assert_eq!(world.direct(&[alice, bob, carol]), three);
    let dm = world.direct(&[alice, bob]);
    assert!(dm != four && world.state.channel(dm).unwrap().channel.kind == ChannelKind::Dm);
}

fn sorted<const N: usize>(mut members: [MemberId; N]) -> [MemberId; N] {
    members.sort_unstable();
    members
}

#[test]
fn it_takes_two_and_at_most_twenty_of_the_same_workspace() {
    let (mut world, alice, ..) = people();
    let alone = Refusal::bad_request("member_ids must name somebody besides yourself");
    assert_eq!(world.refused(alice, open(&world, &[])), alone);
    assert_eq!(world.refused(alice, open(&world, &[alice])), alone);
    let (_, stranger) = world.register("stranger");
    assert_eq!(world.refused(alice, open(&world, &[stranger])), refusal::MEMBER_NOT_FOUND);
    assert_eq!(world.refused(stranger, open(&world, &[alice])), refusal::WORKSPACE_NOT_FOUND);
    let many: Vec<_> = (0..20).map(|number| world.human(&format!("human{number}"))).collect();
    world.done(alice, open(&world, &many[..19]));
    let too_many = Refusal::bad_request("a direct channel has at most 20 members; make a private channel");
    assert_eq!(world.refused(alice, open(&world, &many)), too_many);
}

#[test]
fn direct_channels_are_opened_with_their_members_and_do_not_grow() {
    let (mut world, alice, bob, carol, _) = people();
    for kind in [ChannelKind::Dm, ChannelKind::GroupDm] {
        let create = Command::CreateChannel {
            workspace: Some(world.workspace),
            name: "dm".to_owned(),
            kind,
            topic: String::new(),
        };
        assert!(world.refused(alice, create).text.contains("direct channels are opened with their members"));
    }
    for members in [vec![alice, bob], vec![alice, bob, world.agent("third")]] {
        let channel = world.direct(&members);
        let refusal = world.refused(alice, Command::AddToChannel { channel, member: carol });
        assert_eq!(refusal, Refusal::bad_request("a direct channel belongs to exactly its members; open another one"));
    }
}

#[test]
fn nobody_leaves_a_direct_channel_of_two() {
    let (mut world, alice, bob, carol, _) = people();
    let dm = world.direct(&[alice, bob]);
    let group = world.direct(&[alice, bob, carol]);
    let leave = |channel| Command::RemoveFromChannel { channel, member: bob };
    let refusal = Refusal::bad_request("a direct channel belongs to exactly its two members");
    assert_eq!(world.refused(bob, leave(dm)), refusal);
    world.done(bob, leave(group));
}

#[test]
fn a_direct_channel_does_not_exist_for_others() {
    let (mut world, alice, bob, carol, _) = people();
    let dm = world.direct(&[bob, carol]);
    let rename = Command::UpdateChannel { channel: dm, name: Some("mine".to_owned()), topic: None, is_private: None };
    assert_eq!(world.refused(alice, rename.clone()), refusal::CHANNEL_NOT_FOUND, "not for the owner either");
    world.done(bob, rename);
}

#[test]
fn a_direct_channel_cannot_be_deleted_only_archived() {
    let (mut world, alice, bob, ..) = people();
    let dm = world.direct(&[alice, bob]);
    assert_eq!(world.refused(alice, Command::DeleteChannel { channel: dm }), refusal::DIRECT_STAYS);
    assert_eq!(world.refused(bob, Command::DeleteChannel { channel: dm }), refusal::ADMINS_ONLY);
    world.done(alice, Command::ArchiveChannel { channel: dm, archived: true });
}
