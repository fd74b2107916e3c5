//! What survives a crash of the daemon: what the hub is owed, and which runs were going.
//!
//! One SQLite file (`synchronous=FULL`). What is owed is written before it is sent and stays until the hub has answered; a
//! result stays longer, so that a wake that comes again is answered with it and not with a second run.

use std::path::Path;

pub use folkmoot_database::DatabaseError as JournalError;
use folkmoot_database::{Schema, Worker};
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;

/// The file's name in the data folder.
pub const FILE: &str = "agentd.db";
/// How long results and runs are remembered: longer than the hub keeps a wake open.
const KEPT: &str = "-14 days";

const SCHEMA: Schema = Schema { mark: *b"Agd", migrations: &[FIRST], pragmas: &[], statements: 16 };

const FIRST: &str = "
CREATE TABLE owed (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    delivery TEXT,
    settled INTEGER NOT NULL DEFAULT 0,
    at INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;
CREATE INDEX owed_open ON owed (n) WHERE settled = 0;
CREATE INDEX owed_delivery ON owed (delivery) WHERE delivery IS NOT NULL;

CREATE TABLE runs (
    delivery TEXT NOT NULL PRIMARY KEY,
    run TEXT NOT NULL,
    engine TEXT NOT NULL,
    resume TEXT NOT NULL,
    at INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT, WITHOUT ROWID;
";

/// A frame that the hub must get.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    /// The envelope's id, the same at every attempt.
    pub id: String,
    pub kind: String,
    pub data: Value,
    /// The delivery that this settles.
    pub delivery: Option<String>,
}

/// A run that has a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRun {
    pub run: String,
    pub engine: String,
    pub resume: String,
}

/// A handle on the file; clones share it.
#[derive(Clone)]
pub struct Journal {
    worker: Worker,
}

impl Journal {
    /// Opens the file in `folder` and forgets what is old in it; blocks.
    pub fn open(folder: &Path) -> Result<Self, JournalError> {
        let path = folder.join(FILE);
        let connection = SCHEMA.open(&path)?;
        forget_old(&connection)?;
        Ok(Self { worker: Worker::start(connection, &path)? })
    }

    /// Remembers what the hub is owed; the same id a second time changes nothing.
    pub async fn enqueue(&self, outgoing: Outgoing) -> Result<(), JournalError> {
        self.with(move |connection| {
            let sql = "INSERT OR IGNORE INTO owed (id, kind, body, delivery) VALUES (?, ?, ?, ?)";
            let values = (outgoing.id, outgoing.kind, outgoing.data.to_string(), outgoing.delivery);
            connection.prepare_cached(sql)?.execute(values).map(drop)
        })
        .await
    }

    /// What the hub has not answered yet, oldest first.
    pub async fn unanswered(&self) -> Result<Vec<Outgoing>, JournalError> {
        self.with(|connection| {
            let sql = "SELECT id, kind, body, delivery FROM owed WHERE settled = 0 ORDER BY n";
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_map((), of_row)?.collect()
        })
        .await
    }

    /// The results that a delivery was settled with, whether the hub has them or not.
    pub async fn results_of(&self, delivery: String) -> Result<Vec<Outgoing>, JournalError> {
        self.with(move |connection| {
            let sql = "SELECT id, kind, body, delivery FROM owed WHERE delivery = ? ORDER BY n";
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_map((delivery,), of_row)?.collect()
        })
        .await
    }

    /// The deliveries that have a result.
    pub async fn finished(&self) -> Result<Vec<String>, JournalError> {
        self.with(|connection| {
            let mut statement = connection.prepare("SELECT DISTINCT delivery FROM owed WHERE delivery IS NOT NULL")?;
            statement.query_map((), |row| row.get(0))?.collect()
        })
        .await
    }

    /// The hub has answered.
    pub async fn settle(&self, id: String) -> Result<(), JournalError> {
        self.with(move |connection| {
            connection.prepare_cached("UPDATE owed SET settled = 1 WHERE id = ?")?.execute((id,)).map(drop)
        })
        .await
    }

