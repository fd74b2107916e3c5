//! Logging in by name, the same for every door: one limit per account and address, and few password checks at a time.

use std::net::IpAddr;
use std::sync::Arc;

use folkmoot_core::model::Member;
use folkmoot_core::refusal::{self, Code, Refusal};
use folkmoot_core::{State, state};

use crate::app::App;
use crate::auth::Auth;
use crate::limits::RetryAfter;

/// Why somebody did not get in.
#[derive(Debug, PartialEq, Eq)]
pub enum Denied {
    /// Nothing was checked: too many failures before.
    TooOften(RetryAfter),
    Wrong,
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::TooOften(wait) => {
                let text = format!("too many failed logins; try again in {} s", wait.whole_seconds());
                Self::with_text(Code::RateLimited, text)
            }
            Denied::Wrong => refusal::INVALID_CREDENTIALS,
        }
    }
}

/// Proves a person by password or an agent by API key.
pub async fn prove(app: &App, login: &str, secret: String, address: IpAddr) -> Result<Arc<Member>, Denied> {
    match app.with_state(|state| by_key(state, login, &secret)) {
        // A right key is no guess, but it does not get past the limit of its address either.
        Some(member) => match app.limits().check_login(&member.id.to_string(), address) {
            Ok(()) => Ok(member),
            Err(wait) => Err(Denied::TooOften(wait)),
        },
        None => prove_password(app, login, secret, address).await,
    }
}

fn by_key(state: &State, login: &str, secret: &str) -> Option<Arc<Member>> {
    let member = state.member_by_key(&Auth::hash_key(secret))?;
    let is_called = state.members_called(login).iter().any(|called| called.id == member.id);
    is_called.then(|| Arc::clone(member))
}

/// Proves a person by password, whichever name of theirs was given.
pub async fn prove_password(app: &App, login: &str, password: String, address: IpAddr) -> Result<Arc<Member>, Denied> {
    let member = app.with_state(|state| account(state, login));
    // One account has one limit, whichever of its names is tried.
    let account = member.as_ref().map_or_else(|| state::fold_name(login), |member| member.id.to_string());
    app.limits().check_login(&account, address).map_err(Denied::TooOften)?;
    let hash = member.as_ref().and_then(|member| member.secrets.password_hash.clone());
    let proven = app.auth().verify_password(hash, password).await;
    member.filter(|_| proven).ok_or_else(|| {
        app.limits().login_failed(&account, address);
        Denied::Wrong
    })
}

/// The one account that is meant. A name that several workspaces have means nobody: it takes `name@slug`.
fn account(state: &State, login: &str) -> Option<Arc<Member>> {
    if let Some(member) = state.member_by_email(login) {
        return Some(Arc::clone(member));
    }
    match state.members_called(login)[..] {
        [member] => Some(Arc::clone(member)),
        _ => None,
    }
}
