//! What is kept for members and programs: webhooks, files, notes, tokens.

use serde::{Deserialize, Serialize};

use super::{KeyHash, Role};
use crate::Millis;
use crate::ids::*;

/// An address outside programs post to; what they post appears as a message of the person who made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Webhook {
    pub id: WebhookId,
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    pub name: String,
    pub secret_hash: KeyHash,
    pub created_by: MemberId,
    pub created_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct File {
    pub id: FileId,
    pub workspace: WorkspaceId,
    /// The channel whose readers may read it; without one, only its uploader may.
    pub channel: Option<ChannelId>,
    /// Only the members of its channels may read it, not everybody who could join them.
    #[serde(default)]
    pub restricted: bool,
    /// Further channels it was posted to.
    #[serde(default)]
    pub also_in: Vec<ChannelId>,
    /// The messages it stands in, so that it goes with the last one of a channel.
    #[serde(default)]
    pub posts: Vec<FilePost>,
    pub uploaded_by: MemberId,
    pub filename: String,
    pub content_type: String,
    pub size: u64,
    pub created_at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilePost {
    pub message: MessageId,
    pub channel: ChannelId,
}

/// A named note in an agent's own workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    pub id: ItemId,
    pub agent: MemberId,
    pub name: String,
    pub namespace: String,
    pub content: String,
    pub description: String,
    pub tags: Vec<String>,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// One remembered value of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    pub id: MemoryId,
    pub agent: MemberId,
    pub namespace: String,
    pub key: String,
    pub value: String,
    pub updated_at: Millis,
}

/// An invitation to a workspace: whoever has the code makes one account with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Invite {
    pub id: InviteId,
    pub workspace: WorkspaceId,
    pub made_by: MemberId,
    pub role: Role,
    /// Where the newcomer will be a member; empty means every open channel there is then.
    pub channels: Vec<ChannelId>,
    pub code_hash: KeyHash,
    pub created_at: Millis,
    pub expires_at: Millis,
}

/// A Telegram account that speaks for a member, or the one-time code with which it may be linked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TelegramLink {
    pub id: TelegramLinkId,
    pub workspace: WorkspaceId,
    pub member: MemberId,
    pub code_hash: KeyHash,
    pub created_at: Millis,
    /// The code's end; a link has none.
    pub expires_at: Millis,
    /// Who showed the code; nobody yet while it is only a code.
    pub account: Option<TelegramAccount>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TelegramAccount {
    /// Telegram's number of the person, which is also that of their private chat with a bot.
    pub user: i64,
    /// What they call themselves there.
    pub name: String,
    pub linked_at: Millis,
}

/// A machine on which a person's agents run. It is no member: with its key a daemon carries agents of the person it belongs
/// to, and can do nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub id: MachineId,
    pub workspace: WorkspaceId,
    pub owner: MemberId,
    pub name: String,
    pub key_hash: KeyHash,
    pub created_at: Millis,
    /// When a connection with its key last came or went.
    pub last_seen_at: Option<Millis>,
    /// The agents it carries, or carried last.
    pub agents: Vec<MemberId>,
}

impl Machine {
    /// What its connections are known by, where members are otherwise.
    pub fn as_member(&self) -> MemberId {
        MemberId(self.id.0)
    }
}

/// A local process that carries agents over its own connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    pub id: String,
    pub member: MemberId,
    pub started_at: Millis,
    pub agents: Vec<DaemonAgent>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonAgent {
    pub name: String,
    pub agent: MemberId,
}

/// A token that is known to the hub by itself: a revoked session, or an invitation for agents to add themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Token {
    pub id: TokenId,
    pub workspace: WorkspaceId,
    pub made_by: MemberId,
    pub purpose: TokenPurpose,
    pub expires_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenPurpose {
    /// A signed-out session, named by its `jti`.
    Revoked(String),
    /// Lets agents register themselves (`lpt_…`).
    Provision(KeyHash),
    /// A session that its holder can look at and end.
    Session(SignedIn),
}

/// Where and when somebody signed in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIn {
    /// What all tokens of the session have in common: the `jti` of the first one.
    pub session: String,
    /// The generation of secrets under which it counts; see [`super::Secrets`].
    pub generation: u64,
    pub created_at: Millis,
    /// To some minutes.
    pub last_seen_at: Millis,
    pub address: String,
    /// What the client calls itself.
    pub device: String,
}

impl Token {
    pub fn signed_in(&self) -> Option<&SignedIn> {
        match &self.purpose {
            TokenPurpose::Session(signed_in) => Some(signed_in),
            TokenPurpose::Revoked(_) | TokenPurpose::Provision(_) => None,
        }
    }
}
