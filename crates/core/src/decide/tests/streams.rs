//! Live messages: one per sender and channel, stored once, never half.

use std::sync::Arc;

use super::support::World;
use super::support::world::{message_of, notifications, say, wakes};
use crate::command::{Command, Reply, Send, Stage};
use crate::decide::{GIVEN_UP_AFTER_MS, is_given_up};
use crate::event::{Audience, Event};
use crate::ids::*;
use crate::model::*;
use crate::{Actor, Decision, refusal};

struct Room {
    world: World,
    alice: MemberId,
    bot: MemberId,
    general: ChannelId,
}

fn room() -> Room {
    let mut world = World::new();
    let alice = world.alice;
    let bot = world.agent("bot");
    let general = world.channel("general", &[alice, bot]);
    world.connect(bot);
    world.connect(alice);
    Room { world, alice, bot, general }
}

fn at(stage: Stage, channel: ChannelId, text: &str) -> Command {
    Command::Send(Send { channel, content: text.to_owned(), stage, ..Send::default() })
}

fn partial(channel: ChannelId, text: &str) -> Command {
    at(Stage::Partial, channel, text)
}

fn last(channel: ChannelId, text: &str) -> Command {
    at(Stage::Final, channel, text)
}

fn end(sender: MemberId, channel: ChannelId) -> Command {
    Command::EndStream { sender, channel }
}

fn given_up(world: &World, sender: MemberId, channel: ChannelId) -> bool {
    is_given_up(&world.state, world.state.stream(sender, channel).unwrap(), world.now)
}

fn hub() -> Actor {
    Actor::hub(Door::Rest)
}

#[track_caller]
fn stream_of(decision: &Decision) -> Arc<Stream> {
    let Reply::Streamed(stream) = &decision.reply else { panic!("no stream in {:?}", decision.reply) };
    Arc::clone(stream)
}

/// Whether the stream ended, and how.
fn ended(decision: &Decision) -> Option<bool> {
    decision.events.iter().find_map(|event| match event {
        Event::StreamEnded { said, .. } => Some(*said),
        _ => None,
    })
}

#[test]
fn partial_texts_of_one_sender_in_one_channel_are_one_live_message() {
    let Room { mut world, bot, general, .. } = room();
    let first = stream_of(&world.done(bot, partial(general, "Work")));
    let second = stream_of(&world.done(bot, partial(general, "Working")));
    assert_eq!((first.message, first.draft, first.texts), (second.message, second.draft, 1));
    assert_eq!((second.content.as_str(), second.texts), ("Working", 2));
    let done = world.done(bot, last(general, "Working... done"));
    let message = message_of(&done);
    assert_eq!((message.id, message.content.as_str()), (first.message, "Working... done"));
    assert!(matches!(done.events[..], [Event::StreamEnded { said: true, .. }, Event::MessageSent(_)]));
    assert_eq!(done.told_before_reply, 2);
    let stored: Vec<_> = world.ledger.all_messages().map(|message| message.content.as_str()).collect();
    assert_eq!(stored, ["Working... done"]);
}

#[test]
fn after_the_final_text_the_next_partial_begins_another_message() {
    let Room { mut world, bot, general, .. } = room();
    let first = stream_of(&world.done(bot, partial(general, "one")));
    world.done(bot, last(general, "one"));
    let second = stream_of(&world.done(bot, partial(general, "two")));
    assert_ne!(first.message, second.message);
}

