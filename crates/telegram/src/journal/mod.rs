//! What the bridge keeps on disk: updates taken, prompts, what is to be sent, preferences.
//!
//! One SQLite file, one thread that owns it. Work comes as closures over [`Rows`]; each is all or nothing, those that wait
//! at the same time share one commit (`synchronous=FULL`), and the caller hears of it after the commit. So whatever belongs
//! together, such as "this update was seen, this prompt is stored and this message is to be sent", is one closure.
//!
//! What was posted, revised or removed in a closure reaches the [outbox](crate::outbox) after the commit and before the
//! caller goes on; nobody has to pass it on.

mod cards;
mod prompts;
mod schema;
mod settings;
mod slips;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::mpsc as blocking;

use rusqlite::{Connection, ErrorCode, Params, Row};
use tokio::sync::{mpsc, oneshot};

use crate::api::UpdateId;

pub use cards::{Card, CardId, CardState, NewCard};
pub use prompts::{NewPrompt, Prompt, PromptId, PromptState};
pub use settings::{Preference, Scope};
pub use slips::{Content, Draft, Kind, Slip, SlipId, SlipState};

/// The file's name in the data folder.
pub const FILE: &str = "telegram.db";
/// How many update ids are remembered; what comes again later than that is not a duplicate but a miracle.
const SEEN_UPDATES: i64 = 4096;
/// How many closures share one commit.
const BATCH: usize = 64;

/// What happened to slips, in the order of the commits.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// A message is to be sent.
    Post(Slip),
    /// A message has new words, which are stored and must arrive.
    Revise(Slip),
    /// A message may show something else meanwhile; this is not stored and not owed.
    Show { slip: SlipId, content: Content },
    /// A message is to go away.
    Remove(Slip),
}

/// What the outbox works off.
pub type Orders = mpsc::UnboundedReceiver<Order>;

/// A handle on the file; cheap to clone. The file is closed when the last one is gone.
#[derive(Clone, Debug)]
pub struct Journal {
    work: blocking::Sender<Work>,
    orders: mpsc::UnboundedSender<Order>,
}

/// Runs in a transaction and leaves behind whoever is to be told how that ended.
type Work = Box<dyn FnOnce(&mut Rows<'_>) -> Told + Send>;
type Told = Box<dyn FnOnce(Result<(), JournalError>) + Send>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("the disk is full")]
    Full,
    #[error("`{path}` was written by a newer version (its format is {found}, this one knows {known})")]
    Newer { path: String, found: u32, known: u32 },
    #[error("cannot use `{path}`: {cause}")]
    File { path: String, cause: String },
    #[error("the journal failed: {0}")]
    Other(String),
    #[error("the journal is closed")]
    Closed,
}

impl From<rusqlite::Error> for JournalError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for JournalError {
    fn from(error: serde_json::Error) -> Self {
        Self::Other(format!("a row cannot be read: {error}"))
    }
}

impl Journal {
    /// Opens the file in `folder`, which must exist, and makes it if need be.
    pub fn open(folder: &Path) -> Result<(Self, Orders), JournalError> {
        let path = folder.join(FILE);
        let connection = schema::open(&path)?;
        let (work, jobs) = blocking::channel();
        let (orders, receiver) = mpsc::unbounded_channel();
        let keeper = Keeper { connection, path, orders: orders.clone() };
        std::thread::Builder::new()
            .name("telegram-journal".into())
            .spawn(move || keeper.run(&jobs))
            .map_err(|error| JournalError::Other(error.to_string()))?;
        Ok((Self { work, orders }, receiver))
    }

    /// Runs `work` in a transaction; what it returns comes after the commit. An error undoes all it did.
    pub async fn transact<T, W>(&self, work: W) -> Result<T, JournalError>
    where
        T: Send + 'static,
        W: FnOnce(&mut Rows<'_>) -> Result<T, JournalError> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let job: Work = Box::new(move |rows| {
            let outcome = rows.attempt(work);
            Box::new(move |commit| {
                let _ = sender.send(commit.and(outcome));
            })
        });
        self.work.send(job).map_err(|_| JournalError::Closed)?;
        receiver.await.unwrap_or(Err(JournalError::Closed))
    }

    /// Shows something else in a [`Kind::Sign`], until something newer comes. It is not stored and not owed: what is
    /// overtaken before its time has come is never sent, and a restart forgets it.
    pub fn show(&self, slip: SlipId, content: Content) {
        let _ = self.orders.send(Order::Show { slip, content });
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
        self.forget_slips(before)?;
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

    /// One closure: all of it, or nothing.
    fn attempt<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, JournalError>) -> Result<T, JournalError> {
        let orders = self.orders.len();
        self.connection.execute_batch("SAVEPOINT work")?;
        let outcome = work(self);
        if outcome.is_err() {
            self.orders.truncate(orders);
            self.connection.execute_batch("ROLLBACK TO work")?;
        }
        self.connection.execute_batch("RELEASE work")?;
        outcome
    }
}

/// The thread's own: the connection, and whom to tell.
struct Keeper {
    connection: Connection,
    path: PathBuf,
    orders: mpsc::UnboundedSender<Order>,
}

impl Keeper {
    fn run(self, jobs: &blocking::Receiver<Work>) {
        while let Ok(first) = jobs.recv() {
            let waiting = std::iter::from_fn(|| jobs.try_recv().ok()).take(BATCH - 1);
            self.commit(std::iter::once(first).chain(waiting));
        }
    }

    fn commit(&self, batch: impl Iterator<Item = Work>) {
        let begun = self.connection.execute_batch("BEGIN IMMEDIATE");
        let mut rows = Rows { connection: &self.connection, orders: Vec::new() };
        let told: Vec<Told> = batch.map(|work| work(&mut rows)).collect();
        let committed = begun.and_then(|()| self.connection.execute_batch("COMMIT"));
        if let Err(error) = &committed {
            let _ = self.connection.execute_batch("ROLLBACK");
            tracing::error!(file = %self.path.display(), %error, "the journal could not be written");
        } else {
            // Before the callers go on, so that what they say next comes after it.
            rows.orders.drain(..).for_each(|order| drop(self.orders.send(order)));
        }
        let outcome = committed.map_err(JournalError::from);
        told.into_iter().for_each(|told| told(outcome.clone()));
    }
}
