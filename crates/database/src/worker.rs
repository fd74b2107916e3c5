//! A thread that has the connection, for callers who must not wait on a disk.
//!
//! Work comes as closures over the connection. Each is all or nothing, those that wait at the same time share one commit,
//! and the caller hears of it after the commit.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::{DatabaseError, Schema};

/// How many closures share one commit.
const MAX_BATCH: usize = 64;

/// A handle on the thread; cheap to clone. When the last one is gone the file is closed, with everything in it and nothing beside it.
#[derive(Clone, Debug)]
pub struct Worker(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    /// Both are there until the end.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        drop(self.jobs.take());
        // Work that holds a handle may be what lets go of the last one: a thread cannot wait for itself.
        if let Some(thread) = self.thread.take().filter(|thread| thread.thread().id() != std::thread::current().id()) {
            let _ = thread.join();
        }
    }
}

/// Runs in a transaction, if there could be one, and leaves behind whoever is to be told how that ended.
type Job = Box<dyn FnOnce(Result<&Connection, DatabaseError>) -> Tell + Send>;
type Tell = Box<dyn FnOnce(Result<(), DatabaseError>) + Send>;

impl Worker {
    /// Opens a file, which blocks, and starts its thread.
    pub fn open(schema: &Schema, path: &Path) -> Result<Self, DatabaseError> {
        Self::start(schema.open(path)?, path)
    }

    /// Starts the thread of a file that is open; it is named after the file.
    pub fn start(connection: Connection, path: &Path) -> Result<Self, DatabaseError> {
        let (jobs, waiting) = mpsc::channel();
        let thread = Thread { connection, path: path.to_owned() };
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || thread.run(&waiting))
            .map_err(DatabaseError::in_file(path))?;
        Ok(Self(Arc::new(Handle { jobs: Some(jobs), thread: Some(thread) })))
    }

    /// Runs `work` in a transaction; what it returns comes after the commit. An error undoes all it did.
    pub async fn transact<T, E, W>(&self, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        W: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.transact_then(work, |value| value).await
    }

    /// The same; `then` runs after the commit and before the caller goes on, in the order of the commits.
    pub async fn transact_then<T, U, E, W, C>(&self, work: W, then: C) -> Result<U, E>
    where
        T: Send + 'static,
        U: Send + 'static,
        E: From<DatabaseError> + Send + 'static,
        W: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        C: FnOnce(T) -> U + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let job: Job = Box::new(move |open| {
            let outcome = open.map_err(E::from).and_then(|connection| attempt(connection, work));
            Box::new(move |commit| {
                let told = commit.map_err(E::from).and(outcome).map(then);
                let _ = sender.send(told);
            })
        });
        let sent = self.0.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if !sent {
            return Err(DatabaseError::Closed.into());
        }
        receiver.await.unwrap_or(Err(DatabaseError::Closed.into()))
    }
}

/// One closure: all of it, or nothing.
fn attempt<T, E: From<DatabaseError>>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    let batch = |sql| connection.execute_batch(sql).map_err(DatabaseError::from);
    batch("SAVEPOINT work")?;
    let outcome = work(connection);
    if outcome.is_err() {
        batch("ROLLBACK TO work")?;
    }
    batch("RELEASE work")?;
    outcome
}

struct Thread {
    connection: Connection,
    path: PathBuf,
}

