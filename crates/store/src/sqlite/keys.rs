//! Idempotency keys: found at once, filed later.
//!
//! Keys are random, so in an index every one of them lands on a page of its own, and each page that a commit changes is written
//! twice. That would cost more than storing the message. So the keys of the newest messages are kept in
//! memory ([`Keys::fresh`]). When there are enough of them, they are sorted ([`Keys::leaving`]) and filed in the table `keys`
//! a run at a time by the commits that follow; neighbours share pages. What was not filed yet when the hub ended is read from the
//! messages at the next start: `filed` in `meta` says from where on.

use std::collections::BTreeSet;

use folkmoot_core::ids::MemberId;
use folkmoot_core::model::Message;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::rows::{self, blob, select_messages};

/// How many messages go by before their keys are filed; the more, the more keys share a page.
const GATHERED: i64 = 32_768;
/// How many messages go by between two commits that file some keys, and how many keys these file: twice as many, so that
/// the sorted ones are gone before the next are gathered.
const INTERVAL: i64 = 256;
const RUN: usize = 512;

/// The hash of a key and the number of its message, hash first so that it sorts.
type Entry = (i64, i64);

pub struct Keys {
    fresh: BTreeSet<Entry>,
    /// Sorted, in the table up to `filed`. There may be none in it and yet a mark to be moved: not every message has a key.
    leaving: Vec<Entry>,
    filed: usize,
    is_leaving: bool,
    /// The messages up to this one have their keys in the table once all of `leaving` is there.
    gathered_up_to: i64,
    last_run_at: i64,
    next_number: i64,
    here: Here,
}

/// What the open transaction did, to be kept or undone.
#[derive(Default)]
struct Here {
    added: Vec<Entry>,
    filed: usize,
    /// Nothing is left of `leaving`, and `filed` in `meta` says so.
    marked: bool,
}

