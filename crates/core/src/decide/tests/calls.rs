//! Calls: who rings whom, who may answer, what is relayed.

use super::support::World;
use super::support::commands::raw;
use crate::command::{Command, Reply};
use crate::decide::Decision;
use crate::event::{Audience, CallSignal, Event};
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::{Actor, Refusal, refusal};

fn offer(callee: MemberId, kind: &str, sdp: &str) -> Command {
    Command::OfferCall { callee, kind: kind.to_owned(), sdp: sdp.to_owned() }
}

fn answer(call: CallId) -> Command {
    Command::AnswerCall { call, sdp: "v=0 answer".to_owned() }
}

fn ice(call: CallId, target: Option<MemberId>) -> Command {
    Command::RelayIce { call, target, candidate: raw("\"candidate:1\"").unwrap() }
}

fn end(call: CallId) -> Command {
    Command::EndCall { call }
}

struct Ringing {
    world: World,
    alice: MemberId,
    bob: MemberId,
    carol: MemberId,
    stranger: MemberId,
    call: CallId,
}

fn ringing() -> Ringing {
    let mut world = World::new();
    let alice = world.alice;
    let (bob, carol) = (world.human("bob"), world.human("carol"));
    let (_, stranger) = world.register("stranger");
    let Reply::Call(call) = world.done(alice, offer(bob, "video", "v=0 offer")).reply else { panic!() };
    Ringing { world, alice, bob, carol, stranger, call: call.id }
}

fn signals(decision: &Decision) -> Vec<(MemberId, &CallSignal)> {
    let mut signals = Vec::new();
    for event in &decision.events {
        if let Event::CallSignal { to, signal, .. } = event {
            signals.push((*to, signal));
        }
    }
    signals
}

#[test]
fn an_offer_rings_the_callee_and_then_brings_the_sdp() {
    let Ringing { mut world, alice, bob, call, .. } = ringing();
    world.done(bob, end(call));
    let decision = world.done(alice, offer(bob, "", "v=0"));
    let Reply::Call(call) = &decision.reply else { panic!() };
    assert_eq!((call.status, call.kind.as_str(), call.caller, call.callee), (CallStatus::Ringing, "audio", alice, bob));
    let [(to, CallSignal::Ring { caller_name, .. }), (also_to, CallSignal::Offer { sdp, .. })] =
        &signals(&decision)[..]
    else {
        panic!("{decision:?}")
    };
    assert_eq!((*to, *also_to, caller_name.as_str(), sdp.as_str()), (bob, bob, "alice", "v=0"));
}

#[test]
fn an_offer_needs_a_callee_an_sdp_and_a_known_type() {
    let Ringing { mut world, alice, bob, stranger, .. } = ringing();
    assert_eq!(world.refused(alice, offer(MemberId::NONE, "audio", "v=0")), refusal::CALLEE_AND_SDP);
    assert_eq!(world.refused(alice, offer(bob, "audio", "")), refusal::CALLEE_AND_SDP);
    assert_eq!(world.refused(alice, offer(stranger, "audio", "v=0")), refusal::MEMBER_NOT_FOUND);
    let oneself = Refusal::bad_request("nobody can call themselves");
    assert_eq!(world.refused(alice, offer(alice, "audio", "v=0")), oneself);
    let wrong = Refusal::bad_request("type must be `audio` or `video`");
    assert_eq!(world.refused(alice, offer(bob, "smoke", "v=0")), wrong);
}

#[test]
fn only_the_callee_answers_and_only_while_it_rings() {
    let Ringing { mut world, alice, bob, carol, stranger, call } = ringing();
    assert_eq!(world.refused(alice, answer(call)), refusal::NOT_THE_CALLEE);
    assert_eq!(world.refused(carol, answer(call)), refusal::NOT_A_PARTICIPANT);
    assert_eq!(world.refused(stranger, answer(call)), refusal::CALL_NOT_FOUND);
    let decision = world.done(bob, answer(call));
    assert!(matches!(&decision.reply, Reply::Call(call) if call.status == CallStatus::Answered));
    assert!(matches!(signals(&decision)[..], [(to, CallSignal::Answer { .. })] if to == alice));
    assert_eq!(world.refused(bob, answer(call)), refusal::CALL_ANSWERED);
}

#[test]
fn a_call_that_was_answered_stops_ringing_on_the_callees_other_connections() {
    let Ringing { mut world, bob, call, .. } = ringing();
    let (phone, desk) = (world.connect(bob), world.connect(bob));
    let decision = world.done(Actor::connected(bob, Door::Lark, phone), answer(call));
    let stopped =
        |event: &&Event| matches!(event, Event::CallSignal { signal: CallSignal::End { reason: "answered", .. }, .. });
    let told: Vec<_> = decision.events.iter().filter(stopped).map(|event| event.audience(&world.state)).collect();
    assert_eq!(told, [Audience::Connection(desk)]);
}

