//! Who may do and see what. Every command and every read, from every door, asks here.
//!
//! A refusal never tells a stranger whether the thing exists: what may not be seen is "not found".

use std::sync::Arc;

use crate::Millis;
use crate::delivery::Delivery;
use crate::ids::*;
use crate::model::*;
use crate::refusal::{self, Refusal};
use crate::run::Run;
use crate::state::{Room, State};

mod carrying;
mod members;
mod pools;

pub use carrying::*;
pub use members::*;
pub use pools::*;

/// Who asks. The member was proven by the door (token, key, password) and never comes from the request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor {
    pub member: MemberId,
    pub connection: Option<ConnectionId>,
    pub door: Door,
    /// A daemon speaks for the agents it carries.
    pub on_behalf: Option<MemberId>,
}

impl Actor {
    pub fn new(member: MemberId, door: Door) -> Self {
        Self { member, connection: None, door, on_behalf: None }
    }

    pub fn nobody(door: Door) -> Self {
        Self::new(MemberId::NONE, door)
    }

    pub fn connected(member: MemberId, door: Door, connection: ConnectionId) -> Self {
        Self { connection: Some(connection), ..Self::new(member, door) }
    }

    /// The hub itself, for what no member may do. No door can be this: doors only know proven members.
    pub fn hub(door: Door) -> Self {
        Self::new(HUB, door)
    }

    /// The member this actor acts as; a daemon may act only as an agent its own connection carries.
    pub fn resolve(self, state: &State) -> Result<Self, Refusal> {
        let Some(agent) = self.on_behalf else { return Ok(self) };
        let carried = self.connection.is_some_and(|connection| state.carrier_of(agent) == Some(connection));
        if agent == self.member || carried && speaks_for(state, self.member, agent).is_ok() {
            return Ok(Self { member: agent, on_behalf: None, ..self });
        }
        Err(refusal::NOT_AUTHORIZED)
    }
}

/// Nobody's id: ids begin with the time they were made.
const HUB: MemberId = MemberId(u128::MAX);

/// Only the hub itself.
pub fn hub(actor: Actor) -> Result<(), Refusal> {
    if actor.member == HUB { Ok(()) } else { Err(refusal::NOT_AUTHORIZED) }
}

/// Every rule begins here, so a machine, which is no member, may do nothing but what asks for a [`carrier`].
pub fn member(state: &State, actor: Actor) -> Result<&Arc<Member>, Refusal> {
    state.member(actor.member).ok_or_else(|| match state.machine_behind(actor.member) {
        Some(_) => refusal::MACHINES_ONLY_CARRY,
        None => refusal::NOT_AUTHENTICATED,
    })
}

/// The actor as a person of this workspace: what makes keys that stand for people is not for agents.
pub fn person(state: &State, actor: Actor, workspace: WorkspaceId) -> Result<&Arc<Member>, Refusal> {
    let member = workspace_member(state, actor, workspace)?;
    if member.is_agent() { Err(refusal::PEOPLE_ONLY) } else { Ok(member) }
}

pub fn agent(state: &State, actor: Actor) -> Result<&Arc<Member>, Refusal> {
    member(state, actor)?;
    state.member(actor.member).filter(|member| member.is_agent()).ok_or(refusal::NOT_AUTHORIZED)
}

/// The actor as a member of this workspace.
pub fn workspace_member(state: &State, actor: Actor, workspace: WorkspaceId) -> Result<&Arc<Member>, Refusal> {
    let member = member(state, actor)?;
    if member.workspace == workspace && state.workspace(workspace).is_some() {
        return Ok(member);
    }
    Err(refusal::WORKSPACE_NOT_FOUND)
}

pub fn admin(state: &State, actor: Actor, workspace: WorkspaceId) -> Result<&Arc<Member>, Refusal> {
    let member = workspace_member(state, actor, workspace)?;
    if member.role >= Role::Admin { Ok(member) } else { Err(refusal::ADMINS_ONLY) }
}

/// Only people bring people in: an agent that could would make itself somebody who decides.
pub fn brings_people_in(member: &Member) -> Result<(), Refusal> {
    if member.is_agent() { Err(refusal::PEOPLE_BRING_PEOPLE) } else { Ok(()) }
}

