//! Sending, editing, deleting, reacting, pinning.

use std::sync::Arc;

use super::support::World;
use super::support::commands::raw;
use super::support::world::{message_of, reply, say};
use crate::command::{Command, Reply, Send};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::{Change, ChangeKind, Filter};
use crate::refusal::{self, Code};
use crate::{Actor, Refusal};

struct Room {
    world: World,
    alice: MemberId,
    bob: MemberId,
    /// In the workspace, not in the channel.
    carol: MemberId,
    general: ChannelId,
}

fn room() -> Room {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, carol) = (world.human("bob"), world.human("carol"));
    let general = world.channel("general", &[alice, bob]);
    Room { world, alice, bob, carol, general }
}

fn with_metadata(channel: ChannelId, metadata: &str) -> Command {
    Command::Send(Send { channel, content: "hi".to_owned(), metadata: raw(metadata), ..Send::default() })
}

fn with_key(channel: ChannelId, text: &str, key: &str) -> Command {
    Command::Send(Send { channel, content: text.to_owned(), key: Some(key.to_owned()), ..Send::default() })
}

fn edit(message: &Message, text: &str) -> Command {
    Command::EditMessage { message: message.id, content: text.to_owned() }
}

fn react(message: &Message, emoji: &str, on: bool) -> Command {
    Command::React { message: message.id, emoji: emoji.to_owned(), on }
}

fn pin(message: &Message) -> Command {
    Command::Pin { channel: None, message: message.id }
}

#[test]
fn members_of_a_channel_speak_in_it_and_nobody_else() {
    let Room { mut world, bob, carol, general, .. } = room();
    let (_, stranger) = world.register("stranger");
    let message = world.say(bob, general, "hello");
    assert_eq!((message.sender, message.channel, message.content.as_str()), (bob, general, "hello"));
    assert_eq!(world.refused(carol, say(general, "hello")), refusal::NOT_CHANNEL_MEMBER);
    assert_eq!(world.refused(stranger, say(general, "hello")), refusal::NOT_CHANNEL_MEMBER);
    assert_eq!(world.refused(bob, say(ChannelId::NONE, "hello")), refusal::NOT_CHANNEL_MEMBER);
}

#[test]
fn who_is_nobody_or_was_removed_is_not_authenticated() {
    let Room { mut world, alice, bob, general, .. } = room();
    world.say(bob, general, "hello");
    world.done(alice, Command::RemoveMember { member: bob });
    assert_eq!(world.refused(bob, say(general, "hello")), refusal::NOT_AUTHENTICATED);
    assert_eq!(world.refused(Actor::nobody(Door::Lark), say(general, "hello")), refusal::NOT_AUTHENTICATED);
}

#[test]
fn a_message_gets_the_next_position_and_the_next_version() {
    let Room { mut world, alice, bob, general, .. } = room();
    let first = world.say(alice, general, "one");
    world.done(alice, edit(&first, "One"));
    let second = world.say(bob, general, "two");
    assert_eq!((first.seq, first.version), (1, 1));
    assert_eq!((second.seq, second.version), (3, 2));
    assert_eq!(second.created_at, world.now);
    assert!(second.id > first.id);
}

#[test]
fn a_message_says_something() {
    let Room { mut world, bob, general, .. } = room();
    for nothing in ["", " ", "\n\t "] {
        assert_eq!(world.refused(bob, say(general, nothing)), refusal::CONTENT_REQUIRED);
    }
    let file = Some(world.file(bob, None));
    world.done(bob, Command::Send(Send { channel: general, file, ..Send::default() }));
}

#[test]
fn a_message_has_at_most_10_000_characters_counted_as_characters() {
    let Room { mut world, bob, general, .. } = room();
    let longest = "é".repeat(10_000);
    let message = world.say(bob, general, &longest);
    assert_eq!(world.refused(bob, say(general, &format!("{longest}e"))), refusal::CONTENT_TOO_LONG);
    assert_eq!(world.refused(bob, edit(&message, &format!("{longest}e"))), refusal::CONTENT_TOO_LONG);
}

#[test]
fn metadata_is_an_object_and_kept_as_it_was_written() {
    let Room { mut world, bob, general, .. } = room();
    let written = r#"{"b": 1.50, "a": {"deep": [true, null]}}"#;
    let message = message_of(&world.done(bob, with_metadata(general, written)));
    assert_eq!(message.metadata.as_ref().map(|raw| raw.get()), Some(written));
    for nothing in ["{}", "null"] {
        let message = message_of(&world.done(bob, with_metadata(general, nothing)));
        assert!(message.metadata.is_none(), "{nothing}");
    }
    for wrong in ["[]", "\"text\"", "7", "true"] {
        let refusal = world.refused(bob, with_metadata(general, wrong));
        assert_eq!(refusal, Refusal::bad_request("metadata must be an object"), "{wrong}");
    }
}

