//! Agents at work: what a run reports while it goes on, and who may stop it.
//!
//! An action costs one look-up by its id and one record, however many the run has had. Everything that ends a run is in
//! [`ending`], what a thread continues with in [`sessions`].

mod actions;
mod ending;
mod sessions;
mod start;

use std::sync::Arc;

use super::messages::{MAX_CONTENT_CHARS, is_readable};
use super::{Context, Decision, Outcome, short_text, wakes};
use crate::command::Reply;
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::record::{Filter, OPEN, Record};
use crate::refusal::{self, Refusal};
use crate::run::*;
use crate::{Actor, access};

pub use ending::end_with_their_place;

/// More changed files than this are not listed; the diff has them all.
const MAX_CHANGES: usize = 1000;
const MAX_PATH_CHARS: usize = 1024;
const MAX_NAME_CHARS: usize = 200;
const MAX_RESUME_CHARS: usize = 1000;
/// The largest diff; see `PUT /v1/runs/{id}/diff`.
pub const MAX_DIFF_BYTES: u64 = 4 * 1024 * 1024;

pub fn decide(context: &mut Context<'_>, actor: Actor, command: RunCommand) -> Outcome {
    match command {
        RunCommand::Start(start) => start::start(context, actor, start),
        RunCommand::Action(report) => actions::report(context, actor, report),
        RunCommand::Progress { run, text } => progress(context, actor, run, text),
        RunCommand::Resume { run, resume, resume_line, model } => {
            sessions::resume(context, actor, run, resume, resume_line, model)
        }
        RunCommand::Changes { run, changes, branch } => note_changes(context, actor, run, changes, branch),
        RunCommand::Diff { run, file } => keep_diff(context, actor, run, file),
        RunCommand::Complete(complete) => ending::complete(context, actor, complete),
        RunCommand::Stop { run } => stop(context, actor, run),
        RunCommand::PutSession(put) => sessions::put(context, actor, put),
        RunCommand::ForgetSession { channel, thread } => sessions::forget(context, actor, channel, thread),
    }
}

/// The run as it is now, if the actor may see it; for others it does not exist.
fn visible_run(context: &Context<'_>, actor: Actor, id: RunId) -> Result<Arc<Run>, Refusal> {
    let member = access::member(context.state, actor)?;
    known_run(context, id)?.filter(|run| access::may_see_run(context.state, member, run)).ok_or(refusal::RUN_NOT_FOUND)
}

/// The run as it is now, whoever asks.
fn known_run(context: &Context<'_>, id: RunId) -> Result<Option<Arc<Run>>, Refusal> {
    match context.state.runs().get(id) {
        Some(run) => Ok(Some(Arc::clone(run))),
        None => Ok(context.history.get::<Run>(id)?.map(Arc::new)),
    }
}

/// A run of the agent that acts, open or over.
fn own_run(context: &Context<'_>, actor: Actor, id: RunId) -> Result<Arc<Run>, Refusal> {
    let run = visible_run(context, actor, id)?;
    if run.agent == actor.member { Ok(run) } else { Err(refusal::NOT_YOUR_RUN) }
}

/// A wake joins a run of the agent.
pub fn join(context: &mut Context<'_>, actor: Actor, delivery: DeliveryId, run: RunId) -> Outcome {
    let run = own_run(context, actor, run)?;
    wakes::join(context, actor, delivery, &run)
}

fn own_open_run(context: &Context<'_>, actor: Actor, id: RunId) -> Result<Arc<Run>, Refusal> {
    let run = own_run(context, actor, id)?;
    if run.is_open() { Ok(run) } else { Err(refusal::RUN_OVER) }
}

/// The same run, about to be changed.
fn changed(context: &Context<'_>, run: &Run) -> Result<Run, Refusal> {
    let tally = actions::tally(context, run.id)?;
    Ok(Run { news: RunNews::Updated, action_count: tally.count, ..run.clone() })
}

fn saved(run: Run) -> Decision {
    let reply = Reply::Run { run: Arc::new(run.clone()), known: false };
    Decision::saved(reply, run)
}

fn progress(context: &mut Context<'_>, actor: Actor, id: RunId, text: String) -> Outcome {
    let run = own_open_run(context, actor, id)?;
    let Some(message) = ending::message_to_change(context, actor, &run)? else {
        return Ok(Decision::nothing(Reply::Done));
    };
    let text = shortened(text, MAX_CONTENT_CHARS);
    if text.trim().is_empty() || text == message.content {
        return Ok(Decision::nothing(Reply::Done));
    }
    let message = Message { content: text, updated_at: context.now, ..message };
    Ok(Decision::new(Reply::Done, vec![Event::Progressed(Arc::new(message))]))
}

fn note_changes(
    context: &mut Context<'_>,
    actor: Actor,
    id: RunId,
    mut changes: Vec<FileChange>,
    branch: Option<String>,
) -> Outcome {
    let run = own_run(context, actor, id)?;
    changes.truncate(MAX_CHANGES);
    changes.retain(|change| !change.path.is_empty() && change.path.chars().count() <= MAX_PATH_CHARS);
    let branch = name(branch, "branch")?.or_else(|| run.branch.clone());
    if run.changes == changes && run.branch == branch {
        return Ok(Decision::nothing(Reply::Run { run, known: true }));
    }
    Ok(saved(Run { changes, branch, ..changed(context, &run)? }))
}

