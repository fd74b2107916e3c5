//! Moving everything that a hub keeps from one backend to another, and proving that it arrived.
//!
//! Rows travel as the values that the hub knows, in an order that both sides share. Whoever copies them counts them and digests
//! them on the way; then the target is read back the same way, and both must agree before anything is committed.

mod from_postgres;
mod from_sqlite;
mod into_postgres;
mod into_sqlite;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use folkmoot_core::Record;
use folkmoot_core::ids::ChannelId;
use folkmoot_core::model::{Head, Message};
use folkmoot_core::record::Change;
use sha2::{Digest, Sha256};

use crate::sqlite::DATABASE;
use crate::{Location, StoreError, postgres};

pub use from_postgres::FromPostgres;
pub use from_sqlite::FromSqlite;
pub use into_postgres::IntoPostgres;
pub use into_sqlite::IntoSqlite;

/// How many rows go at once.
const PORTION: usize = 2000;

/// One row of anything.
#[derive(Debug)]
pub enum Item {
    Record(Record),
    Message(Message),
    Change(Change),
    /// A removed channel whose rows are still being cleared away.
    Forgotten(ChannelId),
}

/// The kinds of rows, in the order in which they travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Table {
    Records,
    Messages,
    Changes,
    Forgotten,
}

impl Table {
    const ALL: [Self; 4] = [Self::Records, Self::Messages, Self::Changes, Self::Forgotten];

    fn name(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Messages => "messages",
            Self::Changes => "changes",
            Self::Forgotten => "removed channels",
        }
    }
}

/// Something to read everything from, as of one moment.
pub trait Source {
    fn count(&mut self, table: Table) -> Result<u64, StoreError>;
    /// Hands out the rows of a table in portions: messages as they were stored, the rest by their keys.
    fn each(&mut self, table: Table, take: Take<'_>) -> Result<(), StoreError>;
}

pub type Take<'a> = &'a mut dyn FnMut(Vec<Item>) -> Result<(), StoreError>;

/// Something empty to put everything into; nothing of it is there for others before it is finished.
pub trait Target: Source {
    fn put(&mut self, table: Table, items: Vec<Item>) -> Result<(), StoreError>;
}

/// How far it has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub step: &'static str,
    pub what: &'static str,
    pub done: u64,
    pub total: u64,
}

pub type Report<'a> = &'a mut dyn FnMut(Progress);

impl std::fmt::Display for Progress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}: {} of {}", self.step, self.what, self.done, self.total)
    }
}

/// What there is, in a few bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    pub counts: BTreeMap<Table, u64>,
    pub heads: BTreeMap<ChannelId, Head>,
    pub digest: [u8; 32],
}

impl std::fmt::Display for Sum {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [records, messages, changes, _] = Table::ALL.map(|table| self.of(table));
        write!(formatter, "{messages} messages, {changes} changes and {records} records")
    }
}

impl Sum {
    pub fn of(&self, table: Table) -> u64 {
        self.counts.get(&table).copied().unwrap_or(0)
    }
}

/// Copies everything and checks that it arrived; the target still has to be finished.
pub fn copy(source: &mut dyn Source, target: &mut dyn Target, report: Report<'_>) -> Result<Sum, StoreError> {
    let sent = walk(source, "copying", report, &mut |table, items| target.put(table, items))?;
    let mut nowhere = |_, _| Ok(());
    let arrived = walk(&mut Reading(target), "checking", report, &mut nowhere)?;
    if sent == arrived {
        return Ok(sent);
    }
    Err(StoreError::Other("what arrived is not what was sent; nothing was changed".to_owned()))
}

type Pass<'a> = &'a mut dyn FnMut(Table, Vec<Item>) -> Result<(), StoreError>;

fn walk(source: &mut dyn Source, step: &'static str, report: Report<'_>, pass: Pass<'_>) -> Result<Sum, StoreError> {
    let (mut sum, mut digest) = (Sum::default(), Sha256::new());
    for table in Table::ALL {
        let total = source.count(table)?;
        let mut done = 0;
        source.each(table, &mut |items| {
            done += items.len() as u64;
            items.iter().for_each(|item| note(item, &mut sum.heads, &mut digest));
            report(Progress { step, what: table.name(), done, total });
            pass(table, items)
        })?;
        sum.counts.insert(table, done);
    }
    sum.digest = digest.finalize().into();
    Ok(sum)
}

fn note(item: &Item, heads: &mut BTreeMap<ChannelId, Head>, digest: &mut Sha256) {
    // The words that a value has for itself say all of it, and are the same wherever it was read from.
    digest.update(format!("{item:?}\n"));
    match item {
        Item::Message(message) => {
            let head = heads.entry(message.channel).or_default();
            *head = Head { seq: head.seq.max(message.seq), version: head.version.max(message.version) };
        }
        Item::Change(change) => {
            let head = heads.entry(change.channel).or_default();
            head.seq = head.seq.max(change.seq);
        }
        Item::Record(_) | Item::Forgotten(_) => {}
    }
}

/// A target, read back.
struct Reading<'a>(&'a mut dyn Target);

impl Source for Reading<'_> {
    fn count(&mut self, table: Table) -> Result<u64, StoreError> {
        self.0.count(table)
    }

    fn each(&mut self, table: Table, take: Take<'_>) -> Result<(), StoreError> {
        self.0.each(table, take)
    }
}

/// Moves a hub from its data folder into a database. The folder keeps its own database, and what else is in it.
pub fn into_database(
    data_dir: &Path,
    place: &Arc<postgres::Place>,
    force: bool,
    report: Report<'_>,
) -> Result<Sum, StoreError> {
    if !data_dir.join(DATABASE).is_file() {
        return Err(StoreError::setup(
            format!("there is no hub in `{}`: it has no `{DATABASE}`", data_dir.display()),
            "name its data folder with --data-dir",
        ));
    }
    let mut source = FromSqlite::take(data_dir)?;
    let mut target = IntoPostgres::open(place, force)?;
    let sum = copy(&mut source, &mut target, report)?;
    let history = target.finish()?;
    crate::history::write(data_dir, &history)?;
    Ok(sum)
}

/// Moves a hub from its database into a data folder. The database is left as it is.
pub fn into_folder(
    place: &Arc<postgres::Place>,
    folder: &Path,
    force: bool,
    report: Report<'_>,
) -> Result<Sum, StoreError> {
    let mut source = FromPostgres::take(place)?;
    let mut target = IntoSqlite::beside(folder, force)?;
    let sum = copy(&mut source, &mut target, report)?;
    target.finish()?;
    Ok(sum)
}

/// From where a hub keeps its things to the other kind of place.
pub fn migrate(from: &Location, data_dir: &Path, to: &str, force: bool, report: Report<'_>) -> Result<Sum, StoreError> {
    match (from, postgres::is_postgres(to)) {
        (Location::Folder, true) => into_database(data_dir, &Arc::new(postgres::Place::parse(to)?), force, report),
        (_, false) if to.contains("://") => Err(StoreError::setup(
            "`--to` takes the address of a Postgres database or a folder",
            "see `moot migrate --help`",
        )),
        (Location::Server(place), false) => into_folder(place, Path::new(to), force, report),
        (Location::Folder, false) => Err(StoreError::setup(
            "the hub keeps its data in a folder already",
            "write a backup with `moot backup FILE`, and bring it elsewhere with `moot restore`",
        )),
        (Location::Server(_), true) => Err(StoreError::setup(
            "the hub keeps its data in Postgres already",
            "use `moot backup FILE` here and `moot restore FILE` with the other database in `store.url`, or Postgres's own tools",
        )),
    }
}
