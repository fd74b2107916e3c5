//! Reading messages: the same queries for the writer's transaction and for readers.

use folkmoot_core::ids::*;
use folkmoot_core::model::{Head, Message};
use folkmoot_core::record::Change;
use rusqlite::{Connection, OptionalExtension, Params, params};

use super::rows::{self, MESSAGE_COLUMNS, blob, integer, limit, number, select_messages};
use crate::{Page, Replay};

pub fn message(connection: &Connection, id: MessageId) -> rusqlite::Result<Option<Message>> {
    const SQL: &str = select_messages!("FROM live m WHERE m.id = ?1");
    connection.prepare_cached(SQL)?.query_row([blob(id.0)], rows::message).optional()
}

/// By place: what is filed in `positions`, and what is not yet, behind the mark. Each part is in order and as long as the
/// whole may be; whoever uses it sorts the two together. The place is called `p`, its message `f`.
macro_rules! by_place {
    ($columns:literal, $conditions:literal, $direction:literal, $limit:literal) => {
        concat!(
            "SELECT * FROM (SELECT ",
            $columns,
            " FROM messages p CROSS JOIN messages f ON f.n = p.n \
                WHERE p.n > (SELECT value FROM meta WHERE name = 'placed') AND p.channel = ?1 ",
            $conditions,
            " ORDER BY p.n ",
            $direction,
            " LIMIT ",
            $limit,
            ") UNION ALL SELECT * FROM (SELECT ",
            $columns,
            " FROM positions p CROSS JOIN messages f ON f.n = p.n WHERE p.channel = ?1 ",
            $conditions,
            " ORDER BY p.seq ",
            $direction,
            " LIMIT ",
            $limit,
            ")"
        )
    };
}

/// The newest that stand no later than a position, oldest first.
pub fn newest_messages(
    connection: &Connection,
    channel: ChannelId,
    up_to: u64,
    at_most: usize,
) -> rusqlite::Result<Vec<Message>> {
    const SQL: &str = concat!(
        select_messages!("FROM ("),
        by_place!("p.n AS n, p.seq AS seq", "AND f.deleted = 0 AND p.seq <= ?3", "DESC", "?2"),
        ") e CROSS JOIN live m ON m.n = e.n ORDER BY e.seq DESC LIMIT ?2"
    );
    let mut messages = collect(connection, SQL, params![blob(channel.0), limit(at_most), integer(up_to)])?;
    messages.reverse();
    Ok(messages)
}

/// The newest replies before a position, oldest first.
pub fn newest_replies(
    connection: &Connection,
    root: MessageId,
    before: u64,
    at_most: usize,
) -> rusqlite::Result<Vec<Message>> {
    const SQL: &str = select_messages!(
        "FROM live m WHERE m.thread = ?1 AND m.seq < ?2 AND m.deleted = 0 ORDER BY m.seq DESC LIMIT ?3"
    );
    let mut messages = collect(connection, SQL, params![blob(root.0), integer(before), limit(at_most)])?;
    messages.reverse();
    Ok(messages)
}

pub fn version_at(connection: &Connection, channel: ChannelId, seq: u64) -> rusqlite::Result<u64> {
    const SQL: &str = concat!(
        "SELECT m.version FROM (",
        by_place!("p.n AS n, p.seq AS seq", "AND p.seq <= ?2", "DESC", "1"),
        ") e CROSS JOIN live m ON m.n = e.n ORDER BY e.seq DESC LIMIT 1"
    );
    let mut statement = connection.prepare_cached(SQL)?;
    let version = statement.query_row(params![blob(channel.0), integer(seq)], |row| number(row, 0)).optional()?;
    Ok(version.unwrap_or(0))
}

/// How far a channel has come: three seeks, however long it is.
pub fn head(connection: &Connection, channel: ChannelId) -> rusqlite::Result<Head> {
    const MESSAGE: &str = concat!(
        "SELECT m.seq, m.version FROM (",
        by_place!("p.n AS n, p.seq AS seq", "", "DESC", "1"),
        ") e CROSS JOIN live m ON m.n = e.n ORDER BY e.seq DESC LIMIT 1"
    );
    const CHANGE: &str = "SELECT seq FROM changes WHERE channel = ?1 ORDER BY seq DESC LIMIT 1";
    let channel = blob(channel.0);
    let newest_message = |row: &rusqlite::Row<'_>| Ok(Head { seq: number(row, 0)?, version: number(row, 1)? });
    let mut head =
        connection.prepare_cached(MESSAGE)?.query_row([channel], newest_message).optional()?.unwrap_or_default();
    let change = connection.prepare_cached(CHANGE)?.query_row([channel], |row| number(row, 0)).optional()?;
    head.seq = head.seq.max(change.unwrap_or(0));
    Ok(head)
}

