//! Sentences: who may be given one, what answers, silence and absence lead to, and what the speaker is told.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::support::World;
use super::support::world::notifications;
use crate::command::*;
use crate::decide::Decision;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::Code;
use crate::route::*;
use crate::{Actor, refusal};

const TIMEOUT: i64 = 30_000;

/// A world with alice and some connected clients.
struct Harness {
    world: World,
    clients: Vec<MemberId>,
}

fn hub() -> Actor {
    Actor::hub(Door::SmartHole)
}

impl Harness {
    fn new(names: &[&str]) -> Self {
        let mut harness = Self { world: World::new(), clients: Vec::new() };
        for name in names {
            harness.register(name);
        }
        harness
    }

    fn register(&mut self, name: &str) -> MemberId {
        let role_card = RoleCard { system_prompt: "notes".to_owned(), capabilities: Vec::new() };
        let (key, name) = (name.to_lowercase(), name.to_owned());
        let welcome = WelcomeGuest { door: Door::SmartHole, key, name, role_card };
        let decision = self.world.done(hub(), Command::WelcomeGuest(welcome));
        let Reply::Member(member) = decision.reply else { panic!("no member") };
        self.world.connect(member.id);
        self.clients.push(member.id);
        member.id
    }

    fn leave(&mut self, client: MemberId) {
        let connection = self.world.state.connections_of(client)[0];
        self.world.disconnect(client, connection);
    }

    fn say(&mut self, choice: Choice) -> Decision {
        self.world.done(self.world.alice, say("buy milk", choice))
    }

    fn hand(&mut self, route: RouteId, to: &[MemberId]) -> Decision {
        self.world.done(hub(), Command::Hand { route, choice: these(to), timeout: TIMEOUT })
    }

    fn answer(&mut self, client: MemberId, route: RouteId, said: Said) -> Decision {
        self.world.done(client, Command::AnswerRoute { route, said })
    }

    fn reject(&mut self, client: MemberId, route: RouteId, reason: &str) -> Decision {
        self.answer(client, route, Said::Reject { reason: reason.to_owned() })
    }
}

fn say(text: &str, choice: Choice) -> Command {
    let (input, confidence, source) = (InputMethod::Text, None, None);
    Command::Say(Say { text: text.to_owned(), input, confidence, source, choice, timeout: TIMEOUT })
}

fn these(clients: &[MemberId]) -> Choice {
    let chosen = |client: &MemberId| Chosen { client: *client, reason: Some("it takes notes".to_owned()) };
    Choice::These(clients.iter().map(chosen).collect())
}

#[track_caller]
fn route(decision: &Decision) -> Arc<Route> {
    let Reply::Route(route) = &decision.reply else { panic!("{:?}", decision.reply) };
    Arc::clone(route)
}

fn handed(decision: &Decision) -> Vec<MemberId> {
    let to = |event: &Event| match event {
        Event::Handed { to, .. } => Some(*to),
        _ => None,
    };
    decision.events.iter().filter_map(to).collect()
}

fn told(decision: &Decision) -> Vec<(&str, &str)> {
    notifications(decision).into_iter().map(|told| (told.title.as_str(), told.body.as_str())).collect()
}

#[test]
fn a_sentence_and_its_attempt_are_stored_with_the_delivery() {
    let mut harness = Harness::new(&["notebook"]);
    let notebook = harness.clients[0];
    let decision = harness.say(these(&[notebook]));
    assert!(matches!(&decision.events[0], Event::Saved(crate::Record::Route(_))), "stored first");
    assert_eq!(handed(&decision), [notebook]);
    let route = route(&decision);
    assert_eq!((route.state, route.direct, route.text.as_str()), (RouteState::Waiting, false, "buy milk"));
    let attempt = &route.attempts[0];
    assert_eq!((attempt.name.as_str(), attempt.status), ("notebook", AttemptStatus::Delivered));
    assert_eq!((attempt.reason.as_deref(), attempt.due - attempt.at), (Some("it takes notes"), TIMEOUT));
}

