//! Agents at work: how a run begins, what it reports, how it ends, who may stop it, and what waits for people.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::support::runs::{complete, new_run};
use super::support::world::{new_file, notifications};
use super::support::{self, World};
use crate::command::{Command, Reply, RequestApproval};
use crate::delivery::{Delivery, DeliveryState, WakeReason};
use crate::event::{Audience, Event};
use crate::ids::*;
use crate::model::*;
use crate::record::{Record, Stored};
use crate::refusal::{self, Code};
use crate::run::*;
use crate::{Actor, Decision, Refusal};

struct Scene {
    world: World,
    alice: MemberId,
    bob: MemberId,
    codebot: MemberId,
    general: ChannelId,
    asked: Arc<Message>,
    delivery: DeliveryId,
}

/// alice and bob in a channel with codebot, whom bob has asked something.
fn scene() -> Scene {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, codebot) = (world.human("bob"), world.agent("codebot"));
    let general = world.channel("general", &[alice, bob, codebot]);
    let asked = world.say(bob, general, "the login test fails");
    world.connect(codebot);
    let delivery = wake(&mut world, codebot, &asked, None);
    Scene { world, alice, bob, codebot, general, asked, delivery }
}

/// A wake that was sent for a message.
fn wake(world: &mut World, agent: MemberId, message: &Message, thread: Option<MessageId>) -> DeliveryId {
    let id = DeliveryId(world.ids.next(world.now));
    let delivery = Delivery {
        id,
        workspace: world.state.member(agent).unwrap().workspace,
        channel: Some(message.channel),
        thread,
        agent,
        sender: message.sender,
        reason: WakeReason::Mention,
        state: DeliveryState::Leased,
        why: None,
        messages: vec![message.id],
        task: None,
        root: message.root_id(),
        depth: message.depth,
        run: None,
        reply: None,
        created_at: world.now,
        updated_at: world.now,
        elsewhere: None,
        refused: None,
        due_at: world.now,
        expires_at: world.now + 1_000_000,
    };
    world.store(delivery);
    id
}

fn start(delivery: DeliveryId) -> Command {
    let engine = "script".to_owned();
    Command::Run(RunCommand::Start(StartRun { delivery, engine, ..StartRun::default() }))
}

fn action(run: RunId, name: &str, phase: ActionPhase) -> Command {
    Command::Run(RunCommand::Action(ReportAction {
        run,
        action: name.to_owned(),
        kind: "command".to_owned(),
        title: format!("run {name}"),
        phase,
        ok: None,
        detail: None,
    }))
}

fn progress(run: RunId, text: &str) -> Command {
    Command::Run(RunCommand::Progress { run, text: text.to_owned() })
}

fn resume(run: RunId, resume: &str) -> Command {
    let resume = resume.to_owned();
    Command::Run(RunCommand::Resume { run, resume, resume_line: None, model: None })
}

fn changes(run: RunId, path: &str) -> Command {
    let change = FileChange { path: path.to_owned(), kind: FileChangeKind::Modified, added: 1, removed: 0 };
    Command::Run(RunCommand::Changes { run, changes: vec![change], branch: Some("fix".to_owned()) })
}

fn stop(run: RunId) -> Command {
    Command::Run(RunCommand::Stop { run })
}

#[track_caller]
fn run_of(decision: &Decision) -> Arc<Run> {
    match &decision.reply {
        Reply::Run { run, .. } | Reply::Diff { run, .. } => Arc::clone(run),
        other => panic!("no run in {other:?}"),
    }
}

impl Scene {
    fn at_work(&mut self) -> RunId {
        let (codebot, delivery) = (self.codebot, self.delivery);
        run_of(&self.world.done(codebot, start(delivery))).id
    }

    fn stored_run(&self, id: RunId) -> Run {
        all::<Run>(&self.world).into_iter().find(|run| run.id == id).expect("a stored run")
    }

    fn stored_delivery(&self) -> Delivery {
        all::<Delivery>(&self.world).into_iter().find(|it| it.id == self.delivery).expect("a stored delivery")
    }
}

/// Everything of one kind that is stored.
fn all<T: Stored>(world: &World) -> Vec<T> {
    world.ledger.all_records().cloned().filter_map(T::from_record).collect()
}

