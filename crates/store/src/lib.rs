//! Keeping what was decided: one trait, its backends, and one contract suite that every backend passes.
//!
//! The hub has one writer. It opens a transaction, lets the rules look things up in it, appends the events they decided on, and
//! commits; whatever was appended before the commit is on disk after it, all of it or nothing. Readers are
//! separate and never wait for the writer.

use std::path::Path;
use std::sync::Arc;

use folkmoot_core::ids::*;
use folkmoot_core::lookup::{Found, Lookup, Want};
use folkmoot_core::model::{Head, Message};
use folkmoot_core::record::{Change, Filter};
use folkmoot_core::{Event, Millis, Record, RecordKind};

#[cfg(test)]
mod contract;
mod history;
pub mod postgres;
pub mod sqlite;
pub mod transfer;
mod words;

mod archive;
pub use archive::{backup, backup_at, restore, restore_at};

mod inspect;
pub use inspect::{Inspection, describe, find_damage, inspect, inspect_others};

/// Where messages and records are kept; everything else is in the data folder either way.
#[derive(Clone)]
pub enum Location {
    /// In the data folder.
    Folder,
    /// In a database on a server.
    Server(Arc<postgres::Place>),
}

impl Location {
    /// Understands `store.url`.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        match url {
            "sqlite" => Ok(Self::Folder),
            _ => Ok(Self::Server(Arc::new(postgres::Place::parse(url)?))),
        }
    }

    /// For people, and without a password.
    pub fn shown(&self) -> &str {
        match self {
            Self::Folder => "sqlite",
            Self::Server(place) => place.shown(),
        }
    }
}

#[derive(Clone, Debug, thiserror::Error)]
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
    #[error("another hub is using the database at {0}")]
    DatabaseInUse(String),
    /// Somebody else decides now: nothing of the transaction was stored, and nothing will be until this hub is started anew.
    #[error("another hub has taken over the database; nothing was stored")]
    Fenced,
    /// The answer to a commit was lost, and could not be looked up either.
    #[error("the database was lost while it was storing something, and whether it did is not known")]
    Unknown,
    #[error("the database at {place} cannot be reached: {cause}")]
    Unreachable { place: String, cause: String },
    /// Nothing that passes by itself: somebody has to set something right.
    #[error("{sentence}")]
    Setup { sentence: String, hint: String },
    #[error("{0}")]
    Other(String),
}

impl StoreError {
    fn setup(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Setup { sentence: sentence.into(), hint: hint.into() }
    }

    /// What can be done about it, where that can be said.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Setup { hint, .. } => Some(hint),
            Self::Newer { .. } => Some("run the newer `moot`, or restore a backup of the older version"),
            Self::InUse(_) => Some("stop the hub that uses it, or choose another folder with --data-dir"),
            Self::Folder { .. } => Some("choose a folder you can write to with --data-dir"),
            Self::Full => Some("free some space on the disk of the data folder"),
            Self::LogLost { .. } => Some(
                "what was said last may be missing: bring the log back, or a backup with `moot restore FILE --force`; \
                 to go on with what is there, remove `hub.db-mark` beside it",
            ),
            Self::DatabaseInUse(_) => Some("stop the other hub, or name another database in `store.url`"),
            Self::Unreachable { .. } => {
                Some("see that Postgres is running and listens there, and that `store.url` is right")
            }
            Self::Fenced => Some("see which other hub uses this database, then start this one anew"),
            Self::Unknown | Self::Other(_) => None,
        }
    }
}

/// Everything a hub keeps in memory from its start.
pub struct Directory {
    pub records: Vec<Record>,
    pub heads: Vec<(ChannelId, Head)>,
    /// The number of the last batch that is in it; 0 where batches are not counted.
    pub batch: u64,
}

/// What is written to the log together with a batch: see [`Transaction::commit_logged`].
#[derive(Clone, Copy, Debug)]
pub struct LogRow<'a> {
    pub body: &'a [u8],
    /// The newest id and moment that were given out; whoever decides next begins behind them.
    pub last_id: u128,
    pub last_at: Millis,
}

