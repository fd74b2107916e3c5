//! Where agents that go on among themselves are stopped, and how people let them continue or not.

use std::sync::Arc;

use super::support::World;
use super::support::runs::complete;
use super::support::world::{approvals, deliveries, message_of, reply, say, wakes};
use crate::command::{Command, CreateTask, Reply, RequestApproval};
use crate::decide::Decision;
use crate::decide::wakes::hold::Held;
use crate::decide::wakes::loop_guard::Limit;
use crate::delivery::{DeliveryState, WakeRules};
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Code};
use crate::run::*;

/// People and connected agents in one channel.
struct Room {
    world: World,
    alice: MemberId,
    bob: MemberId,
    agents: Vec<MemberId>,
    general: ChannelId,
}

fn room(agents: usize) -> Room {
    let mut world = World::new();
    let alice = world.alice;
    let bob = world.human("bob");
    let agents: Vec<_> = (0..agents).map(|number| world.agent(&format!("a{number}"))).collect();
    let mut members = vec![alice, bob];
    members.extend(&agents);
    let general = world.channel("general", &members);
    for agent in &agents {
        world.connect(*agent);
    }
    Room { world, alice, bob, agents, general }
}

impl Room {
    /// The agent answers its wake and calls the next one; true when that was said, false when it was held.
    fn calls(&mut self, from: usize, to: usize) -> bool {
        self.world.time_passes(1_000);
        let said = self.world.done(self.agents[from], say(self.general, &format!("@a{to} over to you")));
        said.refused.is_none()
    }

    fn begin(&mut self) {
        self.world.done(self.alice, say(self.general, "@a0 go"));
        self.world.time_passes(300);
    }

    /// The two call each other until they are stopped.
    fn quarrel(&mut self) -> Decision {
        for turn in 0..100 {
            self.world.time_passes(300);
            let (from, to) = (turn % 2, (turn + 1) % 2);
            let text = format!("@a{to} no, you ({turn})");
            let said = self.world.done(self.agents[from], say(self.general, &text));
            if said.refused.is_some() {
                return said;
            }
        }
        panic!("nobody stopped them");
    }

    fn decide(&mut self, approval: &Approval, approved: bool, scope: ApprovalScope) -> Decision {
        self.world.done(self.bob, decision(approval.id, approved, scope))
    }
}

fn decision(approval: ApprovalId, approved: bool, scope: ApprovalScope) -> Command {
    Command::DecideApproval { approval, approved, scope, note: None }
}

fn held(decision: &Decision) -> (Approval, Held) {
    assert_eq!(decision.refused.as_ref().map(|refusal| refusal.code), Some(Code::Held));
    let approval = approvals(decision)[0].clone();
    let held = serde_json::from_str(&approval.payload).unwrap();
    (approval, held)
}

#[test]
fn a_message_of_a_person_is_its_own_root() {
    let mut room = room(1);
    let first = room.world.say(room.alice, room.general, "hello");
    let second = room.world.reply(room.bob, &first, "hello yourself");
    assert_eq!((first.root_id(), first.depth), (first.id, 0));
    assert_eq!((second.root_id(), second.depth), (second.id, 0));
}

#[test]
fn an_agents_message_comes_from_the_wake_it_answers_then_the_thread_then_what_was_said_just_before() {
    let mut room = room(2);
    let asked = room.world.say(room.alice, room.general, "@a0 look");
    room.world.time_passes(300);
    let other = room.world.say(room.bob, room.general, "something else");
    let answer = room.world.say(room.agents[0], room.general, "looked");
    assert_eq!((answer.root_id(), answer.depth), (asked.id, 1), "the wake, though bob spoke last");
    let below = room.world.reply(room.agents[1], &answer, "so it is");
    assert_eq!((below.root_id(), below.depth), (asked.id, 2), "the thread");
    let nearby = room.world.say(room.agents[1], room.general, "as I said");
    assert_eq!((nearby.root_id(), nearby.depth), (asked.id, 2), "the newest of somebody else");
    room.world.say(room.bob, room.general, "well");
    room.world.later(120_001);
    let alone = room.world.say(room.agents[0], room.general, "good morning");
    assert_eq!((alone.root_id(), alone.depth), (alone.id, 0), "nothing near: a new root");
    assert_ne!(other.id, alone.id);
}

