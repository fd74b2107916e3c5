//! How messages, changes and ids look as columns.

use folkmoot_core::ids::*;
use folkmoot_core::model::{ContentType, Door, Message};
use folkmoot_core::record::Change;
use rusqlite::Row;
use rusqlite::types::Type;
use serde_json::value::RawValue;

/// A statement that reads whole messages; continues after the column list. The table must be called `m`.
macro_rules! select_messages {
    ($rest:literal) => {
        concat!(
            "SELECT m.id, m.channel, m.seq, m.version, m.sender, m.thread, m.content, m.content_type, m.kind, m.file, m.metadata, ",
            "m.door, m.created_at, m.updated_at, m.edited_at, m.edit_count, m.reply_count, m.reactions, m.deleted, m.key, m.root, m.depth ",
            $rest
        )
    };
}
pub(crate) use select_messages;

/// How many columns [`select_messages`] reads; what a statement adds of its own comes after them.
pub const MESSAGE_COLUMNS: usize = 22;

pub fn blob(id: u128) -> [u8; 16] {
    id.to_be_bytes()
}

pub fn optional_blob(id: Option<u128>) -> Option<[u8; 16]> {
    id.map(blob)
}

/// SQLite's integers are signed; no counter of ours comes near the limit, and a client's `before` may well exceed it.
pub fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub fn limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

pub fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<u128> {
    Ok(u128::from_be_bytes(row.get(column)?))
}

fn optional_id(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u128>> {
    Ok(row.get::<_, Option<[u8; 16]>>(column)?.map(u128::from_be_bytes))
}

pub fn message(row: &Row<'_>) -> rusqlite::Result<Message> {
    Ok(Message {
        id: MessageId(id(row, 0)?),
        channel: ChannelId(id(row, 1)?),
        seq: number(row, 2)?,
        version: number(row, 3)?,
        sender: MemberId(id(row, 4)?),
        thread: optional_id(row, 5)?.map(MessageId),
        content: row.get(6)?,
        content_type: content_type_of(row.get(7)?),
        kind: row.get(8)?,
        file: optional_id(row, 9)?.map(FileId),
        metadata: row
            .get::<_, Option<String>>(10)?
            .map(|text| RawValue::from_string(text).map_err(unreadable(10)))
            .transpose()?,
        door: Door::of_number(row.get(11)?),
        created_at: row.get(12)?,
        updated_at: row.get(13)?,
        edited_at: row.get(14)?,
        edit_count: row.get(15)?,
        reply_count: row.get(16)?,
        reactions: match row.get_ref(17)?.as_str_or_null()? {
            Some(text) => serde_json::from_str(text).map_err(unreadable(17))?,
            None => Vec::new(),
        },
        deleted: row.get(18)?,
        key: row.get(19)?,
        root: optional_id(row, 20)?.map(MessageId),
        depth: row.get(21)?,
    })
}

/// Reads `message, actor, at, what` from the given column on; the channel and the position are known to the caller.
pub fn change(row: &Row<'_>, first: usize, channel: ChannelId, seq: u64) -> rusqlite::Result<Change> {
    let what = row.get_ref(first + 3)?.as_str()?;
    Ok(Change {
        channel,
        seq,
        message: MessageId(id(row, first)?),
        actor: MemberId(id(row, first + 1)?),
        at: row.get(first + 2)?,
        what: serde_json::from_str(what).map_err(unreadable(first + 3))?,
    })
}

pub fn json(value: &impl serde::Serialize) -> String {
    // Our own types have string keys and no failing serializers, so this cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

pub fn unreadable(column: usize) -> impl FnOnce(serde_json::Error) -> rusqlite::Error {
    move |error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}

// The numbers below are on disk, as those of doors are (`DoorFacts`): a new variant gets a new number, none is ever used again.

pub fn content_type_number(content_type: ContentType) -> u8 {
    match content_type {
        ContentType::Text => 0,
        ContentType::Markdown => 1,
    }
}

fn content_type_of(number: u8) -> ContentType {
    if number == 1 { ContentType::Markdown } else { ContentType::Text }
}
