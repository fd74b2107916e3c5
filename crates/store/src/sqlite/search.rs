//! Searching: all words, newest first, only in given channels.
//!
//! Two ways, one after the other. First the newest matches are walked and those outside the channels skipped: right when words are
//! rare or the channels hold much of what is said. If that finds too little within [`WALK`] matches, the
//! channels themselves become part of the query, a group at a time; that costs the same however many strangers said the words.

use std::collections::{BTreeMap, HashSet};

use folkmoot_core::ids::ChannelId;
use folkmoot_core::model::Message;
use rusqlite::{Connection, OptionalExtension, params};

use super::index::channel_word;
use super::rows::{self, limit, select_messages};

/// How many matches are walked before the query is narrowed.
const WALK: usize = 5_000;
/// How many channels go into one narrowed query.
const GROUP: usize = 64;

/// `words` are quoted, as the query language of the index wants them.
pub fn search(
    connection: &Connection,
    words: &[String],
    channels: &[ChannelId],
    at_most: usize,
) -> rusqlite::Result<Vec<Message>> {
    if words.is_empty() || channels.is_empty() || at_most == 0 {
        return Ok(Vec::new());
    }
    let content = format!("content : ({})", words.join(" AND "));
    let wanted: HashSet<_> = channels.iter().copied().collect();
    let mut numbers = Vec::new();
    let stopped_at = walk(connection, &content, &wanted, at_most, &mut numbers)?;
    if let Some(before) = stopped_at {
        narrow(connection, &content, channels, before, at_most, &mut numbers)?;
    }
    let messages = numbers.iter().map(|n| message(connection, *n));
    Ok(messages.collect::<rusqlite::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Collects matches in the channels; when it gave up early, the number before which the rest lies.
fn walk(
    connection: &Connection,
    query: &str,
    wanted: &HashSet<ChannelId>,
    at_most: usize,
    numbers: &mut Vec<i64>,
) -> rusqlite::Result<Option<i64>> {
    const MATCHES: &str = "SELECT s.rowid, m.channel FROM search s JOIN live m ON m.n = s.rowid \
        WHERE s.search MATCH ?1 AND m.deleted = 0 ORDER BY s.rowid DESC LIMIT ?2";
    let mut statement = connection.prepare_cached(MATCHES)?;
    let mut rows = statement.query(params![query, limit(WALK)])?;
    let (mut walked, mut last) = (0, 0);
    while let Some(row) = rows.next()? {
        walked += 1;
        last = row.get(0)?;
        if wanted.contains(&ChannelId(rows::id(row, 1)?)) {
            numbers.push(last);
            if numbers.len() == at_most {
                return Ok(None);
            }
        }
    }
    Ok((walked == WALK).then_some(last))
}

fn narrow(
    connection: &Connection,
    content: &str,
    channels: &[ChannelId],
    before: i64,
    at_most: usize,
    numbers: &mut Vec<i64>,
) -> rusqlite::Result<()> {
    const MATCHES: &str = "SELECT s.rowid, m.channel FROM search s JOIN live m ON m.n = s.rowid \
        WHERE s.search MATCH ?1 AND s.rowid < ?2 AND m.deleted = 0 ORDER BY s.rowid DESC LIMIT ?3";
    let wanted = limit(at_most - numbers.len());
    let mut found = BTreeMap::new();
    for group in channels.chunks(GROUP) {
        let names: Vec<_> = group.iter().map(|channel| channel_word(*channel)).collect();
        let query = format!("{content} AND channel : ({})", names.join(" OR "));
        let mut statement = connection.prepare_cached(MATCHES)?;
        let mut rows = statement.query(params![query, before, wanted])?;
        while let Some(row) = rows.next()? {
            // The row decides, not the index: what a search shows must be in the channels for certain.
            let channel = ChannelId(rows::id(row, 1)?);
            if group.contains(&channel) {
                found.insert(row.get::<_, i64>(0)?, ());
            }
        }
    }
    let missing = at_most - numbers.len();
    numbers.extend(found.into_keys().rev().take(missing));
    Ok(())
}

fn message(connection: &Connection, n: i64) -> rusqlite::Result<Option<Message>> {
    const SQL: &str = select_messages!("FROM live m WHERE m.n = ?1 AND m.deleted = 0");
    connection.prepare_cached(SQL)?.query_row([n], rows::message).optional()
}
