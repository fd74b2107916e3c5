//! What is pending as statements: one for each kind of write, with a column of each for all rows.

use folkmoot_core::model::Message;
use folkmoot_core::record::{Record, RecordKind};
use tokio_postgres::types::ToSql;

use super::overlay::Overlay;
use super::records::kind_number;
use super::rows::{Id, Text, content_type_number, integer, json, key_hash, name_hash, reactions};

/// One statement and its columns.
pub struct Step<'a> {
    pub sql: &'static str,
    columns: Vec<Box<dyn ToSql + Sync + 'a>>,
}

impl<'a> Step<'a> {
    fn new(sql: &'static str) -> Self {
        Self { sql, columns: Vec::new() }
    }

    fn column<T: ToSql + Sync + 'a>(mut self, values: impl Iterator<Item = T>) -> Self {
        self.columns.push(Box::new(values.collect::<Vec<T>>()));
        self
    }

    pub fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.columns.iter().map(|column| &**column as &(dyn ToSql + Sync)).collect()
    }
}

/// All statements that can come; they are prepared before the first is sent, so that nothing waits in between.
pub const STATEMENTS: [&str; 7] = [INSERT, UPDATE, COUNT, LOG, PUT, REMOVE, FORGET];

const INSERT: &str = "INSERT INTO messages (channel, seq, id, version, deleted, thread, sender, created_at, updated_at, edited_at, \
    edit_count, reply_count, door, content_type, kind, file, key, key_hash, reactions, metadata, root, depth, content) \
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bigint[], $5::boolean[], $6::bytea[], $7::bytea[], \
    $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::smallint[], $14::smallint[], $15::bytea[], \
    $16::bytea[], $17::bytea[], $18::bigint[], $19::text[], $20::text[], $21::bytea[], $22::bigint[], $23::bytea[])";

/// A reaction changes nothing a search could find; only new words are worth indexing again.
const UPDATE: &str = "WITH given AS (SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::boolean[], $4::smallint[], $5::bytea[], \
        $6::bytea[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[]) \
        AS g (id, content, deleted, content_type, kind, file, metadata, updated_at, edited_at, edit_count, reactions)), \
    noted AS (INSERT INTO touched (n) SELECT m.n FROM messages m JOIN given g ON m.id = g.id \
        WHERE m.content <> g.content OR m.deleted <> g.deleted ON CONFLICT DO NOTHING) \
    UPDATE messages m SET content = g.content, deleted = g.deleted, content_type = g.content_type, kind = g.kind, file = g.file, \
        metadata = g.metadata, updated_at = g.updated_at, edited_at = g.edited_at, edit_count = g.edit_count, \
        reactions = g.reactions FROM given g WHERE m.id = g.id";

const COUNT: &str = "UPDATE messages m SET reply_count = greatest(0, m.reply_count + g.by) \
    FROM unnest($1::bytea[], $2::bigint[]) AS g (id, by) WHERE m.id = g.id";

const LOG: &str = "INSERT INTO changes (channel, seq, message, actor, at, what) \
    SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bigint[], $6::text[])";

const PUT: &str = "INSERT INTO records (kind, id, workspace, scope, owner, name, name_hash, state, size, body) \
    SELECT * FROM unnest($1::smallint[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bigint[], \
        $8::text[], $9::bigint[], $10::text[]) \
    ON CONFLICT (kind, id) DO UPDATE SET workspace = excluded.workspace, scope = excluded.scope, owner = excluded.owner, \
        name = excluded.name, name_hash = excluded.name_hash, state = excluded.state, size = excluded.size, body = excluded.body";

const REMOVE: &str = "DELETE FROM records r USING unnest($1::smallint[], $2::bytea[]) AS g (kind, id) \
    WHERE r.kind = g.kind AND r.id = g.id";

const FORGET: &str = "INSERT INTO forgotten (channel) SELECT * FROM unnest($1::bytea[]) ON CONFLICT DO NOTHING";

/// The statements for what is pending, in an order in which each finds what it needs.
pub fn steps(overlay: &Overlay) -> Vec<Step<'_>> {
    let pending = &overlay.pending;
    let mut steps = Vec::new();
    if !pending.inserted.is_empty() {
        steps.push(insert(&overlay.inserted().collect::<Vec<_>>()));
    }
    if !pending.updated.is_empty() {
        steps.push(update(&overlay.updated().collect::<Vec<_>>()));
    }
    if !pending.counts.is_empty() {
        let (ids, by) = (pending.counts.keys().map(|id| Id(id.0)), pending.counts.values().copied());
        steps.push(Step::new(COUNT).column(ids).column(by));
    }
    if !pending.changes.is_empty() {
        steps.push(log(overlay));
    }
    if !pending.records.is_empty() {
        steps.extend(put(&overlay.put_records().collect::<Vec<_>>()));
        steps.extend(remove(&overlay.removed_records().collect::<Vec<_>>()));
    }
    if !pending.forgotten.is_empty() {
        steps.push(Step::new(FORGET).column(pending.forgotten.iter().map(|channel| Id(channel.0))));
    }
    steps
}

