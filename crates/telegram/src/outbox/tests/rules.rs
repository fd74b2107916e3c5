//! One test per rule of the scheduler; time is a number here.

use std::time::Duration;

use proptest::prelude::*;

use crate::api::{ApiError, ChatId, MessageId};
use crate::ids::OutgoingId;
use crate::journal::{Content, Order, Outgoing, OutgoingKind, OutgoingState};
use crate::outbox::item::Stage;
use crate::outbox::pace::Weight;
use crate::outbox::scheduler::{Action, Call, CallAnswer, Report, Scheduler};
use crate::text;

const PERSON: ChatId = ChatId(7);
const PERSON_WITHOUT_DOUBT: ChatId = ChatId(99);
const GROUP: ChatId = ChatId(-1007);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn says(text: &str) -> Content {
    Content::new(text::plain(text))
}

fn outgoing(id: i64, chat: ChatId, kind: OutgoingKind) -> Outgoing {
    Outgoing {
        id: OutgoingId(id),
        chat,
        topic: None,
        reply_to: None,
        prompt: None,
        kind,
        silent: false,
        replaces: None,
        state: OutgoingState::Waiting,
        message: None,
        doubt: None,
        content: says(&format!("message {id}")),
        revision: 0,
        reason: None,
    }
}

/// A message that is there and has to be changed for good.
fn changed(id: i64, chat: ChatId) -> Outgoing {
    Outgoing {
        state: OutgoingState::Changed,
        message: Some(MessageId(id)),
        revision: 1,
        ..outgoing(id, chat, OutgoingKind::Answer)
    }
}

fn leaving(id: i64, chat: ChatId) -> Outgoing {
    Outgoing { state: OutgoingState::Leaving, message: Some(MessageId(id)), ..outgoing(id, chat, OutgoingKind::Answer) }
}

fn scheduler() -> Scheduler {
    Scheduler::new(ms(1000))
}

fn unreachable() -> ApiError {
    ApiError::Unreachable { cause: "502".into(), perhaps_done: false }
}

/// Sends a sign and lets it arrive.
fn with_sign(scheduler: &mut Scheduler, id: i64, chat: ChatId, now: Duration) {
    scheduler.order(Order::Post(outgoing(id, chat, OutgoingKind::Sign)), now);
    let call = scheduler.next(now).expect("the sign goes at once");
    scheduler.done(&call, Ok(CallAnswer::Sent(MessageId(id))), now, 0.5);
}

fn ids(calls: &[Call]) -> Vec<i64> {
    calls.iter().map(|call| call.outgoing.0).collect()
}

/// Makes all calls that come until nothing more does, each taking no time and succeeding.
fn run(scheduler: &mut Scheduler, mut now: Duration) -> Vec<(Duration, Call)> {
    let mut calls = Vec::new();
    loop {
        while let Some(call) = scheduler.next(now) {
            let answer = match call.action {
                Action::Send { .. } => CallAnswer::Sent(MessageId(call.outgoing.0)),
                _ => CallAnswer::Done,
            };
            scheduler.done(&call, Ok(answer), now, 0.5);
            calls.push((now, call));
        }
        match scheduler.wake(now) {
            Some(wake) => now = wake,
            None => return calls,
        }
    }
}

#[test]
fn sends_come_before_deletes_before_edits() {
    let mut scheduler = scheduler();
    scheduler.order(Order::Revise(changed(1, PERSON)), ms(0));
    scheduler.order(Order::Remove(leaving(2, PERSON)), ms(0));
    scheduler.order(Order::Post(outgoing(3, PERSON, OutgoingKind::Answer)), ms(0));
    let calls: Vec<Call> = run(&mut scheduler, ms(0)).into_iter().map(|(_, call)| call).collect();
    assert_eq!(ids(&calls), [3, 2, 1]);
}

#[test]
fn one_call_at_a_time_in_a_chat_and_chats_beside_each_other() {
    let mut scheduler = scheduler();
    for (id, chat) in [(1, PERSON), (2, PERSON), (3, GROUP)] {
        scheduler.order(Order::Post(outgoing(id, chat, OutgoingKind::Answer)), ms(0));
    }
    let first: Vec<Call> = std::iter::from_fn(|| scheduler.next(ms(0))).collect();
    assert_eq!(ids(&first), [1, 3]);
    scheduler.done(&first[0], Ok(CallAnswer::Sent(MessageId(1))), ms(5), 0.5);
    assert_eq!(scheduler.next(ms(5)).map(|call| call.outgoing), Some(OutgoingId(2)));
}

