//! Accounts: registering, joining by invitation, logging in and out.

use std::time::Instant;

use axum::extract::State as AppState;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use folkmoot_core::command::{Command, Join, Register, Registration, Reply, Standing};
use folkmoot_core::decide::{check_password, may_register};
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::{Actor, State, access};
use folkmoot_hub::Hub;
use folkmoot_hub::{login, settings};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::error::ApiError;
use super::extract::{Address, Caller, DEVICE_COOKIE, ShortBody, Visit};
use super::invites;
use super::reply::{self, Answer, Done};

#[derive(Deserialize, ToSchema)]
pub struct RegisterBody {
    #[schema(example = "ann@example.org", max_length = 254, pattern = "email")]
    email: String,
    /// At least 8 characters.
    #[schema(min_length = 8, max_length = 1024)]
    password: String,
    #[schema(example = "ann", min_length = 1, max_length = 64, pattern = "name")]
    name: String,
    /// Left out, the workspace is named after its owner.
    #[schema(max_length = 64, pattern = "plain")]
    workspace_name: Option<String>,
    /// For the first account, from another machine: the code that `moot serve` printed when it started.
    setup_code: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct Session<'a> {
    /// Good for 24 hours as `Authorization: Bearer …`.
    token: String,
    #[schema(value_type = String)]
    member_id: MemberId,
    #[schema(value_type = String)]
    workspace_id: WorkspaceId,
    name: &'a str,
    #[schema(required = true)]
    workspace: Option<WorkspaceRef<'a>>,
    /// What this device shows at its next log-in, as `X-Moot-Device` (the page has it as a cookie): it is then told from
    /// those who guess, and let through where they are not. It proves nothing else.
    device: String,
}

#[derive(Serialize, ToSchema)]
pub struct WorkspaceRef<'a> {
    #[schema(value_type = String)]
    id: WorkspaceId,
    name: &'a str,
    slug: &'a str,
}

/// A session begins, or goes on under its name: the answer with its token, and the cookie by which the device is known again.
async fn session(
    hub: &Hub,
    member: &Member,
    workspace: Option<&Workspace>,
    visit: Visit,
    going_on: Option<String>,
    status: StatusCode,
) -> Answer {
    let known = visit.device.filter(|device| hub.auth().device_of(device, member).is_some());
    let device = known.unwrap_or_else(|| hub.auth().new_device(member));
    let issued = login::begin_session(hub, member, going_on, visit.address, visit.client).await?;
    let workspace = workspace.map(|it| WorkspaceRef { id: it.id, name: &it.name, slug: &it.slug });
    let cookie = device_cookie(hub, &device);
    let (member_id, workspace_id, name) = (member.id, member.workspace, &*member.name);
    let session = Session { token: issued.token, member_id, workspace_id, name, workspace, device };
    let mut response = reply::json(status, &session);
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok(response)
}

/// For the log-in of the page alone: no script reads it, and no other site sends it.
pub fn device_cookie(hub: &Hub, device: &str) -> Option<HeaderValue> {
    let url: Option<Uri> = hub.settings().server.public_url.parse().ok();
    let base = url.as_ref().map_or("", |url| url.path().trim_end_matches('/'));
    let secure = if url.as_ref().is_some_and(|url| url.scheme_str() == Some("https")) { "; Secure" } else { "" };
    let life = 365 * 24 * 60 * 60;
    let text =
        format!("{DEVICE_COOKIE}={device}; Path={base}/v1/auth; Max-Age={life}; HttpOnly; SameSite=Strict{secure}");
    HeaderValue::try_from(text).ok()
}

/// Longer ones than any account may have are refused before anything is done with them.
pub fn check_lengths<'a>(texts: impl IntoIterator<Item = Option<&'a str>>) -> Result<(), ApiError> {
    let too_long = texts.into_iter().flatten().any(|text| text.len() > login::MAX_LOGIN_BYTES);
    if too_long { Err(ApiError::bad_request("a name or address is too long")) } else { Ok(()) }
}

