//! Wakes and what comes of them: windows, states, answers, absence, expiry.

use super::support::World;
use super::support::runs::new_run;
use super::support::world::{deliveries, notifications, reply, say, wakes};
use crate::command::{Command, CreateTask, Reply, Send, Stage, UpdateTask};
use crate::decide::Decision;
use crate::delivery::{Delivery, DeliveryState, WakeRules};
use crate::event::WakeReason;
use crate::ids::*;
use crate::model::*;
use crate::{Actor, Refusal, refusal};

struct Room {
    world: World,
    alice: MemberId,
    bob: MemberId,
    codebot: MemberId,
    pi: MemberId,
    general: ChannelId,
}

/// Two people and two agents that are connected, in one channel.
fn room() -> Room {
    let mut world = World::new();
    let alice = world.alice;
    let bob = world.human("bob");
    let (codebot, pi) = (world.agent("codebot"), world.agent("pi"));
    let general = world.channel("general", &[alice, bob, codebot, pi]);
    world.connect(codebot);
    world.connect(pi);
    Room { world, alice, bob, codebot, pi, general }
}

/// The window ends.
fn quiet(world: &mut World) -> Decision {
    world.time_passes(300)
}

fn texts(world: &World, delivery: &Delivery) -> Vec<String> {
    delivery.messages.iter().map(|id| world.stored(*id).content).collect()
}

/// A delivery as it is stored now.
fn now(world: &World, id: DeliveryId) -> Delivery {
    world.delivery(id)
}

fn only(decision: &Decision) -> Delivery {
    let found = deliveries(decision);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// alice mentions codebot, and codebot is woken.
fn woken(room: &mut Room) -> Delivery {
    let opened = only(&room.world.done(room.alice, say(room.general, "@codebot look")));
    quiet(&mut room.world);
    now(&room.world, opened.id)
}

// The window.

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
fn what_comes_after_the_window_is_another_matter() {
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
fn typing_keeps_the_window_open_and_its_end_lets_it_end() {
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
fn a_text_that_is_edited_within_the_window_wakes_whom_it_says_now() {
    let Room { mut world, alice, codebot, pi, general, .. } = room();
    let said = world.done(alice, say(general, "@codebot look"));
    let (first, message) = (only(&said), super::support::world::message_of(&said));
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
    assert_eq!(second.due_at, world.now + 300, "the window is counted from now");
    assert_eq!(wakes(&quiet(&mut world)).len(), 1);
}

// States.

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

// Absence.

fn offline(room: &mut Room) -> MemberId {
    let connection = room.world.state.connections_of(room.codebot)[0];
    room.world.disconnect(room.codebot, connection);
    room.codebot
}

fn hello() -> Command {
    Command::Hello { role_card: RoleCard::default(), runtime: None }
}

#[test]
fn an_agent_that_is_offline_when_the_window_ends_has_it_waiting() {
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
    let register = || super::support::world::register_daemon(&[codebot]);
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
    assert!(wakes(&world.done(codebot, hello())).is_empty(), "its window has not ended");
    assert_eq!(wakes(&quiet(&mut world)).len(), 1);
    assert!(wakes(&world.time_passes(10_000)).is_empty());
}

// Expiry.

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

// Tasks.

fn task(world: &World, agent: MemberId, channel: Option<ChannelId>) -> Command {
    Command::CreateTask(CreateTask {
        workspace: world.workspace,
        channel,
        message: None,
        title: "Mend the build".to_owned(),
        description: String::new(),
        priority: Priority::High,
        assigned_to: Some(agent),
    })
}

fn task_of(decision: &Decision) -> TaskId {
    let Reply::Task(task) = &decision.reply else { panic!("{:?}", decision.reply) };
    task.id
}

#[test]
fn a_task_wakes_at_once_and_its_way_is_the_wakes_way() {
    let Room { mut world, alice, codebot, general, .. } = room();
    let command = task(&world, codebot, Some(general));
    let assigned = world.done(alice, command);
    assert_eq!(wakes(&assigned).len(), 1);
    let delivery = only(&assigned);
    assert_eq!((delivery.state, delivery.task), (DeliveryState::Leased, Some(task_of(&assigned))));
    world.done(codebot, Command::ClaimTask { task: task_of(&assigned) });
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Admitted);
    let done = UpdateTask { task: task_of(&assigned), status: Some(TaskStatus::Done), ..UpdateTask::default() };
    world.done(codebot, Command::UpdateTask(done));
    assert_eq!(now(&world, delivery.id).state, DeliveryState::Answered);
}

#[test]
fn a_task_that_is_taken_away_takes_its_wake_with_it() {
    let Room { mut world, alice, codebot, pi, .. } = room();
    let command = task(&world, codebot, None);
    let assigned = world.done(alice, command);
    let first = only(&assigned);
    let to_pi = UpdateTask { task: task_of(&assigned), assigned_to: Some(Some(pi)), ..UpdateTask::default() };
    let moved = world.done(alice, Command::UpdateTask(to_pi));
    assert_eq!(now(&world, first.id).state, DeliveryState::Cancelled);
    let second = deliveries(&moved).into_iter().find(|delivery| delivery.agent == pi).unwrap().id;
    world.done(alice, Command::DeleteTask { task: task_of(&assigned) });
    assert_eq!(now(&world, second).state, DeliveryState::Cancelled);
}
