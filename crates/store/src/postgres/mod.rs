//! The store for several nodes, or for whoever runs a Postgres anyway: the same rules as on SQLite, a server away.
//!
//! What a round trip costs shapes it. Appends gather in memory and are sent at the commit, all statements and the commit itself in
//! one flush; look-ups are answered from what is known ([`overlay`]), which [`foresight`] fetches for a whole batch at once.
//! The last statement before every commit is the fence: it counts the batch and fails when somebody else has taken over.
//! A commit whose answer was lost is looked up in that count, under a new epoch, so that it cannot happen any more if it did not.

mod directory;
mod foresight;
mod index;
pub mod lease;
pub(crate) mod link;
pub mod log;
mod overlay;
mod place;
mod read;
mod reader;
pub(crate) mod records;
mod refusals;
pub(crate) mod rows;
pub(crate) mod schema;
mod search;
#[cfg(test)]
mod tests;
mod tls;
mod transaction;
pub(crate) mod write;

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio_postgres::error::SqlState;

use self::lease::{HUB, Lease, WRITER};
use self::link::{ANSWER_TIMEOUT, Failure, Link, anywhere};
use self::transaction::Writing;
use crate::{Directory, Location, Reader, Store, StoreError, Transaction};

pub use place::{Place, is_postgres};
pub use schema::VERSION;

/// The version of the tables that are there, if any; a newer one than ours is an error. Changes nothing; a hub may be running.
pub fn inspect(place: &Arc<Place>) -> Result<Option<u32>, StoreError> {
    anywhere(|| schema::inspect(&Link::new(Arc::clone(place), "moot-doctor")?))
}

/// How long a start waits for the session of a hub that was stopped a moment ago.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a commit whose answer was lost is looked up, while nobody is answered.
const LOOK_UP_TIMEOUT: Duration = Duration::from_secs(60);
const LOOK_UP_PAUSE: Duration = Duration::from_millis(250);

pub struct Postgres {
    link: Link,
    post: Post,
    /// The directory was asked for and could not be read: whoever asked may hold for true what was never stored.
    is_stale: AtomicBool,
    /// What else is this process's own as long as the store lives.
    held: Option<File>,
}

/// What this store may do.
enum Post {
    /// It is the only hub of the database, and takes its lease itself.
    Alone(Lead),
    /// Somebody else takes leases for it; it writes in this epoch.
    Leads(Lead),
    /// It only reads.
    Follows,
}

#[derive(Clone, Copy)]
struct Lead {
    epoch: u64,
    /// The last batch that was committed.
    batch: u64,
    /// Which session writes, so that it can be ended when it was lost.
    writer: Writer,
}

/// A session as the server knows it.
#[derive(Clone, Copy, Default)]
struct Writer {
    pid: i32,
    started: i64,
}

impl Postgres {
    /// Opens the database for one hub, makes or renews its tables, and takes it for this process.
    pub fn open(place: &Arc<Place>) -> Result<Self, StoreError> {
        anywhere(|| {
            let link = Link::new(Arc::clone(place), format!("{WRITER}0"))?;
            schema::prepare(&link)?;
            let mut store = Self { link, post: Post::Follows, is_stale: AtomicBool::new(false), held: None };
            store.lock(Kind::Alone)?;
            store.post = Post::Alone(store.take(None)?);
            Ok(store)
        })
    }

    /// Opens the database for one of several nodes: it reads until it is told to [lead](Store::lead).
    pub fn join(place: &Arc<Place>) -> Result<Self, StoreError> {
        anywhere(|| {
            let link = Link::new(Arc::clone(place), "moot-node")?;
            schema::prepare(&link)?;
            let store = Self { link, post: Post::Follows, is_stale: AtomicBool::new(false), held: None };
            store.lock(Kind::OneOfSeveral)?;
            Ok(store)
        })
    }

