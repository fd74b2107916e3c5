//! Replies below a message.

use super::support::World;
use super::support::world::reply;
use crate::command::{Command, Send};
use crate::ids::*;
use crate::model::Message;
use crate::refusal;

struct Thread {
    world: World,
    alice: MemberId,
    bob: MemberId,
    general: ChannelId,
    root: std::sync::Arc<Message>,
}

fn thread() -> Thread {
    let mut world = World::new();
    let alice = world.alice;
    let bob = world.human("bob");
    let general = world.channel("general", &[alice, bob]);
    let root = world.say(alice, general, "shall we?");
    Thread { world, alice, bob, general, root }
}

#[test]
fn a_reply_names_its_thread_and_the_root_counts_it() {
    let Thread { mut world, bob, root, .. } = thread();
    let first = world.reply(bob, &root, "yes");
    world.reply(bob, &root, "now");
    assert_eq!(first.thread, Some(root.id));
    assert_eq!(world.stored(root.id).reply_count, 2);
    world.done(bob, Command::DeleteMessage { message: first.id });
    assert_eq!(world.stored(root.id).reply_count, 1);
}

#[test]
fn a_reply_to_a_reply_stays_in_the_same_thread() {
    let Thread { mut world, alice, bob, root, .. } = thread();
    let first = world.reply(bob, &root, "yes");
    let second = world.reply(alice, &first, "good");
    assert_eq!(second.thread, Some(root.id));
    assert_eq!(world.stored(root.id).reply_count, 2);
    assert_eq!(world.stored(first.id).reply_count, 0);
}

#[test]
fn a_thread_stays_in_its_channel() {
    let Thread { mut world, bob, general, root, .. } = thread();
    let other = world.channel("other", &[bob]);
    let elsewhere =
        |channel| Command::Send(Send { channel, thread: Some(root.id), content: "yes".to_owned(), ..Send::default() });
    assert_eq!(world.refused(bob, elsewhere(other)), refusal::MESSAGE_NOT_FOUND);
    world.done(bob, elsewhere(general));
}

#[test]
fn a_thread_needs_a_message_that_is_there() {
    let Thread { mut world, alice, bob, general, root } = thread();
    let nowhere =
        Send { channel: general, thread: Some(MessageId::NONE), content: "yes".to_owned(), ..Send::default() };
    assert_eq!(world.refused(bob, Command::Send(nowhere)), refusal::MESSAGE_NOT_FOUND);
    world.done(alice, Command::DeleteMessage { message: root.id });
    assert_eq!(world.refused(bob, reply(&root, "yes")), refusal::MESSAGE_NOT_FOUND);
}

#[test]
fn a_thread_goes_on_when_its_root_is_deleted_but_its_replies_are_not() {
    let Thread { mut world, alice, bob, root, .. } = thread();
    let first = world.reply(bob, &root, "yes");
    world.done(alice, Command::DeleteMessage { message: root.id });
    assert_eq!(world.reply(bob, &first, "then I do it").thread, Some(root.id));
}
