//! What a hub answers to a request, in the document's order and words.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::requests::DaemonAgent;
use super::values::*;
use super::wake::RecentMessage;
use crate::{Id, Millis};

/// The answer that does not come; whatever a hub says instead is read as this.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Nothing {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuthSuccess {
    pub member_id: Id,
    pub workspace_id: Id,
    #[serde(default)]
    pub name: String,
    #[serde(rename = "type", default = "human")]
    pub kind: MemberKind,
}

fn human() -> MemberKind {
    MemberKind::Human
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AuthFail<'a> {
    #[serde(default)]
    pub error: Cow<'a, str>,
}

/// `error`: the sentence, and a stable code beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Refused<'a> {
    #[serde(default)]
    pub error: Cow<'a, str>,
    #[serde(default)]
    pub code: Cow<'a, str>,
    /// The sentence with what it is about, where that says more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Cow<'a, str>>,
}

/// `channel.join`, `channel.leave`, `channel.delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChannelRef {
    pub channel_id: Id,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AgentWelcome<'a> {
    #[serde(default)]
    pub agent_id: Id,
    #[serde(default)]
    pub status: Cow<'a, str>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DaemonRegistered {
    pub daemon_id: String,
    pub agents: Vec<DaemonAgent>,
    /// Those it may not carry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<NotCarried>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NotCarried {
    pub agent_id: Id,
    pub error: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct MessageAck {
    pub message_id: Id,
    /// The same; some clients read one, some the other, and some servers send only one.
    pub id: Id,
    pub channel_id: Id,
    pub seq: u64,
    pub created_at: Millis,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallOffered<S = String> {
    pub call_id: Id,
    pub status: S,
}

/// What became of a question: the note only when it is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ApprovalAnswer {
    pub id: Id,
    pub status: ApprovalStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_note: Option<Option<String>>,
}

impl ApprovalAnswer {
    pub fn note(&self) -> Option<&str> {
        self.review_note.as_ref()?.as_deref()
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct InboxAcked<'a> {
    pub item_id: Id,
    pub status: Cow<'a, str>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DraftAck {
    pub draft_id: Id,
    pub room_version: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DraftResult<'a> {
    pub draft_id: Id,
    pub valid: bool,
    pub current_version: u64,
    pub draft_version: u64,
    pub version_delta: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_messages: Vec<RecentMessage<'a>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DraftSent<'a> {
    pub message_id: Id,
    pub draft_id: Id,
    pub status: Cow<'a, str>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ReviewAnswer {
    pub review_id: Id,
    pub status: String,
}

/// `wake.pass`, `wake.fail`, `wake.join`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DeliveryAnswer<D> {
    pub delivery: D,
}

/// The answer to `run.start`; `resumed` when the run was begun before.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunStarted<R> {
    pub run: R,
    #[serde(default)]
    pub resumed: bool,
}

/// A run as it is now: the answers to `run.complete` and `run.stop`, and `run.started`, `run.updated`, `run.completed`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunCompleted<R> {
    pub run: R,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunRef {
    pub run_id: Id,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SessionAnswer<S> {
    pub session: S,
}

/// `session.forget`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ThreadRef {
    pub channel_id: Id,
    pub thread_id: Id,
}

/// `sync.done`, and `sync.reload` where too much was missed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SyncDone {
    pub channel_id: Id,
    pub seq: u64,
}
