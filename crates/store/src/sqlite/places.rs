//! Where a message stands in its channel: found at once, filed later.
//!
//! Messages are stored in the order in which they come, so those of one commit share a few pages, whichever channels they
//! belong to. An index by channel has no such luck: with many channels nearly every message changes a page of its own,
//! and each page that a commit changes is written twice. So the places of the newest messages are not filed one by
//! one. When enough have gathered they are sorted and filed together in the table `positions`; neighbours share pages.
//!
//! What is not filed yet lies behind the mark `placed` in `meta`, at the end of the messages, and every look-up by
//! place looks there as well. Within one channel the numbers of messages rise with their places, so all that is filed
//! comes before all that is not.

use std::collections::HashMap;

use folkmoot_core::ids::ChannelId;
use rusqlite::{Connection, OptionalExtension};

use super::rows::blob;

/// How many messages go by before their places are filed: the more, the more share a page; the fewer, the less there is to
/// look through.
const GATHERED: i64 = 1024;

pub struct Places {
    filed: i64,
    /// The highest place given out in each channel that has places which are not filed.
    highest: HashMap<ChannelId, i64>,
    here: Here,
}

/// What the open transaction did, to be kept or undone.
#[derive(Default)]
struct Here {
    filed: Option<i64>,
    /// What `highest` said before.
    before: Vec<(ChannelId, Option<i64>)>,
}

impl Places {
    pub fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let filed = connection.query_row("SELECT value FROM meta WHERE name = 'placed'", [], |row| row.get(0))?;
        Ok(Self { filed, highest: HashMap::new(), here: Here::default() })
    }

    /// Gives out a place, once. All places that are not filed are in memory, so that this costs a look into the table for
    /// the first message of a channel only.
    pub fn give_out(&mut self, connection: &Connection, channel: ChannelId, seq: i64) -> rusqlite::Result<()> {
        const HIGHEST: &str = "SELECT seq FROM positions WHERE channel = ?1 ORDER BY seq DESC LIMIT 1";
        let known = self.highest.get(&channel).copied();
        let highest = match known {
            Some(known) => Some(known),
            None => connection.prepare_cached(HIGHEST)?.query_row([blob(channel.0)], |row| row.get(0)).optional()?,
        };
        if highest.is_some_and(|highest| seq <= highest) {
            let taken = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CONSTRAINT);
            return Err(rusqlite::Error::SqliteFailure(taken, Some("the place in the channel is taken".to_owned())));
        }
        self.here.before.push((channel, known));
        self.highest.insert(channel, seq);
        Ok(())
    }

    /// Called before each commit, with the number of the newest message: files the places when enough have gathered.
    pub fn before_commit(&mut self, connection: &Connection, newest: i64) -> rusqlite::Result<()> {
        if newest - self.filed < GATHERED { Ok(()) } else { self.file(connection, newest) }
    }

    pub fn file(&mut self, connection: &Connection, newest: i64) -> rusqlite::Result<()> {
        // OR FAIL: when this fails the whole transaction is undone, so SQLite need not copy pages to undo the statement alone.
        const FILE: &str = "INSERT OR FAIL INTO positions (channel, seq, n) \
            SELECT channel, seq, n FROM messages WHERE n > (SELECT value FROM meta WHERE name = 'placed') \
            ORDER BY channel, seq";
        const MARK: &str = "UPDATE meta SET value = ?1 WHERE name = 'placed'";
        if newest == self.filed {
            return Ok(());
        }
        connection.prepare_cached(FILE)?.execute([])?;
        connection.prepare_cached(MARK)?.execute([newest])?;
        self.here.filed = Some(newest);
        Ok(())
    }

    /// The number of the newest message whose place is filed.
    pub fn filed(&self) -> i64 {
        self.filed
    }

    pub fn committed(&mut self) {
        self.here.before.clear();
        if let Some(filed) = self.here.filed.take() {
            self.filed = filed;
            self.highest.clear();
        }
    }

    pub fn undone(&mut self) {
        let here = std::mem::take(&mut self.here);
        for (channel, before) in here.before.into_iter().rev() {
            match before {
                Some(seq) => self.highest.insert(channel, seq),
                None => self.highest.remove(&channel),
            };
        }
    }
}
