//! Waking agents: the four triggers, the bundled context, and what wakes nobody.

use super::support::world::{notifications, presences, register_daemon, reply, say, wakes};
use super::{World, task};
use crate::command::{Command, UpdateTask, WakeAbout};
use crate::decide::Decision;
use crate::decide::tests::{Room, connected_room as room};
use crate::delivery::WakeReason;
use crate::event::{Audience, Event};
use crate::ids::*;
use crate::model::*;
use crate::{Actor, Refusal, refusal};

fn reasons(decision: &Decision) -> Vec<(MemberId, WakeReason)> {
    wakes(decision).iter().map(|wake| (wake.agent, wake.reason)).collect()
}

#[test]
fn a_mention_wakes_the_agent() {
    let Room { mut world, alice, codebot, general } = room();
    let decision = world.woken_by(alice, say(general, "Hey @codebot, can you review this PR?"));
    assert_eq!(reasons(&decision), [(codebot, WakeReason::Mention)]);
    let wake = wakes(&decision)[0];
    assert_eq!((wake.agent_name.as_str(), wake.channel), ("codebot", Some(general)));
    assert_eq!(wake.through, None);
    assert!(wake.thread.is_none() && wake.task.is_none());
    assert!(wakes(&world.woken_by(alice, say(general, "codebot sleeps"))).is_empty());
}

#[test]
fn a_direct_message_wakes_the_agent() {
    let Room { mut world, alice, codebot, .. } = room();
    let dm = world.direct(&[alice, codebot]);
    assert_eq!(reasons(&world.woken_by(alice, say(dm, "are you there?"))), [(codebot, WakeReason::Dm)]);
}

#[test]
fn a_reply_in_the_agents_thread_wakes_it_with_the_thread() {
    let Room { mut world, alice, codebot, general } = room();
    let root = world.say(codebot, general, "I changed three files");
    world.reply(alice, &root, "which?");
    let decision = world.woken_by(alice, reply(&root, "and why?"));
    assert_eq!(reasons(&decision), [(codebot, WakeReason::ThreadReply)]);
    let thread = wakes(&decision)[0].thread.as_ref().unwrap();
    assert_eq!((thread.root.id, thread.root.reply_count), (root.id, 2));
    let replies: Vec<_> = thread.replies.iter().map(|reply| reply.content.as_str()).collect();
    assert_eq!(replies, ["which?", "and why?"]);
    let other = world.say(alice, general, "my own thread");
    assert!(wakes(&world.woken_by(alice, reply(&other, "talking to myself"))).is_empty());
}

#[test]
fn an_assigned_task_wakes_the_agent_with_the_channel() {
    let Room { mut world, alice, codebot, general } = room();
    let unassigned = task(&world, None, Some(general));
    assert!(wakes(&world.done(alice, Command::CreateTask(unassigned))).is_empty());
    let assigned = task(&world, Some(codebot), Some(general));
    let decision = world.done(alice, Command::CreateTask(assigned));
    assert_eq!(reasons(&decision), [(codebot, WakeReason::TaskAssigned)]);
    let wake = wakes(&decision)[0];
    assert_eq!(wake.channel, Some(general));
    assert_eq!(wake.task.as_ref().map(|task| task.title.as_str()), Some("Mend the build"));
    assert!(wake.recent.is_empty());
    assert!(decision.events.iter().any(|event| matches!(event, Event::TaskAssigned { to, .. } if *to == codebot)));
}

#[test]
fn a_task_that_is_assigned_later_wakes_too_and_only_once() {
    let Room { mut world, alice, codebot, .. } = room();
    let create = task(&world, None, None);
    let crate::Reply::Task(task) = world.done(alice, Command::CreateTask(create)).reply else { panic!() };
    let assign =
        || Command::UpdateTask(UpdateTask { task: task.id, assigned_to: Some(Some(codebot)), ..UpdateTask::default() });
    assert_eq!(reasons(&world.done(alice, assign())), [(codebot, WakeReason::TaskAssigned)]);
    assert!(wakes(&world.done(alice, assign())).is_empty(), "it has the task already");
}

#[test]
fn a_wake_bundles_the_20_newest_messages_oldest_first_and_ends_with_the_trigger() {
    let Room { mut world, alice, general, .. } = room();
    let root = world.say(alice, general, "m0");
    world.reply(alice, &root, "m1");
    for number in 2..=24 {
        world.say(alice, general, &format!("m{number}"));
    }
    let last = world.say(alice, general, "m25");
    world.done(alice, Command::DeleteMessage { message: last.id });
    let decision = world.woken_by(alice, say(general, "@codebot sum up"));
    let bundled: Vec<_> = wakes(&decision)[0].recent.iter().map(|message| message.content.clone()).collect();
    let mut expected: Vec<_> = (6..=24).map(|number| format!("m{number}")).collect();
    expected.push("@codebot sum up".to_owned());
    assert_eq!(bundled, expected);
}

