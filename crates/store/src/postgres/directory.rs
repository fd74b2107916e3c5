//! Everything a hub keeps in memory, as of one moment.

use std::collections::HashMap;

use folkmoot_core::ids::ChannelId;
use folkmoot_core::model::Head;
use folkmoot_core::record::RecordKind;
use folkmoot_core::{Record, record};
use tokio_postgres::{Error, Row};

use super::link::{Link, Session};
use super::records::{decode, kind_number, kind_of};
use super::rows::{Read, Unreadable, id, number};
use crate::{Directory, StoreError};

pub fn load(link: &Link) -> Result<Directory, StoreError> {
    let loaded = link.ask_twice(read)?;
    let mut records = Vec::new();
    for row in &loaded.records {
        let kind = kind_of(row.try_get(0).map_err(Unreadable::from)?);
        let kind = kind.ok_or_else(|| StoreError::Other("the database holds a record of no known kind".to_owned()))?;
        records.push(decode(kind, row, 1)?);
    }
    let known = loaded.heads.iter().map(head).collect::<Read<HashMap<_, _>>>()?;
    let head = |channel: ChannelId| (channel, known.get(&channel).copied().unwrap_or_default());
    let heads = records.iter().filter_map(|record| match record {
        Record::Channel(channel) => Some(head(channel.id)),
        _ => None,
    });
    let heads = heads.collect();
    let batch = loaded.batch.as_ref().map_or(Ok(0), |row| number(row, 0))?;
    Ok(Directory { records, heads, batch })
}

struct Loaded {
    records: Vec<Row>,
    heads: Vec<Row>,
    batch: Option<Row>,
}

async fn read(session: &Session) -> Result<Loaded, Error> {
    const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    session.client().batch_execute(BEGIN).await?;
    let loaded = read_all(session).await;
    session.client().batch_execute("ROLLBACK").await?;
    loaded
}

async fn read_all(session: &Session) -> Result<Loaded, Error> {
    const RECORDS: &str = "SELECT kind, body FROM records WHERE kind = ANY($1) OR (kind = ANY($2) AND state = $3) \
        ORDER BY array_position($4::smallint[], kind), id";
    // A few seeks for each channel, however long it is.
    const HEADS: &str = "SELECT c.id, coalesce(m.seq, 0), coalesce(m.version, 0), coalesce(h.seq, 0) FROM records c \
        LEFT JOIN LATERAL (SELECT seq, version FROM live WHERE channel = c.id ORDER BY seq DESC LIMIT 1) m ON true \
        LEFT JOIN LATERAL (SELECT seq FROM changes WHERE channel = c.id ORDER BY seq DESC LIMIT 1) h ON true \
        WHERE c.kind = $1";
    let all = || RecordKind::ALL.iter().copied();
    let whole: Vec<i16> = all().filter(|kind| kind.is_directory()).map(kind_number).collect();
    let open: Vec<i16> = all().filter(|kind| kind.is_kept_while_open()).map(kind_number).collect();
    // Always in one order: what a later record builds on comes before it.
    let order = [whole.clone(), open.clone()].concat();
    Ok(Loaded {
        records: session.query(RECORDS, &[&whole, &open, &record::OPEN, &order]).await?,
        heads: session.query(HEADS, &[&kind_number(RecordKind::Channel)]).await?,
        batch: session.row("SELECT batch FROM leases WHERE name = 'hub'", &[]).await?,
    })
}

fn head(row: &Row) -> Read<(ChannelId, Head)> {
    let seq = number(row, 1)?.max(number(row, 3)?);
    Ok((ChannelId(id(row, 0)?), Head { seq, version: number(row, 2)? }))
}
