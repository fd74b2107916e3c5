//! Preferences and thread sessions of a chat, a topic, or one sender in a chat.

use folkmoot_engines::event::EngineId;
use rusqlite::params;

use super::{JournalError, Rows};
use crate::api::{ChatId, TopicId, UserId};
use crate::context::Context;
use crate::ids::PromptId;

/// What a preference holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    pub chat: ChatId,
    pub topic: Option<TopicId>,
    /// One person in a group, where that matters.
    pub sender: Option<UserId>,
}

impl Scope {
    pub fn chat(chat: ChatId) -> Self {
        Self { chat, topic: None, sender: None }
    }

    pub fn topic(chat: ChatId, topic: TopicId) -> Self {
        Self { chat, topic: Some(topic), sender: None }
    }

    pub fn of(self, sender: UserId) -> Self {
        Self { sender: Some(sender), ..self }
    }

    /// Where a thread goes on by itself that somebody speaks to here: the topic, the private chat, or one person in a group.
    pub fn session(self, sender: UserId) -> Self {
        if self.chat.is_group() && self.topic.is_none() { self.of(sender) } else { self }
    }

    fn key(self) -> (i64, i64, i64) {
        (self.chat.0, self.topic.map_or(0, |topic| topic.0), self.sender.map_or(0, |sender| sender.0))
    }
}

/// What can be preferred, and what is remembered beside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The engine for new threads.
    Engine,
    /// The model of an engine.
    Model(String),
    /// The reasoning level of an engine.
    Reasoning(String),
    /// What makes the bot listen: `all` or `mentions`.
    Trigger,
    /// The bound project and branch.
    Context,
    /// The name that a topic was given.
    Title,
    /// The resume value of an engine's thread that goes on here; where a project and branch are named, of the one there.
    Session { engine: String, place: Option<String> },
    /// The last prompt before `/new`, whose thread does not go on here.
    Since,
}

const SESSION: &str = "session:";

impl Preference {
    pub fn session(engine: &EngineId, context: Option<&Context>) -> Self {
        Self::Session { engine: engine.to_string(), place: context.map(Context::name) }
    }

    fn name(&self) -> String {
        match self {
            Self::Engine => "engine".into(),
            Self::Model(engine) => format!("model:{engine}"),
            Self::Reasoning(engine) => format!("reasoning:{engine}"),
            Self::Trigger => "trigger".into(),
            Self::Context => "context".into(),
            Self::Title => "title".into(),
            Self::Session { engine, place: None } => format!("{SESSION}{engine}"),
            Self::Session { engine, place: Some(place) } => format!("{SESSION}{engine}:{place}"),
            Self::Since => "since".into(),
        }
    }
}

impl Rows<'_> {
    pub fn preference(&self, scope: Scope, preference: &Preference) -> Result<Option<String>, JournalError> {
        let sql = "SELECT value FROM preferences WHERE chat = ? AND topic = ? AND sender = ? AND name = ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let (chat, topic, sender) = scope.key();
        let mut rows = statement.query(params![chat, topic, sender, preference.name()])?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
    }

    /// `None` clears it.
    pub fn prefer(&mut self, scope: Scope, preference: &Preference, value: Option<&str>) -> Result<(), JournalError> {
        let (chat, topic, sender) = scope.key();
        let name = preference.name();
        match value {
            Some(value) => {
                let sql = "INSERT INTO preferences (chat, topic, sender, name, value) VALUES (?, ?, ?, ?, ?)
                           ON CONFLICT DO UPDATE SET value = excluded.value";
                self.connection.prepare_cached(sql)?.execute(params![chat, topic, sender, name, value])?;
            }
            None => {
                let sql = "DELETE FROM preferences WHERE chat = ? AND topic = ? AND sender = ? AND name = ?";
                self.connection.prepare_cached(sql)?.execute(params![chat, topic, sender, name])?;
            }
        }
        Ok(())
    }

    /// Forgets the threads that go on in this scope, also those that are just beginning; the preferences stay. Says how
    /// many there were.
    pub fn forget_sessions(&mut self, scope: Scope) -> Result<usize, JournalError> {
        let newest = "SELECT coalesce(max(id), 0) FROM prompts";
        let newest: i64 = self.connection.query_row(newest, [], |row| row.get(0))?;
        self.prefer(scope, &Preference::Since, Some(&newest.to_string()))?;
        let sql = "DELETE FROM preferences WHERE chat = ? AND topic = ? AND sender = ? AND substr(name, 1, 8) = ?";
        let (chat, topic, sender) = scope.key();
        Ok(self.connection.prepare_cached(sql)?.execute(params![chat, topic, sender, SESSION])?)
    }

    /// Only prompts after this one go on with each other in this scope.
    pub fn sessions_since(&self, scope: Scope) -> Result<PromptId, JournalError> {
        let since = self.preference(scope, &Preference::Since)?;
        Ok(PromptId(since.and_then(|id| id.parse().ok()).unwrap_or(0)))
    }

    /// The topics of a chat that have this preference, with its value.
    pub fn topics_with(&self, chat: ChatId, preference: &Preference) -> Result<Vec<(TopicId, String)>, JournalError> {
        let sql = "SELECT topic, value FROM preferences WHERE chat = ? AND topic <> 0 AND sender = 0 AND name = ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows =
            statement.query_map(params![chat.0, preference.name()], |row| Ok((TopicId(row.get(0)?), row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
