//! The work that is put off while messages come in: filling the search index and clearing away removed channels.
//!
//! Messages are indexed in the order they were stored; `indexed` in `meta` says how far that has come. What changes behind that
//! mark is noted in `touched` and indexed again. Both happen in batches, because the index gets its speed from them.
//! The messages are counted on the way (`counted` in `meta`), because counting a million of them takes long.

use folkmoot_core::ids::{ChannelId, MemberId};
use rusqlite::{Connection, params};

use super::keys;
use super::rows::{blob, limit};
use super::words::for_index;

/// Does up to `at_most` messages' worth of work; true when more may be left. Expects to be inside a transaction.
pub fn catch_up(connection: &Connection, at_most: usize) -> rusqlite::Result<bool> {
    let mut left = at_most;
    for work in [clear_away, index_changed, index_new] {
        left -= work(connection, left)?.min(left);
        if left == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether [`catch_up`] would find anything to do; saves an idle hub the transaction.
pub fn is_behind(connection: &Connection) -> rusqlite::Result<bool> {
    const SQL: &str = "SELECT EXISTS (SELECT 1 FROM forgotten) OR EXISTS (SELECT 1 FROM touched) \
        OR EXISTS (SELECT 1 FROM messages WHERE n > (SELECT min(value) FROM meta WHERE name IN ('indexed', 'placed')))";
    connection.prepare_cached(SQL)?.query_row([], |row| row.get(0))
}

fn clear_away(connection: &Connection, at_most: usize) -> rusqlite::Result<usize> {
    let mut done = 0;
    while done < at_most {
        let Some(channel) = forgotten_channel(connection)? else { break };
        let cleared = clear_messages(connection, channel, at_most - done)?;
        done += cleared;
        if done == at_most {
            break;
        }
        let changes = connection
            .prepare_cached("DELETE FROM changes WHERE channel = ?1 AND seq IN (SELECT seq FROM changes WHERE channel = ?1 LIMIT ?2)")?
            .execute(params![blob(channel.0), limit(at_most - done)])?;
        done += changes;
        if done < at_most {
            connection.prepare_cached("DELETE FROM forgotten WHERE channel = ?1")?.execute([blob(channel.0)])?;
        }
    }
    Ok(done)
}

fn forgotten_channel(connection: &Connection) -> rusqlite::Result<Option<ChannelId>> {
    let mut statement = connection.prepare_cached("SELECT channel FROM forgotten LIMIT 1")?;
    let mut rows = statement.query([])?;
    rows.next()?.map(|row| super::rows::id(row, 0).map(ChannelId)).transpose()
}

/// Removes messages and everything filed under their numbers.
fn clear_messages(connection: &Connection, channel: ChannelId, at_most: usize) -> rusqlite::Result<usize> {
    const PICK: &str = "SELECT n FROM positions WHERE channel = ?1 \
        UNION ALL SELECT n FROM messages WHERE n > (SELECT value FROM meta WHERE name = 'placed') AND channel = ?1 \
        LIMIT ?2";
    const FORGET_PLACE: &str =
        "DELETE FROM positions WHERE channel = ?1 AND seq = (SELECT seq FROM messages WHERE n = ?2)";
    const KEEP_HIGHEST: &str =
        "UPDATE meta SET value = max(value, (SELECT max(n) FROM messages)) WHERE name = 'highest'";
    let numbers = numbers(connection, PICK, params![blob(channel.0), limit(at_most)])?;
    if numbers.is_empty() {
        return Ok(0);
    }
    connection.prepare_cached(KEEP_HIGHEST)?.execute([])?;
    for n in &numbers {
        take_out(connection, *n)?;
        forget_key(connection, *n)?;
        connection.prepare_cached(FORGET_PLACE)?.execute(params![blob(channel.0), n])?;
        connection.prepare_cached("DELETE FROM messages WHERE n = ?1")?.execute([n])?;
    }
    Ok(numbers.len())
}

fn forget_key(connection: &Connection, n: i64) -> rusqlite::Result<()> {
    const KEY: &str = "SELECT sender, key FROM messages WHERE n = ?1 AND key IS NOT NULL";
    let mut statement = connection.prepare_cached(KEY)?;
    let mut rows = statement.query([n])?;
    match rows.next()? {
        Some(row) => keys::forget(connection, MemberId(super::rows::id(row, 0)?), row.get_ref(1)?.as_str()?, n),
        None => Ok(()),
    }
}

fn index_changed(connection: &Connection, at_most: usize) -> rusqlite::Result<usize> {
    const ONE: &str = "SELECT n, channel, deleted, content FROM messages WHERE n = ?1";
    let numbers = numbers(connection, "SELECT n FROM touched ORDER BY n LIMIT ?1", [limit(at_most)])?;
    for n in &numbers {
        if take_out(connection, *n)? {
            put_in(connection, ONE, [n])?;
        }
    }
    Ok(numbers.len())
}

fn index_new(connection: &Connection, at_most: usize) -> rusqlite::Result<usize> {
    const NEXT: &str = "SELECT n, channel, deleted, content FROM messages \
        WHERE n > (SELECT value FROM meta WHERE name = 'indexed') ORDER BY n LIMIT ?1";
    let (count, last) = put_in(connection, NEXT, [limit(at_most)])?;
    if count > 0 {
        connection.prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'indexed'")?.execute([last])?;
    }
    Ok(count)
}

/// Takes a message out of the index and out of the count; true when it was due to be there.
fn take_out(connection: &Connection, n: i64) -> rusqlite::Result<bool> {
    const FORGET: &str = "DELETE FROM touched WHERE n = ?1";
    const IS_INDEXED: &str = "SELECT ?1 <= value FROM meta WHERE name = 'indexed'";
    const IS_THERE: &str = "SELECT EXISTS (SELECT 1 FROM search WHERE rowid = ?1)";
    connection.prepare_cached(FORGET)?.execute([n])?;
    if !connection.prepare_cached(IS_INDEXED)?.query_row([n], |row| row.get(0))? {
        return Ok(false);
    }
    if connection.prepare_cached(IS_THERE)?.query_row([n], |row| row.get(0))? {
        connection.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([n])?;
        count(connection, -1)?;
    }
    Ok(true)
}

/// Puts the messages of a query into the index and counts them; returns how many it saw, and the number of the last.
fn put_in(connection: &Connection, sql: &str, parameters: impl rusqlite::Params) -> rusqlite::Result<(usize, i64)> {
    let mut insert = connection.prepare_cached("INSERT INTO search (rowid, channel, content) VALUES (?1, ?2, ?3)")?;
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let (mut seen, mut last, mut inserted) = (0, 0, 0);
    while let Some(row) = rows.next()? {
        seen += 1;
        last = row.get(0)?;
        if !row.get::<_, bool>(2)? {
            let channel = ChannelId(super::rows::id(row, 1)?);
            let content = for_index(row.get_ref(3)?.as_str()?);
            insert.execute(params![last, channel_word(channel), content])?;
            inserted += 1;
        }
    }
    count(connection, inserted)?;
    Ok((seen, last))
}

fn count(connection: &Connection, by: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE meta SET value = value + ?1 WHERE name = 'counted'")?.execute([by])?;
    Ok(())
}

/// How many messages there are that were not deleted: those counted, and what happened since.
pub fn message_count(connection: &Connection) -> rusqlite::Result<u64> {
    // CROSS JOIN: the small table first, whatever the planner believes.
    const SQL: &str = "WITH mark (n) AS (SELECT value FROM meta WHERE name = 'indexed') \
        SELECT (SELECT value FROM meta WHERE name = 'counted') \
        + (SELECT count(*) FROM messages WHERE n > (SELECT n FROM mark) AND deleted = 0) \
        - (SELECT count(*) FROM touched t CROSS JOIN messages m ON m.n = t.n \
            WHERE t.n <= (SELECT n FROM mark) AND m.deleted <> 0) \
        - (SELECT count(*) FROM forgotten f CROSS JOIN positions p ON p.channel = f.channel \
            CROSS JOIN messages m ON m.n = p.n WHERE m.deleted = 0) \
        - (SELECT count(*) FROM messages WHERE n > (SELECT value FROM meta WHERE name = 'placed') AND deleted = 0 \
            AND channel IN (SELECT channel FROM forgotten))";
    connection.prepare_cached(SQL)?.query_row([], |row| super::rows::number(row, 0))
}

fn numbers(connection: &Connection, sql: &str, parameters: impl rusqlite::Params) -> rusqlite::Result<Vec<i64>> {
    connection.prepare_cached(sql)?.query_map(parameters, |row| row.get(0))?.collect()
}

/// The channel as one word of the index: letters and digits only, or the tokenizer would take it apart.
pub fn channel_word(channel: ChannelId) -> String {
    format!("{:032x}", channel.0)
}
