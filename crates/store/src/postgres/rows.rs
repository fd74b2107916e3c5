//! How messages, changes and ids look as columns.

use bytes::BytesMut;
use folkmoot_core::ids::*;
use folkmoot_core::lookup::Unavailable;
use folkmoot_core::model::{ContentType, Door, Message};
use folkmoot_core::record::Change;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

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

/// An id as 16 bytes, big end first, which sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(pub u128);

type Problem = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Id {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Problem> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(BYTEA);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Id {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        Ok(Self(u128::from_be_bytes(raw.try_into()?)))
    }

    accepts!(BYTEA);
}

/// What people wrote; SQL's own texts take no U+0000.
pub struct Text<'a>(pub &'a str);

impl std::fmt::Debug for Text<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl ToSql for Text<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Problem> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    accepts!(BYTEA);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Text<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Problem> {
        Ok(Self(std::str::from_utf8(raw)?))
    }

    accepts!(BYTEA);
}

/// A row, or a part of one, that does not hold what it should.
pub type Read<T> = Result<T, Unreadable>;

#[derive(Debug)]
pub struct Unreadable(pub String);

impl From<tokio_postgres::Error> for Unreadable {
    fn from(error: tokio_postgres::Error) -> Self {
        Self(super::link::words(&error))
    }
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Unreadable> for Unavailable {
    fn from(unreadable: Unreadable) -> Self {
        Self(format!("a row cannot be read: {}", unreadable.0))
    }
}

/// Postgres's integers are signed; no counter of ours comes near the limit, and a client's `before` may well exceed it.
pub fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub fn limit(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub fn number(row: &Row, column: usize) -> Read<u64> {
    Ok(u64::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0))
}

fn small(row: &Row, column: usize) -> Read<u32> {
    Ok(u32::try_from(row.try_get::<_, i64>(column)?).unwrap_or(u32::MAX))
}

pub fn id(row: &Row, column: usize) -> Read<u128> {
    Ok(row.try_get::<_, Id>(column)?.0)
}

pub fn optional_id(row: &Row, column: usize) -> Read<Option<u128>> {
    Ok(row.try_get::<_, Option<Id>>(column)?.map(|id| id.0))
}

pub fn text(row: &Row, column: usize) -> Read<String> {
    Ok(row.try_get::<_, Text<'_>>(column)?.0.to_owned())
}

pub fn message(row: &Row) -> Read<Message> {
    Ok(Message {
        id: MessageId(id(row, 0)?),
        channel: ChannelId(id(row, 1)?),
        seq: number(row, 2)?,
        version: number(row, 3)?,
        sender: MemberId(id(row, 4)?),
        thread: optional_id(row, 5)?.map(MessageId),
        content: text(row, 6)?,
        content_type: content_type_of(row.try_get(7)?),
        kind: text(row, 8)?,
        file: optional_id(row, 9)?.map(FileId),
        metadata: row.try_get::<_, Option<String>>(10)?.map(RawValue::from_string).transpose()?,
        door: Door::of_number(u8::try_from(row.try_get::<_, i16>(11)?).unwrap_or(0)),
        created_at: row.try_get(12)?,
        updated_at: row.try_get(13)?,
        edited_at: row.try_get(14)?,
        edit_count: small(row, 15)?,
        reply_count: small(row, 16)?,
        reactions: match row.try_get::<_, Option<&str>>(17)? {
            Some(text) => serde_json::from_str(text)?,
            None => Vec::new(),
        },
        deleted: row.try_get(18)?,
        key: row.try_get::<_, Option<Text<'_>>>(19)?.map(|key| key.0.to_owned()),
        root: optional_id(row, 20)?.map(MessageId),
        depth: small(row, 21)?,
    })
}

/// Reads `message, actor, at, what` from the given column on; the channel and the position are known to the caller.
pub fn change(row: &Row, first: usize, channel: ChannelId, seq: u64) -> Read<Change> {
    Ok(Change {
        channel,
        seq,
        message: MessageId(id(row, first)?),
        actor: MemberId(id(row, first + 1)?),
        at: row.try_get(first + 2)?,
        what: serde_json::from_str(row.try_get(first + 3)?)?,
    })
}

pub fn reactions(message: &Message) -> Option<String> {
    (!message.reactions.is_empty()).then(|| json(&message.reactions))
}

pub fn json(value: &impl serde::Serialize) -> String {
    // Our own types have string keys and no failing serializers, so this cannot fail.
    serde_json::to_string(value).unwrap_or_default()
}

/// On disk, so it never changes; and nobody can choose keys that all fall on one hash and make each look-up a long walk.
pub fn key_hash(sender: MemberId, key: &str) -> i64 {
    leading_bytes(&Sha256::new().chain_update(sender.0.to_be_bytes()).chain_update(key).finalize())
}

/// The same for the name of a record.
pub fn name_hash(name: &str) -> i64 {
    leading_bytes(&Sha256::digest(name))
}

fn leading_bytes(digest: &[u8]) -> i64 {
    digest[..8].iter().fold(0, |hash, byte| hash << 8 | i64::from(*byte))
}

// The numbers below are on disk, as those of doors are (`DoorFacts`): a new variant gets a new number, none is ever used again.

pub fn content_type_number(content_type: ContentType) -> i16 {
    match content_type {
        ContentType::Text => 0,
        ContentType::Markdown => 1,
    }
}

fn content_type_of(number: i16) -> ContentType {
    if number == 1 { ContentType::Markdown } else { ContentType::Text }
}
