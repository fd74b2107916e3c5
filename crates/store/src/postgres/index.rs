//! The work that is put off while messages come in: filling the search index and clearing away removed channels.
//!
//! Messages are indexed in the order they were stored; `indexed` in `meta` says how far that has come. What changes behind that
//! mark is noted in `touched` and indexed again. The messages are counted on the way (`counted` in `meta`).

use folkmoot_core::ids::ChannelId;
use tokio_postgres::{Error, Row};

use super::link::Session;
use super::rows::{Id, Text, limit};
use super::search::entry;

/// Whether [`catch_up`] would find anything to do; saves an idle hub the transaction.
pub async fn is_behind(session: &Session) -> Result<bool, Error> {
    const SQL: &str = "SELECT EXISTS (SELECT FROM forgotten) OR EXISTS (SELECT FROM touched) \
        OR EXISTS (SELECT FROM messages WHERE n > (SELECT value FROM meta WHERE name = 'indexed'))";
    session.row(SQL, &[]).await?.map_or(Ok(false), |row| row.try_get(0))
}

/// Does up to `at_most` messages' worth of work, in a transaction of its own; true when more may be left.
pub async fn catch_up(session: &Session, at_most: usize) -> Result<bool, Error> {
    session.client().batch_execute("BEGIN").await?;
    let more = work(session, at_most).await;
    session.client().batch_execute(if more.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    more
}

async fn work(session: &Session, at_most: usize) -> Result<bool, Error> {
    // Held to the end: two that do this at once would count the same message twice.
    const MARK: &str = "SELECT value FROM meta WHERE name = 'indexed' FOR UPDATE";
    let mark = session.row(MARK, &[]).await?.map_or(Ok(0), |row| row.try_get::<_, i64>(0))?;
    let mut left = at_most;
    left -= clear_away(session, left).await?.min(left);
    if left > 0 {
        left -= index_changed(session, mark, left).await?.min(left);
    }
    if left > 0 {
        left -= index_new(session, mark, left).await?.min(left);
    }
    Ok(left == 0)
}

async fn clear_away(session: &Session, at_most: usize) -> Result<usize, Error> {
    const MESSAGES: &str = "WITH gone AS ( \
            DELETE FROM messages WHERE n IN (SELECT n FROM messages WHERE channel = $1 LIMIT $2) RETURNING n), \
        unindexed AS (DELETE FROM search WHERE n IN (SELECT n FROM gone) RETURNING n), \
        untouched AS (DELETE FROM touched WHERE n IN (SELECT n FROM gone)), \
        counted AS (UPDATE meta SET value = value - (SELECT count(*) FROM unindexed) WHERE name = 'counted') \
        SELECT count(*) FROM gone";
    const CHANGES: &str =
        "DELETE FROM changes WHERE channel = $1 AND seq IN (SELECT seq FROM changes WHERE channel = $1 LIMIT $2)";
    let mut done = 0;
    while done < at_most {
        let Some(row) = session.row("SELECT channel FROM forgotten LIMIT 1", &[]).await? else { break };
        let channel: Id = row.try_get(0)?;
        let gone = session.row(MESSAGES, &[&channel, &limit(at_most - done)]).await?;
        done += size(gone.map_or(Ok(0), |row| row.try_get::<_, i64>(0))?);
        if done >= at_most {
            break;
        }
        done +=
            usize::try_from(session.execute(CHANGES, &[&channel, &limit(at_most - done)]).await?).unwrap_or(at_most);
        if done < at_most {
            session.execute("DELETE FROM forgotten WHERE channel = $1", &[&channel]).await?;
        }
    }
    Ok(done)
}

async fn index_changed(session: &Session, mark: i64, at_most: usize) -> Result<usize, Error> {
    const TAKE: &str = "DELETE FROM touched WHERE n IN (SELECT n FROM touched ORDER BY n LIMIT $1) RETURNING n";
    const TAKE_OUT: &str = "WITH gone AS (DELETE FROM search WHERE n = ANY($1) RETURNING n) \
        UPDATE meta SET value = value - (SELECT count(*) FROM gone) WHERE name = 'counted'";
    const AGAIN: &str = "SELECT n, channel, deleted, content FROM messages WHERE n = ANY($1)";
    let taken = session.query(TAKE, &[&limit(at_most)]).await?;
    let numbers = taken.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
    let indexed: Vec<i64> = numbers.iter().copied().filter(|n| *n <= mark).collect();
    if !indexed.is_empty() {
        session.execute(TAKE_OUT, &[&indexed]).await?;
        put_in(session, &session.query(AGAIN, &[&indexed]).await?).await?;
    }
    Ok(numbers.len())
}

async fn index_new(session: &Session, mark: i64, at_most: usize) -> Result<usize, Error> {
    const NEXT: &str = "SELECT n, channel, deleted, content FROM messages WHERE n > $1 ORDER BY n LIMIT $2";
    const MOVE: &str = "UPDATE meta SET value = $1 WHERE name = 'indexed'";
    let rows = session.query(NEXT, &[&mark, &limit(at_most)]).await?;
    put_in(session, &rows).await?;
    if let Some(last) = rows.last() {
        session.execute(MOVE, &[&last.try_get::<_, i64>(0)?]).await?;
    }
    Ok(rows.len())
}

/// Puts messages into the index, those that are not deleted, and counts them.
async fn put_in(session: &Session, messages: &[Row]) -> Result<(), Error> {
    const PUT: &str = "WITH entries AS ( \
            INSERT INTO search (n, words) SELECT n, array_agg(word) FROM unnest($1::bigint[], $2::bigint[]) AS g (n, word) \
            GROUP BY n RETURNING n) \
        UPDATE meta SET value = value + (SELECT count(*) FROM entries) WHERE name = 'counted'";
    let (mut numbers, mut words) = (Vec::new(), Vec::new());
    for row in messages {
        if !row.try_get::<_, bool>(2)? {
            let entry = entry(ChannelId(row.try_get::<_, Id>(1)?.0), row.try_get::<_, Text<'_>>(3)?.0);
            numbers.extend(std::iter::repeat_n(row.try_get::<_, i64>(0)?, entry.len()));
            words.extend(entry);
        }
    }
    if !numbers.is_empty() {
        session.execute(PUT, &[&numbers, &words]).await?;
    }
    Ok(())
}

fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}
