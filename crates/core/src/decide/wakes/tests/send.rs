//! Sending: what waits for an agent that is away, what is sent again, what expires.

use super::support::runs::new_run;
use super::support::world::{deliveries, notifications, register_daemon, reply, say, wakes};
use super::{Room, now, only, quiet, room, woken};
use crate::Actor;
use crate::command::Command;
use crate::delivery::DeliveryState;
use crate::ids::*;
use crate::model::*;

fn offline(room: &mut Room) -> MemberId {
    let connection = room.world.state.connections_of(room.codebot)[0];
    room.world.disconnect(room.codebot, connection);
    room.codebot
}

fn hello() -> Command {
    Command::Hello { role_card: RoleCard::default(), runtime: None }
}

#[test]
fn an_agent_that_is_offline_when_the_pause_is_over_has_it_waiting() {
    let mut room = room();
    offline(&mut room);
    let delivery = woken(&mut room);
    assert_eq!((delivery.state, delivery.why.as_deref()), (DeliveryState::Queued, Some("offline")));
}

#[test]
fn on_its_return_an_agent_gets_one_wake_per_thread_with_what_it_missed() {
    let mut room = room();
    let codebot = offline(&mut room);
    let (first, second) = (woken(&mut room), woken(&mut room));
    let Room { mut world, bob, general, .. } = room;
    let third = only(&world.done(bob, say(general, "@codebot and this")));
    quiet(&mut world);
    let root = world.stored(first.messages[0]);
    let in_thread = only(&world.done(bob, reply(&root, "@codebot here too")));
    quiet(&mut world);
    world.connect(codebot);
    let back = world.done(codebot, hello());
    assert_eq!(wakes(&back).len(), 2);
    let one = now(&world, first.id);
    assert_eq!((one.state, one.messages.len()), (DeliveryState::Leased, 3));
    assert_eq!(now(&world, in_thread.id).state, DeliveryState::Leased);
    for joined in [second, third] {
        let over = now(&world, joined.id);
        assert_eq!((over.state, over.why), (DeliveryState::Cancelled, Some(format!("joined {}", first.id))));
    }
    assert!(wakes(&world.done(codebot, hello())).is_empty(), "what it was sent here is not sent again");
}

#[test]
fn what_was_sent_before_a_connection_was_lost_is_sent_again_with_the_same_id() {
    let mut room = room();
    let delivery = woken(&mut room);
    let codebot = offline(&mut room);
    let Room { mut world, .. } = room;
    world.connect(codebot);
    let back = world.done(codebot, hello());
    assert_eq!(wakes(&back)[0].delivery.as_ref().map(|sent| sent.id), Some(delivery.id));
}

#[test]
fn after_a_restart_of_the_hub_what_was_taken_is_sent_again_with_its_run() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, codebot, general, .. } = room;
    world.store(new_run(RunId(7), world.workspace, general, codebot));
    world.done(codebot, Command::JoinDelivery { delivery: delivery.id, run: RunId(7) });
    world.state = world.ledger.load();
    world.connect(codebot);
    let back = world.done(codebot, hello());
    let sent = wakes(&back)[0].delivery.clone().unwrap();
    assert_eq!((sent.id, sent.run, sent.state), (delivery.id, Some(RunId(7)), DeliveryState::Admitted));
}

#[test]
fn a_daemon_that_takes_an_agent_up_gets_its_wakes() {
    let mut room = room();
    let codebot = offline(&mut room);
    let delivery = woken(&mut room);
    let Room { mut world, alice, .. } = room;
    let daemon = world.connect(alice);
    let register = || register_daemon(&[codebot]);
    let actor = Actor::connected(alice, Door::Lark, daemon);
    let taken = world.done(actor, register());
    assert_eq!((wakes(&taken)[0].through, wakes(&taken)[0].agent), (Some(daemon), codebot));
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Leased);
    assert!(wakes(&world.done(actor, register())).is_empty(), "the same daemon has it already");
    let other = world.connect(alice);
    let elsewhere = world.done(Actor::connected(alice, Door::Lark, other), register());
    assert_eq!(wakes(&elsewhere)[0].through, Some(other));
}

#[test]
fn a_restart_between_the_message_and_its_wake_wakes_once() {
    let Room { mut world, alice, codebot, general, .. } = room();
    world.done(alice, say(general, "@codebot look"));
    world.state = world.ledger.load();
    world.connect(codebot);
    assert!(wakes(&world.done(codebot, hello())).is_empty(), "its sender has not paused");
    assert_eq!(wakes(&quiet(&mut world)).len(), 1);
    assert!(wakes(&world.time_passes(10_000)).is_empty());
}

#[test]
fn a_wake_nobody_takes_up_in_7_days_expires_and_its_sender_is_told() {
    let mut room = room();
    offline(&mut room);
    let delivery = woken(&mut room);
    let Room { mut world, alice, .. } = room;
    let week = 7 * 24 * 60 * 60 * 1000;
    assert_eq!(delivery.expires_at, delivery.created_at + week);
    assert!(deliveries(&world.time_passes(week - 301)).is_empty());
    let late = world.time_passes(1);
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Expired);
    let notice = notifications(&late)[0];
    assert_eq!(
        (notice.member, notice.kind.as_str(), notice.title.as_str()),
        (alice, "delivery_expired", "codebot did not answer")
    );
    assert_eq!(world.state.next_deadline(), None);
}

#[test]
fn what_a_run_works_on_does_not_expire() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, codebot, general, .. } = room;
    world.store(new_run(RunId(7), world.workspace, general, codebot));
    world.done(codebot, Command::JoinDelivery { delivery: delivery.id, run: RunId(7) });
    world.time_passes(8 * 24 * 60 * 60 * 1000);
    assert!(now(&world, delivery.id).is_open());
    assert!(world.state.next_deadline().unwrap() > world.now);
}
