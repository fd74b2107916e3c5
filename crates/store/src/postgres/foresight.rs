//! Fetching what will be looked up: everything of a batch in one flush, and so in the time of one question.

use std::collections::HashMap;

use folkmoot_core::ids::*;
use folkmoot_core::lookup::Want;
use folkmoot_core::model::Message;
use folkmoot_core::record::{Filter, Record, RecordKind};
use futures_util::future::try_join4;
use tokio_postgres::{Error, Row};

use super::link::Session;
use super::overlay::{Known, Overlay};
use super::records::{decode, kind_number, kind_of};
use super::rows::{self, Id, MESSAGE_COLUMNS, Read, Unreadable, key_hash, limit, select_messages};

const MESSAGES: &str = select_messages!(
    "FROM live m WHERE m.id = ANY($1) OR m.id IN (SELECT t.thread FROM messages t WHERE t.id = ANY($2))"
);
const KEYS: &str = select_messages!(
    ", w.number FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS w (hash, sender, key, number) \
        JOIN live m ON m.key_hash = w.hash AND m.sender = w.sender AND m.key = w.key"
);
const RECORDS: &str = "SELECT r.kind, r.id, r.body FROM unnest($1::smallint[], $2::bytea[]) AS w (kind, id) \
    JOIN records r ON r.kind = w.kind AND r.id = w.id";
const SCOPES: &str = "SELECT w.number, r.body FROM unnest($1::smallint[], $2::bytea[]) WITH ORDINALITY AS w (kind, scope, number) \
    CROSS JOIN LATERAL (SELECT id, body FROM records WHERE kind = w.kind AND scope = w.scope ORDER BY id DESC LIMIT $3) r \
    ORDER BY w.number, r.id DESC";

/// They are prepared with the session, so that the questions go out together.
pub const STATEMENTS: [&str; 4] = [MESSAGES, KEYS, RECORDS, SCOPES];

/// What is wanted and not known yet.
#[derive(Default)]
pub struct Wanted {
    messages: Vec<MessageId>,
    threads: Vec<MessageId>,
    keys: Vec<(MemberId, String)>,
    records: Vec<(RecordKind, u128)>,
    scopes: Vec<(RecordKind, u128)>,
}

pub struct Fetched {
    messages: Vec<Row>,
    keys: Vec<Row>,
    records: Vec<Row>,
    scopes: Vec<Row>,
}

impl Wanted {
    pub fn new(wants: &[Want], overlay: &Overlay) -> Self {
        let mut wanted = Self::default();
        let mut sorted: Vec<&Want> = wants.iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        for want in sorted {
            wanted.add(want, overlay);
        }
        wanted
    }

    fn add(&mut self, want: &Want, overlay: &Overlay) {
        match want {
            Want::Message(id) if matches!(overlay.message(*id), Known::Ask) => self.messages.push(*id),
            Want::Thread(id) if matches!(overlay.message(*id), Known::Ask) => {
                self.messages.push(*id);
                self.threads.push(*id);
            }
            Want::Key { sender, key } if matches!(overlay.message_by_key(*sender, key), Known::Ask) => {
                self.keys.push((*sender, key.clone()));
            }
            Want::Record { kind, id } if matches!(overlay.record(*kind, *id), Known::Ask) => {
                self.records.push((*kind, *id));
            }
            Want::Scope { kind, scope } if matches!(overlay.records(*kind, &Filter::scope(*scope)), Known::Ask) => {
                self.scopes.push((*kind, *scope));
            }
            Want::Message(_) | Want::Thread(_) | Want::Key { .. } | Want::Record { .. } | Want::Scope { .. } => {}
        }
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.keys.is_empty() && self.records.is_empty() && self.scopes.is_empty()
    }

    pub async fn fetch(&self, session: &Session) -> Result<Fetched, Error> {
        let (messages, keys, records, scopes) = try_join4(
            self.fetch_messages(session),
            self.fetch_keys(session),
            self.fetch_records(session),
            self.fetch_scopes(session),
        )
        .await?;
        Ok(Fetched { messages, keys, records, scopes })
    }

