//! The default store: one SQLite database (`hub.db`) in the data folder.
//!
//! One connection writes, in transactions that the caller fills and commits; readers have connections of their own and
//! see the last commit (write-ahead log). A commit is on disk when it returns (`synchronous=FULL`).

mod index;
mod keys;
pub(crate) mod mark;
mod places;
mod read;
mod records;
pub(crate) mod rows;
pub(crate) mod schema;
mod search;
#[cfg(test)]
mod tests;
mod words;
mod write;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use folkmoot_core::event::Write;
use folkmoot_core::ids::*;
use folkmoot_core::lookup::{Found, Lookup, Unavailable};
use folkmoot_core::model::Message;
use folkmoot_core::record::Filter;
use folkmoot_core::{Event, Record, RecordKind};
use folkmoot_database::{DatabaseError, make_private_folder};
use rusqlite::{Connection, ErrorCode};

use self::keys::Keys;
use self::mark::Mark;
use self::places::Places;
use self::schema::SCHEMA;
use crate::{Directory, Page, Reader, Replay, Store, StoreError, Transaction};

pub(crate) const DATABASE: &str = "hub.db";
pub(crate) const LOCK: &str = "hub.lock";

/// Kibibytes of pages; a hub that idles should weigh little, and the operating system caches the file anyway.
const READER_CACHE: i64 = 1000;
/// Pages in the log before they are moved while nobody waits.
const IDLE_LOG_PAGES: i64 = 1000;
/// How long a stop waits for a reader that is still at it.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// Statements kept ready: the fixed ones and the usual shapes of filters.
const STATEMENTS: usize = 64;

pub struct Sqlite {
    connection: Connection,
    unfiled: Unfiled,
    path: PathBuf,
    /// Held as long as the store lives; the operating system lets go of it when the process ends, however it ends.
    _lock: File,
}

/// What the writer keeps in mind of what it has not filed yet.
struct Unfiled {
    keys: Keys,
    places: Places,
    mark: Mark,
}

impl Unfiled {
    fn has_unfiled_places(&self) -> bool {
        self.places.filed() < self.keys.newest()
    }
}

impl Sqlite {
    /// Makes the folder and the database when they are missing, and takes the folder for this process.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let lock = take_folder(data_dir)?;
        let path = data_dir.join(DATABASE);
        SCHEMA.refuse_newer_file(&path)?;
        mark::check_files(&path)?;
        let connection = SCHEMA.open_checked(&path, |connection| mark::check_open(&path, connection))?;
        let (keys, places) = (Keys::load(&connection)?, Places::load(&connection)?);
        let unfiled = Unfiled { keys, places, mark: Mark::beside(&path) };
        let mut store = Self { connection, unfiled, path, _lock: lock };
        store.file_places()?;
        Ok(store)
    }
}

/// Takes the data folder for this process, making it when it is missing.
pub(crate) fn take_folder(data_dir: &Path) -> Result<File, StoreError> {
    let problem = |error: std::io::Error| folder_problem(data_dir, &error);
    make_private_folder(data_dir).map_err(problem)?;
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let lock = options.create(true).append(true).open(data_dir.join(LOCK)).map_err(problem)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse(data_dir.display().to_string())),
        Err(TryLockError::Error(error)) => Err(problem(error)),
    }
}

pub(crate) fn open_for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let connection = folkmoot_database::open_for_reading(path, STATEMENTS)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE)?;
    Ok(connection)
}

impl Sqlite {
    /// Takes in what was kept elsewhere, in a transaction of its own.
    pub(crate) fn import<'a>(&mut self, writes: impl Iterator<Item = Write<'a>>) -> Result<(), StoreError> {
        let mut writing = Writing::new(&self.connection, &mut self.unfiled);
        writing.begin()?;
        for write in writes {
            write::carry_out(writing.connection, writing.unfiled, &write)?;
        }
        writing.commit()
    }
}

impl Store for Sqlite {
    fn directory(&self) -> Result<Directory, StoreError> {
        let records = records::directory(&self.connection)?;
        let mut heads = Vec::new();
        for record in &records {
            if let Record::Channel(channel) = record {
                heads.push((channel.id, read::head(&self.connection, channel.id)?));
            }
        }
        Ok(Directory { records, heads, batch: 0 })
    }

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>, StoreError> {
        Ok(Box::new(View(Writing::new(&self.connection, &mut self.unfiled))))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(View(open_for_reading(&self.path)?)))
    }

    fn catch_up(&mut self, at_most: usize) -> Result<bool, StoreError> {
        if !index::is_behind(&self.connection)? {
            self.shorten_log()?;
            self.unfiled.mark.write(&self.connection);
            return Ok(false);
        }
        let mut writing = Writing::new(&self.connection, &mut self.unfiled);
        writing.begin()?;
        writing.file_places()?;
        let more = index::catch_up(&self.connection, at_most)?;
        writing.commit()?;
        Ok(more)
    }

    fn try_writing(&mut self) -> Result<(), StoreError> {
        // The version that it has is written to the log once more, with a page, as every change is.
        let version = folkmoot_database::version(&self.connection)?;
        Ok(self.connection.pragma_update(None, "user_version", version)?)
    }
}

