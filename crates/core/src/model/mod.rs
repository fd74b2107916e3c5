//! The things of the domain as plain data, in the words of the Lark document.

mod calls;
mod door;
mod keeping;
mod work;

pub use calls::*;
pub use door::{Door, DoorFacts};
pub use keeping::*;
pub use work::*;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Millis;
use crate::ids::*;
use crate::repeat;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub name: String,
    pub slug: String,
    pub created_at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberKind {
    Human,
    Agent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Member,
    Admin,
    Owner,
}

/// A person or an agent; both have the same rights to speak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    pub id: MemberId,
    pub workspace: WorkspaceId,
    pub kind: MemberKind,
    pub role: Role,
    pub name: String,
    pub nick: Option<String>,
    pub email: Option<String>,
    pub avatar: Option<FileId>,
    /// Who added this member; for an agent, the person who answers for it.
    pub created_by: Option<MemberId>,
    pub created_at: Millis,
    pub role_card: Option<RoleCard>,
    pub runtime: Option<Runtime>,
    pub secrets: Secrets,
    /// Set for an agent that a local program registered through a door.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// When a guest was last here, and whether anybody has heard from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<Visit>,
    /// A removed member keeps its name on what it said, and nothing else.
    pub removed: bool,
}

impl Member {
    pub fn is_agent(&self) -> bool {
        self.kind == MemberKind::Agent
    }

    /// The hub's own daemon: it carries agents and is none, so nobody speaks to it, gives it a task, or removes it.
    pub fn is_daemon(&self) -> bool {
        self.guest.as_ref().is_some_and(|guest| *guest == Guest::daemon())
    }

    /// What mentions, lists and messages call this member.
    pub fn display_name(&self) -> &str {
        &self.name
    }

    /// Whether sentences may be handed to it: a local client, or an agent whose role card names capabilities.
    pub fn is_able(&self) -> bool {
        let says_what_it_can = self.role_card.as_ref().is_some_and(|card| !card.capabilities.is_empty());
        match &self.guest {
            Some(guest) => guest.door.facts().guests_take_sentences && !guest.is_the_hubs_own(),
            None => self.is_agent() && says_what_it_can,
        }
    }

    /// What a local program is called by those who hand it sentences: its own name, also where somebody else in the
    /// workspace had that name first.
    pub fn client_name(&self) -> &str {
        match &self.guest {
            Some(guest) if guest.key != self.name.to_lowercase() => &guest.key,
            _ => &self.name,
        }
    }
}

/// Under which name of its own a local program is found again, and through which door it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    pub door: Door,
    pub key: String,
}

/// What is known of a guest's visits; guests from before this was kept have none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    pub seen_at: Millis,
    pub spoke: bool,
}

impl Guest {
    /// The hub's own voice in channels, `@router`; no program can register under this key.
    pub fn router() -> Self {
        Self { door: Door::SmartHole, key: "@router".to_owned() }
    }

    /// The hub's own daemon, which carries the agents that the hub hosts.
    pub fn daemon() -> Self {
        Self { door: Door::Lark, key: "@agentd".to_owned() }
    }

    pub fn is_the_hubs_own(&self) -> bool {
        *self == Self::router() || *self == Self::daemon()
    }
}

/// What proves that somebody is a member. Only the store and the log-in read it; no door ever shows it.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Secrets {
    pub password_hash: Option<String>,
    pub key_hash: Option<KeyHash>,
    /// Tokens issued before this moment no longer count (a changed password, a removed member).
    #[serde(default)]
    pub valid_after: Millis,
    /// Counts how often everything before was ended. What was proven under another number no longer counts, whatever
    /// the clock said then.
    #[serde(default)]
    pub generation: u64,
    /// When the key was made; 0 where that was not noted.
    #[serde(default)]
    pub key_made_at: Millis,
}

impl Secrets {
    /// The same without what was proven so far: the next generation.
    #[must_use]
    pub fn ended(&self, now: Millis) -> Self {
        Self { valid_after: now, generation: self.generation + 1, ..self.clone() }
    }
}

/// SHA-256 of an API key or token. The keys have 256 random bits, so a plain hash is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyHash(pub [u8; 32]);

#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RoleCard {
    pub system_prompt: String,
    #[serde(default)]
    pub capabilities: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Runtime {
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    Online,
    Idle,
    Offline,
    Dnd,
    Sleeping,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    Channel,
    Private,
    Dm,
    GroupDm,
}

impl ChannelKind {
    pub fn is_direct(self) -> bool {
        matches!(self, Self::Dm | Self::GroupDm)
    }