/// An invitation that can still be taken up: it ends with its time, with its first use, and with the rights of who gave it.
pub fn open_invite<'a>(state: &'a State, code_hash: &KeyHash, now: Millis) -> Result<&'a Invite, Refusal> {
    let invite = state.invite_by_code(code_hash).filter(|invite| invite.expires_at > now);
    let still_given = |invite: &&Invite| {
        state.member(invite.made_by).is_some_and(|by| by.role >= Role::Admin && brings_people_in(by).is_ok())
    };
    invite.filter(still_given).ok_or(refusal::INVITE_OVER)
}

/// A token with which agents may still add themselves: it ends with its time, and with the rights of who gave it.
pub fn open_provision<'a>(
    state: &'a State,
    workspace: WorkspaceId,
    hash: &KeyHash,
    now: Millis,
) -> Result<&'a Token, Refusal> {
    let token = state.provision_token(workspace, hash).filter(|token| token.expires_at > now);
    let still_given = |token: &&Token| state.member(token.made_by).is_some_and(|by| by.role >= Role::Admin);
    token.filter(still_given).ok_or(refusal::INVALID_CREDENTIALS)
}

/// What a signed token says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionToken {
    pub jti: String,
    /// What the tokens of one session have in common.
    pub session: String,
    /// The generation of secrets it was made under; tokens of earlier versions have none.
    pub generation: Option<u64>,
    pub issued_at: Millis,
}

/// Whether a token still proves its member: neither it nor its session was ended, and everything before was not either.
///
/// What ended is told by its generation, since clocks can be wrong: a token made while the clock was ahead is not younger
/// than a password that was changed since. A session that was kept through such a change counts by its record.
pub fn token_counts(state: &State, member: &Member, token: &SessionToken, now: Millis) -> bool {
    if state.is_revoked(&token.jti) || state.is_revoked(&token.session) {
        return false;
    }
    let secrets = &member.secrets;
    match token.generation {
        Some(generation) if generation == secrets.generation => true,
        Some(_) => {
            let kept = state.session(member.id, &token.session);
            kept.is_some_and(|(_, signed_in)| signed_in.generation == secrets.generation)
        }
        // Made by an earlier version, so before anything that this one ended.
        None if secrets.generation > 0 => false,
        None => secrets.valid_after == 0 || (secrets.valid_after..=now).contains(&token.issued_at),
    }
}

/// A code that a Telegram account may still show; the account that showed it may say so again.
pub fn telegram_offer<'a>(
    state: &'a State,
    code_hash: &KeyHash,
    user: i64,
    now: Millis,
) -> Result<&'a TelegramLink, Refusal> {
    let open = |link: &&TelegramLink| match &link.account {
        None => link.expires_at > now,
        Some(account) => account.user == user,
    };
    let offer = state.telegram_links().find(|link| link.code_hash == *code_hash).filter(open);
    offer.filter(|link| state.member(link.member).is_some()).ok_or(refusal::TELEGRAM_CODE_OVER)
}

/// The member for whom a Telegram account speaks in a workspace.
pub fn telegram_member(state: &State, user: i64, workspace: WorkspaceId) -> Result<MemberId, Refusal> {
    let linked = |link: &&TelegramLink| link.account.as_ref().is_some_and(|account| account.user == user);
    let link = state.telegram_links().filter(linked).find(|link| link.workspace == workspace);
    link.and_then(|link| state.member(link.member)).map(|member| member.id).ok_or(refusal::TELEGRAM_NOT_LINKED)
}

/// The Telegram accounts whose members see a question and may decide it.
pub fn telegram_deciders<'a>(state: &'a State, approval: &'a Approval) -> impl Iterator<Item = &'a TelegramAccount> {
    let may = |link: &&TelegramLink| {
        state.member(link.member).is_some_and(|member| {
            may_see_within(state, member, approval.workspace, approval.channel)
                && may_decide(state, member, approval).is_ok()
        })
    };
    state.telegram_links().filter(may).filter_map(|link| link.account.as_ref())
}

/// Another member of the actor's own workspace.
pub fn colleague(state: &State, actor: Actor, id: MemberId) -> Result<&Arc<Member>, Refusal> {
    let workspace = member(state, actor)?.workspace;
    state.member(id).filter(|other| other.workspace == workspace).ok_or(refusal::MEMBER_NOT_FOUND)
}

pub fn may_read(state: &State, member: &Member, room: &Room) -> bool {
    let inside = state.membership(room.channel.id, member.id).is_some();
    inside || (room.channel.kind.is_open() && room.channel.workspace == member.workspace)
}

