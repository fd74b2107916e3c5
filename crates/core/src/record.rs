//! How things are kept: every entity except a message is a *record*: a kind, an id, a few keys to find it by, and its body.
//!
//! Stores implement this one shape instead of a table per entity, so a new entity costs a line in [`records!`] and
//! its keys in [`Record::keys`], and no migration in any backend.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::delivery::{Cause, Delivery};
use crate::hosting::Hosted;
use crate::ids::*;
use crate::model::*;
use crate::pools::{Fence, Lease, PoolLink};
use crate::route::Route;
use crate::run::{Run, RunAction, ThreadSession};

macro_rules! records {
    ($($name:ident($body:ty, $id:ty) $number:literal;)*) => {
        /// The kind of a record; the number is what stores write, so it never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum RecordKind { $($name = $number),* }

        impl RecordKind {
            pub const ALL: &'static [RecordKind] = &[$(RecordKind::$name),*];
        }

        #[derive(Clone, Debug, PartialEq)]
        pub enum Record { $($name($body)),* }

        impl Record {
            pub fn kind(&self) -> RecordKind {
                match self { $(Self::$name(_) => RecordKind::$name),* }
            }

            pub fn id(&self) -> u128 {
                match self { $(Self::$name(body) => body.id.0),* }
            }

            /// The body as JSON text, for a store.
            pub fn encode(&self) -> String {
                match self { $(Self::$name(body) => to_json(body)),* }
            }

            pub fn decode(kind: RecordKind, body: &str) -> Result<Self, serde_json::Error> {
                Ok(match kind { $(RecordKind::$name => Self::$name(serde_json::from_str(body)?)),* })
            }
        }

        $(
            impl From<$body> for Record {
                fn from(body: $body) -> Self { Self::$name(body) }
            }

            impl Stored for $body {
                const KIND: RecordKind = RecordKind::$name;
                type Id = $id;
                fn from_record(record: Record) -> Option<Self> {
                    match record { Record::$name(body) => Some(body), _ => None }
                }
                fn number(id: $id) -> u128 { id.0 }
            }
        )*
    };
}

records! {
    Workspace(Workspace, WorkspaceId) 1;
    Member(Member, MemberId) 2;
    Channel(Channel, ChannelId) 3;
    Membership(Membership, MembershipId) 4;
    Notification(Notification, NotificationId) 5;
    Draft(Draft, DraftId) 6;
    Review(Review, ReviewId) 7;
    Task(Task, TaskId) 8;
    Approval(Approval, ApprovalId) 9;
    Call(Call, CallId) 10;
    Webhook(Webhook, WebhookId) 11;
    File(File, FileId) 12;
    Pin(Pin, PinId) 13;
    Edit(Edit, EditId) 14;
    Item(Item, ItemId) 15;
    Memory(Memory, MemoryId) 16;
    Token(Token, TokenId) 17;
    Lease(Lease, LeaseId) 40;
    Fence(Fence, FenceId) 41;
    PoolLink(PoolLink, PoolLinkId) 42;
    Route(Route, RouteId) 20;
    Delivery(Delivery, DeliveryId) 50;
    Cause(Cause, MessageId) 51;
    Invite(Invite, InviteId) 71;
    Run(Run, RunId) 60;
    RunAction(RunAction, RunActionId) 61;
    Session(ThreadSession, SessionId) 62;
    Hosted(Hosted, HostedId) 70;
    TelegramLink(TelegramLink, TelegramLinkId) 72;
    Machine(Machine, MachineId) 73;
}

/// A type that is kept as a record.
pub trait Stored: Sized {
    const KIND: RecordKind;
    type Id: Copy;
    fn from_record(record: Record) -> Option<Self>;
    fn number(id: Self::Id) -> u128;
}

/// What a record can be found by, besides its id.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Keys {
    pub workspace: Option<u128>,
    /// The thing it belongs to: a channel, a message.
    pub scope: Option<u128>,
    /// The member it concerns.
    pub owner: Option<u128>,
    /// A name within the owner.
    pub name: Option<String>,
    /// How far along it is; what lists filter by.
    pub state: &'static str,
}

impl RecordKind {
    /// The kinds that a hub keeps in memory from its start; all others are read when they are needed.
    pub fn is_directory(self) -> bool {
        matches!(self, Self::Workspace | Self::Member | Self::Channel | Self::Membership | Self::Webhook | Self::Token)
            || matches!(self, Self::Lease | Self::Fence | Self::PoolLink | Self::Invite | Self::Hosted)
            || matches!(self, Self::TelegramLink | Self::Machine)
    }

