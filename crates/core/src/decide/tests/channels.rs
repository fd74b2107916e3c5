//! Channels: making, finding, changing them, who is in them, and how far each has read.

use super::support::World;
use super::support::world::say;
use crate::command::{Command, Reply};
use crate::event::{Audience, Event};
use crate::ids::*;
use crate::model::*;
use crate::record::Record;
use crate::refusal::{self, Code};
use crate::{Refusal, access};

fn create(world: &World, name: &str, kind: ChannelKind) -> Command {
    Command::CreateChannel { workspace: Some(world.workspace), name: name.to_owned(), kind, topic: "talk".to_owned() }
}

fn rename(channel: ChannelId, name: &str) -> Command {
    Command::UpdateChannel { channel, name: Some(name.to_owned()), topic: None, is_private: None }
}

fn close(channel: ChannelId, is_private: bool) -> Command {
    Command::UpdateChannel { channel, name: None, topic: None, is_private: Some(is_private) }
}

fn add(channel: ChannelId, member: MemberId) -> Command {
    Command::AddToChannel { channel, member }
}

fn remove(channel: ChannelId, member: MemberId) -> Command {
    Command::RemoveFromChannel { channel, member }
}

#[test]
fn who_makes_a_channel_is_in_it() {
    let mut world = World::new();
    let bob = world.human("bob");
    let decision = world.done(bob, create(&world, "#general ", ChannelKind::Channel));
    let Reply::Channel { channel, created: true } = decision.reply else { panic!("{:?}", decision.reply) };
    assert_eq!((channel.name.as_str(), channel.topic.as_str(), channel.created_by), ("general", "talk", bob));
    world.say(bob, channel.id, "first");
}

#[test]
fn channels_are_made_by_members_of_the_workspace_for_it() {
    let mut world = World::new();
    let (_, stranger) = world.register("stranger");
    let command = create(&world, "general", ChannelKind::Channel);
    assert_eq!(world.refused(stranger, command.clone()), refusal::WORKSPACE_NOT_FOUND);
    world.done(world.alice, command);
}

#[test]
fn names_of_channels_do_not_differ_by_case() {
    let mut world = World::new();
    let alice = world.alice;
    let general = world.channel("General", &[alice]);
    let other = world.channel("other", &[alice]);
    let taken = Refusal::conflict("a channel named `General` exists");
    assert_eq!(world.refused(alice, create(&world, "gEnErAl", ChannelKind::Private)), taken);
    assert_eq!(world.refused(alice, rename(other, "gEnErAl")), taken);
    world.done(alice, rename(general, "gEnErAl"));
    let (workspace, stranger) = world.register("stranger");
    let theirs = Command::CreateChannel {
        workspace: Some(workspace),
        name: "general".to_owned(),
        kind: ChannelKind::Channel,
        topic: String::new(),
    };
    world.done(stranger, theirs);
}

#[test]
fn names_and_topics_are_short_texts() {
    let mut world = World::new();
    let alice = world.alice;
    for wrong in ["", "  ", "#", "a\nb", &"x".repeat(81)] {
        assert_eq!(world.refused(alice, create(&world, wrong, ChannelKind::Channel)).code, Code::BadRequest, "{wrong}");
    }
    let channel = world.channel(&"x".repeat(80), &[alice]);
    let topic = |length: usize| {
        let topic = Some("t".repeat(length));
        Command::UpdateChannel { channel, name: None, topic, is_private: None }
    };
    world.done(alice, topic(1000));
    assert_eq!(world.refused(alice, topic(1001)), Refusal::bad_request("topic is too long (max 1000 characters)"));
}

#[test]
fn a_channel_is_managed_by_its_creator_and_by_admins() {
    let mut world = World::new();
    let (creator, member, admin) = (world.human("creator"), world.human("member"), world.admin("admin"));
    let channel = world.channel("general", &[creator, member]);
    let manage = || [rename(channel, "renamed"), Command::ArchiveChannel { channel, archived: false }];
    for command in manage() {
        assert_eq!(world.refused(member, command), refusal::ADMINS_ONLY);
    }
    assert_eq!(world.refused(member, Command::DeleteChannel { channel }), refusal::ADMINS_ONLY);
    for who in [creator, admin, world.alice] {
        for command in manage() {
            world.done(who, command);
        }
    }
    world.done(admin, Command::DeleteChannel { channel });
}

