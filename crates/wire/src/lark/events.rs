//! What a hub tells of its own accord, in the document's order and words.
//!
//! The hub's own objects (a run, a task, a delivery …) are written by its doors, which share them with REST; a type
//! that holds one takes it as a parameter. What our clients read of them stands here and in `wake`: [`Message`],
//! [`Run`], `WokenBy`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::answers::{Nothing, SyncDone};
use super::values::*;
use crate::{Id, Millis};

/// A message as our clients read it: `message.new` and `message.edit` of [`Frames::Plain`], and the object of REST.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = LiveMessage))]
pub struct Message {
    pub id: Id,
    pub channel_id: Id,
    pub sender_id: Id,
    #[serde(default)]
    pub sender_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<Id>,
    pub content: String,
    #[serde(default)]
    pub content_type: ContentType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<Id>,
    #[serde(rename = "type", default)]
    pub kind: String,
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub metadata: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Millis>,
    #[serde(default)]
    pub edit_count: u32,
    #[serde(default)]
    pub reply_count: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reactions: Vec<Reaction>,
    #[serde(default)]
    pub created_at: Millis,
    #[serde(default)]
    pub updated_at: Millis,
    /// The position of the event; none where nothing was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The position of the message itself, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_id: Option<Id>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub depth: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleted: bool,
    /// It shows how far a run is, and will be something else.
    #[serde(default, skip_serializing_if = "is_false")]
    pub progress: bool,
    /// It is being written; the final message has another id.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_id: Option<Id>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// `message.new` and `message.edit` with the message at the top, and again below `message` for the clients that look
/// for it there. At the top `seq` is the position of the event, which for an edit is not that of the message.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DoubleMessage<M> {
    pub message_id: Id,
    #[serde(flatten)]
    pub fields: M,
    pub message: M,
}

/// The same with the message once.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PlainMessage<M> {
    #[serde(flatten)]
    pub fields: M,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<u64>,
}

/// A live message as clients understand it that know only `message.new`, `message.edit` and `message.delete`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PartialMessage<'a> {
    pub id: Id,
    pub channel_id: Id,
    pub sender_id: Id,
    pub sender_name: &'a str,
    pub content: &'a str,
    pub content_type: ContentType,
    #[serde(rename = "type")]
    pub kind: &'a str,
    pub metadata: Nothing,
    pub partial: bool,
    pub final_id: Id,
    pub edit_count: u32,
    pub reply_count: u32,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// `message.delete`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MessageDeleted {
    pub id: Id,
    pub message_id: Id,
    pub channel_id: Id,
    #[serde(default)]
    pub thread_id: Option<Id>,
    pub seq: u64,
}

/// `message.delete` of a live message: it has no position, and says which message takes its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DraftGone {
    pub id: Id,
    pub message_id: Id,
    pub channel_id: Id,
    pub partial: bool,
    pub final_id: Id,
}

/// `reaction.add`, `reaction.remove`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Reacted<'a, R> {
    pub message_id: Id,
    pub channel_id: Id,
    pub member_id: Id,
    pub name: &'a str,
    pub emoji: &'a str,
    pub reactions: &'a [R],
    pub seq: u64,
}

/// `pin.add`, `pin.remove`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Pinned {
    pub id: Id,
    pub pin_id: Id,
    pub channel_id: Id,
    pub message_id: Id,
    pub pinned_by: Id,
    pub created_at: Millis,
    pub seq: u64,
}

/// `channel.joined`, `channel.left`, `typing.start`, `typing.stop`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MemberOfChannel<'a> {
    pub channel_id: Id,
    pub member_id: Id,
    pub name: Cow<'a, str>,
}

/// `member.left`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MemberLeft<'a> {
    pub member_id: Id,
    pub name: Cow<'a, str>,
}

/// `presence.update`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PresenceChanged {
    pub member_id: Id,
    pub status: Presence,
}

/// `channel.read`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChannelWasRead {
    pub channel_id: Id,
    pub seq: u64,
    pub unread_count: u64,
}

/// `task.assigned`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TaskAssigned<T> {
    pub task: T,
    pub message: String,
}

/// `task.delete`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TaskDeleted {
    pub id: Id,
    pub task_id: Id,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallRing<'a> {
    pub call_id: Id,
    pub caller_id: Id,
    pub caller_name: Cow<'a, str>,
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
}

/// `call.offer` as the callee gets it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallOffering<'a> {
    pub call_id: Id,
    pub caller_id: Id,
    #[serde(rename = "type")]
    pub kind: Cow<'a, str>,
    pub sdp: Cow<'a, str>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallAnswered<'a> {
    pub call_id: Id,
    pub sdp: Cow<'a, str>,
}

/// A candidate is passed on as it came, never read: not everything that is JSON by the letter can be.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallCandidate<'a> {
    pub call_id: Id,
    pub from_id: Id,
    #[cfg_attr(feature = "schema", schema(value_type = Value))]
    pub candidate: &'a RawValue,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CallEnded<'a> {
    pub call_id: Id,
    pub reason: Cow<'a, str>,
}

/// `run.action`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunActed<A> {
    pub run_id: Id,
    pub channel_id: Id,
    pub thread_id: Id,
    pub action: A,
}

/// `run.stop` as the agent gets it: somebody wants the run to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct StopAsked {
    pub run_id: Id,
    #[serde(default)]
    pub agent_id: Id,
    #[serde(default)]
    pub agent_name: String,
}

/// `sync.lagged`: how many frames were dropped, and after which position to resume each channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SyncLagged {
    pub dropped: u64,
    pub channels: Vec<SyncDone>,
}

/// A run as far as the agent that works on it needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub id: Id,
    #[serde(default)]
    pub channel_id: Id,
    #[serde(default)]
    pub thread_id: Id,
    #[serde(default)]
    pub trigger_id: Id,
    #[serde(default)]
    pub resume: Option<String>,
    #[serde(default)]
    pub stop_requested: bool,
}

/// `approval.result`, as far as whoever asked needs it; the whole question is in the frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalResult {
    pub id: Id,
}
