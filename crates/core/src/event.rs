//! What happened, once it was decided: for the store to keep, for the state to follow, for the doors to tell.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::delivery::{Delivery, WakeReason};
use crate::ids::*;
use crate::model::*;
use crate::record::{Change, Record, RecordKind};
use crate::route::Route;
use crate::run::ThreadSession;

#[derive(Clone, Debug)]
pub enum Event {
    // Stored, with a position in their channel
    MessageSent(Arc<Message>),
    MessageEdited {
        message: Arc<Message>,
        change: Change,
        /// What it said before; nothing where the message only became what it was to be.
        edit: Option<Edit>,
    },
    MessageDeleted {
        message: Arc<Message>,
        change: Change,
    },
    Reacted {
        message: Arc<Message>,
        change: Change,
    },
    Pinned {
        pin: Pin,
        change: Change,
    },
    Unpinned {
        pin: Pin,
        change: Change,
    },

    /// The message of a run shows how far it is. Stored, but without a position: only the answer counts.
    Progressed(Arc<Message>),

    // Stored: who came into a channel and who left it
    Joined(Membership),
    Left(Membership),

    // Stored records
    Saved(Record),
    Removed(Record),

    // Passing: told, never stored
    PresenceChanged {
        member: MemberId,
        workspace: WorkspaceId,
        presence: Presence,
    },
    Typing {
        channel: ChannelId,
        member: MemberId,
        on: bool,
        color: Option<Color>,
    },
    /// A live message was begun, or has another text now.
    Streamed(Arc<Stream>),
    /// A live message is no longer live: its final message follows when it was `said`, otherwise it never was.
    StreamEnded {
        stream: Arc<Stream>,
        said: bool,
    },
    Woken(Arc<Wake>),
    /// A client is given a sentence; the attempt is stored on the route.
    Handed {
        to: MemberId,
        route: Arc<Route>,
    },
    /// The agent at work is to stop; the wish is stored on the run.
    StopAsked {
        run: RunId,
        agent: MemberId,
        agent_name: String,
        through: Option<ConnectionId>,
    },
    TaskAssigned {
        task: Task,
        to: MemberId,
    },
    CallSignal {
        to: MemberId,
        /// One of the member's connections; otherwise all.
        only: Option<ConnectionId>,
        signal: CallSignal,
    },
    /// The newest connection of an agent replaces the older one.
    ConnectionReplaced(ConnectionId),
    Connected {
        member: MemberId,
        connection: ConnectionId,
        door: Door,
    },
    Disconnected {
        member: MemberId,
        connection: ConnectionId,
    },
    DaemonRegistered {
        connection: ConnectionId,
        daemon: Daemon,
    },
}

/// An agent is wanted; the context is bundled so that it need not ask.
#[derive(Clone, Debug)]
pub struct Wake {
    pub agent: MemberId,
    pub agent_name: String,
    /// The daemon's connection that carries the agent, if one does.
    pub through: Option<ConnectionId>,
    pub reason: WakeReason,
    pub channel: Option<ChannelId>,
    /// Oldest first, the message that woke last.
    pub recent: Vec<Arc<Message>>,
    pub thread: Option<WakeThread>,
    pub task: Option<Task>,
    /// What came of it is kept under this; none for a wake by hand.
    pub delivery: Option<Arc<Delivery>>,
    /// What the agent continues the thread with.
    pub session: Option<ThreadSession>,
}

#[derive(Clone, Debug)]
pub struct WakeThread {
    pub root: Arc<Message>,
    pub replies: Vec<Arc<Message>>,
}

#[derive(Clone, Debug)]
pub enum CallSignal {
    Ring { call: Call, caller_name: String },
    Offer { call: Call, sdp: String },
    Answer { call: CallId, sdp: String },
    Ice { call: CallId, from: MemberId, candidate: Box<RawValue> },
    End { call: CallId, reason: &'static str },
}

/// Who is told of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everybody subscribed to the channel.
    Channel(ChannelId),
    /// Everybody connected in the workspace.
    Workspace(WorkspaceId),
    /// All connections of one member.
    Member(MemberId),
    Connection(ConnectionId),
    Nobody,
}

/// One thing a store does for an event. Backends implement these and nothing else.
#[derive(Debug)]
pub enum Write<'a> {
    InsertMessage(&'a Message),
    /// Replaces everything of a stored message that can change.
    UpdateMessage(&'a Message),
    /// One reply more (or, with −1, fewer) below this message.
    CountReply {
        root: MessageId,
        by: i32,
    },
    Log(&'a Change),
    Put(&'a Record),
    Remove {
        kind: RecordKind,
        id: u128,
    },
    /// Drops all messages and changes of a channel.
    ForgetChannel(ChannelId),
}

impl Event {
    /// Passing events are told and forgotten; when a reader is slow they are the first to go.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::PresenceChanged { .. } | Self::Typing { .. } | Self::Streamed(_) | Self::Progressed(_))
            // Stored all the same, and there to be read.
            || matches!(self, Self::Saved(Record::RunAction(_)))
    }

    /// Hands the store what to keep of this event, in order.
    pub fn each_write(&self, mut write: impl FnMut(Write<'_>)) {
        match self {
            Self::MessageSent(message) => {
                write(Write::InsertMessage(message));
                if let Some(root) = message.thread {
                    write(Write::CountReply { root, by: 1 });
                }
            }
            Self::MessageEdited { message, change, edit } => {
                write(Write::UpdateMessage(message));
                write(Write::Log(change));
                if let Some(edit) = edit {
                    write(Write::Put(&Record::Edit(edit.clone())));
                }
            }
            Self::Progressed(message) => write(Write::UpdateMessage(message)),
            Self::MessageDeleted { message, change } => {
                write(Write::UpdateMessage(message));
                write(Write::Log(change));
                if let Some(root) = message.thread {
                    write(Write::CountReply { root, by: -1 });
                }
            }
            Self::Reacted { message, change } => {
                write(Write::UpdateMessage(message));
                write(Write::Log(change));
            }
            Self::Pinned { pin, change } => {
                write(Write::Put(&Record::Pin(pin.clone())));
                write(Write::Log(change));
            }
            Self::Unpinned { pin, change } => {
                write(Write::Remove { kind: RecordKind::Pin, id: pin.id.0 });
                write(Write::Log(change));
            }
            Self::Joined(membership) => write(Write::Put(&Record::Membership(membership.clone()))),
            Self::Left(membership) => write(Write::Remove { kind: RecordKind::Membership, id: membership.id.0 }),
            Self::Saved(record) => write(Write::Put(record)),
            Self::Removed(record) => {
                write(Write::Remove { kind: record.kind(), id: record.id() });
                if let Record::Channel(channel) = record {
                    write(Write::ForgetChannel(channel.id));
                }
            }
            Self::PresenceChanged { .. }
            | Self::Typing { .. }
            | Self::Streamed(_)
            | Self::StreamEnded { .. }
            | Self::Woken(_)
            | Self::Handed { .. }
            | Self::StopAsked { .. }
            | Self::TaskAssigned { .. }
            | Self::CallSignal { .. }
            | Self::ConnectionReplaced(_)
            | Self::Connected { .. }
            | Self::Disconnected { .. }
            | Self::DaemonRegistered { .. } => {}
        }
    }

    pub fn is_stored(&self) -> bool {
        let mut stored = false;
        self.each_write(|_| stored = true);
        stored
    }
}