    /// Keeps a lock as long as the store lives.
    pub(crate) fn hold(&mut self, lock: File) {
        self.held = Some(lock);
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Whether nothing was ever stored.
    pub(crate) fn is_empty(&self) -> Result<bool, StoreError> {
        const EMPTY: &str = "SELECT NOT EXISTS (SELECT FROM records) AND NOT EXISTS (SELECT FROM messages)";
        let row = anywhere(|| self.link.ask_twice(async |session| session.client().query_one(EMPTY, &[]).await))?;
        Ok(row.try_get(0).map_err(rows::Unreadable::from)?)
    }

    /// Which history it holds; another after everything was replaced.
    pub(crate) fn history(&self) -> Result<String, StoreError> {
        const HISTORY: &str = "SELECT encode(value, 'hex') FROM settings WHERE name = 'history_id'";
        let row = anywhere(|| self.link.ask_twice(async |session| session.client().query_one(HISTORY, &[]).await))?;
        Ok(row.try_get(0).map_err(rows::Unreadable::from)?)
    }

    fn lead_now(&self) -> Option<Lead> {
        match &self.post {
            Post::Alone(lead) | Post::Leads(lead) => Some(*lead),
            Post::Follows => None,
        }
    }

    fn set_lead(&mut self, new: Lead) {
        match &mut self.post {
            Post::Alone(lead) | Post::Leads(lead) => *lead = new,
            Post::Follows => {}
        }
    }

    /// One hub alone keeps all others away, nodes of a cluster keep such a hub away. The lock ends with the session.
    fn lock(&self, kind: Kind) -> Result<(), StoreError> {
        let lock = match kind {
            Kind::Alone => "SELECT pg_advisory_lock(x'6d6f6f74'::int, 1)",
            Kind::OneOfSeveral => "SELECT pg_advisory_lock_shared(x'6d6f6f74'::int, 1)",
        };
        let timeout = LOCK_TIMEOUT.as_millis();
        let sql = format!("SET lock_timeout = {timeout}; {lock}; SET lock_timeout = 0");
        match self.link.ask(async |session| session.client().batch_execute(&sql).await) {
            Ok(()) => Ok(()),
            Err(Failure::Refused(error)) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                Err(StoreError::DatabaseInUse(self.link.place().shown().to_owned()))
            }
            Err(failure) => Err(self.link.explain(failure)),
        }
    }

    /// Takes the hub's lease: after `last` if we had it, else after whoever had it.
    fn take(&self, last: Option<Lead>) -> Result<Lead, StoreError> {
        const EPOCH: &str = "SELECT epoch FROM leases WHERE name = $1";
        const ME: &str = "SELECT pid, (extract(epoch FROM backend_start) * 1000000)::bigint FROM pg_stat_activity \
            WHERE pid = pg_backend_pid()";
        let node = "alone";
        let taken = self.link.ask(async |session| {
            let epoch = match last {
                Some(lead) => rows::integer(lead.epoch),
                None => session.client().query_one(EPOCH, &[&HUB]).await?.try_get(0)?,
            };
            let me = session.client().query_one(ME, &[]).await?;
            let writer = Writer { pid: me.try_get(0)?, started: me.try_get(1)? };
            Ok((session.row(lease::TAKE, &[&HUB, &epoch, &node]).await?, writer))
        });
        let (row, writer) = taken.map_err(|failure| self.link.explain(failure))?;
        let Lease { epoch, batch, .. } = lease::lease(row.as_ref().ok_or(StoreError::Fenced)?)?;
        self.make_ready(epoch)?;
        Ok(Lead { epoch, batch, writer })
    }

    /// Gives the session the name of its epoch, and everything it will need, so that no commit waits for that.
    fn make_ready(&self, epoch: u64) -> Result<(), StoreError> {
        let name = format!("SET application_name = '{WRITER}{epoch}'");
        let ready = self.link.ask(async |session| {
            session.client().batch_execute(&name).await?;
            transaction::prepare(session).await
        });
        ready.map_err(|failure| self.link.explain(failure))
    }

    /// Makes sure that there is a session to write in, under a lease that is ours.
    fn ensure_session(&mut self) -> Result<Lead, StoreError> {
        let Some(lead) = self.lead_now() else { return Err(StoreError::Fenced) };
        // What is known to be lost before anything is sent need not be looked up after it.
        if self.link.is_still_connected() {
            return Ok(lead);
        }
        let lead = self.regain(lead).inspect_err(|_| self.link.hang_up())?;
        self.set_lead(lead);
        Ok(lead)
    }

    /// A new session in place of one that was lost. What the old one did not commit by now it never will: it is ended, and its
    /// epoch is over.
    fn regain(&self, last: Lead) -> Result<Lead, StoreError> {
        const END: &str = "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity \
            WHERE pid = $1 AND (extract(epoch FROM backend_start) * 1000000)::bigint = $2";
        if matches!(self.post, Post::Leads(_)) {
            // Whoever takes leases for us takes the next one, and says where we stand.
            return Err(StoreError::Fenced);
        }
        let Writer { pid, started } = last.writer;
        let ended = self.link.ask(async |session| session.query(END, &[&pid, &started]).await);
        ended.map_err(|failure| self.link.explain(failure))?;
        self.lock(Kind::Alone)?;
        self.take(Some(last))
    }

