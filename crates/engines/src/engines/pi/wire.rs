//! The lines of `pi --mode json` and `pi --mode rpc`, in its own words. Reading never fails.

use serde_json::Value;

use crate::json::{field, flag, list, text, words};

pub enum PiLine<'a> {
    Session {
        id: Option<&'a str>,
    },
    ToolStart {
        id: &'a str,
        name: &'a str,
        args: &'a Value,
    },
    ToolEnd {
        id: &'a str,
        name: &'a str,
        result: &'a Value,
        is_error: bool,
    },
    MessageEnd(Message<'a>),
    /// A message begins; what it says comes in pieces.
    MessageStart,
    Says(&'a str),
    Thinks(&'a str),
    AgentEnd {
        last: Option<Message<'a>>,
        /// Newer versions say whether they try again.
        will_retry: Option<bool>,
    },
    /// It waits for the next prompt; only newer versions say so.
    AgentSettled,
    RetryStart {
        attempt: u64,
        of: Option<u64>,
        message: &'a str,
    },
    RetryEnd {
        success: bool,
        error: Option<&'a str>,
    },
    CompactionStart,
    Response {
        id: &'a str,
        command: &'a str,
        success: bool,
        error: Option<&'a str>,
        data: &'a Value,
    },
    ExtensionRequest {
        id: &'a str,
        method: &'a str,
        request: &'a Value,
    },
    ExtensionError {
        message: &'a str,
    },
    /// Something of the agent that needs no showing.
    Known,
    Unknown {
        kind: &'a str,
    },
}

pub struct Message<'a> {
    pub text: String,
    pub from_assistant: bool,
    pub from_people: bool,
    pub stop_reason: &'a str,
    pub error: Option<&'a str>,
    pub usage: &'a Value,
}

impl<'a> PiLine<'a> {
    pub fn read(line: &'a Value) -> Self {
        let said = |key: &str| text(line, key).unwrap_or_default();
        match said("type") {
            "session" => Self::Session { id: words(line, "id") },
            "tool_execution_start" => {
                Self::ToolStart { id: said("toolCallId"), name: said("toolName"), args: field(line, "args") }
            }
            "tool_execution_end" => Self::ToolEnd {
                id: said("toolCallId"),
                name: said("toolName"),
                result: field(line, "result"),
                is_error: flag(line, "isError").unwrap_or(false),
            },
            "message_end" => Self::MessageEnd(Message::read(field(line, "message"))),
            "agent_end" => {
                let messages = list(line, "messages").iter().rev().map(Message::read);
                let last = messages.into_iter().find(|message| message.from_assistant);
                Self::AgentEnd { last, will_retry: flag(line, "willRetry") }
            }
            "agent_settled" => Self::AgentSettled,
            "message_start" if text(field(line, "message"), "role") == Some("assistant") => Self::MessageStart,
            "message_update" => Self::piece(field(line, "assistantMessageEvent")),
            "auto_retry_start" => {
                let number = |key: &str| field(line, key).as_u64();
                let (attempt, of) = (number("attempt").unwrap_or(1), number("maxAttempts"));
                Self::RetryStart { attempt, of, message: said("errorMessage") }
            }
            "auto_retry_end" => {
                Self::RetryEnd { success: flag(line, "success").unwrap_or(true), error: words(line, "finalError") }
            }
            "auto_compaction_start" | "compaction_start" => Self::CompactionStart,
            "response" => Self::Response {
                id: said("id"),
                command: said("command"),
                success: flag(line, "success").unwrap_or(true),
                error: words(line, "error"),
                data: field(line, "data"),
            },
            "extension_ui_request" => Self::ExtensionRequest { id: said("id"), method: said("method"), request: line },
            "extension_error" => Self::ExtensionError { message: said("error") },
            "agent_start"
            | "turn_start"
            | "turn_end"
            | "message_start"
            | "tool_execution_update"
            | "queue_update"
            | "entry_appended"
            | "session_info_changed"
            | "thinking_level_changed"
            | "auto_compaction_end"
            | "compaction_end" => Self::Known,
            kind => Self::Unknown { kind },
        }
    }

    /// What a message that is being written says more.
    fn piece(event: &'a Value) -> Self {
        let delta = text(event, "delta").unwrap_or_default();
        match text(event, "type").unwrap_or_default() {
            "text_delta" => Self::Says(delta),
            "thinking_delta" => Self::Thinks(delta),
            _ => Self::Known,
        }
    }
}

impl<'a> Message<'a> {
    fn read(message: &'a Value) -> Self {
        let text_of = |block: &'a Value| text(block, "text").filter(|_| text(block, "type") == Some("text"));
        let joined = match field(message, "content") {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => blocks.iter().filter_map(text_of).collect(),
            _ => String::new(),
        };
        Self {
            text: joined,
            from_assistant: text(message, "role") == Some("assistant"),
            from_people: text(message, "role") == Some("user"),
            stop_reason: text(message, "stopReason").unwrap_or_default(),
            error: words(message, "errorMessage"),
            usage: field(message, "usage"),
        }
    }
}
