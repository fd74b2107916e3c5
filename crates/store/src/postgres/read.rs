//! Reading messages: the same queries for the writer's transaction and for readers.

use folkmoot_core::ids::*;
use folkmoot_core::lookup::Found;
use folkmoot_core::model::Message;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::rows::{self, Id, MESSAGE_COLUMNS, Read, Text, integer, key_hash, limit, number, select_messages};
use crate::{Page, Replay};

/// Where queries go: a reader's own session, or the writer's inside its transaction.
pub trait Rows {
    fn rows(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Found<Vec<Row>>;
}

pub const MESSAGE: &str = select_messages!("FROM live m WHERE m.id = $1");
pub const BY_KEY: &str = select_messages!("FROM live m WHERE m.key_hash = $1 AND m.sender = $2 AND m.key = $3 LIMIT 1");

pub fn message(source: &impl Rows, id: MessageId) -> Found<Option<Message>> {
    first(&source.rows(MESSAGE, &[&Id(id.0)])?)
}

pub fn message_by_key(source: &impl Rows, sender: MemberId, key: &str) -> Found<Option<Message>> {
    first(&source.rows(BY_KEY, &[&key_hash(sender, key), &Id(sender.0), &Text(key)])?)
}

/// The newest that stand no later than a position, oldest first.
pub fn newest_messages(source: &impl Rows, channel: ChannelId, up_to: u64, at_most: usize) -> Found<Vec<Message>> {
    const SQL: &str = select_messages!(
        "FROM live m WHERE m.channel = $1 AND m.seq <= $2 AND NOT m.deleted ORDER BY m.seq DESC LIMIT $3"
    );
    let mut messages = all(&source.rows(SQL, &[&Id(channel.0), &integer(up_to), &limit(at_most)])?)?;
    messages.reverse();
    Ok(messages)
}

/// The newest replies before a position, oldest first.
pub fn newest_replies(source: &impl Rows, root: MessageId, before: u64, at_most: usize) -> Found<Vec<Message>> {
    const SQL: &str = select_messages!(
        "FROM live m WHERE m.thread = $1 AND m.seq < $2 AND NOT m.deleted ORDER BY m.seq DESC LIMIT $3"
    );
    let mut messages = all(&source.rows(SQL, &[&Id(root.0), &integer(before), &limit(at_most)])?)?;
    messages.reverse();
    Ok(messages)
}

pub fn version_at(source: &impl Rows, channel: ChannelId, seq: u64) -> Found<u64> {
    const SQL: &str = "SELECT version FROM live WHERE channel = $1 AND seq <= $2 ORDER BY seq DESC LIMIT 1";
    let rows = source.rows(SQL, &[&Id(channel.0), &integer(seq)])?;
    Ok(rows.first().map_or(Ok(0), |row| number(row, 0))?)
}

pub fn last_seq(source: &impl Rows, channel: ChannelId) -> Found<u64> {
    const SQL: &str = "SELECT greatest(0, (SELECT max(seq) FROM live WHERE channel = $1), \
        (SELECT max(seq) FROM changes WHERE channel = $1))";
    let rows = source.rows(SQL, &[&Id(channel.0)])?;
    Ok(rows.first().map_or(Ok(0), |row| number(row, 0))?)
}

pub fn page(source: &impl Rows, channel: ChannelId, page: Page) -> Found<Vec<Message>> {
    const NEWEST_FIRST: &str = select_messages!(
        "FROM live m WHERE m.channel = $1 AND m.seq < $2 AND m.seq > $3 AND NOT m.deleted AND ($4 OR m.thread IS NULL) \
            ORDER BY m.seq DESC LIMIT $5 OFFSET $6"
    );
    const OLDEST_FIRST: &str = select_messages!(
        "FROM live m WHERE m.channel = $1 AND m.seq < $2 AND m.seq > $3 AND NOT m.deleted AND ($4 OR m.thread IS NULL) \
            ORDER BY m.seq ASC LIMIT $5 OFFSET $6"
    );
    let from_the_old_end = page.after.is_some() && page.before.is_none();
    let sql = if from_the_old_end { OLDEST_FIRST } else { NEWEST_FIRST };
    let (before, after) = (integer(page.before.unwrap_or(u64::MAX)), page.after.map_or(-1, integer));
    let (at_most, offset) = (limit(page.limit), limit(page.offset));
    let rows = source.rows(sql, &[&Id(channel.0), &before, &after, &page.with_replies, &at_most, &offset])?;
    let mut messages = all(&rows)?;
    if from_the_old_end {
        messages.reverse();
    }
    Ok(messages)
}

pub fn thread(source: &impl Rows, root: MessageId, before: Option<u64>, at_most: usize) -> Found<Vec<Message>> {
    let Some(message) = message(source, root)? else { return Ok(Vec::new()) };
    // A deleted root is shown, emptied, as long as something hangs below it.
    if message.deleted && message.reply_count == 0 {
        return Ok(Vec::new());
    }
    let replies = newest_replies(source, root, before.unwrap_or(u64::MAX), at_most)?;
    Ok(std::iter::once(message).chain(replies).collect())
}

/// Messages and changes in one statement, and so of one moment: two would let a gap open between them.
pub fn replay(source: &impl Rows, channel: ChannelId, after: u64, at_most: usize) -> Found<Vec<Replay>> {
    const SQL: &str = select_messages!(
        ", e.seq, e.message, e.actor, e.at, e.what FROM ( \
            (SELECT seq, id AS message, NULL::bytea AS actor, NULL::bigint AS at, NULL::text AS what FROM live \
                WHERE channel = $1 AND seq > $2 ORDER BY seq LIMIT $3) \
            UNION ALL \
            (SELECT seq, message, actor, at, what FROM changes \
                WHERE channel = $1 AND seq > $2 AND channel NOT IN (SELECT channel FROM forgotten) ORDER BY seq LIMIT $3) \
            ORDER BY seq LIMIT $3 \
        ) e LEFT JOIN live m ON m.id = e.message ORDER BY e.seq"
    );
    let rows = source.rows(SQL, &[&Id(channel.0), &integer(after), &limit(at_most)])?;
    Ok(rows.iter().map(|row| replayed(row, channel)).collect::<Read<_>>()?)
}

fn replayed(row: &Row, channel: ChannelId) -> Read<Replay> {
    const SEQ: usize = MESSAGE_COLUMNS;
    const CHANGE: usize = SEQ + 1;
    const WHAT: usize = CHANGE + 3;
    if row.try_get::<_, Option<&str>>(WHAT)?.is_none() {
        return rows::message(row).map(Replay::Message);
    }
    let change = rows::change(row, CHANGE, channel, number(row, SEQ)?)?;
    let message_is_there = row.try_get::<_, Option<Id>>(0)?.is_some();
    let message = message_is_there.then(|| rows::message(row)).transpose()?;
    Ok(Replay::Change(change, message))
}

/// How many messages there are that were not deleted: those counted, and what happened since.
pub fn message_count(source: &impl Rows) -> Found<u64> {
    const SQL: &str = "WITH mark (n) AS MATERIALIZED (SELECT value FROM meta WHERE name = 'indexed') \
        SELECT (SELECT value FROM meta WHERE name = 'counted') \
        + (SELECT count(*) FROM live WHERE n > (SELECT n FROM mark) AND NOT deleted) \
        - (SELECT count(*) FROM touched t JOIN live m ON m.n = t.n WHERE t.n <= (SELECT n FROM mark) AND m.deleted) \
        - (SELECT count(*) FROM forgotten f JOIN messages m ON m.channel = f.channel JOIN search s ON s.n = m.n)";
    let rows = source.rows(SQL, &[])?;
    Ok(rows.first().map_or(Ok(0), |row| number(row, 0))?)
}

pub fn first(rows: &[Row]) -> Found<Option<Message>> {
    Ok(rows.first().map(rows::message).transpose()?)
}

pub fn all(rows: &[Row]) -> Found<Vec<Message>> {
    Ok(rows.iter().map(rows::message).collect::<Read<_>>()?)
}
