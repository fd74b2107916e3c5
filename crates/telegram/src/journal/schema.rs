//! The shape of the file and how it came about: one migration per version, none ever changed after it was released.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::JournalError;

const VERSION: u32 = MIGRATIONS.len() as u32;
/// Marks the file as one of the bridge (`FTel`).
const APPLICATION: i32 = 0x4654_656c;

const MIGRATIONS: &[&str] = &[FIRST, CARD_PAGES, ONE_FLOOR];

/// Times are seconds since 1970; states and kinds are the numbers of the code.
const FIRST: &str = "
CREATE TABLE updates (n INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER NOT NULL UNIQUE) STRICT;

CREATE TABLE vals (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE prompts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL,
    topic INTEGER,
    sender INTEGER,
    message INTEGER NOT NULL,
    state INTEGER NOT NULL,
    thread TEXT,
    text TEXT NOT NULL,
    plan TEXT NOT NULL,
    changed_at INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
CREATE INDEX prompts_open ON prompts (id) WHERE state < 9;

CREATE TABLE slips (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chat INTEGER NOT NULL,
    topic INTEGER,
    reply_to INTEGER,
    prompt INTEGER,
    kind INTEGER NOT NULL,
    silent INTEGER NOT NULL,
    replaces INTEGER,
    state INTEGER NOT NULL,
    message INTEGER,
    floor_here INTEGER,
    floor_all INTEGER,
    content TEXT NOT NULL,
    revision INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    changed_at INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
CREATE INDEX slips_message ON slips (chat, message) WHERE message IS NOT NULL;
CREATE INDEX slips_prompt ON slips (prompt) WHERE prompt IS NOT NULL;
CREATE INDEX slips_due ON slips (id) WHERE state < 9;

-- Topic and sender are 0 where they do not matter.
CREATE TABLE preferences (
    chat INTEGER NOT NULL,
    topic INTEGER NOT NULL,
    sender INTEGER NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (chat, topic, sender, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE cards (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt INTEGER,
    slip INTEGER,
    ask TEXT NOT NULL,
    state INTEGER NOT NULL,
    decision TEXT,
    decided_by INTEGER,
    body TEXT NOT NULL,
    changed_at INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
CREATE INDEX cards_slip ON cards (slip) WHERE slip IS NOT NULL;
CREATE INDEX cards_open ON cards (id) WHERE state < 9;
";

/// A card may take several messages: from `first_slip` to `slip`, which has the buttons.
const CARD_PAGES: &str = "
ALTER TABLE cards ADD COLUMN first_slip INTEGER;
UPDATE cards SET first_slip = slip;
";

/// Which count of messages matters is a question of the chat, so one floor is enough.
const ONE_FLOOR: &str = "
ALTER TABLE slips RENAME COLUMN floor_all TO floor;
UPDATE slips SET floor = floor_here WHERE chat < -1000000000000;
ALTER TABLE slips DROP COLUMN floor_here;
";

pub fn open(path: &Path) -> Result<Connection, JournalError> {
    let named = |cause: &dyn std::fmt::Display| JournalError::File {
        path: path.display().to_string(),
        cause: cause.to_string(),
    };
    // Made by us rather than by SQLite, because nobody else may read what people ask for.
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path).map_err(|error| named(&error))?;
    let mut connection = Connection::open(path).map_err(|error| named(&error))?;
    let found: u32 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(|error| named(&error))?;
    if found > VERSION {
        return Err(JournalError::Newer { path: path.display().to_string(), found, known: VERSION });
    }
    // Only now, because it touches the file.
    set_up(&mut connection).map_err(|error| named(&error))?;
    migrate(&mut connection, found).map_err(|error| named(&error))?;
    Ok(connection)
}

fn set_up(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "cache_size", -500)?;
    connection.set_prepared_statement_cache_capacity(48);
    Ok(())
}

fn migrate(connection: &mut Connection, from: u32) -> rusqlite::Result<()> {
    for (version, migration) in (1_u32..).zip(MIGRATIONS).skip(from as usize) {
        let transaction = connection.transaction()?;
        transaction.execute_batch(migration)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_of_an_older_version_keeps_the_floor_that_matters() {
        let mut connection = Connection::open_in_memory().expect("a database");
        MIGRATIONS[..2].iter().for_each(|migration| connection.execute_batch(migration).expect("the older shape"));
        let slip = "INSERT INTO slips (chat, kind, silent, state, floor_here, floor_all, content)
                    VALUES (?, 0, 0, 0, 5, 90, '{\"text\":\"\"}')";
        for chat in [7, -42, -1_000_000_000_042_i64] {
            connection.execute(slip, [chat]).expect("a slip");
        }
        migrate(&mut connection, 2).expect("the newer shape");
        let floors = |chat: i64| -> i64 {
            connection.query_row("SELECT floor FROM slips WHERE chat = ?", [chat], |row| row.get(0)).expect("a floor")
        };
        assert_eq!([7, -42, -1_000_000_000_042].map(floors), [90, 90, 5]);
    }
}