#[test]
fn metadata_that_others_could_not_read_is_refused() {
    let Room { mut world, bob, general, .. } = room();
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    world.done(bob, with_metadata(general, &nested(99)));
    for wrong in [r#"{"a":1e999}"#, r#"{"a":"\ud800"}"#, &nested(100), &nested(1000)] {
        let refusal = world.refused(bob, with_metadata(general, wrong));
        assert_eq!(refusal, Refusal::bad_request("metadata must be an object"), "{wrong}");
    }
}

#[test]
fn metadata_has_a_limit() {
    let Room { mut world, bob, general, .. } = room();
    let of_bytes = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
    world.done(bob, with_metadata(general, &of_bytes(16_384)));
    let refusal = world.refused(bob, with_metadata(general, &of_bytes(16_385)));
    assert_eq!(refusal, Refusal::bad_request("metadata is too large (max 16384 bytes)"));
}

#[test]
fn the_type_of_a_message_is_user_unless_it_says_otherwise() {
    let Room { mut world, bob, general, .. } = room();
    let typed = |kind: Option<&str>| {
        let kind = kind.map(str::to_owned);
        Command::Send(Send { channel: general, content: "hi".to_owned(), kind, ..Send::default() })
    };
    for (given, kept) in [(None, "user"), (Some(""), "user"), (Some("system"), "system")] {
        assert_eq!(message_of(&world.done(bob, typed(given))).kind, kept);
    }
    for wrong in ["a\u{0}b", &"x".repeat(33)] {
        assert_eq!(world.refused(bob, typed(Some(wrong))).code, Code::BadRequest);
    }
}

#[test]
fn an_archived_channel_takes_no_messages_and_no_changes() {
    let Room { mut world, alice, bob, general, .. } = room();
    let message = world.say(bob, general, "before");
    world.done(alice, Command::ArchiveChannel { channel: general, archived: true });
    for command in [say(general, "after"), edit(&message, "after"), react(&message, "👍", true), pin(&message)] {
        assert_eq!(world.refused(bob, command), refusal::CHANNEL_ARCHIVED);
    }
    world.done(alice, Command::ArchiveChannel { channel: general, archived: false });
    world.say(bob, general, "after");
}

#[test]
fn the_sender_hears_of_the_message_before_its_acknowledgement_and_of_the_rest_after() {
    let Room { mut world, alice, general, .. } = room();
    let decision = world.done(alice, say(general, "@bob look"));
    assert_eq!(decision.told_before_reply, 1);
    assert!(matches!(decision.events[0], Event::MessageSent(_)));
    assert!(decision.events.len() > 1);
}

// Idempotency.

#[test]
fn a_repeat_with_the_same_key_returns_the_first_message_and_changes_nothing() {
    let Room { mut world, bob, general, .. } = room();
    let first = message_of(&world.done(bob, with_key(general, "once", "k")));
    let decision = world.done(bob, with_key(general, "once", "k"));
    assert!(decision.events.is_empty());
    let Reply::Sent { message, repeated: true } = decision.reply else { panic!("{:?}", decision.reply) };
    assert_eq!(message.id, first.id);
}

#[test]
fn a_repeat_stays_one_after_the_message_was_edited_or_deleted() {
    let Room { mut world, bob, general, .. } = room();
    let edited = message_of(&world.done(bob, with_key(general, "typo", "edited")));
    let deleted = message_of(&world.done(bob, with_key(general, "oops", "deleted")));
    world.done(bob, edit(&edited, "no typo"));
    world.done(bob, Command::DeleteMessage { message: deleted.id });
    for (first, text, key) in [(edited, "typo", "edited"), (deleted, "oops", "deleted")] {
        assert_eq!(message_of(&world.done(bob, with_key(general, text, key))).id, first.id);
    }
}

#[test]
fn a_key_counts_for_its_sender_its_place_and_its_words() {
    let Room { mut world, alice, bob, general, .. } = room();
    let other = world.channel("other", &[bob]);
    let first = message_of(&world.done(bob, with_key(general, "text", "k")));
    let in_thread = |text: &str| match with_key(general, text, "k") {
        Command::Send(send) => Command::Send(Send { thread: Some(first.id), ..send }),
        other => other,
    };
    let others = [
        (alice, with_key(general, "text", "k")),
        (bob, with_key(other, "text", "k")),
        (bob, with_key(general, "another text", "k")),
        (bob, in_thread("text")),
    ];
    for (who, command) in others {
        let decision = world.done(who, command.clone());
        assert!(matches!(decision.reply, Reply::Sent { repeated: false, .. }), "{command:?}");
        let again = world.done(who, command.clone());
        assert!(matches!(again.reply, Reply::Sent { repeated: true, .. }), "{command:?}");
        assert_eq!(message_of(&again).id, message_of(&decision).id);
        assert_ne!(message_of(&decision).id, first.id);
    }
}