/// Make an account with a workspace of its own.
///
/// Whether that is possible is the operator's choice (`server.registration`): only the first account, anybody, or nobody.
#[utoipa::path(post, path = "/v1/auth/register", tag = "auth", security(()), request_body = RegisterBody,
    responses((status = 409, description = "the email or the name is taken"), (status = 201, body = Session<'static>)))]
pub async fn register(
    AppState(hub): AppState<Hub>,
    visit: Visit,
    headers: HeaderMap,
    ShortBody(body): ShortBody<RegisterBody>,
) -> Answer {
    check_lengths([Some(&*body.email), Some(&body.name), body.workspace_name.as_deref(), body.setup_code.as_deref()])?;
    check_password(&body.password)?;
    let policy = policy(hub.settings().server.registration);
    let standing = hub.setup().standing(visit.address, &headers, body.setup_code.as_deref());
    // A closed door is not knocked at for ever, and no code is guessed; hashing comes after that.
    let guess = hub.limits().guess("registration", visit.address);
    guess.begin(Instant::now())?;
    hub.with_state(|state| may_register(state, policy, standing))?;
    guess.give_back();
    let command = Command::Register(Register {
        policy,
        standing,
        password_hash: hub.auth().hash_password(body.password, guess.standing).await?,
        workspace_name: body.workspace_name,
        email: body.email,
        name: body.name,
    });
    let Reply::Registered { member, workspace } = hub.execute(Actor::nobody(Door::Rest), command).await? else {
        return Err(super::unexpected());
    };
    session(&hub, &member, Some(&workspace), visit, None, StatusCode::CREATED).await
}

fn policy(registration: settings::Registration) -> Registration {
    match registration {
        settings::Registration::First => Registration::First,
        settings::Registration::Open => Registration::Open,
        settings::Registration::Closed => Registration::Closed,
    }
}

#[derive(Deserialize, ToSchema)]
pub struct JoinBody {
    /// The last part of the invitation's address.
    #[schema(min_length = 1, max_length = 128)]
    code: String,
    #[schema(example = "bob", min_length = 1, max_length = 64, pattern = "name")]
    name: String,
    /// At least 8 characters.
    #[schema(min_length = 8, max_length = 1024)]
    password: String,
    #[schema(max_length = 254, pattern = "email_or_none")]
    email: Option<String>,
}

/// Make an account with an invitation; it can be used once.
#[utoipa::path(post, path = "/v1/auth/join", tag = "auth", security(()), request_body = JoinBody,
    responses((status = 404, description = "the invitation was used, taken back, or has expired"), (status = 409, description = "the email or the name is taken"), (status = 201, body = Session<'static>)))]
pub async fn join(AppState(hub): AppState<Hub>, visit: Visit, ShortBody(body): ShortBody<JoinBody>) -> Answer {
    check_lengths([Some(&*body.name), body.email.as_deref()])?;
    let code_hash = invites::open(&hub, &body.code, visit.address)?;
    check_password(&body.password)?;
    let standing = hub.limits().guess("an invitation", visit.address).standing;
    let command = Command::Join(Join {
        code_hash,
        name: body.name,
        email: body.email.filter(|email| !email.is_empty()),
        password_hash: hub.auth().hash_password(body.password, standing).await?,
    });
    match hub.execute(Actor::nobody(Door::Rest), command).await? {
        Reply::Registered { member, workspace } => {
            session(&hub, &member, Some(&workspace), visit, None, StatusCode::CREATED).await
        }
        _ => Err(super::unexpected()),
    }
}

/// How far this hub is set up.
#[derive(Serialize, ToSchema)]
pub struct Setup {
    /// Whether nobody has an account yet, and whoever comes first will own the hub.
    needs_owner: bool,
    /// Whether the caller needs the code that was printed at the start (`setup_code`).
    code_needed: bool,
    version: &'static str,
}

/// Whether the hub still waits for its owner.
#[utoipa::path(get, path = "/v1/setup", tag = "auth", security(()), responses((status = 200, body = Setup)))]
pub async fn setup(AppState(hub): AppState<Hub>, Address(address): Address, headers: HeaderMap) -> Answer {
    let closed = hub.settings().server.registration == settings::Registration::Closed;
    let needs_owner = !closed && hub.with_state(State::is_empty);
    let unproven = hub.setup().standing(address, &headers, None) == Standing::Unproven;
    reply::ok(&Setup { needs_owner, code_needed: needs_owner && unproven, version: env!("CARGO_PKG_VERSION") })
}

/// Either `email` or `name`.
#[derive(Deserialize, ToSchema)]
pub struct LoginBody {
    #[schema(example = "ann@example.org")]
    email: Option<String>,
    /// The name in the workspace; `name@slug` when several workspaces have somebody of that name.
    #[serde(alias = "username")]
    name: Option<String>,
    password: String,
}

/// Log in with an email address or a name.
///
/// Failures are limited per account and address, and per address; a device that has logged in before (`X-Moot-Device`)
/// has a limit of its own, so that nobody can shut an account for its owner. A refusal by a limit, or because too many
/// log in at once, is a 429 with `Retry-After`.
#[utoipa::path(post, path = "/v1/auth/login", tag = "auth", security(()), request_body = LoginBody,
    responses((status = 401, description = "the password is wrong, or there is no such account"), (status = 200, body = Session<'static>)))]
pub async fn login(AppState(hub): AppState<Hub>, visit: Visit, ShortBody(body): ShortBody<LoginBody>) -> Answer {
    let login = body.email.filter(|text| !text.is_empty()).or(body.name).unwrap_or_default();
    if login.trim().is_empty() {
        return Err(ApiError::bad_request("email or name is required"));
    }
    let device = visit.device.as_deref();
    let member = login::prove_password(&hub, &login, body.password, visit.address, device).await?;
    let workspace = hub.with_state(|state| state.workspace(member.workspace).cloned());
    session(&hub, &member, workspace.as_ref(), visit, None, StatusCode::OK).await
}

/// A fresh token before the old one ends, for whoever is here every day. The old one counts until its own end.
#[utoipa::path(post, path = "/v1/auth/renew", tag = "auth", responses((status = 400, description = "an API key needs no renewal"), (status = 200, body = Session<'static>)))]
pub async fn renew(caller: Caller, visit: Visit) -> Answer {
    let Some(token) = caller.token() else {
        return Err(ApiError::bad_request("an API key is not a session and needs no renewal"));
    };
    let hub = &caller.hub;
    let member = caller.query(|state, actor| access::member(state, actor).cloned())?;
    let workspace = hub.with_state(|state| state.workspace(member.workspace).cloned());
    let going_on = Some(token.token.session.clone());
    session(hub, &member, workspace.as_ref(), visit, going_on, StatusCode::OK).await
}

/// End this session: its token stops working. An API key is not a session and stays.
#[utoipa::path(post, path = "/v1/auth/logout", tag = "auth", responses((status = 200, body = Done)))]
pub async fn logout(caller: Caller) -> Answer {
    if let Some(token) = caller.token().cloned() {
        caller.execute(Command::SignOut { jti: token.token.jti, expires_at: token.expires_at }).await?;
    }
    reply::done()
}

#[derive(Serialize, ToSchema)]
pub struct Provider {
    #[schema(example = "password")]
    id: &'static str,
    name: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    /// Who may register: `first`, `open` or `closed`.
    #[schema(value_type = String)]
    registration: settings::Registration,
    /// Whether nobody has an account yet.
    first_account: bool,
}

/// The ways to log in.
#[utoipa::path(get, path = "/v1/auth/providers", tag = "auth", security(()),
    responses((status = 200, body = [Provider])))]
pub async fn providers(AppState(hub): AppState<Hub>) -> Answer {
    let password = Provider {
        id: "password",
        name: "Email or name, and password",
        kind: "password",
        registration: hub.settings().server.registration,
        first_account: hub.with_state(State::is_empty),
    };
    reply::ok(&[password])
}