#[test]
fn several_clients_are_given_the_same_sentence_under_one_id() {
    let mut harness = Harness::new(&["notebook", "calendar", "tasks", "mail"]);
    let all = harness.clients.clone();
    let decision = harness.say(these(&all));
    assert_eq!(handed(&decision), all, "a first choice may be as large as it likes");
    let id = route(&decision).id;
    let after = harness.answer(all[0], id, Said::Ack);
    assert_eq!((handed(&after), route(&after).state), (vec![], RouteState::Waiting), "nobody is given it twice");
}

#[test]
fn a_direct_address_strips_the_name_and_carries_no_reason() {
    let mut harness = Harness::new(&["notebook"]);
    let direct = Choice::Direct { client: harness.clients[0], text: "milk".to_owned() };
    let route = route(&harness.say(direct));
    assert_eq!((route.direct, route.text.as_str(), route.attempts[0].reason.as_deref()), (true, "milk", None));
}

#[test]
fn an_ack_takes_it_and_is_not_news() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let id = route(&harness.say(these(&harness.clients[..1]))).id;
    let decision = harness.answer(harness.clients[0], id, Said::Ack);
    assert_eq!(route(&decision).state, RouteState::Taken);
    assert_eq!(told(&decision), []);
}

#[test]
fn a_reject_is_told_and_the_sentence_looks_for_somebody_else() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let (notebook, calendar) = (harness.clients[0], harness.clients[1]);
    let id = route(&harness.say(these(&[notebook]))).id;
    let decision = harness.reject(notebook, id, "I only handle notes");
    assert_eq!(route(&decision).state, RouteState::Choosing);
    assert_eq!(told(&decision), [("notebook declined", "I only handle notes")]);
    let again = harness.hand(id, &[calendar]);
    assert_eq!((handed(&again), route(&again).id), (vec![calendar], id));
    assert_eq!(told(&again), [("Passed on to calendar", "buy milk")]);
    assert_eq!(route(&harness.answer(calendar, id, Said::Ack)).state, RouteState::Taken);
}

#[test]
fn a_reject_without_a_reason_has_one() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let id = route(&harness.say(these(&harness.clients[..1]))).id;
    let decision = harness.reject(harness.clients[0], id, "  ");
    assert_eq!(route(&decision).attempts[0].refusal.as_deref(), Some("No reason provided"));
}

#[test]
fn it_is_never_handed_to_a_client_that_rejected_it() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let notebook = harness.clients[0];
    let id = route(&harness.say(these(&[notebook]))).id;
    harness.reject(notebook, id, "no");
    let again = Command::Hand { route: id, choice: these(&[notebook]), timeout: TIMEOUT };
    assert_eq!(harness.world.refused(hub(), again), refusal::NOT_A_CANDIDATE);
}

#[test]
fn silence_is_a_reject_called_response_timeout_and_not_before_its_time() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let client = harness.clients[0];
    let id = route(&harness.say(these(&[client]))).id;
    let end = Command::EndAttempt { route: id, client, end: AttemptEnd::Timeout };
    harness.world.later(TIMEOUT - 1);
    assert_eq!(harness.world.refused(hub(), end.clone()), refusal::ROUTE_OVER);
    harness.world.later(1);
    let route = route(&harness.world.done(hub(), end));
    assert_eq!(route.attempts[0].status, AttemptStatus::Timeout);
    assert_eq!(route.attempts[0].refusal.as_deref(), Some("Response timeout"));
    assert_eq!(route.state, RouteState::Choosing);
}

#[test]
fn a_disconnect_is_a_reject_called_client_disconnected() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let client = harness.clients[0];
    let id = route(&harness.say(these(&[client]))).id;
    harness.leave(client);
    let end = Command::EndAttempt { route: id, client, end: AttemptEnd::Disconnected };
    let route = route(&harness.world.done(hub(), end));
    assert_eq!(route.attempts[0].refusal.as_deref(), Some("Client disconnected"));
    assert_eq!(route.state, RouteState::Choosing, "the other one is still there");
}

