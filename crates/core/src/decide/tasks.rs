//! Tasks: made, assigned, claimed by the first who takes them, moved along.

use std::sync::Arc;

use super::{Context, Decision, Outcome, messages, notify, short_text, wakes};
use crate::command::{CreateTask, Reply, UpdateTask};
use crate::event::Event;
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::{Actor, access};

const MAX_TITLE_CHARS: usize = 300;
const MAX_DESCRIPTION_CHARS: usize = 10_000;

pub fn create(context: &mut Context<'_>, actor: Actor, create: CreateTask) -> Outcome {
    access::workspace_member(context.state, actor, create.workspace)?;
    if let Some(channel) = create.channel {
        access::room_to_read(context.state, actor, channel)?;
    }
    let channel = match create.message {
        Some(message) => Some(place_of(context, actor, message, create.channel)?),
        None => create.channel,
    };
    let task = Task {
        id: TaskId(context.new_id()),
        workspace: create.workspace,
        channel,
        message: create.message,
        title: short_text(&create.title, "title", MAX_TITLE_CHARS)?,
        description: description(create.description)?,
        status: TaskStatus::Todo,
        priority: create.priority,
        assigned_to: create.assigned_to,
        created_by: actor.member,
        created_at: context.now,
        updated_at: context.now,
    };
    save(context, actor, task, None)
}

/// A task that is made of a message belongs where the message is, and only those who can read the one can make the other.
fn place_of(
    context: &Context<'_>,
    actor: Actor,
    message: MessageId,
    wanted: Option<ChannelId>,
) -> Result<ChannelId, Refusal> {
    let place = messages::visible_message(context, actor, message)?.channel;
    if wanted.is_none_or(|wanted| wanted == place) { Ok(place) } else { Err(refusal::MESSAGE_NOT_FOUND) }
}

pub fn update(context: &mut Context<'_>, actor: Actor, update: UpdateTask) -> Outcome {
    let old = visible(context, actor, update.task)?;
    let mut task = Task { updated_at: context.now, ..old.clone() };
    if let Some(title) = update.title {
        task.title = short_text(&title, "title", MAX_TITLE_CHARS)?;
    }
    if let Some(text) = update.description {
        task.description = description(text)?;
    }
    task.status = update.status.unwrap_or(task.status);
    task.priority = update.priority.unwrap_or(task.priority);
    if let Some(assignee) = update.assigned_to {
        let takes_it = assignee == Some(actor.member);
        if takes_it && old.assigned_to.is_some_and(|holder| holder != actor.member) {
            return Err(refusal::TASK_TAKEN);
        }
        task.assigned_to = assignee;
    }
    save(context, actor, task, old.assigned_to)
}

/// First come, first served: commands are decided one after the other, so exactly one claim finds the task free.
pub fn claim(context: &mut Context<'_>, actor: Actor, id: TaskId) -> Outcome {
    let old = visible(context, actor, id)?;
    if old.assigned_to.is_some_and(|holder| holder != actor.member) {
        return Err(refusal::TASK_TAKEN);
    }
    let status = if old.status == TaskStatus::Todo { TaskStatus::InProgress } else { old.status };
    let task = Task { assigned_to: Some(actor.member), status, updated_at: context.now, ..old };
    let mut decision = Decision::saved(Reply::Task(task.clone()), task.clone());
    wakes::on_task_moved(context, actor, &task, None, &mut decision.events);
    Ok(decision)
}

pub fn delete(context: &mut Context<'_>, actor: Actor, id: TaskId) -> Outcome {
    let task = visible(context, actor, id)?;
    let member = access::member(context.state, actor)?;
    if task.created_by != member.id && member.role < Role::Admin {
        return Err(refusal::ADMINS_ONLY);
    }
    let mut events = vec![Event::Removed(task.clone().into())];
    wakes::on_task_moved(context, actor, &task, task.assigned_to, &mut events);
    Ok(Decision::new(Reply::Done, events))
}

fn visible(context: &Context<'_>, actor: Actor, id: TaskId) -> Result<Task, Refusal> {
    let member = access::member(context.state, actor)?;
    let visible = |task: &Task| access::may_see_within(context.state, member, task.workspace, task.channel);
    context.history.get::<Task>(id)?.filter(visible).ok_or(refusal::TASK_NOT_FOUND)
}

/// Stores a task; a new assignee is told, and woken when it is an agent.
fn save(context: &mut Context<'_>, actor: Actor, task: Task, assigned_before: Option<MemberId>) -> Outcome {
    let mut events = vec![Event::Saved(task.clone().into())];
    let newly = task.assigned_to.filter(|assignee| Some(*assignee) != assigned_before);
    if let Some(assignee) = newly {
        let assignee = access::colleague(context.state, actor, assignee)?.clone();
        if assignee.is_daemon() {
            return Err(Refusal::bad_request("this is the hub's own daemon, which carries agents and does no tasks"));
        }
        if !access::may_see_within(context.state, &assignee, task.workspace, task.channel) {
            return Err(Refusal::bad_request("the assignee is not in the task's channel"));
        }
        if assignee.id != actor.member {
            assign(context, actor, &assignee, &task, &mut events)?;
        }
    }
    let had_it = assigned_before.filter(|before| task.assigned_to != Some(*before));
    wakes::on_task_moved(context, actor, &task, had_it, &mut events);
    Ok(Decision::new(Reply::Task(task), events).reply_after(1))
}

fn assign(
    context: &mut Context<'_>,
    actor: Actor,
    assignee: &Arc<Member>,
    task: &Task,
    events: &mut Vec<Event>,
) -> Result<(), Refusal> {
    let title = "A task was assigned to you".to_owned();
    let notification = Notification {
        channel: task.channel,
        message: task.message,
        payload: Some(format!("{{\"task_id\":\"{}\"}}", task.id)),
        ..notify::plain(context, assignee.id, "task_assigned", title, task.title.clone())
    };
    events.push(Event::Saved(notification.into()));
    events.push(Event::TaskAssigned { task: task.clone(), to: assignee.id });
    if assignee.is_agent() && assignee.guest.is_none() {
        return wakes::on_task_assigned(context, actor, assignee.id, task, events);
    }
    Ok(())
}

fn description(text: String) -> Result<String, Refusal> {
    if text.chars().count() > MAX_DESCRIPTION_CHARS {
        return Err(Refusal::bad_request("description is too long (max 10000 characters)"));
    }
    Ok(text)
}
