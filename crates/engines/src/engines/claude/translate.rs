//! What claude's lines mean.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;

use super::ID;
use super::wire::{Block, Body, ClaudeLine, Outcome};
use crate::engine::{Exit, Output};
use crate::event::{Action, ActionKind, Completed, Detail, EngineEvent, Phase, ResumeToken};
use crate::json::{copy, message, shortened, text, words};
use crate::tools::{self, Folder};

/// What must be remembered between lines.
pub struct State {
    folder: Folder,
    session: bool,
    open: HashMap<String, (ActionKind, String)>,
    last_text: String,
    thoughts: usize,
    notes: usize,
}

impl State {
    pub fn new(folder: &Path) -> Self {
        let folder = Folder::new(folder);
        Self { folder, session: false, open: HashMap::new(), last_text: String::new(), thoughts: 0, notes: 0 }
    }

    pub fn last_text(&self) -> &str {
        &self.last_text
    }

    /// A new prompt has no answer yet.
    pub fn forget_answer(&mut self) {
        self.last_text.clear();
    }

    fn note_id(&mut self) -> String {
        self.notes += 1;
        format!("claude.note.{}", self.notes)
    }
}

pub fn translate(state: &mut State, line: &ClaudeLine<'_>, out: &mut Output) {
    if let Some(session) = line.session_id
        && !state.session
    {
        state.session = true;
        out.event(started(session, &line.body));
    }
    match &line.body {
        Body::Assistant { content, parent } => {
            for block in content {
                said(state, block, *parent, out);
            }
        }
        Body::User { content } => {
            for block in content {
                if let Block::ToolResult { tool_use_id, content, is_error } = block {
                    tool_result(state, tool_use_id, content, *is_error, out);
                }
            }
        }
        Body::Result(outcome) => result(state, outcome, out),
        Body::ControlResponse { error: Some(error) } => {
            let id = state.note_id();
            out.event(EngineEvent::warning(&ID, id, *error));
        }
        _ => {}
    }
}

/// The process is gone and no result came.
pub fn ended(state: &mut State, exit: &Exit, out: &mut Output) {
    let error = if !exit.is_success() {
        let error = exit.failure("claude");
        let id = state.note_id();
        out.event(EngineEvent::warning(&ID, id, shortened(&error, 1000)));
        error
    } else if state.session {
        exit.with_stderr("claude finished without a result event".to_owned())
    } else {
        exit.with_stderr("claude finished but no session was captured".to_owned())
    };
    out.event(completed(state.last_text.clone(), false, Some(error), Detail::new()));
}

fn started(session: &str, body: &Body<'_>) -> EngineEvent {
    let mut meta = Detail::new();
    let mut title = None;
    if let Body::Init { model, line } = body {
        title = model.map(str::to_owned);
        let names = ["model", "cwd", "permissionMode", "apiKeySource", "claude_code_version"];
        copy(line, &names.map(|name| (name, name)), &mut meta);
    }
    EngineEvent::started(ResumeToken::new(ID, session), title, meta)
}

fn said(state: &mut State, block: &Block<'_>, parent: Option<&str>, out: &mut Output) {
    match block {
        Block::Text(text) if parent.is_none() && !text.trim().is_empty() => state.last_text = (*text).to_owned(),
        Block::Thinking(text) if !text.trim().is_empty() => {
            state.thoughts += 1;
            let action = Action::new(format!("claude.thinking.{}", state.thoughts), ActionKind::Note, *text);
            out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(true)));
        }
        Block::ToolUse { id, name, input } => {
            let mut action = tools::action(id, name, input, &state.folder).with("name", *name);
            if input.to_string().len() <= 2000 {
                action = action.with("input", (*input).clone());
            }
            if let Some(parent) = parent {
                action = action.with("parent_tool_use_id", parent);
            }
            state.open.insert((*id).to_owned(), (action.kind.clone(), action.title.clone()));
            out.event(EngineEvent::action(&ID, action, Phase::Started, None));
        }
        Block::ToolResult { tool_use_id, content, is_error } => {
            tool_result(state, tool_use_id, content, *is_error, out);
        }
        _ => {}
    }
}

fn tool_result(state: &mut State, id: &str, content: &Value, is_error: bool, out: &mut Output) {
    let known = state.open.remove(id);
    let (kind, title) = known.unwrap_or_else(|| (ActionKind::Tool, "tool result".to_owned()));
    let mut action = Action::new(id, kind, title);
    let preview = plain(content);
    if !preview.is_empty() {
        action = action.with("output_preview", shortened(&preview, 500));
    }
    out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(!is_error)));
}

/// The text of a tool's result, which is a text or a list of blocks.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => shortened(text, 500),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| text(block, "text").or_else(|| block.as_str()));
            texts.take(8).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn result(state: &mut State, outcome: &Outcome<'_>, out: &mut Output) {
    for denied in outcome.denials {
        let tool = words(denied, "tool_name").unwrap_or("a tool");
        let id = state.note_id();
        out.event(EngineEvent::warning(&ID, id, format!("permission for {tool} was denied")));
    }
    let ok = !outcome.is_error;
    let said = outcome.result.trim();
    let errors = || outcome.errors.iter().filter_map(message).collect::<Vec<_>>().join("\n");
    let answer = if said.is_empty() && ok { state.last_text.clone() } else { outcome.result.to_owned() };
    let error = (!ok).then(|| {
        let errors = errors();
        match (said, errors.as_str()) {
            ("", "") => format!("claude run failed ({})", outcome.subtype),
            ("", errors) => errors.to_owned(),
            (said, _) => said.to_owned(),
        }
    });
    let answer = if ok { answer } else { state.last_text.clone() };
    out.event(completed(answer, ok, error, usage(outcome.line)));
}

fn usage(line: &Value) -> Detail {
    let mut usage = Detail::new();
    let names = ["total_cost_usd", "duration_ms", "duration_api_ms", "num_turns"];
    copy(line, &names.map(|name| (name, name)), &mut usage);
    let counts = [
        ("input_tokens", "input_tokens"),
        ("cache_read_input_tokens", "cached_input_tokens"),
        ("cache_creation_input_tokens", "cache_creation_input_tokens"),
        ("output_tokens", "output_tokens"),
    ];
    if let Some(counted) = line.get("usage") {
        copy(counted, &counts, &mut usage);
    }
    usage
}

fn completed(answer: String, ok: bool, error: Option<String>, usage: Detail) -> EngineEvent {
    EngineEvent::Completed(Completed { engine: ID, ok, answer, resume: None, error, usage })
}
