//! What the open transaction knows: rows that were fetched before anybody asked, and what was appended since.
//!
//! Nobody else writes, so a row that was read once stays true until this transaction changes it, and then it is changed here too.
//! What an append changes without our knowing the row is asked of the server, after it was told.

use std::collections::{HashMap, HashSet};

use folkmoot_core::event::Write;
use folkmoot_core::ids::*;
use folkmoot_core::model::Message;
use folkmoot_core::record::{Change, Filter, Record, RecordKind};

#[derive(Default)]
pub struct Overlay {
    messages: HashMap<MessageId, Option<Message>>,
    keys: HashMap<(MemberId, String), Option<MessageId>>,
    records: HashMap<(RecordKind, u128), Option<Record>>,
    scopes: HashMap<(RecordKind, u128), Vec<Record>>,
    forgotten: HashSet<ChannelId>,
    pub pending: Pending,
}

/// What the server has not been told yet.
#[derive(Default)]
pub struct Pending {
    /// In the order in which they came; each is in `messages`.
    pub inserted: Vec<MessageId>,
    inserted_ids: HashSet<MessageId>,
    /// With what was given where we do not know the row.
    pub updated: HashMap<MessageId, Option<Message>>,
    pub counts: HashMap<MessageId, i64>,
    pub changes: Vec<Change>,
    /// Each is in `records`.
    pub records: HashSet<(RecordKind, u128)>,
    pub forgotten: Vec<ChannelId>,
    channels: HashSet<ChannelId>,
}

/// What can be said without asking the server.
pub enum Known<T> {
    /// This is how it is.
    Yes(T),
    /// The server knows.
    Ask,
    /// The server knows once it was told what is pending.
    TellAndAsk,
}

impl Overlay {
    pub fn message(&self, id: MessageId) -> Known<Option<Message>> {
        match self.messages.get(&id) {
            Some(known) => Known::Yes(known.clone().filter(|message| !self.forgotten.contains(&message.channel))),
            None if self.pending.concerns(id) => Known::TellAndAsk,
            None => Known::Ask,
        }
    }

    pub fn message_by_key(&self, sender: MemberId, key: &str) -> Known<Option<Message>> {
        match self.keys.get(&(sender, key.to_owned())) {
            Some(None) => Known::Yes(None),
            Some(Some(id)) => match self.message(*id) {
                // Another message may have the key of one whose channel is gone.
                Known::Yes(None) => Known::TellAndAsk,
                known => known,
            },
            None if !self.pending.forgotten.is_empty() => Known::TellAndAsk,
            None => Known::Ask,
        }
    }

    pub fn record(&self, kind: RecordKind, id: u128) -> Known<Option<Record>> {
        match self.records.get(&(kind, id)) {
            Some(known) => Known::Yes(known.clone()),
            None => Known::Ask,
        }
    }

    pub fn records(&self, kind: RecordKind, filter: &Filter) -> Known<Vec<Record>> {
        let known =
            filter.scope.and_then(|scope| self.scopes.get(&(kind, scope)).filter(|_| *filter == Filter::scope(scope)));
        match known {
            Some(records) => Known::Yes(records.clone()),
            None if self.pending.records.iter().any(|(pending, _)| *pending == kind) => Known::TellAndAsk,
            None => Known::Ask,
        }
    }

    /// Whether a list of a channel's messages must wait for what is pending.
    pub fn is_channel_pending(&self, channel: ChannelId) -> bool {
        let pending = &self.pending;
        pending.channels.contains(&channel)
            || pending.updated.values().any(Option::is_some)
            || !pending.counts.is_empty()
    }

    // What was fetched.

    pub fn know_message(&mut self, id: MessageId, message: Option<Message>) {
        self.messages.entry(id).or_insert(message);
    }

    pub fn know_key(&mut self, sender: MemberId, key: &str, message: Option<Message>) {
        let id = message.as_ref().map(|message| message.id);
        if let Some(message) = message {
            self.know_message(message.id, Some(message));
        }
        self.keys.entry((sender, key.to_owned())).or_insert(id);
    }

    pub fn know_record(&mut self, kind: RecordKind, id: u128, record: Option<Record>) {
        self.records.entry((kind, id)).or_insert(record);
    }

    pub fn know_scope(&mut self, kind: RecordKind, scope: u128, records: Vec<Record>) {
        self.scopes.insert((kind, scope), records);
    }

    // What is appended.

