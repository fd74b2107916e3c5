//! Tools for the bot's own database.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Desk;
use crate::error::BotError;
use crate::store::Fields;

const MAX_ROWS: u32 = 100;

/// Find rows in a table of your own database. All fields of the query must be equal; an empty query finds every row.
#[derive(Deserialize, JsonSchema)]
pub struct Find {
    /// The name of the table.
    table: String,
    /// The fields that the rows must have.
    #[serde(default)]
    query: Fields,
    /// How many rows at most.
    #[serde(default = "twenty")]
    limit: u32,
}

fn twenty() -> u32 {
    20
}

pub async fn find(desk: Desk, args: Find) -> Result<Vec<Value>, BotError> {
    desk.means.store.find(&args.table, args.query, args.limit.min(MAX_ROWS)).await
}

/// Add a row to a table of your own database. The table is made when it is new.
#[derive(Deserialize, JsonSchema)]
pub struct Insert {
    /// The name of the table.
    table: String,
    /// The fields of the row.
    data: Fields,
}

pub async fn insert(desk: Desk, args: Insert) -> Result<Value, BotError> {
    Ok(json!({"id": desk.means.store.insert(&args.table, args.data).await?}))
}

/// Change fields of rows in a table of your own database; null removes a field.
#[derive(Deserialize, JsonSchema)]
pub struct Update {
    /// The name of the table.
    table: String,
    /// The fields that the rows must have.
    query: Fields,
    /// The fields to change.
    data: Fields,
}

pub async fn update(desk: Desk, args: Update) -> Result<Value, BotError> {
    Ok(json!({"updated": desk.means.store.update(&args.table, args.query, args.data).await?}))
}

/// Remove rows from a table of your own database.
#[derive(Deserialize, JsonSchema)]
pub struct Delete {
    /// The name of the table.
    table: String,
    /// The fields that the rows must have.
    query: Fields,
}

pub async fn delete(desk: Desk, args: Delete) -> Result<Value, BotError> {
    Ok(json!({"deleted": desk.means.store.delete(&args.table, args.query).await?}))
}
