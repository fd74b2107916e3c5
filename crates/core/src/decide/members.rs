//! Accounts, workspaces and the people and agents in them.

use std::sync::Arc;

use super::{Context, Decision, Outcome, credentials, quotas, short_text, telegram, visible_name};
use crate::command::*;
use crate::event::Event;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::state::State;
use crate::{Actor, Millis, access};

pub const MIN_PASSWORD_CHARS: usize = 8;
const MAX_PASSWORD_CHARS: usize = 1024;
const MAX_NAME_CHARS: usize = 64;

/// The rule for passwords; checked before hashing, since a hash no longer shows it.
pub fn check_password(password: &str) -> Result<(), Refusal> {
    match password.chars().count() {
        ..MIN_PASSWORD_CHARS => Err(refusal::PASSWORD_TOO_SHORT),
        MIN_PASSWORD_CHARS..=MAX_PASSWORD_CHARS => Ok(()),
        _ => Err(Refusal::bad_request("password is too long (max 1024 characters)")),
    }
}

/// Whether somebody may make an account with a workspace of its own; asked before hashing, too.
pub fn may_register(state: &State, policy: Registration, standing: Standing) -> Result<(), Refusal> {
    let allowed = match policy {
        Registration::Open => true,
        Registration::First => state.is_empty(),
        Registration::Closed => false,
    };
    if !allowed {
        return Err(refusal::REGISTRATION_CLOSED);
    }
    // Whoever comes first owns the hub, so on an open network the first must show that the start was seen.
    if state.is_empty() && standing == Standing::Unproven {
        return Err(refusal::SETUP_CODE_NEEDED);
    }
    Ok(())
}

pub fn register(context: &mut Context<'_>, register: Register) -> Outcome {
    may_register(context.state, register.policy, register.standing)?;
    let name = member_name(&register.name)?;
    let email = free_email(context, &register.email, None)?;
    let workspace_name = match register.workspace_name {
        Some(given) if !given.trim().is_empty() => short_text(&given, "workspace name", MAX_NAME_CHARS)?,
        _ => format!("{name}'s workspace"),
    };
    let workspace = Workspace {
        id: WorkspaceId(context.new_id()),
        slug: free_slug(context, if workspace_name.ends_with("'s workspace") { &name } else { &workspace_name }),
        name: workspace_name,
        created_at: context.now,
    };
    let member = Member {
        role: Role::Owner,
        email: Some(email),
        secrets: Secrets { password_hash: Some(register.password_hash), ..Secrets::default() },
        ..new_member(context, workspace.id, MemberKind::Human, name, None)
    };
    let events = vec![Event::Saved(workspace.clone().into()), Event::Saved(member.clone().into())];
    Ok(Decision::new(Reply::Registered { member: Arc::new(member), workspace }, events))
}

/// Whoever owns a workspace may make another. An email belongs to one account, so the new member logs in by `name@slug`.
pub fn create_workspace(context: &mut Context<'_>, actor: Actor, name: &str) -> Outcome {
    let owner = Arc::clone(access::member(context.state, actor)?);
    if owner.role != Role::Owner || owner.is_agent() {
        return Err(Refusal::new(refusal::Code::Forbidden, "only the owner of a workspace may make another"));
    }
    let name = short_text(name, "name", MAX_NAME_CHARS)?;
    let workspace =
        Workspace { id: WorkspaceId(context.new_id()), slug: free_slug(context, &name), name, created_at: context.now };
    let secrets = Secrets { password_hash: owner.secrets.password_hash.clone(), ..Secrets::default() };
    let member = Member {
        role: Role::Owner,
        nick: owner.nick.clone(),
        secrets,
        ..new_member(context, workspace.id, MemberKind::Human, owner.name.clone(), None)
    };
    let events = vec![Event::Saved(workspace.clone().into()), Event::Saved(member.clone().into())];
    Ok(Decision::new(Reply::Registered { member: Arc::new(member), workspace }, events))
}

pub(super) fn new_member(
    context: &mut Context<'_>,
    workspace: WorkspaceId,
    kind: MemberKind,
    name: String,
    by: Option<MemberId>,
) -> Member {
    Member {
        id: MemberId(context.new_id()),
        workspace,
        kind,
        role: Role::Member,
        name,
        nick: None,
        email: None,
        avatar: None,
        created_by: by,
        created_at: context.now,
        role_card: None,
        runtime: None,
        secrets: Secrets::default(),
        guest: None,
        visit: None,
        removed: false,
    }
}