    async fn fetch_messages(&self, session: &Session) -> Result<Vec<Row>, Error> {
        if self.messages.is_empty() {
            return Ok(Vec::new());
        }
        let ids = |ids: &[MessageId]| ids.iter().map(|id| Id(id.0)).collect::<Vec<_>>();
        session.query(MESSAGES, &[&ids(&self.messages), &ids(&self.threads)]).await
    }

    async fn fetch_keys(&self, session: &Session) -> Result<Vec<Row>, Error> {
        if self.keys.is_empty() {
            return Ok(Vec::new());
        }
        let hashes: Vec<i64> = self.keys.iter().map(|(sender, key)| key_hash(*sender, key)).collect();
        let senders: Vec<Id> = self.keys.iter().map(|(sender, _)| Id(sender.0)).collect();
        let keys: Vec<&[u8]> = self.keys.iter().map(|(_, key)| key.as_bytes()).collect();
        session.query(KEYS, &[&hashes, &senders, &keys]).await
    }

    async fn fetch_records(&self, session: &Session) -> Result<Vec<Row>, Error> {
        if self.records.is_empty() {
            return Ok(Vec::new());
        }
        let (kinds, ids) = columns(&self.records);
        session.query(RECORDS, &[&kinds, &ids]).await
    }

    async fn fetch_scopes(&self, session: &Session) -> Result<Vec<Row>, Error> {
        if self.scopes.is_empty() {
            return Ok(Vec::new());
        }
        let (kinds, ids) = columns(&self.scopes);
        session.query(SCOPES, &[&kinds, &ids, &limit(Filter::scope(0).limit)]).await
    }

    /// Tells the overlay what came, and also what did not: that there is none is worth knowing.
    pub fn take_in(&self, fetched: &Fetched, overlay: &mut Overlay) -> Read<()> {
        for row in &fetched.messages {
            let message = rows::message(row)?;
            overlay.know_message(message.id, Some(message));
        }
        self.messages.iter().for_each(|id| overlay.know_message(*id, None));
        let mut by_key: HashMap<usize, Message> = HashMap::new();
        for row in &fetched.keys {
            by_key.entry(position(row, MESSAGE_COLUMNS)?).or_insert(rows::message(row)?);
        }
        for (number, (sender, key)) in self.keys.iter().enumerate() {
            overlay.know_key(*sender, key, by_key.remove(&number));
        }
        for row in &fetched.records {
            let kind = kind_of(row.try_get(0)?).ok_or_else(|| Unreadable("a record of no known kind".to_owned()))?;
            overlay.know_record(kind, rows::id(row, 1)?, Some(decode(kind, row, 2)?));
        }
        self.records.iter().for_each(|(kind, id)| overlay.know_record(*kind, *id, None));
        self.take_in_scopes(&fetched.scopes, overlay)
    }

    fn take_in_scopes(&self, fetched: &[Row], overlay: &mut Overlay) -> Read<()> {
        let mut lists: Vec<Vec<Record>> = self.scopes.iter().map(|_| Vec::new()).collect();
        for row in fetched {
            let number = position(row, 0)?;
            if let (Some(list), Some((kind, _))) = (lists.get_mut(number), self.scopes.get(number)) {
                list.push(decode(*kind, row, 1)?);
            }
        }
        for ((kind, scope), list) in self.scopes.iter().zip(lists) {
            overlay.know_scope(*kind, *scope, list);
        }
        Ok(())
    }
}

/// SQL counts from one.
fn position(row: &Row, column: usize) -> Read<usize> {
    Ok(usize::try_from(row.try_get::<_, i64>(column)?).unwrap_or(0).wrapping_sub(1))
}

fn columns(keys: &[(RecordKind, u128)]) -> (Vec<i16>, Vec<Id>) {
    keys.iter().map(|(kind, id)| (kind_number(*kind), Id(*id))).unzip()
}
