//! `agent.wake`: who is wanted, what for, and what was said before.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::values::ChannelKind;
use crate::{Id, Millis};

/// `agent.wake`, with the hub's task as `T`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct AgentWake<'a, T> {
    #[serde(default)]
    pub reason: Cow<'a, str>,
    #[serde(default)]
    pub agent_id: Option<Id>,
    pub agent_name: Cow<'a, str>,
    pub context: WakeContext<'a, T>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct WakeContext<'a, T> {
    #[serde(default)]
    pub channel: Option<WakeChannel<'a>>,
    #[serde(default)]
    pub recent_messages: Vec<RecentMessage<'a>>,
    #[serde(default)]
    pub thread: Option<WakeThread<'a>>,
    #[serde(default)]
    pub task: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<WakeDelivery>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<WakeSession<'a>>,
}

/// Nothing but the id where the channel is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WakeChannel<'a> {
    pub id: Id,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ChannelKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room_version: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WakeThread<'a> {
    pub id: Id,
    #[serde(default)]
    pub root: Option<RecentMessage<'a>>,
    #[serde(default)]
    pub reply_count: u32,
    #[serde(default)]
    pub messages: Vec<RecentMessage<'a>>,
}

/// A message as bundled with a wake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RecentMessage<'a> {
    pub id: Id,
    #[serde(default)]
    pub sender_id: Id,
    #[serde(default)]
    pub sender_name: Cow<'a, str>,
    #[serde(default)]
    pub content: Cow<'a, str>,
    #[serde(default)]
    pub created_at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<Id>,
    #[serde(default)]
    pub seq: u64,
}

/// What an agent needs in order to say what became of the wake.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WakeDelivery {
    pub id: Id,
    #[serde(default)]
    pub message_ids: Vec<Id>,
    #[serde(default)]
    pub thread_id: Option<Id>,
    #[serde(default)]
    pub sender_id: Id,
    #[serde(default)]
    pub root_id: Id,
    #[serde(default)]
    pub depth: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Id>,
}

/// What the thread is continued with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WakeSession<'a> {
    #[serde(default)]
    pub engine: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Cow<'a, str>>,
}

/// The task of a wake, as far as the agent needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WokenBy {
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub description: String,
}
