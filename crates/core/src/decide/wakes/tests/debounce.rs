//! What joins a wake, and when the sender has paused: the pause, what ends it, whom it wakes then.

use super::support::world::{deliveries, message_of, notifications, reply, say, wakes};
use super::{Room, now, only, quiet, room, texts, woken};
use crate::Actor;
use crate::command::Command;
use crate::delivery::{DeliveryState, WakeReason, WakeRules};
use crate::model::*;

#[test]
fn a_wake_is_sent_300_ms_after_the_last_message_and_not_before() {
    let Room { mut world, alice, codebot, general, .. } = room();
    let said = world.done(alice, say(general, "@codebot look"));
    assert!(wakes(&said).is_empty());
    let delivery = only(&said);
    assert_eq!((delivery.state, delivery.why.as_deref()), (DeliveryState::Queued, Some("collecting")));
    assert_eq!((delivery.agent, delivery.sender, delivery.reason), (codebot, alice, WakeReason::Mention));
    assert_eq!(world.state.next_deadline(), Some(world.now + 300));
    assert!(wakes(&world.time_passes(299)).is_empty());
    let sent = world.time_passes(1);
    assert_eq!(wakes(&sent).len(), 1);
    assert_eq!(only(&sent).state, DeliveryState::Leased);
    assert_eq!(wakes(&sent)[0].delivery.as_ref().map(|sent| sent.id), Some(delivery.id));
}

#[test]
fn the_inbox_item_is_written_when_the_message_is() {
    let Room { mut world, alice, general, .. } = room();
    assert_eq!(notifications(&world.done(alice, say(general, "@codebot look"))).len(), 1);
    assert!(notifications(&quiet(&mut world)).is_empty());
}

#[test]
fn a_follow_up_joins_the_wake_and_makes_it_wait_again() {
    let Room { mut world, alice, general, .. } = room();
    let first = only(&world.done(alice, say(general, "@codebot look")));
    world.later(200);
    let joined = only(&world.done(alice, say(general, "at the auth test")));
    assert_eq!(
        (joined.id, texts(&world, &joined)),
        (first.id, vec!["@codebot look".into(), "at the auth test".into()])
    );
    assert!(wakes(&world.time_passes(200)).is_empty(), "it waits 300 ms after the second");
    let sent = world.time_passes(100);
    assert_eq!(wakes(&sent).len(), 1);
    let recent: Vec<_> = wakes(&sent)[0].recent.iter().map(|message| message.content.clone()).collect();
    assert_eq!(recent, ["@codebot look", "at the auth test"]);
}

#[test]
fn what_comes_after_the_pause_is_another_matter() {
    let mut room = room();
    let first = woken(&mut room);
    let Room { mut world, alice, general, .. } = room;
    assert!(deliveries(&world.done(alice, say(general, "and thanks"))).is_empty());
    let again = only(&world.done(alice, say(general, "@codebot and this")));
    assert_ne!(again.id, first.id);
}

#[test]
fn no_wake_waits_longer_than_5_s_after_its_first_message() {
    let Room { mut world, alice, general, .. } = room();
    world.done(alice, say(general, "@codebot one"));
    for _ in 0..19 {
        assert!(wakes(&world.time_passes(250)).is_empty());
        world.done(alice, say(general, "more"));
    }
    assert_eq!(wakes(&world.time_passes(250)).len(), 1);
}

#[test]
fn typing_puts_the_wake_off_and_its_end_lets_it_go() {
    let Room { mut world, alice, bob, general, .. } = room();
    let typing = |on| Command::Typing { channel: general, on, color: None };
    world.done(alice, say(general, "@codebot look"));
    world.later(250);
    world.done(alice, typing(true));
    assert!(wakes(&world.time_passes(2_900)).is_empty(), "a sign of typing counts for three seconds");
    world.done(alice, typing(false));
    assert_eq!(wakes(&world.time_passes(300)).len(), 1);
    world.done(alice, say(general, "@codebot again"));
    world.done(bob, typing(true));
    assert_eq!(wakes(&world.time_passes(300)).len(), 1, "only the sender's own typing counts");
    world.done(alice, say(general, "@codebot and again"));
    for _ in 0..4 {
        world.done(alice, typing(true));
        assert!(wakes(&world.time_passes(1_200)).is_empty());
    }
    world.done(alice, typing(true));
    assert_eq!(wakes(&world.time_passes(200)).len(), 1, "the longest wait holds for typing too");
}