    pub async fn keep_run(&self, delivery: String, kept: KeptRun) -> Result<(), JournalError> {
        self.with(move |connection| {
            let sql = "INSERT OR REPLACE INTO runs (delivery, run, engine, resume) VALUES (?, ?, ?, ?)";
            let values = (delivery, kept.run, kept.engine, kept.resume);
            connection.prepare_cached(sql)?.execute(values).map(drop)
        })
        .await
    }

    pub async fn run_of(&self, delivery: String) -> Result<Option<KeptRun>, JournalError> {
        self.with(move |connection| {
            let sql = "SELECT run, engine, resume FROM runs WHERE delivery = ?";
            let of = |row: &Row<'_>| Ok(KeptRun { run: row.get(0)?, engine: row.get(1)?, resume: row.get(2)? });
            connection.prepare_cached(sql)?.query_row((delivery,), of).optional()
        })
        .await
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.worker.transact(move |connection| work(connection).map_err(JournalError::from)).await
    }
}

fn of_row(row: &Row<'_>) -> rusqlite::Result<Outgoing> {
    let body: String = row.get(2)?;
    let data = serde_json::from_str(&body).unwrap_or_default();
    Ok(Outgoing { id: row.get(0)?, kind: row.get(1)?, data, delivery: row.get(3)? })
}

fn forget_old(connection: &Connection) -> rusqlite::Result<()> {
    let old = format!("WHERE at < unixepoch('now', '{KEPT}')");
    connection.execute_batch(&format!("DELETE FROM owed {old} AND settled = 1; DELETE FROM runs {old};"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outgoing(id: &str, delivery: Option<&str>) -> Outgoing {
        let (id, kind) = (id.to_owned(), "run.complete".to_owned());
        Outgoing { id, kind, data: json!({"run_id": "run_1"}), delivery: delivery.map(str::to_owned) }
    }

    #[tokio::test]
    async fn what_is_owed_stays_until_the_hub_has_answered_also_over_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        journal.enqueue(outgoing("1", Some("dlv_1"))).await.unwrap();
        journal.enqueue(outgoing("1", Some("dlv_1"))).await.unwrap();
        journal.enqueue(outgoing("2", None)).await.unwrap();
        drop(journal);
        let journal = Journal::open(folder.path()).unwrap();
        assert_eq!(journal.unanswered().await.unwrap(), [outgoing("1", Some("dlv_1")), outgoing("2", None)]);
        journal.settle("1".to_owned()).await.unwrap();
        assert_eq!(journal.unanswered().await.unwrap(), [outgoing("2", None)]);
    }

    #[tokio::test]
    async fn a_result_is_found_again_after_it_was_settled() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        journal.enqueue(outgoing("1", Some("dlv_1"))).await.unwrap();
        journal.settle("1".to_owned()).await.unwrap();
        assert_eq!(journal.finished().await.unwrap(), ["dlv_1"]);
        assert_eq!(journal.results_of("dlv_1".to_owned()).await.unwrap().len(), 1);
        assert!(journal.results_of("dlv_2".to_owned()).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn the_thread_of_a_run_is_kept_and_the_newest_counts() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(folder.path()).unwrap();
        let kept = |resume: &str| KeptRun { run: "run_1".into(), engine: "codex".into(), resume: resume.into() };
        journal.keep_run("dlv_1".to_owned(), kept("a")).await.unwrap();
        journal.keep_run("dlv_1".to_owned(), kept("b")).await.unwrap();
        assert_eq!(journal.run_of("dlv_1".to_owned()).await.unwrap(), Some(kept("b")));
        assert_eq!(journal.run_of("dlv_2".to_owned()).await.unwrap(), None);
    }

    #[test]
    fn a_file_of_a_newer_version_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        drop(Journal::open(folder.path()).unwrap());
        let connection = Connection::open(folder.path().join(FILE)).unwrap();
        connection.pragma_update(None, "user_version", SCHEMA.version() + 1).unwrap();
        assert!(matches!(Journal::open(folder.path()), Err(JournalError::Newer { .. })));
    }
}
