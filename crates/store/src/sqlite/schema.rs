//! The shape of the database and how it came about: one migration per version, none ever changed after it was released.
//!
//! What costs where: every page that a commit changes is written to the log, so what counts is how many pages a message
//! touches. A message is one row and one index entry, its id (rising, so the pages at the right edge serve a whole batch).
//! The thread index holds replies only. Its position in the channel and its idempotency key would touch a page each, so
//! they are filed later and sorted ([`super::places`], [`super::keys`]); search and clearing away wait as well
//! ([`super::index`]).

use std::io::Read;
use std::path::Path;

use rusqlite::Connection;

use crate::StoreError;

/// The version this binary writes: the number of migrations.
pub const VERSION: u32 = MIGRATIONS.len() as u32;

/// Marks the file as a Folkmoot database (`Folk`), so that a restore can tell it from any other.
pub const APPLICATION: i32 = 0x466f_6c6b;

const MIGRATIONS: &[&str] = &[FIRST, PLACES, OPEN_RECORDS, ROOTS];

/// Ids are 16 bytes, big end first, and so sort by time. Numbers of `kind`, `door` and `content_type` are those of the code.
const FIRST: &str = "
CREATE TABLE messages (
    n INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    channel BLOB NOT NULL,
    seq INTEGER NOT NULL,
    version INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    thread BLOB,
    sender BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    edited_at INTEGER,
    edit_count INTEGER NOT NULL,
    reply_count INTEGER NOT NULL,
    door INTEGER NOT NULL,
    content_type INTEGER NOT NULL,
    kind TEXT NOT NULL,
    file BLOB,
    key TEXT,
    reactions TEXT,
    metadata TEXT,
    content TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX messages_id ON messages (id);
CREATE UNIQUE INDEX messages_seq ON messages (channel, seq);
CREATE INDEX messages_thread ON messages (thread, seq) WHERE thread IS NOT NULL;

-- Idempotency keys by their hash; filled some time after the messages, see `keys.rs`.
CREATE TABLE keys (hash INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (hash, n)) STRICT, WITHOUT ROWID;

CREATE TABLE changes (
    channel BLOB NOT NULL,
    seq INTEGER NOT NULL,
    message BLOB NOT NULL,
    actor BLOB NOT NULL,
    at INTEGER NOT NULL,
    what TEXT NOT NULL,
    PRIMARY KEY (channel, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
    kind INTEGER NOT NULL,
    id BLOB NOT NULL,
    workspace BLOB,
    scope BLOB,
    owner BLOB,
    name TEXT,
    state TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_workspace ON records (kind, workspace, id) WHERE workspace IS NOT NULL;
CREATE INDEX records_scope ON records (kind, scope, id) WHERE scope IS NOT NULL;
CREATE INDEX records_owner ON records (kind, owner, state, id) WHERE owner IS NOT NULL;
CREATE INDEX records_name ON records (kind, owner, name, id) WHERE owner IS NOT NULL AND name IS NOT NULL;

-- Removed channels whose rows are still being cleared away; nothing reads them any more.
CREATE TABLE forgotten (channel BLOB NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE VIEW live AS SELECT * FROM messages WHERE channel NOT IN (SELECT channel FROM forgotten);

-- The rowid is the message's n. The channel is a word of its own, so that a search can be narrowed to channels in the index.
CREATE VIRTUAL TABLE search USING fts5 (
    channel, content, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'
);
-- Messages that changed after they were put into the index.
CREATE TABLE touched (n INTEGER PRIMARY KEY) STRICT;

CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO meta (name, value) VALUES
    ('indexed', 0), -- the search index holds all messages up to this n
    ('counted', 0), -- how many of them were not deleted when they or their change were put into the index
    ('filed', 0),   -- the table of keys holds the keys of all messages up to this n
    ('highest', 0); -- no message gets this n or a smaller one any more
";

/// Places by channel, filed some time after the messages, see `places.rs`.
const PLACES: &str = "
CREATE TABLE positions (
    channel BLOB NOT NULL,
    seq INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (channel, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO positions (channel, seq, n) SELECT channel, seq, n FROM messages ORDER BY channel, seq;
-- The places of all messages up to this n are filed.
INSERT INTO meta (name, value) SELECT 'placed', coalesce(max(n), 0) FROM messages;
DROP INDEX messages_seq;
";

/// What is still open is read at every start; what was ever asked need not be.
const OPEN_RECORDS: &str = "CREATE INDEX records_open ON records (kind, id) WHERE state = 'open';";

/// Which message another one came from in the end; nothing there means itself. Adds no index and touches no row.
const ROOTS: &str = "
ALTER TABLE messages ADD COLUMN root BLOB;
ALTER TABLE messages ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
";

/// Refuses a database of a newer version by its file header alone, before SQLite opens (and thereby touches) anything.
pub fn refuse_newer_file(path: &Path) -> Result<(), StoreError> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    const USER_VERSION: std::ops::Range<usize> = 60..64;
    let mut header = [0; 64];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut header));
    if read.is_err() || !header.starts_with(MAGIC) {
        // Missing, empty, or something else: SQLite will make it, or say what is wrong with it.
        return Ok(());
    }
    let version = header[USER_VERSION].iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
    refuse_newer(version)
}

pub fn refuse_newer(found: u32) -> Result<(), StoreError> {
    if found > VERSION { Err(StoreError::Newer { found, known: VERSION }) } else { Ok(()) }
}

pub fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Brings an older database up to [`VERSION`], one transaction per step.
pub fn migrate(connection: &mut Connection, from: u32) -> rusqlite::Result<()> {
    for (version, migration) in (1_u32..).zip(MIGRATIONS).skip(from as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    if from < VERSION {
        // The version must stand in the file itself: an older binary looks there before it opens anything.
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    }
    Ok(())
}
