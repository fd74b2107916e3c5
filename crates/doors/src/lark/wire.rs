//! What a Lark client sends, in the document's order and words, with the document's limits.

use std::borrow::Cow;

use folkmoot_core::model::{ApprovalKind, ApprovalScope};
use folkmoot_core::run::{ActionPhase, FileChange, RunEnd};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::door::Limits;

pub const LIMITS: Limits = Limits { frame_bytes: 65_536, queued_frames: 256, subscriptions: 200 };

pub const AUTH_TIMEOUT_MS: i64 = 30_000;
pub const PING_INTERVAL_MS: i64 = 30_000;
pub const PONG_TIMEOUT_MS: i64 = 60_000;

/// The envelope as received. `v` and `ts` of incoming frames are not checked: real clients send all sorts.
#[derive(Deserialize)]
pub struct Envelope<'a> {
    /// Kept as it was written, to be given back as `reply_to`.
    #[serde(borrow, default)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct AuthLogin {
    pub token: String,
    /// Beyond the document: a daemon logs in for one agent that it carries.
    #[serde(default)]
    pub agent_id: Option<String>,
}

/// `channel.join`, `channel.leave`, `typing.start`, `typing.stop`, `agent.thinking`.
#[derive(Deserialize)]
pub struct ChannelRef {
    pub channel_id: String,
}

#[derive(Deserialize)]
pub struct AgentHello {
    /// The member's own name counts; this one is not read.
    #[serde(default)]
    pub name: Option<String>,
    pub role_card: RoleCard,
    #[serde(default)]
    pub runtime: Option<Runtime>,
}

#[derive(Deserialize)]
pub struct RoleCard {
    pub system_prompt: String,
    #[serde(default)]
    pub capabilities: Option<Vec<String>>,
}

#[derive(Deserialize)]
pub struct Runtime {
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub provider: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
}

#[derive(Deserialize)]
pub struct DaemonRegister {
    #[serde(default)]
    pub agents: Vec<DaemonAgent>,
}

#[derive(Deserialize)]
pub struct DaemonAgent {
    pub name: String,
    pub agent_id: String,
}

