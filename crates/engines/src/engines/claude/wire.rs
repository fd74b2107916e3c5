//! The lines of `claude --output-format stream-json`, in its own words. Reading never fails.

use serde_json::Value;

use crate::json::{field, flag, list, text, words};

pub struct ClaudeLine<'a> {
    /// Every line may name its session.
    pub session_id: Option<&'a str>,
    pub body: Body<'a>,
}

pub enum Body<'a> {
    Init { model: Option<&'a str>, line: &'a Value },
    Assistant { content: Vec<Block<'a>>, parent: Option<&'a str> },
    User { content: Vec<Block<'a>> },
    Result(Outcome<'a>),
    ControlRequest { request_id: &'a str, request: &'a Value },
    ControlCancel { request_id: &'a str },
    ControlResponse { error: Option<&'a str> },
    Other,
}

pub enum Block<'a> {
    Text(&'a str),
    Thinking(&'a str),
    ToolUse { id: &'a str, name: &'a str, input: &'a Value },
    ToolResult { tool_use_id: &'a str, content: &'a Value, is_error: bool },
    Other,
}

pub struct Outcome<'a> {
    pub subtype: &'a str,
    pub is_error: bool,
    pub result: &'a str,
    pub errors: &'a [Value],
    pub denials: &'a [Value],
    pub line: &'a Value,
}

impl<'a> ClaudeLine<'a> {
    pub fn read(line: &'a Value) -> Self {
        Self { session_id: words(line, "session_id"), body: Body::read(line) }
    }
}

impl<'a> Body<'a> {
    fn read(line: &'a Value) -> Self {
        let said = |key: &str| text(line, key).unwrap_or_default();
        match said("type") {
            "system" if said("subtype") == "init" => Self::Init { model: words(line, "model"), line },
            "assistant" => Self::Assistant { content: blocks(line), parent: text(line, "parent_tool_use_id") },
            "user" => Self::User { content: blocks(line) },
            "result" => Self::Result(Outcome {
                subtype: said("subtype"),
                is_error: flag(line, "is_error").unwrap_or(said("subtype").starts_with("error")),
                result: said("result"),
                errors: list(line, "errors"),
                denials: list(line, "permission_denials"),
                line,
            }),
            "control_request" => {
                Self::ControlRequest { request_id: said("request_id"), request: field(line, "request") }
            }
            "control_cancel_request" => Self::ControlCancel { request_id: said("request_id") },
            "control_response" => Self::ControlResponse { error: text(field(line, "response"), "error") },
            _ => Self::Other,
        }
    }
}

fn blocks(line: &Value) -> Vec<Block<'_>> {
    match field(field(line, "message"), "content") {
        Value::String(text) => vec![Block::Text(text)],
        Value::Array(blocks) => blocks.iter().map(Block::read).collect(),
        _ => Vec::new(),
    }
}

impl<'a> Block<'a> {
    fn read(block: &'a Value) -> Self {
        let said = |key: &str| text(block, key).unwrap_or_default();
        match said("type") {
            "text" => Self::Text(said("text")),
            "thinking" => Self::Thinking(said("thinking")),
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                Self::ToolUse { id: said("id"), name: said("name"), input: field(block, "input") }
            }
            // advisor_tool_result, web_search_tool_result and whatever comes next.
            kind if kind == "tool_result" || kind.ends_with("_tool_result") => Self::ToolResult {
                tool_use_id: said("tool_use_id"),
                content: field(block, "content"),
                is_error: flag(block, "is_error").unwrap_or(false),
            },
            _ => Self::Other,
        }
    }
}
