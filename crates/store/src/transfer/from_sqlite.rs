//! Reading everything out of a data folder.

use std::fs::File;
use std::path::Path;

use folkmoot_core::ids::ChannelId;
use folkmoot_core::record::{Record, RecordKind};
use rusqlite::{Connection, Row};

use super::{Item, PORTION, Source, Table, Take};
use crate::StoreError;
use crate::sqlite::{self, DATABASE, rows};

pub struct FromSqlite {
    connection: Connection,
    /// Nobody writes while this is held.
    _lock: Option<File>,
}

impl FromSqlite {
    /// The hub of a folder, which must not be running; it is brought up to this version first.
    pub fn take(data_dir: &Path) -> Result<Self, StoreError> {
        drop(sqlite::Sqlite::open(data_dir)?);
        let lock = sqlite::take_folder(data_dir)?;
        let connection = sqlite::open_for_reading(&data_dir.join(DATABASE))?;
        Ok(Self { connection, _lock: Some(lock) })
    }

    pub(super) fn of(connection: Connection) -> Self {
        Self { connection, _lock: None }
    }
}

impl Source for FromSqlite {
    fn count(&mut self, table: Table) -> Result<u64, StoreError> {
        let sql = match table {
            Table::Records => "SELECT count(*) FROM records",
            Table::Messages => "SELECT count(*) FROM messages",
            Table::Changes => "SELECT count(*) FROM changes",
            Table::Forgotten => "SELECT count(*) FROM forgotten",
        };
        Ok(self.connection.query_row(sql, [], |row| rows::number(row, 0))?)
    }

    fn each(&mut self, table: Table, take: Take<'_>) -> Result<(), StoreError> {
        const MESSAGES: &str = rows::select_messages!("FROM messages m ORDER BY m.n");
        match table {
            Table::Records => self.portions("SELECT kind, body FROM records ORDER BY kind, id", record, take),
            Table::Messages => self.portions(MESSAGES, |row| Ok(Item::Message(rows::message(row)?)), take),
            Table::Changes => self.portions(
                "SELECT channel, seq, message, actor, at, what FROM changes ORDER BY channel, seq",
                |row| Ok(Item::Change(rows::change(row, 2, ChannelId(rows::id(row, 0)?), rows::number(row, 1)?)?)),
                take,
            ),
            Table::Forgotten => self.portions(
                "SELECT channel FROM forgotten ORDER BY channel",
                |row| Ok(Item::Forgotten(ChannelId(rows::id(row, 0)?))),
                take,
            ),
        }
    }
}

impl FromSqlite {
    fn portions(
        &self,
        sql: &str,
        read: impl Fn(&Row<'_>) -> Result<Item, StoreError>,
        take: Take<'_>,
    ) -> Result<(), StoreError> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut portion = Vec::with_capacity(PORTION);
        while let Some(row) = rows.next()? {
            portion.push(read(row)?);
            if portion.len() == PORTION {
                take(std::mem::replace(&mut portion, Vec::with_capacity(PORTION)))?;
            }
        }
        if portion.is_empty() { Ok(()) } else { take(portion) }
    }
}

fn record(row: &Row<'_>) -> Result<Item, StoreError> {
    let number: u8 = row.get(0)?;
    let kind = RecordKind::ALL.iter().copied().find(|kind| *kind as u8 == number);
    let kind = kind.ok_or_else(|| StoreError::Other("the database holds a record of no known kind".to_owned()))?;
    let body: String = row.get(1)?;
    let record = Record::decode(kind, &body);
    record.map(Item::Record).map_err(|error| StoreError::Other(format!("a record cannot be read: {error}")))
}