/// A channel the actor may read: one it is in, or an open one of its workspace.
pub fn room_to_read(state: &State, actor: Actor, channel: ChannelId) -> Result<&Room, Refusal> {
    let member = member(state, actor)?;
    state.channel(channel).filter(|room| may_read(state, member, room)).ok_or(refusal::CHANNEL_NOT_FOUND)
}

/// A channel the actor is in. Unknown and closed channels answer alike.
pub fn room_inside(state: &State, actor: Actor, channel: ChannelId) -> Result<&Room, Refusal> {
    let member = member(state, actor)?;
    let room = state.channel(channel).ok_or(refusal::NOT_CHANNEL_MEMBER)?;
    if room.members.contains_key(&member.id) { Ok(room) } else { Err(refusal::NOT_CHANNEL_MEMBER) }
}

/// A channel the actor is in and that still takes messages.
pub fn room_to_speak(state: &State, actor: Actor, channel: ChannelId) -> Result<&Room, Refusal> {
    let room = room_inside(state, actor, channel)?;
    if room.channel.archived { Err(refusal::CHANNEL_ARCHIVED) } else { Ok(room) }
}

/// A channel the actor may rename, archive or remove: its creator may, and the workspace's admins where they may see it.
pub fn room_to_manage(state: &State, actor: Actor, channel: ChannelId) -> Result<&Room, Refusal> {
    let room = room_to_read(state, actor, channel)?;
    let member = member(state, actor)?;
    if room.channel.created_by == member.id || member.role >= Role::Admin {
        return Ok(room);
    }
    Err(refusal::ADMINS_ONLY)
}

/// Whether a thing that belongs to a channel (or to none) may be seen.
pub fn may_see_within(state: &State, member: &Member, workspace: WorkspaceId, channel: Option<ChannelId>) -> bool {
    member.workspace == workspace
        && match channel {
            None => true,
            Some(channel) => state.channel(channel).is_some_and(|room| may_read(state, member, room)),
        }
}

/// Those a review is between always see it; others as far as they see its channel.
pub fn may_see_review(state: &State, member: &Member, review: &Review) -> bool {
    let takes_part = review.workspace == member.workspace && [review.requester, review.reviewer].contains(&member.id);
    takes_part || may_see_within(state, member, review.workspace, review.channel)
}

/// Whether its member may still be told of it: what a channel said is not shown to somebody who can no longer read it.
pub fn may_see_notification(state: &State, notification: &Notification) -> bool {
    let Some(channel) = notification.channel else { return true };
    let member = state.member(notification.member);
    member.is_some_and(|member| may_see_within(state, member, member.workspace, Some(channel)))
}

/// A notification as it is to be shown now, given the message that it is about: what that says now, nothing once it was
/// deleted. None when it is not to be shown.
pub fn notification_now(state: &State, notification: Notification, message: Option<&Message>) -> Option<Notification> {
    if !may_see_notification(state, &notification) {
        return None;
    }
    match message.filter(|_| notification.is_quote()) {
        Some(message) => Some(Notification { body: message.excerpt(), ..notification }),
        None => Some(notification),
    }
}

pub fn may_see_message(state: &State, actor: Actor, message: &Message) -> bool {
    room_to_read(state, actor, message.channel).is_ok()
}

/// A file is its uploader's until it has a channel; then also that of the channel's readers. A picture of its uploader is
/// for everybody.
pub fn may_see_file(state: &State, member: &Member, file: &File) -> bool {
    if file.workspace != member.workspace {
        return false;
    }
    let shown_in = |channel: &ChannelId| match file.restricted {
        true => state.membership(*channel, member.id).is_some(),
        false => may_see_within(state, member, file.workspace, Some(*channel)),
    };
    let is_avatar = || state.member(file.uploaded_by).is_some_and(|uploader| uploader.avatar == Some(file.id));
    file.uploaded_by == member.id || file.channel.iter().chain(&file.also_in).any(shown_in) || is_avatar()
}

/// The agent's own things (inbox, memory, drafts) are nobody else's.
pub fn own(state: &State, actor: Actor, owner: MemberId) -> Result<&Arc<Member>, Refusal> {
    let member = member(state, actor)?;
    if member.id == owner { Ok(member) } else { Err(refusal::NOT_AUTHORIZED) }
}