#[test]
fn a_run_begins_with_its_wake_taken_and_a_message_in_the_thread_under_the_trigger() {
    let mut scene = scene();
    let decision = scene.world.done(scene.codebot, start(scene.delivery));
    let run = run_of(&decision);
    assert_eq!((run.thread, run.trigger, run.asker), (scene.asked.id, scene.asked.id, Some(scene.bob)));
    assert_eq!((run.state, run.channel, run.agent), (RunState::Running, scene.general, scene.codebot));
    let message = scene.world.stored(run.message);
    assert_eq!((message.thread, message.sender), (Some(scene.asked.id), scene.codebot));
    assert_eq!((message.root, message.depth), (Some(scene.asked.id), 1));
    assert_eq!(message.metadata.unwrap().get(), format!("{{\"run_id\":\"{}\"}}", run.id));
    let delivery = scene.stored_delivery();
    assert_eq!((delivery.state, delivery.run), (DeliveryState::Admitted, Some(run.id)));
    assert_eq!(notifications(&decision).len(), 0, "nobody is called by a run that begins");
    let told = decision.events.iter().find(|event| matches!(event, Event::Saved(Record::Run(_))));
    assert_eq!(told.unwrap().audience(&scene.world.state), Audience::Channel(scene.general));
}

#[test]
fn a_wake_within_a_thread_makes_a_run_in_that_thread() {
    let mut scene = scene();
    let reply = scene.world.reply(scene.bob, &scene.asked.clone(), "and this?");
    let delivery = wake(&mut scene.world, scene.codebot, &reply, Some(scene.asked.id));
    let run = run_of(&scene.world.done(scene.codebot, start(delivery)));
    assert_eq!((run.thread, run.trigger), (scene.asked.id, reply.id));
}

#[test]
fn a_run_without_a_message_to_answer_stands_in_a_thread_of_its_own() {
    let mut scene = scene();
    scene.world.done(scene.bob, Command::DeleteMessage { message: scene.asked.id });
    let delivery = scene.stored_delivery();
    scene.world.store(Delivery { state: DeliveryState::Leased, ..delivery });
    let run = run_of(&scene.world.done(scene.codebot, start(scene.delivery)));
    assert_eq!((run.thread, run.trigger), (run.message, run.message));
}

#[test]
fn asked_again_for_the_same_wake_it_is_the_same_run() {
    let mut scene = scene();
    let run = scene.at_work();
    let again = scene.world.done(scene.codebot, start(scene.delivery));
    assert!(matches!(again.reply, Reply::Run { known: true, .. }));
    assert_eq!((run_of(&again).id, again.events.len()), (run, 0));
}

#[test]
fn only_the_agent_of_an_open_wake_begins_a_run_for_it() {
    let mut scene = scene();
    let other = scene.world.agent("other");
    assert_eq!(scene.world.refused(other, start(scene.delivery)), refusal::NOT_YOUR_DELIVERY);
    assert_eq!(scene.world.refused(scene.bob, start(scene.delivery)), refusal::NOT_AUTHORIZED);
    assert_eq!(scene.world.refused(scene.codebot, start(DeliveryId(7))), refusal::DELIVERY_NOT_FOUND);
    let run = scene.at_work();
    scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "done"));
    assert_eq!(scene.world.refused(scene.codebot, start(scene.delivery)), refusal::DELIVERY_NOT_OPEN);
}

#[test]
fn a_run_names_its_engine_and_needs_a_channel() {
    let mut scene = scene();
    let nameless = StartRun { delivery: scene.delivery, ..StartRun::default() };
    let refused = scene.world.refused(scene.codebot, Command::Run(RunCommand::Start(nameless)));
    assert_eq!(refused, Refusal::bad_request("engine is required"));
    let delivery = scene.stored_delivery();
    scene.world.store(Delivery { channel: None, ..delivery });
    assert_eq!(scene.world.refused(scene.codebot, start(scene.delivery)).code, Code::Conflict);
}

#[test]
fn where_an_agent_asks_the_person_at_the_root_is_the_asker() {
    let mut scene = scene();
    let helper = scene.world.agent("helper");
    scene.world.done(scene.alice, Command::AddToChannel { channel: scene.general, member: helper });
    let said = scene.world.say(scene.codebot, scene.general, "please look");
    let said = Message { root: Some(scene.asked.id), depth: 1, ..(*said).clone() };
    let delivery = wake(&mut scene.world, helper, &said, None);
    assert_eq!(run_of(&scene.world.done(helper, start(delivery))).asker, Some(scene.bob));
}

