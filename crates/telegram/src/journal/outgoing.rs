//! Outgoing messages: those of the bot as they should be, and how far Telegram has them.
//!
//! An outgoing message is not a queue of calls but a wanted state. Sending, editing and removing are worked out by the
//! outbox from what is wanted and what is there, so that whatever is overtaken need not be done, and a restart simply goes
//! on.

use rusqlite::{Params, Row, params};
use serde::{Deserialize, Serialize};

use super::{JournalError, Order, Rows};
use crate::api::{ChatId, Keyboard, MessageId, TopicId};
use crate::ids::{OutgoingId, PromptId};
use crate::text::Rendered;

/// What a message says: text with looks, and its buttons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    #[serde(flatten)]
    pub rendered: Rendered,
    #[serde(default, skip_serializing_if = "Keyboard::is_empty")]
    pub keyboard: Keyboard,
}

impl Content {
    pub fn new(rendered: Rendered) -> Self {
        Self { rendered, keyboard: Keyboard::none() }
    }

    pub fn with_keyboard(rendered: Rendered, keyboard: Keyboard) -> Self {
        Self { rendered, keyboard }
    }
}

stored! {
    /// How a message is treated on its way.
    OutgoingKind {
        /// A first sign, such as "starting": it does not wait for the chat's pace.
        Sign = 0,
        /// An answer: it is sent, and sent anew when it vanished before its last edit.
        Answer = 1,
        /// Anything else that is said once.
        Notice = 2,
    }
}

stored! {
    /// How far a message is.
    OutgoingState {
        /// To be sent.
        Waiting = 0,
        /// Sent; its last words are stored and still to be put there.
        Changed = 1,
        /// Sent; to be removed.
        Leaving = 2,
        /// There, as it should be.
        Settled = 9,
        /// Removed, or never sent and no longer wanted.
        Gone = 10,
        /// Telegram will not take it.
        Failed = 11,
    }
}

/// A message to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    pub reply_to: Option<MessageId>,
    /// The prompt it belongs to.
    pub prompt: Option<PromptId>,
    pub kind: OutgoingKind,
    /// Without a sound on the reader's phone.
    pub silent: bool,
    /// A message that goes away once this one is there; it is not edited any more.
    pub replaces: Option<OutgoingId>,
    pub content: Content,
}

impl Draft {
    pub fn new(chat: ChatId, kind: OutgoingKind, content: Content) -> Self {
        Self { chat, topic: None, reply_to: None, prompt: None, kind, silent: false, replaces: None, content }
    }
}

/// A message as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Outgoing {
    pub id: OutgoingId,
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    pub reply_to: Option<MessageId>,
    pub prompt: Option<PromptId>,
    pub kind: OutgoingKind,
    pub silent: bool,
    pub replaces: Option<OutgoingId>,
    pub state: OutgoingState,
    /// Its number in the chat, once it was sent.
    pub message: Option<MessageId>,
    /// It may have been sent, only nobody knows: the hub ended or the connection broke in between. Then this is the highest
    /// message number that was known before the attempt.
    pub doubt: Option<MessageId>,
    pub content: Content,
    /// How often what it says was stored anew.
    pub revision: i64,
    /// Why Telegram would not take it.
    pub reason: Option<String>,
}

const COLUMNS: &str =
    "id, chat, topic, reply_to, prompt, kind, silent, replaces, state, message, floor, content, revision, reason";

