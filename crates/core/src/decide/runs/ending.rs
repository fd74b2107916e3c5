//! How a run ends, and what ends with it: its message becomes the answer, its questions are void, its thread can go on.

use std::sync::Arc;

use super::{changed, name, open_questions, own_run, put, readable, resume_text, sessions, shortened};
use crate::command::Reply;
use crate::decide::messages::{MAX_CONTENT_CHARS, next_change};
use crate::decide::{Context, Decision, Outcome, wakes};
use crate::event::Event;
use crate::model::*;
use crate::record::{ChangeKind, Record};
use crate::refusal::Refusal;
use crate::run::*;
use crate::{Actor, access};

const MAX_ERROR_CHARS: usize = 4000;
/// What stands where an answer will be that people have not let pass yet.
const HELD_TEXT: &str = "held until people let it pass";

pub fn complete(context: &mut Context<'_>, actor: Actor, complete: CompleteRun) -> Outcome {
    let run = own_run(context, actor, complete.run)?;
    if !run.is_open() {
        return Ok(Decision::nothing(Reply::Run { run, known: true }));
    }
    let error = complete.error.filter(|error| !error.trim().is_empty());
    let ended = Run {
        state: complete.end.into(),
        error: error.map(|error| shortened(error, MAX_ERROR_CHARS)),
        resume: resume_text(complete.resume, "resume")?.or_else(|| run.resume.clone()),
        resume_line: resume_text(complete.resume_line, "resume_line")?.or_else(|| run.resume_line.clone()),
        usage: readable(complete.usage),
        cost_usd: complete.cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0),
        model: name(complete.model, "model")?.or_else(|| run.model.clone()),
        ..changed(context, &run)?
    };
    let answer = complete.answer.filter(|answer| !answer.trim().is_empty());
    end(context, actor, ended, answer)
}

/// Ends a run whose agent cannot be reached.
pub fn cancel(context: &mut Context<'_>, run: &Run, why: &str) -> Outcome {
    let actor = Actor::new(run.agent, Door::Rest);
    let ended =
        Run { state: RunState::Cancelled, stop_requested: true, error: Some(why.to_owned()), ..changed(context, run)? };
    end(context, actor, ended, None)
}

/// One commit: the run, its message, its questions, its thread.
fn end(context: &mut Context<'_>, actor: Actor, mut run: Run, answer: Option<String>) -> Outcome {
    run.ended_at = Some(context.now);
    run.news = RunNews::Ended;
    let text = final_text(&run, answer.as_deref());
    let shown = shortened(text.clone(), MAX_CONTENT_CHARS);
    run.answer = answer.filter(|_| shown != text);
    let mut events = Vec::new();
    let message = message_to_change(context, actor, &run)?;
    let message = message.map(|message| Message { content: shown, updated_at: context.now, ..message });
    let held = hold(context, &run, message.as_ref())?;
    let shown = |message| if held.is_some() { Message { content: HELD_TEXT.to_owned(), ..message } } else { message };
    let message = message.map(shown).map(Arc::new);
    if let Some(message) = &message {
        let change = next_change(context, actor, message, ChangeKind::Edited)?;
        events.push(Event::MessageEdited { message: Arc::clone(message), change, edit: None });
    }
    events.push(put(run.clone()));
    let told_before_reply = events.len();
    for question in open_questions(context, &run)? {
        events.push(put(Approval {
            status: ApprovalStatus::Denied,
            note: Some("the run has ended".to_owned()),
            reviewed_at: Some(context.now),
            used_at: Some(context.now),
            ..question
        }));
    }
    sessions::follow(context, &run, &mut events)?;
    match held {
        // Its wakes are answered when people let the answer pass.
        Some(held) => events.extend(held.events),
        None => {
            wakes::after_run(context, &run, &mut events)?;
            wakes::on_run_end(context, &run, message.as_ref().map(|message| message.id), &mut events);
            call(context, &run, message.as_deref(), &mut events)?;
        }
    }
    let reply = Reply::Run { run: Arc::new(run), known: false };
    Ok(Decision::new(reply, events).reply_after(told_before_reply))
}

/// Keeps the answer back where agents have gone on among themselves for too long.
fn hold(context: &mut Context<'_>, run: &Run, message: Option<&Message>) -> Result<Option<Decision>, Refusal> {
    let (Some(message), RunState::Completed, Some(room)) = (message, run.state, context.state.channel(run.channel))
    else {
        return Ok(None);
    };
    let root = context.history.message(run.thread)?.filter(|root| root.id != message.id);
    let answers = context.state.deliveries().get(run.delivery).cloned();
    wakes::hold_back(context, room, message, root.as_ref(), answers.as_deref(), Some(message.id))
}

/// Only the final text mentions and wakes.
fn call(
    context: &mut Context<'_>,
    run: &Run,
    message: Option<&Message>,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let (Some(message), RunState::Completed, Some(room)) = (message, run.state, context.state.channel(run.channel))
    else {
        return Ok(());
    };
    let root = context.history.message(run.thread)?.filter(|root| root.id != message.id);
    wakes::on_message(context, room, (message, false), root.as_ref(), &wakes::Origin::default(), events)
}

fn final_text(run: &Run, answer: Option<&str>) -> String {
    match (answer, run.state, &run.error) {
        (Some(answer), _, _) => answer.to_owned(),
        (None, RunState::Failed, Some(error)) => format!("failed: {error}"),
        (None, RunState::Failed, None) => "failed".to_owned(),
        (None, RunState::Cancelled, Some(error)) => format!("cancelled: {error}"),
        (None, RunState::Cancelled, None) => "cancelled".to_owned(),
        (None, _, _) => "done".to_owned(),
    }
}

/// The message of a run, while it is there and its agent may still speak where it stands.
pub fn message_to_change(context: &Context<'_>, actor: Actor, run: &Run) -> Result<Option<Message>, Refusal> {
    if access::room_to_speak(context.state, actor, run.channel).is_err() {
        return Ok(None);
    }
    Ok(context.history.message(run.message)?.filter(|message| !message.deleted))
}

/// Runs end with the place they work in: when their agent leaves the channel or is removed, and when the channel closes.
pub fn end_with_their_place(context: &Context<'_>, mut decision: Decision) -> Decision {
    let (state, now) = (context.state, context.now);
    if state.runs().iter().next().is_none() {
        return decision;
    }
    let is_over = |run: &Run| {
        decision.events.iter().any(|event| match event {
            Event::Left(membership) => (membership.member, membership.channel) == (run.agent, run.channel),
            Event::Saved(Record::Channel(channel)) => channel.archived && channel.id == run.channel,
            Event::Removed(Record::Channel(channel)) => channel.id == run.channel,
            Event::Saved(Record::Member(member)) => member.removed && member.id == run.agent,
            _ => false,
        })
    };
    let over: Vec<_> = state.runs().iter().filter(|run| is_over(run)).cloned().collect();
    for run in over {
        let tally = state.runs().tally(run.id);
        let why = "the agent can no longer work in this channel";
        decision.events.extend(wakes::on_run_lost(context, &run, why));
        decision.events.push(put(Run {
            state: RunState::Cancelled,
            error: Some(why.to_owned()),
            ended_at: Some(now),
            action_count: tally.map_or(run.action_count, |tally| tally.count),
            news: RunNews::Ended,
            ..(*run).clone()
        }));
    }
    decision
}