/// The diff comes over HTTP, from the agent itself or from the member whose daemon carries it now.
fn keep_diff(context: &mut Context<'_>, actor: Actor, id: RunId, file: File) -> Outcome {
    let run = known_run(context, id)?.ok_or(refusal::RUN_NOT_FOUND)?;
    access::may_report_on(context.state, actor, &run)?;
    if context.history.get::<File>(file.id)?.is_some() {
        return Err(Refusal::conflict("a file with this id exists"));
    }
    if file.size > MAX_DIFF_BYTES {
        return Err(Refusal::new(refusal::Code::TooLarge, "the diff is too large (max 4194304 bytes)"));
    }
    let file = File {
        workspace: run.workspace,
        channel: Some(run.channel),
        uploaded_by: run.agent,
        filename: format!("{}.diff", run.id),
        created_at: context.now,
        ..file
    };
    let replaced = run.diff.map(|diff| context.history.get::<File>(diff)).transpose()?.flatten();
    let run = Run { diff: Some(file.id), ..changed(context, &run)? };
    let reply = Reply::Diff { run: Arc::new(run.clone()), replaced: replaced.as_ref().map(|file| file.id) };
    let mut events = vec![Event::Saved(run.into()), Event::Saved(file.into())];
    events.extend(replaced.map(|file| Event::Removed(file.into())));
    Ok(Decision::new(reply, events))
}

/// People stop a run: its agent is told; one that cannot be told has stopped already.
fn stop(context: &mut Context<'_>, actor: Actor, id: RunId) -> Outcome {
    let member = Arc::clone(access::member(context.state, actor)?);
    let run = known_run(context, id)?.ok_or(refusal::RUN_NOT_FOUND)?;
    access::may_stop_run(context.state, &member, &run)?;
    if !run.is_open() {
        return Ok(Decision::nothing(Reply::Run { run, known: true }));
    }
    let through = context.state.carrier_of(run.agent);
    if through.is_none() && context.state.connections_of(run.agent).is_empty() {
        return ending::cancel(context, &run, &format!("stopped by {}", member.name));
    }
    let asked = Event::StopAsked {
        run: run.id,
        agent: run.agent,
        agent_name: context.state.name_of(run.agent).to_owned(),
        through,
    };
    if run.stop_requested {
        // Once more is another knock on the door, nothing to store.
        return Ok(Decision::new(Reply::Run { run, known: true }, vec![asked]));
    }
    let mut decision = saved(Run { stop_requested: true, ..changed(context, &run)? });
    decision.events.push(asked);
    Ok(decision)
}

/// A question of a run was asked: the run waits. Adds nothing when it waits already, or is none of this agent's.
pub fn wait(
    context: &Context<'_>,
    agent: MemberId,
    run: Option<RunId>,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let own = open_run_of(context, agent, run).filter(|run| run.state == RunState::Running);
    if let Some(run) = own {
        events.push(Event::Saved(Run { state: RunState::Waiting, ..changed(context, run)? }.into()));
    }
    Ok(())
}

/// Some questions were decided or have expired: the runs that wait for no other one go on.
pub fn go_on(context: &Context<'_>, decided: &[Approval], events: &mut Vec<Event>) -> Result<(), Refusal> {
    let mut seen: Vec<RunId> = Vec::new();
    for approval in decided {
        let waiting = open_run_of(context, approval.agent, approval.run).filter(|run| run.state == RunState::Waiting);
        let Some(run) = waiting.filter(|run| !seen.contains(&run.id)) else { continue };
        seen.push(run.id);
        let open = open_questions(context, run)?;
        if open.iter().all(|question| decided.iter().any(|decided| decided.id == question.id)) {
            events.push(Event::Saved(Run { state: RunState::Running, ..changed(context, run)? }.into()));
        }
    }
    Ok(())
}

pub fn open_run_of<'a>(context: &Context<'a>, agent: MemberId, run: Option<RunId>) -> Option<&'a Arc<Run>> {
    run.and_then(|id| context.state.runs().get(id)).filter(|run| run.agent == agent)
}

fn open_questions(context: &Context<'_>, run: &Run) -> Result<Vec<Approval>, Refusal> {
    let open = context.history.list::<Approval>(&Filter::owner(run.agent).states(&[OPEN]).limit(usize::MAX))?;
    Ok(open.into_iter().filter(|approval| approval.run == Some(run.id)).collect())
}

/// A short name that may be left out; an empty one counts as left out.
fn name(text: Option<String>, what: &str) -> Result<Option<String>, Refusal> {
    let given = text.filter(|text| !text.trim().is_empty());
    given.map(|text| short_text(&text, what, MAX_NAME_CHARS)).transpose()
}

fn resume_text(text: Option<String>, what: &str) -> Result<Option<String>, Refusal> {
    let given = text.filter(|text| !text.trim().is_empty());
    given.map(|text| short_text(&text, what, MAX_RESUME_CHARS)).transpose()
}

/// A text that fits, with a sign at its end where something was cut off.
fn shortened(text: String, max_chars: usize) -> String {
    if text.len() <= max_chars || text.chars().count() <= max_chars {
        return text;
    }
    let mut short: String = text.chars().take(max_chars - 1).collect();
    short.push('…');
    short
}

/// JSON that others can read, or nothing.
fn readable(raw: Option<Box<serde_json::value::RawValue>>) -> Option<Json> {
    raw.filter(|raw| raw.get() != "null" && is_readable(raw)).map(Json)
}

fn put(record: impl Into<Record>) -> Event {
    Event::Saved(record.into())
}