#[test]
fn candidates_are_relayed_between_the_two_and_to_nobody_else() {
    let Ringing { mut world, alice, bob, carol, call, .. } = ringing();
    for (from, target, to) in [(alice, Some(bob), bob), (bob, Some(alice), alice), (bob, None, alice)] {
        let decision = world.done(from, ice(call, target));
        let [(heard, CallSignal::Ice { from: told, candidate, .. })] = &signals(&decision)[..] else { panic!() };
        assert_eq!((*heard, *told, candidate.get()), (to, from, "\"candidate:1\""));
    }
    assert_eq!(world.refused(alice, ice(call, Some(carol))), refusal::NOT_A_PARTICIPANT);
    assert_eq!(world.refused(carol, ice(call, Some(bob))), refusal::NOT_A_PARTICIPANT);
    assert_eq!(world.refused(alice, ice(CallId::NONE, None)), refusal::CALL_NOT_FOUND);
}

#[test]
fn a_candidate_that_nobody_could_read_is_refused() {
    let Ringing { mut world, alice, call, .. } = ringing();
    let relay = |candidate: &str| Command::RelayIce { call, target: None, candidate: raw(candidate).unwrap() };
    for unreadable in ["1e999", r#""\ud800""#, &format!("{}{}", "[".repeat(101), "]".repeat(101))] {
        assert_eq!(world.refused(alice, relay(unreadable)), refusal::INVALID_DATA, "{unreadable}");
    }
    world.done(alice, relay(r#"{"candidate":"c","sdpMLineIndex":0}"#));
}

#[test]
fn either_side_ends_a_call_and_the_other_hears_of_it_once() {
    for ender in 0..2 {
        let Ringing { mut world, alice, bob, carol, call, .. } = ringing();
        let (one, other) = if ender == 0 { (alice, bob) } else { (bob, alice) };
        assert_eq!(world.refused(carol, end(call)), refusal::NOT_A_PARTICIPANT);
        world.later(5);
        let decision = world.done(one, end(call));
        assert!(matches!(signals(&decision)[..], [(to, CallSignal::End { reason: "ended", .. })] if to == other));
        let stored = world.ledger.get::<Call>(call).unwrap().unwrap();
        assert_eq!((stored.status, stored.ended_at), (CallStatus::Ended, Some(world.now)));
        assert!(world.done(other, end(call)).events.is_empty());
    }
}

#[test]
fn a_call_that_is_over_takes_neither_answers_nor_candidates() {
    let Ringing { mut world, alice, bob, call, .. } = ringing();
    world.done(alice, end(call));
    assert_eq!(world.refused(bob, answer(call)), refusal::CALL_OVER);
    assert_eq!(world.refused(bob, ice(call, None)), refusal::CALL_OVER);
}

#[test]
fn a_call_that_nobody_answers_is_missed_after_a_minute_and_both_sides_hear_of_it() {
    let Ringing { mut world, alice, bob, call, .. } = ringing();
    assert!(world.time_passes(RINGS_FOR - 1).events.is_empty());
    let decision = world.time_passes(1);
    let both = [alice, bob];
    let told = signals(&decision);
    assert_eq!(told.iter().map(|(to, _)| *to).collect::<Vec<_>>(), both);
    assert!(told.iter().all(|(_, signal)| matches!(signal, CallSignal::End { reason: "missed", .. })), "{told:?}");
    let stored = world.ledger.get::<Call>(call).unwrap().unwrap();
    assert_eq!((stored.status, stored.ended_at), (CallStatus::Missed, Some(world.now)));
    assert_eq!(world.refused(bob, answer(call)), refusal::CALL_OVER);
    assert_eq!(world.state.next_deadline(), None);
}

#[test]
fn a_call_that_was_answered_or_ended_is_not_missed() {
    for command in [answer, end] {
        let Ringing { mut world, bob, call, .. } = ringing();
        world.done(bob, command(call));
        assert_eq!(world.state.next_deadline(), None);
        assert!(world.time_passes(RINGS_FOR).events.is_empty());
    }
}

#[test]
fn who_calls_again_has_hung_up_so_that_one_call_rings() {
    let Ringing { mut world, alice, bob, carol, call, .. } = ringing();
    world.done(carol, offer(bob, "audio", "v=0"));
    let again = world.done(alice, offer(carol, "audio", "v=0"));
    assert!(matches!(signals(&again)[0], (to, CallSignal::End { call: ended, .. }) if to == bob && *ended == call));
    assert_eq!(world.refused(bob, answer(call)), refusal::CALL_OVER);
    for _ in 0..20 {
        world.done(alice, offer(bob, "audio", "v=0"));
    }
    assert_eq!(world.state.ringing_calls().count(), 2, "one of alice's, one of carol's");
}