pub fn update_workspace(
    context: &mut Context<'_>,
    actor: Actor,
    id: WorkspaceId,
    name: Option<String>,
    slug: Option<String>,
) -> Outcome {
    access::admin(context.state, actor, id)?;
    let mut workspace = context.state.workspace(id).cloned().ok_or(refusal::WORKSPACE_NOT_FOUND)?;
    if let Some(name) = name {
        workspace.name = short_text(&name, "name", MAX_NAME_CHARS)?;
    }
    if let Some(slug) = slug {
        let wanted = slugify(&slug);
        if wanted != workspace.slug && context.state.slug_taken(&wanted) {
            return Err(Refusal::conflict(format!("the slug `{wanted}` is taken")));
        }
        workspace.slug = wanted;
    }
    Ok(Decision::saved(Reply::Workspace(workspace.clone()), workspace))
}

pub fn delete_workspace(context: &mut Context<'_>, actor: Actor, id: WorkspaceId) -> Outcome {
    let owner = access::workspace_member(context.state, actor, id)?;
    if owner.role != Role::Owner {
        return Err(Refusal::new(refusal::Code::Forbidden, "only the owner may delete the workspace"));
    }
    let workspace = context.state.workspace(id).cloned().ok_or(refusal::WORKSPACE_NOT_FOUND)?;
    let mut events = Vec::new();
    for room in context.state.channels_in(id) {
        events.extend(room.members.values().cloned().map(Event::Left));
        events.extend(context.state.pools().link(room.channel.id).map(|link| Event::Removed(link.clone().into())));
        events.push(Event::Removed(room.channel.clone().into()));
    }
    events.extend(context.state.webhooks_in(id).map(|webhook| Event::Removed(webhook.clone().into())));
    events.extend(context.state.invites_in(id).map(|invite| Event::Removed(invite.clone().into())));
    for member in context.state.members_of(id) {
        events.extend(credentials::all_ended(context.state, member));
        events.extend(telegram::codes_ended(context.state, member.id));
        events.push(Event::Saved(gone(member, context.now).into()));
    }
    events.push(Event::Removed(workspace.into()));
    Ok(Decision::new(Reply::Done, events).reply_after(0))
}

pub fn add(context: &mut Context<'_>, actor: Actor, add: AddMember) -> Outcome {
    let by = access::admin(context.state, actor, add.workspace)?;
    let role = add.role.unwrap_or(Role::Member);
    access::may_give_role(by, role)?;
    if add.kind == MemberKind::Human {
        access::brings_people_in(by)?;
    }
    let by = by.id;
    quotas::one_more_member(context, add.workspace)?;
    let name = free_name(context, add.workspace, &add.name, None)?;
    let email = match &add.email {
        Some(email) => Some(free_email(context, email, None)?),
        None => None,
    };
    let member = Member {
        role,
        nick: free_nick(context, add.workspace, add.nick, None)?,
        email,
        role_card: add.role_card,
        runtime: add.runtime,
        secrets: Secrets {
            password_hash: add.password_hash,
            key_hash: add.key_hash,
            key_made_at: context.now,
            ..Secrets::default()
        },
        ..new_member(context, add.workspace, add.kind, name, Some(by))
    };
    Ok(Decision::saved(Reply::Member(Arc::new(member.clone())), member))
}

pub fn update(context: &mut Context<'_>, actor: Actor, update: UpdateMember) -> Outcome {
    let target = Arc::clone(access::colleague(context.state, actor, update.member)?);
    let by = access::member(context.state, actor)?;
    access::may_change_member(by, &target)?;
    if let Some(role) = update.role.filter(|role| *role != target.role) {
        access::may_change_role(by, &target, role)?;
    }
    let mut member = (*target).clone();
    member.role = update.role.unwrap_or(member.role);
    if let Some(name) = update.name {
        member.name = free_name(context, member.workspace, &name, Some(member.id))?;
    }
    if update.nick.is_some() {
        member.nick = free_nick(context, member.workspace, update.nick, Some(member.id))?;
    }
    if let Some(email) = update.email {
        member.email = Some(free_email(context, &email, Some(member.id))?);
    }
    member.avatar = update.avatar.or(member.avatar);
    member.role_card = update.role_card.or(member.role_card);
    Ok(Decision::saved(Reply::Member(Arc::new(member.clone())), member))
}

pub fn remove(context: &mut Context<'_>, actor: Actor, id: MemberId) -> Outcome {
    let target = access::colleague(context.state, actor, id)?;
    let by = access::member(context.state, actor)?;
    access::may_remove_member(by, target)?;
    let mut events: Vec<_> =
        context.state.channels_of(id).filter_map(|room| room.members.get(&id)).cloned().map(Event::Left).collect();
    events.extend(credentials::all_ended(context.state, target));
    events.extend(telegram::codes_ended(context.state, id));
    events.push(Event::Saved(gone(target, context.now).into()));
    Ok(Decision::new(Reply::Done, events))
}

