//! How a run begins: the agent takes its wake, and a message in the thread shows that it works.

use std::sync::Arc;

use super::{name, put, sessions, shortened};
use crate::command::{Reply, Send};
use crate::decide::messages::{self, MAX_CONTENT_CHARS, Voice};
use crate::decide::{Context, Decision, Outcome, short_text, wakes};
use crate::delivery::Delivery;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Code, Refusal};
use crate::run::*;
use crate::{Actor, access};

/// What a run shows before it has anything to say.
const NOTHING_YET: &str = "…";

/// One commit: the wake is taken, the run is there, its message stands in the thread. Asked again for the same wake, it is
/// the same run.
pub fn start(context: &mut Context<'_>, actor: Actor, start: StartRun) -> Outcome {
    let delivery = wakes::own_open(context, actor, start.delivery).map_err(not_open)?;
    if let Some(run) = delivery.run.and_then(|run| context.state.runs().get(run)) {
        return Ok(Decision::nothing(Reply::Run { run: Arc::clone(run), known: true }));
    }
    let channel = delivery.channel.ok_or(Refusal::conflict("this wake belongs to no channel; a run needs one"))?;
    let id = RunId(context.new_id());
    let admitted = wakes::on_run_start(context, actor, delivery.id, id).map_err(not_open)?;
    let engine = short_text(&start.engine, "engine", 64)?;
    let trigger = trigger(context, &delivery)?;
    let thread = delivery.thread.or(trigger);
    let text = start.text.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| NOTHING_YET.to_owned());
    let said = show(context, actor, channel, thread, id, shortened(text, MAX_CONTENT_CHARS), delivery.id)?;
    let Reply::Sent { message, .. } = &said.reply else { return Err(refusal::INVALID_DATA) };
    let run = Run {
        id,
        workspace: delivery.workspace,
        channel,
        thread: thread.unwrap_or(message.id),
        message: message.id,
        trigger: trigger.unwrap_or(message.id),
        delivery: delivery.id,
        agent: actor.member,
        asker: wakes::person_behind(context, &delivery)?,
        engine,
        model: name(start.model, "model")?,
        project: name(start.project, "project")?,
        branch: name(start.branch, "branch")?,
        machine: name(start.machine, "machine")?,
        state: RunState::Running,
        error: None,
        resume: None,
        resume_line: None,
        started_at: context.now,
        ended_at: None,
        usage: None,
        cost_usd: None,
        action_count: 0,
        changes: Vec::new(),
        diff: None,
        stop_requested: false,
        answer: None,
        news: RunNews::Started,
    };
    let mut events = said.events;
    events.push(put(run.clone()));
    events.push(Event::Saved(admitted.into()));
    let told_before_reply = events.len();
    events.extend(wakes::follow_run(context, &delivery, RunState::Running)?);
    sessions::follow(context, &run, &mut events)?;
    Ok(Decision::new(Reply::Run { run: Arc::new(run), known: false }, events).reply_after(told_before_reply))
}

/// For a run it is all the same how a wake ended.
fn not_open(refusal: Refusal) -> Refusal {
    match refusal.code {
        Code::AlreadyAnswered | Code::Conflict => refusal::DELIVERY_NOT_OPEN,
        _ => refusal,
    }
}

/// The first message of the wake that is still there.
fn trigger(context: &Context<'_>, delivery: &Delivery) -> Result<Option<MessageId>, Refusal> {
    for id in &delivery.messages {
        if context.history.message(*id)?.is_some_and(|message| !message.deleted) {
            return Ok(Some(*id));
        }
    }
    Ok(None)
}

fn show(
    context: &mut Context<'_>,
    actor: Actor,
    channel: ChannelId,
    thread: Option<MessageId>,
    run: RunId,
    content: String,
    delivery: DeliveryId,
) -> Outcome {
    let room = access::room_to_speak(context.state, actor, channel)?;
    let metadata = serde_json::value::to_raw_value(&serde_json::json!({ "run_id": run })).ok();
    let (content_type, delivery) = (ContentType::Markdown, Some(delivery));
    let send = Send { channel, content, content_type, thread, metadata, delivery, ..Send::default() };
    messages::post(context, actor, room, send, Voice::Silent)
}
