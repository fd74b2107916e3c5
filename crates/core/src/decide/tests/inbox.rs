//! Notifications of people and the inbox of agents.

use super::support::World;
use super::support::world::{notifications, say};
use crate::command::{Command, Reply};
use crate::event::Audience;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::{ACKED, Filter, NEW, SEEN};
use crate::{Lookup, access, refusal};

struct Mail {
    world: World,
    alice: MemberId,
    bob: MemberId,
    codebot: MemberId,
    for_bob: NotificationId,
    for_codebot: NotificationId,
}

fn mail() -> Mail {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, codebot) = (world.human("bob"), world.agent("codebot"));
    let general = world.channel("general", &[alice, bob, codebot]);
    let decision = world.done(alice, say(general, "@bob @codebot look"));
    let [for_bob, for_codebot] = notifications(&decision)[..] else { panic!("{decision:?}") };
    let (for_bob, for_codebot) = (for_bob.id, for_codebot.id);
    Mail { world, alice, bob, codebot, for_bob, for_codebot }
}

fn count(world: &World, member: MemberId, states: &'static [&'static str]) -> usize {
    world.ledger.list::<Notification>(&Filter::owner(member).states(states)).unwrap().len()
}

#[test]
fn notifications_are_read_by_their_member_only() {
    let Mail { mut world, alice, bob, for_bob, .. } = mail();
    let read = || Command::MarkNotificationRead { notification: for_bob };
    assert_eq!(world.refused(alice, read()), refusal::NOTIFICATION_NOT_FOUND);
    let decision = world.done(bob, read());
    assert!(matches!(decision.reply, Reply::Notification(notification) if notification.is_read));
    assert_eq!(decision.events[0].audience(&world.state), Audience::Member(bob));
    assert_eq!((count(&world, bob, &[NEW]), count(&world, bob, &[SEEN])), (0, 1));
}

/// A notification as its member would be shown it.
fn shown(world: &World, id: NotificationId) -> Option<String> {
    let stored = world.ledger.get::<Notification>(id).unwrap().unwrap();
    let message = world.ledger.message(stored.message.unwrap()).unwrap();
    access::notification_now(&world.state, stored, message.as_ref()).map(|notification| notification.body)
}

#[test]
fn a_notification_says_what_its_message_says_now() {
    let Mail { mut world, alice, bob, for_bob, .. } = mail();
    let message = world.ledger.get::<Notification>(for_bob).unwrap().unwrap().message.unwrap();
    let content = format!("@bob {}", "new ".repeat(100));
    world.done(alice, Command::EditMessage { message, content: content.clone() });
    assert_eq!(shown(&world, for_bob).as_deref(), Some(&content[..200]), "cut as it was at first");
    world.done(alice, Command::DeleteMessage { message });
    assert_eq!(shown(&world, for_bob).as_deref(), Some(""));
    let read = world.done(bob, Command::MarkNotificationRead { notification: for_bob });
    assert!(matches!(read.reply, Reply::Notification(notification) if notification.body.is_empty()));
}

#[test]
fn a_notification_of_a_channel_that_is_closed_to_its_member_is_not_shown() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let closed = world.private("closed", &[alice, bob]);
    let decision = world.done(alice, say(closed, "@bob look"));
    let id = notifications(&decision)[0].id;
    assert_eq!(shown(&world, id).as_deref(), Some("@bob look"));
    world.done(alice, Command::RemoveFromChannel { channel: closed, member: bob });
    assert_eq!(shown(&world, id), None);
    let read = world.done(bob, Command::MarkNotificationRead { notification: id });
    assert!(matches!(read.reply, Reply::Notification(notification) if notification.body.is_empty()));
}

#[test]
fn all_of_ones_own_are_read_at_once() {
    let Mail { mut world, bob, codebot, .. } = mail();
    assert!(matches!(world.done(bob, Command::MarkAllNotificationsRead).reply, Reply::Count(1)));
    assert!(matches!(world.done(bob, Command::MarkAllNotificationsRead).reply, Reply::Count(0)));
    assert_eq!((count(&world, bob, &[NEW]), count(&world, codebot, &[NEW])), (0, 1));
}

#[test]
fn an_agent_takes_up_items_of_its_own_inbox() {
    let Mail { mut world, codebot, for_bob, for_codebot, .. } = mail();
    world.later(5);
    let ack = |notification| Command::AckInbox { notification };
    assert_eq!(world.refused(codebot, ack(for_bob)), refusal::NOTIFICATION_NOT_FOUND);
    let first = world.now;
    world.done(codebot, ack(for_codebot));
    world.later(5);
    let again = world.done(codebot, ack(for_codebot));
    assert!(matches!(again.reply, Reply::Notification(item) if item.acked_at == Some(first)), "the first time counts");
    assert_eq!(count(&world, codebot, &[ACKED]), 1);
}

#[test]
fn the_inbox_is_for_agents() {
    let Mail { mut world, bob, for_bob, .. } = mail();
    for command in [Command::AckInbox { notification: for_bob }, Command::AckWholeInbox] {
        assert_eq!(world.refused(bob, command), refusal::NOT_AUTHORIZED);
    }
}

#[test]
fn the_whole_inbox_is_taken_up_at_once_read_or_not() {
    let Mail { mut world, codebot, for_codebot, .. } = mail();
    world.done(codebot, Command::MarkNotificationRead { notification: for_codebot });
    assert!(matches!(world.done(codebot, Command::AckWholeInbox).reply, Reply::Count(1)));
    assert!(matches!(world.done(codebot, Command::AckWholeInbox).reply, Reply::Count(0)));
    assert_eq!(count(&world, codebot, &[ACKED]), 1);
}
