//! Finding records by their keys.

use folkmoot_core::record::{Filter, Record, RecordKind};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::rows::{blob, limit, number, unreadable};

pub fn get(connection: &Connection, kind: RecordKind, id: u128) -> rusqlite::Result<Option<Record>> {
    const GET: &str = "SELECT body FROM records WHERE kind = ?1 AND id = ?2";
    let mut statement = connection.prepare_cached(GET)?;
    statement.query_row(params![kind as u8, blob(id)], |row| decode(kind, row, 0)).optional()
}

pub fn list(connection: &Connection, kind: RecordKind, filter: &Filter) -> rusqlite::Result<Vec<Record>> {
    let (conditions, mut values) = conditions(kind, filter);
    let order = if filter.oldest_first { "ASC" } else { "DESC" };
    values.push(Value::Integer(limit(filter.limit)));
    let sql = format!("SELECT body FROM records {conditions} ORDER BY id {order} LIMIT ?{}", values.len());
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map(params_from_iter(values), |row| decode(kind, row, 0))?.collect()
}

/// How many a list without a limit would have.
pub fn count(connection: &Connection, kind: RecordKind, filter: &Filter) -> rusqlite::Result<u64> {
    let (conditions, values) = conditions(kind, filter);
    let sql = format!("SELECT count(*) FROM records {conditions}");
    connection.prepare_cached(&sql)?.query_row(params_from_iter(values), |row| number(row, 0))
}

/// The sizes of all files that match, without reading them one by one.
pub fn stored_bytes(connection: &Connection, filter: &Filter) -> rusqlite::Result<u64> {
    let (conditions, values) = conditions(RecordKind::File, filter);
    let sql = format!("SELECT coalesce(sum(json_extract(body, '$.size')), 0) FROM records {conditions}");
    connection.prepare_cached(&sql)?.query_row(params_from_iter(values), |row| number(row, 0))
}

/// All records of the kinds a hub keeps in memory.
pub fn directory(connection: &Connection) -> rusqlite::Result<Vec<Record>> {
    let mut statement = connection.prepare("SELECT body FROM records WHERE kind = ?1 ORDER BY id")?;
    let mut records = Vec::new();
    for kind in RecordKind::ALL.iter().copied().filter(|kind| kind.is_directory()) {
        for record in statement.query_map([kind as u8], |row| decode(kind, row, 0))? {
            records.push(record?);
        }
    }
    let mut statement =
        connection.prepare("SELECT body FROM records WHERE kind = ?1 AND state = 'open' ORDER BY id")?;
    for kind in RecordKind::ALL.iter().copied().filter(|kind| kind.is_kept_while_open()) {
        for record in statement.query_map([kind as u8], |row| decode(kind, row, 0))? {
            records.push(record?);
        }
    }
    Ok(records)
}

/// The index is named rather than left to the planner, which knows nothing of how the keys are spread.
fn conditions(kind: RecordKind, filter: &Filter) -> (String, Vec<Value>) {
    let index = match filter {
        Filter { owner: Some(_), name: Some(_), .. } => "INDEXED BY records_name ",
        Filter { owner: Some(_), .. } => "INDEXED BY records_owner ",
        Filter { scope: Some(_), .. } => "INDEXED BY records_scope ",
        Filter { workspace: Some(_), .. } => "INDEXED BY records_workspace ",
        _ => "",
    };
    let mut values = vec![Value::Integer(kind as i64)];
    let mut sql = format!("{index}WHERE kind = ?1");
    let mut require = |condition: &str, value: Value| {
        values.push(value);
        sql.push_str(&format!(" AND {condition} ?{}", values.len()));
    };
    for (condition, id) in [
        ("workspace =", filter.workspace),
        ("scope =", filter.scope),
        ("owner =", filter.owner),
        ("id <", filter.before),
    ] {
        if let Some(id) = id {
            require(condition, Value::Blob(blob(id).to_vec()));
        }
    }
    if let Some(name) = &filter.name {
        require("name =", Value::Text(name.clone()));
    }
    if !filter.states.is_empty() {
        let first = values.len() + 1;
        values.extend(filter.states.iter().map(|state| Value::Text((*state).to_owned())));
        let places: Vec<_> = (first..=values.len()).map(|place| format!("?{place}")).collect();
        sql.push_str(&format!(" AND state IN ({})", places.join(", ")));
    }
    (sql, values)
}

fn decode(kind: RecordKind, row: &Row<'_>, column: usize) -> rusqlite::Result<Record> {
    Record::decode(kind, row.get_ref(column)?.as_str()?).map_err(unreadable(column))
}