    /// The kinds of which a hub keeps the open ones in memory, because something happens to them by itself in time.
    pub fn is_kept_while_open(self) -> bool {
        matches!(self, Self::Approval | Self::Call | Self::Delivery | Self::Run)
    }
}

impl Record {
    /// Whether a hub loads it at its start.
    pub fn is_kept_in_memory(&self) -> bool {
        self.kind().is_directory() || self.kind().is_kept_while_open() && self.keys().state == OPEN
    }

    pub fn keys(&self) -> Keys {
        match self {
            Self::Workspace(_) => Keys::default(),
            Self::Member(member) => Keys { workspace: Some(member.workspace.0), ..Keys::default() },
            Self::Channel(channel) => Keys { workspace: Some(channel.workspace.0), ..Keys::default() },
            Self::Membership(membership) => {
                Keys { scope: Some(membership.channel.0), owner: Some(membership.member.0), ..Keys::default() }
            }
            Self::Notification(notification) => Keys {
                owner: Some(notification.member.0),
                name: Some(notification.source_type.clone()),
                state: notification.state(),
                ..Keys::default()
            },
            Self::Draft(draft) => Keys {
                scope: Some(draft.channel.0),
                owner: Some(draft.agent.0),
                state: if draft.status == DraftStatus::Held { OPEN } else { CLOSED },
                ..Keys::default()
            },
            Self::Review(review) => Keys {
                workspace: Some(review.workspace.0),
                owner: Some(review.reviewer.0),
                state: if review.decided_at.is_none() { OPEN } else { CLOSED },
                ..Keys::default()
            },
            Self::Task(task) => Keys {
                workspace: Some(task.workspace.0),
                scope: task.channel.map(|channel| channel.0),
                owner: task.assigned_to.map(|member| member.0),
                state: if task.status == TaskStatus::Done { CLOSED } else { OPEN },
                ..Keys::default()
            },
            Self::Approval(approval) => Keys {
                workspace: Some(approval.workspace.0),
                scope: approval.channel.map(|channel| channel.0),
                owner: Some(approval.agent.0),
                name: approval.hash.clone(),
                state: if approval.status == ApprovalStatus::Pending { OPEN } else { CLOSED },
            },
            Self::Call(call) => Keys {
                workspace: Some(call.workspace.0),
                scope: Some(call.caller.0),
                owner: Some(call.callee.0),
                state: if matches!(call.status, CallStatus::Ringing | CallStatus::Answered) { OPEN } else { CLOSED },
                ..Keys::default()
            },
            Self::Webhook(webhook) => {
                Keys { workspace: Some(webhook.workspace.0), scope: Some(webhook.channel.0), ..Keys::default() }
            }
            Self::File(file) => Keys {
                workspace: Some(file.workspace.0),
                scope: file.channel.map(|channel| channel.0),
                owner: Some(file.uploaded_by.0),
                ..Keys::default()
            },
            Self::Pin(pin) => {
                Keys { scope: Some(pin.channel.0), name: Some(pin.message.to_string()), ..Keys::default() }
            }
            Self::Edit(edit) => Keys { scope: Some(edit.message.0), ..Keys::default() },
            Self::Item(item) => {
                Keys { owner: Some(item.agent.0), name: Some(named(&item.namespace, &item.name)), ..Keys::default() }
            }
            Self::Memory(memory) => Keys {
                owner: Some(memory.agent.0),
                name: Some(named(&memory.namespace, &memory.key)),
                ..Keys::default()
            },
            Self::Token(token) => Keys { workspace: Some(token.workspace.0), ..Keys::default() },
            Self::Invite(invite) => Keys { workspace: Some(invite.workspace.0), ..Keys::default() },
            Self::TelegramLink(link) => {
                Keys { workspace: Some(link.workspace.0), owner: Some(link.member.0), ..Keys::default() }
            }
            Self::Machine(machine) => {
                Keys { workspace: Some(machine.workspace.0), owner: Some(machine.owner.0), ..Keys::default() }
            }
            Self::Lease(_) | Self::Fence(_) => Keys::default(),
            Self::PoolLink(link) => Keys { scope: Some(link.channel.0), ..Keys::default() },
            Self::Hosted(hosted) => {
                Keys { workspace: Some(hosted.workspace.0), owner: Some(hosted.agent.0), ..Keys::default() }
            }
            Self::Route(route) => Keys {
                workspace: Some(route.workspace.0),
                owner: Some(route.speaker.0),
                state: if route.is_open() { OPEN } else { CLOSED },
                ..Keys::default()
            },
            Self::Delivery(delivery) => Keys {
                scope: delivery.channel.map(|channel| channel.0),
                owner: Some(delivery.agent.0),
                state: if delivery.is_open() { OPEN } else { CLOSED },
                ..Keys::default()
            },
            Self::Cause(cause) => Keys { scope: cause.channel.map(|channel| channel.0), ..Keys::default() },
            Self::Run(run) => Keys {
                workspace: Some(run.workspace.0),
                scope: Some(run.channel.0),
                owner: Some(run.agent.0),
                state: if run.is_open() { OPEN } else { CLOSED },
                ..Keys::default()
            },
            Self::RunAction(action) => Keys { scope: Some(action.run.0), ..Keys::default() },
            Self::Session(session) => Keys {
                scope: Some(session.thread.0),
                owner: Some(session.agent.0),
                name: Some(session.thread.to_string()),
                ..Keys::default()
            },
        }
    }
}