impl Thread {
    fn run(self, jobs: &mpsc::Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let waiting = std::iter::from_fn(|| jobs.try_recv().ok()).take(MAX_BATCH - 1);
            self.commit(std::iter::once(first).chain(waiting));
        }
    }

    fn commit(&self, batch: impl Iterator<Item = Job>) {
        let run = |sql| self.connection.execute_batch(sql).map_err(DatabaseError::from);
        let begun = run("BEGIN IMMEDIATE");
        let open = || begun.clone().map(|()| &self.connection);
        let waiting: Vec<Tell> = batch.map(|job| job(open())).collect();
        let committed = begun.clone().and_then(|()| run("COMMIT"));
        if let Err(error) = &committed {
            let _ = run("ROLLBACK");
            tracing::error!(file = %self.path.display(), %error, "the database could not be written");
        }
        waiting.into_iter().for_each(|tell| tell(committed.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ONE: Schema =
        Schema { mark: *b"Tst", migrations: &["CREATE TABLE one (a INTEGER)"], pragmas: &[], statements: 4 };

    fn worker() -> (tempfile::TempDir, Worker) {
        let folder = tempfile::tempdir().unwrap();
        let worker = Worker::open(&ONE, &folder.path().join("one.db")).unwrap();
        (folder, worker)
    }

    fn add(connection: &Connection, number: i64) -> Result<(), DatabaseError> {
        connection.execute("INSERT INTO one VALUES (?)", [number])?;
        Ok(())
    }

    async fn count(worker: &Worker) -> i64 {
        let count = |connection: &Connection| {
            connection.query_row("SELECT count(*) FROM one", [], |row| row.get(0)).map_err(DatabaseError::from)
        };
        worker.transact(count).await.unwrap()
    }

    #[tokio::test]
    async fn what_fails_half_way_did_not_happen_and_hurts_nobody_else() {
        let (_folder, worker) = worker();
        let failing = worker.transact(|connection| {
            add(connection, 1)?;
            Err::<(), _>(DatabaseError::Failed("no".into()))
        });
        let (failed, stored) = tokio::join!(failing, worker.transact(|connection| add(connection, 2)));
        assert_eq!((failed, stored), (Err(DatabaseError::Failed("no".into())), Ok(())));
        assert_eq!(count(&worker).await, 1);
    }

    #[tokio::test]
    async fn when_the_last_handle_is_gone_the_file_alone_holds_everything() {
        let (folder, worker) = worker();
        let other = worker.clone();
        other.transact(|connection| add(connection, 1)).await.unwrap();
        drop((worker, other));
        assert!(!folder.path().join("one.db-wal").exists());
        let file = Connection::open(folder.path().join("one.db")).unwrap();
        let count: i64 = file.query_row("SELECT count(*) FROM one", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1);
    }

    #[tokio::test]
    async fn nothing_is_done_outside_of_a_transaction() {
        let (folder, worker) = worker();
        let impatient = |connection: &Connection| connection.busy_timeout(Duration::ZERO).map_err(DatabaseError::from);
        worker.transact(impatient).await.unwrap();
        let other = Connection::open(folder.path().join("one.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let (ran, was_run) = mpsc::channel();
        let work = move |_: &Connection| ran.send(()).map_err(|_| DatabaseError::Closed);
        let refused = worker.transact(work).await;
        assert!(matches!(refused, Err(DatabaseError::Failed(_))), "{refused:?}");
        assert!(was_run.try_recv().is_err(), "whoever is told that it failed must not find half of it");
        other.execute_batch("ROLLBACK").unwrap();
        assert_eq!(worker.transact(|connection| add(connection, 1)).await, Ok(()), "and then it goes on");
    }

    #[tokio::test]
    async fn many_at_once_are_all_stored_and_told_of_in_their_order() {
        let (_folder, worker) = worker();
        let (told, order) = mpsc::channel();
        let all = (0..200).map(|number| {
            let (worker, told) = (worker.clone(), told.clone());
            async move {
                let then = move |()| told.send(number).unwrap();
                worker.transact_then(move |connection| add(connection, number), then).await
            }
        });
        let mut waiting = tokio::task::JoinSet::new();
        all.for_each(|one| drop(waiting.spawn(one)));
        assert!(waiting.join_all().await.into_iter().all(|outcome: Result<(), DatabaseError>| outcome.is_ok()));
        assert_eq!(count(&worker).await, 200);
        let read = |connection: &Connection| {
            let mut statement = connection.prepare("SELECT a FROM one ORDER BY rowid")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            rows.collect::<Result<Vec<i64>, _>>().map_err(DatabaseError::from)
        };
        assert_eq!(worker.transact(read).await.unwrap(), order.try_iter().collect::<Vec<_>>());
    }
}
