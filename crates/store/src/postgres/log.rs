//! The log of batches: what was decided and answered, in order, for every node that follows.

use std::sync::Arc;
use std::time::Duration;

use super::link::Link;
use super::place::Place;
use super::rows::{Read, Unreadable, integer, limit, number};
use crate::StoreError;

/// There is one history for now; the log has room for more.
pub const REALM: i32 = 1;

/// One row of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub n: u64,
    pub epoch: u64,
    pub body: Vec<u8>,
}

/// Reading the log, in a session of its own.
pub struct Log {
    link: Link,
}

impl Log {
    /// Connects at the first question.
    pub fn new(place: Arc<Place>) -> Result<Self, StoreError> {
        Ok(Self { link: Link::new(place, "moot-log")? })
    }

    /// The batches after a number, in order. Where the first is not the next one, what lies between is no longer kept.
    pub fn after(&self, n: u64, at_most: usize) -> Result<Vec<Batch>, StoreError> {
        const AFTER: &str = "SELECT n, epoch, body FROM batches WHERE realm = $1 AND n > $2 ORDER BY n LIMIT $3";
        let rows =
            self.link.ask_twice(async |session| session.query(AFTER, &[&REALM, &integer(n), &limit(at_most)]).await)?;
        Ok(rows.iter().map(batch).collect::<Read<_>>()?)
    }

    /// How far it has come: the batch of the hub's lease.
    pub fn newest(&self) -> Result<u64, StoreError> {
        const NEWEST: &str = "SELECT batch FROM leases WHERE name = 'hub'";
        let row = self.link.ask_twice(async |session| session.row(NEWEST, &[]).await)?;
        Ok(row.as_ref().map_or(Ok(0), |row| number(row, 0))?)
    }

    /// Removes what is older than this by the database's clock, a portion at a time; how many rows went.
    pub fn trim(&self, older_than: Duration, at_most: usize) -> Result<u64, StoreError> {
        const TRIM: &str = "DELETE FROM batches WHERE realm = $1 AND n IN (SELECT n FROM batches WHERE realm = $1 \
            AND at < clock_timestamp() - make_interval(secs => $2) ORDER BY n LIMIT $3)";
        let seconds = older_than.as_secs_f64();
        let trimmed = self.link.ask(async |session| session.execute(TRIM, &[&REALM, &seconds, &limit(at_most)]).await);
        trimmed.map_err(|failure| self.link.explain(failure))
    }
}

fn batch(row: &tokio_postgres::Row) -> Read<Batch> {
    Ok(Batch { n: number(row, 0)?, epoch: number(row, 1)?, body: row.try_get(2)? })
}

impl From<Unreadable> for StoreError {
    fn from(unreadable: Unreadable) -> Self {
        Self::Other(format!("a row of the database cannot be read: {}", unreadable.0))
    }
}
