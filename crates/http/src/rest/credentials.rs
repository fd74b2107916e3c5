//! The caller's own ways in: the password, sessions, the API key; looked at and ended.

use std::time::Instant;

use axum::http::header;
use folkmoot_core::command::{Command, Reply};
use folkmoot_core::decide::{Credential, CredentialKind, check_password, credentials_of};
use folkmoot_core::ids::TokenId;
use folkmoot_core::model::SignedIn;
use folkmoot_core::{Millis, access, refusal};
use folkmoot_hub::login;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::device_cookie;
use super::error::ApiError;
use super::extract::{Caller, Path, ShortBody, Visit};
use super::reply::{self, Answer, Done};
use super::unexpected;

#[derive(Serialize, ToSchema)]
pub struct Credentials {
    /// The newest hundred; all end with their 24 hours or with the password.
    sessions: Vec<SessionObject>,
    keys: Vec<KeyObject>,
}

#[derive(Serialize, ToSchema)]
pub struct SessionObject {
    #[schema(value_type = String)]
    id: TokenId,
    created_at: Millis,
    /// To ten minutes.
    last_seen_at: Millis,
    address: String,
    /// What the client calls itself.
    device: String,
    /// Whether it is the one that asks.
    current: bool,
}

#[derive(Serialize, ToSchema)]
pub struct KeyObject {
    id: String,
    kind: KeyKind,
    name: String,
    /// 0 where it was not noted.
    created_at: Millis,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    ApiKey,
    Machine,
    Provision,
    Telegram,
}

/// Everything that lets somebody in as the caller without the password.
#[utoipa::path(get, path = "/v1/members/me/credentials", tag = "members",
    responses((status = 200, body = Credentials)))]
pub async fn list(caller: Caller) -> Answer {
    let current = caller.token().map(|token| token.token.session.as_str());
    caller.query(|state, actor| {
        let member = access::member(state, actor)?;
        let object = |(token, signed_in): (&folkmoot_core::model::Token, &SignedIn)| SessionObject {
            id: token.id,
            created_at: signed_in.created_at,
            last_seen_at: signed_in.last_seen_at,
            address: signed_in.address.clone(),
            device: signed_in.device.clone(),
            current: current == Some(signed_in.session.as_str()),
        };
        let now = caller.hub.now();
        let alive = state.sessions_of(member.id).filter(|(token, _)| token.expires_at > now);
        let mut sessions: Vec<_> = alive.map(object).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.id));
        let keys = credentials_of(state, member).into_iter().filter_map(key_object).collect();
        Ok(reply::ok(&Credentials { sessions, keys }))
    })?
}

fn key_object(credential: Credential) -> Option<KeyObject> {
    let kind = match credential.kind {
        CredentialKind::Session(_) => return None,
        CredentialKind::ApiKey => KeyKind::ApiKey,
        CredentialKind::Machine(_) => KeyKind::Machine,
        CredentialKind::Provision(_) => KeyKind::Provision,
        CredentialKind::Telegram(_) => KeyKind::Telegram,
    };
    Some(KeyObject { id: credential.id, kind, name: credential.name, created_at: credential.created_at })
}

/// End one of them.
#[utoipa::path(delete, path = "/v1/members/me/credentials/{credential}", tag = "members",
    responses((status = 200, body = Done)))]
pub async fn end(caller: Caller, Path(credential): Path<String>) -> Answer {
    caller.execute(Command::EndCredential { id: credential.clone() }).await?;
    reply::deleted(credential)
}

#[derive(Deserialize, ToSchema)]
pub struct PasswordBody {
    /// What it was until now.
    #[serde(alias = "old_password")]
    current_password: Option<String>,
    /// At least 8 characters.
    #[serde(alias = "password")]
    #[schema(min_length = 8, max_length = 1024)]
    new_password: String,
    /// The ids of sessions and keys that go on (`GET /v1/members/me/credentials`); everything else ends.
    #[serde(default)]
    keep: Vec<String>,
}

#[derive(Serialize, ToSchema)]
pub struct PasswordChanged {
    #[schema(example = "ok")]
    status: &'static str,
    /// A new session; those of before have ended, unless they were kept.
    token: String,
    expires_at: Millis,
    /// What this device shows at its next log-in, as `X-Moot-Device`.
    device: String,
    /// The ids of what has ended.
    ended: Vec<String>,
}

/// Change the caller's password. Sessions, the API key, provision tokens and Telegram accounts end, but for those in
/// `keep`; an agent keeps its key. The answer holds a token for a new session.
#[utoipa::path(post, path = "/v1/members/me/password", tag = "members", request_body = PasswordBody,
    responses((status = 200, body = PasswordChanged)))]
pub async fn change_password(caller: Caller, visit: Visit, ShortBody(body): ShortBody<PasswordBody>) -> Answer {
    check_password(&body.new_password)?;
    let standing = prove(&caller, body.current_password.unwrap_or_default()).await?;
    let hub = &caller.hub;
    let password_hash = hub.auth().hash_password(body.new_password, standing).await?;
    let command = Command::ChangePassword { password_hash, keep: body.keep };
    let Reply::Ended(ended) = caller.execute(command).await? else { return Err(unexpected()) };
    let member = caller.query(|state, actor| access::member(state, actor).cloned())?;
    let issued = login::begin_session(hub, &member, None, visit.address, visit.client).await?;
    let device = hub.auth().new_device(&member);
    let cookie = device_cookie(hub, &device);
    let (token, expires_at) = (issued.token, issued.expires_at);
    let mut response = reply::ok(&PasswordChanged { status: "ok", token, expires_at, device, ended })?;
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

/// Proves whoever has a password by it. Who has none yet (an agent, a person who came by key) is proven by the key alone.
async fn prove(caller: &Caller, current: String) -> Result<folkmoot_hub::auth::hashing::Standing, ApiError> {
    let hub = &caller.hub;
    let member = caller.query(|state, actor| access::member(state, actor).cloned())?;
    // Counted by the session that guesses: it shuts neither the log-in nor other sessions.
    let session = caller.token().map_or("a key", |token| &token.token.session);
    let attempt = hub.limits().guess_of(&format!("password of {} by {session}", member.id));
    if member.secrets.password_hash.is_none() {
        return Ok(attempt.standing);
    }
    if current.len() > login::MAX_SECRET_BYTES {
        return Err(refusal::INVALID_CREDENTIALS.into());
    }
    attempt.check(Instant::now())?;
    let (hash, standing) = (member.secrets.password_hash.clone(), attempt.standing);
    if hub.auth().verify_password(hash, current, attempt).await? {
        Ok(standing)
    } else {
        Err(refusal::INVALID_CREDENTIALS.into())
    }
}
