//! Questions to people, as JSON.

use folkmoot_action::Shown;
use folkmoot_core::Millis;
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use serde::Serialize;
use utoipa::ToSchema;

use super::schemas;

/// A question to people. `shown` is how every surface puts it; `action` and `payload` are as the agent gave them.
#[derive(Clone, Serialize, ToSchema)]
#[schema(as = Approval)]
pub struct ApprovalObject {
    #[schema(value_type = String)]
    pub id: ApprovalId,
    #[schema(value_type = String)]
    pub workspace_id: WorkspaceId,
    #[schema(value_type = Option<String>, required = true)]
    pub channel_id: Option<ChannelId>,
    #[schema(value_type = String)]
    pub agent_id: MemberId,
    pub action: String,
    pub payload: String,
    pub shown: Shown,
    #[schema(value_type = schemas::ApprovalStatus)]
    pub status: ApprovalStatus,
    #[schema(value_type = Option<String>, required = true)]
    pub reviewer_id: Option<MemberId>,
    #[schema(required = true)]
    pub review_note: Option<String>,
    pub created_at: Millis,
    #[schema(required = true)]
    pub reviewed_at: Option<Millis>,
    #[schema(value_type = schemas::ApprovalKind)]
    pub kind: ApprovalKind,
    #[schema(required = true)]
    pub fingerprint: Option<String>,
    #[schema(value_type = Option<String>, required = true)]
    pub run_id: Option<RunId>,
    #[schema(value_type = Option<String>, required = true)]
    pub asker_id: Option<MemberId>,
    #[schema(value_type = schemas::ApprovalScope)]
    pub scope: ApprovalScope,
    pub expires_at: Millis,
    #[schema(required = true)]
    pub used_at: Option<Millis>,
}

impl From<&Approval> for ApprovalObject {
    fn from(it: &Approval) -> Self {
        Self {
            id: it.id,
            workspace_id: it.workspace,
            channel_id: it.channel,
            agent_id: it.agent,
            action: it.action.clone(),
            payload: it.payload.clone(),
            shown: shown(it),
            status: it.status,
            reviewer_id: it.reviewer,
            review_note: it.note.clone(),
            created_at: it.created_at,
            reviewed_at: it.reviewed_at,
            kind: it.kind,
            fingerprint: it.hash.clone(),
            run_id: it.run,
            asker_id: it.asker,
            scope: it.scope,
            expires_at: it.expires_at,
            used_at: it.used_at,
        }
    }
}

/// How a question is put to people, on every surface.
pub fn shown(approval: &Approval) -> Shown {
    Shown::of_question(approval.kind == ApprovalKind::LoopGuard, &approval.action, &approval.payload)
}
