//! Who decides, and who has which role: rows that are taken by whoever finds them free, by the database's clock.
//!
//! The rows are changed with the epoch compared, so of two that reach for one only one gets it, and every change of hands has a
//! number of its own. Nothing here decides when to reach: that is the business of whoever calls.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::link::Link;
use super::place::Place;
use super::rows::{Id, Read, integer, number};
use crate::StoreError;

/// The row of whoever decides; the others are of roles.
pub const HUB: &str = "hub";

/// How the sessions of the one who decides are named, so that a successor can find and end them.
pub const WRITER: &str = "moot-writer-";

/// How long a predecessor's session may take to end.
const END_TIMEOUT_MS: i64 = 2000;
const FAR: Duration = Duration::from_secs(5);

/// A row, as the database saw it at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub epoch: u64,
    pub node: String,
    /// For how long it has not been renewed, by the database's clock.
    pub age: Duration,
    /// Given back, or never taken.
    pub is_free: bool,
    /// The session that took it has ended.
    pub is_orphaned: bool,
    pub batch: u64,
    pub last_id: u128,
    pub last_at: i64,
    pub level: i32,
}

/// A session of its own for leases, so that a long commit does not keep a renewal waiting.
pub struct Leases {
    link: Link,
}

impl Leases {
    /// Connects at the first question.
    pub fn new(place: Arc<Place>) -> Result<Self, StoreError> {
        Ok(Self { link: Link::new(place, "moot-lease")? })
    }

    /// How a lease stands; none where nobody ever took one of this name.
    pub fn read(&self, name: &str) -> Result<Option<Lease>, StoreError> {
        let rows = self.rows(READ, &[&name])?;
        Ok(rows.first().map(lease).transpose()?)
    }

    /// Takes it if it still has this epoch (0 for one that nobody ever took); none when somebody was quicker.
    pub fn take(&self, name: &str, epoch: u64, node: &str) -> Result<Option<Lease>, StoreError> {
        const MAKE: &str = "INSERT INTO leases (name, epoch, node, renewed_at, is_free, batch, last_id, last_at, level) \
            VALUES ($1, 0, '', clock_timestamp(), true, 0, $2, 0, 0) ON CONFLICT DO NOTHING";
        if epoch == 0 {
            self.rows(MAKE, &[&name, &Id(0)])?;
        }
        let rows = self.rows(TAKE, &[&name, &integer(epoch), &node])?;
        Ok(rows.first().map(lease).transpose()?)
    }

    /// Renews it; false when it is no longer of this epoch.
    pub fn renew(&self, name: &str, epoch: u64) -> Result<bool, StoreError> {
        const RENEW: &str =
            "UPDATE leases SET renewed_at = clock_timestamp() WHERE name = $1 AND epoch = $2 RETURNING 1";
        Ok(!self.rows(RENEW, &[&name, &integer(epoch)])?.is_empty())
    }

    /// Gives it back; false when it is no longer of this epoch.
    pub fn free(&self, name: &str, epoch: u64) -> Result<bool, StoreError> {
        const FREE: &str = "UPDATE leases SET is_free = true WHERE name = $1 AND epoch = $2 RETURNING 1";
        Ok(!self.rows(FREE, &[&name, &integer(epoch)])?.is_empty())
    }

    /// Raises the version of what travels, which all that live know; it never falls.
    pub fn raise_level(&self, epoch: u64, level: i32) -> Result<bool, StoreError> {
        const RAISE: &str =
            "UPDATE leases SET level = greatest(level, $2) WHERE name = 'hub' AND epoch = $1 RETURNING 1";
        Ok(!self.rows(RAISE, &[&integer(epoch), &level])?.is_empty())
    }

    /// Ends the writing sessions of older epochs: one that is paused may hold rows for which its successor would wait.
    pub fn end_older_writers(&self, epoch: u64) -> Result<u64, StoreError> {
        const END: &str = "SELECT pg_terminate_backend(pid, $2) FROM pg_stat_activity \
            WHERE datname = current_database() AND usename = current_user \
            AND application_name ~ '^moot-writer-[0-9]{1,18}$' AND substr(application_name, 13)::bigint < $1";
        Ok(self.rows(END, &[&integer(epoch), &END_TIMEOUT_MS])?.len() as u64)
    }

    fn rows(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        let asked = self.link.ask_within(FAR, async |session| {
            // A paused holder must not make everybody else wait.
            session.client().batch_execute("SET lock_timeout = 300").await?;
            session.query(sql, parameters).await
        });
        asked.map_err(|failure| self.link.explain(failure))
    }
}

macro_rules! lease_columns {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " epoch, node, (extract(epoch FROM clock_timestamp() - renewed_at) * 1000000)::bigint, is_free, NOT EXISTS ( \
                SELECT FROM pg_stat_activity a WHERE a.pid = l.pid AND a.backend_start = l.backend_start), \
            batch, last_id, last_at, level",
            $after
        )
    };
}

const READ: &str = lease_columns!("SELECT", " FROM leases l WHERE name = $1");

pub(super) const TAKE: &str = lease_columns!(
    "UPDATE leases l SET epoch = epoch + 1, node = $3, is_free = false, renewed_at = clock_timestamp(), pid = pg_backend_pid(), \
        backend_start = (SELECT a.backend_start FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()) \
        WHERE name = $1 AND epoch = $2 RETURNING",
    ""
);

pub(super) fn lease(row: &Row) -> Read<Lease> {
    Ok(Lease {
        epoch: number(row, 0)?,
        node: row.try_get(1)?,
        age: Duration::from_micros(number(row, 2)?),
        is_free: row.try_get(3)?,
        is_orphaned: row.try_get(4)?,
        batch: number(row, 5)?,
        last_id: row.try_get::<_, Id>(6)?.0,
        last_at: row.try_get(7)?,
        level: row.try_get(8)?,
    })
}