#[test]
fn who_manages_a_channel_closes_it_and_opens_it_again() {
    let mut world = World::new();
    let (creator, member, outsider) = (world.human("creator"), world.human("member"), world.human("outsider"));
    let channel = world.channel("general", &[creator, member]);
    assert_eq!(world.refused(member, close(channel, true)), refusal::ADMINS_ONLY);
    assert_eq!(world.refused(world.alice, close(channel, true)), refusal::NOT_CHANNEL_MEMBER, "she would lose it");
    world.done(creator, close(channel, true));
    assert_eq!(world.state.channel(channel).unwrap().channel.kind, ChannelKind::Private);
    assert_eq!(world.refused(outsider, add(channel, outsider)), refusal::CHANNEL_NOT_FOUND);
    assert_eq!(world.refused(world.alice, close(channel, false)), refusal::CHANNEL_NOT_FOUND);
    world.say(member, channel, "among us");
    world.done(creator, close(channel, false));
    world.done(outsider, add(channel, outsider));
}

#[test]
fn a_direct_channel_is_neither_opened_nor_closed() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let dm = world.direct(&[alice, bob]);
    for is_private in [true, false] {
        assert_eq!(world.refused(alice, close(dm, is_private)).code, Code::BadRequest);
    }
}

#[test]
fn a_private_channel_does_not_exist_for_who_is_not_in_it_admins_included() {
    let mut world = World::new();
    let (bob, admin) = (world.human("bob"), world.admin("admin"));
    let channel = world.private("back", &[bob]);
    for command in [rename(channel, "mine"), Command::DeleteChannel { channel }, add(channel, admin)] {
        assert_eq!(world.refused(admin, command), refusal::CHANNEL_NOT_FOUND);
    }
    assert_eq!(world.refused(admin, Command::Subscribe { channel }), refusal::NOT_CHANNEL_MEMBER);
    world.done(bob, add(channel, admin));
    world.done(admin, rename(channel, "ours"));
}

#[test]
fn what_happens_to_a_private_channel_is_told_inside_and_to_an_open_one_in_the_workspace() {
    let mut world = World::new();
    let alice = world.alice;
    let (open, closed) = (world.channel("open", &[alice]), world.private("closed", &[alice]));
    let audience = |world: &mut World, channel| {
        let decision = world.done(alice, rename(channel, "renamed"));
        let audience = decision.events[0].audience(&world.state);
        world.done(alice, rename(channel, "back"));
        audience
    };
    assert_eq!(audience(&mut world, open), Audience::Workspace(world.workspace));
    world.done(alice, rename(open, "open"));
    assert_eq!(audience(&mut world, closed), Audience::Channel(closed));
}

#[test]
fn only_members_subscribe() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let general = world.channel("general", &[alice]);
    let subscribe = || Command::Subscribe { channel: general };
    assert!(matches!(world.done(alice, subscribe()).reply, Reply::Subscribed(channel) if channel == general));
    assert_eq!(world.refused(bob, subscribe()), refusal::NOT_CHANNEL_MEMBER);
}

#[test]
fn anybody_in_the_workspace_joins_an_open_channel_by_itself() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let (open, closed) = (world.channel("open", &[alice]), world.private("closed", &[alice]));
    let decision = world.done(bob, add(open, bob));
    assert!(matches!(&decision.events[..], [Event::Joined(membership)] if membership.member == bob));
    assert_eq!(world.refused(bob, add(closed, bob)), refusal::CHANNEL_NOT_FOUND);
    let again = world.done(bob, add(open, bob));
    assert!(again.events.is_empty() && matches!(again.reply, Reply::Channel { created: false, .. }));
}

#[test]
fn others_are_added_by_members_of_the_channel_and_by_admins() {
    let mut world = World::new();
    let (inside, outside, new) = (world.human("inside"), world.human("outside"), world.human("new"));
    let channel = world.channel("general", &[inside]);
    assert_eq!(world.refused(outside, add(channel, new)), refusal::NOT_CHANNEL_MEMBER);
    world.done(inside, add(channel, new));
    world.done(world.alice, add(channel, outside));
    let (_, stranger) = world.register("stranger");
    assert_eq!(world.refused(inside, add(channel, stranger)), refusal::MEMBER_NOT_FOUND);
    assert_eq!(world.refused(inside, add(ChannelId::NONE, new)), refusal::CHANNEL_NOT_FOUND);
}

#[test]
fn a_newcomer_has_nothing_unread() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let channel = world.channel("general", &[alice]);
    world.say(alice, channel, "before");
    world.done(bob, add(channel, bob));
    assert_eq!(world.state.unread(channel, bob), 0);
    world.say(alice, channel, "after");
    assert_eq!(world.state.unread(channel, bob), 1);
}