/// What people and the bridge ask for.
impl Rows<'_> {
    pub fn post(&mut self, draft: &Draft) -> Result<OutgoingId, JournalError> {
        let sql = "INSERT INTO slips (chat, topic, reply_to, prompt, kind, silent, replaces, state, content)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
        self.connection.prepare_cached(sql)?.execute(params![
            draft.chat.0,
            draft.topic.map(|topic| topic.0),
            draft.reply_to.map(|message| message.0),
            draft.prompt.map(|prompt| prompt.0),
            draft.kind,
            draft.silent,
            draft.replaces.map(|outgoing| outgoing.0),
            OutgoingState::Waiting,
            serde_json::to_string(&draft.content)?,
        ])?;
        let id = OutgoingId(self.connection.last_insert_rowid());
        self.orders.extend(self.outgoing(id)?.map(Order::Post));
        Ok(id)
    }

    /// New words of a message, stored and delivered like an answer; progress shown before them is forgotten, progress shown
    /// after them comes after them. Nothing happens to a message that is gone; one whose number is not known is sent anew.
    pub fn revise(&mut self, id: OutgoingId, content: &Content) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET content = ?, revision = revision + 1, changed_at = unixepoch(),
                   state = CASE WHEN state <> ?4 THEN state WHEN message IS NULL THEN ?5 ELSE ?3 END
                   WHERE id = ?2 AND state IN (?3, ?4, ?5)";
        let content = serde_json::to_string(content)?;
        let values = params![content, id.0, OutgoingState::Changed, OutgoingState::Settled, OutgoingState::Waiting];
        if self.connection.prepare_cached(sql)?.execute(values)? == 1 {
            self.orders.extend(self.outgoing(id)?.map(Order::Revise));
        }
        Ok(())
    }

    /// Takes a message away; one that was not sent yet will not be.
    pub fn remove(&mut self, id: OutgoingId) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET state = ?, content = '{\"text\":\"\"}', changed_at = unixepoch()
                   WHERE id = ? AND state IN (?, ?, ?)";
        let values = params![
            OutgoingState::Leaving,
            id.0,
            OutgoingState::Waiting,
            OutgoingState::Changed,
            OutgoingState::Settled
        ];
        if self.connection.prepare_cached(sql)?.execute(values)? == 1 {
            self.orders.extend(self.outgoing(id)?.map(Order::Remove));
        }
        Ok(())
    }

    pub fn outgoing(&self, id: OutgoingId) -> Result<Option<Outgoing>, JournalError> {
        Ok(self.outgoing_where("id = ?1", [id.0])?.pop())
    }

    /// The outgoing message behind a message of the bot, such as one that somebody replies to.
    pub fn outgoing_at(&self, chat: ChatId, message: MessageId) -> Result<Option<Outgoing>, JournalError> {
        Ok(self.outgoing_where("chat = ?1 AND message = ?2", [chat.0, message.0])?.pop())
    }

    /// The messages about a prompt, oldest first.
    pub fn outgoing_of(&self, prompt: PromptId) -> Result<Vec<Outgoing>, JournalError> {
        self.outgoing_where("prompt = ?1", [prompt.0])
    }

    /// What Telegram would not take, newest last.
    pub fn failed_outgoing(&self) -> Result<Vec<Outgoing>, JournalError> {
        self.outgoing_where("state = ?1", [OutgoingState::Failed])
    }

    fn outgoing_where(&self, condition: &str, values: impl Params) -> Result<Vec<Outgoing>, JournalError> {
        self.all(&format!("SELECT {COLUMNS} FROM slips WHERE {condition} ORDER BY id"), values, outgoing_from)
    }

    pub(super) fn forget_outgoing(&mut self, before: i64) -> Result<(), JournalError> {
        self.connection.execute("DELETE FROM slips WHERE state >= 9 AND changed_at < ?", [before])?;
        Ok(())
    }
}