#[test]
fn agents_are_woken_by_agents_only_by_name_or_face_to_face() {
    let mut room = room(2);
    let (a0, a1) = (room.agents[0], room.agents[1]);
    let mine = room.world.say(a0, room.general, "mine");
    assert!(deliveries(&room.world.done(a1, reply(&mine, "a reply in its thread"))).is_empty());
    assert_eq!(deliveries(&room.world.done(a1, say(room.general, "@a0 by name"))).len(), 1);
    let direct = room.world.direct(&[a0, a1]);
    assert_eq!(deliveries(&room.world.done(a1, say(direct, "face to face"))).len(), 1);
    let asked = room.world.done(room.alice, reply(&mine, "a person's reply"));
    assert_eq!(deliveries(&asked).len(), 1);
}

#[test]
fn an_agent_wakes_nobody_by_quoting_or_showing_code() {
    let mut room = room(2);
    let text = "> @a1 said\n`@a1` in\n```\n@a1\n```\n\\@a1";
    assert!(deliveries(&room.world.done(room.agents[0], say(room.general, text))).is_empty());
    assert_eq!(deliveries(&room.world.done(room.alice, say(room.general, "see\n@a1"))).len(), 1);
}

#[test]
fn the_chain_ends_after_6_hops() {
    let mut room = room(9);
    room.begin();
    for hop in 0..6 {
        assert!(room.calls(hop, hop + 1), "hop {hop}");
    }
    room.world.time_passes(300);
    let said = room.world.done(room.agents[6], say(room.general, "@a7 over to you"));
    let (approval, text) = held(&said);
    assert_eq!((text.limit, text.text.as_str(), text.channel_id), (Limit::Depth, "@a7 over to you", room.general));
    assert_eq!(
        (approval.kind, approval.action.as_str(), approval.agent),
        (ApprovalKind::LoopGuard, "continue", room.agents[6])
    );
    assert!(deliveries(&said).iter().all(|delivery| delivery.agent == room.agents[6]), "nobody is woken");
    assert_eq!(deliveries(&said)[0].why.as_deref(), Some("held"));
    let quiet = room.world.done(room.agents[6], say(room.general, "the last word"));
    assert!(quiet.refused.is_none(), "an answer that calls nobody is no hop");
}

#[test]
fn a_root_has_12_wakes() {
    let mut room = room(20);
    room.world.state.set_wake_rules(WakeRules { mentions: 0, ..WakeRules::default() });
    room.begin();
    let many: String = (1..=12).map(|number| format!("@a{number} ")).collect();
    assert!(room.world.done(room.agents[0], say(room.general, &many)).refused.is_none());
    room.world.time_passes(300);
    let (_, text) = held(&room.world.done(room.agents[1], say(room.general, "@a13 you too")));
    assert_eq!(text.limit, Limit::Wakes);
}

#[test]
fn the_same_two_wake_each_other_twice_and_no_more() {
    let mut room = room(2);
    room.begin();
    let said = room.quarrel();
    let (_, text) = held(&said);
    assert_eq!((text.limit, text.text.as_str()), (Limit::Pair, "@a1 no, you (4)"));
}

#[test]
fn agents_that_need_no_wake_to_answer_each_other_are_stopped_after_8_turns() {
    let mut room = room(2);
    room.world.say(room.alice, room.general, "hello everybody");
    for turn in 0..8 {
        let said = room.world.done(room.agents[turn % 2], say(room.general, "hello to you too"));
        assert!(said.refused.is_none(), "turn {turn}");
    }
    let (_, text) = held(&room.world.done(room.agents[0], say(room.general, "hello to you too")));
    assert_eq!(text.limit, Limit::Row);
    room.world.say(room.bob, room.general, "stop it, you two");
    assert!(room.world.done(room.agents[0], say(room.general, "sorry")).refused.is_none(), "a person came between");
}

#[test]
fn one_agent_that_says_much_is_no_loop() {
    let mut room = room(2);
    room.world.say(room.alice, room.general, "report, please");
    for line in 0..20 {
        assert!(room.world.done(room.agents[0], say(room.general, &format!("line {line}"))).refused.is_none());
    }
}