#[test]
fn attempts_end_at_three_or_at_the_number_of_clients() {
    for (clients, attempts) in [(1, 1), (2, 2), (3, 3), (5, 3)] {
        let names = ["ann", "ben", "cleo", "dan", "eve"];
        let mut harness = Harness::new(&names[..clients]);
        let mut decision = harness.say(these(&harness.clients[..1]));
        let id = route(&decision).id;
        for number in 0..attempts {
            assert_eq!(route(&decision).state, RouteState::Waiting, "{clients} clients, attempt {number}");
            decision = harness.reject(harness.clients[number], id, "no");
            if number + 1 < attempts {
                let others = harness.clients[number + 1..].to_vec();
                decision = harness.hand(id, &others);
                let given = handed(&decision);
                assert!(given.len() < attempts - number);
                for other in &given[1..] {
                    harness.reject(*other, id, "no");
                }
                if given.len() > 1 {
                    decision = harness.reject(given[0], id, "no");
                    break;
                }
            }
        }
        assert_eq!(route(&decision).state, RouteState::Failed, "{clients} clients");
        assert_eq!(route(&decision).attempts.len(), attempts);
    }
}

#[test]
fn when_nobody_takes_it_the_speaker_is_told_who_refused_and_why() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let (notebook, calendar) = (harness.clients[0], harness.clients[1]);
    let id = route(&harness.say(these(&[notebook]))).id;
    harness.reject(notebook, id, "only notes");
    harness.hand(id, &[calendar]);
    let decision = harness.reject(calendar, id, "only dates");
    assert_eq!(told(&decision), [("Unable to route message", "- notebook: only notes\n- calendar: only dates")]);
    let notice = notifications(&decision)[0];
    assert_eq!((notice.member, notice.source_type.as_str()), (harness.world.alice, "route"));
    assert_eq!(notice.payload.as_deref(), Some(format!("{{\"message_id\":\"{id}\"}}").as_str()));
}

#[test]
fn a_direct_address_that_is_refused_is_not_passed_on_and_the_speaker_is_told() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let client = harness.clients[0];
    let id = route(&harness.say(Choice::Direct { client, text: "milk".to_owned() })).id;
    let decision = harness.reject(client, id, "no");
    assert_eq!(route(&decision).state, RouteState::Failed);
    assert_eq!(told(&decision), [("Unable to route message", "- notebook: no")]);
    let again = Command::Hand { route: id, choice: these(&harness.clients[1..]), timeout: TIMEOUT };
    assert_eq!(harness.world.refused(hub(), again), refusal::ROUTE_OVER);
}

#[test]
fn one_of_several_that_refuses_is_told_and_the_others_go_on() {
    let mut harness = Harness::new(&["notebook", "calendar", "mail"]);
    let (notebook, calendar) = (harness.clients[0], harness.clients[1]);
    let id = route(&harness.say(these(&[notebook, calendar]))).id;
    let decision = harness.reject(notebook, id, "no");
    assert_eq!((route(&decision).state, told(&decision)), (RouteState::Waiting, vec![("notebook declined", "no")]));
    let decision = harness.answer(calendar, id, Said::Ack);
    assert_eq!(route(&decision).state, RouteState::Taken, "it was taken, so it is not passed on");
}

#[test]
fn a_notification_settles_it_and_reaches_the_speaker_with_the_clients_name_as_title() {
    let mut harness = Harness::new(&["notebook"]);
    let id = route(&harness.say(these(&harness.clients))).id;
    let said = Said::Notification { title: None, body: Some("saved".to_owned()), priority: Urgency::High };
    let decision = harness.answer(harness.clients[0], id, said);
    assert_eq!(told(&decision), [("notebook", "saved")]);
    assert_eq!(notifications(&decision)[0].priority, "high");
    assert_eq!(route(&decision).state, RouteState::Taken);
    let nothing = Said::Notification { title: Some(" ".to_owned()), body: None, priority: Urgency::Normal };
    assert_eq!(told(&harness.answer(harness.clients[0], id, nothing)), [], "nothing to show");
}

