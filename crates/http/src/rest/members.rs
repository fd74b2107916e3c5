//! The people and agents of a workspace, and the caller's own account.

use axum::extract::Request;
use folkmoot_core::command::{AddMember, Command, Reply, UpdateMember};
use folkmoot_core::decide::check_password;
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::{access, refusal};
use folkmoot_doors::lark::objects::schemas;
use folkmoot_hub::auth::Auth;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::check_lengths;
use super::error::ApiError;
use super::extract::{Body, Caller, Carrier, Path, json_body};
use super::objects::{self, NewMember};
use super::reply::{self, Answer, Done};
use super::rights::MemberView;
use super::{files, query, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct NewMemberBody {
    /// Unique in the workspace, without regard to case.
    #[schema(example = "codebot", min_length = 1, max_length = 64, pattern = "name")]
    name: String,
    #[serde(rename = "type")]
    #[schema(value_type = schemas::MemberKind, example = "agent")]
    kind: MemberKind,
    /// `member` when left out; only the owner makes an `admin`.
    #[schema(value_type = Option<schemas::Role>)]
    role: Option<Role>,
    #[schema(max_length = 254, pattern = "email_or_none")]
    email: Option<String>,
    /// For a person: at least 8 characters.
    #[schema(min_length = 8, max_length = 1024)]
    password: Option<String>,
    #[schema(max_length = 64, pattern = "nick")]
    nick: Option<String>,
    #[schema(value_type = Option<schemas::RoleCard>)]
    role_card: Option<RoleCard>,
    #[schema(value_type = Option<schemas::Runtime>)]
    runtime: Option<Runtime>,
}

/// Add a person or an agent (owner or admin). The answer for an agent holds its API key, this once.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/members", tag = "members", request_body = NewMemberBody,
    responses((status = 409, description = "the name or the email is taken"), (status = 201, body = NewMember<'static>)))]
pub async fn add(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<NewMemberBody>) -> Answer {
    // Hashing is dear, so those who may not add anybody are sent away before it.
    caller.query(|state, actor| access::admin(state, actor, workspace).map(drop))?;
    check_lengths([Some(&*body.name), body.email.as_deref(), body.nick.as_deref()])?;
    let password_hash = match body.password {
        Some(password) => {
            check_password(&password)?;
            let standing = caller.hub.limits().guess_of(&caller.id().to_string()).standing;
            Some(caller.hub.auth().hash_password(password, standing).await?)
        }
        None => None,
    };
    let key = (body.kind == MemberKind::Agent).then(|| Auth::new_key("lr"));
    let add = AddMember {
        workspace,
        kind: body.kind,
        role: body.role,
        name: body.name,
        nick: body.nick,
        email: body.email.filter(|email| !email.is_empty()),
        password_hash,
        key_hash: key.as_ref().map(|(_, hash)| *hash),
        role_card: body.role_card,
        runtime: body.runtime,
    };
    let Reply::Member(member) = caller.execute(Command::AddMember(add)).await? else { return Err(unexpected()) };
    let key = key.map(|(key, _)| key);
    caller.query(|state, _| Ok(reply::created(&NewMember::new(&member, key.as_deref(), state))))?
}

/// Everybody in the workspace; for a machine, the agents it may carry.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/members", tag = "members",
    responses((status = 200, body = [MemberView<'static>])))]
pub async fn list(Carrier(caller): Carrier, Path(workspace): Path<WorkspaceId>) -> Answer {
    caller.query(|state, actor| {
        let mut members = access::members_to_see(state, actor, workspace)?;
        members.sort_by_key(|member| member.id);
        let objects: Vec<_> = members.into_iter().map(|member| MemberView::new(member, actor.member, state)).collect();
        Ok(reply::ok(&objects))
    })?
}

/// One member, an agent with its role card. `{member}` may be `me`.
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/members/{member}", tag = "members",
    responses((status = 200, body = MemberView<'static>)))]
pub async fn get(caller: Caller, Path((workspace, member)): Path<(WorkspaceId, String)>) -> Answer {
    caller.within(workspace)?;
    let id = caller.named(&member);
    caller.query(|state, actor| access::colleague(state, actor, id).map(drop))?;
    objects::member(&caller, id)
}

/// What is left out stays as it is.
#[derive(Deserialize, ToSchema)]
pub struct MemberChange {
    #[schema(min_length = 1, max_length = 64, pattern = "name")]
    name: Option<String>,
    /// Empty takes it away.
    #[schema(max_length = 64, pattern = "nick")]
    nick: Option<String>,
    #[schema(max_length = 254, pattern = "email_or_none")]
    email: Option<String>,
    /// Only the owner gives roles.
    #[schema(value_type = Option<schemas::Role>)]
    role: Option<Role>,
    #[schema(value_type = Option<schemas::RoleCard>)]
    role_card: Option<RoleCard>,
}

/// Change a member: oneself, an agent one answers for, or anybody as an admin.
#[utoipa::path(patch, path = "/v1/workspaces/{workspace}/members/{member}", tag = "members",
    request_body = MemberChange, responses((status = 409, description = "the name or the email is taken"), (status = 200, body = MemberView<'static>)))]
pub async fn update(
    caller: Caller,
    Path((workspace, member)): Path<(WorkspaceId, String)>,
    Body(body): Body<MemberChange>,
) -> Answer {
    caller.within(workspace)?;
    let member = caller.named(&member);
    let update = UpdateMember {
        member,
        name: body.name,
        nick: body.nick,
        email: body.email.filter(|email| !email.is_empty()),
        role: body.role,
        avatar: None,
        role_card: body.role_card,
    };
    caller.execute(Command::UpdateMember(update)).await?;
    objects::member(&caller, member)
}

/// Remove a member from the workspace; what they said stays, under their name.
#[utoipa::path(delete, path = "/v1/workspaces/{workspace}/members/{member}", tag = "members",
    responses((status = 200, body = Done)))]
pub async fn remove(caller: Caller, Path((workspace, member)): Path<(WorkspaceId, String)>) -> Answer {
    caller.within(workspace)?;
    let member = caller.named(&member);
    caller.execute(Command::RemoveMember { member }).await?;
    reply::deleted(member)
}

#[derive(Serialize, ToSchema)]
pub struct NewKey<'a> {
    #[schema(value_type = String)]
    member_id: MemberId,
    name: &'a str,
    /// Shown this once.
    #[schema(example = "lr_…")]
    api_key: &'a str,
}

/// A new API key for an agent or for oneself; the old one stops working.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/members/{member}/key", tag = "members",
    responses((status = 200, body = NewKey<'static>)))]
pub async fn replace_key(caller: Caller, Path((workspace, member)): Path<(WorkspaceId, String)>) -> Answer {
    caller.within(workspace)?;
    let (api_key, key_hash) = Auth::new_key("lr");
    let command = Command::ReplaceKey { member: caller.named(&member), key_hash };
    let Reply::Member(member) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::ok(&NewKey { member_id: member.id, name: &member.name, api_key: &api_key })
}

/// The caller.
#[utoipa::path(get, path = "/v1/members/me", tag = "members", responses((status = 200, body = MemberView<'static>)))]
pub async fn me(caller: Caller) -> Answer {
    objects::member(&caller, caller.id())
}

#[derive(Deserialize, ToSchema)]
pub struct AvatarBody {
    /// An image that was uploaded before.
    file_id: String,
}

/// Set the caller's picture: a multipart `file`, or the id of a file uploaded before.
#[utoipa::path(post, path = "/v1/members/me/avatar", tag = "members",
    request_body(content((AvatarBody = "application/json"), (files::UploadForm = "multipart/form-data"))),
    responses((status = 404, description = "there is no such file"), (status = 200, body = MemberView<'static>)))]
pub async fn set_avatar(caller: Caller, request: Request) -> Answer {
    let file = if files::is_multipart(request.headers()) {
        let received = files::receive(&caller, request).await?;
        check_picture(&received.content_type)?;
        files::keep(&caller, caller.workspace()?, received).await?
    } else {
        let body: AvatarBody = json_body(request).await?;
        let id = FileId::parse(&body.file_id);
        query::one(&caller, id, refusal::FILE_NOT_FOUND, access::may_see_file).await?
    };
    check_picture(&file.content_type)?;
    let update = UpdateMember { member: caller.id(), avatar: Some(file.id), ..UpdateMember::default() };
    caller.execute(Command::UpdateMember(update)).await?;
    objects::member(&caller, caller.id())
}

fn check_picture(content_type: &str) -> Result<(), ApiError> {
    if files::is_picture(content_type) {
        return Ok(());
    }
    Err(ApiError::bad_request("the picture must be a PNG, JPEG, GIF or WebP image"))
}