#[test]
fn an_action_is_one_record_and_its_newest_event_wins() {
    let mut scene = scene();
    let run = scene.at_work();
    for (name, phase) in [("a", ActionPhase::Started), ("b", ActionPhase::Started), ("a", ActionPhase::Completed)] {
        let decision = scene.world.done(scene.codebot, action(run, name, phase));
        assert_eq!(decision.events.len(), 1, "one small record and nothing else");
    }
    let kept = all::<RunAction>(&scene.world).into_iter();
    let mut kept: Vec<_> = kept.map(|action| (action.seq, action.first_seq, action.count, action.action)).collect();
    kept.sort_unstable();
    assert_eq!(kept, [(2, 2, 2, "b".to_owned()), (3, 1, 2, "a".to_owned())]);
    let ended = run_of(&scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "done")));
    assert_eq!(ended.action_count, 2);
}

#[test]
fn after_a_restart_the_numbers_of_actions_go_on() {
    let mut scene = scene();
    let run = scene.at_work();
    for name in ["a", "b"] {
        scene.world.done(scene.codebot, action(run, name, ActionPhase::Started));
    }
    scene.world.state = scene.world.ledger.load();
    let decision = scene.world.done(scene.codebot, action(run, "c", ActionPhase::Started));
    let Event::Saved(Record::RunAction(third)) = &decision.events[0] else { panic!("{decision:?}") };
    assert_eq!((third.seq, third.count), (3, 3));
    assert_eq!(scene.world.state.runs().tally(run), Some(Tally { seq: 3, count: 3 }));
}

#[test]
fn an_action_has_a_name_a_kind_and_an_object_for_its_detail() {
    let mut scene = scene();
    let run = scene.at_work();
    let with = |name: &str, kind: &str, detail: &str| {
        Command::Run(RunCommand::Action(ReportAction {
            run,
            action: name.to_owned(),
            kind: kind.to_owned(),
            title: String::new(),
            phase: ActionPhase::Completed,
            ok: Some(false),
            detail: RawValue::from_string(detail.to_owned()).ok(),
        }))
    };
    for (name, kind, detail, sentence) in [
        ("", "note", "{}", "id is required"),
        ("a", " ", "{}", "kind is required"),
        ("a", "note", "[1]", "detail must be an object"),
    ] {
        let refused = scene.world.refused(scene.codebot, with(name, kind, detail));
        assert_eq!(refused, Refusal::bad_request(sentence));
    }
    scene.world.done(scene.codebot, with("a", "note", "null"));
}

#[test]
fn progress_edits_the_message_without_a_position_a_history_or_a_call() {
    let mut scene = scene();
    let run = scene.at_work();
    let message = scene.stored_run(run).message;
    let before = scene.world.state.channel(scene.general).unwrap().head;
    let decision = scene.world.done(scene.codebot, progress(run, "@alice I am reading"));
    assert!(matches!(&decision.events[..], [Event::Progressed(_)]), "{decision:?}");
    assert_eq!(scene.world.state.channel(scene.general).unwrap().head, before);
    let now = scene.world.stored(message);
    assert_eq!((now.content.as_str(), now.edit_count), ("@alice I am reading", 0));
    for nothing_new in ["@alice I am reading", "  "] {
        let decision = scene.world.done(scene.codebot, progress(run, nothing_new));
        assert!(decision.events.is_empty(), "{nothing_new}");
    }
    let long = scene.world.done(scene.codebot, progress(run, &"ü".repeat(10_001)));
    let [Event::Progressed(long)] = &long.events[..] else { panic!("{long:?}") };
    assert_eq!(long.content.chars().count(), 10_000);
}

