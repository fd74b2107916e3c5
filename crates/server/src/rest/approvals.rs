//! Approvals: an agent asks people before it acts; a person decides, once.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::Filter;
use folkmoot_core::{State, access, refusal};
use folkmoot_doors::lark::objects::ApprovalObject;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::agents::as_text;
use super::extract::{Body, Caller, Path, Query, bounded, given};
use super::reply::{self, Answer};
use super::{look, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct ApprovalBody {
    /// The channel whose members are asked; left out, everybody in the workspace is.
    channel_id: Option<String>,
    #[schema(example = "deploy_to_production")]
    action: String,
    /// A text, usually JSON; any other JSON is kept as its text.
    #[serde(default)]
    #[schema(value_type = String)]
    payload: serde_json::Value,
}

/// Ask for approval (agents only).
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/approvals", tag = "approvals", request_body = ApprovalBody,
    responses((status = 201, body = ApprovalObject)))]
pub async fn request(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<ApprovalBody>) -> Answer {
    caller.within(workspace)?;
    let command = Command::RequestApproval {
        channel: given(body.channel_id, ChannelId::parse),
        action: body.action,
        payload: as_text(body.payload),
    };
    let Reply::Approval(approval) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::created(&ApprovalObject::from(&approval))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ApprovalQuery {
    /// `pending`, `approved` or `denied`.
    #[param(value_type = Option<String>)]
    status: Option<ApprovalStatus>,
    /// At most 200; 100 when left out.
    limit: Option<usize>,
}

/// The approvals the caller may see, newest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/approvals", tag = "approvals", params(ApprovalQuery),
    responses((status = 200, body = [ApprovalObject])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>, Query(query): Query<ApprovalQuery>) -> Answer {
    caller.within(workspace)?;
    let wanted = |state: &State, member: &Member, approval: &Approval| {
        query.status.is_none_or(|status| approval.status == status) && may_see(state, member, approval)
    };
    let limit = bounded(query.limit, 100, 200);
    let approvals = look::visible(&caller, Filter::workspace(workspace), limit, wanted).await?;
    reply::ok(&approvals.iter().map(ApprovalObject::from).collect::<Vec<_>>())
}

fn may_see(state: &State, member: &Member, approval: &Approval) -> bool {
    access::may_see_within(state, member, approval.workspace, approval.channel)
}

#[utoipa::path(get, path = "/v1/approvals/{approval}", tag = "approvals", summary = "One approval.",
    responses((status = 200, body = ApprovalObject)))]
pub async fn get(caller: Caller, Path(id): Path<ApprovalId>) -> Answer {
    let approval = look::one(&caller, id, refusal::APPROVAL_NOT_FOUND, may_see).await?;
    reply::ok(&ApprovalObject::from(&approval))
}

#[derive(Deserialize, ToSchema)]
pub struct Decision {
    approved: bool,
    note: Option<String>,
}

/// Decide (people only, never the agent that asks). A second decision answers 400 `already reviewed`.
#[utoipa::path(patch, path = "/v1/approvals/{approval}", tag = "approvals", request_body = Decision,
    responses((status = 200, body = ApprovalObject)))]
pub async fn decide(caller: Caller, Path(approval): Path<ApprovalId>, Body(body): Body<Decision>) -> Answer {
    let command = Command::DecideApproval { approval, approved: body.approved, note: body.note };
    let Reply::Approval(approval) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::ok(&ApprovalObject::from(&approval))
}
