//! The ways in that a member has, besides the password: sessions, the API key, machines, tokens for agents, Telegram accounts.

use data_encoding::HEXLOWER;

use super::{Context, Decision, Outcome, telegram};
use crate::command::{Reply, SignIn};
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::state::State;
use crate::{Actor, Millis, access};

/// More sessions of one member than this are not listed; they still end with their time and with the password.
pub const MAX_SESSIONS: usize = 100;
/// How exactly it is known when a session was last used.
pub const SEEN_STEP: Millis = 10 * 60 * 1000;
/// How long a token lets agents register.
pub const PROVISION_TOKEN_LIFE: Millis = 24 * 60 * 60 * 1000;
const MAX_DEVICE_CHARS: usize = 120;

/// One way in, as its holder sees it. Sessions have more to show; see [`State::sessions_of`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    pub id: String,
    pub kind: CredentialKind,
    pub name: String,
    pub created_at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialKind {
    Session(TokenId),
    ApiKey,
    Machine(MachineId),
    Provision(TokenId),
    Telegram(TelegramLinkId),
}

/// Everything that lets somebody in as this member, or lets agents of theirs in, without the password.
pub fn credentials_of(state: &State, member: &Member) -> Vec<Credential> {
    let sessions = state.sessions_of(member.id).map(|(token, signed_in)| Credential {
        id: token.id.to_string(),
        kind: CredentialKind::Session(token.id),
        name: signed_in.device.clone(),
        created_at: signed_in.created_at,
    });
    let key = member.secrets.key_hash.map(|hash| Credential {
        id: key_id(&hash),
        kind: CredentialKind::ApiKey,
        name: "API key".to_owned(),
        created_at: member.secrets.key_made_at,
    });
    let machines = state.machines_of(member.id).map(|machine| Credential {
        id: machine.id.to_string(),
        kind: CredentialKind::Machine(machine.id),
        name: machine.name.clone(),
        created_at: machine.created_at,
    });
    let provisions = state.provision_tokens_of(member.id).map(|token| Credential {
        id: token.id.to_string(),
        kind: CredentialKind::Provision(token.id),
        name: "provision token".to_owned(),
        created_at: token.expires_at - PROVISION_TOKEN_LIFE,
    });
    let accounts = state.telegram_links_of(member.id).filter_map(|link| {
        let account = link.account.as_ref()?;
        let kind = CredentialKind::Telegram(link.id);
        Some(Credential { id: link.id.to_string(), kind, name: account.name.clone(), created_at: account.linked_at })
    });
    sessions.chain(key).chain(machines).chain(provisions).chain(accounts).collect()
}

/// A name for a key that says nothing about it and changes with it.
fn key_id(hash: &KeyHash) -> String {
    format!("key_{}", HEXLOWER.encode(&hash.0[..8]))
}

/// Notes a session. What was proven before everything was ended is too late.
pub fn sign_in(context: &mut Context<'_>, actor: Actor, sign_in: SignIn) -> Outcome {
    let member = access::member(context.state, actor)?;
    if member.secrets.generation != sign_in.generation {
        return Err(refusal::INVALID_CREDENTIALS);
    }
    let (workspace, made_by) = (member.workspace, member.id);
    let before = context.state.session(made_by, &sign_in.session);
    let id = before.map_or_else(|| TokenId(context.ids.next(context.now)), |(token, _)| token.id);
    let signed_in = SignedIn {
        session: sign_in.session,
        generation: sign_in.generation,
        created_at: before.map_or(context.now, |(_, signed_in)| signed_in.created_at),
        last_seen_at: context.now,
        address: sign_in.address,
        device: short(&sign_in.device),
    };
    let token =
        Token { id, workspace, made_by, purpose: TokenPurpose::Session(signed_in), expires_at: sign_in.expires_at };
    let mut events = vec![Event::Saved(token.clone().into())];
    let over = context.state.expired_tokens(context.now);
    events.extend(
        over.into_iter()
            .chain(crowded_out(context.state, made_by, id, context.now))
            .filter_map(|old| (old.id != id).then(|| Event::Removed(old.into()))),
    );
    Ok(Decision::new(Reply::Token(token), events))
}

/// The sessions that make room for a new one: those that nobody used for longest.
fn crowded_out(state: &State, member: MemberId, new: TokenId, now: Millis) -> Vec<Token> {
    let alive = |token: &Token| token.id != new && token.expires_at > now;
    let mut others: Vec<_> = state.sessions_of(member).filter(|(token, _)| alive(token)).collect();
    others.sort_by_key(|(token, signed_in)| (signed_in.last_seen_at, token.id));
    let too_many = (others.len() + 1).saturating_sub(MAX_SESSIONS);
    others.into_iter().take(too_many).map(|(token, _)| token.clone()).collect()
}

/// Whether it is worth noting that somebody was here with this session.
pub fn is_unseen(state: &State, member: MemberId, session: &str, now: Millis) -> bool {
    state.session(member, session).is_some_and(|(_, signed_in)| now - signed_in.last_seen_at >= SEEN_STEP)
}

pub fn see_session(context: &mut Context<'_>, actor: Actor, session: &str, address: String) -> Outcome {
    let member = access::member(context.state, actor)?.id;
    let Some((token, signed_in)) = context.state.session(member, session) else {
        return Ok(Decision::nothing(Reply::Done));
    };
    if !is_unseen(context.state, member, session, context.now) {
        return Ok(Decision::nothing(Reply::Done));
    }
    let signed_in = SignedIn { last_seen_at: context.now, address, ..signed_in.clone() };
    Ok(Decision::saved(Reply::Done, Token { purpose: TokenPurpose::Session(signed_in), ..token.clone() }))
}