#[derive(Deserialize)]
pub struct MessageSend {
    pub channel_id: String,
    #[serde(default)]
    pub content: String,
    #[serde(default)]
    pub content_type: Option<ContentType>,
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
    #[serde(default)]
    pub thread_id: Option<String>,
    #[serde(default)]
    pub file_id: Option<String>,
    #[serde(default)]
    pub metadata: Option<Box<RawValue>>,
    /// Beyond the document: the wake that this answers.
    #[serde(default)]
    pub delivery_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentType {
    Text,
    Markdown,
    /// Some clients send what they leave out as an empty text.
    #[serde(rename = "")]
    Unset,
}

#[derive(Deserialize)]
pub struct MessageEdit {
    pub message_id: String,
    #[serde(default)]
    pub content: String,
}

#[derive(Deserialize)]
pub struct MessageDelete {
    pub message_id: String,
}

#[derive(Deserialize)]
pub struct ThreadReply {
    #[serde(default)]
    pub channel_id: String,
    #[serde(default)]
    pub parent_id: String,
    #[serde(default)]
    pub content: String,
    #[serde(default)]
    pub content_type: Option<ContentType>,
    #[serde(default)]
    pub metadata: Option<Box<RawValue>>,
    #[serde(default)]
    pub delivery_id: Option<String>,
    /// It goes on where the agent's last message had to end.
    #[serde(default)]
    pub more: Option<bool>,
}

#[derive(Deserialize)]
pub struct PresenceUpdate {
    pub status: folkmoot_core::model::Presence,
}

#[derive(Deserialize)]
pub struct CallOffer {
    #[serde(default)]
    pub callee_id: String,
    #[serde(rename = "type", default)]
    pub kind: String,
    #[serde(default)]
    pub sdp: String,
}

#[derive(Deserialize)]
pub struct CallAnswer {
    #[serde(default)]
    pub call_id: String,
    #[serde(default)]
    pub sdp: String,
}

#[derive(Deserialize)]
pub struct CallIce {
    #[serde(default)]
    pub call_id: String,
    #[serde(default)]
    pub target_id: Option<String>,
    /// A string in the document; browsers make it an object. Passed on as it came.
    pub candidate: Box<RawValue>,
}

#[derive(Deserialize)]
pub struct CallEnd {
    #[serde(default)]
    pub call_id: String,
}

#[derive(Deserialize)]
pub struct ApprovalRequest {
    #[serde(default)]
    pub channel_id: Option<String>,
    pub action: String,
    /// JSON as text in the document; an object is taken as well and kept as its text.
    #[serde(default)]
    pub payload: Option<Box<RawValue>>,
    /// Beyond the document: what makes two questions the same, the run they belong to, the message it began with.
    #[serde(default)]
    pub kind: ApprovalKind,
    #[serde(default)]
    pub fingerprint: Option<String>,
    #[serde(default)]
    pub run_id: Option<String>,
    #[serde(default)]
    pub message_id: Option<String>,
}

// Beyond the document: what real agents use.

#[derive(Deserialize, Default)]
pub struct InboxPoll {
    #[serde(default)]
    pub source_type: Option<String>,
    #[serde(default)]
    pub unread_only: Option<bool>,
    #[serde(default)]
    pub since: Option<i64>,
    #[serde(default)]
    pub limit: Option<usize>,
}

#[derive(Deserialize)]
pub struct InboxAck {
    pub item_id: String,
}

#[derive(Deserialize)]
pub struct DraftCreate {
    pub channel_id: String,
    #[serde(default)]
    pub content: String,
    #[serde(default)]
    pub thread_id: Option<String>,
}

#[derive(Deserialize)]
pub struct DraftRef {
    pub draft_id: String,
    /// `true`, or the version the agent has seen: either says "send it all the same".
    #[serde(default)]
    pub force_version: Option<serde_json::Value>,
}

#[derive(Deserialize)]
pub struct ReviewRequest {
    pub reviewer_id: String,
    #[serde(default)]
    pub subject: String,
    #[serde(default)]
    pub content: String,
    #[serde(default)]
    pub channel_id: Option<String>,
}

#[derive(Deserialize)]
pub struct ReviewResult {
    pub review_id: String,
    pub status: String,
    #[serde(default)]
    pub comment: Option<String>,
}

#[derive(Deserialize)]
pub struct WorkspaceUpdate {
    #[serde(default)]
    pub item_id: Option<String>,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    pub namespace: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
    #[serde(default)]
    pub tags: Option<Vec<String>>,
}

// Our own additions.

#[derive(Deserialize)]
pub struct ReactionChange {
    pub message_id: String,
    pub emoji: String,
}

#[derive(Deserialize)]
pub struct PinAdd {
    pub message_id: String,
    #[serde(default)]
    pub channel_id: Option<String>,
}

#[derive(Deserialize)]
pub struct PinRemove {
    pub pin_id: String,
}

#[derive(Deserialize)]
pub struct ChannelRead {
    pub channel_id: String,
    #[serde(default)]
    pub seq: Option<u64>,
}

#[derive(Deserialize)]
pub struct ApprovalUse {
    pub approval_id: String,
}

#[derive(Deserialize)]
pub struct ApprovalDecide {
    pub approval_id: String,
    pub approved: bool,
    #[serde(default)]
    pub scope: ApprovalScope,
    #[serde(default)]
    pub note: Option<String>,
}

#[derive(Deserialize)]
pub struct WakePass {
    pub delivery_id: String,
    #[serde(default)]
    pub why: Option<String>,
}

#[derive(Deserialize)]
pub struct WakeFail {
    pub delivery_id: String,
    #[serde(default)]
    pub why: String,
}

#[derive(Deserialize)]
pub struct WakeJoin {
    pub delivery_id: String,
    pub run_id: String,
}

/// One channel with a position, or several positions of the workspace at once.
#[derive(Deserialize)]
pub struct SyncResume {
    #[serde(default)]
    pub channel_id: Option<String>,
    #[serde(default)]
    pub after_seq: Option<u64>,
    #[serde(default)]
    pub positions: Option<std::collections::BTreeMap<String, u64>>,
}

// Runs.

#[derive(Deserialize)]
pub struct RunStart {
    pub delivery_id: String,
    pub engine: String,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub project: Option<String>,
    #[serde(default)]
    pub branch: Option<String>,
    #[serde(default)]
    pub machine: Option<String>,
    #[serde(default)]
    pub text: Option<String>,
}

#[derive(Deserialize)]
pub struct RunActionReport {
    pub run_id: String,
    pub id: String,
    pub kind: String,
    #[serde(default)]
    pub title: String,
    pub phase: ActionPhase,
    #[serde(default)]
    pub ok: Option<bool>,
    #[serde(default)]
    pub detail: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
pub struct RunProgress {
    pub run_id: String,
    pub text: String,
}

#[derive(Deserialize)]
pub struct RunSession {
    pub run_id: String,
    pub resume: String,
    #[serde(default)]
    pub resume_line: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
}

#[derive(Deserialize)]
pub struct RunChanges {
    pub run_id: String,
    pub changes: Vec<FileChange>,
    #[serde(default)]
    pub branch: Option<String>,
}

#[derive(Deserialize)]
pub struct RunComplete {
    pub run_id: String,
    pub state: RunEnd,
    #[serde(default)]
    pub answer: Option<String>,
    #[serde(default)]
    pub error: Option<String>,
    #[serde(default)]
    pub resume: Option<String>,
    #[serde(default)]
    pub resume_line: Option<String>,
    #[serde(default)]
    pub usage: Option<Box<RawValue>>,
    #[serde(default)]
    pub cost_usd: Option<f64>,
    #[serde(default)]
    pub model: Option<String>,
}

#[derive(Deserialize)]
pub struct RunRef {
    pub run_id: String,
}

/// `session.put`, and `session.forget`, which reads the first two.
#[derive(Deserialize)]
pub struct SessionPut {
    pub channel_id: String,
    pub thread_id: String,
    #[serde(default)]
    pub engine: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub resume: Option<String>,
}

/// On a daemon's connection any request may name the agent it is for.
#[derive(Deserialize, Default)]
pub struct OnBehalf<'a> {
    #[serde(borrow, default)]
    pub agent_id: Option<Cow<'a, str>>,
}
