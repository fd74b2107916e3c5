//! Whom a message wants: the notifications it makes, for people and agents alike.

use super::support::World;
use super::support::world::{notifications, reply, say};
use crate::command::Command;
use crate::decide::Decision;
use crate::ids::*;
use crate::model::*;

struct Room {
    world: World,
    alice: MemberId,
    bob: MemberId,
    general: ChannelId,
}

fn room() -> Room {
    let mut world = World::new();
    let alice = world.alice;
    let bob = world.human("bob");
    let general = world.channel("general", &[alice, bob]);
    Room { world, alice, bob, general }
}

fn kinds(decision: &Decision) -> Vec<(MemberId, String)> {
    notifications(decision).iter().map(|notification| (notification.member, notification.kind.clone())).collect()
}

fn prefer(world: &mut World, member: MemberId, channel: ChannelId, notify: NotifyPreference) {
    world.done(member, Command::SetNotifyPreference { channel, notify });
}

#[test]
fn a_mention_notifies_with_the_documents_words() {
    let Room { mut world, alice, bob, general } = room();
    let decision = world.done(alice, say(general, "Hey @bob, check this out"));
    let [notification] = notifications(&decision)[..] else { panic!("{decision:?}") };
    assert_eq!((notification.member, notification.kind.as_str()), (bob, "mention"));
    assert_eq!(notification.title, "You were mentioned");
    assert_eq!(notification.body, "Hey @bob, check this out");
    assert_eq!(notification.channel, Some(general));
    assert!(notification.message.is_some() && !notification.is_read && notification.acked_at.is_none());
    assert_eq!((notification.source_type.as_str(), notification.priority.as_str()), ("mention", "normal"));
}

#[test]
fn a_long_message_is_shortened_in_the_notification() {
    let Room { mut world, alice, general, .. } = room();
    let decision = world.done(alice, say(general, &format!("@bob {}", "ü".repeat(400))));
    assert_eq!(notifications(&decision)[0].body.chars().count(), 200);
}

#[test]
fn plain_talk_in_a_channel_notifies_nobody() {
    let Room { mut world, alice, general, .. } = room();
    for text in ["hello", "bob", "mail bob@example.org", "@nobody", "@"] {
        assert!(notifications(&world.done(alice, say(general, text))).is_empty(), "{text}");
    }
}

#[test]
fn names_are_found_whatever_their_case() {
    let Room { mut world, alice, bob, general } = room();
    assert_eq!(kinds(&world.done(alice, say(general, "@BOB!"))), [(bob, "mention".to_owned())]);
}

#[test]
fn nobody_notifies_himself() {
    let Room { mut world, alice, bob, general } = room();
    let decision = world.done(alice, say(general, "@alice and @bob"));
    assert_eq!(kinds(&decision), [(bob, "mention".to_owned())]);
    let mine = world.say(alice, general, "thoughts?");
    assert!(notifications(&world.done(alice, reply(&mine, "my own"))).is_empty());
}

#[test]
fn a_direct_message_notifies_everybody_else_in_the_channel() {
    let Room { mut world, alice, bob, .. } = room();
    let carol = world.human("carol");
    let dm = world.direct(&[alice, bob]);
    let decision = world.done(alice, say(dm, "psst"));
    assert_eq!(kinds(&decision), [(bob, "dm".to_owned())]);
    assert_eq!(notifications(&decision)[0].title, "New message from alice");
    let group = world.direct(&[alice, bob, carol]);
    let decision = world.done(bob, say(group, "all of us"));
    assert_eq!(kinds(&decision), [(alice, "dm".to_owned()), (carol, "dm".to_owned())]);
}

