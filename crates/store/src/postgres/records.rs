//! Finding records by their keys.

use folkmoot_core::lookup::Found;
use folkmoot_core::record::{Filter, Record, RecordKind};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::read::Rows;
use super::rows::{Id, Read, Text, limit, name_hash, number};

pub fn get(source: &impl Rows, kind: RecordKind, id: u128) -> Found<Option<Record>> {
    const GET: &str = "SELECT body FROM records WHERE kind = $1 AND id = $2";
    let rows = source.rows(GET, &[&kind_number(kind), &Id(id)])?;
    Ok(rows.first().map(|row| decode(kind, row, 0)).transpose()?)
}

pub fn list(source: &impl Rows, kind: RecordKind, filter: &Filter) -> Found<Vec<Record>> {
    let mut conditions = Conditions::new(kind, filter);
    let order = if filter.oldest_first { "ASC" } else { "DESC" };
    let place = conditions.push(limit(filter.limit));
    let sql = format!("SELECT body FROM records {} ORDER BY id {order} LIMIT ${place}", conditions.sql);
    let rows = source.rows(&sql, &conditions.parameters())?;
    Ok(rows.iter().map(|row| decode(kind, row, 0)).collect::<Read<_>>()?)
}

/// How many a list without a limit would have.
pub fn count(source: &impl Rows, kind: RecordKind, filter: &Filter) -> Found<u64> {
    let conditions = Conditions::new(kind, filter);
    let rows = source.rows(&format!("SELECT count(*) FROM records {}", conditions.sql), &conditions.parameters())?;
    Ok(rows.first().map_or(Ok(0), |row| number(row, 0))?)
}

/// The sizes of all files that match, without reading them one by one.
pub fn stored_bytes(source: &impl Rows, filter: &Filter) -> Found<u64> {
    let conditions = Conditions::new(RecordKind::File, filter);
    let sql = format!("SELECT coalesce(sum(size), 0)::bigint FROM records {}", conditions.sql);
    let rows = source.rows(&sql, &conditions.parameters())?;
    Ok(rows.first().map_or(Ok(0), |row| number(row, 0))?)
}

struct Conditions<'a> {
    sql: String,
    values: Vec<Box<dyn ToSql + Sync + 'a>>,
}

impl<'a> Conditions<'a> {
    fn new(kind: RecordKind, filter: &'a Filter) -> Self {
        let mut conditions = Self { sql: "WHERE kind = $1".to_owned(), values: vec![Box::new(kind_number(kind))] };
        let ids = [
            ("workspace =", filter.workspace),
            ("scope =", filter.scope),
            ("owner =", filter.owner),
            ("id <", filter.before),
        ];
        for (condition, id) in ids {
            if let Some(id) = id {
                conditions.require(condition, Id(id));
            }
        }
        if let Some(name) = &filter.name {
            conditions.require("name_hash =", name_hash(name));
            conditions.require("name =", Text(name));
        }
        if !filter.states.is_empty() {
            let place = conditions.push(filter.states.to_vec());
            conditions.sql.push_str(&format!(" AND state = ANY(${place})"));
        }
        conditions
    }

    fn require(&mut self, condition: &str, value: impl ToSql + Sync + 'a) {
        let place = self.push(value);
        self.sql.push_str(&format!(" AND {condition} ${place}"));
    }

    fn push(&mut self, value: impl ToSql + Sync + 'a) -> usize {
        self.values.push(Box::new(value));
        self.values.len()
    }

    fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect()
    }
}

pub fn kind_number(kind: RecordKind) -> i16 {
    i16::from(kind as u8)
}

pub fn kind_of(number: i16) -> Option<RecordKind> {
    RecordKind::ALL.iter().copied().find(|kind| kind_number(*kind) == number)
}

pub fn decode(kind: RecordKind, row: &Row, column: usize) -> Read<Record> {
    Ok(Record::decode(kind, row.try_get(column)?)?)
}