pub fn page(connection: &Connection, channel: ChannelId, page: Page) -> rusqlite::Result<Vec<Message>> {
    const NEWEST_FIRST: &str = concat!(
        select_messages!("FROM ("),
        by_place!(
            "p.n AS n, p.seq AS seq",
            "AND p.seq < ?2 AND p.seq > ?3 AND f.deleted = 0 AND (?4 OR f.thread IS NULL)",
            "DESC",
            "?7"
        ),
        ") e CROSS JOIN live m ON m.n = e.n ORDER BY e.seq DESC LIMIT ?5 OFFSET ?6"
    );
    const OLDEST_FIRST: &str = concat!(
        select_messages!("FROM ("),
        by_place!(
            "p.n AS n, p.seq AS seq",
            "AND p.seq < ?2 AND p.seq > ?3 AND f.deleted = 0 AND (?4 OR f.thread IS NULL)",
            "ASC",
            "?7"
        ),
        ") e CROSS JOIN live m ON m.n = e.n ORDER BY e.seq ASC LIMIT ?5 OFFSET ?6"
    );
    let from_the_old_end = page.after.is_some() && page.before.is_none();
    let sql = if from_the_old_end { OLDEST_FIRST } else { NEWEST_FIRST };
    let mut messages = collect(
        connection,
        sql,
        params![
            blob(channel.0),
            integer(page.before.unwrap_or(u64::MAX)),
            page.after.map_or(-1, integer),
            page.with_replies,
            limit(page.limit),
            limit(page.offset),
            limit(page.limit.saturating_add(page.offset)),
        ],
    )?;
    if from_the_old_end {
        messages.reverse();
    }
    Ok(messages)
}

pub fn thread(
    connection: &Connection,
    root: MessageId,
    before: Option<u64>,
    at_most: usize,
) -> rusqlite::Result<Vec<Message>> {
    let Some(message) = message(connection, root)? else { return Ok(Vec::new()) };
    let replies = newest_replies(connection, root, before.unwrap_or(u64::MAX), at_most)?;
    // A deleted root is shown, emptied, as long as something hangs below it.
    if message.deleted && message.reply_count == 0 {
        return Ok(Vec::new());
    }
    Ok(std::iter::once(message).chain(replies).collect())
}

/// Messages and changes in one statement, and so of one moment: two would let a gap open between them.
pub fn replay(
    connection: &Connection,
    channel: ChannelId,
    after: u64,
    at_most: usize,
) -> rusqlite::Result<Vec<Replay>> {
    const SQL: &str = concat!(
        select_messages!(", e.seq, e.message, e.actor, e.at, e.what FROM ("),
        by_place!(
            "p.seq AS seq, f.id AS message, NULL AS actor, NULL AS at, NULL AS what",
            "AND p.seq > ?2 AND p.channel NOT IN (SELECT channel FROM forgotten)",
            "ASC",
            "?3"
        ),
        " UNION ALL \
            SELECT seq, message, actor, at, what FROM changes \
                WHERE channel = ?1 AND seq > ?2 AND channel NOT IN (SELECT channel FROM forgotten) \
            ORDER BY seq LIMIT ?3 \
        ) e LEFT JOIN live m ON m.id = e.message ORDER BY e.seq"
    );
    let mut statement = connection.prepare_cached(SQL)?;
    let rows =
        statement.query_map(params![blob(channel.0), integer(after), limit(at_most)], |row| replayed(row, channel))?;
    rows.collect()
}

fn replayed(row: &rusqlite::Row<'_>, channel: ChannelId) -> rusqlite::Result<Replay> {
    const SEQ: usize = MESSAGE_COLUMNS;
    const CHANGE: usize = SEQ + 1;
    const WHAT: usize = CHANGE + 3;
    if row.get_ref(WHAT)?.as_str_or_null()?.is_none() {
        return rows::message(row).map(Replay::Message);
    }
    let change: Change = rows::change(row, CHANGE, channel, number(row, SEQ)?)?;
    let message_is_there = row.get_ref(0)?.as_blob_or_null()?.is_some();
    let message = message_is_there.then(|| rows::message(row)).transpose()?;
    Ok(Replay::Change(change, message))
}

fn collect(connection: &Connection, sql: &str, parameters: impl Params) -> rusqlite::Result<Vec<Message>> {
    connection.prepare_cached(sql)?.query_map(parameters, rows::message)?.collect()
}
