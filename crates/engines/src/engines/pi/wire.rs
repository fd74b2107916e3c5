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
    AgentEnd {
        last: Option<Message<'a>>,
    },
    RetryStart {
        attempt: &'a Value,
        message: &'a str,
    },
    RetryEnd {
        success: bool,
        error: Option<&'a str>,
    },
    CompactionStart,
    Response {
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
    /// Something of the agent that needs no showing.
    Known,
    Other,
}

pub struct Message<'a> {
    pub text: String,
    pub from_assistant: bool,
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
                Self::AgentEnd { last: messages.into_iter().find(|message| message.from_assistant) }
            }
            "auto_retry_start" => Self::RetryStart { attempt: field(line, "attempt"), message: said("errorMessage") },
            "auto_retry_end" => {
                Self::RetryEnd { success: flag(line, "success").unwrap_or(true), error: words(line, "finalError") }
            }
            "auto_compaction_start" | "compaction_start" => Self::CompactionStart,
            "response" => Self::Response {
                command: said("command"),
                success: flag(line, "success").unwrap_or(true),
                error: words(line, "error"),
                data: field(line, "data"),
            },
            "extension_ui_request" => Self::ExtensionRequest { id: said("id"), method: said("method"), request: line },
            "agent_start"
            | "turn_start"
            | "turn_end"
            | "message_start"
            | "message_update"
            | "tool_execution_update"
            | "auto_compaction_end"
            | "compaction_end" => Self::Known,
            _ => Self::Other,
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
            stop_reason: text(message, "stopReason").unwrap_or_default(),
            error: words(message, "errorMessage"),
            usage: field(message, "usage"),
        }
    }
}