#[test]
fn many_agents_that_report_into_one_channel_do_not_stop_each_other() {
    let mut room = room(5);
    for line in 0..40 {
        let said = room.world.done(room.agents[line % 2], say(room.general, "all is well"));
        assert!(said.refused.is_none(), "nobody asked for it, so it answers nothing");
    }
    room.world.say(room.alice, room.general, "report, please");
    for line in 0..40 {
        assert!(room.world.done(room.agents[line % 5], say(room.general, "all is well")).refused.is_none());
    }
}

#[test]
fn a_limit_of_0_is_none() {
    let mut room = room(2);
    room.world.state.set_wake_rules(WakeRules { depth: 0, wakes: 0, pair: 0, row: 0, ..WakeRules::default() });
    room.begin();
    for turn in 0..30 {
        assert!(room.calls(turn % 2, (turn + 1) % 2), "turn {turn}");
    }
}

#[test]
fn what_people_say_is_never_held() {
    let mut room = room(2);
    for _ in 0..40 {
        assert!(room.world.done(room.alice, say(room.general, "@a0 @a1 again")).refused.is_none());
        room.world.time_passes(300);
    }
}

#[test]
fn the_same_text_sent_again_is_the_same_question() {
    let mut room = room(2);
    room.begin();
    let (approval, text) = held(&room.quarrel());
    let again = room.world.done(approval.agent, say(room.general, &text.text));
    assert!(again.events.is_empty() && again.refused.is_some());
}

#[test]
fn once_posts_the_text_and_its_wakes_happen() {
    let mut room = room(2);
    room.begin();
    let (approval, text) = held(&room.quarrel());
    let decided = room.decide(&approval, true, ApprovalScope::Once);
    let posted = room.world.ledger.all_messages().find(|message| message.content == text.text).cloned().unwrap();
    assert_eq!((posted.sender, posted.root_id(), posted.depth), (approval.agent, text.root_id, text.depth));
    assert!(deliveries(&decided).iter().any(|delivery| delivery.state == DeliveryState::Answered));
    assert_eq!(wakes(&room.world.time_passes(1_000)).len(), 1);
    let next = room.world.done(room.agents[1], say(room.general, "@a0 no, you, really"));
    assert_eq!(held(&next).1.limit, Limit::Pair, "once is once");
}

#[test]
fn continue_grants_the_root_6_more() {
    let mut room = room(2);
    room.begin();
    let (approval, _) = held(&room.quarrel());
    room.decide(&approval, true, ApprovalScope::Run);
    let mut more = 0;
    while room.calls((more + 1) % 2, more % 2) {
        more += 1;
        assert!(more < 50, "it ends again");
    }
    assert!(more >= 5, "{more}");
}

#[test]
fn stop_closes_the_root_and_suppresses_later_wakes() {
    let mut room = room(3);
    room.begin();
    let (approval, text) = held(&room.quarrel());
    let decided = room.decide(&approval, false, ApprovalScope::Once);
    assert_eq!(deliveries(&decided)[0].state, DeliveryState::Suppressed, "the wake it would have answered");
    assert!(room.world.ledger.all_messages().all(|message| message.content != text.text));
    let said = room.world.done(room.agents[1], say(room.general, "@a2 then you"));
    assert!(said.refused.is_none());
    let suppressed = deliveries(&said).into_iter().find(|delivery| delivery.agent == room.agents[2]).unwrap();
    assert_eq!(suppressed.state, DeliveryState::Suppressed);
    assert!(wakes(&room.world.time_passes(1_000)).is_empty());
    let anew = room.world.done(room.alice, say(room.general, "@a2 something new"));
    assert_eq!(deliveries(&anew)[0].state, DeliveryState::Queued, "a person begins anew");
}

#[test]
fn nobody_decides_in_a_day_is_stop() {
    let mut room = room(2);
    room.begin();
    let (approval, _) = held(&room.quarrel());
    let day = 24 * 60 * 60 * 1000;
    let late = room.world.time_passes(day);
    let over = approvals(&late).into_iter().find(|over| over.id == approval.id).unwrap();
    assert_eq!(over.status, ApprovalStatus::Denied);
    let cause = room.world.cause(held_root(&approval));
    assert!(cause.closed);
}

fn held_root(approval: &Approval) -> MessageId {
    serde_json::from_str::<Held>(&approval.payload).unwrap().root_id
}