    /// Whether a batch is stored whose commit was not answered; waits until the database can say so.
    fn look_up(&mut self, n: u64) -> Result<bool, StoreError> {
        let Some(lead) = self.lead_now() else { return Err(StoreError::Fenced) };
        let begin = Instant::now();
        self.link.hang_up();
        loop {
            match self.regain(lead).inspect_err(|_| self.link.hang_up()) {
                Ok(regained) => {
                    self.set_lead(regained);
                    return Ok(regained.batch >= n);
                }
                Err(StoreError::Fenced) => return self.look_up_in_log(n, lead.epoch),
                Err(_) if begin.elapsed() < LOOK_UP_TIMEOUT => std::thread::sleep(LOOK_UP_PAUSE),
                Err(_) => return Err(StoreError::Unknown),
            }
        }
    }

    /// Somebody else decides now: if batches went on without ours it is not there, and the log may say whose it was.
    fn look_up_in_log(&self, n: u64, epoch: u64) -> Result<bool, StoreError> {
        const LOOK: &str = "SELECT l.batch, l.epoch, b.epoch FROM leases l \
            LEFT JOIN batches b ON b.realm = $1 AND b.n = $2 WHERE l.name = 'hub'";
        let (realm, number) = (log::REALM, rows::integer(n));
        let row = self.link.ask(async |session| session.row(LOOK, &[&realm, &number]).await);
        // No session stays that is not made for writing.
        self.link.hang_up();
        let Some(row) = row.map_err(|_| StoreError::Unknown)? else { return Err(StoreError::Unknown) };
        let (batch, now) = (rows::number(&row, 0)?, rows::number(&row, 1)?);
        let logged: Option<i64> = row.try_get(2).map_err(rows::Unreadable::from)?;
        match logged {
            Some(by) => Ok(by == rows::integer(epoch)),
            // As long as our epoch lasts, a commit may still be on its way.
            None if batch < n && now > epoch => Ok(false),
            None => Err(StoreError::Unknown),
        }
    }
}

enum Kind {
    Alone,
    OneOfSeveral,
}

impl Store for Postgres {
    fn directory(&self) -> Result<Directory, StoreError> {
        // In a session of its own: that of the writer is made anew only together with its lease.
        let load = || directory::load(&Link::new(Arc::clone(self.link.place()), "moot-directory")?);
        let loaded = anywhere(load);
        self.is_stale.store(loaded.is_err(), Ordering::Relaxed);
        loaded
    }

    fn begin(&mut self) -> Result<Box<dyn Transaction + '_>, StoreError> {
        self.ensure_session()?;
        if self.is_stale.load(Ordering::Relaxed) {
            let cause = "what is in memory has to be read anew".to_owned();
            return Err(StoreError::Unreachable { place: self.link.place().shown().to_owned(), cause });
        }
        Ok(Box::new(Writing::new(self)))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(reader::Reading::new(Arc::clone(self.link.place()))?))
    }

    fn catch_up(&mut self, at_most: usize) -> Result<bool, StoreError> {
        self.ensure_session()?;
        let done = self.link.ask_here(ANSWER_TIMEOUT, async |session| match index::is_behind(session).await? {
            true => index::catch_up(session, at_most).await,
            false => Ok(false),
        });
        done.map_err(|failure| self.link.explain(failure))
    }

    fn try_writing(&mut self) -> Result<(), StoreError> {
        const WRITE: &str = "UPDATE meta SET value = value WHERE name = 'counted'";
        self.ensure_session()?;
        let written = self.link.ask_here(ANSWER_TIMEOUT, async |session| session.execute(WRITE, &[]).await);
        written.map(drop).map_err(|failure| self.link.explain(failure))
    }

    fn foresees(&self) -> bool {
        true
    }

    fn lead(&mut self, epoch: u64, batch: u64) -> Result<(), StoreError> {
        self.link.rename(format!("{WRITER}{epoch}"));
        self.lock(Kind::OneOfSeveral)?;
        self.make_ready(epoch)?;
        self.post = Post::Leads(Lead { epoch, batch, writer: Writer::default() });
        Ok(())
    }

    fn follow(&mut self) {
        self.post = Post::Follows;
    }

    fn location(&self) -> Location {
        Location::Server(Arc::clone(self.link.place()))
    }
}
