//! What the rules may ask of history: the part of the past that is not kept in memory.

use crate::ids::*;
use crate::model::*;
use crate::record::{Filter, Record, RecordKind, Stored};

/// History could not be read (disk error, connection lost). The command is refused, nothing changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("storage is unavailable: {0}")]
pub struct Unavailable(pub String);

impl From<Unavailable> for crate::Refusal {
    fn from(_: Unavailable) -> Self {
        // The cause is for the log; the caller needs only to know that trying again later is right.
        Self::unavailable("storage is unavailable, nothing was changed")
    }
}

pub type Found<T> = Result<T, Unavailable>;

pub trait Lookup {
    fn message(&self, id: MessageId) -> Found<Option<Message>>;

    /// The message this sender stored under this idempotency key.
    fn message_by_key(&self, sender: MemberId, key: &str) -> Found<Option<Message>>;

    /// The newest messages of a channel that are not deleted, thread replies included, oldest first.
    fn newest_messages(&self, channel: ChannelId, limit: usize) -> Found<Vec<Message>>;

    /// The same, of those that stand no later than a position.
    fn messages_up_to(&self, channel: ChannelId, seq: u64, limit: usize) -> Found<Vec<Message>>;

    /// The newest replies below a message that are not deleted, oldest first, without the message itself.
    fn newest_replies(&self, root: MessageId, limit: usize) -> Found<Vec<Message>>;

    /// The room version as it was at a position of the channel.
    fn version_at(&self, channel: ChannelId, seq: u64) -> Found<u64>;

    fn record(&self, kind: RecordKind, id: u128) -> Found<Option<Record>>;

    fn records(&self, kind: RecordKind, filter: &Filter) -> Found<Vec<Record>>;

    /// How many bytes the files hold that match, whatever the filter's limit.
    fn stored_bytes(&self, filter: &Filter) -> Found<u64> {
        let files = self.list::<File>(&filter.clone().limit(usize::MAX))?;
        Ok(files.iter().map(|file| file.size).sum())
    }
}

/// One look-up that the rules are likely to make for a command, named before they are asked: a store far away can fetch those
/// of a whole batch in one question. What is not named is looked up when it is needed, so a miss costs time and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Want {
    /// [`Lookup::message`] of this id.
    Message(MessageId),
    /// The same, and where that message is a reply, also the one it stands below ([`Message::thread`]).
    Thread(MessageId),
    /// [`Lookup::message_by_key`]: as a rule there is none, and knowing that is what is wanted.
    Key { sender: MemberId, key: String },
    /// [`Lookup::record`] of this kind and id.
    Record { kind: RecordKind, id: u128 },
    /// [`Lookup::records`] with [`Filter::scope`] and nothing else: the few records that belong to one thing.
    Scope { kind: RecordKind, scope: u128 },
}

impl Want {
    /// The record under which a thing is kept.
    pub fn stored<T: Stored>(id: T::Id) -> Self {
        Self::Record { kind: T::KIND, id: T::number(id) }
    }
}

/// Typed access on top of [`Lookup`].
pub trait LookupExt: Lookup {
    fn get<T: Stored>(&self, id: T::Id) -> Found<Option<T>> {
        Ok(self.record(T::KIND, T::number(id))?.and_then(T::from_record))
    }

    fn list<T: Stored>(&self, filter: &Filter) -> Found<Vec<T>> {
        Ok(self.records(T::KIND, filter)?.into_iter().filter_map(T::from_record).collect())
    }

    fn first<T: Stored>(&self, filter: &Filter) -> Found<Option<T>> {
        Ok(self.list(filter)?.into_iter().next())
    }
}

impl<L: Lookup + ?Sized> LookupExt for L {}