#[test]
fn the_people_of_the_channel_decide_whether_agents_go_on_and_nobody_else() {
    let mut room = room(2);
    let outside = room.world.admin("outside");
    room.begin();
    let (approval, _) = held(&room.quarrel());
    let stop = || decision(approval.id, false, ApprovalScope::Once);
    assert_eq!(room.world.refused(outside, stop()), refusal::NOT_IN_THE_CHANNEL);
    assert_eq!(room.world.refused(approval.agent, stop()), refusal::OWN_APPROVAL);
    let other = room.agents.iter().copied().find(|agent| *agent != approval.agent).unwrap();
    assert_eq!(room.world.refused(other, stop()), refusal::NOT_AUTHORIZED);
    room.world.done(room.bob, stop());
}

#[test]
fn an_agent_cannot_ask_such_a_question_itself() {
    let mut room = room(1);
    let request = RequestApproval { action: "continue".into(), kind: ApprovalKind::LoopGuard, ..Default::default() };
    let refused = room.world.refused(room.agents[0], Command::RequestApproval(request));
    assert_eq!(refused.code, Code::BadRequest);
}

#[test]
fn a_text_of_an_agent_that_left_is_not_posted() {
    let mut room = room(2);
    room.begin();
    let (approval, _) = held(&room.quarrel());
    let leave = Command::RemoveFromChannel { channel: room.general, member: approval.agent };
    room.world.done(room.alice, leave);
    let refused = room.world.refused(room.bob, decision(approval.id, true, ApprovalScope::Once));
    assert_eq!(refused.text, "the agent can no longer speak in the channel");
}

#[test]
fn agents_that_hand_each_other_tasks_are_stopped_too() {
    let mut room = room(2);
    let assign = |room: &Room, to: usize| {
        Command::CreateTask(CreateTask {
            workspace: room.world.workspace,
            channel: Some(room.general),
            message: None,
            title: "your turn".to_owned(),
            description: String::new(),
            priority: Priority::Low,
            assigned_to: Some(room.agents[to]),
        })
    };
    room.begin();
    let mut states = Vec::new();
    for turn in 0..6 {
        let command = assign(&room, (turn + 1) % 2);
        let assigned = room.world.done(room.agents[turn % 2], command);
        states.push(deliveries(&assigned)[0].state);
    }
    assert_eq!(states[..4], [DeliveryState::Leased; 4]);
    assert_eq!(states[4..], [DeliveryState::Suppressed; 2], "the same two, twice each");
}

#[test]
fn what_is_held_is_not_lost_by_a_restart() {
    let mut room = room(2);
    room.begin();
    let (approval, text) = held(&room.quarrel());
    room.world.state = room.world.ledger.load();
    let decided = room.decide(&approval, true, ApprovalScope::Once);
    let posted = decided.events.iter().any(|event| match event {
        crate::Event::MessageSent(message) => message.content == text.text,
        _ => false,
    });
    assert!(posted);
    let first = room.world.say(room.alice, room.general, "and on");
    assert_eq!(message_of(&room.world.done(room.bob, reply(&first, "yes"))).depth, 0);
}

/// The two answer each other with runs until an answer is held; the run, its wake and the question.
fn quarrel_with_runs(room: &mut Room) -> (Arc<Run>, DeliveryId, Approval) {
    room.begin();
    for turn in 0..100 {
        room.world.time_passes(300);
        let (agent, other) = (room.agents[turn % 2], (turn + 1) % 2);
        let wake = room.world.state.deliveries().of_agent(agent).next().map(|wake| wake.id).expect("a wake");
        let start = StartRun { delivery: wake, engine: "script".to_owned(), ..StartRun::default() };
        room.world.done(agent, Command::Run(RunCommand::Start(start)));
        let run = room.world.state.deliveries().get(wake).and_then(|wake| wake.run).expect("a run");
        let answer = format!("@a{other} no, you ({turn})");
        let ended = room.world.done(agent, complete(run, RunEnd::Completed, &answer));
        let Reply::Run { run, .. } = &ended.reply else { panic!("{:?}", ended.reply) };
        if let Some(approval) = approvals(&ended).first() {
            return (Arc::clone(run), wake, (*approval).clone());
        }
    }
    panic!("nobody stopped them");
}