#[test]
fn one_leaves_by_oneself_and_is_removed_by_who_manages_the_channel() {
    let mut world = World::new();
    let (creator, bob, carol) = (world.human("creator"), world.human("bob"), world.human("carol"));
    let channel = world.channel("general", &[creator, bob, carol]);
    assert_eq!(world.refused(bob, remove(channel, carol)), refusal::ADMINS_ONLY);
    let decision = world.done(creator, remove(channel, carol));
    assert!(matches!(&decision.events[..], [Event::Left(membership)] if membership.member == carol));
    assert_eq!(world.refused(carol, say(channel, "hello?")), refusal::NOT_CHANNEL_MEMBER);
    world.done(bob, remove(channel, bob));
    assert_eq!(world.refused(bob, remove(channel, bob)), refusal::NOT_CHANNEL_MEMBER);
    assert_eq!(world.refused(creator, remove(channel, carol)), refusal::MEMBER_NOT_FOUND);
}

#[test]
fn a_deleted_channel_takes_its_people_messages_and_webhooks_with_it() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let channel = world.channel("general", &[alice, bob]);
    world.say(bob, channel, "soon gone");
    let secret_hash = super::support::world::key(1);
    world.done(alice, Command::CreateWebhook { channel, name: "ci".to_owned(), secret_hash });
    let decision = world.done(alice, Command::DeleteChannel { channel });
    let told = decision.events.iter().position(|event| matches!(event, Event::Removed(Record::Channel(_)))).unwrap();
    let left = decision.events.iter().position(|event| matches!(event, Event::Left(_))).unwrap();
    assert!(told < left, "its end is told while its people are still in it");
    assert!(world.state.channel(channel).is_none());
    assert_eq!(world.ledger.all_messages().count(), 0);
    assert_eq!(world.state.webhooks_in(world.workspace).count(), 0);
    assert_eq!(world.state.channels_of(bob).count(), 0);
    assert_eq!(world.refused(bob, say(channel, "hello?")), refusal::NOT_CHANNEL_MEMBER);
}

#[test]
fn reading_moves_the_position_forward_and_back() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let channel = world.channel("general", &[alice, bob]);
    let first = world.say(alice, channel, "one");
    world.done(alice, Command::EditMessage { message: first.id, content: "One".to_owned() });
    world.say(alice, channel, "two");
    let read = |seq| Command::MarkRead { channel, seq };
    assert_eq!(world.state.unread(channel, bob), 2);
    for (seq, unread) in [(Some(1), 1), (Some(2), 1), (Some(3), 0), (Some(0), 2), (Some(u64::MAX), 0), (None, 0)] {
        world.done(bob, read(seq));
        assert_eq!(world.state.unread(channel, bob), unread, "{seq:?}");
    }
    assert!(world.done(bob, read(None)).events.is_empty(), "nothing moved");
    let carol = world.human("carol");
    assert_eq!(world.refused(carol, read(None)), refusal::NOT_CHANNEL_MEMBER);
}

#[test]
fn whoever_speaks_has_read_what_came_before_and_the_store_hears_of_it_in_time() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let channel = world.channel("general", &[alice, bob]);
    world.say(alice, channel, "question");
    world.say(bob, channel, "answer");
    assert_eq!((world.state.unread(channel, bob), world.state.unread(channel, alice)), (0, 1));
    assert!(world.state.has_moved_reads());
    let moved: Vec<_> = world.state.take_moved_reads().iter().map(|it| (it.member, it.read.version)).collect();
    assert_eq!(moved, [(alice, 1), (bob, 2)]);
    assert!(!world.state.has_moved_reads());
}

#[test]
fn a_preference_is_ones_own_and_told_to_oneself_only() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let channel = world.channel("general", &[alice]);
    let quiet = || Command::SetNotifyPreference { channel, notify: NotifyPreference::None };
    let decision = world.done(alice, quiet());
    assert_eq!(decision.events[0].audience(&world.state), Audience::Member(alice));
    assert_eq!(world.state.membership(channel, alice).unwrap().notify, NotifyPreference::None);
    assert_eq!(world.refused(bob, quiet()), refusal::NOT_CHANNEL_MEMBER);
}

#[test]
fn readers_see_the_channels_they_are_in_and_the_open_ones() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let (open, closed) = (world.channel("open", &[alice]), world.private("closed", &[alice]));
    let (_, stranger) = world.register("stranger");
    let sees =
        |member, channel| access::room_to_read(&world.state, crate::Actor::new(member, Door::Rest), channel).is_ok();
    assert_eq!([sees(alice, open), sees(alice, closed)], [true, true]);
    assert_eq!([sees(bob, open), sees(bob, closed)], [true, false]);
    assert_eq!([sees(stranger, open), sees(stranger, closed)], [false, false]);
}