#[test]
fn late_answers_are_kept_and_change_nothing_and_late_notifications_are_shown() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let client = harness.clients[0];
    let id = route(&harness.say(these(&[client]))).id;
    harness.answer(client, id, Said::Ack);
    let decision = harness.reject(client, id, "changed my mind");
    let route_now = route(&decision);
    assert_eq!((route_now.state, route_now.attempts[0].status), (RouteState::Taken, AttemptStatus::Acked));
    assert_eq!((route_now.attempts[0].answers.len(), told(&decision)), (2, vec![]));
    let shown = Said::Notification { title: Some("done".to_owned()), body: None, priority: Urgency::Low };
    assert_eq!(told(&harness.answer(client, id, shown)), [("done", "")]);
}

#[test]
fn without_clients_the_speaker_is_told_so() {
    let mut harness = Harness::new(&[]);
    let decision = harness.say(Choice::Later);
    assert_eq!(route(&decision).state, RouteState::NoClients);
    assert_eq!(told(&decision)[0].0, "No clients connected");
}

#[test]
fn an_unsure_choice_asks_the_speaker_and_names_who_is_there() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let decision = harness.say(Choice::Unsure(harness.clients.clone()));
    assert_eq!((route(&decision).state, handed(&decision)), (RouteState::Asked, vec![]));
    let (title, body) = told(&decision)[0];
    assert!(title == "Who should take this?" && body.contains("`notebook: …`") && body.contains("calendar"), "{body}");
}

#[test]
fn a_sentence_that_waits_for_a_choice_is_kept_and_open() {
    let mut harness = Harness::new(&["notebook"]);
    let decision = harness.say(Choice::Later);
    assert_eq!((route(&decision).state, handed(&decision)), (RouteState::Choosing, vec![]));
    let id = route(&decision).id;
    assert_eq!(handed(&harness.hand(id, &harness.clients.clone())), harness.clients);
    let again = Command::Hand { route: id, choice: these(&harness.clients), timeout: TIMEOUT };
    assert_eq!(harness.world.refused(hub(), again), refusal::ROUTE_OVER, "once");
}

#[test]
fn what_a_client_had_not_answered_is_handed_to_it_again_unchanged() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let (client, other) = (harness.clients[0], harness.clients[1]);
    let first = route(&harness.say(these(&[client])));
    let again = harness.world.done(hub(), Command::HandAgain { route: first.id, client });
    assert_eq!((handed(&again), route(&again)), (vec![client], Arc::clone(&first)));
    assert!(!again.events.iter().any(Event::is_stored));
    let refused = Command::HandAgain { route: first.id, client: other };
    assert_eq!(harness.world.refused(hub(), refused.clone()), refusal::ROUTE_OVER, "it never had it");
    assert_eq!(harness.world.refused(client, refused), refusal::NOT_AUTHORIZED);
    harness.answer(client, first.id, Said::Ack);
    let late = Command::HandAgain { route: first.id, client };
    assert_eq!(harness.world.refused(hub(), late), refusal::ROUTE_OVER);
}

#[test]
fn agents_that_declare_capabilities_and_can_be_reached_are_candidates() {
    let mut harness = Harness::new(&[]);
    let (able, silent, away) =
        (harness.world.agent("able"), harness.world.agent("silent"), harness.world.agent("away"));
    for (agent, capabilities) in [(able, vec!["review".to_owned()]), (silent, vec![]), (away, vec!["x".to_owned()])] {
        let role_card = RoleCard { system_prompt: String::new(), capabilities };
        let update = UpdateMember { member: agent, role_card: Some(role_card), ..UpdateMember::default() };
        harness.world.done(harness.world.alice, Command::UpdateMember(update));
    }
    harness.world.connect(able);
    harness.world.connect(silent);
    assert_eq!(handed(&harness.say(these(&[silent, away, able]))), [able]);
}