impl Keys {
    /// Reads what was not filed when the hub ended.
    pub fn load(connection: &Connection) -> rusqlite::Result<Self> {
        const HIGHEST: &str = "SELECT max((SELECT coalesce(max(n), 0) FROM messages), \
            (SELECT value FROM meta WHERE name = 'highest'))";
        const UNFILED: &str = "SELECT n, sender, key FROM messages \
            WHERE n > (SELECT value FROM meta WHERE name = 'filed') AND key IS NOT NULL";
        let highest: i64 = connection.query_row(HIGHEST, [], |row| row.get(0))?;
        let mut statement = connection.prepare(UNFILED)?;
        let entry = |row: &rusqlite::Row<'_>| {
            let sender = MemberId(rows::id(row, 1)?);
            Ok((hash(sender, row.get_ref(2)?.as_str()?), row.get(0)?))
        };
        let fresh = statement.query_map([], entry)?.collect::<rusqlite::Result<_>>()?;
        Ok(Self {
            fresh,
            leaving: Vec::new(),
            filed: 0,
            is_leaving: false,
            gathered_up_to: connection
                .query_row("SELECT value FROM meta WHERE name = 'filed'", [], |row| row.get(0))?,
            last_run_at: highest,
            next_number: highest + 1,
            here: Here::default(),
        })
    }

    /// The number of the newest message.
    pub fn newest(&self) -> i64 {
        self.next_number - 1
    }

    /// The number of a new message; numbers rise and are never used again, so that nothing filed under one can mean another.
    pub fn next_number(&mut self) -> i64 {
        let number = self.next_number;
        self.next_number += 1;
        number
    }

    pub fn add(&mut self, sender: MemberId, key: &str, number: i64) {
        let entry = (hash(sender, key), number);
        self.fresh.insert(entry);
        self.here.added.push(entry);
    }

    pub fn message(&self, connection: &Connection, sender: MemberId, key: &str) -> rusqlite::Result<Option<Message>> {
        const ONE: &str = select_messages!("FROM live m WHERE m.n = ?1 AND m.sender = ?2 AND m.key = ?3");
        // Nearly every key is new, so the look into the table is kept to that one table.
        const FILED: &str = "SELECT n FROM keys WHERE hash = ?1";
        let hash = hash(sender, key);
        let mut numbers: Vec<i64> = self.in_memory(hash).collect();
        let mut filed = connection.prepare_cached(FILED)?;
        let mut filed = filed.query([hash])?;
        while let Some(row) = filed.next()? {
            numbers.push(row.get(0)?);
        }
        for number in numbers {
            let parameters = params![number, blob(sender.0), key];
            let message = connection.prepare_cached(ONE)?.query_row(parameters, rows::message).optional()?;
            if message.is_some() {
                return Ok(message);
            }
        }
        Ok(None)
    }

    fn in_memory(&self, hash: i64) -> impl Iterator<Item = i64> {
        let fresh = self.fresh.range((hash, i64::MIN)..=(hash, i64::MAX));
        let first = self.leaving.partition_point(|entry| entry.0 < hash);
        let leaving = self.leaving[first..].iter().take_while(move |entry| entry.0 == hash);
        fresh.chain(leaving).map(|entry| entry.1)
    }

    /// Called before each commit: files a run of keys when it is time.
    pub fn before_commit(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if self.next_number - self.last_run_at < INTERVAL {
            return Ok(());
        }
        self.last_run_at = self.next_number;
        self.file(connection, RUN)
    }

    fn file(&mut self, connection: &Connection, at_most: usize) -> rusqlite::Result<()> {
        if !self.is_leaving {
            return Ok(());
        }
        let rest = &self.leaving[self.filed..];
        let run = rest.len().min(at_most);
        let mut insert = connection.prepare_cached("INSERT OR IGNORE INTO keys (hash, n) VALUES (?1, ?2)")?;
        for (hash, number) in &rest[..run] {
            insert.execute([hash, number])?;
        }
        self.here.filed = run;
        if run == rest.len() {
            const MARK: &str = "UPDATE meta SET value = ?1 WHERE name = 'filed'";
            connection.prepare_cached(MARK)?.execute([self.gathered_up_to])?;
            self.here.marked = true;
        }
        Ok(())
    }

    pub fn committed(&mut self) {
        let here = std::mem::take(&mut self.here);
        self.filed += here.filed;
        if here.marked {
            (self.leaving, self.filed, self.is_leaving) = (Vec::new(), 0, false);
        }
        if !self.is_leaving && self.next_number - self.gathered_up_to > GATHERED {
            self.gather();
        }
    }

    pub fn undone(&mut self) {
        let here = std::mem::take(&mut self.here);
        for entry in here.added {
            self.fresh.remove(&entry);
        }
    }

    fn gather(&mut self) {
        self.leaving.extend(std::mem::take(&mut self.fresh));
        self.leaving.sort_unstable();
        self.gathered_up_to = self.next_number - 1;
        self.is_leaving = true;
    }

    pub fn has_unfiled(&self) -> bool {
        self.is_leaving || self.gathered_up_to + 1 < self.next_number
    }

    /// Files everything, so that the next start has nothing to read.
    pub fn file_all(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.last_run_at = self.next_number;
        self.leaving.drain(..self.filed);
        self.filed = 0;
        self.gather();
        self.file(connection, usize::MAX)
    }
}

/// For readers, who do not share the writer's memory: what is not filed they look for among the newest messages.
pub fn message(connection: &Connection, sender: MemberId, key: &str) -> rusqlite::Result<Option<Message>> {
    const SQL: &str = select_messages!(
        "FROM live m WHERE m.n IN ( \
            SELECT n FROM keys WHERE hash = ?1 \
            UNION ALL \
            SELECT n FROM messages WHERE n > (SELECT value FROM meta WHERE name = 'filed') AND sender = ?2 AND key = ?3 \
        ) AND m.sender = ?2 AND m.key = ?3 LIMIT 1"
    );
    let parameters = params![hash(sender, key), blob(sender.0), key];
    connection.prepare_cached(SQL)?.query_row(parameters, rows::message).optional()
}

/// Takes the entry of a message that goes away out of the table.
pub fn forget(connection: &Connection, sender: MemberId, key: &str, number: i64) -> rusqlite::Result<()> {
    let mut delete = connection.prepare_cached("DELETE FROM keys WHERE hash = ?1 AND n = ?2")?;
    delete.execute([hash(sender, key), number])?;
    Ok(())
}

/// On disk, so it never changes; and nobody can choose keys that all fall on one hash and make each look-up a long walk.
fn hash(sender: MemberId, key: &str) -> i64 {
    let digest = Sha256::new().chain_update(blob(sender.0)).chain_update(key).finalize();
    digest[..8].iter().fold(0, |hash, byte| hash << 8 | i64::from(*byte))
}
