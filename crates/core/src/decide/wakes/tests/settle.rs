//! How wakes end: answers, passes, failures, runs, and who takes them back.

use super::support::runs::new_run;
use super::support::world::{deliveries, notifications, wakes};
use super::{Room, now, quiet, room, woken};
use crate::command::{Command, Reply, Send, Stage};
use crate::delivery::{Delivery, DeliveryState};
use crate::ids::*;
use crate::{Refusal, refusal};

#[test]
fn an_agent_that_thinks_or_types_has_taken_its_wake() {
    for typing in [false, true] {
        let mut room = room();
        let delivery = woken(&mut room);
        let Room { mut world, codebot, general, .. } = room;
        let command = match typing {
            true => Command::Typing { channel: general, on: true, color: None },
            false => Command::Thinking { channel: general },
        };
        world.done(codebot, command.clone());
        assert_eq!(now(&world, delivery.id).state, DeliveryState::Admitted);
        assert!(deliveries(&world.done(codebot, command)).is_empty(), "once is enough");
    }
}

#[test]
fn a_message_of_the_agent_answers_its_oldest_open_wake_there() {
    let mut room = room();
    let (first, second) = (woken(&mut room), woken(&mut room));
    let Room { mut world, codebot, general, .. } = room;
    let answer = world.say(codebot, general, "done");
    let over = now(&world, first.id);
    assert_eq!((over.state, over.reply), (DeliveryState::Answered, Some(answer.id)));
    assert!(now(&world, second.id).is_open());
    assert_eq!((answer.root, answer.depth), (Some(first.root), 1));
}

#[test]
fn a_reply_below_the_message_that_woke_answers_too_and_one_elsewhere_does_not() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, alice, codebot, general, .. } = room;
    let other = world.say(alice, general, "another thing");
    world.reply(codebot, &other, "not about that");
    assert!(now(&world, delivery.id).is_open());
    let trigger = world.stored(delivery.messages[0]);
    world.reply(codebot, &trigger, "looked");
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Answered);
}

#[test]
fn an_agent_that_rests_after_a_refused_answer_has_given_its_wake_up_and_its_next_answers_the_next() {
    let too_long = "x".repeat(10_001);
    for draft in [false, true] {
        let mut room = room();
        let (first, second) = (woken(&mut room), woken(&mut room));
        let Room { mut world, alice, codebot, general, .. } = room;
        let command = match draft {
            true => Command::CreateDraft { channel: general, thread: None, content: too_long.clone() },
            false => Command::Send(Send { channel: general, content: too_long.clone(), ..Send::default() }),
        };
        assert_eq!(world.refused_with(codebot, command).0, refusal::CONTENT_TOO_LONG);
        assert!(now(&world, first.id).is_open(), "it may try again");
        let rest = world.done(codebot, Command::Sleep);
        let told = notifications(&rest);
        assert_eq!((told.len(), told[0].member), (1, alice), "who asked is told");
        let over = now(&world, first.id);
        assert_eq!(over.state, DeliveryState::Failed);
        assert!(over.why.as_deref().is_some_and(|why| why.contains("too long")), "{over:?}");
        let answer = world.say(codebot, general, "short");
        assert_eq!(now(&world, second.id).reply, Some(answer.id), "and not taken for the first");
    }
}

#[test]
fn an_agent_that_tries_again_with_less_answers_after_all() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, codebot, general, .. } = room;
    let long = Command::Send(Send { channel: general, content: "x".repeat(10_001), ..Send::default() });
    world.refused_with(codebot, long);
    let answer = world.say(codebot, general, "short");
    assert_eq!(now(&world, delivery.id).reply, Some(answer.id));
    assert!(notifications(&world.done(codebot, Command::Sleep)).is_empty());
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Answered);
}

#[test]
fn a_text_that_is_refused_for_its_length_changes_nothing_where_nobody_waits_for_it() {
    let Room { mut world, alice, codebot, general, .. } = room();
    for speaker in [alice, codebot] {
        let long = Command::Send(Send { channel: general, content: "x".repeat(10_001), ..Send::default() });
        assert_eq!(world.refused(speaker, long), refusal::CONTENT_TOO_LONG);
    }
}

fn answer_to(delivery: &Delivery, text: &str, key: Option<&str>) -> Command {
    Command::Send(Send {
        channel: delivery.channel.unwrap(),
        content: text.to_owned(),
        delivery: Some(delivery.id),
        key: key.map(str::to_owned),
        ..Send::default()
    })
}

#[test]
fn a_wake_is_answered_once() {
    let mut room = room();
    let (first, second) = (woken(&mut room), woken(&mut room));
    let Room { mut world, codebot, pi, .. } = room;
    world.done(codebot, answer_to(&second, "to the second", Some("k")));
    assert_eq!(now(&world, second.id).state, DeliveryState::Answered);
    assert!(now(&world, first.id).is_open());
    assert_eq!(world.refused(codebot, answer_to(&second, "again", None)), refusal::DELIVERY_ANSWERED);
    let again = world.done(codebot, answer_to(&second, "to the second", Some("k")));
    assert!(matches!(again.reply, Reply::Sent { repeated: true, .. }));
    assert_eq!(world.refused(pi, answer_to(&first, "mine?", None)), refusal::NOT_YOUR_DELIVERY);
    let unknown = Delivery { id: DeliveryId(1), ..first };
    assert_eq!(world.refused(codebot, answer_to(&unknown, "?", None)), refusal::DELIVERY_NOT_FOUND);
}