#[test]
fn a_private_chat_gets_a_message_a_second_after_a_short_burst() {
    let mut scheduler = scheduler();
    (1..=6).for_each(|id| drop(scheduler.order(Order::Post(outgoing(id, PERSON, OutgoingKind::Answer)), ms(0))));
    let at: Vec<u64> = run(&mut scheduler, ms(0)).iter().map(|(at, _)| at.as_millis() as u64).collect();
    assert_eq!(at, [0, 0, 0, 1000, 2000, 3000]);
}

#[test]
fn a_group_gets_twenty_calls_a_minute() {
    let mut scheduler = scheduler();
    (1..=45).for_each(|id| drop(scheduler.order(Order::Post(outgoing(id, GROUP, OutgoingKind::Answer)), ms(0))));
    let at: Vec<u64> = run(&mut scheduler, ms(0)).iter().map(|(at, _)| at.as_secs()).collect();
    assert_eq!((at[19], at[20], at[39], at[40]), (0, 60, 60, 120));
}

#[test]
fn progress_in_a_group_leaves_room_for_answers() {
    let mut scheduler = scheduler();
    with_sign(&mut scheduler, 1, GROUP, ms(0));
    let mut edits = 0;
    for second in 1..60 {
        let now = ms(second * 1000);
        scheduler.order(Order::Show { outgoing: OutgoingId(1), content: says(&second.to_string()) }, now);
        while let Some(call) = scheduler.next(now) {
            scheduler.done(&call, Ok(CallAnswer::Done), now, 0.5);
            edits += 1;
        }
    }
    assert_eq!(edits, 13);
    let mut answers = 0;
    (2..=9).for_each(|id| drop(scheduler.order(Order::Post(outgoing(id, GROUP, OutgoingKind::Answer)), ms(59_500))));
    while let Some(call) = scheduler.next(ms(59_500)) {
        scheduler.done(&call, Ok(CallAnswer::Sent(MessageId(call.outgoing.0))), ms(59_500), 0.5);
        answers += 1;
    }
    assert_eq!(answers, 6, "there is room for some answers at once");
}

#[test]
fn thirty_calls_a_second_go_to_all_chats_together() {
    let mut scheduler = scheduler();
    (1..=70).for_each(|id| drop(scheduler.order(Order::Post(outgoing(id, ChatId(id), OutgoingKind::Answer)), ms(0))));
    let at: Vec<u64> = run(&mut scheduler, ms(0)).iter().map(|(at, _)| at.as_millis() as u64).collect();
    assert_eq!((at[29], at[30], at[59], at[60]), (0, 1200, 1200, 2400));
}

#[test]
fn edits_not_more_frequent_than_the_configured_interval() {
    let mut scheduler = Scheduler::new(ms(2500));
    with_sign(&mut scheduler, 1, PERSON, ms(0));
    let mut at = Vec::new();
    for tick in 1..=100 {
        let now = ms(tick * 100);
        scheduler.order(Order::Show { outgoing: OutgoingId(1), content: says(&tick.to_string()) }, now);
        if let Some(call) = scheduler.next(now) {
            scheduler.done(&call, Ok(CallAnswer::Done), now, 0.5);
            at.push(tick * 100);
        }
    }
    assert_eq!(at, [2500, 5000, 7500, 10_000]);
}

#[test]
fn no_edit_when_content_unchanged() {
    let mut scheduler = scheduler();
    with_sign(&mut scheduler, 1, PERSON, ms(0));
    scheduler.order(Order::Show { outgoing: OutgoingId(1), content: says("message 1") }, ms(10));
    assert_eq!(scheduler.wake(ms(10)), None);
    assert_eq!(scheduler.next(ms(9000)), None);
}

#[test]
fn edits_of_one_message_overwrite_each_other_and_keep_their_turn() {
    let mut scheduler = scheduler();
    with_sign(&mut scheduler, 1, PERSON, ms(0));
    with_sign(&mut scheduler, 2, PERSON, ms(0));
    for (id, text, at) in [(1, "a", 10), (2, "b", 20), (1, "c", 30)] {
        scheduler.order(Order::Show { outgoing: OutgoingId(id), content: says(text) }, ms(at));
    }
    let said: Vec<String> =
        run(&mut scheduler, ms(1000)).into_iter().map(|(_, call)| call.content.rendered.text).collect();
    assert_eq!(said, ["c", "b"]);
}

