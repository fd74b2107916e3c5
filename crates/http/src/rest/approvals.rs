//! Approvals: an agent asks people before it acts; a person decides, once.

use folkmoot_core::command::{Command, Reply, RequestApproval};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::record::Filter;
use folkmoot_core::{State, access, refusal};
use folkmoot_doors::lark::objects::schemas;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::agents::as_text;
use super::bounds::Limit;
use super::extract::{Body, Caller, Path, Query, given};
use super::reply::{self, Answer};
use super::rights::ApprovalView;
use super::{query, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct ApprovalBody {
    /// The channel whose members are asked; left out, everybody in the workspace is.
    channel_id: Option<String>,
    #[schema(example = "deploy_to_production", min_length = 1, max_length = 500, pattern = "line")]
    action: String,
    /// A text, usually JSON; any other JSON is kept as its text.
    #[serde(default)]
    #[schema(value_type = Value, required = false)]
    payload: serde_json::Value,
    /// `action` (the default) or `permission`.
    #[serde(default)]
    #[schema(value_type = schemas::AskedKind, required = false)]
    kind: ApprovalKind,
    /// Finds the same question asked again; it is the same only if `action` and `payload` are, too.
    #[schema(min_length = 1, max_length = 128, pattern = "line")]
    fingerprint: Option<String>,
    run_id: Option<String>,
    /// The message that woke the agent: while that wake is open, whoever caused it may decide. Any other message names nobody.
    message_id: Option<String>,
}

/// Ask for approval (agents only).
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/approvals", tag = "approvals", request_body = ApprovalBody,
    responses((status = 409, description = "the run has ended"), (status = 201, body = ApprovalView)))]
pub async fn request(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<ApprovalBody>) -> Answer {
    caller.within(workspace)?;
    let command = Command::RequestApproval(RequestApproval {
        channel: given(body.channel_id, ChannelId::parse),
        action: body.action,
        payload: as_text(body.payload),
        kind: body.kind,
        hash: body.fingerprint,
        run: given(body.run_id, RunId::parse),
        about: given(body.message_id, MessageId::parse),
    });
    let Reply::Approval(approval) = caller.execute(command).await? else { return Err(unexpected()) };
    caller.query(|state, actor| Ok(reply::created(&ApprovalView::new(&approval, state, actor))))?
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ApprovalQuery {
    /// `pending`, `approved` or `denied`.
    #[param(value_type = Option<schemas::ApprovalStatus>)]
    status: Option<ApprovalStatus>,
    /// At most 200; 100 when left out.
    #[serde(default)]
    #[param(inline)]
    limit: Limit<100, 200>,
}

/// The approvals the caller may see, newest first.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/approvals", tag = "approvals", params(ApprovalQuery),
    responses((status = 200, body = [ApprovalView])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>, Query(query): Query<ApprovalQuery>) -> Answer {
    caller.within(workspace)?;
    let wanted = |state: &State, member: &Member, approval: &Approval| {
        query.status.is_none_or(|status| approval.status == status) && may_see(state, member, approval)
    };
    let limit = query.limit.get();
    let approvals = query::visible(&caller, Filter::workspace(workspace), limit, wanted).await?;
    let views = caller.query(|state, actor| {
        Ok(approvals.iter().map(|approval| ApprovalView::new(approval, state, actor)).collect::<Vec<_>>())
    })?;
    reply::ok(&views)
}

fn may_see(state: &State, member: &Member, approval: &Approval) -> bool {
    access::may_see_within(state, member, approval.workspace, approval.channel)
}

#[utoipa::path(get, path = "/v1/approvals/{approval}", tag = "approvals", summary = "One approval.",
    responses((status = 200, body = ApprovalView)))]
pub async fn get(caller: Caller, Path(id): Path<ApprovalId>) -> Answer {
    let approval = query::one(&caller, id, refusal::APPROVAL_NOT_FOUND, may_see).await?;
    caller.query(|state, actor| Ok(reply::ok(&ApprovalView::with_deciders(&approval, state, actor))))?
}

#[derive(Deserialize, ToSchema)]
pub struct Decision {
    approved: bool,
    /// `once` (the default) or `run`: the same question is not asked again in the same run.
    #[serde(default)]
    #[schema(value_type = schemas::ApprovalScope, required = false)]
    scope: ApprovalScope,
    note: Option<String>,
}

/// Decide (the agent's owner, whoever caused the work, and admins; a `brake` every person in the channel; never an agent, nor
/// anybody whom an agent brought in).
///
/// A second decision answers 400 `already reviewed` and says who decided.
#[utoipa::path(patch, path = "/v1/approvals/{approval}", tag = "approvals", request_body = Decision,
    responses((status = 409, description = "what was held can no longer be said"), (status = 200, body = ApprovalView)))]
pub async fn decide(caller: Caller, Path(approval): Path<ApprovalId>, Body(body): Body<Decision>) -> Answer {
    let command = Command::DecideApproval { approval, approved: body.approved, scope: body.scope, note: body.note };
    let Reply::Approval(approval) = caller.execute(command).await? else { return Err(unexpected()) };
    caller.query(|state, actor| Ok(reply::ok(&ApprovalView::new(&approval, state, actor))))?
}

/// Take a decision up before acting on it (the agent that asked); a second time answers 409.
#[utoipa::path(post, path = "/v1/approvals/{approval}/use", tag = "approvals",
    responses((status = 409, description = "it is not decided yet, or was taken up before"), (status = 200, body = ApprovalView)))]
pub async fn take_up(caller: Caller, Path(approval): Path<ApprovalId>) -> Answer {
    let Reply::Approval(approval) = caller.execute(Command::UseApproval { approval }).await? else {
        return Err(unexpected());
    };
    caller.query(|state, actor| Ok(reply::ok(&ApprovalView::new(&approval, state, actor))))?
}