#[test]
fn the_answer_takes_the_place_of_the_message_and_calls_those_it_wants() {
    let mut scene = scene();
    let run = scene.at_work();
    let decision = scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "@alice fixed"));
    let ended = run_of(&decision);
    assert_eq!((ended.state, ended.ended_at), (RunState::Completed, Some(scene.world.now)));
    let answer = scene.world.stored(ended.message);
    assert_eq!((answer.content.as_str(), answer.edit_count, answer.edited_at), ("@alice fixed", 0, None));
    let called: Vec<_> = notifications(&decision).iter().map(|it| (it.member, it.kind.clone())).collect();
    assert_eq!(called, [(scene.alice, "mention".to_owned()), (scene.bob, "thread_reply".to_owned())]);
    let delivery = scene.stored_delivery();
    assert_eq!((delivery.state, delivery.reply), (DeliveryState::Answered, Some(ended.message)));
    assert!(scene.world.state.runs().get(run).is_none(), "what is over is not kept in memory");
}

#[test]
fn completing_twice_changes_nothing() {
    let mut scene = scene();
    let run = scene.at_work();
    let first = run_of(&scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "one")));
    let second = scene.world.done(scene.codebot, complete(run, RunEnd::Failed, "two"));
    assert_eq!((run_of(&second), second.events.len()), (first, 0));
}

#[test]
fn a_failed_run_calls_nobody_but_tells_who_asked() {
    let mut scene = scene();
    let run = scene.at_work();
    let decision = scene.world.done(scene.codebot, complete(run, RunEnd::Failed, "@alice it broke"));
    let called: Vec<_> = notifications(&decision).iter().map(|it| (it.member, it.kind.clone())).collect();
    assert_eq!(called, [(scene.bob, "delivery_failed".to_owned())]);
    assert_eq!(scene.stored_delivery().state, DeliveryState::Failed);
}

#[test]
fn every_wake_that_went_into_a_run_ends_with_it() {
    let mut scene = scene();
    let run = scene.at_work();
    let more = scene.world.reply(scene.bob, &scene.asked.clone(), "also this");
    let second = wake(&mut scene.world, scene.codebot, &more, Some(scene.asked.id));
    scene.world.done(scene.codebot, Command::JoinDelivery { delivery: second, run });
    scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "both done"));
    assert_eq!(scene.world.state.deliveries().of_run(scene.codebot, run).count(), 0);
    let ended = all::<Delivery>(&scene.world).into_iter().filter(|it| it.state == DeliveryState::Answered).count();
    assert_eq!(ended, 2);
}

#[test]
fn a_wake_joins_an_open_run_of_its_own_agent_and_ends_like_one_that_has_ended() {
    let mut scene = scene();
    let run = scene.at_work();
    let asked = scene.asked.clone();
    let late = wake(&mut scene.world, scene.codebot, &asked, Some(asked.id));
    let join = |run| Command::JoinDelivery { delivery: late, run };
    assert_eq!(scene.world.refused(scene.codebot, join(RunId(7))), refusal::RUN_NOT_FOUND);
    let foreign = new_run(RunId(8), scene.world.workspace, scene.general, scene.alice);
    scene.world.store(foreign);
    assert_eq!(scene.world.refused(scene.codebot, join(RunId(8))), refusal::NOT_YOUR_RUN);
    let message = scene.stored_run(run).message;
    scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "done"));
    scene.world.done(scene.codebot, join(run));
    let ended = all::<Delivery>(&scene.world).into_iter().find(|it| it.id == late).unwrap();
    assert_eq!((ended.state, ended.reply), (DeliveryState::Answered, Some(message)));
}

#[test]
fn a_wake_that_a_run_has_answered_takes_nothing_else() {
    let mut scene = scene();
    let run = scene.at_work();
    scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "done"));
    let pass = Command::PassDelivery { delivery: scene.delivery, why: None };
    assert_eq!(scene.world.refused(scene.codebot, pass), refusal::DELIVERY_ANSWERED);
}

#[test]
fn what_is_over_takes_no_more_actions_progress_or_sessions() {
    let mut scene = scene();
    let run = scene.at_work();
    scene.world.done(scene.codebot, complete(run, RunEnd::Cancelled, ""));
    for late in [action(run, "a", ActionPhase::Started), progress(run, "more"), resume(run, "abc")] {
        assert_eq!(scene.world.refused(scene.codebot, late), refusal::RUN_OVER);
    }
    let changed = run_of(&scene.world.done(scene.codebot, changes(run, "src/a.rs")));
    assert_eq!((changed.state, changed.news), (RunState::Cancelled, RunNews::Updated), "changes may come after it");
}

