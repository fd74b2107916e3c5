//! Putting everything into a database, in one transaction.

use std::pin::pin;
use std::sync::Arc;

use folkmoot_core::Record;
use folkmoot_core::model::Message;
use folkmoot_core::record::Change;
use tokio_postgres::Error;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

use super::from_postgres::{count, each, tell};
use super::{Item, Source, Table, Take, Target};
use crate::StoreError;
use crate::postgres::link::{ANSWER_TIMEOUT, Link, Session};
use crate::postgres::records::kind_number;
use crate::postgres::rows::{Id, Text, content_type_number, integer, json, key_hash, name_hash, reactions};
use crate::postgres::write::file_size;
use crate::postgres::{Place, Postgres};

pub struct IntoPostgres {
    /// Holds the database for us; its transaction is undone with its session.
    store: Postgres,
}

impl IntoPostgres {
    /// A database that no hub is using; one that holds a hub already is refused unless forced.
    pub fn open(place: &Arc<Place>, force: bool) -> Result<Self, StoreError> {
        let store = Postgres::open(place)?;
        if !force && !store.is_empty()? {
            return Err(StoreError::setup(
                format!("there is a hub in the database at {} already", place.shown()),
                "name an empty database, or replace it with --force",
            ));
        }
        let target = Self { store };
        tell(
            target.link(),
            "BEGIN; TRUNCATE messages, changes, records, forgotten, search, touched, batches RESTART IDENTITY",
        )?;
        tell(target.link(), "UPDATE meta SET value = 0")?;
        Ok(target)
    }

    fn link(&self) -> &Link {
        self.store.link()
    }

    /// Makes it stay, as a history of its own, whose id is returned.
    pub fn finish(self) -> Result<String, StoreError> {
        const HISTORY: &str = "UPDATE settings SET value = decode(md5(random()::text || clock_timestamp()::text), 'hex') \
            WHERE name = 'history_id'";
        tell(self.link(), HISTORY)?;
        let history = self.store.history()?;
        tell(self.link(), "COMMIT")?;
        // Without these the planner knows nothing of what is there. Not done is not lost: the server does it in time.
        let _ = tell(self.link(), "ANALYZE messages; ANALYZE changes; ANALYZE records");
        Ok(history)
    }
}

impl Source for IntoPostgres {
    fn count(&mut self, table: Table) -> Result<u64, StoreError> {
        count(self.link(), table)
    }

    fn each(&mut self, table: Table, take: Take<'_>) -> Result<(), StoreError> {
        each(self.link(), table, take)
    }
}

impl Target for IntoPostgres {
    fn put(&mut self, table: Table, items: Vec<Item>) -> Result<(), StoreError> {
        let link = self.link();
        let put = link.ask_here(ANSWER_TIMEOUT, async |session| put(session, table, &items).await);
        put.map_err(|failure| link.explain(failure))
    }
}

const MESSAGES: (&str, &[Type]) = (
    "COPY messages (channel, seq, id, version, deleted, thread, sender, created_at, updated_at, edited_at, edit_count, \
        reply_count, door, content_type, kind, file, key, key_hash, reactions, metadata, root, depth, content) FROM STDIN BINARY",
    &[
        Type::BYTEA,
        Type::INT8,
        Type::BYTEA,
        Type::INT8,
        Type::BOOL,
        Type::BYTEA,
        Type::BYTEA,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT8,
        Type::INT2,
        Type::INT2,
        Type::BYTEA,
        Type::BYTEA,
        Type::BYTEA,
        Type::INT8,
        Type::TEXT,
        Type::TEXT,
        Type::BYTEA,
        Type::INT8,
        Type::BYTEA,
    ],
);
const CHANGES: (&str, &[Type]) = (
    "COPY changes (channel, seq, message, actor, at, what) FROM STDIN BINARY",
    &[Type::BYTEA, Type::INT8, Type::BYTEA, Type::BYTEA, Type::INT8, Type::TEXT],
);
const RECORDS: (&str, &[Type]) = (
    "COPY records (kind, id, workspace, scope, owner, name, name_hash, state, size, body) FROM STDIN BINARY",
    &[
        Type::INT2,
        Type::BYTEA,
        Type::BYTEA,
        Type::BYTEA,
        Type::BYTEA,
        Type::BYTEA,
        Type::INT8,
        Type::TEXT,
        Type::INT8,
        Type::TEXT,
    ],
);
const FORGOTTEN: (&str, &[Type]) = ("COPY forgotten (channel) FROM STDIN BINARY", &[Type::BYTEA]);

async fn put(session: &Session, table: Table, items: &[Item]) -> Result<(), Error> {
    let (sql, types) = match table {
        Table::Records => RECORDS,
        Table::Messages => MESSAGES,
        Table::Changes => CHANGES,
        Table::Forgotten => FORGOTTEN,
    };
    let sink = session.client().copy_in(sql).await?;
    let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
    for item in items {
        let row = columns(item);
        let row: Vec<&(dyn ToSql + Sync)> = row.iter().map(|column| &**column as &(dyn ToSql + Sync)).collect();
        writer.as_mut().write(&row).await?;
    }
    writer.finish().await.map(drop)
}

type Columns<'a> = Vec<Box<dyn ToSql + Sync + 'a>>;

fn columns(item: &Item) -> Columns<'_> {
    match item {
        Item::Record(record) => record_columns(record),
        Item::Message(message) => message_columns(message),
        Item::Change(change) => change_columns(change),
        Item::Forgotten(channel) => vec![Box::new(Id(channel.0))],
    }
}

fn message_columns(message: &Message) -> Columns<'_> {
    let key = message.key.as_deref();
    vec![
        Box::new(Id(message.channel.0)),
        Box::new(integer(message.seq)),
        Box::new(Id(message.id.0)),
        Box::new(integer(message.version)),
        Box::new(message.deleted),
        Box::new(message.thread.map(|id| Id(id.0))),
        Box::new(Id(message.sender.0)),
        Box::new(message.created_at),
        Box::new(message.updated_at),
        Box::new(message.edited_at),
        Box::new(i64::from(message.edit_count)),
        Box::new(i64::from(message.reply_count)),
        Box::new(i16::from(message.door.number())),
        Box::new(content_type_number(message.content_type)),
        Box::new(Text(&message.kind)),
        Box::new(message.file.map(|id| Id(id.0))),
        Box::new(key.map(Text)),
        Box::new(key.map(|key| key_hash(message.sender, key))),
        Box::new(reactions(message)),
        Box::new(message.metadata.as_ref().map(|raw| raw.get())),
        Box::new(message.root.map(|id| Id(id.0))),
        Box::new(i64::from(message.depth)),
        Box::new(Text(&message.content)),
    ]
}

fn change_columns(change: &Change) -> Columns<'_> {
    vec![
        Box::new(Id(change.channel.0)),
        Box::new(integer(change.seq)),
        Box::new(Id(change.message.0)),
        Box::new(Id(change.actor.0)),
        Box::new(change.at),
        Box::new(json(&change.what)),
    ]
}

fn record_columns(record: &Record) -> Columns<'_> {
    let keys = record.keys();
    let hash = keys.name.as_deref().map(name_hash);
    vec![
        Box::new(kind_number(record.kind())),
        Box::new(Id(record.id())),
        Box::new(keys.workspace.map(Id)),
        Box::new(keys.scope.map(Id)),
        Box::new(keys.owner.map(Id)),
        Box::new(keys.name.map(String::into_bytes)),
        Box::new(hash),
        Box::new(keys.state),
        Box::new(file_size(record)),
        Box::new(record.encode()),
    ]
}