#[test]
fn a_message_changed_before_it_was_sent_is_sent_as_it_is_wanted_now() {
    let mut scheduler = scheduler();
    scheduler.order(Order::Post(outgoing(1, PERSON, OutgoingKind::Sign)), ms(0));
    scheduler.order(Order::Show { outgoing: OutgoingId(1), content: says("newer") }, ms(0));
    let calls = run(&mut scheduler, ms(0));
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].1.content, says("newer"));
}

#[test]
fn a_429_pauses_that_chat_for_the_time_it_says_and_no_other() {
    let mut scheduler = scheduler();
    scheduler.order(Order::Post(outgoing(1, PERSON, OutgoingKind::Answer)), ms(0));
    let call = scheduler.next(ms(0)).unwrap();
    let limited = Err(ApiError::RateLimited { retry_after: Duration::from_secs(7) });
    assert_eq!(scheduler.done(&call, limited, ms(10), 0.5), [Report::NotThere(OutgoingId(1))]);
    scheduler.order(Order::Post(outgoing(2, PERSON, OutgoingKind::Sign)), ms(20));
    scheduler.order(Order::Post(outgoing(3, GROUP, OutgoingKind::Answer)), ms(20));
    assert_eq!(scheduler.next(ms(20)).map(|call| call.outgoing), Some(OutgoingId(3)));
    assert_eq!(scheduler.next(ms(7000)), None, "signs wait as well");
    assert_eq!(scheduler.wake(ms(20)), Some(ms(7110)));
    assert_eq!(scheduler.next(ms(7110)).map(|call| call.outgoing), Some(OutgoingId(1)), "and in their order");
}