#[test]
fn another_text_under_the_key_of_a_message_that_was_edited_or_deleted_is_another_message() {
    let Room { mut world, bob, general, .. } = room();
    let first = message_of(&world.done(bob, with_key(general, "first", "k")));
    world.done(bob, edit(&first, "edited"));
    assert_ne!(message_of(&world.done(bob, with_key(general, "second", "k"))).id, first.id);
    world.done(bob, Command::DeleteMessage { message: first.id });
    assert_ne!(message_of(&world.done(bob, with_key(general, "third", "k"))).id, first.id);
}

#[test]
fn a_repeat_tells_nothing_to_who_is_no_longer_in_the_channel() {
    let Room { mut world, alice, bob, general, .. } = room();
    world.done(bob, with_key(general, "text", "k"));
    world.done(alice, Command::RemoveFromChannel { channel: general, member: bob });
    assert_eq!(world.refused(bob, with_key(general, "text", "k")), refusal::NOT_CHANNEL_MEMBER);
}

// Editing and deleting.

#[test]
fn only_the_author_edits_a_message_and_what_it_said_is_kept() {
    let Room { mut world, alice, bob, general, .. } = room();
    let message = world.say(bob, general, "first");
    assert_eq!(world.refused(alice, edit(&message, "mine")), refusal::NOT_MESSAGE_AUTHOR);
    assert_eq!(world.refused(bob, edit(&message, " ")), refusal::CONTENT_REQUIRED);
    world.later(5);
    world.done(bob, edit(&message, "second"));
    world.done(bob, edit(&message, "third"));
    let stored = world.stored(message.id);
    assert_eq!((stored.content.as_str(), stored.edit_count, stored.edited_at), ("third", 2, Some(world.now)));
    assert_eq!((stored.seq, stored.version, stored.created_at), (1, 1, message.created_at));
    let edits = world.ledger.list::<Edit>(&Filter::scope(message.id.0).oldest_first()).unwrap();
    assert_eq!(edits.iter().map(|edit| edit.previous.as_str()).collect::<Vec<_>>(), ["first", "second"]);
}

#[test]
fn only_the_author_deletes_a_message_and_nothing_of_it_stays() {
    let Room { mut world, alice, bob, general, .. } = room();
    let message = message_of(&world.done(bob, with_metadata(general, "{\"a\":1}")));
    world.done(bob, edit(&message, "second"));
    world.done(alice, react(&message, "👍", true));
    assert_eq!(world.refused(alice, Command::DeleteMessage { message: message.id }), refusal::NOT_MESSAGE_AUTHOR);
    world.done(bob, Command::DeleteMessage { message: message.id });
    let stored = world.stored(message.id);
    assert!(stored.deleted && stored.content.is_empty() && stored.metadata.is_none() && stored.reactions.is_empty());
    assert!(world.ledger.list::<Edit>(&Filter::scope(message.id.0)).unwrap().is_empty());
}

#[test]
fn what_was_deleted_is_not_there() {
    let Room { mut world, bob, general, .. } = room();
    let message = world.say(bob, general, "gone soon");
    let delete = || Command::DeleteMessage { message: message.id };
    world.done(bob, delete());
    for command in [delete(), edit(&message, "back"), react(&message, "👍", true), pin(&message)] {
        assert_eq!(world.refused(bob, command), refusal::MESSAGE_NOT_FOUND);
    }
}

#[test]
fn a_message_one_may_not_see_does_not_exist() {
    let Room { mut world, bob, carol, .. } = room();
    let back = world.private("back", &[bob]);
    let message = world.say(bob, back, "between us");
    for command in [edit(&message, "x"), react(&message, "👍", true), pin(&message)] {
        assert_eq!(world.refused(carol, command.clone()), refusal::MESSAGE_NOT_FOUND);
        world.done(bob, command);
    }
    assert_eq!(world.refused(carol, Command::DeleteMessage { message: message.id }), refusal::MESSAGE_NOT_FOUND);
}

