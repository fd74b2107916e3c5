//! What the larger commands carry.

use serde_json::value::RawValue;

use crate::Millis;
use crate::hosting::Policy;
use crate::ids::*;
use crate::model::*;
use crate::route::{Choice, InputMethod};

/// Why no answer comes from a client any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnd {
    Timeout,
    Disconnected,
}

/// A sentence for the router.
#[derive(Clone, Debug)]
pub struct Say {
    pub text: String,
    pub input: InputMethod,
    pub confidence: Option<f64>,
    pub source: Option<MessageId>,
    pub choice: Choice,
    /// How long a client may take to answer.
    pub timeout: Millis,
}

/// Who may create an account of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    First,
    Open,
    Closed,
}

/// What speaks for somebody who wants the first account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The request comes from this machine itself, or shows the code that was printed at the start.
    Proven,
    /// It comes from elsewhere, without the code.
    Unproven,
}

/// A session that begins, or goes on with another token.
#[derive(Clone, Debug)]
pub struct SignIn {
    pub session: String,
    /// Of the secrets that were proven.
    pub generation: u64,
    pub address: String,
    pub device: String,
    pub expires_at: Millis,
}

#[derive(Clone, Debug)]
pub struct Register {
    pub policy: Registration,
    pub standing: Standing,
    pub email: String,
    pub name: String,
    pub workspace_name: Option<String>,
    pub password_hash: String,
}

#[derive(Clone, Debug)]
pub struct CreateInvite {
    pub workspace: WorkspaceId,
    pub role: Option<Role>,
    /// Where the newcomer will be a member; none means every open channel there is then.
    pub channels: Vec<ChannelId>,
    pub code_hash: KeyHash,
}

#[derive(Clone, Debug)]
pub struct Join {
    pub code_hash: KeyHash,
    pub name: String,
    pub email: Option<String>,
    pub password_hash: String,
}

#[derive(Clone, Debug)]
pub struct AddMember {
    pub workspace: WorkspaceId,
    pub kind: MemberKind,
    pub role: Option<Role>,
    pub name: String,
    pub nick: Option<String>,
    pub email: Option<String>,
    pub password_hash: Option<String>,
    pub key_hash: Option<KeyHash>,
    pub role_card: Option<RoleCard>,
    pub runtime: Option<Runtime>,
}

#[derive(Clone, Debug, Default)]
pub struct UpdateMember {
    pub member: MemberId,
    pub name: Option<String>,
    pub nick: Option<String>,
    pub email: Option<String>,
    pub role: Option<Role>,
    pub avatar: Option<FileId>,
    pub role_card: Option<RoleCard>,
}

/// What an agent is woken for by hand.
#[derive(Clone, Debug)]
pub enum WakeAbout {
    /// What is said in this channel.
    Channel(ChannelId),
    /// Something that was said, in this channel where one is named.
    Message { channel: Option<ChannelId>, message: MessageId },
    /// What is said now, in the name of whoever wakes.
    Words { channel: ChannelId, content: String },
}

#[derive(Clone, Debug)]
pub struct RegisterAgent {
    pub workspace: WorkspaceId,
    pub provision_hash: KeyHash,
    pub name: String,
    pub key_hash: KeyHash,
    pub role_card: RoleCard,
    pub runtime: Runtime,
}

#[derive(Clone, Debug)]
pub struct WelcomeGuest {
    pub door: Door,
    /// The program's own name for itself, under which it is known when it comes back.
    pub key: String,
    /// What it would like to be called; a number is added when somebody has that name.
    pub name: String,
    pub role_card: RoleCard,
}

/// A new agent that the hub hosts itself.
#[derive(Clone, Debug)]
pub struct HostAgent {
    pub name: String,
    pub engine: String,
    pub model: Option<String>,
    pub project: Option<String>,
    pub role_card: RoleCard,
    pub policy: Policy,
    pub deny: Vec<String>,
    pub worktrees: bool,
    /// Where it is from the start; none: every open channel of the workspace.
    pub channels: Option<Vec<ChannelId>>,
    /// False for one that the configuration names: it says again at every start what it wants.
    pub is_kept: bool,
}

#[derive(Clone, Debug)]
pub struct AnswerAsGuest {
    pub guest: MemberId,
    /// The message it answers; the answer goes to the same channel and thread.
    pub message: MessageId,
    pub content: String,
    pub metadata: Option<Box<RawValue>>,
    /// Idempotency key: a repeat returns the first answer.
    pub key: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Send {
    pub channel: ChannelId,
    pub content: String,
    pub content_type: ContentType,
    pub kind: Option<String>,
    pub thread: Option<MessageId>,
    pub file: Option<FileId>,
    pub metadata: Option<Box<RawValue>>,
    /// Idempotency key: a repeat returns the first message and changes nothing.
    pub key: Option<String>,
    pub stage: Stage,
    /// The wake this answers, where the agent says so.
    pub delivery: Option<DeliveryId>,
    /// It goes on where the agent's last message had to end, and answers no wake by itself.
    pub is_more: bool,
    /// People are told as ever, and no agent is woken.
    pub is_quiet: bool,
}

/// How much of a message a send is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Stage {
    /// A message of its own, whatever else its sender is writing.
    #[default]
    Whole,
    /// The text so far of the one live message of this sender in the channel.
    Partial,
    /// The live message as it stays, if there is one; otherwise a message of its own.
    Final,
}

#[derive(Clone, Debug, Default)]
pub struct PutItem {
    pub item: Option<ItemId>,
    pub name: String,
    pub namespace: Option<String>,
    pub content: Option<String>,
    pub description: Option<String>,
    pub tags: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
pub struct CreateTask {
    pub workspace: WorkspaceId,
    pub channel: Option<ChannelId>,
    pub message: Option<MessageId>,
    pub title: String,
    pub description: String,
    pub priority: Priority,
    pub assigned_to: Option<MemberId>,
}

#[derive(Clone, Debug, Default)]
pub struct UpdateTask {
    pub task: TaskId,
    pub title: Option<String>,
    pub description: Option<String>,
    pub status: Option<TaskStatus>,
    pub priority: Option<Priority>,
    /// `Some(None)` takes the task away from whoever has it.
    pub assigned_to: Option<Option<MemberId>>,
}

#[derive(Clone, Debug, Default)]
pub struct RequestApproval {
    pub channel: Option<ChannelId>,
    pub action: String,
    pub payload: String,
    pub kind: ApprovalKind,
    pub hash: Option<String>,
    pub run: Option<RunId>,
    /// The message the work began with; its sender, if a person, may decide.
    pub about: Option<MessageId>,
}