pub fn sign_out(context: &mut Context<'_>, actor: Actor, jti: String, expires_at: Millis) -> Outcome {
    let member = access::member(context.state, actor)?;
    if context.state.is_revoked(&jti) {
        return Ok(Decision::nothing(Reply::Done));
    }
    let session = context.state.session(member.id, &jti).map(|(token, _)| token.clone());
    // Old entries go when new ones come, so the list stays as long as the tokens live.
    let expired = context.state.expired_tokens(context.now);
    let gone = expired.into_iter().filter(|token| session.as_ref().is_none_or(|own| own.id != token.id));
    let gone: Vec<_> = gone.chain(session.clone()).map(|token| Event::Removed(token.into())).collect();
    let revoked = revoked(context, actor, jti, expires_at)?;
    Ok(Decision::new(Reply::Done, std::iter::once(revoked).chain(gone).collect()))
}

fn revoked(context: &mut Context<'_>, actor: Actor, jti: String, expires_at: Millis) -> Result<Event, Refusal> {
    let member = access::member(context.state, actor)?;
    let (workspace, made_by) = (member.workspace, member.id);
    let id = TokenId(context.ids.next(context.now));
    Ok(Event::Saved(Token { id, workspace, made_by, purpose: TokenPurpose::Revoked(jti), expires_at }.into()))
}

pub fn change_password(context: &mut Context<'_>, actor: Actor, password_hash: String, keep: &[String]) -> Outcome {
    let member = access::member(context.state, actor)?;
    let all = credentials_of(context.state, member);
    if let Some(unknown) = keep.iter().find(|id| all.iter().all(|credential| credential.id != **id)) {
        let shown: String = unknown.chars().take(64).collect();
        return Err(Refusal::bad_request(format!("`keep` names `{shown}`, which is not among your credentials")));
    }
    // An agent is its key, and a password of its own changes nothing about that.
    let stays = |credential: &Credential| {
        keep.contains(&credential.id) || member.is_agent() && credential.kind == CredentialKind::ApiKey
    };
    let (kept, over): (Vec<_>, Vec<_>) = all.into_iter().partition(stays);
    let mut secrets = Secrets { password_hash: Some(password_hash), ..member.secrets.ended(context.now) };
    // Whoever changes a password may do so because somebody else knew it: what they made with it goes too.
    let mut events: Vec<_> =
        kept.iter().filter_map(|credential| renewed(context.state, credential, &secrets)).collect();
    for credential in &over {
        match ended(context.state, credential) {
            Some(event) => events.push(event),
            None => secrets.key_hash = None,
        }
    }
    events.extend(telegram::codes_ended(context.state, member.id));
    events.push(Event::Saved(Member { secrets, ..(**member).clone() }.into()));
    let over = over.into_iter().map(|credential| credential.id).collect();
    Ok(Decision::new(Reply::Ended(over), events))
}

/// A session that is kept counts under the new generation; everything else does not know of generations.
fn renewed(state: &State, credential: &Credential, secrets: &Secrets) -> Option<Event> {
    let CredentialKind::Session(id) = credential.kind else { return None };
    let token = state.token(id)?;
    let signed_in = SignedIn { generation: secrets.generation, ..token.signed_in()?.clone() };
    Some(Event::Saved(Token { purpose: TokenPurpose::Session(signed_in), ..token.clone() }.into()))
}

/// What takes a credential away; none for the API key, which stands with the member.
fn ended(state: &State, credential: &Credential) -> Option<Event> {
    match credential.kind {
        CredentialKind::Session(id) | CredentialKind::Provision(id) => {
            state.token(id).map(|token| Event::Removed(token.clone().into()))
        }
        CredentialKind::Machine(id) => state.machine(id).map(|machine| Event::Removed(machine.clone().into())),
        CredentialKind::Telegram(id) => {
            state.telegram_links().find(|link| link.id == id).map(|link| Event::Removed(link.clone().into()))
        }
        CredentialKind::ApiKey => None,
    }
}

/// What a member leaves behind who is removed, or whose key is replaced: nothing lets anybody in any more.
pub(super) fn all_ended(state: &State, member: &Member) -> Vec<Event> {
    credentials_of(state, member).iter().filter_map(|credential| ended(state, credential)).collect()
}

pub fn end(context: &mut Context<'_>, actor: Actor, id: &str) -> Outcome {
    let member = access::member(context.state, actor)?;
    let all = credentials_of(context.state, member);
    let credential = all.into_iter().find(|credential| credential.id == id).ok_or(refusal::CREDENTIAL_NOT_FOUND)?;
    let mut events: Vec<_> = ended(context.state, &credential).into_iter().collect();
    match credential.kind {
        CredentialKind::Session(id) => {
            let session =
                context.state.token(id).and_then(|token| Some((token.signed_in()?.clone(), token.expires_at)));
            // By the name of the session: its tokens end together.
            if let Some((signed_in, expires_at)) = session {
                events.push(revoked(context, actor, signed_in.session, expires_at)?);
            }
        }
        CredentialKind::ApiKey if member.is_agent() => return Err(refusal::KEY_OF_AN_AGENT),
        CredentialKind::ApiKey => {
            let secrets = Secrets { key_hash: None, key_made_at: 0, ..member.secrets.clone() };
            events.push(Event::Saved(Member { secrets, ..(**member).clone() }.into()));
        }
        CredentialKind::Machine(_) | CredentialKind::Provision(_) | CredentialKind::Telegram(_) => {}
    }
    Ok(Decision::new(Reply::Ended(vec![credential.id]), events))
}

fn short(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_DEVICE_CHARS).collect()
}
