//! The objects only this surface shows; the others are the Lark door's own.

use axum::http::StatusCode;
use axum::response::Response;
use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::{Refusal, State, moment, refusal};
use folkmoot_doors::lark::objects::{ChannelObject, DaemonAgentObject, MemberObject, MessageObject, schemas};
use folkmoot_hub::Hub;
use serde::Serialize;
use utoipa::ToSchema;

use super::error::ApiError;
use super::extract::Caller;
use super::reply;
use super::rights::MemberView;

/// A message as JSON.
pub fn message(hub: &Hub, status: StatusCode, message: &Message) -> Response {
    let name = hub.with_state(|state| state.name_of(message.sender).to_owned());
    reply::json(status, &named(message, &name, &State::default()))
}

/// Messages as a JSON array. Only the names are taken under the lock; a long page is written outside it.
pub fn messages(hub: &Hub, messages: &[Message]) -> Response {
    let names = names_of(hub, messages);
    let nobody = State::default();
    let objects: Vec<_> = messages.iter().zip(&names).map(|(message, name)| named(message, name, &nobody)).collect();
    reply::json(StatusCode::OK, &objects)
}

pub fn names_of(hub: &Hub, messages: &[Message]) -> Vec<String> {
    hub.with_state(|state| messages.iter().map(|message| state.name_of(message.sender).to_owned()).collect())
}

/// A message with the name of its sender given, and a state that need not know it.
pub fn named<'a>(message: &'a Message, name: &'a str, nobody: &'a State) -> MessageObject<'a> {
    MessageObject { sender_name: name, ..MessageObject::new(message, nobody) }
}

/// A channel as the caller sees it.
pub fn channel(caller: &Caller, status: StatusCode, id: ChannelId) -> Result<Response, ApiError> {
    caller.query(|state, actor| {
        let room = state.channel(id).ok_or(refusal::CHANNEL_NOT_FOUND)?;
        Ok(reply::json(status, &ChannelObject::new(room, actor.member)))
    })
}

pub fn member(caller: &Caller, id: MemberId) -> Result<Response, ApiError> {
    caller.query(|state, actor| {
        let member = state.member(id).ok_or(refusal::MEMBER_NOT_FOUND)?;
        Ok(reply::json(StatusCode::OK, &MemberView::new(member, actor.member, state)))
    })
}

/// A member that was just added, with its key, this once.
#[derive(Serialize, ToSchema)]
pub struct NewMember<'a> {
    #[serde(flatten)]
    pub member: MemberObject<'a>,
    #[schema(value_type = String)]
    pub member_id: MemberId,
    /// Only for an agent, and only in this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, example = "lr_…")]
    pub api_key: Option<&'a str>,
}

impl<'a> NewMember<'a> {
    pub fn new(member: &'a Member, api_key: Option<&'a str>, state: &State) -> Self {
        Self { member: MemberObject::new(member, state), member_id: member.id, api_key }
    }
}

/// An agent in a list.
#[derive(Serialize, ToSchema)]
#[schema(as = Agent)]
pub struct AgentObject<'a> {
    #[schema(value_type = String)]
    pub id: MemberId,
    pub name: &'a str,
    #[serde(rename = "type")]
    #[schema(value_type = schemas::MemberKind)]
    pub kind: MemberKind,
    #[schema(value_type = schemas::Presence)]
    pub status: Presence,
    pub online: bool,
    #[schema(value_type = String)]
    pub workspace_id: WorkspaceId,
    /// The name of the workspace.
    pub workspace: &'a str,
    pub capabilities: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = schemas::Runtime, required = false)]
    pub runtime: Option<&'a Runtime>,
}

impl<'a> AgentObject<'a> {
    pub fn new(agent: &'a Member, state: &'a State) -> Self {
        let status = state.presence_of(agent.id);
        Self {
            id: agent.id,
            name: &agent.name,
            kind: agent.kind,
            status,
            online: status != Presence::Offline,
            workspace_id: agent.workspace,
            workspace: state.workspace(agent.workspace).map_or("", |workspace| &workspace.name),
            capabilities: agent.role_card.as_ref().map_or(&[], |card| &card.capabilities),
            runtime: agent.runtime.as_ref(),
        }
    }
}

/// What a member has not read yet.
#[derive(Serialize, ToSchema)]
pub struct Unread {
    /// Over all channels.
    pub count: u64,
    /// The channels with something unread.
    pub channels: Vec<UnreadChannel>,
}

#[derive(Serialize, ToSchema)]
pub struct UnreadChannel {
    #[schema(value_type = String)]
    pub channel_id: ChannelId,
    pub name: String,
    #[serde(rename = "type")]
    #[schema(value_type = schemas::ChannelKind)]
    pub kind: ChannelKind,
    pub unread_count: u64,
}

impl Unread {
    pub fn new(state: &State, member: MemberId) -> Self {
        let unread = |room: &folkmoot_core::state::Room| UnreadChannel {
            channel_id: room.channel.id,
            name: room.channel.name.clone(),
            kind: room.channel.kind,
            unread_count: state.unread(room.channel.id, member),
        };
        let channels = state.channels_of(member).map(unread).filter(|channel| channel.unread_count > 0);
        let channels: Vec<_> = channels.collect();
        Self { count: channels.iter().map(|channel| channel.unread_count).sum(), channels }
    }
}

/// A local process that carries agents.
#[derive(Serialize, ToSchema)]
#[schema(as = Daemon)]
pub struct DaemonObject {
    pub id: String,
    /// The machine, or the member whose connection it is.
    pub name: String,
    /// The member whose connection it is, or whose machine.
    #[schema(value_type = String)]
    pub member_id: MemberId,
    #[schema(example = "online")]
    pub status: &'static str,
    pub agent_count: usize,
    /// As text (`2026-01-31T12:00:00.000Z`): the terminal client reads nothing else here.
    #[schema(format = DateTime)]
    pub started_at: String,
    pub agents: Vec<DaemonAgentObject>,
}

impl DaemonObject {
    pub fn new(daemon: &Daemon, state: &State) -> Self {
        Self {
            id: daemon.id.clone(),
            name: state.name_of(daemon.member).to_owned(),
            member_id: state.machine_behind(daemon.member).map_or(daemon.member, |machine| machine.owner),
            status: "online",
            agent_count: daemon.agents.len(),
            started_at: moment::iso(daemon.started_at),
            agents: daemon.agents.iter().map(DaemonAgentObject::from).collect(),
        }
    }
}

pub const DAEMON_NOT_FOUND: Refusal = Refusal::new(folkmoot_core::Code::NotFound, "daemon not found");