fn insert<'a>(messages: &[&'a Message]) -> Step<'a> {
    let all = || messages.iter().copied();
    Step::new(INSERT)
        .column(all().map(|message| Id(message.channel.0)))
        .column(all().map(|message| integer(message.seq)))
        .column(all().map(|message| Id(message.id.0)))
        .column(all().map(|message| integer(message.version)))
        .column(all().map(|message| message.deleted))
        .column(all().map(|message| message.thread.map(|id| Id(id.0))))
        .column(all().map(|message| Id(message.sender.0)))
        .column(all().map(|message| message.created_at))
        .column(all().map(|message| message.updated_at))
        .column(all().map(|message| message.edited_at))
        .column(all().map(|message| i64::from(message.edit_count)))
        .column(all().map(|message| i64::from(message.reply_count)))
        .column(all().map(|message| i16::from(message.door.number())))
        .column(all().map(|message| content_type_number(message.content_type)))
        .column(all().map(|message| Text(&message.kind)))
        .column(all().map(|message| message.file.map(|id| Id(id.0))))
        .column(all().map(|message| message.key.as_deref().map(Text)))
        .column(all().map(|message| message.key.as_deref().map(|key| key_hash(message.sender, key))))
        .column(all().map(reactions))
        .column(all().map(|message| message.metadata.as_ref().map(|raw| raw.get())))
        .column(all().map(|message| message.root.map(|id| Id(id.0))))
        .column(all().map(|message| i64::from(message.depth)))
        .column(all().map(|message| Text(&message.content)))
}

fn update<'a>(messages: &[&'a Message]) -> Step<'a> {
    let all = || messages.iter().copied();
    Step::new(UPDATE)
        .column(all().map(|message| Id(message.id.0)))
        .column(all().map(|message| Text(&message.content)))
        .column(all().map(|message| message.deleted))
        .column(all().map(|message| content_type_number(message.content_type)))
        .column(all().map(|message| Text(&message.kind)))
        .column(all().map(|message| message.file.map(|id| Id(id.0))))
        .column(all().map(|message| message.metadata.as_ref().map(|raw| raw.get())))
        .column(all().map(|message| message.updated_at))
        .column(all().map(|message| message.edited_at))
        .column(all().map(|message| i64::from(message.edit_count)))
        .column(all().map(reactions))
}

fn log(overlay: &Overlay) -> Step<'_> {
    let all = || overlay.pending.changes.iter();
    Step::new(LOG)
        .column(all().map(|change| Id(change.channel.0)))
        .column(all().map(|change| integer(change.seq)))
        .column(all().map(|change| Id(change.message.0)))
        .column(all().map(|change| Id(change.actor.0)))
        .column(all().map(|change| change.at))
        .column(all().map(|change| json(&change.what)))
}

fn put<'a>(records: &[&'a Record]) -> Option<Step<'a>> {
    let keys: Vec<_> = records.iter().map(|record| record.keys()).collect();
    let id = |id: Option<u128>| id.map(Id);
    let names = || keys.iter().map(|keys| keys.name.clone());
    let step = Step::new(PUT)
        .column(records.iter().map(|record| kind_number(record.kind())))
        .column(records.iter().map(|record| Id(record.id())))
        .column(keys.iter().map(|keys| id(keys.workspace)))
        .column(keys.iter().map(|keys| id(keys.scope)))
        .column(keys.iter().map(|keys| id(keys.owner)))
        .column(names().map(|name| name.map(String::into_bytes)))
        .column(names().map(|name| name.as_deref().map(name_hash)))
        .column(keys.iter().map(|keys| keys.state))
        .column(records.iter().map(|record| file_size(record)))
        .column(records.iter().map(|record| record.encode()));
    (!records.is_empty()).then_some(step)
}

pub fn file_size(record: &Record) -> Option<i64> {
    match record {
        Record::File(file) => Some(integer(file.size)),
        _ => None,
    }
}

fn remove(records: &[(RecordKind, u128)]) -> Option<Step<'static>> {
    let (kinds, ids) = (records.iter().map(|(kind, _)| kind_number(*kind)), records.iter().map(|(_, id)| Id(*id)));
    (!records.is_empty()).then(|| Step::new(REMOVE).column(kinds).column(ids))
}
