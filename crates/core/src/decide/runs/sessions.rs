//! What an agent continues a thread with: stored as soon as it is known, handed out with every wake in the thread.

use super::{changed, name, own_open_run, put as put_event, resume_text};
use crate::command::Reply;
use crate::decide::{Context, Decision, Outcome, threads};
use crate::event::Event;
use crate::ids::*;
use crate::refusal::{self, Refusal};
use crate::run::*;
use crate::{Actor, access};

/// The engine has told its name for the thread.
pub fn resume(
    context: &mut Context<'_>,
    actor: Actor,
    id: RunId,
    resume: String,
    resume_line: Option<String>,
    model: Option<String>,
) -> Outcome {
    let run = own_open_run(context, actor, id)?;
    let resume = resume_text(Some(resume), "resume")?.ok_or(Refusal::bad_request("resume is required"))?;
    let run = Run {
        resume: Some(resume),
        resume_line: resume_text(resume_line, "resume_line")?.or_else(|| run.resume_line.clone()),
        model: name(model, "model")?.or_else(|| run.model.clone()),
        ..changed(context, &run)?
    };
    let mut events = vec![put_event(run.clone())];
    follow(context, &run, &mut events)?;
    Ok(Decision::new(Reply::Run { run: std::sync::Arc::new(run), known: false }, events))
}

/// The thread continues with what this run has. From its first run on a thread is the agent's own, whatever comes of it.
pub fn follow(context: &mut Context<'_>, run: &Run, events: &mut Vec<Event>) -> Result<(), Refusal> {
    let before = threads::session(context, run.agent, run.thread)?;
    let known = before.clone().unwrap_or_else(|| fresh(context, run.agent, run.channel, run.thread));
    // Somebody began afresh while this run was under way.
    if known.reset_at.is_some_and(|at| at > run.started_at) {
        return Ok(());
    }
    let same_engine = known.engine.as_ref() == Some(&run.engine);
    let kept = known.resume.clone().filter(|_| same_engine);
    let session = ThreadSession { engine: Some(run.engine.clone()), resume: run.resume.clone().or(kept), ..known };
    if before.as_ref() != Some(&session) || run.news == RunNews::Started {
        events.push(put_event(ThreadSession { updated_at: context.now, ..session }));
    }
    Ok(())
}

fn fresh(context: &mut Context<'_>, agent: MemberId, channel: ChannelId, thread: MessageId) -> ThreadSession {
    ThreadSession {
        id: SessionId(context.new_id()),
        agent,
        channel,
        thread,
        engine: None,
        model: None,
        resume: None,
        reset_at: None,
        updated_at: context.now,
    }
}

/// What `/model` and `/engine` change. Another engine cannot continue what this one began.
pub fn put(context: &mut Context<'_>, actor: Actor, put: PutSession) -> Outcome {
    let agent = access::agent(context.state, actor).map_err(|_| refusal::NOT_AN_AGENT)?.id;
    access::room_inside(context.state, actor, put.channel)?;
    let there = |message: &crate::model::Message| message.channel == put.channel;
    context.history.message(put.thread)?.filter(there).ok_or(refusal::MESSAGE_NOT_FOUND)?;
    let engine = name(put.engine, "engine")?;
    let model = name(put.model, "model")?;
    let resume = resume_text(put.resume, "resume")?;
    let before = threads::session(context, agent, put.thread)?;
    let before = before.unwrap_or_else(|| fresh(context, agent, put.channel, put.thread));
    let another_engine = engine.is_some() && engine != before.engine;
    let kept = if another_engine { (None, None) } else { (before.model.clone(), before.resume.clone()) };
    let session = ThreadSession {
        engine: engine.or_else(|| before.engine.clone()),
        model: model.or(kept.0),
        resume: resume.or(kept.1),
        updated_at: context.now,
        ..before
    };
    Ok(Decision::saved(Reply::Session(session.clone()), session))
}

/// What `/new` does: the next run in the thread begins afresh.
pub fn forget(context: &mut Context<'_>, actor: Actor, channel: ChannelId, thread: MessageId) -> Outcome {
    let agent = access::agent(context.state, actor).map_err(|_| refusal::NOT_AN_AGENT)?.id;
    access::room_inside(context.state, actor, channel)?;
    let there = |session: &ThreadSession| session.channel == channel;
    let Some(session) = threads::session(context, agent, thread)?.filter(there) else {
        return Ok(Decision::nothing(Reply::Session(fresh(context, agent, channel, thread))));
    };
    let now = context.now;
    let session =
        ThreadSession { engine: None, model: None, resume: None, reset_at: Some(now), updated_at: now, ..session };
    Ok(Decision::saved(Reply::Session(session.clone()), session))
}