impl Sqlite {
    /// Moves the log into the database while nobody waits, so that fewer commits have to.
    fn shorten_log(&self) -> Result<(), StoreError> {
        const LENGTH: &str = "PRAGMA wal_checkpoint(NOOP)";
        const SHORTEN: &str = "PRAGMA wal_checkpoint(PASSIVE)";
        let waiting = |row: &rusqlite::Row<'_>| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?);
        if self.connection.query_row(LENGTH, [], waiting)? > IDLE_LOG_PAGES {
            self.connection.query_row(SHORTEN, [], |_| Ok(()))?;
        }
        Ok(())
    }

    /// So that finding out how far each channel has come is a seek each.
    fn file_places(&mut self) -> Result<(), StoreError> {
        let mut writing = Writing::new(&self.connection, &mut self.unfiled);
        if writing.unfiled.has_unfiled_places() {
            writing.begin()?;
            writing.file_places()?;
        }
        writing.commit()
    }

    /// Moves the whole log into the database: whoever copies `hub.db` after a clean stop has everything.
    fn empty_log(&mut self) -> Result<(), StoreError> {
        self.connection.busy_timeout(STOP_TIMEOUT)?;
        let is_held: bool = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if is_held {
            self.unfiled.mark.write(&self.connection);
        } else {
            self.unfiled.mark.remove();
        }
        Ok(())
    }

    /// Leaves nothing for the next start to do.
    fn tidy_up(&mut self) -> Result<(), StoreError> {
        self.file_places()?;
        if !self.unfiled.keys.has_unfiled() {
            return Ok(());
        }
        let mut writing = Writing::new(&self.connection, &mut self.unfiled);
        writing.begin()?;
        writing.unfiled.keys.file_all(writing.connection)?;
        writing.commit()
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // Not done is not lost: the next start then has a little more to read.
        let _ = self.tidy_up();
        let _ = self.empty_log();
    }
}

/// A transaction of the writer; undone when it goes away without a commit.
///
/// SQLite hears of it at the first write: what is only looked up costs no lock, and nobody else writes in between.
struct Writing<'a> {
    connection: &'a Connection,
    unfiled: &'a mut Unfiled,
    is_open: bool,
    /// An event was written in part: committing the rest would store half of it.
    is_broken: bool,
}

impl<'a> Writing<'a> {
    fn new(connection: &'a Connection, unfiled: &'a mut Unfiled) -> Self {
        Self { connection, unfiled, is_open: false, is_broken: false }
    }

    fn begin(&mut self) -> rusqlite::Result<()> {
        if !self.is_open {
            self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            self.is_open = true;
        }
        Ok(())
    }

    fn file_places(&mut self) -> rusqlite::Result<()> {
        self.unfiled.places.file(self.connection, self.unfiled.keys.newest())
    }

    fn append(&mut self, event: &Event) -> rusqlite::Result<()> {
        let mut outcome = Ok(());
        event.each_write(|write| {
            if outcome.is_ok() {
                outcome = self.begin().and_then(|()| write::carry_out(self.connection, self.unfiled, &write));
            }
        });
        self.is_broken |= outcome.is_err();
        outcome
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        if self.is_broken {
            return Err(StoreError::Other("an event could not be stored, so nothing of its transaction was".into()));
        }
        if self.is_open {
            self.unfiled.keys.before_commit(self.connection)?;
            self.unfiled.places.before_commit(self.connection, self.unfiled.keys.newest())?;
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            self.is_open = false;
            self.unfiled.keys.committed();
            self.unfiled.places.committed();
            self.unfiled.mark.committed(self.connection);
        }
        Ok(())
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            return;
        }
        // SQLite ends the transaction by itself after some errors (a full disk); then only we have something to undo.
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.unfiled.keys.undone();
        self.unfiled.places.undone();
    }
}

/// Where queries go: a reader's own, or the writer's inside its transaction.
trait QuerySource {
    fn connection(&self) -> &Connection;
    fn message_by_key(&self, sender: MemberId, key: &str) -> rusqlite::Result<Option<Message>>;
}

