//! The bot's own SQLite file: what the model keeps there, which channels the bot joined, its counters.
//!
//! The model's tables are rows of one table with a JSON body. So nothing the model writes becomes SQL, and values
//! keep their JSON types.

use std::path::Path;

use folkmoot_database::{DatabaseError, Schema, Worker};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value};

use crate::error::BotError;
use crate::workers::Workers;

/// The name of the file, unless the operator chooses another.
pub const FILE: &str = "bot.db";
/// The file does not grow beyond this many pages of 4096 bytes: 256 MB.
const MAX_PAGES: i64 = 65_536;
const MAX_ROW_BYTES: usize = 64 << 10;
const MAX_NAME: usize = 64;

const SCHEMA: Schema =
    Schema { mark: *b"Bot", migrations: &[FIRST], pragmas: &[("max_page_count", MAX_PAGES)], statements: 16 };

/// Files without a version have these tables already.
const FIRST: &str = "
    CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, name TEXT NOT NULL, body TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS rows_by_name ON rows (name);
    CREATE TABLE IF NOT EXISTS joined (channel_uid TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
";

/// A JSON object: a row, or what rows must look like.
pub type Fields = Map<String, Value>;

/// The file, used from a thread of its own.
#[derive(Clone)]
pub struct Store {
    file: Worker,
    workers: Workers,
}

impl Store {
    /// Opens the file, or makes it; blocks.
    pub fn open(path: &Path, workers: Workers) -> Result<Self, BotError> {
        let file = Worker::open(&SCHEMA, path).map_err(|error| BotError::Database(error.to_string()))?;
        Ok(Self { file, workers })
    }

    /// The rows of a table that have all fields of `query`, oldest first.
    pub async fn find(&self, table: &str, query: Fields, limit: u32) -> Result<Vec<Value>, BotError> {
        let (condition, values) = condition(table, &query)?;
        self.with(move |connection| {
            let sql = format!("SELECT id, body FROM rows WHERE {condition} ORDER BY id LIMIT {limit}");
            let mut statement = connection.prepare(&sql)?;
            let rows = statement
                .query_map(params_from_iter(values), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
            rows.map(|row| row.map(|(id, body)| with_id(id, &body))).collect()
        })
        .await
    }

    /// Adds a row and returns its id.
    pub async fn insert(&self, table: &str, row: Fields) -> Result<i64, BotError> {
        let table = checked_name(table)?.to_owned();
        let body = checked_row(row)?;
        self.with(move |connection| {
            connection.execute("INSERT INTO rows (name, body) VALUES (?1, ?2)", (table, body))?;
            Ok(connection.last_insert_rowid())
        })
        .await
    }

    /// Changes fields of the rows that fit; a field that becomes `null` is removed. Returns how many rows.
    pub async fn update(&self, table: &str, query: Fields, fields: Fields) -> Result<usize, BotError> {
        refuse_empty(&query)?;
        let (condition, mut values) = condition(table, &query)?;
        values.push(Sql::Text(checked_row(fields)?));
        let patch = values.len();
        self.with(move |connection| {
            let sql = format!("UPDATE rows SET body = json_patch(body, ?{patch}) WHERE {condition}");
            connection.execute(&sql, params_from_iter(values))
        })
        .await
    }

    /// Removes the rows that fit, and returns how many.
    pub async fn delete(&self, table: &str, query: Fields) -> Result<usize, BotError> {
        refuse_empty(&query)?;
        let (condition, values) = condition(table, &query)?;
        self.with(move |connection| {
            connection.execute(&format!("DELETE FROM rows WHERE {condition}"), params_from_iter(values))
        })
        .await
    }

    /// The channels that the bot was asked to join.
    pub async fn joined(&self) -> Result<Vec<String>, BotError> {
        self.with(|connection| {
            let mut statement = connection.prepare("SELECT channel_uid FROM joined")?;
            statement.query_map((), |row| row.get(0))?.collect()
        })
        .await
    }

    pub async fn set_joined(&self, channel_uid: String, is_joined: bool) -> Result<(), BotError> {
        let sql = if is_joined {
            "INSERT OR IGNORE INTO joined (channel_uid) VALUES (?1)"
        } else {
            "DELETE FROM joined WHERE channel_uid = ?1"
        };
        self.with(move |connection| connection.execute(sql, (channel_uid,)).map(drop)).await
    }

    /// Adds to the counters that are kept over restarts.
    pub async fn count(&self, counts: Vec<(&'static str, u64)>) -> Result<(), BotError> {
        self.with(move |connection| {
            counts.into_iter().try_for_each(|(name, value)| {
                let sql = "INSERT INTO counters VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value + ?2";
                connection.execute(sql, (name, value as i64)).map(drop)
            })
        })
        .await
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, BotError> {
        let file = self.file.clone();
        let work = async move { file.transact(move |open| work(open).map_err(DatabaseError::from)).await };
        self.workers.block(work).await?.map_err(|error| BotError::Database(error.to_string()))
    }
}

fn checked_name(name: &str) -> Result<&str, BotError> {
    let good = !name.is_empty()
        && name.len() <= MAX_NAME
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-');
    if good {
        Ok(name)
    } else {
        Err(BotError::Validation(format!("`{name}` is not a good name; use letters, digits, `_`")))
    }
}

fn checked_row(row: Fields) -> Result<String, BotError> {
    for name in row.keys() {
        checked_name(name)?;
        if name == "id" {
            return Err(BotError::Validation("`id` is given by the database and cannot be set".to_owned()));
        }
    }
    let body = Value::Object(row).to_string();
    if body.len() > MAX_ROW_BYTES {
        return Err(BotError::Validation(format!("a row may have at most {MAX_ROW_BYTES} bytes")));
    }
    Ok(body)
}

/// "Everything" must be meant; a forgotten query must not do it.
fn refuse_empty(query: &Fields) -> Result<(), BotError> {
    if query.is_empty() {
        return Err(BotError::Validation("the query is empty; say which rows are meant".to_owned()));
    }
    Ok(())
}

/// The SQL for "rows of this table with these fields", and its values. Names travel as values too.
fn condition(table: &str, query: &Fields) -> Result<(String, Vec<Sql>), BotError> {
    let mut values = vec![Sql::Text(checked_name(table)?.to_owned())];
    let mut sql = "name = ?1".to_owned();
    for (name, value) in query {
        if checked_name(name)? == "id" {
            values.push(to_sql(value));
            sql.push_str(&format!(" AND id IS ?{}", values.len()));
            continue;
        }
        values.push(Sql::Text(format!("$.\"{name}\"")));
        values.push(to_sql(value));
        sql.push_str(&format!(" AND json_extract(body, ?{}) IS ?{}", values.len() - 1, values.len()));
    }
    Ok((sql, values))
}

/// The value as `json_extract` returns it.
fn to_sql(value: &Value) -> Sql {
    match value {
        Value::Null => Sql::Null,
        Value::Bool(truth) => Sql::Integer((*truth).into()),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Sql::Integer(whole),
            None => Sql::Real(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Sql::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => Sql::Text(value.to_string()),
    }
}

fn with_id(id: i64, body: &str) -> Value {
    let mut row: Fields = serde_json::from_str(body).unwrap_or_default();
    row.insert("id".to_owned(), id.into());
    Value::Object(row)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::settings::Limits;

    fn store(folder: &Path) -> Store {
        Store::open(&folder.join("bot.db"), Workers::new(&Limits::default())).unwrap()
    }

    fn fields(value: Value) -> Fields {
        value.as_object().unwrap().clone()
    }

    #[tokio::test]
    async fn rows_are_found_by_their_fields_and_keep_their_types() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        let ann = json!({"name": "ann", "active": true, "tags": ["a"], "age": 7, "height": 1.5});
        let id = store.insert("users", fields(ann.clone())).await.unwrap();
        store.insert("users", fields(json!({"name": "bob", "active": false}))).await.unwrap();
        store.insert("others", fields(json!({"name": "ann"}))).await.unwrap();
        let mut expected = fields(ann);
        expected.insert("id".into(), id.into());
        for query in [
            json!({"active": true}),
            json!({"name": "ann", "age": 7}),
            json!({"tags": ["a"]}),
            json!({"height": 1.5}),
            json!({"id": id}),
        ] {
            let found = store.find("users", fields(query.clone()), 10).await.unwrap();
            assert_eq!(found, [Value::Object(expected.clone())], "{query}");
        }
        assert_eq!(store.find("users", Fields::new(), 10).await.unwrap().len(), 2);
        assert_eq!(store.find("users", Fields::new(), 1).await.unwrap().len(), 1);
        assert_eq!(store.find("users", fields(json!({"age": null})), 9).await.unwrap()[0]["name"], "bob");
    }

    #[tokio::test]
    async fn rows_are_changed_and_removed_and_a_reopened_file_has_them() {
        let folder = tempfile::tempdir().unwrap();
        let first = store(folder.path());
        first.insert("t", fields(json!({"a": 1, "b": 2}))).await.unwrap();
        first.insert("t", fields(json!({"a": 2}))).await.unwrap();
        assert_eq!(first.update("t", fields(json!({"a": 1})), fields(json!({"b": null, "c": "x"}))).await, Ok(1));
        assert_eq!(first.delete("t", fields(json!({"a": 2}))).await, Ok(1));
        drop(first);
        let found = store(folder.path()).find("t", Fields::new(), 9).await.unwrap();
        assert_eq!(found, [json!({"id": 1, "a": 1, "c": "x"})]);
    }

    #[tokio::test]
    async fn bad_input_is_a_validation_error_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        store.insert("t", fields(json!({"a": "x'; DROP TABLE rows; --"}))).await.unwrap();
        let long = "x".repeat(MAX_ROW_BYTES);
        let is_validation = |result: Result<usize, BotError>| matches!(result, Err(BotError::Validation(_)));
        assert!(is_validation(store.delete("t", Fields::new()).await));
        assert!(is_validation(store.update("t", Fields::new(), Fields::new()).await));
        assert!(is_validation(store.delete("rows; --", fields(json!({"a": 1}))).await));
        assert!(is_validation(store.delete("t", fields(json!({"a\") OR (1": 1}))).await));
        assert!(store.insert("t", fields(json!({"a": long}))).await.is_err());
        assert!(store.insert("t", fields(json!({"id": 7}))).await.is_err());
        assert_eq!(store.find("t", Fields::new(), 9).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn joined_channels_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let first = store(folder.path());
        for (channel, joined) in [("a", true), ("b", true), ("b", true), ("a", false)] {
            first.set_joined(channel.into(), joined).await.unwrap();
        }
        drop(first);
        assert_eq!(store(folder.path()).joined().await.unwrap(), ["b"]);
    }

    #[tokio::test]
    async fn a_file_that_was_made_without_a_version_is_used_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let old = Connection::open(folder.path().join(FILE)).unwrap();
        old.execute_batch(FIRST).unwrap();
        old.execute_batch("INSERT INTO joined VALUES ('a')").unwrap();
        drop(old);
        assert_eq!(store(folder.path()).joined().await.unwrap(), ["a"]);
    }

    #[tokio::test]
    async fn counters_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        store.count(vec![("answers", 2)]).await.unwrap();
        store.count(vec![("answers", 3)]).await.unwrap();
        let read = |connection: &Connection| connection.query_row("SELECT value FROM counters", (), |row| row.get(0));
        assert_eq!(store.with(read).await, Ok(5));
    }
}
