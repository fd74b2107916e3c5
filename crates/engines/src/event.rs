//! The event model: what every run says, whichever engine it drives.
//!
//! `started`, `action` and `completed` are the document's, field by field; `asked` stands beside them for the
//! questions that a steerable engine puts to people. One event is one JSON line.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

mod ask;

pub use ask::{Ask, AskAnswer, AskKind, Identity, Subject};

/// A free-form table, as `meta`, `detail` and `usage` are.
pub type Detail = Map<String, Value>;

/// The name of an engine, such as `codex`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EngineId(Cow<'static, str>);

impl EngineId {
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for EngineId {
    fn from(name: String) -> Self {
        Self(Cow::Owned(name))
    }
}

impl From<&str> for EngineId {
    fn from(name: &str) -> Self {
        Self(Cow::Owned(name.to_owned()))
    }
}

impl PartialEq<str> for EngineId {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl fmt::Display for EngineId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A conversation on the engine's side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResumeToken {
    pub engine: EngineId,
    pub value: String,
}

impl ResumeToken {
    pub fn new(engine: impl Into<EngineId>, value: impl Into<String>) -> Self {
        Self { engine: engine.into(), value: value.into() }
    }

    /// What at most one run may hold at a time.
    pub fn thread_key(&self) -> ThreadKey {
        ThreadKey(format!("{}:{}", self.engine, self.value))
    }
}

/// `engine:resume-value`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ThreadKey(String);

impl ThreadKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ThreadKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What an action is about. A kind that we do not know is kept and shown as a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Cow<'_, str>", into = "String")]
pub enum ActionKind {
    Command,
    Tool,
    FileChange,
    WebSearch,
    Subagent,
    Turn,
    Warning,
    Telemetry,
    Note,
    Other(String),
}

impl ActionKind {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Command => "command",
            Self::Tool => "tool",
            Self::FileChange => "file_change",
            Self::WebSearch => "web_search",
            Self::Subagent => "subagent",
            Self::Turn => "turn",
            Self::Warning => "warning",
            Self::Telemetry => "telemetry",
            Self::Note => "note",
            Self::Other(name) => name,
        }
    }
}

impl From<Cow<'_, str>> for ActionKind {
    fn from(name: Cow<'_, str>) -> Self {
        match name.as_ref() {
            "command" => Self::Command,
            "tool" => Self::Tool,
            "file_change" => Self::FileChange,
            "web_search" => Self::WebSearch,
            "subagent" => Self::Subagent,
            "turn" => Self::Turn,
            "warning" => Self::Warning,
            "telemetry" => Self::Telemetry,
            "note" => Self::Note,
            _ => Self::Other(name.into_owned()),
        }
    }
}

impl From<ActionKind> for String {
    fn from(kind: ActionKind) -> Self {
        kind.as_str().to_owned()
    }
}

/// Something that an engine does; its id is the same in all events about it and in no others of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    pub id: String,
    pub kind: ActionKind,
    pub title: String,
    #[serde(default)]
    pub detail: Detail,
}

