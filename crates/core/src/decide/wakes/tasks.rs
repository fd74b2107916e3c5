//! Tasks wake agents too: at once, for nothing is added to a task by saying more.

use super::loop_guard::{self, Step};
use super::origin::Origin;
use super::send::send_task;
use super::steps::{cancelled, end, new_delivery, of_run, suppressed, told};
use crate::Actor;
use crate::decide::Context;
use crate::delivery::{Delivery, DeliveryState, WakeReason};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::refusal::Refusal;
use crate::run::{Run, RunState};

/// A task is handed to an agent.
pub fn on_task_assigned(
    context: &mut Context<'_>,
    actor: Actor,
    agent: MemberId,
    task: &Task,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let began = task.message.unwrap_or(MessageId(task.id.0));
    let room = task.channel.and_then(|channel| context.state.channel(channel));
    let by_agent = room.filter(|_| context.state.is_agent(actor.member));
    let origin = by_agent.map(|room| Origin::of_deed(context, actor.member, room)).unwrap_or_default();
    let fresh = new_delivery(context, task.workspace, agent, actor.member, WakeReason::TaskAssigned);
    let delivery = Delivery {
        channel: task.channel,
        messages: task.message.into_iter().collect(),
        task: Some(task.id),
        root: origin.root.unwrap_or(began),
        depth: origin.depth,
        why: None,
        ..fresh
    };
    let step = Step {
        from: actor.member,
        root: delivery.root,
        depth: delivery.depth,
        workspace: task.workspace,
        channel: task.channel,
    };
    let limit = match context.state.is_agent(actor.member) {
        true => loop_guard::exceeded(context, &step, &[agent])?,
        false => None,
    };
    if let Some(limit) = limit {
        events.push(told(loop_guard::stopped_by(limit, delivery)));
        return Ok(());
    }
    if !loop_guard::count(context, &step, &[agent], events)? {
        events.push(told(suppressed(delivery)));
        return Ok(());
    }
    send_task(context, &delivery, task, events);
    Ok(())
}

/// The tasks that a run was begun for, when it has ended.
pub fn after_run(context: &Context<'_>, run: &Run, events: &mut Vec<Event>) -> Result<(), Refusal> {
    for delivery in of_run(context, run.agent, run.id) {
        events.extend(follow_run(context, &delivery, run.state)?);
    }
    Ok(())
}

/// A task goes with the run that its wake became: in progress while it runs, in review when it is done, and back among what is
/// to do when it failed or was stopped. Where somebody moved it by hand, it stays there.
pub fn follow_run(context: &Context<'_>, delivery: &Delivery, run: RunState) -> Result<Option<Event>, Refusal> {
    let Some(id) = delivery.task else { return Ok(None) };
    let (from, to) = match run {
        RunState::Running | RunState::Waiting => (TaskStatus::Todo, TaskStatus::InProgress),
        RunState::Completed => (TaskStatus::InProgress, TaskStatus::Review),
        RunState::Failed | RunState::Cancelled => (TaskStatus::InProgress, TaskStatus::Todo),
    };
    let task = context.history.get::<Task>(id)?;
    let followed = task.filter(|task| task.status == from && task.assigned_to == Some(delivery.agent));
    Ok(followed.map(|task| Event::Saved(Task { status: to, updated_at: context.now, ..task }.into())))
}

/// What a task's way says of the wake it came with: begun is taken, done is answered, handed on is over.
pub fn on_task_moved(
    context: &Context<'_>,
    actor: Actor,
    task: &Task,
    had_it: Option<MemberId>,
    events: &mut Vec<Event>,
) {
    if context.state.deliveries().is_empty() {
        return;
    }
    let of = |agent: MemberId| {
        let mut open = context.state.deliveries().of_agent(agent);
        open.find(|delivery| delivery.task == Some(task.id) && delivery.run.is_none())
    };
    if let Some(delivery) = had_it.and_then(of) {
        events.push(cancelled(context, delivery, "the task was taken away"));
    }
    let own = task.assigned_to.filter(|assignee| *assignee == actor.member).and_then(of);
    let Some(delivery) = own else { return };
    match task.status {
        TaskStatus::Review | TaskStatus::Done => {
            events.push(told(end(context, delivery, DeliveryState::Answered, None, None)));
        }
        TaskStatus::InProgress if delivery.state != DeliveryState::Admitted => {
            events.push(told(end(context, delivery, DeliveryState::Admitted, None, None)));
        }
        TaskStatus::InProgress | TaskStatus::Todo => {}
    }
}