#[test]
fn a_run_is_reported_on_by_its_own_agent_alone() {
    let mut scene = scene();
    let run = scene.at_work();
    let (other, stranger) = (scene.world.agent("other"), scene.world.register("mallory").1);
    let reports = [
        action(run, "a", ActionPhase::Started),
        progress(run, "x"),
        resume(run, "abc"),
        changes(run, "a"),
        complete(run, RunEnd::Completed, "mine"),
    ];
    for report in reports {
        for member in [other, scene.alice] {
            assert_eq!(scene.world.refused(member, report.clone()), refusal::NOT_YOUR_RUN);
        }
        assert_eq!(scene.world.refused(stranger, report.clone()), refusal::RUN_NOT_FOUND);
        let nobody = Actor::nobody(Door::Lark);
        assert_eq!(scene.world.refused(nobody, report), refusal::NOT_AUTHENTICATED);
    }
    assert_eq!(scene.world.refused(scene.codebot, progress(RunId(7), "x")), refusal::RUN_NOT_FOUND);
}

#[test]
fn what_the_engine_calls_the_thread_is_kept_at_once_and_survives_the_run() {
    let mut scene = scene();
    let run = scene.at_work();
    let decision = scene.world.done(scene.codebot, resume(run, "abc"));
    assert_eq!(run_of(&decision).resume.as_deref(), Some("abc"));
    let session = session_of(&scene.world).expect("a session");
    let ThreadSession { agent, thread, engine, resume: token, .. } = session;
    assert_eq!((agent, thread), (scene.codebot, scene.asked.id));
    assert_eq!((engine.as_deref(), token.as_deref()), (Some("script"), Some("abc")));
    assert_eq!(scene.world.refused(scene.codebot, resume(run, " ")), Refusal::bad_request("resume is required"));
    scene.world.done(scene.codebot, complete(run, RunEnd::Failed, ""));
    assert_eq!(session_of(&scene.world).unwrap().resume.as_deref(), Some("abc"));
}

fn session_of(world: &World) -> Option<ThreadSession> {
    let mut sessions = all::<ThreadSession>(world);
    assert!(sessions.len() <= 1, "one per agent and thread: {sessions:?}");
    sessions.pop()
}

#[test]
fn another_engine_cannot_continue_the_thread_and_beginning_afresh_is_not_undone_by_the_run() {
    let mut scene = scene();
    let run = scene.at_work();
    scene.world.done(scene.codebot, resume(run, "abc"));
    let place = PutSession { channel: scene.general, thread: scene.asked.id, ..PutSession::default() };
    let put = |session: PutSession| Command::Run(RunCommand::PutSession(session));
    scene.world.done(scene.codebot, put(PutSession { model: Some("large".to_owned()), ..place.clone() }));
    let session = session_of(&scene.world).unwrap();
    assert_eq!((session.model.as_deref(), session.resume.as_deref()), (Some("large"), Some("abc")));
    scene.world.done(scene.codebot, put(PutSession { engine: Some("other".to_owned()), ..place }));
    let session = session_of(&scene.world).unwrap();
    assert_eq!((session.engine.as_deref(), session.model, session.resume), (Some("other"), None, None));

    scene.world.later(5);
    let forget = RunCommand::ForgetSession { channel: scene.general, thread: scene.asked.id };
    scene.world.done(scene.codebot, Command::Run(forget));
    scene.world.later(5);
    scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "done"));
    let session = session_of(&scene.world).unwrap();
    assert_eq!((session.engine, session.resume), (None, None));
}

#[test]
fn sessions_are_an_agents_own_in_channels_it_is_in() {
    let mut scene = scene();
    let outsider = scene.world.agent("outsider");
    let place = PutSession { channel: scene.general, thread: scene.asked.id, ..PutSession::default() };
    let put = Command::Run(RunCommand::PutSession(place.clone()));
    let forget = Command::Run(RunCommand::ForgetSession { channel: scene.general, thread: scene.asked.id });
    for command in [put, forget] {
        assert_eq!(scene.world.refused(scene.alice, command.clone()), refusal::NOT_AN_AGENT);
        assert_eq!(scene.world.refused(outsider, command), refusal::NOT_CHANNEL_MEMBER);
    }
    let nowhere = Command::Run(RunCommand::PutSession(PutSession { thread: MessageId(7), ..place }));
    assert_eq!(scene.world.refused(scene.codebot, nowhere), refusal::MESSAGE_NOT_FOUND);
}