#[test]
fn what_cannot_be_reached_is_tried_again_ever_more_slowly_and_never_given_up() {
    let mut scheduler = scheduler();
    scheduler.order(Order::Post(outgoing(1, PERSON, OutgoingKind::Answer)), ms(0));
    let (mut now, mut pauses) = (ms(0), Vec::new());
    for _ in 0..8 {
        let call = scheduler.next(now).expect("it is tried again");
        scheduler.done(&call, Err(unreachable()), now, 0.5);
        let wake = scheduler.wake(now).expect("later");
        pauses.push((wake - now).as_secs());
        now = wake;
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
}

#[test]
fn a_refused_token_drops_nothing() {
    let mut scheduler = scheduler();
    scheduler.order(Order::Post(outgoing(1, PERSON, OutgoingKind::Answer)), ms(0));
    let call = scheduler.next(ms(0)).unwrap();
    let refused = ApiError::Rejected { code: 401, description: "Unauthorized".into(), moved_to: None };
    scheduler.done(&call, Err(refused), ms(0), 0.5);
    assert!(scheduler.wake(ms(0)).is_some());
}

#[test]
fn progress_that_telegram_will_not_take_is_dropped_but_not_the_last_words() {
    let mut scheduler = scheduler();
    with_sign(&mut scheduler, 1, PERSON, ms(0));
    scheduler.order(Order::Show { outgoing: OutgoingId(1), content: says("p") }, ms(0));
    let gone = || ApiError::Rejected { code: 400, description: "message to edit not found".into(), moved_to: None };
    let call = scheduler.next(ms(1000)).unwrap();
    assert_eq!(scheduler.done(&call, Err(gone()), ms(1000), 0.5), []);
    assert_eq!(scheduler.wake(ms(1000)), None);
    let last = Outgoing { content: says("last"), ..changed(1, PERSON) };
    scheduler.order(Order::Revise(last), ms(2000));
    let call = scheduler.next(ms(2000)).unwrap();
    assert_eq!(scheduler.done(&call, Err(gone()), ms(2000), 0.5), [Report::Vanished(OutgoingId(1))]);
    let call = scheduler.next(ms(2000)).unwrap();
    assert!(matches!(call.action, Action::Send { .. }));
    assert_eq!(call.content, says("last"));
}

/// A message of which nobody knows whether it was sent, with a number known before.
fn doubtful(id: i64, chat: ChatId, floor: i64) -> Outgoing {
    Outgoing { doubt: Some(MessageId(floor)), ..outgoing(id, chat, OutgoingKind::Answer) }
}

/// The numbers that are looked under, when the look at `fails` is cut short once and nothing is there.
fn looks(scheduler: &mut Scheduler, fails: i64) -> Vec<(Duration, i64)> {
    let (mut looks, mut now, mut failed) = (Vec::new(), ms(0), false);
    loop {
        while let Some(call) = scheduler.next(now) {
            let answer = match call.action {
                Action::Find(message) => {
                    looks.push((now, message.0));
                    let cut_short = message.0 == fails && !failed;
                    failed |= cut_short;
                    if cut_short { Err(unreachable()) } else { Ok(CallAnswer::NotThere) }
                }
                _ => Ok(CallAnswer::Sent(MessageId(9000 + call.outgoing.0))),
            };
            scheduler.done(&call, answer, now, 0.5);
        }
        let Some(wake) = scheduler.wake(now) else { return looks };
        now = wake;
    }
}

#[test]
fn a_search_that_is_cut_short_goes_on_where_it_was() {
    let mut scheduler = scheduler();
    scheduler.take_up(doubtful(1, PERSON, 100), ms(0));
    let looks: Vec<i64> = looks(&mut scheduler, 105).into_iter().map(|(_, number)| number).collect();
    let expected: Vec<i64> = (101..=105).chain(105..=148).collect();
    assert_eq!(looks, expected);
}

#[test]
fn what_is_found_is_not_sent_again() {
    let mut scheduler = scheduler();
    scheduler.take_up(doubtful(1, PERSON, 100), ms(0));
    let first = scheduler.next(ms(0)).expect("a look");
    scheduler.done(&first, Ok(CallAnswer::NotThere), ms(0), 0.5);
    let second = scheduler.next(ms(0)).expect("another");
    assert_eq!(second.action, Action::Find(MessageId(102)));
    let reports = scheduler.done(&second, Ok(CallAnswer::Done), ms(0), 0.5);
    let arrived = Report::Arrived { outgoing: OutgoingId(1), chat: PERSON, message: MessageId(102), revision: 0 };
    assert_eq!(reports, [arrived]);
    assert!(scheduler.is_idle());
}

#[test]
fn a_search_keeps_the_pace_of_a_group() {
    let mut scheduler = scheduler();
    (1..=2).for_each(|id| drop(scheduler.take_up(doubtful(id, GROUP, 100 * id), ms(0))));
    let at: Vec<u64> = looks(&mut scheduler, 0).iter().map(|(at, _)| at.as_secs()).collect();
    assert_eq!((at[16], at[17], at.len()), (0, 60, 24), "one of the calls was the first message itself");
}

#[test]
fn what_can_be_done_already_is_not_waited_for() {
    let mut scheduler = scheduler();
    (1..=4).for_each(|id| drop(scheduler.order(Order::Post(outgoing(id, PERSON, OutgoingKind::Answer)), ms(0))));
    for _ in 0..3 {
        let call = scheduler.next(ms(0)).expect("a burst of three");
        scheduler.done(&call, Ok(CallAnswer::Sent(MessageId(call.outgoing.0))), ms(0), 0.5);
    }
    assert_eq!((scheduler.next(ms(999)), scheduler.wake(ms(999))), (None, Some(ms(1000))));
    // The clock may have gone on between the two questions.
    assert_eq!(scheduler.wake(ms(1001)), Some(ms(1001)));
}

#[test]
fn at_the_end_last_words_to_people_do_not_wait_for_their_pace() {
    let mut scheduler = scheduler();
    (1..=8).for_each(|id| drop(scheduler.order(Order::Revise(changed(id, PERSON)), ms(0))));
    (11..=40).for_each(|id| drop(scheduler.order(Order::Revise(changed(id, GROUP)), ms(0))));
    scheduler.hurry();
    let at_once = run(&mut scheduler, ms(0)).into_iter().filter(|(at, _)| *at < ms(2000));
    let (people, groups): (Vec<_>, Vec<_>) = at_once.partition(|(_, call)| call.chat == PERSON);
    assert_eq!((people.len(), groups.len()), (8, 20));
}

#[test]
fn many_searches_leave_room_for_answers() {
    let mut scheduler = scheduler();
    (1..=40).for_each(|id| drop(scheduler.take_up(doubtful(id, ChatId(id), 100), ms(0))));
    scheduler.order(Order::Post(outgoing(99, PERSON_WITHOUT_DOUBT, OutgoingKind::Answer)), ms(0));
    let calls: Vec<Call> = std::iter::from_fn(|| scheduler.next(ms(0))).collect();
    assert!(calls.iter().any(|call| call.outgoing == OutgoingId(99)), "the answer is among the first thirty calls");
}

#[test]
fn a_supergroup_counts_for_itself_and_all_others_together() {
    let supergroup = ChatId(-1_000_000_000_042);
    let mut scheduler = scheduler();
    for (chat, number) in [(PERSON, 30), (ChatId(8), 50), (supergroup, 9000)] {
        scheduler.seen(chat, MessageId(number));
    }
    for (id, chat, expected) in
        [(1, PERSON, 50), (2, GROUP, 50), (3, supergroup, 9000), (4, ChatId(-1_000_000_000_043), 0)]
    {
        scheduler.order(Order::Post(outgoing(id, chat, OutgoingKind::Answer)), ms(0));
        let call = scheduler.next(ms(0)).expect("a call");
        assert!(matches!(call.action, Action::Send { floor, .. } if floor == MessageId(expected)), "{:?}", call.action);
    }
}

#[test]
fn a_replaced_message_that_was_not_sent_yet_never_is() {
    let mut scheduler = scheduler();
    scheduler.order(Order::Post(outgoing(1, PERSON, OutgoingKind::Sign)), ms(0));
    scheduler.order(
        Order::Post(Outgoing { replaces: Some(OutgoingId(1)), ..outgoing(2, PERSON, OutgoingKind::Answer) }),
        ms(0),
    );
    let calls: Vec<Call> = run(&mut scheduler, ms(0)).into_iter().map(|(_, call)| call).collect();
    assert_eq!(ids(&calls), [2]);
    let removed = Outgoing { state: OutgoingState::Leaving, ..outgoing(1, PERSON, OutgoingKind::Sign) };
    assert_eq!(scheduler.order(Order::Remove(removed), ms(1)), [Report::Gone(OutgoingId(1))]);
    assert!(scheduler.is_idle());
}

#[test]
fn a_message_removed_while_it_is_being_sent_goes_away_afterwards() {
    let mut scheduler = scheduler();
    scheduler.order(Order::Post(outgoing(1, PERSON, OutgoingKind::Sign)), ms(0));
    let call = scheduler.next(ms(0)).unwrap();
    let removed = Outgoing { state: OutgoingState::Leaving, ..outgoing(1, PERSON, OutgoingKind::Sign) };
    assert_eq!(scheduler.order(Order::Remove(removed), ms(1)), []);
    scheduler.done(&call, Ok(CallAnswer::Sent(MessageId(50))), ms(2), 0.5);
    let call = scheduler.next(ms(2)).unwrap();
    assert_eq!(call.action, Action::Delete(MessageId(50)));
    assert_eq!(scheduler.done(&call, Ok(CallAnswer::Done), ms(3), 0.5), [Report::Gone(OutgoingId(1))]);
}

#[test]
fn what_can_neither_be_removed_nor_changed_is_left_alone() {
    let mut scheduler = scheduler();
    scheduler.order(Order::Remove(leaving(1, PERSON)), ms(0));
    let refused = |text: &str| ApiError::Rejected { code: 400, description: text.into(), moved_to: None };
    let call = scheduler.next(ms(0)).unwrap();
    assert_eq!(scheduler.done(&call, Err(refused("message can't be deleted")), ms(0), 0.5), []);
    let call = scheduler.next(ms(0)).unwrap();
    assert_eq!(call.action, Action::Edit(MessageId(1)));
    assert_eq!(
        scheduler.done(&call, Err(refused("message can't be edited")), ms(0), 0.5),
        [Report::Gone(OutgoingId(1))]
    );
    assert!(scheduler.is_idle());
}

#[test]
fn nothing_is_remembered_of_what_is_over() {
    let mut scheduler = scheduler();
    for id in 1..=100 {
        scheduler.order(Order::Post(outgoing(id, PERSON, OutgoingKind::Answer)), ms(0));
    }
    run(&mut scheduler, ms(0));
    assert!(scheduler.is_idle());
    assert_eq!(scheduler.remembered(), 0);
    (101..=300).for_each(|id| with_sign(&mut scheduler, id, ChatId(id % 2), ms(id as u64 * 10_000)));
    assert!(scheduler.remembered() <= 2 * 65, "{} signs", scheduler.remembered());
}

#[test]
fn progress_waits_for_stored_words_and_goes_on_after_them() {
    let mut scheduler = scheduler();
    scheduler.order(Order::Revise(changed(1, PERSON)), ms(0));
    scheduler.order(Order::Revise(Outgoing { kind: OutgoingKind::Sign, ..changed(2, PERSON) }), ms(0));
    scheduler.order(Order::Show { outgoing: OutgoingId(2), content: says("progress") }, ms(0));
    let said: Vec<String> =
        run(&mut scheduler, ms(0)).into_iter().map(|(_, call)| call.content.rendered.text).collect();
    assert_eq!(said, ["message 1", "message 2", "progress"]);
}

/// What can happen to a scheduler.
#[derive(Clone, Debug)]
enum Step {
    Post { chat: i64, kind: OutgoingKind },
    Show(usize),
    Revise(usize),
    Remove(usize),
    Wait(u64),
    Fail(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let chats = prop_oneof![Just(1_i64), Just(2), Just(-3), Just(-4)];
    let kinds = prop_oneof![Just(OutgoingKind::Sign), Just(OutgoingKind::Answer), Just(OutgoingKind::Notice)];
    let step = prop_oneof![
        4 => (chats, kinds).prop_map(|(chat, kind)| Step::Post { chat, kind }),
        3 => any::<prop::sample::Index>().prop_map(|index| Step::Show(index.index(64))),
        1 => any::<prop::sample::Index>().prop_map(|index| Step::Revise(index.index(64))),
        1 => any::<prop::sample::Index>().prop_map(|index| Step::Remove(index.index(64))),
        3 => (0..2500_u64).prop_map(Step::Wait),
        2 => (0..6_u8).prop_map(Step::Fail),
    ];
    proptest::collection::vec(step, 1..120)
}

/// A scheduler, what a chat would show, and when it was called.
struct Model {
    scheduler: Scheduler,
    all_outgoing: Vec<Outgoing>,
    now: Duration,
    /// The outcome of the next call, if it is to fail.
    faults: Vec<u8>,
    calls: Vec<(Duration, Call)>,
    /// What each message says in its chat.
    shown: std::collections::BTreeMap<OutgoingId, Content>,
    paused: std::collections::BTreeMap<ChatId, Duration>,
}

impl Model {
    fn step(&mut self, step: Step) {
        match step {
            Step::Post { chat, kind } => {
                let outgoing = outgoing(self.all_outgoing.len() as i64 + 1, ChatId(chat), kind);
                self.all_outgoing.push(outgoing.clone());
                self.scheduler.order(Order::Post(outgoing), self.now);
            }
            Step::Show(index) => {
                let Some(outgoing) = self.all_outgoing.get(index).filter(|outgoing| outgoing.revision == 0) else {
                    return;
                };
                let content = says(&format!("progress at {:?}", self.now));
                self.scheduler.order(Order::Show { outgoing: outgoing.id, content }, self.now);
            }
            Step::Revise(index) => {
                let arrived = |id: OutgoingId| self.shown.contains_key(&id).then_some(MessageId(id.0));
                let Some(outgoing) =
                    self.all_outgoing.get_mut(index).filter(|outgoing| outgoing.state != OutgoingState::Leaving)
                else {
                    return;
                };
                outgoing.revision += 1;
                outgoing.content = says(&format!("last words {}", outgoing.revision));
                outgoing.message = arrived(outgoing.id);
                outgoing.state =
                    if outgoing.message.is_some() { OutgoingState::Changed } else { OutgoingState::Waiting };
                self.scheduler.order(Order::Revise(outgoing.clone()), self.now);
            }
            Step::Remove(index) => {
                let arrived = |id: OutgoingId| self.shown.contains_key(&id).then_some(MessageId(id.0));
                let Some(outgoing) =
                    self.all_outgoing.get_mut(index).filter(|outgoing| outgoing.state != OutgoingState::Leaving)
                else {
                    return;
                };
                outgoing.message = arrived(outgoing.id);
                outgoing.state = OutgoingState::Leaving;
                self.scheduler.order(Order::Remove(outgoing.clone()), self.now);
            }
            Step::Wait(milliseconds) => self.now += ms(milliseconds),
            Step::Fail(how) => self.faults.push(how),
        }
        self.call();
    }

    fn call(&mut self) {
        while let Some(call) = self.scheduler.next(self.now) {
            let paused = self.paused.get(&call.chat).copied().unwrap_or_default();
            assert!(self.now >= paused, "a call into a chat that was told to wait");
            self.calls.push((self.now, call.clone()));
            let outcome = self.outcome(&call);
            self.scheduler.done(&call, outcome, self.now, 0.3);
        }
    }

    fn outcome(&mut self, call: &Call) -> Result<CallAnswer, ApiError> {
        let rejected = |text: &str| ApiError::Rejected { code: 400, description: text.into(), moved_to: None };
        match self.faults.pop() {
            Some(0) => {
                self.paused.insert(call.chat, self.now + ms(3000));
                return Err(ApiError::RateLimited { retry_after: ms(3000) });
            }
            Some(1 | 2) => return Err(unreachable()),
            Some(3) if call.stage == Stage::Full && !matches!(call.action, Action::Delete(_)) => {
                return Err(rejected("can't parse entities"));
            }
            Some(4) if matches!(call.action, Action::Edit(_)) => {
                self.shown.remove(&call.outgoing);
                return Err(rejected("message to edit not found"));
            }
            _ => {}
        }
        match call.action {
            Action::Send { .. } => {
                let before = self.shown.insert(call.outgoing, call.content.clone());
                assert_eq!(before, None, "sent twice");
                Ok(CallAnswer::Sent(MessageId(call.outgoing.0)))
            }
            Action::Edit(_) => {
                let before = self.shown.insert(call.outgoing, call.content.clone());
                assert!(
                    call.weight == Weight::LastWords || before != Some(call.content.clone()),
                    "an edit for nothing"
                );
                Ok(CallAnswer::Done)
            }
            Action::Delete(_) => {
                self.shown.remove(&call.outgoing);
                Ok(CallAnswer::Done)
            }
            Action::Find(_) => Ok(CallAnswer::NotThere),
        }
    }

    fn finish(&mut self) {
        self.faults.clear();
        for _ in 0..10_000 {
            self.call();
            match self.scheduler.wake(self.now) {
                Some(wake) => self.now = wake,
                None => return,
            }
        }
        panic!("it never comes to rest");
    }
}

fn within(times: &[Duration], span: Duration) -> usize {
    let count = |start: &Duration| times.iter().filter(|at| **at >= *start && **at < *start + span).count();
    times.iter().map(count).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn whatever_happens_everything_arrives_once_and_the_pace_is_kept(steps in steps()) {
        let mut model = Model {
            scheduler: scheduler(), all_outgoing: Vec::new(), now: ms(0), faults: Vec::new(), calls: Vec::new(),
            shown: Default::default(), paused: Default::default(),
        };
        steps.into_iter().for_each(|step| model.step(step));
        model.finish();
        prop_assert!(model.scheduler.is_idle());
        for outgoing in &model.all_outgoing {
            let shown = model.shown.get(&outgoing.id);
            match outgoing.state {
                OutgoingState::Leaving => prop_assert_eq!(shown, None, "{:?} is still there", outgoing.id),
                // A sign that people deleted stays deleted unless it has last words.
                _ if outgoing.revision == 0 && outgoing.kind == OutgoingKind::Sign => {}
                _ if outgoing.revision == 0 => prop_assert!(shown.is_some(), "{:?} never arrived", outgoing.id),
                _ => prop_assert_eq!(shown, Some(&outgoing.content), "{:?} does not say its last words", outgoing.id),
            }
        }
        let at = |wanted: &dyn Fn(&Call) -> bool| -> Vec<Duration> {
            model.calls.iter().filter(|(_, call)| wanted(call)).map(|(at, _)| *at).collect()
        };
        prop_assert!(within(&at(&|_| true), ms(1000)) <= 30);
        for chat in [-3, -4] {
            prop_assert!(within(&at(&|call| call.chat == ChatId(chat)), ms(60_000)) <= 20);
        }
        for chat in [1, 2] {
            let sends = at(&|call| call.chat == ChatId(chat) && matches!(call.weight, Weight::Send | Weight::LastWords));
            prop_assert!(within(&sends, ms(10_000)) <= 13);
        }
    }
}
