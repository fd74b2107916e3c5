//! How much is used of what there may be.

use folkmoot_core::access;
use folkmoot_core::ids::WorkspaceId;
use folkmoot_core::record::Filter;
use folkmoot_hub::quotas::{self, Use};
use serde::Serialize;
use utoipa::ToSchema;

use super::extract::{Caller, Path};
use super::reply::{self, Answer};

/// `limit` 0 is no limit.
#[derive(Serialize, ToSchema)]
pub struct UseObject {
    used: u64,
    limit: u64,
}

impl From<Use> for UseObject {
    fn from(Use { used, limit }: Use) -> Self {
        Self { used, limit }
    }
}

/// What a workspace uses. What is counted per time is what is not forgotten yet: it goes down steadily.
#[derive(Serialize, ToSchema)]
pub struct WorkspaceUse {
    stored_bytes: UseObject,
    members: u64,
    channels: u64,
    members_per_hour: UseObject,
    /// Of all members, in ten seconds.
    messages_per_second: UseObject,
}

/// What the caller uses.
#[derive(Serialize, ToSchema)]
pub struct MemberUse {
    stored_bytes: UseObject,
    uploads_per_minute: UseObject,
    /// In ten seconds.
    messages_per_second: UseObject,
    /// REST requests and frames, in two seconds.
    requests_per_second: UseObject,
    /// Of the person, with all agents it answers for.
    channels_per_hour: UseObject,
}

#[derive(Serialize, ToSchema)]
pub struct UsageObject {
    workspace: WorkspaceUse,
    me: MemberUse,
    reactions_per_message: u32,
}

/// What the workspace and the caller use, and what they may.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/usage", tag = "workspaces",
    responses((status = 200, body = UsageObject)))]
pub async fn get(caller: Caller, Path(workspace): Path<WorkspaceId>) -> Answer {
    caller.within(workspace)?;
    let (me, now, quotas) = (caller.id(), caller.hub.now(), caller.hub.quotas());
    let (own, all) = (Filter::owner(me), Filter::workspace(workspace));
    let stored = caller.read(move |reader| Ok((reader.stored_bytes(&own)?, reader.stored_bytes(&all)?))).await?;
    let usage = caller.query(|state, actor| {
        access::workspace_member(state, actor, workspace)?;
        let (rules, made) = (state.quota_rules(), state.made());
        Ok(UsageObject {
            workspace: WorkspaceUse {
                stored_bytes: UseObject { used: stored.1, limit: rules.workspace_bytes },
                members: state.members_of(workspace).count() as u64,
                channels: state.channels_in(workspace).count() as u64,
                members_per_hour: quotas::used(&made.members, &workspace, rules.members, now).into(),
                messages_per_second: quotas.messages_in(workspace, now).into(),
            },
            me: MemberUse {
                stored_bytes: UseObject { used: stored.0, limit: rules.member_bytes },
                uploads_per_minute: quotas.uploads_of(me, now).into(),
                messages_per_second: quotas.messages_of(me, now).into(),
                requests_per_second: quotas.requests_of(me, now).into(),
                channels_per_hour: quotas::used(&made.channels, &state.answers_for(me), rules.channels, now).into(),
            },
            reactions_per_message: rules.reactions_per_message,
        })
    })?;
    reply::ok(&usage)
}