#[test]
fn the_answer_of_a_run_is_held_too_and_stands_in_its_place_once_people_let_it() {
    let mut room = room(2);
    let (run, wake, approval) = quarrel_with_runs(&mut room);
    assert_eq!(run.state, RunState::Completed);
    assert_eq!(room.world.stored(run.message).content, "held until people let it pass");
    assert_eq!(room.world.delivery(wake).why.as_deref(), Some("held"));
    room.decide(&approval, true, ApprovalScope::Once);
    assert_eq!(room.world.stored(run.message).content, "@a1 no, you (4)");
    let over = room.world.delivery(wake);
    assert_eq!((over.state, over.reply), (DeliveryState::Answered, Some(run.message)));
    assert_eq!(wakes(&room.world.time_passes(1_000)).len(), 1);
}

#[test]
fn a_held_answer_that_people_stop_ends_its_wake_and_is_not_asked_for_again() {
    let mut room = room(2);
    let (run, wake, approval) = quarrel_with_runs(&mut room);
    let again = room.world.state.connections_of(run.agent)[0];
    room.world.disconnect(run.agent, again);
    room.world.connect(run.agent);
    let hello = Command::Hello { role_card: RoleCard::default(), runtime: None };
    assert!(wakes(&room.world.done(run.agent, hello)).is_empty(), "its answer is there already");
    room.decide(&approval, false, ApprovalScope::Once);
    assert_eq!(room.world.delivery(wake).state, DeliveryState::Suppressed);
    assert_eq!(room.world.stored(run.message).content, "stopped");
}

// Of its own accord.

fn task_for(room: &Room, channel: Option<ChannelId>, number: usize) -> Command {
    Command::CreateTask(CreateTask {
        workspace: room.world.workspace,
        channel,
        message: None,
        title: format!("task {number}"),
        description: String::new(),
        priority: Priority::Low,
        assigned_to: Some(room.agents[1]),
    })
}

/// How many wakes of the second agent these deeds of the first led to.
fn woken(room: &mut Room, deed: impl Fn(&mut Room, usize) -> Decision) -> usize {
    let mut woken = 0;
    for number in 0..30 {
        room.world.time_passes(130_000);
        let done = deed(room, number);
        let open = |delivery: &&crate::delivery::Delivery| delivery.agent == room.agents[1] && delivery.is_open();
        woken += deliveries(&done).into_iter().filter(|delivery| open(delivery)).count();
        room.world.time_passes(1_000);
    }
    woken
}

fn with_an_hour_of_a_day(room: &mut Room) {
    // Thirty deeds, two minutes apart, are within it.
    room.world.state.set_wake_rules(WakeRules { alone_for: 24 * 60 * 60 * 1000, ..WakeRules::default() });
}

#[test]
fn an_agent_that_wakes_another_over_and_over_is_stopped_though_the_other_never_answers() {
    let mut room = room(2);
    with_an_hour_of_a_day(&mut room);
    let (a0, general) = (room.agents[0], room.general);
    let mentions = woken(&mut room, |room, number| room.world.done(a0, say(general, &format!("@a1 look ({number})"))));
    assert_eq!(mentions, 8, "mentions");
    let asked = room.world.ledger.all_records().filter(|record| matches!(record, crate::record::Record::Approval(_)));
    assert_eq!(asked.count(), 1, "people are asked once");
}

#[test]
fn fresh_channels_threads_and_tasks_do_not_begin_the_count_anew() {
    let mut room = room(2);
    with_an_hour_of_a_day(&mut room);
    let (a0, a1, general) = (room.agents[0], room.agents[1], room.general);
    let channels = woken(&mut room, |room, number| match number % 4 {
        0 => {
            let fresh = room.world.channel(&format!("fresh-{number}"), &[a0, a1]);
            room.world.done(a0, say(fresh, "@a1 here"))
        }
        1 => {
            let direct = room.world.direct(&[a0, a1]);
            room.world.done(a0, say(direct, &format!("psst {number}")))
        }
        2 => {
            let mine = room.world.say(a0, general, "my thread");
            room.world.done(a0, reply(&mine, "@a1 below"))
        }
        _ => {
            let command = task_for(room, if number % 8 == 3 { None } else { Some(general) }, number);
            room.world.done(a0, command)
        }
    });
    assert_eq!(channels, 8);
}