/// What waits for an agent that this message was to wake, and why.
fn wakes_of(decision: &Decision) -> Vec<(MemberId, WakeReason)> {
    let opened = |event: &Event| match event {
        Event::Saved(Record::Delivery(delivery)) if delivery.is_open() => Some((delivery.agent, delivery.reason)),
        _ => None,
    };
    decision.events.iter().filter_map(opened).collect()
}

/// Windows end.
fn pause(world: &mut World) {
    world.later(10_000);
    world.done(Actor::hub(Door::Rest), Command::LetTimePass);
}

#[test]
fn a_reply_of_a_person_in_the_thread_of_a_run_wakes_the_agent_that_worked_there_last() {
    let mut scene = scene();
    let helper = scene.world.agent("helper");
    scene.world.done(scene.alice, Command::AddToChannel { channel: scene.general, member: helper });
    let run = scene.at_work();
    scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "fixed"));
    let asked = scene.asked.clone();
    let reply = |text: &str| support::world::reply(&asked, text);
    let woken = wakes_of(&scene.world.done(scene.bob, reply("and the other one?")));
    assert_eq!(woken, [(scene.codebot, WakeReason::ThreadReply)]);
    pause(&mut scene.world);
    let woken = wakes_of(&scene.world.done(scene.bob, reply("@helper what do you say?")));
    assert!(woken.contains(&(helper, WakeReason::Mention)), "{woken:?}");
    assert!(!woken.contains(&(scene.codebot, WakeReason::ThreadReply)), "who names an agent speaks to that one");
    pause(&mut scene.world);
    assert_eq!(wakes_of(&scene.world.done(helper, reply("nothing"))), [], "agents wake each other by name");
    let delivery = wake(&mut scene.world, helper, &asked, Some(asked.id));
    pause(&mut scene.world);
    scene.world.done(helper, start(delivery));
    let woken = wakes_of(&scene.world.done(scene.alice, reply("go on")));
    assert_eq!(woken, [(helper, WakeReason::ThreadReply)], "the last one who worked there");
}

#[test]
fn a_wake_in_a_thread_hands_out_what_the_agent_continues_it_with() {
    let mut scene = scene();
    let run = scene.at_work();
    scene.world.done(scene.codebot, resume(run, "abc"));
    scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "fixed"));
    scene.world.reply(scene.bob, &scene.asked.clone(), "and the other one?");
    scene.world.later(5_000);
    let decision = scene.world.done(Actor::hub(Door::Rest), Command::LetTimePass);
    let [wake] = support::world::wakes(&decision)[..] else { panic!("{decision:?}") };
    let session = wake.session.as_ref().expect("a session");
    assert_eq!((session.engine.as_deref(), session.resume.as_deref()), (Some("script"), Some("abc")));
}

#[test]
fn people_stop_a_run_and_its_agent_is_told() {
    let mut scene = scene();
    let run = scene.at_work();
    let decision = scene.world.done(scene.bob, stop(run));
    assert!(run_of(&decision).stop_requested);
    let told = decision.events.last().unwrap();
    assert!(matches!(told, Event::StopAsked { run: asked, .. } if *asked == run));
    assert_eq!(told.audience(&scene.world.state), Audience::Member(scene.codebot));
    let again = scene.world.done(scene.bob, stop(run));
    assert!(matches!(&again.events[..], [Event::StopAsked { .. }]), "another knock on the door");
}

#[test]
fn a_stop_goes_through_the_daemon_that_carries_the_agent() {
    let mut scene = scene();
    let run = scene.at_work();
    let connection = scene.world.daemon(scene.alice, &[scene.codebot]);
    let decision = scene.world.done(scene.bob, stop(run));
    let told = decision.events.last().unwrap();
    assert_eq!(told.audience(&scene.world.state), Audience::Connection(connection));
}

#[test]
fn a_run_whose_agent_cannot_be_reached_is_cancelled_at_once() {
    let mut scene = scene();
    let run = scene.at_work();
    let connection = scene.world.state.connections_of(scene.codebot)[0];
    scene.world.disconnect(scene.codebot, connection);
    let ended = run_of(&scene.world.done(scene.bob, stop(run)));
    assert_eq!((ended.state, ended.error.as_deref()), (RunState::Cancelled, Some("stopped by bob")));
    assert_eq!(scene.world.stored(ended.message).content, "cancelled: stopped by bob");
    assert_eq!(scene.stored_delivery().state, DeliveryState::Cancelled);
    let again = scene.world.done(scene.bob, stop(run));
    assert!(again.events.is_empty(), "what is over stays as it is");
}