/// The writing side; there is one per hub.
pub trait Store: Send {
    /// What is stored now. When it cannot be read, a store may refuse all transactions until it could: what is in memory may
    /// then be more than what is stored.
    fn directory(&self) -> Result<Directory, StoreError>;

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>, StoreError>;

    /// A reader of its own, for another thread.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// Does some of the work that was put off while messages were coming in (search index, rows of removed channels);
    /// true when more is left. It goes much faster in large portions: better now and then than after each message.
    fn catch_up(&mut self, at_most: usize) -> Result<bool, StoreError>;

    /// Commits something that changes nothing, to find out whether there is room again.
    fn try_writing(&mut self) -> Result<(), StoreError>;

    /// Whether look-ups are worth naming beforehand, see [`Transaction::foresee`].
    fn foresees(&self) -> bool {
        false
    }

    /// From now on transactions are of this epoch, the first of them after this batch. For a store that is one of several.
    fn lead(&mut self, _epoch: u64, _batch: u64) -> Result<(), StoreError> {
        Err(StoreError::Other("this store is for one hub alone".to_owned()))
    }

    /// From now on it only reads.
    fn follow(&mut self) {}

    /// Where it keeps everything.
    fn location(&self) -> Location {
        Location::Folder
    }
}

/// Events appended here become durable together at [`Transaction::commit`]; dropping it undoes them.
/// Lookups see what was appended before.
///
/// A store may find out at the commit only that an event cannot be stored; then nothing of the transaction is.
pub trait Transaction: Lookup {
    fn append(&mut self, event: &Event) -> Result<(), StoreError>;

    /// On disk when it returns; an error means that nothing is stored, [`StoreError::Unknown`] alone excepted.
    fn commit(self: Box<Self>) -> Result<(), StoreError>;

    /// The same, with a row of the log; returns the number of the batch, one more than that of the batch before it.
    fn commit_logged(self: Box<Self>, _log: LogRow<'_>) -> Result<u64, StoreError> {
        Err(StoreError::Other("this store keeps no log".to_owned()))
    }

    /// Fetches what will be looked up, where that is worth it. What was not foreseen is found all the same.
    fn foresee(&mut self, _wants: &[Want]) -> Result<(), StoreError> {
        Ok(())
    }
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

    /// The same for words that begin so. A store that knows whole words only finds those.
    fn search_beginnings(&self, words: &str, channels: &[ChannelId], limit: usize) -> Found<Vec<Message>> {
        self.search(words, channels, limit)
    }

    /// How many records a list would have without its limit.
    fn count(&self, kind: RecordKind, filter: &Filter) -> Found<u64>;

    /// How many messages are stored and not deleted.
    fn message_count(&self) -> Found<u64>;
}

/// Opens (or makes) the database of a data folder and takes the folder for this process.
pub fn open(data_dir: &Path) -> Result<Box<dyn Store>, StoreError> {
    Ok(Box::new(sqlite::Sqlite::open(data_dir)?))
}

/// Opens the store of a hub, wherever it is, and takes it and the data folder for this process.
pub fn open_at(location: &Location, data_dir: &Path) -> Result<Box<dyn Store>, StoreError> {
    let Location::Server(place) = location else { return open(data_dir) };
    let lock = sqlite::take_folder(data_dir)?;
    let mut store = postgres::Postgres::open(place)?;
    if data_dir.join(sqlite::DATABASE).exists() && store.is_empty()? {
        return Err(StoreError::setup(
            format!("there is a hub in `{}`, and none in the database at {}", data_dir.display(), place.shown()),
            "move it with `moot migrate --to URL` before you set `store.url`, or choose another folder with --data-dir",
        ));
    }
    history::check(data_dir, &store.history()?, place.shown())?;
    store.hold(lock);
    Ok(Box::new(store))
}
