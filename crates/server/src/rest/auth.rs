//! Accounts: registering, joining by invitation, logging in and out.

use axum::extract::State as AppState;
use axum::http::HeaderMap;
use folkmoot_core::command::{Command, Join, Register, Registration, Reply, Standing};
use folkmoot_core::decide::check_password;
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::{Actor, Code, State, access, refusal};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::error::ApiError;
use super::extract::{Address, Body, Caller};
use super::invites;
use super::reply::{self, Answer, Done};
use crate::app::App;
use crate::{config, login};

#[derive(Deserialize, ToSchema)]
pub struct RegisterBody {
    #[schema(example = "ann@example.org")]
    email: String,
    /// At least 8 characters.
    password: String,
    #[schema(example = "ann")]
    name: String,
    /// Left out, the workspace is named after its owner.
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
    workspace: Option<WorkspaceRef<'a>>,
}

#[derive(Serialize, ToSchema)]
pub struct WorkspaceRef<'a> {
    #[schema(value_type = String)]
    id: WorkspaceId,
    name: &'a str,
    slug: &'a str,
}

impl<'a> Session<'a> {
    fn new(app: &App, member: &'a Member, workspace: Option<&'a Workspace>) -> Self {
        Self {
            token: app.auth().issue_token(member, app.now()),
            member_id: member.id,
            workspace_id: member.workspace,
            name: &member.name,
            workspace: workspace.map(|it| WorkspaceRef { id: it.id, name: &it.name, slug: &it.slug }),
        }
    }
}

/// Make an account with a workspace of its own.
///
/// Whether that is possible is the operator's choice (`server.registration`): only the first account, anybody, or nobody.
#[utoipa::path(post, path = "/v1/auth/register", tag = "auth", security(()), request_body = RegisterBody,
    responses((status = 201, body = Session<'static>)))]
pub async fn register(
    AppState(app): AppState<App>,
    Address(address): Address,
    headers: HeaderMap,
    Body(body): Body<RegisterBody>,
) -> Answer {
    own_page_only(&app, &headers)?;
    app.limits().check_login(&body.email, address)?;
    check_password(&body.password)?;
    let command = Command::Register(Register {
        policy: policy(app.config().server.registration),
        standing: app.setup().standing(address, &headers, body.setup_code.as_deref()),
        password_hash: app.auth().hash_password(body.password).await?,
        workspace_name: body.workspace_name,
        email: body.email.clone(),
        name: body.name,
    });
    match app.execute(Actor::nobody(Door::Rest), command).await {
        Ok(Reply::Registered { member, workspace }) => {
            // The first account is what configured agents wait for.
            crate::hosting::changed(&app);
            reply::created(&Session::new(&app, &member, Some(&workspace)))
        }
        Ok(_) => Err(super::unexpected()),
        Err(refused) => {
            // Each attempt costs a password hash, so a closed door is not knocked at forever.
            if refused.code == Code::Forbidden {
                app.limits().login_failed(&body.email, address);
            }
            Err(refused.into())
        }
    }
}

/// An account is made without any token, so a page of another site could make one in the browser of whoever visits it.
fn own_page_only(app: &App, headers: &HeaderMap) -> Result<(), ApiError> {
    if app.origins().allow(headers) { Ok(()) } else { Err(refusal::FOREIGN_PAGE.into()) }
}

fn policy(registration: config::Registration) -> Registration {
    match registration {
        config::Registration::First => Registration::First,
        config::Registration::Open => Registration::Open,
        config::Registration::Closed => Registration::Closed,
    }
}

#[derive(Deserialize, ToSchema)]
pub struct JoinBody {
    /// The last part of the invitation's address.
    code: String,
    #[schema(example = "bob")]
    name: String,
    /// At least 8 characters.
    password: String,
    email: Option<String>,
}

/// Make an account with an invitation; it can be used once.
#[utoipa::path(post, path = "/v1/auth/join", tag = "auth", security(()), request_body = JoinBody,
    responses((status = 201, body = Session<'static>)))]
pub async fn join(
    AppState(app): AppState<App>,
    Address(address): Address,
    headers: HeaderMap,
    Body(body): Body<JoinBody>,
) -> Answer {
    own_page_only(&app, &headers)?;
    let code_hash = invites::open(&app, &body.code, address)?;
    check_password(&body.password)?;
    let command = Command::Join(Join {
        code_hash,
        name: body.name,
        email: body.email.filter(|email| !email.is_empty()),
        password_hash: app.auth().hash_password(body.password).await?,
    });
    match app.execute(Actor::nobody(Door::Rest), command).await? {
        Reply::Registered { member, workspace } => reply::created(&Session::new(&app, &member, Some(&workspace))),
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
pub async fn setup(AppState(app): AppState<App>, Address(address): Address, headers: HeaderMap) -> Answer {
    let closed = app.config().server.registration == config::Registration::Closed;
    let needs_owner = !closed && app.with_state(State::is_empty);
    let unproven = app.setup().standing(address, &headers, None) == Standing::Unproven;
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
/// Failures are limited per account and per address; a refusal by that limit is a 429 with `Retry-After`.
#[utoipa::path(post, path = "/v1/auth/login", tag = "auth", security(()), request_body = LoginBody,
    responses((status = 200, body = Session<'static>)))]
pub async fn login(AppState(app): AppState<App>, Address(address): Address, Body(body): Body<LoginBody>) -> Answer {
    let login = body.email.filter(|text| !text.is_empty()).or(body.name).unwrap_or_default();
    if login.trim().is_empty() {
        return Err(ApiError::bad_request("email or name is required"));
    }
    let member = login::prove_password(&app, &login, body.password, address).await?;
    let workspace = app.with_state(|state| state.workspace(member.workspace).cloned());
    reply::ok(&Session::new(&app, &member, workspace.as_ref()))
}

/// A fresh session before the old one ends, for whoever is here every day. The old token counts until its own end.
#[utoipa::path(post, path = "/v1/auth/renew", tag = "auth", responses((status = 200, body = Session<'static>)))]
pub async fn renew(caller: Caller) -> Answer {
    if caller.token.is_none() {
        return Err(ApiError::bad_request("an API key is not a session and needs no renewal"));
    }
    let app = &caller.app;
    let member = caller.look(|state, actor| access::member(state, actor).cloned())?;
    let workspace = app.with_state(|state| state.workspace(member.workspace).cloned());
    reply::ok(&Session::new(app, &member, workspace.as_ref()))
}

/// End this session: its token stops working. An API key is not a session and stays.
#[utoipa::path(post, path = "/v1/auth/logout", tag = "auth", responses((status = 200, body = Done)))]
pub async fn logout(caller: Caller) -> Answer {
    if let Some(token) = caller.token.clone() {
        caller.execute(Command::SignOut { jti: token.jti, expires_at: token.expires_at }).await?;
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
    registration: config::Registration,
    /// Whether nobody has an account yet.
    first_account: bool,
}

/// The ways to log in.
#[utoipa::path(get, path = "/v1/auth/providers", tag = "auth", security(()),
    responses((status = 200, body = [Provider])))]
pub async fn providers(AppState(app): AppState<App>) -> Answer {
    let password = Provider {
        id: "password",
        name: "Email or name, and password",
        kind: "password",
        registration: app.config().server.registration,
        first_account: app.with_state(State::is_empty),
    };
    reply::ok(&[password])
}
