//! Prompts: kept from the moment they are taken from Telegram until their answer is on its way.

use rusqlite::{Params, Row, params};

use super::{JournalError, Rows, Scope};
use crate::api::{ChatId, MessageId, TopicId, UserId};
use crate::ids::PromptId;
use crate::plan::Plan;

stored! {
    /// How far a prompt has come.
    PromptState {
        /// Further pieces may still join it, or its voice note is being written down.
        Gathering = 0,
        /// It waits for its thread.
        Queued = 1,
        /// An engine works on it; after a crash, one did.
        Running = 2,
        /// Its last message is in the outbox.
        Done = 9,
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
    pub plan: Plan,
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
    pub plan: Plan,
    /// Seconds since 1970.
    pub changed_at: i64,
}

impl Prompt {
    /// Where preferences of its place are kept.
    pub fn place(&self) -> Scope {
        Scope { chat: self.chat, topic: self.topic, sender: None }
    }

    /// Where its thread goes on by itself.
    pub fn session_scope(&self) -> Scope {
        self.sender.map_or(self.place(), |sender| self.place().session(sender))
    }
}

/// What is left of a prompt whose plan cannot be read: it was stored by another version, or the file was damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    pub message: MessageId,
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
            prompt.state,
            prompt.thread,
            prompt.text,
            serde_json::to_string(&prompt.plan)?,
        ])?;
        Ok(PromptId(self.connection.last_insert_rowid()))
    }

    /// Stores state, thread, text and plan anew; the rest of a prompt never changes.
    pub fn update_prompt(&mut self, prompt: &Prompt) -> Result<(), JournalError> {
        let sql = "UPDATE prompts SET state = ?, thread = ?, text = ?, plan = ?, changed_at = unixepoch() WHERE id = ?";
        let plan = serde_json::to_string(&prompt.plan)?;
        let values = params![prompt.state, prompt.thread, prompt.text, plan, prompt.id.0];
        self.connection.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    pub fn set_prompt_state(&mut self, id: PromptId, state: PromptState) -> Result<(), JournalError> {
        let sql = "UPDATE prompts SET state = ?, changed_at = unixepoch() WHERE id = ?";
        self.connection.prepare_cached(sql)?.execute(params![state, id.0])?;
        Ok(())
    }

    /// Marks a prompt as done and forgets its text; `false` when it was done before, and then its end was told already.
    ///
    /// Belongs into the transaction that posts its last message: then there is exactly one.
    pub fn finish_prompt(&mut self, id: PromptId) -> Result<bool, JournalError> {
        let sql = "UPDATE prompts SET state = ?1, text = '', changed_at = unixepoch() WHERE id = ?2 AND state <> ?1";
        Ok(self.connection.prepare_cached(sql)?.execute(params![PromptState::Done, id.0])? == 1)
    }

    pub fn prompt(&self, id: PromptId) -> Result<Option<Prompt>, JournalError> {
        Ok(self.prompts("id = ?1", [id.0])?.pop())
    }

    /// The last prompt that this message began.
    pub fn prompt_at(&self, chat: ChatId, message: MessageId) -> Result<Option<Prompt>, JournalError> {
        Ok(self.prompts("chat = ?1 AND message = ?2", [chat.0, message.0])?.pop())
    }

    /// Ends the open prompts that cannot be read, so that those who wait for them can be told.
    pub fn fail_unreadable_prompts(&mut self) -> Result<Vec<Unreadable>, JournalError> {
        let sql = "SELECT id, chat, topic, message, plan FROM prompts WHERE state < 9 ORDER BY id";
        let open = self.all(sql, [], |row| {
            let (chat, message) = (ChatId(row.get(1)?), MessageId(row.get(3)?));
            let topic = row.get::<_, Option<i64>>(2)?.map(TopicId);
            let is_readable = serde_json::from_str::<Plan>(&row.get::<_, String>(4)?).is_ok();
            Ok((PromptId(row.get(0)?), is_readable, Unreadable { chat, topic, message }))
        })?;
        let failed: Vec<_> = open.into_iter().filter(|(_, is_readable, _)| !is_readable).collect();
        failed.iter().try_for_each(|(id, ..)| self.finish_prompt(*id).map(drop))?;
        Ok(failed.into_iter().map(|(.., unreadable)| unreadable).collect())
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
        state: row.get(5)?,
        thread: row.get(6)?,
        text: row.get(7)?,
        plan: plan_of(row.get(0)?, &row.get::<_, String>(8)?)?,
        changed_at: row.get(9)?,
    })
}

fn plan_of(prompt: i64, stored: &str) -> Result<Plan, JournalError> {
    serde_json::from_str(stored)
        .map_err(|error| JournalError::Unreadable(format!("what is stored about prompt {prompt}: {error}")))
}
