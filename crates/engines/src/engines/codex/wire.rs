//! The lines of `codex exec --json`, in its own words. Reading never fails: what is not known is [`CodexLine::Unknown`].

use std::borrow::Cow;

use serde_json::Value;

use super::command;
use crate::event::Phase;
use crate::json::{field, flag, list, text, whole, words};

pub enum CodexLine<'a> {
    ThreadStarted {
        thread_id: Option<&'a str>,
    },
    TurnStarted,
    TurnCompleted {
        usage: &'a Value,
    },
    TurnFailed {
        error: Option<String>,
    },
    Item {
        phase: Phase,
        id: &'a str,
        item: Item<'a>,
    },
    Error {
        message: &'a str,
    },
    RequestUserInput {
        id: &'a str,
        questions: &'a [Value],
    },
    /// A part of something that comes whole later.
    Known,
    Unknown {
        kind: &'a str,
    },
}

pub enum Item<'a> {
    CommandExecution { command: Cow<'a, str>, exit_code: Option<i64>, status: &'a str, output: &'a str },
    McpToolCall { server: &'a str, tool: &'a str, failed: bool, status: &'a str },
    FileChange { changes: &'a [Value], status: &'a str },
    WebSearch { query: &'a str },
    TodoList { items: &'a [Value] },
    Reasoning { text: &'a str },
    Plan { text: &'a str },
    AgentMessage { text: &'a str, phase: Option<&'a str> },
    CollabToolCall { tool: &'a str, prompt: Option<&'a str>, status: &'a str },
    Error { message: &'a str },
    Other { kind: &'a str },
}

impl<'a> CodexLine<'a> {
    pub fn read(line: &'a Value) -> Self {
        let phase = match text(line, "type").unwrap_or_default() {
            "thread.started" => return Self::ThreadStarted { thread_id: words(line, "thread_id") },
            "turn.started" => return Self::TurnStarted,
            "turn.completed" => return Self::TurnCompleted { usage: field(line, "usage") },
            "turn.failed" => return Self::TurnFailed { error: crate::json::message(field(line, "error")) },
            "error" => return Self::Error { message: text(line, "message").unwrap_or_default() },
            "request_user_input" => {
                let id = text(line, "call_id").or_else(|| text(line, "id")).unwrap_or_default();
                return Self::RequestUserInput { id, questions: list(line, "questions") };
            }
            "item.started" => Phase::Started,
            "item.updated" => Phase::Updated,
            "item.completed" => Phase::Completed,
            "item.plan.delta" => return Self::Known,
            kind => return Self::Unknown { kind },
        };
        let item = field(line, "item");
        Self::Item { phase, id: text(item, "id").unwrap_or_default(), item: Item::read(item) }
    }
}

impl<'a> Item<'a> {
    fn read(item: &'a Value) -> Self {
        let said = |key: &str| text(item, key).unwrap_or_default();
        let status = said("status");
        match said("type") {
            "command_execution" => Self::CommandExecution {
                command: command::clean(said("command"), list(item, "command_actions")),
                exit_code: whole(item, "exit_code"),
                status,
                output: said("aggregated_output"),
            },
            "mcp_tool_call" => {
                let failed = !field(item, "error").is_null() || flag(field(item, "result"), "is_error") == Some(true);
                Self::McpToolCall { server: said("server"), tool: said("tool"), failed, status }
            }
            "file_change" => Self::FileChange { changes: list(item, "changes"), status },
            "web_search" => Self::WebSearch { query: said("query") },
            "todo_list" => Self::TodoList { items: list(item, "items") },
            "reasoning" => Self::Reasoning { text: said("text") },
            "plan" => Self::Plan { text: said("text") },
            // Older versions say assistant_message.
            "agent_message" | "assistant_message" => {
                Self::AgentMessage { text: said("text"), phase: text(item, "phase") }
            }
            "collab_tool_call" => Self::CollabToolCall { tool: said("tool"), prompt: words(item, "prompt"), status },
            "error" => Self::Error { message: said("message") },
            kind => Self::Other { kind },
        }
    }
}
