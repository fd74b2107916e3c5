//! Workspaces. A token belongs to one member, and a member to one workspace.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::{access, refusal};
use folkmoot_doors::lark::objects::WorkspaceObject;
use folkmoot_hub::login;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Body, Caller, Path, Visit};
use super::reply::{self, Answer, Done};
use super::rights::WorkspaceView;
use super::unexpected;

#[derive(Deserialize, ToSchema)]
pub struct NewWorkspaceBody {
    #[schema(min_length = 1, max_length = 64, pattern = "line")]
    name: String,
}

/// A workspace that was just made, and the caller's way into it.
#[derive(Serialize, ToSchema)]
pub struct NewWorkspace<'a> {
    #[serde(flatten)]
    workspace: WorkspaceObject<'a>,
    /// The member of the caller's name who owns it.
    #[schema(value_type = String)]
    member_id: MemberId,
    /// A session of that member, good for 24 hours; later ones come from a login as `name@slug`.
    token: String,
}

/// Make another workspace (whoever owns one).
#[utoipa::path(post, path = "/v1/workspaces", tag = "workspaces", request_body = NewWorkspaceBody,
    responses((status = 201, body = NewWorkspace<'static>)))]
pub async fn create(caller: Caller, visit: Visit, Body(body): Body<NewWorkspaceBody>) -> Answer {
    let command = Command::CreateWorkspace { name: body.name };
    let Reply::Registered { member, workspace } = caller.execute(command).await? else { return Err(unexpected()) };
    let token = login::begin_session(&caller.hub, &member, None, visit.address, visit.client).await?.token;
    reply::created(&NewWorkspace { workspace: (&workspace).into(), member_id: member.id, token })
}

/// The caller's workspace, as a list.
#[utoipa::path(get, path = "/v1/workspaces", tag = "workspaces",
    responses((status = 200, body = [WorkspaceView<'static>])))]
pub async fn list(caller: Caller) -> Answer {
    caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        let own = state.workspace(member.workspace).map(|own| WorkspaceView::new(own, state, actor));
        Ok(reply::ok(&own.into_iter().collect::<Vec<_>>()))
    })?
}

#[utoipa::path(get, path = "/v1/workspaces/{workspace}", tag = "workspaces", summary = "One workspace.",
    responses((status = 200, body = WorkspaceView<'static>)))]
pub async fn get(caller: Caller, Path(id): Path<WorkspaceId>) -> Answer {
    caller.query(|state, actor| {
        access::workspace_member(state, actor, id)?;
        let workspace = state.workspace(id).ok_or(refusal::WORKSPACE_NOT_FOUND)?;
        Ok(reply::ok(&WorkspaceView::new(workspace, state, actor)))
    })?
}

/// What is left out stays as it is.
#[derive(Deserialize, ToSchema)]
pub struct WorkspaceChange {
    #[schema(min_length = 1, max_length = 64, pattern = "line")]
    name: Option<String>,
    /// The short name in `name@slug`.
    slug: Option<String>,
}

/// Rename the workspace (owner or admin).
#[utoipa::path(patch, path = "/v1/workspaces/{workspace}", tag = "workspaces", request_body = WorkspaceChange,
    responses((status = 409, description = "the slug is taken"), (status = 200, body = WorkspaceView<'static>)))]
pub async fn update(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<WorkspaceChange>) -> Answer {
    let command = Command::UpdateWorkspace { workspace, name: body.name, slug: body.slug };
    let Reply::Workspace(workspace) = caller.execute(command).await? else { return Err(unexpected()) };
    caller.query(|state, actor| Ok(reply::ok(&WorkspaceView::new(&workspace, state, actor))))?
}

/// Delete the workspace with everything in it (owner).
#[utoipa::path(delete, path = "/v1/workspaces/{workspace}", tag = "workspaces",
    responses((status = 200, body = Done)))]
pub async fn delete(caller: Caller, Path(workspace): Path<WorkspaceId>) -> Answer {
    caller.execute(Command::DeleteWorkspace { workspace }).await?;
    reply::deleted(workspace)
}