#[test]
fn only_clients_of_the_speakers_workspace_and_never_the_speaker_can_take_it() {
    let mut harness = Harness::new(&["notebook"]);
    let (_, mallory) = harness.world.register("mallory");
    let foreign = harness.world.done(mallory, say("buy milk", these(&harness.clients)));
    assert_eq!((route(&foreign).state, handed(&foreign)), (RouteState::NoClients, vec![]));
    let own = harness.world.done(harness.clients[0], say("buy milk", these(&harness.clients)));
    assert_eq!(route(&own).state, RouteState::NoClients);
}

#[test]
fn the_hubs_own_voice_takes_nothing() {
    let mut harness = Harness::new(&["notebook"]);
    let Guest { door, key } = Guest::router();
    let role_card = RoleCard { system_prompt: String::new(), capabilities: vec!["all".to_owned()] };
    let welcome = Command::WelcomeGuest(WelcomeGuest { door, key, name: "router".to_owned(), role_card });
    let Reply::Member(router) = harness.world.done(hub(), welcome).reply else { panic!("no member") };
    harness.world.connect(router.id);
    assert_eq!(harness.world.refused(harness.world.alice, say("x", these(&[router.id]))), refusal::NOT_A_CANDIDATE);
}

#[test]
fn only_the_hub_hands_on_and_ends_attempts_and_only_who_was_given_it_answers() {
    let mut harness = Harness::new(&["notebook", "calendar"]);
    let (notebook, calendar) = (harness.clients[0], harness.clients[1]);
    let id = route(&harness.say(these(&[notebook]))).id;
    let hand = Command::Hand { route: id, choice: these(&[calendar]), timeout: TIMEOUT };
    let end = Command::EndAttempt { route: id, client: notebook, end: AttemptEnd::Disconnected };
    for who in [harness.world.alice, notebook, calendar] {
        assert_eq!(harness.world.refused(who, hand.clone()), refusal::NOT_AUTHORIZED);
        assert_eq!(harness.world.refused(who, end.clone()), refusal::NOT_AUTHORIZED);
    }
    let ack = Command::AnswerRoute { route: id, said: Said::Ack };
    assert_eq!(harness.world.refused(calendar, ack.clone()), refusal::ROUTE_NOT_FOUND);
    assert_eq!(harness.world.refused(harness.world.alice, ack), refusal::ROUTE_NOT_FOUND);
    let unknown = RouteId(1);
    for command in [
        Command::Hand { route: unknown, choice: Choice::Later, timeout: 0 },
        Command::EndAttempt { route: unknown, client: notebook, end: AttemptEnd::Timeout },
    ] {
        assert_eq!(harness.world.refused(hub(), command), refusal::ROUTE_NOT_FOUND);
    }
}

#[test]
fn a_sentence_has_words_and_a_limit_and_its_line_is_the_speakers_own() {
    let mut harness = Harness::new(&["notebook"]);
    let alice = harness.world.alice;
    assert_eq!(harness.world.refused(alice, say(" \n", Choice::Later)).code, Code::BadRequest);
    assert_eq!(harness.world.refused(alice, say(&"x".repeat(10_001), Choice::Later)).code, Code::BadRequest);
    let bob = harness.world.human("bob");
    let channel = harness.world.channel("general", &[alice, bob]);
    let line = harness.world.say(bob, channel, "@router milk");
    let Command::Say(mut borrowed) = say("milk", Choice::Later) else { unreachable!() };
    borrowed.source = Some(line.id);
    assert_eq!(harness.world.refused(alice, Command::Say(borrowed.clone())), refusal::MESSAGE_NOT_FOUND);
    harness.world.done(bob, Command::Say(borrowed));
}