#[test]
fn streams_of_different_senders_and_channels_are_different() {
    let Room { mut world, alice, bot, general } = room();
    let other = world.channel("other", &[alice, bot]);
    let streams = [(alice, general), (bot, general), (bot, other)];
    let mut ids: Vec<_> =
        streams.iter().map(|(who, channel)| stream_of(&world.done(*who, partial(*channel, "x"))).message).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn nothing_of_a_partial_is_stored_and_everybody_in_the_channel_hears_it() {
    let Room { mut world, bot, general, .. } = room();
    let decision = world.done(bot, partial(general, "Work"));
    let [event] = &decision.events[..] else { panic!("{:?}", decision.events) };
    assert!(!event.is_stored() && event.is_passing());
    assert_eq!(event.audience(&world.state), Audience::Channel(general));
    assert_eq!(world.state.channel(general).unwrap().head, Head::default());
}

#[test]
fn only_the_final_text_mentions_and_wakes() {
    let Room { mut world, alice, bot, general } = room();
    let decision = world.done(alice, partial(general, "hey @bot"));
    assert!(wakes(&decision).is_empty() && notifications(&decision).is_empty());
    let decision = world.woken_by(alice, last(general, "hey @bot!"));
    assert_eq!(wakes(&decision).iter().map(|wake| wake.agent).collect::<Vec<_>>(), [bot]);
}

#[test]
fn a_whole_message_of_the_same_sender_leaves_the_stream_alone() {
    let Room { mut world, alice, general, .. } = room();
    let live = stream_of(&world.done(alice, partial(general, "long story"))).message;
    let aside = world.say(alice, general, "by the way");
    assert_ne!(aside.id, live);
    assert_eq!(message_of(&world.done(alice, last(general, "long story, told"))).id, live);
}

#[test]
fn partial_texts_meet_the_rules_of_messages() {
    let Room { mut world, bot, general, .. } = room();
    let carol = world.human("carol");
    assert_eq!(world.refused(carol, partial(general, "hi")), refusal::NOT_CHANNEL_MEMBER);
    assert_eq!(world.refused(bot, partial(general, "  ")), refusal::CONTENT_REQUIRED);
    assert_eq!(world.refused(bot, partial(general, &"x".repeat(10_001))), refusal::CONTENT_TOO_LONG);
    world.done(bot, partial(general, &"x".repeat(10_000)));
}

#[test]
fn a_stream_without_a_new_text_for_60_s_is_finished_with_its_last_text() {
    let Room { mut world, bot, general, .. } = room();
    world.done(bot, partial(general, "Let me"));
    world.later(GIVEN_UP_AFTER_MS - 1);
    assert!(!given_up(&world, bot, general), "not yet");
    let live = stream_of(&world.done(bot, partial(general, "Let me see"))).message;
    world.later(GIVEN_UP_AFTER_MS - 1);
    assert!(!given_up(&world, bot, general), "the newest text counts");
    world.later(1);
    assert!(given_up(&world, bot, general));
    let message = message_of(&world.done(hub(), end(bot, general)));
    assert_eq!((message.id, message.sender, message.content.as_str()), (live, bot, "Let me see"));
    assert!(world.state.stream(bot, general).is_none());
    assert!(world.done(hub(), end(bot, general)).events.is_empty(), "once");
}

#[test]
fn a_stream_whose_sender_is_gone_is_finished_after_5_s_unless_it_comes_back() {
    let Room { mut world, bot, general, .. } = room();
    let connection = world.state.connections_of(bot)[0];
    world.done(bot, partial(general, "Let me"));
    world.disconnect(bot, connection);
    world.later(4_999);
    assert!(!given_up(&world, bot, general), "it may come back");
    let back = world.connect(bot);
    world.later(1);
    assert!(!given_up(&world, bot, general), "it is back");
    world.disconnect(bot, back);
    assert!(given_up(&world, bot, general));
    assert_eq!(ended(&world.done(hub(), end(bot, general))), Some(true));
}

#[test]
fn nobody_but_the_hub_finishes_a_stream_for_its_sender() {
    let Room { mut world, alice, bot, general } = room();
    world.done(bot, partial(general, "Let me"));
    for actor in [Actor::new(alice, Door::Lark), Actor::new(bot, Door::Snek), Actor::nobody(Door::Rest)] {
        assert_eq!(world.refused(actor, end(bot, general)), refusal::NOT_AUTHORIZED);
    }
}

#[test]
fn a_stream_that_lost_its_place_never_was() {
    let take_away: [fn(ChannelId, MemberId) -> Command; 4] = [
        |channel, member| Command::RemoveFromChannel { channel, member },
        |_, member| Command::RemoveMember { member },
        |channel, _| Command::ArchiveChannel { channel, archived: true },
        |channel, _| Command::DeleteChannel { channel },
    ];
    for command in take_away {
        let Room { mut world, alice, bot, general } = room();
        world.done(bot, partial(general, "Let me"));
        let decision = world.done(alice, command(general, bot));
        assert_eq!(ended(&decision), Some(false), "{decision:?}");
        assert!(world.state.stream(bot, general).is_none());
        assert_eq!(world.ledger.all_messages().count(), 0);
    }
}

#[test]
fn others_who_leave_end_no_stream_but_their_own() {
    let Room { mut world, alice, bot, general } = room();
    let carol = world.human("carol");
    world.done(alice, Command::AddToChannel { channel: general, member: carol });
    world.done(bot, partial(general, "Let me"));
    assert_eq!(ended(&world.done(alice, Command::RemoveMember { member: carol })), None);
    assert!(world.state.stream(bot, general).is_some());
}

#[test]
fn a_member_has_at_most_64_streams_at_once() {
    let Room { mut world, alice, bot, general } = room();
    for number in 0..64 {
        let channel = world.channel(&format!("c{number}"), &[alice, bot]);
        world.done(bot, partial(channel, "x"));
    }
    assert_eq!(world.refused(bot, partial(general, "x")), refusal::TOO_MANY_STREAMS);
    world.done(alice, partial(general, "x"));
    world.done(bot, say(general, "a whole message"));
}