#[test]
fn a_run_is_stopped_by_the_asker_the_owner_admins_and_whoever_may_speak_and_nobody_else() {
    let mut scene = scene();
    let run = scene.at_work();
    let (reader, chief) = (scene.world.human("reader"), scene.world.admin("chief"));
    let other = scene.world.agent("other");
    scene.world.done(scene.alice, Command::AddToChannel { channel: scene.general, member: other });
    for refused in [reader, other, scene.codebot] {
        assert_eq!(scene.world.refused(refused, stop(run)), refusal::NOT_A_STOPPER);
    }
    let stranger = scene.world.register("mallory").1;
    assert_eq!(scene.world.refused(stranger, stop(run)), refusal::RUN_NOT_FOUND);
    assert_eq!(scene.world.refused(scene.alice, stop(RunId(7))), refusal::RUN_NOT_FOUND);
    for allowed in [scene.alice, scene.bob, chief] {
        scene.world.done(allowed, stop(run));
    }
    let bob = scene.bob;
    scene.world.done(bob, Command::RemoveFromChannel { channel: scene.general, member: bob });
    scene.world.done(bob, stop(run));
    let hidden = scene.world.private("hidden", &[bob, scene.codebot]);
    let hidden = new_run(RunId(9), scene.world.workspace, hidden, scene.codebot);
    scene.world.store(hidden);
    assert_eq!(scene.world.refused(chief, stop(RunId(9))), refusal::RUN_NOT_FOUND, "an admin who does not see it");
    scene.world.done(scene.alice, stop(RunId(9)));
}

#[test]
fn the_diff_comes_from_the_agent_or_its_carrier_and_takes_the_place_of_the_one_before() {
    let mut scene = scene();
    let run = scene.at_work();
    let diff = |world: &mut World, size: u64| {
        let id = FileId(world.ids.next(world.now));
        let file = File { size, ..new_file(id, world.workspace, None) };
        (id, Command::Run(RunCommand::Diff { run, file }))
    };
    let (first, command) = diff(&mut scene.world, 5);
    for other in [scene.alice, scene.bob] {
        assert_eq!(scene.world.refused(other, command.clone()), refusal::NOT_YOUR_RUN);
    }
    let stranger = scene.world.register("mallory").1;
    assert_eq!(scene.world.refused(stranger, command.clone()), refusal::RUN_NOT_FOUND);
    assert_eq!(run_of(&scene.world.done(scene.codebot, command.clone())).diff, Some(first));
    assert_eq!(scene.world.refused(scene.codebot, command).code, Code::Conflict);
    scene.world.daemon(scene.alice, &[scene.codebot]);
    let (second, command) = diff(&mut scene.world, 6);
    let decision = scene.world.done(scene.alice, command);
    let Reply::Diff { run: changed, replaced } = &decision.reply else { panic!("{decision:?}") };
    assert_eq!((changed.diff, *replaced), (Some(second), Some(first)));
    let files = all::<File>(&scene.world).into_iter().map(|file| (file.id, file.channel, file.uploaded_by));
    assert_eq!(files.collect::<Vec<_>>(), [(second, Some(scene.general), scene.codebot)]);
    let (_, large) = diff(&mut scene.world, 4 * 1024 * 1024 + 1);
    assert_eq!(scene.world.refused(scene.codebot, large).code, Code::TooLarge);
}

fn question(run: RunId, hash: &str) -> Command {
    let (action, hash) = ("rm -rf build".to_owned(), Some(hash.to_owned()));
    let kind = ApprovalKind::Permission;
    Command::RequestApproval(RequestApproval { action, hash, kind, run: Some(run), ..RequestApproval::default() })
}

fn decide(approval: ApprovalId, scope: ApprovalScope) -> Command {
    Command::DecideApproval { approval, approved: true, scope, note: None }
}

#[track_caller]
fn approval_of(decision: &Decision) -> Approval {
    let Reply::Approval(approval) = &decision.reply else { panic!("{decision:?}") };
    approval.clone()
}

