//! Tasks of a workspace.

use folkmoot_core::command::{Command, CreateTask, Reply, UpdateTask};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::Filter;
use folkmoot_core::{State, access, refusal};
use folkmoot_doors::lark::objects::{TaskObject, schemas};
use serde::{Deserialize, Deserializer};
use utoipa::{IntoParams, ToSchema};

use super::bounds::{GivenChannel, GivenMember, GivenTask, Limit};
use super::extract::{Body, Caller, Path, Query, given};
use super::reply::{self, Answer, Done};
use super::{query, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct NewTaskBody {
    #[schema(min_length = 1, max_length = 300, pattern = "line")]
    title: String,
    #[serde(default)]
    #[schema(max_length = 10000)]
    description: String,
    /// The channel whose members may see it; left out, everybody in the workspace may.
    channel_id: Option<String>,
    /// The message it came from.
    message_id: Option<String>,
    /// Who is to do it: a person is notified, an agent is woken.
    assigned_to: Option<String>,
    /// `low`, `medium` (default), `high` or `urgent`.
    #[schema(value_type = Option<schemas::Priority>)]
    priority: Option<Priority>,
}

#[utoipa::path(post, path = "/v1/workspaces/{workspace}/tasks", tag = "tasks", request_body = NewTaskBody,
    summary = "Make a task.", responses((status = 201, body = TaskObject)))]
pub async fn create(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<NewTaskBody>) -> Answer {
    let create = CreateTask {
        workspace,
        channel: given(body.channel_id, ChannelId::parse),
        message: given(body.message_id, MessageId::parse),
        title: body.title,
        description: body.description,
        priority: body.priority.unwrap_or_default(),
        assigned_to: given(body.assigned_to, MemberId::parse),
    };
    let Reply::Task(task) = caller.execute(Command::CreateTask(create)).await? else { return Err(unexpected()) };
    reply::created(&TaskObject::from(&task))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// `todo`, `in_progress`, `review` or `done`.
    #[param(value_type = Option<schemas::TaskStatus>)]
    status: Option<TaskStatus>,
    /// Only those of this member.
    #[serde(default)]
    #[param(inline)]
    assigned_to: GivenMember,
    /// Only those of this channel.
    #[serde(default)]
    #[param(inline)]
    channel_id: GivenChannel,
    /// At most 500; 200 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<200, 500>,
    /// Only tasks older than this one.
    #[serde(default)]
    #[param(inline)]
    before: GivenTask,
}

/// The tasks the caller may see, newest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/tasks", tag = "tasks", params(TaskQuery),
    responses((status = 200, body = [TaskObject])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>, Query(query): Query<TaskQuery>) -> Answer {
    caller.within(workspace)?;
    let filter = Filter {
        scope: query.channel_id.get().map(|channel| channel.0),
        owner: query.assigned_to.get().map(|member| member.0),
        before: query.before.get().map(|task| task.0),
        ..Filter::workspace(workspace)
    };
    let wanted = |state: &State, member: &Member, task: &Task| {
        query.status.is_none_or(|status| task.status == status) && may_see(state, member, task)
    };
    let tasks = query::visible(&caller, filter, query.limit.get(), wanted).await?;
    reply::ok(&tasks.iter().map(TaskObject::from).collect::<Vec<_>>())
}

fn may_see(state: &State, member: &Member, task: &Task) -> bool {
    access::may_see_within(state, member, task.workspace, task.channel)
}

#[utoipa::path(get, path = "/v1/tasks/{task}", tag = "tasks", summary = "One task.",
    responses((status = 200, body = TaskObject)))]
pub async fn get(caller: Caller, Path(id): Path<TaskId>) -> Answer {
    let task = query::one(&caller, id, refusal::TASK_NOT_FOUND, may_see).await?;
    reply::ok(&TaskObject::from(&task))
}

/// What is left out stays as it is.
#[derive(Deserialize, ToSchema)]
pub struct TaskChange {
    #[schema(min_length = 1, max_length = 300, pattern = "line")]
    title: Option<String>,
    #[schema(max_length = 10000)]
    description: Option<String>,
    /// `todo`, `in_progress`, `review` or `done`.
    #[schema(value_type = Option<schemas::TaskStatus>)]
    status: Option<TaskStatus>,
    /// `low`, `medium`, `high` or `urgent`.
    #[schema(value_type = Option<schemas::Priority>)]
    priority: Option<Priority>,
    /// Oneself to claim it (409 when somebody else has it), another member to assign it, `null` to free it.
    #[serde(default, deserialize_with = "also_null")]
    #[schema(value_type = Option<String>)]
    assigned_to: Option<Option<String>>,
}

/// Tells a field that is `null` from one that is missing.
fn also_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Change a task.
#[utoipa::path(patch, path = "/v1/tasks/{task}", tag = "tasks", request_body = TaskChange,
    responses((status = 409, description = "somebody else has the task"), (status = 200, body = TaskObject)))]
pub async fn update(caller: Caller, Path(task): Path<TaskId>, Body(body): Body<TaskChange>) -> Answer {
    let update = UpdateTask {
        task,
        title: body.title,
        description: body.description,
        status: body.status,
        priority: body.priority,
        assigned_to: body.assigned_to.map(|assignee| given(assignee, MemberId::parse)),
    };
    let Reply::Task(task) = caller.execute(Command::UpdateTask(update)).await? else { return Err(unexpected()) };
    reply::ok(&TaskObject::from(&task))
}

/// Take a task that nobody has. Of many who try at once, one gets it; the others get 409.
#[utoipa::path(post, path = "/v1/tasks/{task}/claim", tag = "tasks", responses((status = 409, description = "somebody else has the task"), (status = 200, body = TaskObject)))]
pub async fn claim(caller: Caller, Path(task): Path<TaskId>) -> Answer {
    let Reply::Task(task) = caller.execute(Command::ClaimTask { task }).await? else { return Err(unexpected()) };
    reply::ok(&TaskObject::from(&task))
}

/// Delete a task (who made it, or an admin).
#[utoipa::path(delete, path = "/v1/tasks/{task}", tag = "tasks", responses((status = 200, body = Done)))]
pub async fn delete(caller: Caller, Path(task): Path<TaskId>) -> Answer {
    caller.execute(Command::DeleteTask { task }).await?;
    reply::deleted(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_freed_by_null_and_kept_by_saying_nothing() {
        let assigned = |body: &str| serde_json::from_str::<TaskChange>(body).unwrap().assigned_to;
        assert_eq!(assigned("{}"), None);
        assert_eq!(assigned(r#"{"assigned_to":null}"#), Some(None));
        assert_eq!(assigned(r#"{"assigned_to":"mem_1"}"#), Some(Some("mem_1".to_owned())));
    }
}