#[test]
fn tasks_of_an_agents_own_are_suppressed_beyond_the_limit() {
    let mut room = room(2);
    with_an_hour_of_a_day(&mut room);
    let a0 = room.agents[0];
    let tasks = woken(&mut room, |room, number| {
        let command = task_for(room, None, number);
        room.world.done(a0, command)
    });
    assert_eq!(tasks, 8);
}

#[test]
fn the_count_survives_a_restart_and_ends_with_its_hour_or_with_a_word_of_a_person() {
    let mut room = room(2);
    let (alice, a0, general) = (room.alice, room.agents[0], room.general);
    let call = |room: &mut Room, text: &str| {
        room.world.time_passes(130_000);
        room.world.done(a0, say(general, &format!("@a1 {text}"))).refused.is_none()
    };
    for number in 0..8 {
        assert!(call(&mut room, &number.to_string()));
    }
    assert!(!call(&mut room, "nine"));
    room.world.state = room.world.ledger.load();
    assert!(!call(&mut room, "after a restart"));
    room.world.done(alice, say(general, "@a0 what are you doing?"));
    room.world.time_passes(1_000);
    room.world.say(a0, general, "nothing");
    assert!(call(&mut room, "a person spoke to it"));
    for number in 0..7 {
        call(&mut room, &format!("again {number}"));
    }
    assert!(!call(&mut room, "too often again"));
    room.world.later(60 * 60 * 1000);
    assert!(call(&mut room, "an hour later"));
}

#[test]
fn people_let_an_agent_go_on_or_stop_it() {
    let mut room = room(2);
    let (a0, general) = (room.agents[0], room.general);
    let call = |room: &mut Room, number: usize| {
        room.world.time_passes(130_000);
        room.world.done(a0, say(general, &format!("@a1 look ({number})")))
    };
    for number in 0..8 {
        assert!(call(&mut room, number).refused.is_none());
    }
    let (approval, text) = held(&call(&mut room, 8));
    assert_eq!(text.limit, Limit::Alone);
    room.decide(&approval, true, ApprovalScope::Run);
    assert!(room.world.ledger.all_messages().any(|message| message.content == text.text), "it is posted");
    assert!(call(&mut room, 9).refused.is_none(), "six more are granted");
    let (mut number, mut last) = (10, call(&mut room, 10));
    while last.refused.is_none() {
        number += 1;
        assert!(number < 30, "it ends again");
        last = call(&mut room, number);
    }
    let (approval, _) = held(&last);
    room.decide(&approval, false, ApprovalScope::Once);
    let after = call(&mut room, 40);
    let suppressed = deliveries(&after).into_iter().find(|delivery| delivery.agent == room.agents[1]).expect("a wake");
    assert_eq!(suppressed.state, DeliveryState::Suppressed);
}

#[test]
fn what_a_person_asked_for_is_not_of_an_agents_own_accord() {
    let mut room = room(2);
    let (alice, a0, general) = (room.alice, room.agents[0], room.general);
    for number in 0..30 {
        room.world.done(alice, say(general, &format!("@a0 ask a1 ({number})")));
        room.world.time_passes(1_000);
        let said = room.world.done(a0, say(general, &format!("@a1 she asks ({number})")));
        assert!(said.refused.is_none(), "{number}");
        room.world.time_passes(1_000);
    }
}

#[test]
fn old_words_of_people_that_an_agent_takes_up_by_itself_are_of_its_own_accord() {
    let mut room = room(2);
    with_an_hour_of_a_day(&mut room);
    let (bob, a0, general) = (room.bob, room.agents[0], room.general);
    let old: Vec<_> = (0..30).map(|number| room.world.say(bob, general, &format!("thought {number}"))).collect();
    let woken = woken(&mut room, |room, number| {
        if number % 2 == 0 {
            return room.world.done(a0, reply(&old[number], "@a1 what about this?"));
        }
        let Command::CreateTask(task) = task_for(room, Some(general), number) else { panic!() };
        room.world.done(a0, Command::CreateTask(CreateTask { message: Some(old[number].id), ..task }))
    });
    assert_eq!(woken, 8);
}
