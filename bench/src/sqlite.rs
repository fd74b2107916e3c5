//! Bare SQLite with group commit: how many durable, acknowledged inserts this disk and core allow at best.
//!
//! Everything that waits is inserted in one transaction and committed (WAL, `synchronous=FULL`). The rows have the size of a
//! stored message, a unique id and one index. The bare server stores this way what comes over its sockets; and, to see
//! what the sockets cost, [`measure`] does it without any: one writer thread on the server's core acknowledges each insert to
//! the task on the load's core that sent it, each task in a closed loop.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use rusqlite::{Connection, params};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::process::{self, LOAD_CORE, SERVER_CORE};
use crate::stats::Spread;

const TEXT_BYTES: usize = 240;

pub struct Outcome {
    pub per_second: f64,
    pub latency: Spread,
}

/// The database of bare rows.
pub struct Rows {
    connection: Connection,
    count: i64,
    body: String,
}

impl Rows {
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { connection: open(path)?, count: 0, body: "x".repeat(TEXT_BYTES) })
    }

    /// Stores one row for each sender named; durable when it returns.
    pub fn store(&mut self, senders: impl Iterator<Item = usize>) -> Result<()> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached("insert into message values (?1, ?2, ?3, ?4)")?;
            for sender in senders {
                self.count += 1;
                insert.execute(params![format!("msg_{:026}", self.count), sender as i64, self.count, self.body])?;
            }
        }
        Ok(transaction.commit()?)
    }
}

/// A row to store, and whom to tell when it is on disk.
struct Insert {
    sender: usize,
    acknowledge: oneshot::Sender<()>,
}

pub fn version() -> &'static str {
    rusqlite::version()
}

/// Runs the closed loop with so many senders on a fresh database in the folder.
pub fn measure(folder: &Path, senders: usize, duration: Duration) -> Result<Outcome> {
    let path = folder.join(format!("bare-{senders}.sqlite"));
    let rows = Rows::open(&path)?;
    let (requests, waiting) = channel();
    let outcome = std::thread::scope(|scope| {
        let writer = scope.spawn(move || write_all(rows, &waiting));
        let driver = scope.spawn(move || drive(senders, duration, &requests));
        let outcome = driver.join().map_err(|_| anyhow!("the driver thread panicked"))?;
        writer.join().map_err(|_| anyhow!("the writer thread panicked"))??;
        outcome
    });
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
    }
    outcome
}

fn open(path: &Path) -> Result<Connection> {
    let _ = std::fs::remove_file(path);
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch(
        "create table message (id text primary key, channel integer not null, seq integer not null, body text not null);
         create unique index message_seq on message (channel, seq);",
    )?;
    Ok(connection)
}

/// Takes everything that waits, commits it together, and tells each sender.
fn write_all(mut rows: Rows, waiting: &Receiver<Insert>) -> Result<()> {
    process::pin_this_thread(SERVER_CORE)?;
    while let Ok(first) = waiting.recv() {
        let mut batch = vec![first];
        batch.extend(waiting.try_iter());
        rows.store(batch.iter().map(|one| one.sender))?;
        for one in batch {
            let _ = one.acknowledge.send(());
        }
    }
    Ok(())
}

fn drive(senders: usize, duration: Duration, requests: &Sender<Insert>) -> Result<Outcome> {
    process::pin_this_thread(LOAD_CORE)?;
    let start = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut latencies = runtime.block_on(async {
        let mut running: JoinSet<_> =
            (0..senders).map(|sender| send_on(sender, start + duration, requests.clone())).collect();
        let mut latencies = Vec::new();
        while let Some(ended) = running.join_next().await {
            latencies.append(&mut ended??);
        }
        anyhow::Ok(latencies)
    })?;
    let per_second = latencies.len() as f64 / start.elapsed().as_secs_f64();
    Ok(Outcome { per_second, latency: Spread::of_nanos(&mut latencies) })
}

/// One sender: the next row goes out when the last one is on disk.
async fn send_on(sender: usize, until: Instant, requests: Sender<Insert>) -> Result<Vec<u64>> {
    let mut latencies = Vec::new();
    loop {
        let sent_at = Instant::now();
        if sent_at >= until {
            return Ok(latencies);
        }
        let (acknowledge, acknowledged) = oneshot::channel();
        requests.send(Insert { sender, acknowledge })?;
        acknowledged.await?;
        latencies.push(u64::try_from(sent_at.elapsed().as_nanos())?);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sender_gets_its_acknowledgements_and_no_file_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let outcome = measure(folder.path(), 4, Duration::from_millis(50)).expect("an outcome");
        assert!(outcome.per_second > 0.0);
        assert!(outcome.latency.count >= 4);
        assert_eq!(std::fs::read_dir(folder.path()).expect("a listing").count(), 0);
    }
}