impl QuerySource for Connection {
    fn connection(&self) -> &Connection {
        self
    }

    fn message_by_key(&self, sender: MemberId, key: &str) -> rusqlite::Result<Option<Message>> {
        keys::message(self, sender, key)
    }
}

impl QuerySource for Writing<'_> {
    fn connection(&self) -> &Connection {
        self.connection
    }

    fn message_by_key(&self, sender: MemberId, key: &str) -> rusqlite::Result<Option<Message>> {
        self.unfiled.keys.message(self.connection, sender, key)
    }
}

/// What can be asked of a source.
struct View<W>(W);

impl<W: QuerySource> View<W> {
    fn read<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Found<T> {
        query(self.0.connection()).map_err(unavailable)
    }
}

impl<W: QuerySource> Lookup for View<W> {
    fn message(&self, id: MessageId) -> Found<Option<Message>> {
        self.read(|connection| read::message(connection, id))
    }

    fn message_by_key(&self, sender: MemberId, key: &str) -> Found<Option<Message>> {
        self.0.message_by_key(sender, key).map_err(unavailable)
    }

    fn newest_messages(&self, channel: ChannelId, limit: usize) -> Found<Vec<Message>> {
        self.read(|connection| read::newest_messages(connection, channel, u64::MAX, limit))
    }

    fn messages_up_to(&self, channel: ChannelId, seq: u64, limit: usize) -> Found<Vec<Message>> {
        self.read(|connection| read::newest_messages(connection, channel, seq, limit))
    }

    fn newest_replies(&self, root: MessageId, limit: usize) -> Found<Vec<Message>> {
        self.read(|connection| read::newest_replies(connection, root, u64::MAX, limit))
    }

    fn version_at(&self, channel: ChannelId, seq: u64) -> Found<u64> {
        self.read(|connection| read::version_at(connection, channel, seq))
    }

    fn record(&self, kind: RecordKind, id: u128) -> Found<Option<Record>> {
        self.read(|connection| records::get(connection, kind, id))
    }

    fn records(&self, kind: RecordKind, filter: &Filter) -> Found<Vec<Record>> {
        self.read(|connection| records::list(connection, kind, filter))
    }

    fn stored_bytes(&self, filter: &Filter) -> Found<u64> {
        self.read(|connection| records::stored_bytes(connection, filter))
    }
}

impl Transaction for View<Writing<'_>> {
    fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        Ok(self.0.append(event)?)
    }

    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.0.commit()
    }
}

impl Reader for View<Connection> {
    fn messages(&self, channel: ChannelId, page: Page) -> Found<Vec<Message>> {
        self.read(|connection| read::page(connection, channel, page))
    }

    fn thread(&self, root: MessageId, before: Option<u64>, limit: usize) -> Found<Vec<Message>> {
        self.read(|connection| read::thread(connection, root, before, limit))
    }

    fn last_seq(&self, channel: ChannelId) -> Found<u64> {
        self.read(|connection| Ok(read::head(connection, channel)?.seq))
    }

    fn replay(&self, channel: ChannelId, after: u64, limit: usize) -> Found<Vec<Replay>> {
        self.read(|connection| read::replay(connection, channel, after, limit))
    }

    fn search(&self, words: &str, channels: &[ChannelId], limit: usize) -> Found<Vec<Message>> {
        self.read(|connection| search::search(connection, &words::quoted(words), channels, limit))
    }

    fn search_beginnings(&self, words: &str, channels: &[ChannelId], limit: usize) -> Found<Vec<Message>> {
        self.read(|connection| search::search(connection, &words::beginnings(words), channels, limit))
    }

    fn count(&self, kind: RecordKind, filter: &Filter) -> Found<u64> {
        self.read(|connection| records::count(connection, kind, filter))
    }

    fn message_count(&self) -> Found<u64> {
        self.read(index::message_count)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            _ => Self::Other(format!("the database failed: {error}")),
        }
    }
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Full => Self::Full,
            DatabaseError::Newer { found, known, .. } => Self::Newer { found, known },
            DatabaseError::File { path, cause } => {
                Self::Other(format!("cannot use `{path}`: the database failed: {cause}"))
            }
            other @ (DatabaseError::Failed(_) | DatabaseError::Closed) => Self::Other(other.to_string()),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` asks for")]
fn unavailable(error: rusqlite::Error) -> Unavailable {
    Unavailable(error.to_string())
}

fn folder_problem(path: &Path, cause: &std::io::Error) -> StoreError {
    StoreError::Folder { path: path.display().to_string(), cause: cause.to_string() }
}
