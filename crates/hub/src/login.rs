//! Logging in by name, the same for every door: bounded in length, counted before it is looked at, hashed in turn.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use folkmoot_core::command::{Command, SignIn};
use folkmoot_core::ids::MemberId;
use folkmoot_core::model::{Door, Member};
use folkmoot_core::refusal::{self, Code, Refusal};
use folkmoot_core::{Actor, State, decide, state};

use crate::auth::hashing::NotHashed;
use crate::auth::limits::RetryAfter;
use crate::auth::{Auth, Identity, Issued, Proof};
use crate::hub::Hub;

/// A name with its workspace, or an email address; longer ones cannot be anybody's.
pub const MAX_LOGIN_BYTES: usize = 512;
/// A password of the longest allowed, in the widest letters.
pub const MAX_SECRET_BYTES: usize = 4096;

/// Why somebody did not get in.
#[derive(Debug, PartialEq, Eq)]
pub enum Denied {
    /// Nothing was checked: too many failures before, or too many who wait.
    TooOften(RetryAfter),
    TooLong,
    Wrong,
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::TooOften(wait) => {
                let text = format!("too many failed logins; try again in {} s", wait.whole_seconds());
                Self::with_text(Code::RateLimited, text)
            }
            Denied::TooLong => Self::bad_request("the name or the password is too long"),
            Denied::Wrong => refusal::INVALID_CREDENTIALS,
        }
    }
}

impl From<NotHashed> for Denied {
    fn from(reason: NotHashed) -> Self {
        match reason {
            NotHashed::TooOften(wait) => Self::TooOften(wait),
            NotHashed::Failed => Self::Wrong,
        }
    }
}

/// Proves a person by password or an agent by API key.
pub async fn prove(hub: &Hub, login: &str, secret: String, address: IpAddr) -> Result<Identity, Denied> {
    check_lengths(login, &secret)?;
    // A key cannot be guessed and costs nothing to look up, so nobody's failures stand in its way.
    if let Some(identity) = hub.with_state(|state| by_key(state, login, &secret)) {
        return Ok(identity);
    }
    let member = prove_password(hub, login, secret, address, None).await?;
    Ok(Identity::own(member.id, Proof::Password { generation: member.secrets.generation }))
}

fn by_key(state: &State, login: &str, secret: &str) -> Option<Identity> {
    let hash = Auth::hash_key(secret);
    let member = state.member_by_key(&hash)?.id;
    let is_called = state.members_called(login).iter().any(|called| called.id == member);
    is_called.then(|| Identity::own(member, Proof::Key(hash)))
}

/// Proves a person by password, whichever name of theirs was given. The device is what an earlier log-in was given.
pub async fn prove_password(
    hub: &Hub,
    login: &str,
    password: String,
    address: IpAddr,
    device: Option<&str>,
) -> Result<Arc<Member>, Denied> {
    check_lengths(login, &password)?;
    let member = hub.with_state(|state| account(state, login));
    // One account has one limit, whichever of its names is tried.
    let account = member.as_ref().map_or_else(|| state::fold_name(login), |member| member.id.to_string());
    let device = device.zip(member.as_deref()).and_then(|(device, member)| hub.auth().device_of(device, member));
    let attempt = hub.limits().login(&account, address, device, Instant::now());
    attempt.check(Instant::now()).map_err(Denied::TooOften)?;
    let hash = member.as_ref().and_then(|member| member.secrets.password_hash.clone());
    if !hub.auth().verify_password(hash, password, attempt).await? {
        return Err(Denied::Wrong);
    }
    let member = member.ok_or(Denied::Wrong)?;
    hub.limits().logged_in(&account, address, Instant::now());
    Ok(member)
}

fn check_lengths(login: &str, secret: &str) -> Result<(), Denied> {
    if login.len() > MAX_LOGIN_BYTES || secret.len() > MAX_SECRET_BYTES { Err(Denied::TooLong) } else { Ok(()) }
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

/// A token for a proven member, noted as a session that its holder can look at and end.
pub async fn begin_session(
    hub: &Hub,
    member: &Member,
    going_on: Option<String>,
    address: IpAddr,
    device: String,
) -> Result<Issued, Refusal> {
    let issued = hub.auth().issue(member, hub.now(), going_on);
    let sign_in = SignIn {
        session: issued.session.clone(),
        generation: member.secrets.generation,
        address: address.to_canonical().to_string(),
        device,
        expires_at: issued.expires_at,
    };
    let noted = hub.execute(Actor::new(member.id, Door::Rest), Command::SignIn(sign_in)).await;
    match noted {
        // A full disk keeps nobody out: the session is not listed, and ends with the others.
        Ok(_) => Ok(issued),
        Err(refused) if refused.code == Code::Unavailable => Ok(issued),
        Err(refused) => Err(refused),
    }
}

/// Notes now and then that a session is in use.
pub fn note_use(hub: &Hub, identity: &Identity, address: IpAddr) {
    let (Some(token), member) = (identity.proof.token(), identity.prover) else { return };
    let session = &token.token.session;
    if is_due(hub, member, session) {
        let see = Command::SeeSession { session: session.clone(), address: address.to_canonical().to_string() };
        drop(hub.begin(Actor::new(member, Door::Rest), see));
    }
}

fn is_due(hub: &Hub, member: MemberId, session: &str) -> bool {
    let now = hub.now();
    hub.with_state(|state| decide::is_unseen(state, member, session, now))
}