impl Action {
    pub fn new(id: impl Into<String>, kind: ActionKind, title: impl Into<String>) -> Self {
        Self { id: id.into(), kind, title: title.into(), detail: Detail::new() }
    }

    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(key.to_owned(), value.into());
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Started,
    Updated,
    Completed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Debug,
    Info,
    Warning,
    Error,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Started {
    pub engine: EngineId,
    pub resume: ResumeToken,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Detail::is_empty")]
    pub meta: Detail,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionEvent {
    pub engine: EngineId,
    pub action: Action,
    pub phase: Phase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
}

/// Stands between the engine and the number in the id of such a note.
const SAYING: &str = ".saying.";

impl ActionEvent {
    /// Whether it is about words that are on their way; see [`EngineEvent::saying`].
    pub fn is_saying(&self) -> bool {
        self.action.id.strip_prefix(self.engine.as_str()).is_some_and(|rest| rest.starts_with(SAYING))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    pub engine: EngineId,
    pub ok: bool,
    pub answer: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeToken>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Detail::is_empty")]
    pub usage: Detail,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    pub engine: EngineId,
    /// Rare, and much larger than any other event.
    pub ask: Box<Ask>,
}

/// One line of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum EngineEvent {
    Started(Started),
    Action(ActionEvent),
    Asked(Asked),
    Completed(Completed),
}

impl EngineEvent {
    pub fn engine(&self) -> &EngineId {
        match self {
            Self::Started(event) => &event.engine,
            Self::Action(event) => &event.engine,
            Self::Asked(event) => &event.engine,
            Self::Completed(event) => &event.engine,
        }
    }

    pub fn started(token: ResumeToken, title: Option<String>, meta: Detail) -> Self {
        Self::Started(Started { engine: token.engine.clone(), resume: token, title, meta })
    }

    pub fn action(engine: &EngineId, action: Action, phase: Phase, ok: Option<bool>) -> Self {
        Self::Action(ActionEvent { engine: engine.clone(), action, phase, ok, message: None, level: None })
    }

    pub fn asked(engine: &EngineId, ask: Ask) -> Self {
        Self::Asked(Asked { engine: engine.clone(), ask: Box::new(ask) })
    }

    /// A warning that people see: an action that is completed and not ok.
    pub fn warning(engine: &EngineId, id: impl Into<String>, text: impl Into<String>) -> Self {
        let action = Action::new(id, ActionKind::Warning, text);
        Self::Action(ActionEvent {
            engine: engine.clone(),
            action,
            phase: Phase::Completed,
            ok: Some(false),
            message: None,
            level: Some(Level::Warning),
        })
    }

    /// The engine has trouble with its model and tries again by itself. One action for all attempts, so that the last one is
    /// what people see; `going_on` ends it.
    pub fn retrying(engine: &EngineId, why: impl Into<String>) -> Self {
        let action = Action::new(format!("{engine}.retry"), ActionKind::Warning, why);
        Self::Action(ActionEvent {
            engine: engine.clone(),
            action,
            phase: Phase::Updated,
            ok: None,
            message: None,
            level: Some(Level::Warning),
        })
    }

    /// What was tried again worked.
    pub fn going_on(engine: &EngineId, why: impl Into<String>) -> Self {
        let action = Action::new(format!("{engine}.retry"), ActionKind::Warning, why);
        Self::action(engine, action, Phase::Completed, Some(true))
    }

    /// The id of the note about a block of text that the engine is saying or thinking.
    pub fn saying_id(engine: &EngineId, number: usize) -> String {
        format!("{engine}{SAYING}{number}")
    }

    /// What an engine is saying, before it is an answer; `text` is more of it than a title can hold.
    pub fn saying(engine: &EngineId, id: String, title: String, text: Option<String>, phase: Phase) -> Self {
        let mut action = Action::new(id, ActionKind::Note, title);
        if let Some(text) = text {
            action = action.with("text", text);
        }
        Self::action(engine, action, phase, (phase == Phase::Completed).then_some(true))
    }

    /// The event as one line of JSON, without the line end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("events hold nothing that JSON cannot say")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(event: &EngineEvent) -> Value {
        serde_json::from_str(&event.to_line()).unwrap()
    }

    #[test]
    fn events_have_the_documents_fields_and_leave_out_what_is_not_known() {
        let token = ResumeToken::new("codex", "019a");
        let engine = EngineId::new("codex");
        let started = EngineEvent::started(token.clone(), None, Detail::new());
        assert_eq!(
            line(&started),
            json!({"type": "started", "engine": "codex", "resume": {"engine": "codex", "value": "019a"}})
        );
        let action =
            EngineEvent::action(&engine, Action::new("i1", ActionKind::FileChange, "a"), Phase::Completed, Some(true));
        assert_eq!(
            line(&action),
            json!({"type": "action", "engine": "codex", "phase": "completed", "ok": true,
                   "action": {"id": "i1", "kind": "file_change", "title": "a", "detail": {}}})
        );
        let completed = Completed {
            engine,
            ok: false,
            answer: String::new(),
            resume: Some(token),
            error: Some("no".into()),
            usage: Detail::new(),
        };
        assert_eq!(
            line(&EngineEvent::Completed(completed)),
            json!({"type": "completed", "engine": "codex", "ok": false, "answer": "", "error": "no",
                   "resume": {"engine": "codex", "value": "019a"}})
        );
    }

    #[test]
    fn every_event_survives_its_json_line_and_unknown_kinds_are_kept() {
        let text = r#"{"type":"action","engine":"x","phase":"updated","action":{"id":"1","kind":"dance","title":"t"}}"#;
        let event: EngineEvent = serde_json::from_str(text).unwrap();
        let EngineEvent::Action(action) = &event else { panic!("{event:?}") };
        assert_eq!(action.action.kind, ActionKind::Other("dance".into()));
        assert_eq!(serde_json::from_str::<EngineEvent>(&event.to_line()).unwrap(), event);
    }

    #[test]
    fn the_thread_key_is_engine_colon_value() {
        assert_eq!(ResumeToken::new("pi", "a:b").thread_key().as_str(), "pi:a:b");
    }
}
