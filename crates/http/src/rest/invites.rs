//! Invitations: links with which people make accounts of their own in a workspace.

use std::net::IpAddr;
use std::time::Instant;

use axum::extract::State as AppState;
use folkmoot_core::command::{Command, CreateInvite, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::model::{Invite, KeyHash, Role};
use folkmoot_core::{Millis, access};
use folkmoot_doors::lark::objects::schemas;
use folkmoot_hub::Hub;
use folkmoot_hub::auth::{Auth, random_hex};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::error::ApiError;
use super::extract::{Address, Body, Caller, Path};
use super::reply::{self, Answer, Done};
use super::unexpected;

/// No code of ours is longer.
const MAX_CODE_BYTES: usize = 128;

#[derive(Deserialize, ToSchema)]
pub struct InviteBody {
    /// `member` when left out; only the owner makes an `admin`.
    #[schema(value_type = Option<schemas::Role>)]
    role: Option<Role>,
    /// Where the newcomer will be a member; left out: every open channel there is then.
    #[serde(default)]
    #[schema(max_items = 50)]
    channel_ids: Vec<String>,
}

/// An invitation without its code.
#[derive(Serialize, ToSchema)]
pub struct InviteObject {
    #[schema(value_type = String)]
    id: InviteId,
    #[schema(value_type = schemas::Role)]
    role: Role,
    #[schema(value_type = Vec<String>)]
    channel_ids: Vec<ChannelId>,
    #[schema(value_type = String)]
    created_by: MemberId,
    created_at: Millis,
    expires_at: Millis,
}

impl From<&Invite> for InviteObject {
    fn from(invite: &Invite) -> Self {
        Self {
            id: invite.id,
            role: invite.role,
            channel_ids: invite.channels.clone(),
            created_by: invite.made_by,
            created_at: invite.created_at,
            expires_at: invite.expires_at,
        }
    }
}

/// A new invitation, with its code, this once.
#[derive(Serialize, ToSchema)]
pub struct NewInvite {
    #[serde(flatten)]
    invite: InviteObject,
    code: String,
    /// What to send to the person: the page asks there for a name and a password.
    url: String,
}

/// Invite a person (owner or admin). The link is good for one account, for 7 days.
#[utoipa::path(post, path = "/v1/workspaces/{workspace}/invites", tag = "members", request_body = InviteBody,
    responses((status = 201, body = NewInvite)))]
pub async fn create(caller: Caller, Path(workspace): Path<WorkspaceId>, Body(body): Body<InviteBody>) -> Answer {
    let code = random_hex(16);
    let create = CreateInvite {
        workspace,
        role: body.role,
        channels: body.channel_ids.iter().map(|id| ChannelId::parse(id)).collect(),
        code_hash: Auth::hash_key(&code),
    };
    let Reply::Invite(invite) = caller.execute(Command::CreateInvite(create)).await? else {
        return Err(unexpected());
    };
    let base = caller.hub.settings().server.public_url.trim_end_matches('/');
    let url = format!("{base}/join/{code}");
    reply::created(&NewInvite { invite: InviteObject::from(&invite), code, url })
}

/// The invitations that nobody has taken up yet (owner or admin).
#[utoipa::path(get, path = "/v1/workspaces/{workspace}/invites", tag = "members",
    responses((status = 200, body = [InviteObject])))]
pub async fn list(caller: Caller, Path(workspace): Path<WorkspaceId>) -> Answer {
    let now = caller.hub.now();
    caller.query(|state, actor| {
        access::admin(state, actor, workspace)?;
        let open = state.invites_in(workspace).filter(|invite| invite.expires_at > now);
        // Private channels of others stay unknown also to admins.
        let readable = |channel: &ChannelId| access::room_to_read(state, actor, *channel).is_ok();
        let shown = |invite: &Invite| {
            let mut shown = InviteObject::from(invite);
            shown.channel_ids.retain(readable);
            shown
        };
        Ok(reply::ok(&open.map(shown).collect::<Vec<_>>()))
    })?
}

/// Take an invitation back (owner or admin).
#[utoipa::path(delete, path = "/v1/workspaces/{workspace}/invites/{invite}", tag = "members",
    responses((status = 200, body = Done)))]
pub async fn revoke(caller: Caller, Path((workspace, invite)): Path<(WorkspaceId, InviteId)>) -> Answer {
    caller.within(workspace)?;
    caller.execute(Command::RevokeInvite { invite }).await?;
    reply::deleted(invite)
}

/// What an invitation is for.
#[derive(Serialize, ToSchema)]
pub struct Invitation {
    workspace: InvitedTo,
    #[schema(value_type = schemas::Role)]
    role: Role,
    expires_at: Millis,
}

#[derive(Serialize, ToSchema)]
pub struct InvitedTo {
    #[schema(value_type = String)]
    id: WorkspaceId,
    name: String,
    slug: String,
}

/// Which workspace a code leads to, for whoever has it.
#[utoipa::path(get, path = "/v1/invites/{code}", tag = "members", security(()),
    responses((status = 200, body = Invitation)))]
pub async fn show(AppState(hub): AppState<Hub>, Address(address): Address, Path(code): Path<String>) -> Answer {
    let code_hash = open(&hub, &code, address)?;
    let now = hub.now();
    let invitation = hub.with_state(|state| {
        let invite = access::open_invite(state, &code_hash, now)?;
        let workspace = state.workspace(invite.workspace).ok_or(folkmoot_core::refusal::INVITE_OVER)?;
        let workspace = InvitedTo { id: workspace.id, name: workspace.name.clone(), slug: workspace.slug.clone() };
        Ok::<_, ApiError>(Invitation { workspace, role: invite.role, expires_at: invite.expires_at })
    })?;
    reply::ok(&invitation)
}

/// Looks whether a code opens anything; guessing is limited like guessing passwords.
pub fn open(hub: &Hub, code: &str, address: IpAddr) -> Result<KeyHash, ApiError> {
    // Guesses are counted by where they come from: nobody can shut the door for others.
    let guess = hub.limits().guess("an invitation", address);
    guess.begin(Instant::now())?;
    if code.len() > MAX_CODE_BYTES {
        return Err(folkmoot_core::refusal::INVITE_OVER.into());
    }
    let (code_hash, now) = (Auth::hash_key(code), hub.now());
    hub.with_state(|state| access::open_invite(state, &code_hash, now).map(drop))?;
    guess.give_back();
    Ok(code_hash)
}
