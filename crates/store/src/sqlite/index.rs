//! The work that is put off while messages come in: filling the search index and clearing away removed channels.
//!
//! Messages are indexed in the order they were stored; `indexed` in `meta` says how far that has come. What changes behind that
//! mark is noted in `touched` and indexed again. Both happen in batches, because the index gets its speed from them.

use folkmoot_core::ids::ChannelId;
use rusqlite::{Connection, params};

use super::rows::{blob, limit};

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
        OR EXISTS (SELECT 1 FROM messages WHERE n > (SELECT value FROM meta WHERE name = 'indexed'))";
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

/// Removes messages together with their index entries: their numbers may be given out again.
fn clear_messages(connection: &Connection, channel: ChannelId, at_most: usize) -> rusqlite::Result<usize> {
    const PICK: &str = "SELECT n FROM messages WHERE channel = ?1 ORDER BY n LIMIT ?2";
    let numbers = numbers(connection, PICK, params![blob(channel.0), limit(at_most)])?;
    for n in &numbers {
        connection.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([n])?;
        connection.prepare_cached("DELETE FROM touched WHERE n = ?1")?.execute([n])?;
        connection.prepare_cached("DELETE FROM messages WHERE n = ?1")?.execute([n])?;
    }
    if !numbers.is_empty() {
        const LOWER: &str =
            "UPDATE meta SET value = min(value, (SELECT coalesce(max(n), 0) FROM messages)) WHERE name = 'indexed'";
        connection.prepare_cached(LOWER)?.execute([])?;
    }
    Ok(numbers.len())
}

fn index_changed(connection: &Connection, at_most: usize) -> rusqlite::Result<usize> {
    const BEHIND_THE_MARK: &str = "SELECT m.n, m.channel, m.deleted, m.content FROM messages m \
        WHERE m.n = ?1 AND m.n <= (SELECT value FROM meta WHERE name = 'indexed')";
    let numbers = numbers(connection, "SELECT n FROM touched ORDER BY n LIMIT ?1", [limit(at_most)])?;
    for n in &numbers {
        connection.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([n])?;
        index_each(connection, BEHIND_THE_MARK, [n])?;
        connection.prepare_cached("DELETE FROM touched WHERE n = ?1")?.execute([n])?;
    }
    Ok(numbers.len())
}

fn index_new(connection: &Connection, at_most: usize) -> rusqlite::Result<usize> {
    const NEXT: &str = "SELECT n, channel, deleted, content FROM messages \
        WHERE n > (SELECT value FROM meta WHERE name = 'indexed') ORDER BY n LIMIT ?1";
    let (count, last) = index_each(connection, NEXT, [limit(at_most)])?;
    if count > 0 {
        connection.prepare_cached("UPDATE meta SET value = ?1 WHERE name = 'indexed'")?.execute([last])?;
    }
    Ok(count)
}

/// Puts the messages of a query into the index; returns how many it saw, and the number of the last.
fn index_each(connection: &Connection, sql: &str, parameters: impl rusqlite::Params) -> rusqlite::Result<(usize, i64)> {
    let mut insert = connection.prepare_cached("INSERT INTO search (rowid, channel, content) VALUES (?1, ?2, ?3)")?;
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let (mut count, mut last) = (0, 0);
    while let Some(row) = rows.next()? {
        count += 1;
        last = row.get(0)?;
        if !row.get::<_, bool>(2)? {
            let channel = ChannelId(super::rows::id(row, 1)?);
            insert.execute(params![last, channel_word(channel), row.get_ref(3)?.as_str()?])?;
        }
    }
    Ok((count, last))
}

fn numbers(connection: &Connection, sql: &str, parameters: impl rusqlite::Params) -> rusqlite::Result<Vec<i64>> {
    connection.prepare_cached(sql)?.query_map(parameters, |row| row.get(0))?.collect()
}

/// The channel as one word of the index: letters and digits only, or the tokenizer would take it apart.
pub fn channel_word(channel: ChannelId) -> String {
    format!("{:032x}", channel.0)
}
