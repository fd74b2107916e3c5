//! Readers: a session each, made at the first question and made anew when it was lost.

use std::sync::Arc;

use folkmoot_core::ids::*;
use folkmoot_core::lookup::{Found, Lookup, Unavailable};
use folkmoot_core::model::Message;
use folkmoot_core::record::Filter;
use folkmoot_core::{Record, RecordKind};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::link::Link;
use super::place::Place;
use super::read::{self, Rows};
use super::{records, search};
use crate::{Page, Reader, Replay, StoreError};

pub struct Reading {
    link: Link,
}

impl Reading {
    pub fn new(place: Arc<Place>) -> Result<Self, StoreError> {
        Ok(Self { link: Link::new(place, "moot-reader")? })
    }
}

impl Rows for Reading {
    fn rows(&self, sql: &str, parameters: &[&(dyn ToSql + Sync)]) -> Found<Vec<Row>> {
        let asked = self.link.ask_twice(async |session| session.query(sql, parameters).await);
        asked.map_err(|error| Unavailable(error.to_string()))
    }
}

impl Lookup for Reading {
    fn message(&self, id: MessageId) -> Found<Option<Message>> {
        read::message(self, id)
    }

    fn message_by_key(&self, sender: MemberId, key: &str) -> Found<Option<Message>> {
        read::message_by_key(self, sender, key)
    }

    fn newest_messages(&self, channel: ChannelId, limit: usize) -> Found<Vec<Message>> {
        read::newest_messages(self, channel, u64::MAX, limit)
    }

    fn messages_up_to(&self, channel: ChannelId, seq: u64, limit: usize) -> Found<Vec<Message>> {
        read::newest_messages(self, channel, seq, limit)
    }

    fn newest_replies(&self, root: MessageId, limit: usize) -> Found<Vec<Message>> {
        read::newest_replies(self, root, u64::MAX, limit)
    }

    fn version_at(&self, channel: ChannelId, seq: u64) -> Found<u64> {
        read::version_at(self, channel, seq)
    }

    fn record(&self, kind: RecordKind, id: u128) -> Found<Option<Record>> {
        records::get(self, kind, id)
    }

    fn records(&self, kind: RecordKind, filter: &Filter) -> Found<Vec<Record>> {
        records::list(self, kind, filter)
    }

    fn stored_bytes(&self, filter: &Filter) -> Found<u64> {
        records::stored_bytes(self, filter)
    }
}

impl Reader for Reading {
    fn messages(&self, channel: ChannelId, page: Page) -> Found<Vec<Message>> {
        read::page(self, channel, page)
    }

    fn thread(&self, root: MessageId, before: Option<u64>, limit: usize) -> Found<Vec<Message>> {
        read::thread(self, root, before, limit)
    }

    fn last_seq(&self, channel: ChannelId) -> Found<u64> {
        read::last_seq(self, channel)
    }

    fn replay(&self, channel: ChannelId, after: u64, limit: usize) -> Found<Vec<Replay>> {
        read::replay(self, channel, after, limit)
    }

    fn search(&self, words: &str, channels: &[ChannelId], limit: usize) -> Found<Vec<Message>> {
        search::search(self, words, channels, limit)
    }

    fn count(&self, kind: RecordKind, filter: &Filter) -> Found<u64> {
        records::count(self, kind, filter)
    }

    fn message_count(&self) -> Found<u64> {
        read::message_count(self)
    }
}
