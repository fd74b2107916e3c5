//! The lines of `opencode run --format json`, in its own words. Reading never fails.

use serde_json::Value;

use super::trouble;
use crate::json::{field, flag, text, words};

pub struct OpencodeLine<'a> {
    /// Every line may name its session.
    pub session_id: Option<&'a str>,
    pub body: Body<'a>,
}

pub enum Body<'a> {
    StepStart,
    ToolUse(Tool<'a>),
    Text {
        id: &'a str,
        text: &'a str,
    },
    /// It tells itself to go on: what it said in the step before was a summary, for itself.
    GoesOn,
    Reasoning {
        id: &'a str,
        text: &'a str,
    },
    StepFinish {
        reason: &'a str,
        part: &'a Value,
    },
    Done,
    Error(String),
    /// A kind that we do not know.
    Other(&'a str),
}

pub struct Tool<'a> {
    pub call_id: &'a str,
    pub name: &'a str,
    pub status: &'a str,
    pub input: &'a Value,
    pub title: Option<&'a str>,
    pub output: &'a str,
    pub error: Option<&'a str>,
    pub exit: Option<i64>,
    /// A command that did not come to its end has an exit code, and it is null.
    pub was_cut: bool,
}

impl<'a> OpencodeLine<'a> {
    pub fn read(line: &'a Value) -> Self {
        let part = field(line, "part");
        let said = |key: &str| text(part, key).unwrap_or_default();
        let body = match text(line, "type").unwrap_or_default() {
            "step_start" => Body::StepStart,
            "tool_use" => Body::ToolUse(Tool::read(part)),
            "text" if flag(part, "synthetic") == Some(true) => Body::GoesOn,
            "text" => Body::Text { id: said("id"), text: said("text") },
            "reasoning" => Body::Reasoning { id: said("id"), text: said("text") },
            "step_finish" => Body::StepFinish { reason: said("reason"), part },
            "done" => Body::Done,
            "error" => {
                let said = trouble::words_for(field(line, "error"));
                let said = said.or_else(|| words(line, "message").map(str::to_owned));
                Body::Error(said.unwrap_or_else(|| "opencode reported an error".to_owned()))
            }
            other => Body::Other(other),
        };
        Self { session_id: words(line, "sessionID"), body }
    }
}

impl<'a> Tool<'a> {
    pub fn read(part: &'a Value) -> Self {
        let state = field(part, "state");
        let exit = field(state, "metadata").get("exit");
        Self {
            call_id: words(part, "callID").or_else(|| words(part, "id")).unwrap_or_default(),
            name: text(part, "tool").unwrap_or_default(),
            status: text(state, "status").unwrap_or_default(),
            input: field(state, "input"),
            title: words(state, "title"),
            output: text(state, "output").unwrap_or_default(),
            error: text(state, "error"),
            exit: exit.and_then(Value::as_i64),
            was_cut: exit.is_some_and(Value::is_null),
        }
    }
}