/// Where the people of this machine are: whoever set the hub up owns it.
pub fn oldest_workspace(state: &State) -> Option<WorkspaceId> {
    state.workspaces().map(|workspace| workspace.id).min()
}

/// Who runs the hub: an owner or admin of its first workspace. Where anybody may register, everybody owns some
/// workspace, and that alone must not let them fill the operator's disk.
pub fn operator(state: &State, actor: Actor) -> Result<(), Refusal> {
    let own = member(state, actor)?.workspace;
    admin(state, actor, own)?;
    if oldest_workspace(state) == Some(own) { Ok(()) } else { Err(refusal::NOT_THE_OPERATOR) }
}

/// Who may have engines work on the hub's own machine: the operator, and no agent, not even one that is an admin.
pub fn host(state: &State, actor: Actor) -> Result<&Arc<Member>, Refusal> {
    operator(state, actor)?;
    let member = member(state, actor)?;
    if member.is_agent() { Err(refusal::PEOPLE_ONLY) } else { Ok(member) }
}

/// Who a member's sentence may be handed to: local clients and agents that say what they can do, of the member's own
/// workspace, if they can be reached now.
pub fn takers<'a>(state: &'a State, speaker: &'a Member) -> impl Iterator<Item = &'a Arc<Member>> {
    let reachable = move |client: &&Arc<Member>| state.presence_of(client.id) != Presence::Offline;
    state.able_agents(speaker.workspace).filter(move |client| client.id != speaker.id).filter(reachable)
}

/// Who decides a question of an agent, of those who see it: who answers for the agent, who caused the work, and admins; whether
/// agents may go on among themselves, every person of the channel. Never an agent, nor anybody whom an agent brought in.
pub fn may_decide(state: &State, member: &Member, approval: &Approval) -> Result<(), Refusal> {
    if approval.agent == member.id {
        return Err(refusal::OWN_APPROVAL);
    }
    if member.is_agent() || state.is_made_by_agent(member) {
        return Err(refusal::NOT_AUTHORIZED);
    }
    if approval.kind == ApprovalKind::LoopGuard {
        let inside = approval.channel.is_some_and(|channel| state.membership(channel, member.id).is_some());
        return if inside { Ok(()) } else { Err(refusal::NOT_IN_THE_CHANNEL) };
    }
    if is_concerned(state, member, approval) { Ok(()) } else { Err(refusal::NOT_A_DECIDER) }
}

/// Whom a question of an agent concerns, one line each.
fn is_concerned(state: &State, member: &Member, approval: &Approval) -> bool {
    let caused_it = approval.asker == Some(member.id);
    let oversees = member.role >= Role::Admin;
    caused_it || oversees || answers_for(state, member, approval.agent)
}

fn answers_for(state: &State, member: &Member, agent: MemberId) -> bool {
    state.member(agent).is_some_and(|agent| agent.created_by == Some(member.id))
}

/// Whoever caused a wake takes it back, and those who may take back any.
pub fn may_cancel_delivery(member: &Member, delivery: &Delivery) -> Result<(), Refusal> {
    if delivery.sender == member.id { Ok(()) } else { may_cancel_any_delivery(member) }
}

pub fn may_cancel_any_delivery(member: &Member) -> Result<(), Refusal> {
    if member.role >= Role::Admin { Ok(()) } else { Err(refusal::NOT_AUTHORIZED) }
}

/// A run is seen by whoever may read the channel it works in.
pub fn may_see_run(state: &State, member: &Member, run: &Run) -> bool {
    may_see_within(state, member, run.workspace, Some(run.channel))
}

/// People stop a run: who asked, who answers for the agent, admins where they see it, and everybody who may speak in the
/// channel. For strangers it does not exist.
pub fn may_stop_run(state: &State, member: &Member, run: &Run) -> Result<(), Refusal> {
    let own_workspace = member.workspace == run.workspace;
    let sees = may_see_run(state, member, run);
    let concerned = run.asker == Some(member.id) || answers_for(state, member, run.agent);
    let oversees = sees && member.role >= Role::Admin;
    let speaks = room_to_speak(state, Actor::new(member.id, Door::Rest), run.channel).is_ok();
    if own_workspace && !member.is_agent() && (concerned || oversees || speaks) {
        return Ok(());
    }
    Err(if sees { refusal::NOT_A_STOPPER } else { refusal::RUN_NOT_FOUND })
}