#[test]
fn a_run_waits_while_a_question_of_it_is_open_and_goes_on_with_the_last_decision() {
    let mut scene = scene();
    let run = scene.at_work();
    let first = approval_of(&scene.world.done(scene.codebot, question(run, "one")));
    assert_eq!((first.channel, first.asker), (Some(scene.general), Some(scene.bob)), "both are the run's");
    let second = approval_of(&scene.world.done(scene.codebot, question(run, "two")));
    assert_eq!(scene.stored_run(run).state, RunState::Waiting);
    scene.world.done(scene.bob, decide(first.id, ApprovalScope::Once));
    assert_eq!(scene.stored_run(run).state, RunState::Waiting);
    scene.world.done(scene.alice, decide(second.id, ApprovalScope::Once));
    assert_eq!(scene.stored_run(run).state, RunState::Running);
}

#[test]
fn a_question_that_expires_lets_its_run_go_on() {
    let mut scene = scene();
    let run = scene.at_work();
    scene.world.done(scene.codebot, question(run, "one"));
    scene.world.later(24 * 60 * 60 * 1000);
    scene.world.done(Actor::hub(Door::Rest), Command::LetTimePass);
    assert_eq!(scene.stored_run(run).state, RunState::Running);
}

#[test]
fn a_question_that_was_not_decided_is_void_with_its_run_and_answers_no_later_one() {
    let mut scene = scene();
    let run = scene.at_work();
    let asked = approval_of(&scene.world.done(scene.codebot, question(run, "one")));
    scene.world.done(scene.codebot, complete(run, RunEnd::Cancelled, ""));
    let refused = scene.world.refused(scene.alice, decide(asked.id, ApprovalScope::Once));
    assert_eq!(refused.code, Code::BadRequest, "{refused}");
    let again = approval_of(&scene.world.done(scene.codebot, question(RunId(9), "one")));
    assert_ne!(again.id, asked.id);
    assert_eq!(again.status, ApprovalStatus::Pending);
}

#[test]
fn an_open_question_asked_again_by_the_next_run_lets_that_one_wait() {
    let mut scene = scene();
    let request = RequestApproval {
        action: "rm -rf build".to_owned(),
        hash: Some("one".to_owned()),
        channel: Some(scene.general),
        ..RequestApproval::default()
    };
    let asked = approval_of(&scene.world.done(scene.codebot, Command::RequestApproval(request)));
    let run = scene.at_work();
    let again = approval_of(&scene.world.done(scene.codebot, question(run, "one")));
    assert_eq!((again.id, again.run), (asked.id, Some(run)));
    assert_eq!(scene.stored_run(run).state, RunState::Waiting);
    scene.world.done(scene.alice, decide(asked.id, ApprovalScope::Once));
    assert_eq!(scene.stored_run(run).state, RunState::Running);
}

#[test]
fn a_run_ends_with_the_place_it_works_in() {
    type Leave = fn(&Scene) -> (MemberId, Command);
    let ways: [Leave; 4] = [
        |scene| (scene.alice, Command::RemoveFromChannel { channel: scene.general, member: scene.codebot }),
        |scene| (scene.alice, Command::ArchiveChannel { channel: scene.general, archived: true }),
        |scene| (scene.alice, Command::DeleteChannel { channel: scene.general }),
        |scene| (scene.alice, Command::RemoveMember { member: scene.codebot }),
    ];
    for leave in ways {
        let mut scene = scene();
        let run = scene.at_work();
        let (who, command) = leave(&scene);
        let shown = format!("{command:?}");
        scene.world.done(who, command);
        assert_eq!(scene.stored_run(run).state, RunState::Cancelled, "{shown}");
        assert!(scene.world.state.runs().get(run).is_none(), "{shown}");
        assert_eq!(scene.stored_delivery().state, DeliveryState::Cancelled, "{shown}");
    }
}

#[test]
fn a_run_whose_message_was_deleted_still_ends() {
    let mut scene = scene();
    let run = scene.at_work();
    let message = scene.stored_run(run).message;
    scene.world.done(scene.codebot, Command::DeleteMessage { message });
    let ended = run_of(&scene.world.done(scene.codebot, complete(run, RunEnd::Completed, "nobody reads this")));
    assert_eq!(ended.state, RunState::Completed);
    assert!(scene.world.stored(message).deleted);
}