#[derive(Clone, Debug)]
enum Move {
    Hand(Vec<usize>),
    Ack(usize),
    Reject(usize),
    Notify(usize),
    Time(usize),
    Leave(usize),
    Return(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = 0..4_usize;
    let any = prop_oneof![
        3 => proptest::collection::vec(0..4_usize, 1..4).prop_map(Move::Hand),
        1 => one.clone().prop_map(Move::Ack),
        3 => one.clone().prop_map(Move::Reject),
        1 => one.clone().prop_map(Move::Notify),
        2 => one.clone().prop_map(Move::Time),
        1 => one.clone().prop_map(Move::Leave),
        1 => one.prop_map(Move::Return),
    ];
    proptest::collection::vec(any, 0..25)
}

proptest! {
    /// Whatever happens: nobody is given it twice, what was taken stays taken, and what ends is told.
    #[test]
    fn no_order_of_answers_loses_or_doubles_a_sentence(moves in moves()) {
        let mut harness = Harness::new(&["ann", "ben", "cleo", "dan"]);
        let clients = harness.clients.clone();
        let id = route(&harness.say(Choice::Later)).id;
        let mut given = BTreeSet::new();
        let mut taken = false;
        for one in moves {
            harness.world.later(TIMEOUT);
            let outcome = match one {
                Move::Hand(to) => {
                    let to: Vec<_> = to.into_iter().map(|at| clients[at]).collect();
                    harness.world.act(hub(), Command::Hand { route: id, choice: these(&to), timeout: TIMEOUT })
                }
                Move::Ack(at) => harness.world.act(clients[at], Command::AnswerRoute { route: id, said: Said::Ack }),
                Move::Reject(at) => {
                    let said = Said::Reject { reason: "no".to_owned() };
                    harness.world.act(clients[at], Command::AnswerRoute { route: id, said })
                }
                Move::Notify(at) => {
                    let said = Said::Notification { title: None, body: Some("b".to_owned()), priority: Urgency::Low };
                    harness.world.act(clients[at], Command::AnswerRoute { route: id, said })
                }
                Move::Time(at) => {
                    let end = AttemptEnd::Timeout;
                    harness.world.act(hub(), Command::EndAttempt { route: id, client: clients[at], end })
                }
                Move::Leave(at) => {
                    if harness.world.state.connections_of(clients[at]).is_empty() { continue }
                    harness.leave(clients[at]);
                    let end = AttemptEnd::Disconnected;
                    harness.world.act(hub(), Command::EndAttempt { route: id, client: clients[at], end })
                }
                Move::Return(at) => {
                    harness.world.connect(clients[at]);
                    continue;
                }
            };
            let Ok(decision) = outcome else { continue };
            for client in handed(&decision) {
                prop_assert!(given.insert(client), "given twice");
            }
            let now = route(&decision);
            let has_taker = now.takers().next().is_some();
            prop_assert!(!taken || has_taker, "what was taken stays taken");
            taken = has_taker;
            prop_assert_eq!(now.state == RouteState::Waiting, now.pending().next().is_some());
            prop_assert!(now.state != RouteState::Taken || taken);
            if now.state == RouteState::Failed {
                prop_assert!(!taken && now.attempts.iter().all(|attempt| attempt.refusal.is_some()));
            }
        }
    }
}

#[test]
fn an_agent_hands_on_a_few_sentences_of_its_own_accord_and_then_a_person_comes_first() {
    let mut harness = Harness::new(&["notebook"]);
    let agent = harness.world.agent("talker");
    harness.world.connect(agent);
    for number in 0..8 {
        harness.world.done(agent, say(&format!("sentence {number}"), Choice::Later));
    }
    assert_eq!(harness.world.refused(agent, say("one more", Choice::Later)).code, Code::Held);
    for number in 0..20 {
        let alice = harness.world.alice;
        harness.world.done(alice, say(&format!("hers {number}"), Choice::Later));
    }
    let alice = harness.world.alice;
    let general = harness.world.channel("general", &[alice, agent]);
    harness.world.say(alice, general, "@talker go on");
    harness.world.done(agent, say("as she says", Choice::Later));
}