    /// Whether a workspace member may find, read and join it without being asked in.
    pub fn is_open(self) -> bool {
        self == Self::Channel
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Channel {
    pub id: ChannelId,
    pub workspace: WorkspaceId,
    pub kind: ChannelKind,
    pub name: String,
    pub topic: String,
    pub created_by: MemberId,
    pub created_at: Millis,
    pub archived: bool,
}

/// How far a channel has come: `seq` counts stored events, `version` counts messages (Lark's room version).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Head {
    pub seq: u64,
    pub version: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotifyPreference {
    #[default]
    All,
    Mentions,
    None,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    pub id: MembershipId,
    pub channel: ChannelId,
    pub member: MemberId,
    pub joined_at: Millis,
    /// How far this member has read, as a position and as a number of messages (unread = room version − this).
    pub read: ReadPosition,
    pub notify: NotifyPreference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct ReadPosition {
    pub seq: u64,
    pub version: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentType {
    #[default]
    Text,
    Markdown,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub id: MessageId,
    pub channel: ChannelId,
    /// Position among the stored events of the channel, and number among its messages.
    pub seq: u64,
    pub version: u64,
    pub sender: MemberId,
    pub thread: Option<MessageId>,
    pub content: String,
    pub content_type: ContentType,
    pub kind: String,
    pub file: Option<FileId>,
    /// A JSON object, kept as its text: nobody in the hub looks into it.
    pub metadata: Option<Box<RawValue>>,
    pub door: Door,
    pub created_at: Millis,
    pub updated_at: Millis,
    pub edited_at: Option<Millis>,
    pub edit_count: u32,
    pub reply_count: u32,
    pub reactions: Vec<Reaction>,
    pub deleted: bool,
    /// What a repeat of the same send has in common with it ([`repeat::key`]): such a repeat returns this message.
    pub key: Option<String>,
    /// The message this one came from in the end, and how many agents' messages lie between; none is itself.
    pub root: Option<MessageId>,
    pub depth: u32,
}

const MAX_EXCERPT_CHARS: usize = 200;

impl Message {
    /// Whether it was sent with this idempotency key, and says what it said then.
    pub fn was_sent_with(&self, client_key: &str) -> bool {
        let key = || repeat::key(client_key, self.channel, self.thread, self.file, &self.content);
        self.key.as_deref().is_some_and(|known| known == key())
    }

    /// The beginning of its text, as notifications show it.
    pub fn excerpt(&self) -> String {
        self.content.chars().take(MAX_EXCERPT_CHARS).collect()
    }

    /// A text that nobody has sent, to find out what it would do.
    pub fn unsent(channel: ChannelId, sender: MemberId, content: String) -> Self {
        Self {
            id: MessageId::NONE,
            channel,
            seq: 0,
            version: 0,
            sender,
            thread: None,
            content,
            content_type: ContentType::Text,
            kind: String::new(),
            file: None,
            metadata: None,
            door: Door::Rest,
            created_at: 0,
            updated_at: 0,
            edited_at: None,
            edit_count: 0,
            reply_count: 0,
            reactions: Vec::new(),
            deleted: false,
            key: None,
            root: None,
            depth: 0,
        }
    }

    /// The message at the beginning of what led to this one.
    pub fn root_id(&self) -> MessageId {
        self.root.unwrap_or(self.id)
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        let metadata = |message: &Self| message.metadata.as_ref().map(|raw| raw.get().to_owned());
        self.id == other.id
            && (self.channel, self.seq, self.version) == (other.channel, other.seq, other.version)
            && (self.sender, self.thread, self.file) == (other.sender, other.thread, other.file)
            && (&self.content, self.content_type, &self.kind) == (&other.content, other.content_type, &other.kind)
            && (self.created_at, self.updated_at, self.edited_at)
                == (other.created_at, other.updated_at, other.edited_at)
            && (self.edit_count, self.reply_count, self.deleted) == (other.edit_count, other.reply_count, other.deleted)
            && (&self.reactions, &self.key, self.door) == (&other.reactions, &other.key, other.door)
            && (self.root, self.depth) == (other.root, other.depth)
            && metadata(self) == metadata(other)
    }
}

/// A message that is still being written: shown while it grows, stored once when it is final. One per sender and channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// What the message will be called once it is final.
    pub message: MessageId,
    /// What it is called until then, where the final message must not look like a second sending of the same one.
    pub draft: MessageId,
    pub channel: ChannelId,
    pub sender: MemberId,
    /// The newest text; each one replaces the one before.
    pub content: String,
    pub content_type: ContentType,
    pub door: Door,
    pub started_at: Millis,
    pub updated_at: Millis,
    /// How many texts it has had; the first one opens it.
    pub texts: u32,
}

/// A colour as web pages write it, `#RRGGBB`, kept as it was written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Color([u8; 7]);

impl Color {
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: [u8; 7] = text.as_bytes().try_into().ok()?;
        (bytes[0] == b'#' && bytes[1..].iter().all(u8::is_ascii_hexdigit)).then_some(Self(bytes))
    }

    pub fn as_str(&self) -> &str {
        // Only ASCII gets in.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl std::fmt::Debug for Color {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reaction {
    pub emoji: String,
    pub members: Vec<MemberId>,
}

/// What a message said before it was edited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    pub id: EditId,
    pub message: MessageId,
    pub channel: ChannelId,
    pub previous: String,
    pub edited_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pin {
    pub id: PinId,
    pub channel: ChannelId,
    pub message: MessageId,
    pub pinned_by: MemberId,
    pub created_at: Millis,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notification {
    pub id: NotificationId,
    pub member: MemberId,
    /// `mention`, `dm`, `thread_reply`, `task_assigned`, `review_request`, `review_result`, `approval_result`.
    pub kind: String,
    pub title: String,
    pub body: String,
    pub channel: Option<ChannelId>,
    pub message: Option<MessageId>,
    pub source_type: String,
    pub priority: String,
    pub payload: Option<String>,
    pub is_read: bool,
    pub ack_required: bool,
    pub acked_at: Option<Millis>,
    pub expires_at: Option<Millis>,
    pub created_at: Millis,
}

impl Notification {
    /// Whether its body is what its message says.
    pub fn is_quote(&self) -> bool {
        matches!(self.kind.as_str(), "mention" | "dm" | "thread_reply")
    }
}