/// What the outbox reports.
impl Rows<'_> {
    /// What is still to be done, in the order in which it was asked for.
    pub(crate) fn due_outgoing(&self) -> Result<Vec<Outgoing>, JournalError> {
        self.outgoing_where("state < ?1", [OutgoingState::Settled])
    }

    /// The highest message number that is known of each chat.
    pub(crate) fn highest_messages(&self) -> Result<Vec<(ChatId, MessageId)>, JournalError> {
        let sql = "SELECT chat, max(number) FROM (
                   SELECT chat, max(coalesce(message, 0), coalesce(reply_to, 0)) AS number FROM slips
                   UNION ALL SELECT chat, message FROM prompts) GROUP BY chat";
        self.all(sql, [], |row| Ok((ChatId(row.get(0)?), MessageId(row.get(1)?))))
    }

    /// A message is about to be sent (if nothing more is heard, it may be there), or turned out not to be there.
    pub(crate) fn mark_doubtful(&mut self, id: OutgoingId, floor: Option<MessageId>) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET floor = ? WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute(params![floor.map(|floor| floor.0), id.0])?;
        Ok(())
    }

    /// A message is there and says what it was to say at that revision; then that need not be kept any longer.
    pub(crate) fn mark_arrived(
        &mut self,
        id: OutgoingId,
        message: Option<MessageId>,
        revision: i64,
    ) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET message = ?, floor = NULL, changed_at = unixepoch(),
                   state = CASE WHEN state <> ?4 THEN state WHEN revision = ?3 THEN ?5 ELSE ?6 END WHERE id = ?2";
        let [waiting, settled] = [OutgoingState::Waiting, OutgoingState::Settled];
        // Newer words are put there, or where nobody knows its number into a new message.
        let changed = if message.is_some() { OutgoingState::Changed } else { waiting };
        let values = params![message.map(|message| message.0), id.0, revision, waiting, settled, changed];
        self.connection.prepare_cached(sql)?.execute(values)?;
        self.empty_settled(id)?;
        let replaced = self.outgoing(id)?.and_then(|outgoing| outgoing.replaces);
        replaced.map_or(Ok(()), |replaced| self.remove(replaced))
    }

    /// The last words of a message are there, unless there are newer ones.
    pub(crate) fn mark_edited(&mut self, id: OutgoingId, revision: i64) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET state = ?, changed_at = unixepoch() WHERE id = ? AND state = ? AND revision = ?";
        let values = params![OutgoingState::Settled, id.0, OutgoingState::Changed, revision];
        self.connection.prepare_cached(sql)?.execute(values)?;
        self.empty_settled(id)
    }

    /// A message that vanished has to be sent anew.
    pub(crate) fn mark_vanished(&mut self, id: OutgoingId) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET state = ?, message = NULL, changed_at = unixepoch() WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute(params![OutgoingState::Waiting, id.0])?;
        Ok(())
    }

    /// A message is away.
    pub(crate) fn mark_gone(&mut self, id: OutgoingId) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET state = ?, content = '{\"text\":\"\"}', changed_at = unixepoch() WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute(params![OutgoingState::Gone, id.0])?;
        Ok(())
    }

    /// Telegram will not take it; what it would have said stays, so that it can be read.
    pub(crate) fn mark_failed(&mut self, id: OutgoingId, reason: &str) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET state = ?, reason = ?, changed_at = unixepoch() WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute(params![OutgoingState::Failed, reason, id.0])?;
        // What it was to replace need not be sent first.
        let sql = "UPDATE slips SET state = ?, changed_at = unixepoch()
                   WHERE id = (SELECT replaces FROM slips WHERE id = ?) AND state = ?";
        self.connection.prepare_cached(sql)?.execute(params![OutgoingState::Gone, id.0, OutgoingState::Waiting])?;
        Ok(())
    }

    /// A group has become another chat: what is there cannot be changed any more, what is pending is sent to the new one.
    pub(crate) fn move_outgoing(&mut self, from: ChatId, to: ChatId) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET chat = ?, message = NULL, reply_to = NULL, floor = NULL,
                   state = CASE state WHEN ? THEN ? ELSE ? END WHERE chat = ? AND state < 9";
        let values = params![to.0, OutgoingState::Leaving, OutgoingState::Gone, OutgoingState::Waiting, from.0];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    fn empty_settled(&mut self, id: OutgoingId) -> Result<(), JournalError> {
        let sql = "UPDATE slips SET content = '{\"text\":\"\"}' WHERE id = ? AND state = ?";
        self.connection.prepare_cached(sql)?.execute(params![id.0, OutgoingState::Settled])?;
        Ok(())
    }
}

fn outgoing_from(row: &Row<'_>) -> Result<Outgoing, JournalError> {
    Ok(Outgoing {
        id: OutgoingId(row.get(0)?),
        chat: ChatId(row.get(1)?),
        topic: row.get::<_, Option<i64>>(2)?.map(TopicId),
        reply_to: row.get::<_, Option<i64>>(3)?.map(MessageId),
        prompt: row.get::<_, Option<i64>>(4)?.map(PromptId),
        kind: row.get(5)?,
        silent: row.get(6)?,
        replaces: row.get::<_, Option<i64>>(7)?.map(OutgoingId),
        state: row.get(8)?,
        message: row.get::<_, Option<i64>>(9)?.map(MessageId),
        doubt: row.get::<_, Option<i64>>(10)?.map(MessageId),
        content: serde_json::from_str(&row.get::<_, String>(11)?)?,
        revision: row.get(12)?,
        reason: row.get(13)?,
    })
}