#[test]
fn nobody_wakes_himself() {
    let Room { mut world, alice, codebot, general } = room();
    assert!(wakes(&world.woken_by(codebot, say(general, "I am @codebot"))).is_empty());
    let dm = world.direct(&[alice, codebot]);
    assert!(wakes(&world.woken_by(codebot, say(dm, "hello"))).is_empty());
    let mine = world.say(codebot, general, "mine");
    assert!(wakes(&world.woken_by(codebot, reply(&mine, "still mine"))).is_empty());
    let own = task(&world, Some(codebot), None);
    assert!(wakes(&world.done(codebot, Command::CreateTask(own))).is_empty());
}

#[test]
fn one_message_wakes_an_agent_once_for_the_strongest_reason() {
    let Room { mut world, alice, codebot, .. } = room();
    let dm = world.direct(&[alice, codebot]);
    let root = world.say(codebot, dm, "done");
    let decision = world.woken_by(alice, reply(&root, "@codebot @CodeBot thanks"));
    assert_eq!(reasons(&decision), [(codebot, WakeReason::Mention)]);
    assert_eq!(notifications(&decision).len(), 1);
    assert!(wakes(&decision)[0].thread.is_some(), "the thread is bundled whatever the reason");
}

#[test]
fn a_mention_wakes_only_agents_that_are_in_the_channel() {
    let Room { mut world, alice, codebot, general } = room();
    let other = world.agent("other");
    world.connect(other);
    let back = world.private("back", &[alice]);
    assert!(world.woken_by(alice, say(back, "@codebot @other secret")).events.len() == 1);
    assert_eq!(reasons(&world.woken_by(alice, say(general, "@codebot @other"))), [(codebot, WakeReason::Mention)]);
}

#[test]
fn people_are_notified_and_not_woken() {
    let Room { mut world, alice, codebot, general } = room();
    world.connect(alice);
    let decision = world.woken_by(codebot, say(general, "@alice done"));
    assert!(wakes(&decision).is_empty());
    assert_eq!(notifications(&decision).len(), 1);
}

#[test]
fn an_agent_wakes_another_agent() {
    let Room { mut world, alice, codebot, general } = room();
    let reviewer = world.agent("reviewer");
    world.connect(reviewer);
    world.done(alice, Command::AddToChannel { channel: general, member: reviewer });
    assert_eq!(reasons(&world.woken_by(codebot, say(general, "@reviewer please"))), [(reviewer, WakeReason::Mention)]);
}

#[test]
fn an_offline_agent_finds_it_in_its_inbox_instead() {
    let Room { mut world, alice, codebot, general } = room();
    let connection = world.state.connections_of(codebot)[0];
    world.disconnect(codebot, connection);
    let decision = world.woken_by(alice, say(general, "@codebot later"));
    assert!(wakes(&decision).is_empty());
    assert_eq!(notifications(&decision).len(), 1);
}

#[test]
fn awake_and_sleeping_agents_are_woken_and_a_sleeping_one_is_online_then() {
    let Room { mut world, alice, codebot, general } = room();
    let awake = world.woken_by(alice, say(general, "@codebot awake?"));
    assert_eq!((wakes(&awake).len(), presences(&awake)), (1, vec![]));
    world.done(codebot, Command::Sleep);
    let asleep = world.woken_by(alice, say(general, "@codebot asleep?"));
    assert_eq!((wakes(&asleep).len(), presences(&asleep)), (1, vec![(codebot, Presence::Online)]));
    assert_eq!(world.presence(codebot), Presence::Online);
}

#[test]
fn a_preference_for_quiet_holds_for_wakes_too() {
    let Room { mut world, alice, codebot, general } = room();
    world.done(codebot, Command::SetNotifyPreference { channel: general, notify: NotifyPreference::None });
    assert!(wakes(&world.woken_by(alice, say(general, "@codebot"))).is_empty());
    world.done(codebot, Command::SetNotifyPreference { channel: general, notify: NotifyPreference::All });
    assert_eq!(wakes(&world.woken_by(alice, say(general, "@codebot"))).len(), 1);
}

#[test]
fn a_carried_agent_is_woken_through_its_daemons_connection() {
    let mut world = World::new();
    let alice = world.alice;
    let codebot = world.agent("codebot");
    let general = world.channel("general", &[alice, codebot]);
    let daemon = world.daemon(alice, &[codebot]);
    let decision = world.woken_by(alice, say(general, "@codebot"));
    let wake = decision.events.iter().find(|event| matches!(event, Event::Woken(_))).unwrap();
    assert_eq!(wake.audience(&world.state), Audience::Connection(daemon));
    assert_eq!(wakes(&decision)[0].agent_name, "codebot");
    world.disconnect(alice, daemon);
    assert!(wakes(&world.woken_by(alice, say(general, "@codebot"))).is_empty());
}