    /// False when the message is there already.
    #[must_use]
    pub fn append(&mut self, write: &Write<'_>) -> bool {
        match write {
            Write::InsertMessage(message) => return self.insert(message),
            Write::UpdateMessage(message) => self.update(message),
            Write::CountReply { root, by } => self.count(*root, i64::from(*by)),
            Write::Log(change) => {
                self.pending.channels.insert(change.channel);
                self.pending.changes.push((*change).clone());
            }
            Write::Put(record) => self.put(record.kind(), record.id(), Some((*record).clone())),
            Write::Remove { kind, id } => self.put(*kind, *id, None),
            Write::ForgetChannel(channel) => {
                self.forgotten.insert(*channel);
                self.pending.channels.insert(*channel);
                self.pending.forgotten.push(*channel);
            }
        }
        true
    }

    fn insert(&mut self, message: &Message) -> bool {
        let known = self.messages.insert(message.id, Some(message.clone()));
        if let Some(key) = &message.key {
            self.keys.insert((message.sender, key.clone()), Some(message.id));
        }
        self.pending.channels.insert(message.channel);
        self.pending.inserted_ids.insert(message.id);
        self.pending.inserted.push(message.id);
        known.flatten().is_none()
    }

    fn update(&mut self, given: &Message) {
        self.pending.channels.insert(given.channel);
        match self.messages.get_mut(&given.id) {
            Some(Some(known)) => {
                change(known, given);
                if !self.pending.inserted_ids.contains(&given.id) {
                    self.pending.updated.insert(given.id, None);
                }
            }
            Some(None) => {}
            None => drop(self.pending.updated.insert(given.id, Some(given.clone()))),
        }
    }

    fn count(&mut self, root: MessageId, by: i64) {
        if let Some(Some(known)) = self.messages.get_mut(&root) {
            let count = (i64::from(known.reply_count) + by).max(0);
            known.reply_count = u32::try_from(count).unwrap_or(u32::MAX);
            self.pending.channels.insert(known.channel);
        }
        if !self.pending.inserted_ids.contains(&root) {
            *self.pending.counts.entry(root).or_default() += by;
        }
    }

    fn put(&mut self, kind: RecordKind, id: u128, record: Option<Record>) {
        self.scopes.retain(|(known, _), _| *known != kind);
        self.records.insert((kind, id), record);
        self.pending.records.insert((kind, id));
    }

    // What the server is told.

    pub fn inserted(&self) -> impl Iterator<Item = &Message> {
        self.pending.inserted.iter().filter_map(|id| self.messages.get(id)?.as_ref())
    }

    pub fn updated(&self) -> impl Iterator<Item = &Message> {
        let known = |id: &MessageId| self.messages.get(id).and_then(Option::as_ref);
        self.pending.updated.iter().filter_map(move |(id, given)| given.as_ref().or_else(|| known(id)))
    }

    pub fn put_records(&self) -> impl Iterator<Item = &Record> {
        self.pending.records.iter().filter_map(|key| self.records.get(key)?.as_ref())
    }

    pub fn removed_records(&self) -> impl Iterator<Item = (RecordKind, u128)> {
        self.pending.records.iter().copied().filter(|key| self.records.get(key).is_some_and(Option::is_none))
    }

    /// The server knows it all now.
    pub fn told(&mut self) {
        self.pending = Pending::default();
    }
}

impl Pending {
    pub fn is_empty(&self) -> bool {
        !self.has_messages() && self.changes.is_empty() && self.records.is_empty() && self.forgotten.is_empty()
    }

    /// Whether anything about messages is pending.
    pub fn has_messages(&self) -> bool {
        !(self.inserted.is_empty() && self.updated.is_empty() && self.counts.is_empty() && self.forgotten.is_empty())
    }

    fn concerns(&self, id: MessageId) -> bool {
        self.updated.contains_key(&id) || self.counts.contains_key(&id) || !self.forgotten.is_empty()
    }
}

/// Replaces everything of a stored message that can change.
fn change(known: &mut Message, given: &Message) {
    known.content.clone_from(&given.content);
    known.deleted = given.deleted;
    known.content_type = given.content_type;
    known.kind.clone_from(&given.kind);
    known.file = given.file;
    known.metadata.clone_from(&given.metadata);
    known.updated_at = given.updated_at;
    known.edited_at = given.edited_at;
    known.edit_count = given.edit_count;
    known.reactions.clone_from(&given.reactions);
}
