//! What waits for somebody: held replies, reviews, tasks, questions to people.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::ids::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DraftStatus {
    Held,
    Sent,
    Expired,
    Cancelled,
}

/// A reply that is held back and knows the room version it was written against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Draft {
    pub id: DraftId,
    pub agent: MemberId,
    pub channel: ChannelId,
    pub thread: Option<MessageId>,
    pub content: String,
    pub room_version: u64,
    pub status: DraftStatus,
    pub created_at: Millis,
    pub expires_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    pub id: ReviewId,
    pub workspace: WorkspaceId,
    pub channel: Option<ChannelId>,
    pub requester: MemberId,
    pub reviewer: MemberId,
    pub subject: String,
    pub content: String,
    /// `pending` until the reviewer decides; then the reviewer's word for it.
    pub status: String,
    pub comment: Option<String>,
    pub created_at: Millis,
    pub decided_at: Option<Millis>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    Todo,
    InProgress,
    Review,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    Low,
    #[default]
    Medium,
    High,
    Urgent,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: TaskId,
    pub workspace: WorkspaceId,
    pub channel: Option<ChannelId>,
    pub message: Option<MessageId>,
    pub title: String,
    pub description: String,
    pub status: TaskStatus,
    pub priority: Priority,
    pub assigned_to: Option<MemberId>,
    pub created_by: MemberId,
    pub created_at: Millis,
    pub updated_at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalStatus {
    Pending,
    Approved,
    Denied,
}

/// What kind of question it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalKind {
    /// Something an agent wants to do.
    #[default]
    Action,
    /// A permission that an engine asks for in the middle of a run.
    Permission,
    /// Agents went on among themselves for too long: may they continue?
    #[serde(rename = "brake")]
    LoopGuard,
}

/// How far a yes or no reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalScope {
    #[default]
    Once,
    /// The same question of the same run is not asked again.
    Run,
}

/// A durable question to people, decided once, from any door.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    pub id: ApprovalId,
    pub workspace: WorkspaceId,
    pub channel: Option<ChannelId>,
    pub agent: MemberId,
    pub action: String,
    pub payload: String,
    pub status: ApprovalStatus,
    pub reviewer: Option<MemberId>,
    pub note: Option<String>,
    pub created_at: Millis,
    pub reviewed_at: Option<Millis>,
    #[serde(default)]
    pub kind: ApprovalKind,
    /// Stands for everything that matters of the action: a question with the same hash is the same question.
    #[serde(default)]
    pub hash: Option<String>,
    #[serde(default)]
    pub run: Option<RunId>,
    /// The person whose message the work began with.
    #[serde(default)]
    pub asker: Option<MemberId>,
    #[serde(default)]
    pub scope: ApprovalScope,
    #[serde(default)]
    pub expires_at: Millis,
    /// When the agent took the decision up; a decision counts once.
    #[serde(default)]
    pub used_at: Option<Millis>,
}