/// What stays of a member who left: the name on what they said.
pub(super) fn gone(member: &Member, now: Millis) -> Member {
    Member {
        removed: true,
        email: None,
        role_card: None,
        secrets: Secrets { password_hash: None, key_hash: None, ..member.secrets.ended(now) },
        ..member.clone()
    }
}

pub fn replace_key(context: &mut Context<'_>, actor: Actor, id: MemberId, key_hash: KeyHash) -> Outcome {
    let target = access::colleague(context.state, actor, id)?;
    let by = access::member(context.state, actor)?;
    access::may_replace_key(by, target)?;
    let new_key = |secrets| Secrets { key_hash: Some(key_hash), key_made_at: context.now, ..secrets };
    // An agent is its key: whoever replaces it wants nobody else to be the agent, by whatever they have.
    let (secrets, mut events) = if target.is_agent() {
        let secrets = Secrets { password_hash: None, ..target.secrets.ended(context.now) };
        (new_key(secrets), credentials::all_ended(context.state, target))
    } else {
        (new_key(target.secrets.clone()), Vec::new())
    };
    let member = Member { secrets, ..(**target).clone() };
    events.push(Event::Saved(member.clone().into()));
    Ok(Decision::new(Reply::Member(Arc::new(member)), events))
}

pub fn issue_provision_token(
    context: &mut Context<'_>,
    actor: Actor,
    workspace: WorkspaceId,
    hash: KeyHash,
) -> Outcome {
    let made_by = access::admin(context.state, actor, workspace)?.id;
    let token = Token {
        id: TokenId(context.new_id()),
        workspace,
        made_by,
        purpose: TokenPurpose::Provision(hash),
        expires_at: context.now + credentials::PROVISION_TOKEN_LIFE,
    };
    Ok(Decision::saved(Reply::Token(token.clone()), token))
}

pub fn register_agent(context: &mut Context<'_>, register: RegisterAgent) -> Outcome {
    let token = access::open_provision(context.state, register.workspace, &register.provision_hash, context.now)?;
    let made_by = token.made_by;
    quotas::one_more_member(context, register.workspace)?;
    let name = free_name(context, register.workspace, &register.name, None)?;
    let member = Member {
        role_card: Some(register.role_card),
        runtime: Some(register.runtime),
        secrets: Secrets { key_hash: Some(register.key_hash), key_made_at: context.now, ..Secrets::default() },
        ..new_member(context, register.workspace, MemberKind::Agent, name, Some(made_by))
    };
    Ok(Decision::saved(Reply::Member(Arc::new(member.clone())), member))
}

fn member_name(name: &str) -> Result<String, Refusal> {
    let name = visible_name(name, "name", MAX_NAME_CHARS)?;
    if name.starts_with('@') || name.starts_with('#') {
        return Err(Refusal::bad_request("name may not start with `@` or `#`"));
    }
    Ok(name)
}

pub(super) fn free_name(
    context: &Context<'_>,
    workspace: WorkspaceId,
    name: &str,
    except: Option<MemberId>,
) -> Result<String, Refusal> {
    let name = member_name(name)?;
    let is_taken = context.state.members_alike(workspace, &name).any(|other| Some(other.id) != except);
    if is_taken { Err(refusal::NAME_TAKEN) } else { Ok(name) }
}

pub(super) fn free_email(context: &Context<'_>, email: &str, except: Option<MemberId>) -> Result<String, Refusal> {
    let email = short_text(email, "email", 254)?;
    let well_formed = email.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
    if !well_formed || email.contains(char::is_whitespace) {
        return Err(Refusal::bad_request("email is not an address"));
    }
    match context.state.member_by_email(&email) {
        Some(other) if Some(other.id) != except => Err(refusal::EMAIL_EXISTS),
        _ => Ok(email),
    }
}

/// What is shown beside a name; nobody is shown as somebody else.
fn free_nick(
    context: &Context<'_>,
    workspace: WorkspaceId,
    nick: Option<String>,
    except: Option<MemberId>,
) -> Result<Option<String>, Refusal> {
    let Some(nick) = nick.filter(|nick| !nick.trim().is_empty()) else { return Ok(None) };
    let nick = visible_name(&nick, "nick", MAX_NAME_CHARS)?;
    let is_taken = context.state.members_alike(workspace, &nick).any(|other| Some(other.id) != except);
    if is_taken { Err(refusal::NAME_TAKEN) } else { Ok(Some(nick)) }
}

fn slugify(name: &str) -> String {
    let dashed: String = name
        .to_lowercase()
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '-' })
        .collect();
    let parts: Vec<_> = dashed.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "workspace".to_owned() } else { parts.join("-") }
}

fn free_slug(context: &Context<'_>, name: &str) -> String {
    let base = slugify(name);
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    let mut candidates = std::iter::once(base.clone()).chain(numbered);
    candidates.find(|slug| !context.state.slug_taken(slug)).unwrap_or(base)
}
