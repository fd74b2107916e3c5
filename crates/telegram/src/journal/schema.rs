//! The shape of the file and how it came about: one migration per version, none ever changed after it was released.

use folkmoot_database::Schema;

pub const SCHEMA: Schema = Schema {
    mark: *b"Tel",
    migrations: &[FIRST, CARD_PAGES, ONE_FLOOR],
    pragmas: &[("cache_size", -500)],
    statements: 48,
};

/// Times are seconds since 1970; states and kinds are the numbers of the code. Outgoing messages are called slips here.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_of_an_older_version_keeps_the_floor_that_matters() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("telegram.db");
        let connection = Schema { migrations: &SCHEMA.migrations[..2], ..SCHEMA }.open(&path).expect("the older shape");
        let outgoing = "INSERT INTO slips (chat, kind, silent, state, floor_here, floor_all, content)
                    VALUES (?, 0, 0, 0, 5, 90, '{\"text\":\"\"}')";
        for chat in [7, -42, -1_000_000_000_042_i64] {
            connection.execute(outgoing, [chat]).expect("an outgoing message");
        }
        drop(connection);
        let connection = SCHEMA.open(&path).expect("the newer shape");
        let floors = |chat: i64| -> i64 {
            connection.query_row("SELECT floor FROM slips WHERE chat = ?", [chat], |row| row.get(0)).expect("a floor")
        };
        assert_eq!([7, -42, -1_000_000_000_042].map(floors), [90, 90, 5]);
    }
}
