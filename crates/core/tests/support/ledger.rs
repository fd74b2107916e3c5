//! All of history in memory: what a store keeps, for tests that have none.

use std::collections::BTreeMap;

use super::domain::event::Write;
use super::domain::ids::*;
use super::domain::lookup::{Found, Lookup, Unavailable};
use super::domain::model::{Head, Message};
use super::domain::record::{Change, Filter, Record, RecordKind};
use super::domain::{Event, State};

#[derive(Clone, Debug, Default)]
pub struct Ledger {
    messages: BTreeMap<MessageId, Message>,
    changes: Vec<Change>,
    records: BTreeMap<(RecordKind, u128), Record>,
    /// As if the disk were gone.
    pub broken: bool,
}

impl Ledger {
    pub fn append(&mut self, event: &Event) {
        event.each_write(|write| self.carry_out(&write));
    }

    fn carry_out(&mut self, write: &Write<'_>) {
        match write {
            Write::InsertMessage(message) => {
                self.messages.insert(message.id, (*message).clone());
            }
            Write::UpdateMessage(message) => {
                if let Some(old) = self.messages.get_mut(&message.id) {
                    // Replies are counted apart.
                    *old = Message { reply_count: old.reply_count, ..(*message).clone() };
                }
            }
            Write::CountReply { root, by } => {
                if let Some(root) = self.messages.get_mut(root) {
                    root.reply_count = root.reply_count.saturating_add_signed(*by);
                }
            }
            Write::Log(change) => self.changes.push((*change).clone()),
            Write::Put(record) => {
                self.records.insert((record.kind(), record.id()), (*record).clone());
            }
            Write::Remove { kind, id } => {
                self.records.remove(&(*kind, *id));
            }
            Write::ForgetChannel(channel) => {
                self.messages.retain(|_, message| message.channel != *channel);
                self.changes.retain(|change| change.channel != *channel);
            }
        }
    }

    pub fn all_messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.values()
    }

    pub fn all_records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    pub fn all_changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter()
    }

    /// What a hub that starts now would load.
    pub fn load(&self) -> State {
        self.load_with([])
    }

    /// The same, had these records been stored as well.
    pub fn load_with(&self, more: impl IntoIterator<Item = Record>) -> State {
        let directory = self.all_records().filter(|record| record.is_kept_in_memory()).cloned();
        State::load(directory.chain(more), self.heads())
    }

    fn heads(&self) -> BTreeMap<ChannelId, Head> {
        let mut heads: BTreeMap<ChannelId, Head> = BTreeMap::new();
        for message in self.messages.values() {
            let head = heads.entry(message.channel).or_default();
            *head = Head { seq: head.seq.max(message.seq), version: head.version.max(message.version) };
        }
        for change in &self.changes {
            let head = heads.entry(change.channel).or_default();
            head.seq = head.seq.max(change.seq);
        }
        heads
    }

    /// The stored events of a channel after a position, in order.
    pub fn replay(&self, channel: ChannelId, after: u64) -> Vec<(u64, Replay<'_>)> {
        let messages = self.messages.values().filter(|message| message.channel == channel);
        let messages = messages.map(|message| (message.seq, Replay::Message(message)));
        let changes = self.changes.iter().filter(|change| change.channel == channel);
        let changes = changes.map(|change| (change.seq, Replay::Change(change, self.messages.get(&change.message))));
        let mut replayed: Vec<_> = messages.chain(changes).filter(|(seq, _)| *seq > after).collect();
        replayed.sort_by_key(|(seq, _)| *seq);
        replayed
    }

    fn there(&self) -> Found<()> {
        if self.broken { Err(Unavailable("the disk is gone".to_owned())) } else { Ok(()) }
    }

    fn newest(&self, limit: usize, wanted: impl Fn(&Message) -> bool) -> Vec<Message> {
        let mut found: Vec<_> =
            self.messages.values().filter(|message| !message.deleted && wanted(message)).cloned().collect();
        found.sort_by_key(|message| message.seq);
        found.split_off(found.len().saturating_sub(limit))
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Replay<'a> {
    Message(&'a Message),
    Change(&'a Change, Option<&'a Message>),
}

impl Lookup for Ledger {
    fn message(&self, id: MessageId) -> Found<Option<Message>> {
        self.there()?;
        Ok(self.messages.get(&id).cloned())
    }

    fn message_by_key(&self, sender: MemberId, key: &str) -> Found<Option<Message>> {
        self.there()?;
        let fits = |message: &&Message| message.sender == sender && message.key.as_deref() == Some(key);
        Ok(self.messages.values().find(fits).cloned())
    }

    fn newest_messages(&self, channel: ChannelId, limit: usize) -> Found<Vec<Message>> {
        self.there()?;
        Ok(self.newest(limit, |message| message.channel == channel))
    }

    fn messages_up_to(&self, channel: ChannelId, seq: u64, limit: usize) -> Found<Vec<Message>> {
        self.there()?;
        Ok(self.newest(limit, |message| message.channel == channel && message.seq <= seq))
    }

    fn newest_replies(&self, root: MessageId, limit: usize) -> Found<Vec<Message>> {
        self.there()?;
        Ok(self.newest(limit, |message| message.thread == Some(root)))
    }

    fn version_at(&self, channel: ChannelId, seq: u64) -> Found<u64> {
        self.there()?;
        let before = |message: &&Message| message.channel == channel && message.seq <= seq;
        Ok(self.messages.values().filter(before).map(|message| message.version).max().unwrap_or(0))
    }

    fn record(&self, kind: RecordKind, id: u128) -> Found<Option<Record>> {
        self.there()?;
        Ok(self.records.get(&(kind, id)).cloned())
    }

    fn records(&self, kind: RecordKind, filter: &Filter) -> Found<Vec<Record>> {
        self.there()?;
        let of_kind = self.records.iter().filter(|((known, _), _)| *known == kind);
        let before = |id: u128| filter.before.is_none_or(|before| id < before);
        let mut found: Vec<_> = of_kind
            .filter(|((_, id), record)| before(*id) && filter.matches(record))
            .map(|(_, record)| record.clone())
            .collect();
        if !filter.oldest_first {
            found.reverse();
        }
        found.truncate(filter.limit);
        Ok(found)
    }
}
