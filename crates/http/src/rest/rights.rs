//! What the caller may do, said beside what it is shown, so that no client has to know the rules: all are asked of
//! `core::access`. Left out where there is nothing to say, and on the socket, where one frame is told to many.

use folkmoot_core::ids::MemberId;
use folkmoot_core::model::*;
use folkmoot_core::{Actor, State, access};
use folkmoot_doors::lark::objects::{ApprovalObject, MemberObject, WorkspaceObject};
use serde::Serialize;
use utoipa::ToSchema;

/// How many of those who may decide are named.
const MAX_DECIDERS: usize = 20;

#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceRight {
    /// Rename it, bring members in, and see to them.
    Administer,
    /// Make somebody an admin, also by an invitation.
    MakeAdmins,
    /// Take back wakes that others caused.
    CancelWakes,
}

/// A workspace as the caller sees it.
#[derive(Serialize, ToSchema)]
pub struct WorkspaceView<'a> {
    #[serde(flatten)]
    workspace: WorkspaceObject<'a>,
    /// What the caller may do in it; left out: what every member may.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    may: Vec<WorkspaceRight>,
}

impl<'a> WorkspaceView<'a> {
    pub fn new(workspace: &'a Workspace, state: &State, actor: Actor) -> Self {
        let rights = access::admin(state, actor, workspace.id).map(|admin| in_workspace(admin));
        Self { workspace: workspace.into(), may: rights.unwrap_or_default() }
    }
}

fn in_workspace(admin: &Member) -> Vec<WorkspaceRight> {
    let makes_admins = access::brings_people_in(admin).and_then(|()| access::may_give_role(admin, Role::Admin));
    let all = [
        (WorkspaceRight::Administer, true),
        (WorkspaceRight::MakeAdmins, makes_admins.is_ok()),
        (WorkspaceRight::CancelWakes, access::may_cancel_any_delivery(admin).is_ok()),
    ];
    given(all)
}

#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemberRight {
    Change,
    ChangeRole,
    ReplaceKey,
    Remove,
}

/// A member as the caller sees it: the email is shown to the member itself only.
#[derive(Serialize, ToSchema)]
pub struct MemberView<'a> {
    #[serde(flatten)]
    member: MemberObject<'a>,
    /// What the caller may do with it; left out: nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    may: Vec<MemberRight>,
}

impl<'a> MemberView<'a> {
    pub fn new(member: &'a Member, reader: MemberId, state: &State) -> Self {
        let own = member.id == reader;
        let object = if own { MemberObject::own(member, state) } else { MemberObject::new(member, state) };
        Self { member: object, may: state.member(reader).map_or_else(Vec::new, |by| over_member(by, member)) }
    }
}

fn over_member(by: &Member, target: &Member) -> Vec<MemberRight> {
    let all = [
        (MemberRight::Change, access::may_change_member(by, target)),
        (MemberRight::ChangeRole, access::may_change_role(by, target, Role::Admin)),
        (MemberRight::ReplaceKey, access::may_replace_key(by, target)),
        (MemberRight::Remove, access::may_remove_member(by, target)),
    ];
    given(all.map(|(right, allowed)| (right, allowed.is_ok())))
}

fn given<R, const N: usize>(all: [(R, bool); N]) -> Vec<R> {
    all.into_iter().filter(|(_, given)| *given).map(|(right, _)| right).collect()
}

/// A question as the caller sees it.
#[derive(Serialize, ToSchema)]
pub struct ApprovalView {
    #[serde(flatten)]
    approval: ApprovalObject,
    /// Whether it is open and the caller may decide it.
    may_decide: bool,
    /// Who may decide it while it is open, at most 20; only of one that was asked for by its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Vec<String>, required = false)]
    decider_ids: Option<Vec<MemberId>>,
}

impl ApprovalView {
    pub fn new(approval: &Approval, state: &State, actor: Actor) -> Self {
        let open = approval.status == ApprovalStatus::Pending;
        let may = access::member(state, actor).is_ok_and(|member| may_decide(state, member, approval));
        Self { approval: approval.into(), may_decide: open && may, decider_ids: None }
    }

    /// With those who may decide: that asks the rule for every member, so not for whole lists.
    pub fn with_deciders(approval: &Approval, state: &State, actor: Actor) -> Self {
        let all = state.members_of(approval.workspace).filter(|member| may_decide(state, member, approval));
        let mut deciders = match approval.status {
            ApprovalStatus::Pending => all.map(|member| member.id).collect::<Vec<_>>(),
            ApprovalStatus::Approved | ApprovalStatus::Denied => Vec::new(),
        };
        deciders.sort_unstable();
        deciders.truncate(MAX_DECIDERS);
        Self { decider_ids: Some(deciders), ..Self::new(approval, state, actor) }
    }
}

fn may_decide(state: &State, member: &Member, approval: &Approval) -> bool {
    access::may_see_within(state, member, approval.workspace, approval.channel)
        && access::may_decide(state, member, approval).is_ok()
}
