//! What the bridge keeps on disk: updates taken, prompts, what is to be sent, preferences.
//!
//! One SQLite file with a thread of its own ([`Worker`]). Work comes as closures over [`Rows`], each all or nothing. So
//! whatever belongs together, such as "this update was seen, this prompt is stored and this message is to be sent", is one
//! closure.
//!
//! What was posted, revised or removed in a closure reaches the [outbox](crate::outbox) after the commit and before the
//! caller goes on; nobody has to pass it on.

#[macro_use]
mod stored;

mod cards;
mod outgoing;
mod preferences;
mod prompts;
mod schema;
#[cfg(test)]
mod tests;

use std::path::Path;

use folkmoot_database::{DatabaseError, Worker};
use rusqlite::{Connection, Params, Row};
use tokio::sync::mpsc;

use crate::api::UpdateId;
use crate::ids::OutgoingId;

pub use cards::{Card, CardState, NewCard};
pub use outgoing::{Content, Draft, Outgoing, OutgoingKind, OutgoingState};
pub use preferences::{Preference, Scope};
pub use prompts::{NewPrompt, Prompt, PromptState, Unreadable};

/// The file's name in the data folder.
pub const FILE: &str = "telegram.db";
/// How many update ids are remembered; what comes again later than that is not a duplicate but a miracle.
const SEEN_UPDATES: i64 = 4096;

/// What happened to outgoing messages, in the order of the commits.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// A message is to be sent.
    Post(Outgoing),
    /// A message has new words, which are stored and must arrive.
    Revise(Outgoing),
    /// A message may show something else meanwhile; this is not stored and not pending.
    Show { outgoing: OutgoingId, content: Content },
    /// A message is to go away.
    Remove(Outgoing),
}

/// What the outbox works off.
pub type Orders = mpsc::UnboundedReceiver<Order>;

/// A handle on the file; cheap to clone. The file is closed when the last one is gone.
#[derive(Clone, Debug)]
pub struct Journal {
    worker: Worker,
    orders: mpsc::UnboundedSender<Order>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("a row cannot be read: {0}")]
    Unreadable(String),
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<serde_json::Error> for JournalError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

impl Journal {
    /// Opens the file in `folder`, and makes it if need be.
    pub fn open(folder: &Path) -> Result<(Self, Orders), JournalError> {
        let worker = Worker::open(&schema::SCHEMA, &folder.join(FILE))?;
        let (orders, receiver) = mpsc::unbounded_channel();
        Ok((Self { worker, orders }, receiver))
    }

    /// Runs `work` in a transaction; what it returns comes after the commit. An error undoes all it did.
    pub async fn transact<T, W>(&self, work: W) -> Result<T, JournalError>
    where
        T: Send + 'static,
        W: FnOnce(&mut Rows<'_>) -> Result<T, JournalError> + Send + 'static,
    {
        let work = move |connection: &Connection| {
            let mut rows = Rows { connection, orders: Vec::new() };
            let value = work(&mut rows)?;
            Ok((value, rows.orders))
        };
        let outbox = self.orders.clone();
        // Before the caller goes on, so that what it says next comes after it.
        let committed = move |(value, orders): (T, Vec<Order>)| {
            orders.into_iter().for_each(|order| drop(outbox.send(order)));
            value
        };
        self.worker.transact_then(work, committed).await
    }

    /// Shows something else in a [`OutgoingKind::Sign`], until something newer comes. It is not stored and not pending: what is
    /// overtaken before its time has come is never sent, and a restart forgets it.
    pub fn show(&self, outgoing: OutgoingId, content: Content) {
        let _ = self.orders.send(Order::Show { outgoing, content });
    }
}

/// The tables, within a transaction.
#[derive(Debug)]
pub struct Rows<'a> {
    connection: &'a Connection,
    orders: Vec<Order>,
}

impl Rows<'_> {
    /// Notes an update; `false` when it was here before.
    pub fn take_update(&mut self, update: UpdateId) -> Result<bool, JournalError> {
        let sql = "INSERT OR IGNORE INTO updates (id) VALUES (?)";
        let new = self.connection.prepare_cached(sql)?.execute([update.0])? == 1;
        if new {
            let sql = "DELETE FROM updates WHERE n <= (SELECT max(n) FROM updates) - ?";
            self.connection.prepare_cached(sql)?.execute([SEEN_UPDATES])?;
        }
        Ok(new)
    }

    /// Where to go on fetching: behind the last update that was taken.
    pub fn next_update(&self) -> Result<Option<UpdateId>, JournalError> {
        let sql = "SELECT id + 1 FROM updates ORDER BY n DESC LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?.map(UpdateId))
    }

    /// A value that the bridge keeps under a name of its own.
    pub fn value(&self, name: &str) -> Result<Option<String>, JournalError> {
        let mut statement = self.connection.prepare_cached("SELECT value FROM vals WHERE name = ?")?;
        let mut rows = statement.query([name])?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
    }

    pub fn set_value(&mut self, name: &str, value: &str) -> Result<(), JournalError> {
        let sql =
            "INSERT INTO vals (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.connection.prepare_cached(sql)?.execute([name, value])?;
        Ok(())
    }

    /// Forgets what was settled before `before` (seconds since 1970): finished prompts, messages, decided cards.
    pub fn forget_before(&mut self, before: i64) -> Result<(), JournalError> {
        self.forget_cards(before)?;
        self.forget_outgoing(before)?;
        self.forget_prompts(before)
    }

    fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        of: fn(&Row<'_>) -> Result<T, JournalError>,
    ) -> Result<Vec<T>, JournalError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(of(row)?);
        }
        Ok(found)
    }
}