#[test]
fn who_left_a_channel_changes_nothing_in_it_any_more() {
    let Room { mut world, bob, general, .. } = room();
    let message = world.say(bob, general, "mine");
    world.done(bob, Command::RemoveFromChannel { channel: general, member: bob });
    assert_eq!(world.refused(bob, edit(&message, "still mine")), refusal::NOT_CHANNEL_MEMBER);
    let delete = Command::DeleteMessage { message: message.id };
    assert_eq!(world.refused(bob, delete), refusal::NOT_CHANNEL_MEMBER);
}

// Reactions and pins.

#[test]
fn a_reaction_counts_once_per_member_and_can_be_taken_back() {
    let Room { mut world, alice, bob, general, .. } = room();
    let message = world.say(bob, general, "done");
    for who in [alice, bob] {
        world.done(who, react(&message, "👍", true));
        assert!(world.done(who, react(&message, "👍", true)).events.is_empty(), "twice is once");
    }
    let both = vec![Reaction { emoji: "👍".to_owned(), members: vec![alice, bob] }];
    assert_eq!(world.stored(message.id).reactions, both);
    for who in [alice, bob] {
        world.done(who, react(&message, "👍", false));
        assert!(world.done(who, react(&message, "👍", false)).events.is_empty(), "gone is gone");
    }
    assert!(world.stored(message.id).reactions.is_empty());
}

#[test]
fn a_reaction_needs_an_emoji_and_a_member_of_the_channel() {
    let Room { mut world, bob, carol, general, .. } = room();
    let message = world.say(bob, general, "done");
    assert_eq!(world.refused(bob, react(&message, " ", true)), Refusal::bad_request("emoji is required"));
    assert_eq!(world.refused(bob, react(&message, &"x".repeat(33), true)).code, Code::BadRequest);
    assert_eq!(world.refused(carol, react(&message, "👍", true)), refusal::NOT_CHANNEL_MEMBER);
    world.done(bob, react(&message, "👍", true));
}

#[test]
fn a_message_is_pinned_once_and_unpinned_by_any_member_of_the_channel() {
    let Room { mut world, alice, bob, carol, general } = room();
    let message = world.say(bob, general, "remember");
    assert_eq!(world.refused(carol, pin(&message)), refusal::NOT_CHANNEL_MEMBER);
    let elsewhere = world.channel("elsewhere", &[bob]);
    let wrong = Command::Pin { channel: Some(elsewhere), message: message.id };
    assert_eq!(world.refused(bob, wrong), refusal::MESSAGE_NOT_FOUND);
    let Reply::Pin(pinned) = world.done(bob, pin(&message)).reply else { panic!() };
    let again = world.done(alice, pin(&message));
    assert!(again.events.is_empty());
    assert!(matches!(again.reply, Reply::Pin(known) if known == pinned));
    let unpin = || Command::Unpin { pin: pinned.id };
    assert_eq!(world.refused(carol, unpin()), refusal::PIN_NOT_FOUND);
    world.done(alice, unpin());
    assert_eq!(world.refused(bob, unpin()), refusal::PIN_NOT_FOUND);
}

#[test]
fn every_change_of_a_message_has_a_position_of_its_own() {
    let Room { mut world, bob, general, .. } = room();
    let message = world.say(bob, general, "hello");
    world.done(bob, edit(&message, "Hello"));
    world.done(bob, react(&message, "👍", true));
    world.done(bob, pin(&message));
    world.done(bob, Command::DeleteMessage { message: message.id });
    let changes: Vec<&Change> = world.ledger.all_changes().collect();
    assert_eq!(changes.iter().map(|change| change.seq).collect::<Vec<_>>(), [2, 3, 4, 5]);
    assert!(matches!(changes[0].what, ChangeKind::Edited));
    assert!(matches!(changes[3].what, ChangeKind::Deleted));
    assert_eq!(world.state.channel(general).unwrap().head, Head { seq: 5, version: 1 });
}

#[test]
fn when_history_cannot_be_read_a_command_is_refused_and_nothing_changes() {
    let Room { mut world, alice, bob, general, .. } = room();
    let agent = world.agent("agent");
    world.done(alice, Command::AddToChannel { channel: general, member: agent });
    let message = world.say(bob, general, "hello");
    let commands = [edit(&message, "x"), with_key(general, "x", "k"), reply(&message, "x")];
    world.ledger.broken = true;
    for command in commands.clone() {
        let refusal = world.refused(bob, command);
        assert_eq!(refusal, Refusal::unavailable("storage is unavailable, nothing was changed"));
    }
    world.ledger.broken = false;
    assert_eq!(world.stored(message.id), Arc::unwrap_or_clone(message));
    for command in commands {
        world.done(bob, command);
    }
}
