//! Keeping what was decided: one trait, its backends, and one contract suite that every backend passes.
//!
//! The hub has one writer. It opens a transaction, lets the rules look things up in it, appends the events they decided on, and
//! commits; whatever was appended before the commit is on disk after it, all of it or nothing. Readers are
//! separate and never wait for the writer.

use std::path::Path;

use folkmoot_core::ids::*;
use folkmoot_core::lookup::{Found, Lookup};
use folkmoot_core::model::{Head, Message};
use folkmoot_core::record::{Change, Filter};
use folkmoot_core::{Event, Record, RecordKind};

#[cfg(test)]
mod contract;
pub mod sqlite;

mod archive;
pub use archive::{backup, restore};

mod inspect;
pub use inspect::{Inspection, find_damage, inspect, inspect_others};

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the database was written by a newer Folkmoot (its version is {found}, this one knows {known})")]
    Newer { found: u32, known: u32 },
    #[error("the disk is full")]
    Full,
    #[error("the log `{path}` is gone or cut: the database needs {needed} pages of it, and {found} are there")]
    LogLost { path: String, needed: u64, found: u64 },
    #[error("another hub is using the data folder `{0}`")]
    InUse(String),
    #[error("cannot use the data folder `{path}`: {cause}")]
    Folder { path: String, cause: String },
    #[error("{0}")]
    Other(String),
}

/// Everything a hub keeps in memory from its start.
pub struct Directory {
    pub records: Vec<Record>,
    pub heads: Vec<(ChannelId, Head)>,
}

/// The writing side; there is one per hub.
pub trait Store: Send {
    fn directory(&self) -> Result<Directory, StoreError>;

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>, StoreError>;

    /// A reader of its own, for another thread.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// Does some of the work that was put off while messages were coming in (search index, rows of removed channels);
    /// true when more is left. It goes much faster in large portions: better now and then than after each message.
    fn catch_up(&mut self, at_most: usize) -> Result<bool, StoreError>;

    /// Commits something that changes nothing, to find out whether there is room again.
    fn try_writing(&mut self) -> Result<(), StoreError>;
}

/// Events appended here become durable together at [`Transaction::commit`]; dropping it undoes them.
/// Lookups see what was appended before.
pub trait Transaction: Lookup {
    fn append(&mut self, event: &Event) -> Result<(), StoreError>;
    fn commit(self: Box<Self>) -> Result<(), StoreError>;
}

/// Which messages of a channel to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub before: Option<u64>,
    pub after: Option<u64>,
    pub offset: usize,
    pub limit: usize,
    /// Thread replies are left out of a channel's own page.
    pub with_replies: bool,
}

/// One stored event of a channel, for a client that was away.
#[derive(Clone, Debug)]
pub enum Replay {
    /// The message as it is now.
    Message(Message),
    /// A change, with the message it changed as it is now.
    Change(Change, Option<Message>),
}

pub trait Reader: Lookup + Send {
    /// Newest first; with `after` alone, the oldest ones after it, still listed newest first.
    fn messages(&self, channel: ChannelId, page: Page) -> Found<Vec<Message>>;

    /// The message and the newest replies to it before a position, oldest first; deleted replies are left out.
    fn thread(&self, root: MessageId, before: Option<u64>, limit: usize) -> Found<Vec<Message>>;

    /// The position of the last stored event of a channel; 0 before the first.
    fn last_seq(&self, channel: ChannelId) -> Found<u64>;

    /// Stored events after a position, in order, deleted messages included.
    fn replay(&self, channel: ChannelId, after: u64, limit: usize) -> Found<Vec<Replay>>;

    /// Messages that contain all words, newest first, only in these channels. Sees what [`Store::catch_up`] has taken in.
    fn search(&self, words: &str, channels: &[ChannelId], limit: usize) -> Found<Vec<Message>>;

    /// How many records a list would have without its limit.
    fn count(&self, kind: RecordKind, filter: &Filter) -> Found<u64>;

    /// How many messages are stored and not deleted.
    fn message_count(&self) -> Found<u64>;
}

/// Opens (or makes) the database of a data folder and takes the folder for this process.
pub fn open(data_dir: &Path) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(sqlite::Sqlite::open(data_dir)?))
}