#[test]
fn an_operator_wakes_an_agent_by_hand() {
    let Room { mut world, alice, codebot, .. } = room();
    let admin = world.admin("admin");
    let bob = world.add(admin, MemberKind::Human, "bob", None);
    let wake = || Command::WakeAgent { agent: codebot, about: None };
    let decision = world.done(alice, wake());
    assert_eq!(reasons(&decision), [(codebot, WakeReason::Manual)]);
    assert_eq!(world.refused(bob, wake()), refusal::NOT_AUTHORIZED);
    assert_eq!(world.refused(alice, Command::WakeAgent { agent: bob, about: None }), refusal::NOT_AUTHORIZED);
    assert_eq!(world.refused(alice, Command::WakeAgent { agent: MemberId(1), about: None }), refusal::MEMBER_NOT_FOUND);
    let connection = world.state.connections_of(codebot)[0];
    world.disconnect(codebot, connection);
    assert_eq!(world.refused(alice, wake()), Refusal::conflict("the agent is offline"));
}

#[test]
fn registering_another_workspaces_agent_diverts_no_wake() {
    let Room { mut world, alice, codebot, general } = room();
    let (_, stranger) = world.register("stranger");
    let connection = world.connect(stranger);
    world.done(Actor::connected(stranger, Door::Lark, connection), register_daemon(&[codebot]));
    let decision = world.woken_by(alice, say(general, "@codebot still mine?"));
    assert_eq!(wakes(&decision)[0].through, None);
}

fn about_message(message: MessageId) -> WakeAbout {
    WakeAbout::Message { channel: None, message }
}

#[test]
fn a_wake_by_hand_in_a_channel_bundles_what_is_said_there() {
    let Room { mut world, alice, codebot, general } = room();
    let newest = world.say(alice, general, "the build is red");
    let woken = world.done(alice, Command::WakeAgent { agent: codebot, about: Some(WakeAbout::Channel(general)) });
    let wake = wakes(&woken)[0];
    assert_eq!((wake.channel, wake.recent.last().map(|last| last.id)), (Some(general), Some(newest.id)));
}

#[test]
fn a_wake_by_hand_about_a_message_bundles_it_and_is_a_delivery_of_who_asked() {
    let Room { mut world, alice, codebot, general } = room();
    let message = world.say(alice, general, "the build is red");
    world.say(alice, general, "and lunch is at twelve");
    let about = || Command::WakeAgent { agent: codebot, about: Some(about_message(message.id)) };
    world.done(alice, about());
    let sent = world.time_passes(0);
    assert_eq!(reasons(&sent), [(codebot, WakeReason::Manual)]);
    let wake = wakes(&sent)[0];
    assert_eq!((wake.channel, wake.recent.last().map(|last| last.id)), (Some(general), Some(message.id)));
    let delivery = wake.delivery.clone().unwrap();
    assert_eq!((delivery.sender, delivery.messages.clone()), (alice, vec![message.id]));
    let answer = world.say(codebot, general, "it is green again");
    assert_eq!(world.delivery(delivery.id).reply, Some(answer.id));
}

#[test]
fn a_wake_by_hand_with_words_says_them_in_the_channel_and_wakes_once() {
    for words in ["look at the build", "@codebot look at the build"] {
        let Room { mut world, alice, codebot, general } = room();
        let about = WakeAbout::Words { channel: general, content: words.to_owned() };
        let said = world.woken_by(alice, Command::WakeAgent { agent: codebot, about: Some(about) });
        let [wake] = wakes(&said)[..] else { panic!("{words}: {said:?}") };
        assert_eq!(wake.recent.last().map(|last| (last.sender, last.content.as_str())), Some((alice, words)));
    }
}

#[test]
fn a_wake_by_hand_tells_nobody_of_what_they_may_not_see() {
    let Room { mut world, alice, codebot, general } = room();
    let secret = world.private("secret", &[alice]);
    let message = world.say(alice, secret, "the plan");
    let about = |about| Command::WakeAgent { agent: codebot, about: Some(about) };
    let outside = Refusal::conflict("the agent is not in this channel");
    assert_eq!(world.refused(alice, about(about_message(message.id))), outside);
    let words = WakeAbout::Words { channel: secret, content: "hush".into() };
    assert_eq!(world.refused(alice, about(words)), outside);
    assert_eq!(world.refused(alice, about(WakeAbout::Channel(secret))), outside);
    let elsewhere = WakeAbout::Message { channel: Some(general), message: message.id };
    assert_eq!(world.refused(alice, about(elsewhere)), refusal::MESSAGE_NOT_FOUND);
    let admin = world.admin("admin");
    assert_eq!(world.refused(admin, about(about_message(message.id))), refusal::MESSAGE_NOT_FOUND);
    let words = WakeAbout::Words { channel: general, content: "hello".into() };
    assert_eq!(world.refused(admin, about(words.clone())), refusal::NOT_CHANNEL_MEMBER);
    assert_eq!(world.refused(codebot, about(words)), refusal::NOT_AUTHORIZED, "nobody wakes himself");
}