#[test]
fn a_door_without_typing_waits_a_second() {
    let Room { mut world, alice, general, .. } = room();
    for door in [Door::Snek, Door::Telegram, Door::Webhook] {
        world.done(Actor::new(alice, door), say(general, "@codebot look"));
        assert!(wakes(&world.time_passes(999)).is_empty(), "{door:?}");
        assert_eq!(wakes(&world.time_passes(1)).len(), 1, "{door:?}");
    }
    world.done(Actor::new(alice, Door::Rest), say(general, "@codebot look"));
    assert_eq!(wakes(&world.time_passes(300)).len(), 1);
}

#[test]
fn the_numbers_are_settings() {
    let Room { mut world, alice, general, .. } = room();
    world.state.set_wake_rules(WakeRules { quiet: 50, longest: 80, ..WakeRules::default() });
    world.done(alice, say(general, "@codebot one"));
    assert!(wakes(&world.time_passes(49)).is_empty());
    world.done(alice, say(general, "two"));
    assert_eq!(wakes(&world.time_passes(31)).len(), 1);
}

#[test]
fn two_people_who_burst_in_one_channel_make_two_wakes() {
    let Room { mut world, alice, bob, general, .. } = room();
    let (one, other) = (
        only(&world.done(alice, say(general, "@codebot mine"))),
        only(&world.done(bob, say(general, "@codebot and mine"))),
    );
    world.done(alice, say(general, "more of mine"));
    world.done(bob, say(general, "more of his"));
    assert_eq!(wakes(&quiet(&mut world)).len(), 2);
    assert_eq!(texts(&world, &now(&world, one.id)), ["@codebot mine", "more of mine"]);
    assert_eq!(texts(&world, &now(&world, other.id)), ["@codebot and mine", "more of his"]);
}

#[test]
fn a_mention_of_another_agent_begins_something_else() {
    let Room { mut world, alice, codebot, pi, general, .. } = room();
    let first = only(&world.done(alice, say(general, "@codebot look")));
    world.later(100);
    let said = world.done(alice, say(general, "@pi and you there"));
    let second = deliveries(&said).into_iter().find(|delivery| delivery.agent == pi).cloned().unwrap();
    assert_ne!(first.id, second.id);
    let sent = world.time_passes(0);
    assert_eq!(wakes(&sent).iter().map(|wake| wake.agent).collect::<Vec<_>>(), [codebot], "the first waits no more");
    world.done(alice, say(general, "both of it"));
    assert_eq!(texts(&world, &now(&world, second.id)), ["@pi and you there", "both of it"]);
    assert_eq!(texts(&world, &now(&world, first.id)), ["@codebot look"]);
}

#[test]
fn an_agent_that_is_mentioned_twice_is_woken_once() {
    let Room { mut world, alice, general, .. } = room();
    world.done(alice, say(general, "@codebot look, @codebot"));
    let joined = only(&world.done(alice, say(general, "@codebot please")));
    assert_eq!(joined.messages.len(), 2);
    assert_eq!(wakes(&quiet(&mut world)).len(), 1);
}

#[test]
fn threads_and_channels_are_different_matters() {
    let Room { mut world, alice, codebot, general, .. } = room();
    let root = world.say(codebot, general, "I changed three files");
    let in_thread = only(&world.done(alice, reply(&root, "which?")));
    let outside = only(&world.done(alice, say(general, "@codebot hello")));
    assert_ne!(in_thread.id, outside.id);
    assert_eq!((in_thread.thread, in_thread.reason), (Some(root.id), WakeReason::ThreadReply));
    let joined = only(&world.done(alice, reply(&root, "and why?")));
    assert_eq!((joined.id, joined.messages.len()), (in_thread.id, 2));
}

#[test]
fn a_text_that_is_edited_before_the_pause_is_over_wakes_whom_it_says_now() {
    let Room { mut world, alice, codebot, pi, general, .. } = room();
    let said = world.done(alice, say(general, "@codebot look"));
    let (first, message) = (only(&said), message_of(&said));
    let edited = world.done(alice, Command::EditMessage { message: message.id, content: "@pi look".into() });
    let found = deliveries(&edited);
    let states: Vec<_> = found.iter().map(|delivery| (delivery.agent, delivery.state)).collect();
    assert_eq!(states, [(codebot, DeliveryState::Cancelled), (pi, DeliveryState::Queued)]);
    assert_eq!(found[0].id, first.id);
    assert_eq!(notifications(&edited).len(), 1, "pi has it in its inbox");
    let sent = quiet(&mut world);
    assert_eq!(wakes(&sent).iter().map(|wake| wake.agent).collect::<Vec<_>>(), [pi]);
    assert_eq!(wakes(&sent)[0].recent.last().map(|message| message.content.as_str()), Some("@pi look"));
}

