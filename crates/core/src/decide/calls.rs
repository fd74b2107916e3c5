//! Calls between two members: the hub keeps the record and relays the signalling, never the media.

use serde_json::value::RawValue;

use super::{Context, Decision, Outcome, messages};
use crate::command::Reply;
use crate::event::{CallSignal, Event};
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

pub fn offer(context: &mut Context<'_>, actor: Actor, callee: MemberId, kind: String, sdp: String) -> Outcome {
    let caller = access::member(context.state, actor)?.clone();
    if callee.is_none() || sdp.is_empty() {
        return Err(refusal::CALLEE_AND_SDP);
    }
    let callee = access::colleague(context.state, actor, callee)?.id;
    if callee == caller.id {
        return Err(Refusal::bad_request("nobody can call themselves"));
    }
    let kind = match kind.as_str() {
        "" => "audio".to_owned(),
        "audio" | "video" => kind,
        _ => return Err(Refusal::bad_request("type must be `audio` or `video`")),
    };
    let call = Call {
        id: CallId(context.new_id()),
        workspace: caller.workspace,
        caller: caller.id,
        callee,
        kind,
        status: CallStatus::Ringing,
        created_at: context.now,
        answered_at: None,
        ended_at: None,
    };
    let mut events = hung_up(context, caller.id)?;
    events.extend([
        Event::Saved(call.clone().into()),
        signal(callee, CallSignal::Ring { call: call.clone(), caller_name: caller.name.clone() }),
        signal(callee, CallSignal::Offer { call: call.clone(), sdp }),
    ]);
    Ok(Decision::new(Reply::Call(call), events))
}

/// Who calls again has hung up before: nobody makes others ring many times at once.
fn hung_up(context: &Context<'_>, caller: MemberId) -> Result<Vec<Event>, Refusal> {
    let mut events = Vec::new();
    for id in context.state.ringing_calls() {
        let Some(call) = context.history.get::<Call>(id)?.filter(|call| call.caller == caller) else { continue };
        events.push(signal(call.callee, CallSignal::End { call: id, reason: "ended" }));
        events.push(Event::Saved(Call { status: CallStatus::Ended, ended_at: Some(context.now), ..call }.into()));
    }
    Ok(events)
}

fn signal(to: MemberId, signal: CallSignal) -> Event {
    Event::CallSignal { to, only: None, signal }
}

pub fn answer(context: &mut Context<'_>, actor: Actor, id: CallId, sdp: String) -> Outcome {
    let call = participant(context, actor, id)?;
    if call.callee != actor.member {
        return Err(refusal::NOT_THE_CALLEE);
    }
    match call.status {
        CallStatus::Ringing => {}
        CallStatus::Answered => return Err(refusal::CALL_ANSWERED),
        CallStatus::Ended | CallStatus::Missed => return Err(refusal::CALL_OVER),
    }
    let call = Call { status: CallStatus::Answered, answered_at: Some(context.now), ..call };
    let mut events = vec![Event::Saved(call.clone().into()), signal(call.caller, CallSignal::Answer { call: id, sdp })];
    // It stops ringing wherever else the callee is.
    let elsewhere = context.state.connections_of(call.callee).iter().filter(|other| Some(**other) != actor.connection);
    events.extend(elsewhere.map(|other| Event::CallSignal {
        to: call.callee,
        only: Some(*other),
        signal: CallSignal::End { call: id, reason: "answered" },
    }));
    Ok(Decision::new(Reply::Call(call), events))
}

pub fn relay_ice(
    context: &mut Context<'_>,
    actor: Actor,
    id: CallId,
    target: Option<MemberId>,
    candidate: Box<RawValue>,
) -> Outcome {
    let call = participant(context, actor, id)?;
    let other = call.other_side(actor.member).ok_or(refusal::NOT_A_PARTICIPANT)?;
    if target.is_some_and(|target| target != other) {
        return Err(refusal::NOT_A_PARTICIPANT);
    }
    if matches!(call.status, CallStatus::Ended | CallStatus::Missed) {
        return Err(refusal::CALL_OVER);
    }
    if !messages::is_readable(&candidate) {
        return Err(refusal::INVALID_DATA);
    }
    let event = signal(other, CallSignal::Ice { call: id, from: actor.member, candidate });
    Ok(Decision::new(Reply::Done, vec![event]))
}

pub fn end(context: &mut Context<'_>, actor: Actor, id: CallId) -> Outcome {
    let call = participant(context, actor, id)?;
    let other = call.other_side(actor.member).ok_or(refusal::NOT_A_PARTICIPANT)?;
    if matches!(call.status, CallStatus::Ended | CallStatus::Missed) {
        return Ok(Decision::nothing(Reply::Call(call)));
    }
    let call = Call { status: CallStatus::Ended, ended_at: Some(context.now), ..call };
    let events = vec![Event::Saved(call.clone().into()), signal(other, CallSignal::End { call: id, reason: "ended" })];
    Ok(Decision::new(Reply::Call(call), events))
}

/// Calls that nobody answered end by themselves, so that no side waits for ever.
pub fn let_time_pass(context: &mut Context<'_>, events: &mut Vec<Event>) -> Result<(), Refusal> {
    let unanswered: Vec<_> = context.state.unanswered_calls(context.now).collect();
    for id in unanswered {
        let Some(call) = context.history.get::<Call>(id)? else { continue };
        let call = Call { status: CallStatus::Missed, ended_at: Some(context.now), ..call };
        events.push(Event::Saved(call.clone().into()));
        let sides = [call.caller, call.callee];
        events.extend(sides.map(|side| signal(side, CallSignal::End { call: id, reason: "missed" })));
    }
    Ok(())
}

fn participant(context: &Context<'_>, actor: Actor, id: CallId) -> Result<Call, Refusal> {
    let member = access::member(context.state, actor)?;
    if id.is_none() {
        return Err(refusal::CALL_NOT_FOUND);
    }
    let here = |call: &Call| call.workspace == member.workspace;
    let call = context.history.get::<Call>(id)?.filter(here).ok_or(refusal::CALL_NOT_FOUND)?;
    if call.other_side(member.id).is_some() { Ok(call) } else { Err(refusal::NOT_A_PARTICIPANT) }
}