#[test]
fn a_reply_notifies_who_began_the_thread() {
    let Room { mut world, alice, bob, general } = room();
    let carol = world.human("carol");
    world.done(alice, Command::AddToChannel { channel: general, member: carol });
    let root = world.say(bob, general, "ideas?");
    let first = world.done(alice, reply(&root, "one"));
    assert_eq!(kinds(&first), [(bob, "thread_reply".to_owned())]);
    assert_eq!(notifications(&first)[0].title, "alice replied in your thread");
    let second = world.done(carol, reply(&root, "another"));
    assert_eq!(kinds(&second), [(bob, "thread_reply".to_owned())], "not the others who replied");
}

#[test]
fn one_message_notifies_a_member_once_for_the_strongest_reason() {
    let Room { mut world, alice, bob, .. } = room();
    let dm = world.direct(&[alice, bob]);
    let root = world.say(bob, dm, "well?");
    let all_three = world.done(alice, reply(&root, "@bob @bob well"));
    assert_eq!(kinds(&all_three), [(bob, "mention".to_owned())]);
    let two = world.done(alice, reply(&root, "well"));
    assert_eq!(kinds(&two), [(bob, "dm".to_owned())]);
}

#[test]
fn only_members_of_the_channel_are_wanted() {
    let Room { mut world, alice, bob, general } = room();
    let carol = world.human("carol");
    assert!(notifications(&world.done(alice, say(general, "@carol where are you?"))).is_empty());
    world.done(alice, Command::AddToChannel { channel: general, member: carol });
    assert_eq!(kinds(&world.done(alice, say(general, "@carol hello"))), [(carol, "mention".to_owned())]);
    let root = world.say(bob, general, "mine");
    world.done(alice, Command::RemoveFromChannel { channel: general, member: bob });
    assert!(notifications(&world.done(alice, reply(&root, "too late"))).is_empty());
}

#[test]
fn a_name_of_another_workspace_is_not_meant() {
    let Room { mut world, alice, general, .. } = room();
    let (_, stranger) = world.register("stranger");
    assert!(notifications(&world.done(alice, say(general, "@stranger hello"))).is_empty());
    let theirs = world.channel("theirs", &[stranger]);
    assert!(notifications(&world.done(stranger, say(theirs, "@alice @bob"))).is_empty());
}

#[test]
fn who_wants_mentions_only_hears_of_mentions_only() {
    let Room { mut world, alice, bob, general } = room();
    let root = world.say(bob, general, "mine");
    prefer(&mut world, bob, general, NotifyPreference::Mentions);
    assert!(notifications(&world.done(alice, reply(&root, "a reply"))).is_empty());
    assert_eq!(kinds(&world.done(alice, reply(&root, "@bob a reply"))), [(bob, "mention".to_owned())]);
}

#[test]
fn who_wants_nothing_hears_of_nothing() {
    let Room { mut world, alice, bob, general } = room();
    let dm = world.direct(&[alice, bob]);
    for (channel, quiet) in [(general, "@bob"), (dm, "psst")] {
        assert_eq!(notifications(&world.done(alice, say(channel, quiet))).len(), 1);
        prefer(&mut world, bob, channel, NotifyPreference::None);
        assert!(notifications(&world.done(alice, say(channel, quiet))).is_empty());
        prefer(&mut world, bob, channel, NotifyPreference::All);
        assert_eq!(notifications(&world.done(alice, say(channel, quiet))).len(), 1);
    }
}

#[test]
fn an_edit_notifies_nobody() {
    let Room { mut world, alice, general, .. } = room();
    let message = world.say(alice, general, "hello");
    let edit = Command::EditMessage { message: message.id, content: "hello @bob".to_owned() };
    assert!(notifications(&world.done(alice, edit)).is_empty());
}

#[test]
fn who_is_offline_finds_the_notification_stored() {
    let Room { mut world, alice, bob, general } = room();
    let decision = world.done(alice, say(general, "@bob later"));
    let id = notifications(&decision)[0].id;
    assert_eq!(world.presence(bob), Presence::Offline);
    let stored = crate::lookup::LookupExt::get::<Notification>(&world.ledger, id).unwrap();
    assert_eq!(stored.map(|notification| notification.member), Some(bob));
}