/// States that lists filter by.
pub const OPEN: &str = "open";
pub const CLOSED: &str = "closed";
/// A notification nobody looked at, one that was seen, and one that was taken up.
pub const NEW: &str = "new";
pub const SEEN: &str = "seen";
pub const ACKED: &str = "acked";

impl Notification {
    fn state(&self) -> &'static str {
        match (self.acked_at, self.is_read) {
            (Some(_), _) => ACKED,
            (None, true) => SEEN,
            (None, false) => NEW,
        }
    }
}

/// The name under which a namespaced value is found again.
pub fn named(namespace: &str, name: &str) -> String {
    format!("{namespace}\u{1f}{name}")
}

/// Which records to list, newest first unless asked otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub workspace: Option<u128>,
    pub scope: Option<u128>,
    pub owner: Option<u128>,
    pub name: Option<String>,
    /// Any of these states; empty means all.
    pub states: &'static [&'static str],
    /// Only records made before this one.
    pub before: Option<u128>,
    pub limit: usize,
    pub oldest_first: bool,
}

impl Filter {
    pub fn workspace(id: WorkspaceId) -> Self {
        Self { workspace: Some(id.0), limit: 200, ..Self::default() }
    }

    pub fn scope(id: u128) -> Self {
        Self { scope: Some(id), limit: 200, ..Self::default() }
    }

    pub fn owner(id: MemberId) -> Self {
        Self { owner: Some(id.0), limit: 200, ..Self::default() }
    }

    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    pub fn states(mut self, states: &'static [&'static str]) -> Self {
        self.states = states;
        self
    }

    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    pub fn before(mut self, id: Option<u128>) -> Self {
        self.before = id;
        self
    }

    pub fn oldest_first(mut self) -> Self {
        self.oldest_first = true;
        self
    }

    /// Whether a record passes, `before` and `limit` aside: the meaning of a filter, for stores to agree with.
    pub fn matches(&self, record: &Record) -> bool {
        let keys = record.keys();
        self.workspace.is_none_or(|id| keys.workspace == Some(id))
            && self.scope.is_none_or(|id| keys.scope == Some(id))
            && self.owner.is_none_or(|id| keys.owner == Some(id))
            && self.name.as_ref().is_none_or(|name| keys.name.as_ref() == Some(name))
            && (self.states.is_empty() || self.states.contains(&keys.state))
    }
}

fn to_json(body: &impl Serialize) -> String {
    // Our own types have string keys and no failing serializers, so this cannot fail.
    serde_json::to_string(body).unwrap_or_default()
}

/// A stored change of a channel that is not a new message: what replay needs to tell a client that was away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub channel: ChannelId,
    pub seq: u64,
    pub message: MessageId,
    pub actor: MemberId,
    pub at: Millis,
    pub what: ChangeKind,
}

impl Change {
    pub fn new(
        channel: ChannelId,
        seq: u64,
        message: MessageId,
        actor: MemberId,
        at: Millis,
        what: ChangeKind,
    ) -> Self {
        Self { channel, seq, message, actor, at, what }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Edited,
    Deleted,
    Reacted { emoji: String },
    Unreacted { emoji: String },
    Pinned { pin: PinId },
    Unpinned { pin: PinId },
}