#[test]
fn a_wake_belongs_to_its_channel() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, alice, codebot, .. } = room;
    let elsewhere = world.channel("elsewhere", &[alice, codebot]);
    let wrong = Delivery { channel: Some(elsewhere), ..delivery };
    let refused = world.refused(codebot, answer_to(&wrong, "here", None));
    assert_eq!(refused, Refusal::bad_request("this wake belongs to another channel"));
}

#[test]
fn a_live_message_takes_the_wake_and_its_end_answers_it() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, codebot, general, .. } = room;
    let text = |stage| Command::Send(Send { channel: general, content: "so".into(), stage, ..Send::default() });
    world.done(codebot, text(Stage::Partial));
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Admitted);
    world.done(codebot, text(Stage::Final));
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Answered);
}

#[test]
fn an_agent_passes_and_says_why() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, alice, codebot, pi, .. } = room;
    let pass = || Command::PassDelivery { delivery: delivery.id, why: Some("not my area".into()) };
    assert_eq!(world.refused(pi, pass()), refusal::NOT_YOUR_DELIVERY);
    assert_eq!(world.refused(alice, pass()), refusal::NOT_AUTHORIZED);
    let passed = world.done(codebot, pass());
    assert!(notifications(&passed).is_empty());
    let over = now(&world, delivery.id);
    assert_eq!((over.state, over.why.as_deref()), (DeliveryState::Passed, Some("not my area")));
    assert_eq!(world.refused(codebot, pass()), Refusal::conflict("this wake is over (passed)"));
}

#[test]
fn a_failure_is_told_to_the_sender_and_wakes_nobody() {
    let Room { mut world, codebot, pi, general, .. } = room();
    world.say(codebot, general, "@pi please");
    quiet(&mut world);
    let delivery = world.state.deliveries().of_agent(pi).next().unwrap().clone();
    let failed = world.done(pi, Command::FailDelivery { delivery: delivery.id, why: "the engine is gone".into() });
    let notice = notifications(&failed)[0].clone();
    assert_eq!((notice.member, notice.kind.as_str()), (codebot, "delivery_failed"));
    assert_eq!((notice.title.as_str(), notice.body.as_str()), ("pi could not take your message", "the engine is gone"));
    assert!(wakes(&failed).is_empty() && wakes(&world.time_passes(10_000)).is_empty());
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Failed);
}

#[test]
fn a_wake_that_joined_a_run_is_taken_and_not_answered_by_other_talk() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, codebot, general, .. } = room;
    let join = |run| Command::JoinDelivery { delivery: delivery.id, run: RunId(run) };
    let workspace = world.workspace;
    for run in [RunId(7), RunId(8)] {
        world.store(new_run(run, workspace, general, codebot));
    }
    world.done(codebot, join(7));
    let taken = now(&world, delivery.id);
    assert_eq!((taken.state, taken.run), (DeliveryState::Admitted, Some(RunId(7))));
    assert_eq!(world.refused(codebot, join(8)), Refusal::conflict("this wake has a run already"));
    world.say(codebot, general, "by the way");
    assert!(now(&world, delivery.id).is_open());
}

#[test]
fn its_sender_and_admins_take_a_wake_back() {
    let mut room = room();
    let delivery = woken(&mut room);
    let Room { mut world, alice, bob, codebot, .. } = room;
    let cancel = || Command::CancelDelivery { delivery: delivery.id };
    assert_eq!(world.refused(bob, cancel()), refusal::NOT_AUTHORIZED);
    assert_eq!(world.refused(codebot, cancel()), refusal::NOT_AUTHORIZED);
    let (_, stranger) = world.register("stranger");
    assert_eq!(world.refused(stranger, cancel()), refusal::DELIVERY_NOT_FOUND);
    world.done(alice, cancel());
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Cancelled);
    assert_eq!(world.refused(alice, cancel()), Refusal::conflict("this wake is over (cancelled)"));
    assert_eq!(
        world.refused(codebot, answer_to(&delivery, "late", None)),
        Refusal::conflict("this wake is over (cancelled)")
    );
}

#[test]
fn a_quiet_message_tells_people_and_wakes_nobody() {
    let Room { mut world, alice, bob, codebot, general, .. } = room();
    let send = |content: &str, thread| {
        let content = content.to_owned();
        Command::Send(Send { channel: general, content, thread, is_quiet: true, ..Send::default() })
    };
    let said = world.done(alice, send("@codebot and @bob, look", None));
    assert!(deliveries(&said).is_empty());
    assert_eq!(notifications(&said).iter().map(|it| it.member).collect::<Vec<_>>(), [bob]);
    let answer = world.say(codebot, general, "I am at it");
    assert!(deliveries(&world.done(alice, send("what do you think, bob?", Some(answer.id)))).is_empty());
    // It joins no wake that waits for more, either.
    let first = deliveries(&world.done(alice, super::support::world::say(general, "@codebot begin")))[0].clone();
    world.done(alice, send("between us", None));
    assert_eq!(now(&world, first.id).messages.len(), 1);
}
