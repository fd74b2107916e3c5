//! What the one who asked is answered.

use std::sync::Arc;

use crate::delivery::Delivery;
use crate::hosting::Hosted;
use crate::ids::*;
use crate::model::*;
use crate::pools::{Lease, PoolLink};
use crate::route::Route;
use crate::run::{Run, ThreadSession};

/// The answer to the one who asked. Events tell everybody else.
#[derive(Clone, Debug)]
pub enum Reply {
    Done,
    /// How many things it concerned.
    Count(u64),
    Registered {
        member: Arc<Member>,
        workspace: Workspace,
    },
    Workspace(Workspace),
    Member(Arc<Member>),
    Channel {
        channel: Channel,
        created: bool,
    },
    Connected(Arc<Member>),
    Welcome {
        agent: MemberId,
    },
    Daemon {
        id: String,
        agents: Vec<DaemonAgent>,
        /// Those that it may not carry, as it named them.
        refused: Vec<DaemonAgent>,
    },
    Subscribed(ChannelId),
    /// `repeated` when the idempotency key was known and nothing happened.
    Sent {
        message: Arc<Message>,
        repeated: bool,
    },
    /// The live message has this text now.
    Streamed(Arc<Stream>),
    Message(Arc<Message>),
    Deleted(Arc<Message>),
    Pin(Pin),
    Notification(Notification),
    Draft(Draft),
    DraftCheck(DraftCheck),
    DraftSent {
        draft: DraftId,
        message: Arc<Message>,
    },
    Review(Review),
    Item(Item),
    Memory(Memory),
    Task(Task),
    Approval(Approval),
    Call(Call),
    File(File),
    Webhook(Webhook),
    Token(Token),
    /// The ids of what was ended.
    Ended(Vec<String>),
    Invite(Invite),
    TelegramLink(TelegramLink),
    Machine(Machine),
    /// `created` when it was free before, or passed to another agent.
    Lease {
        lease: Lease,
        created: bool,
    },
    PoolLink(PoolLink),
    Hosted(Hosted),
    Route(Arc<Route>),
    Delivery(Delivery),
    /// `known` when it was there already and nothing happened.
    Run {
        run: Arc<Run>,
        known: bool,
    },
    /// The run has another diff now; the bytes of the one before can go.
    Diff {
        run: Arc<Run>,
        replaced: Option<FileId>,
    },
    Session(ThreadSession),
}

/// Whether a held draft still fits the conversation.
#[derive(Clone, Debug)]
pub struct DraftCheck {
    pub draft: DraftId,
    pub valid: bool,
    pub draft_version: u64,
    pub current_version: u64,
    /// What was said meanwhile (the newest five), when the draft is stale.
    pub recent: Vec<Message>,
}