#[test]
fn an_edit_after_the_wake_wakes_nobody() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, alice, .. } = room;
    let edit = Command::EditMessage { message: delivery.messages[0], content: "@codebot @pi look".into() };
    assert!(deliveries(&world.done(alice, edit)).is_empty());
    assert!(now(&world, delivery.id).is_open());
}

#[test]
fn a_message_that_is_deleted_takes_its_wake_back() {
    let Room { mut world, alice, general, .. } = room();
    let first = only(&world.done(alice, say(general, "@codebot look")));
    let joined = only(&world.done(alice, say(general, "at this")));
    world.done(alice, Command::DeleteMessage { message: joined.messages[1] });
    assert_eq!(texts(&world, &now(&world, first.id)), ["@codebot look"]);
    world.done(alice, Command::DeleteMessage { message: first.messages[0] });
    let over = now(&world, first.id);
    assert_eq!((over.state, over.why.as_deref()), (DeliveryState::Cancelled, Some("the message was deleted")));
    assert!(wakes(&quiet(&mut world)).is_empty());
}

#[test]
fn a_wake_that_was_sent_ends_too_when_its_message_is_deleted() {
    let mut room = room();
    let delivery = woken(&mut room);
    room.world.done(room.alice, Command::DeleteMessage { message: delivery.messages[0] });
    assert_eq!(now(&room.world, delivery.id).state, DeliveryState::Cancelled);
}

#[test]
fn an_agent_that_leaves_the_channel_is_not_woken() {
    let Room { mut world, alice, codebot, general, .. } = room();
    let delivery = only(&world.done(alice, say(general, "@codebot look")));
    world.done(alice, Command::RemoveFromChannel { channel: general, member: codebot });
    let over = now(&world, delivery.id);
    assert_eq!((over.state, over.why.as_deref()), (DeliveryState::Cancelled, Some("the agent left the channel")));
    assert!(wakes(&quiet(&mut world)).is_empty());
}

#[test]
fn an_archived_channel_wakes_nobody() {
    let Room { mut world, alice, general, .. } = room();
    let delivery = only(&world.done(alice, say(general, "@codebot look")));
    world.done(alice, Command::ArchiveChannel { channel: general, archived: true });
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Cancelled);
    assert!(wakes(&quiet(&mut world)).is_empty());
}

#[test]
fn a_removed_agent_or_channel_leaves_nothing_open() {
    let Room { mut world, alice, codebot, general, .. } = room();
    world.done(alice, say(general, "@codebot @pi look"));
    world.done(alice, Command::RemoveMember { member: codebot });
    assert_eq!(world.state.deliveries().len(), 1);
    world.done(alice, Command::DeleteChannel { channel: general });
    assert!(world.state.deliveries().is_empty());
}

#[test]
fn an_agent_that_is_renamed_meanwhile_is_woken_under_its_new_name() {
    let Room { mut world, alice, codebot, general, .. } = room();
    world.done(alice, say(general, "@codebot look"));
    let update = crate::command::UpdateMember { member: codebot, name: Some("coder".into()), ..Default::default() };
    world.done(alice, Command::UpdateMember(update));
    let sent = quiet(&mut world);
    assert_eq!((wakes(&sent)[0].agent, wakes(&sent)[0].agent_name.as_str()), (codebot, "coder"));
}

#[test]
fn one_message_wakes_at_most_10_agents_and_its_sender_learns_whom_it_did_not() {
    let Room { mut world, alice, general, .. } = room();
    let mut text = String::new();
    for number in 0..12 {
        let agent = world.agent(&format!("a{number}"));
        world.done(alice, Command::AddToChannel { channel: general, member: agent });
        text.push_str(&format!("@a{number} "));
    }
    let said = world.done(alice, say(general, &text));
    assert_eq!(deliveries(&said).len(), 10);
    let notice = notifications(&said).into_iter().find(|notice| notice.member == alice).unwrap();
    assert_eq!((notice.kind.as_str(), notice.body.as_str()), ("wake_refused", "not woken: a10, a11"));
}

#[test]
fn times_are_the_hubs_own_and_a_clock_that_steps_back_loses_no_wake() {
    let Room { mut world, alice, general, .. } = room();
    world.done(alice, say(general, "@codebot look"));
    world.later(-60_000);
    let second = only(&world.done(alice, say(general, "more")));
    assert_eq!(second.due_at, world.now + 300, "the pause is counted from now");
    assert_eq!(wakes(&quiet(&mut world)).len(), 1);
}
