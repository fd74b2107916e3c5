//! The hub's heart: one thread that decides, commits and tells, in that order, one batch after the other.
//!
//! Everything that changes anything is a [`Job`] in one [`Mailbox`]. The [`Executor`] takes all that wait, decides them one
//! after the other inside one transaction, commits once, and only then answers and fans out. While it writes to sockets
//! new jobs gather, so batches grow with the load by themselves. Order is by construction; there is no lock to
//! forget. See `docs/decisions/0002-one-writer-thread.md`.

mod fanout;
mod mailbox;
mod pace;
mod run;
pub mod watch;

use std::sync::Arc;

use folkmoot_core::ids::{ChannelId, ConnectionId};
use folkmoot_core::{Actor, Command, Refusal, Reply};
use folkmoot_doors::Ticket;
use tokio::sync::oneshot;

use crate::auth::Login;
use crate::connection::Connection;

pub use mailbox::Mailbox;
pub use run::Executor;
pub use watch::{Interest, Sighting, Watch, Watcher};

/// One thing to do, for whom, and whom to tell.
pub struct Job {
    pub actor: Actor,
    pub work: Work,
    pub respond: Respond,
}

pub enum Work {
    Decide(Box<Command>),
    /// A proven member's connection joins the hub.
    Attach {
        connection: Arc<Connection>,
        login: Login,
    },
    Detach(ConnectionId),
    Unsubscribe {
        connection: ConnectionId,
        channel: ChannelId,
    },
    /// A part of the server wants to hear of what happens.
    Watch(Watcher),
    /// Finishes the live messages that their senders have given up.
    EndStreams,
    /// What was to happen by now happens.
    LetTimePass,
    /// Takes everything said so far into the search index, then answers.
    CatchUp,
    /// Answers whether anything can be stored; after a failure, by trying.
    CanStore,
    /// Says goodbye to every connection and ends the thread.
    Stop,
}

pub type CommandOutcome = Result<Reply, Refusal>;

/// Where the answer goes.
pub enum Respond {
    Nobody,
    Caller(oneshot::Sender<CommandOutcome>),
    Connection {
        connection: Arc<Connection>,
        ticket: Ticket,
    },
    /// To the connection, and to its task, which waits to learn who it is.
    LogIn {
        connection: Arc<Connection>,
        ticket: Ticket,
        outcome: oneshot::Sender<CommandOutcome>,
    },
}
