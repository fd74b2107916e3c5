//! The shape of the database and how it came about: one migration per version, none ever changed after it was released.
//!
//! What costs where: every page that a commit changes is written to the log, so what counts is how many pages a message
//! touches. A message is one row and one index entry, its id (rising, so the pages at the right edge serve a whole batch).
//! The thread index holds replies only. Its position in the channel and its idempotency key would touch a page each, so
//! they are filed later and sorted ([`super::places`], [`super::keys`]); search and clearing away wait as well
//! ([`super::index`]).

use folkmoot_database::Schema;

use super::STATEMENTS;

/// Kibibytes of pages that the writer keeps; a hub that idles should weigh little.
const WRITER_CACHE: i64 = 8000;
/// Pages in the log before a commit moves them into the database, while everybody waits: more makes for rarer, longer
/// pauses, a larger log, and more to read at the start after a crash.
pub(super) const LOG_PAGES: i64 = 12_000;

pub const SCHEMA: Schema = Schema {
    mark: *b"olk",
    migrations: &[FIRST, PLACES, OPEN_RECORDS, ROOTS, WORDS],
    pragmas: &[
        ("foreign_keys", 0),
        ("cache_size", -WRITER_CACHE),
        ("wal_autocheckpoint", LOG_PAGES),
        ("journal_size_limit", 2 * LOG_PAGES * 4096),
    ],
    statements: STATEMENTS,
};

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

/// Words are told apart and folded by us ([`crate::words`]), so that all backends find the same: the index is filled anew, bit by bit
/// while the hub runs.
const WORDS: &str = "
DROP TABLE search;
CREATE VIRTUAL TABLE search USING fts5 (
    channel, content, content='', contentless_delete=1, tokenize='unicode61 remove_diacritics 2'
);
DELETE FROM touched;
UPDATE meta SET value = 0 WHERE name IN ('indexed', 'counted');
";
