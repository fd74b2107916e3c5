//! Carrying out one [`Write`]: a cached statement each, so that a sent message is one INSERT.

use folkmoot_core::event::Write;
use folkmoot_core::ids::*;
use folkmoot_core::model::Message;
use folkmoot_core::record::{Change, Record, RecordKind};
use rusqlite::{Connection, params};

use super::Unfiled;
use super::rows::{blob, content_type_number, integer, json, optional_blob};

pub fn carry_out(connection: &Connection, unfiled: &mut Unfiled, write: &Write<'_>) -> rusqlite::Result<()> {
    match write {
        Write::InsertMessage(message) => insert_message(connection, unfiled, message),
        Write::UpdateMessage(message) => update_message(connection, message),
        Write::CountReply { root, by } => count_reply(connection, *root, *by),
        Write::Log(change) => log(connection, change),
        Write::Put(record) => put(connection, record),
        Write::Remove { kind, id } => remove(connection, *kind, *id),
        Write::ForgetChannel(channel) => forget_channel(connection, *channel),
    }
}

fn insert_message(connection: &Connection, unfiled: &mut Unfiled, message: &Message) -> rusqlite::Result<()> {
    // OR FAIL: a failed append undoes its whole transaction anyhow, so SQLite need not copy pages to undo the statement alone.
    const INSERT: &str = "INSERT OR FAIL INTO messages (id, channel, seq, version, deleted, thread, sender, created_at, updated_at, \
        edited_at, edit_count, reply_count, door, content_type, kind, file, key, reactions, metadata, content, n, root, depth) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)";
    let Unfiled { keys, places, .. } = unfiled;
    places.give_out(connection, message.channel, integer(message.seq))?;
    let number = keys.next_number();
    connection.prepare_cached(INSERT)?.execute(params![
        blob(message.id.0),
        blob(message.channel.0),
        integer(message.seq),
        integer(message.version),
        message.deleted,
        optional_blob(message.thread.map(|id| id.0)),
        blob(message.sender.0),
        message.created_at,
        message.updated_at,
        message.edited_at,
        message.edit_count,
        message.reply_count,
        message.door.number(),
        content_type_number(message.content_type),
        message.kind,
        optional_blob(message.file.map(|id| id.0)),
        message.key,
        reactions(message),
        message.metadata.as_ref().map(|raw| raw.get()),
        message.content,
        number,
        optional_blob(message.root.map(|id| id.0)),
        message.depth,
    ])?;
    if let Some(key) = &message.key {
        keys.add(message.sender, key, number);
    }
    Ok(())
}

fn update_message(connection: &Connection, message: &Message) -> rusqlite::Result<()> {
    // A reaction changes nothing a search could find; only new words are worth indexing again.
    const TOUCH: &str = "INSERT OR IGNORE INTO touched (n) \
        SELECT n FROM messages WHERE id = ?1 AND (content <> ?2 OR deleted <> ?3)";
    const UPDATE: &str = "UPDATE messages SET content = ?2, deleted = ?3, content_type = ?4, kind = ?5, file = ?6, metadata = ?7, \
        updated_at = ?8, edited_at = ?9, edit_count = ?10, reactions = ?11 WHERE id = ?1";
    let id = blob(message.id.0);
    connection.prepare_cached(TOUCH)?.execute(params![id, message.content, message.deleted])?;
    connection.prepare_cached(UPDATE)?.execute(params![
        id,
        message.content,
        message.deleted,
        content_type_number(message.content_type),
        message.kind,
        optional_blob(message.file.map(|file| file.0)),
        message.metadata.as_ref().map(|raw| raw.get()),
        message.updated_at,
        message.edited_at,
        message.edit_count,
        reactions(message),
    ])?;
    Ok(())
}

fn count_reply(connection: &Connection, root: MessageId, by: i32) -> rusqlite::Result<()> {
    const COUNT: &str = "UPDATE messages SET reply_count = max(0, reply_count + ?2) WHERE id = ?1";
    connection.prepare_cached(COUNT)?.execute(params![blob(root.0), by])?;
    Ok(())
}

fn log(connection: &Connection, change: &Change) -> rusqlite::Result<()> {
    const LOG: &str = "INSERT INTO changes (channel, seq, message, actor, at, what) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.prepare_cached(LOG)?.execute(params![
        blob(change.channel.0),
        integer(change.seq),
        blob(change.message.0),
        blob(change.actor.0),
        change.at,
        json(&change.what),
    ])?;
    Ok(())
}

fn put(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    // Not OR REPLACE: an update touches only the indexes whose columns changed, and most change the body alone.
    const PUT: &str = "INSERT INTO records (kind, id, workspace, scope, owner, name, state, body) \
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (kind, id) DO UPDATE SET workspace = excluded.workspace, \
        scope = excluded.scope, owner = excluded.owner, name = excluded.name, state = excluded.state, body = excluded.body";
    let keys = record.keys();
    connection.prepare_cached(PUT)?.execute(params![
        record.kind() as u8,
        blob(record.id()),
        optional_blob(keys.workspace),
        optional_blob(keys.scope),
        optional_blob(keys.owner),
        keys.name,
        keys.state,
        record.encode(),
    ])?;
    Ok(())
}

fn remove(connection: &Connection, kind: RecordKind, id: u128) -> rusqlite::Result<()> {
    const REMOVE: &str = "DELETE FROM records WHERE kind = ?1 AND id = ?2";
    connection.prepare_cached(REMOVE)?.execute(params![kind as u8, blob(id)])?;
    Ok(())
}

/// Makes the channel's rows unreadable at once; they go bit by bit later, because a channel can be larger than any pause should be.
fn forget_channel(connection: &Connection, channel: ChannelId) -> rusqlite::Result<()> {
    const FORGET: &str = "INSERT OR IGNORE INTO forgotten (channel) VALUES (?1)";
    connection.prepare_cached(FORGET)?.execute([blob(channel.0)])?;
    Ok(())
}

fn reactions(message: &Message) -> Option<String> {
    (!message.reactions.is_empty()).then(|| json(&message.reactions))
}
