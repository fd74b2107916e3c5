//! Reading everything out of a database, as of one moment.

use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::ids::ChannelId;
use tokio_postgres::Row;

use super::{Item, PORTION, Source, Table, Take};
use crate::StoreError;
use crate::postgres::link::Link;
use crate::postgres::records::{decode, kind_of};
use crate::postgres::rows::{self, Read, Unreadable};
use crate::postgres::{Place, Postgres, schema};

/// Nobody waits for one of these answers but whoever moves a hub, and counting the rows of a large one takes its time.
const TIMEOUT: Duration = Duration::from_secs(3600);

pub struct FromPostgres {
    link: Link,
    /// Nobody writes while this is held; without it, what is read is of one moment all the same.
    _held: Option<Postgres>,
}

impl FromPostgres {
    /// The hub of a database, which must not be running; it is brought up to this version first.
    pub fn take(place: &Arc<Place>) -> Result<Self, StoreError> {
        let held = Postgres::open(place)?;
        Ok(Self { _held: Some(held), ..Self::beside(place)? })
    }

    /// The same beside a hub that goes on.
    pub fn beside(place: &Arc<Place>) -> Result<Self, StoreError> {
        let link = Link::new(Arc::clone(place), "moot-backup")?;
        schema::refuse_other(&link)?;
        let begun = link.ask(async |session| {
            session.client().batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await
        });
        begun.map_err(|failure| link.explain(failure))?;
        Ok(Self { link, _held: None })
    }
}

impl Source for FromPostgres {
    fn count(&mut self, table: Table) -> Result<u64, StoreError> {
        count(&self.link, table)
    }

    fn each(&mut self, table: Table, take: Take<'_>) -> Result<(), StoreError> {
        each(&self.link, table, take)
    }
}

/// How many rows a table has, in the transaction that is open.
pub fn count(link: &Link, table: Table) -> Result<u64, StoreError> {
    let sql = match table {
        Table::Records => "SELECT count(*) FROM records",
        Table::Messages => "SELECT count(*) FROM messages",
        Table::Changes => "SELECT count(*) FROM changes",
        Table::Forgotten => "SELECT count(*) FROM forgotten",
    };
    let rows = asked(link, sql)?;
    Ok(rows.first().map_or(Ok(0), |row| rows::number(row, 0))?)
}

/// The rows of a table, a portion at a time, in the transaction that is open.
pub fn each(link: &Link, table: Table, take: Take<'_>) -> Result<(), StoreError> {
    const MESSAGES: &str = rows::select_messages!("FROM messages m ORDER BY m.n");
    let sql = match table {
        Table::Records => "SELECT kind, body FROM records ORDER BY kind, id",
        Table::Messages => MESSAGES,
        Table::Changes => "SELECT channel, seq, message, actor, at, what FROM changes ORDER BY channel, seq",
        Table::Forgotten => "SELECT channel FROM forgotten ORDER BY channel",
    };
    tell(link, &format!("DECLARE portions NO SCROLL CURSOR FOR {sql}"))?;
    loop {
        let rows = asked(link, &format!("FETCH {PORTION} FROM portions"))?;
        if !rows.is_empty() {
            take(rows.iter().map(|row| item(table, row)).collect::<Read<_>>()?)?;
        }
        if rows.len() < PORTION {
            return tell(link, "CLOSE portions");
        }
    }
}

fn item(table: Table, row: &Row) -> Read<Item> {
    Ok(match table {
        Table::Records => {
            let kind = kind_of(row.try_get(0)?).ok_or_else(|| Unreadable("a record of no known kind".to_owned()))?;
            Item::Record(decode(kind, row, 1)?)
        }
        Table::Messages => Item::Message(rows::message(row)?),
        Table::Changes => Item::Change(rows::change(row, 2, ChannelId(rows::id(row, 0)?), rows::number(row, 1)?)?),
        Table::Forgotten => Item::Forgotten(ChannelId(rows::id(row, 0)?)),
    })
}

/// The transaction is gone with its session, and another would show another moment: so in this one or not at all.
fn asked(link: &Link, sql: &str) -> Result<Vec<Row>, StoreError> {
    let asked = link.ask_here(TIMEOUT, async |session| session.client().query(sql, &[]).await);
    asked.map_err(|failure| link.explain(failure))
}

pub fn tell(link: &Link, sql: &str) -> Result<(), StoreError> {
    let told = link.ask_here(TIMEOUT, async |session| session.client().batch_execute(sql).await);
    told.map_err(|failure| link.explain(failure))
}
