//! Prompts: kept from the moment they are taken from Telegram until their answer is on its way.

use rusqlite::{Params, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{JournalError, Rows};
use crate::api::{ChatId, MessageId, TopicId, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PromptId(pub i64);

/// How far a prompt has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptState {
    /// Further pieces may still join it, or its voice note is being written down.
    Gathering,
    /// It waits for its thread.
    Queued,
    /// An engine works on it; after a crash, one did.
    Running,
    /// Its last message is in the outbox.
    Done,
}

impl PromptState {
    const ALL: [(Self, i64); 4] = [(Self::Gathering, 0), (Self::Queued, 1), (Self::Running, 2), (Self::Done, 9)];

    fn number(self) -> i64 {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or(9, |(_, number)| *number)
    }

    fn of(number: i64) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == number).map_or(Self::Done, |(state, _)| *state)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewPrompt {
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    pub sender: Option<UserId>,
    /// The message that asked; answers are replies to it.
    pub message: MessageId,
    pub state: PromptState,
    /// The thread key, where it is known.
    pub thread: Option<String>,
    pub text: String,
    /// Whatever else the bridge decided about it (engine, folder, resume value, files); its own JSON.
    pub plan: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    pub id: PromptId,
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    pub sender: Option<UserId>,
    pub message: MessageId,
    pub state: PromptState,
    pub thread: Option<String>,
    pub text: String,
    pub plan: Value,
    /// Seconds since 1970.
    pub changed_at: i64,
}

const COLUMNS: &str = "id, chat, topic, sender, message, state, thread, text, plan, changed_at";

impl Rows<'_> {
    pub fn add_prompt(&mut self, prompt: &NewPrompt) -> Result<PromptId, JournalError> {
        let sql = "INSERT INTO prompts (chat, topic, sender, message, state, thread, text, plan) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        self.connection.prepare_cached(sql)?.execute(params![
            prompt.chat.0,
            prompt.topic.map(|topic| topic.0),
            prompt.sender.map(|sender| sender.0),
            prompt.message.0,
            prompt.state.number(),
            prompt.thread,
            prompt.text,
            prompt.plan.to_string(),
        ])?;
        Ok(PromptId(self.connection.last_insert_rowid()))
    }

    /// Stores state, thread, text and plan anew; the rest of a prompt never changes.
    pub fn update_prompt(&mut self, prompt: &Prompt) -> Result<(), JournalError> {
        let sql = "UPDATE prompts SET state = ?, thread = ?, text = ?, plan = ?, changed_at = unixepoch() WHERE id = ?";
        let plan = prompt.plan.to_string();
        let values = params![prompt.state.number(), prompt.thread, prompt.text, plan, prompt.id.0];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    pub fn set_prompt_state(&mut self, id: PromptId, state: PromptState) -> Result<(), JournalError> {
        let sql = "UPDATE prompts SET state = ?, changed_at = unixepoch() WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute([state.number(), id.0])?;
        Ok(())
    }

    /// Marks a prompt as done and forgets its text; `false` when it was done before, and then its end was told already.
    ///
    /// Belongs into the transaction that posts its last message: then there is exactly one.
    pub fn finish_prompt(&mut self, id: PromptId) -> Result<bool, JournalError> {
        let sql = "UPDATE prompts SET state = ?1, text = '', changed_at = unixepoch() WHERE id = ?2 AND state <> ?1";
        Ok(self.connection.prepare_cached(sql)?.execute([PromptState::Done.number(), id.0])? == 1)
    }

    pub fn prompt(&self, id: PromptId) -> Result<Option<Prompt>, JournalError> {
        Ok(self.prompts("id = ?1", [id.0])?.pop())
    }

    /// The last prompt that this message began.
    pub fn prompt_at(&self, chat: ChatId, message: MessageId) -> Result<Option<Prompt>, JournalError> {
        Ok(self.prompts("chat = ?1 AND message = ?2", [chat.0, message.0])?.pop())
    }

    /// All that are not done, oldest first.
    pub fn open_prompts(&self) -> Result<Vec<Prompt>, JournalError> {
        self.prompts("state < 9", [])
    }

    fn prompts(&self, condition: &str, values: impl Params) -> Result<Vec<Prompt>, JournalError> {
        self.all(&format!("SELECT {COLUMNS} FROM prompts WHERE {condition} ORDER BY id"), values, prompt_of)
    }

    pub(super) fn forget_prompts(&mut self, before: i64) -> Result<(), JournalError> {
        self.connection.execute("DELETE FROM prompts WHERE state = 9 AND changed_at < ?", [before])?;
        Ok(())
    }
}

fn prompt_of(row: &Row<'_>) -> Result<Prompt, JournalError> {
    Ok(Prompt {
        id: PromptId(row.get(0)?),
        chat: ChatId(row.get(1)?),
        topic: row.get::<_, Option<i64>>(2)?.map(TopicId),
        sender: row.get::<_, Option<i64>>(3)?.map(UserId),
        message: MessageId(row.get(4)?),
        state: PromptState::of(row.get(5)?),
        thread: row.get(6)?,
        text: row.get(7)?,
        plan: serde_json::from_str(&row.get::<_, String>(8)?)?,
        changed_at: row.get(9)?,
    })
}
