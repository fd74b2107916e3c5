//! What pi's lines mean.

use std::collections::HashMap;

use serde_json::Value;

use super::ID;
use super::wire::{Message, PiLine};
use crate::engine::{Exit, Order, Output, SETTLE};
use crate::event::{Action, ActionKind, Completed, Detail, EngineEvent, Phase, ResumeToken};
use crate::json::{field, list, shortened, text};
use crate::tools::{self, Folder};

/// What must be remembered between lines.
pub struct State {
    folder: Folder,
    title: Option<String>,
    /// The session as we named it at the start.
    session: String,
    resumed: bool,
    started: bool,
    open: HashMap<String, (ActionKind, String)>,
    answer: String,
    error: Option<String>,
    /// The agent ended with an error that it may try again.
    failed: bool,
    usage: (u64, u64, u64, f64),
    notes: usize,
}

impl State {
    pub fn new(order: &Order<'_>, session: String) -> Self {
        let model = &order.settings.model;
        Self {
            folder: Folder::new(order.folder),
            title: (!model.is_empty()).then(|| model.clone()),
            session,
            resumed: order.resume.is_some(),
            started: false,
            open: HashMap::new(),
            answer: String::new(),
            error: None,
            failed: false,
            usage: (0, 0, 0, 0.0),
            notes: 0,
        }
    }

    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// A new prompt has no answer and no error yet.
    pub fn begin_turn(&mut self) {
        self.answer.clear();
        self.error = None;
        self.failed = false;
    }

    pub fn note_id(&mut self) -> String {
        self.notes += 1;
        format!("pi.note.{}", self.notes)
    }
}

pub fn translate(state: &mut State, line: &PiLine<'_>, out: &mut Output) {
    match line {
        PiLine::Session { id } => started(state, *id, out),
        PiLine::Other | PiLine::Response { .. } | PiLine::ExtensionRequest { .. } => {
            out.settle = state.failed.then_some(SETTLE)
        }
        line => {
            // Whatever comes first shows that the session exists.
            started(state, None, out);
            happened(state, line, out);
        }
    }
}

fn happened(state: &mut State, line: &PiLine<'_>, out: &mut Output) {
    match line {
        PiLine::ToolStart { id, name, args } => {
            let action = tools::action(id, name, args, &state.folder);
            state.open.insert((*id).to_owned(), (action.kind.clone(), action.title.clone()));
            out.event(EngineEvent::action(&ID, action, Phase::Started, None));
        }
        PiLine::ToolEnd { id, name, result, is_error } => tool_end(state, id, name, result, *is_error, out),
        PiLine::MessageEnd(message) => message_end(state, message, true),
        PiLine::AgentEnd { last } => agent_end(state, last.as_ref(), out),
        PiLine::RetryStart { attempt, message } => {
            state.failed = false;
            state.error = None;
            let title = format!("retry {attempt}: {message}");
            let id = state.note_id();
            out.event(EngineEvent::action(&ID, Action::new(id, ActionKind::Note, title), Phase::Completed, Some(true)));
        }
        PiLine::RetryEnd { success: false, error } => {
            if let Some(error) = error {
                state.error = Some((*error).to_owned());
            }
            state.failed = true;
            settled(state, out);
        }
        PiLine::CompactionStart => {
            let id = state.note_id();
            out.event(EngineEvent::action(
                &ID,
                Action::new(id, ActionKind::Note, "compacting"),
                Phase::Completed,
                Some(true),
            ));
        }
        _ => {}
    }
}

/// The thread is known: by the id of the header, else by the name that we gave.
pub fn started(state: &mut State, id: Option<&str>, out: &mut Output) {
    if state.started {
        return;
    }
    state.started = true;
    let value = match id {
        Some(id) if !state.resumed => short(id).to_owned(),
        _ => state.session.clone(),
    };
    out.event(EngineEvent::started(ResumeToken::new(ID, value), state.title.clone(), Detail::new()));
}

/// pi takes the beginning of an id for the whole.
fn short(id: &str) -> &str {
    match id.split_once('-') {
        Some((head, _)) if !head.is_empty() => head,
        _ => id.char_indices().nth(8).map_or(id, |(at, _)| &id[..at]),
    }
}

fn tool_end(state: &mut State, id: &str, name: &str, result: &Value, is_error: bool, out: &mut Output) {
    let known = state.open.remove(id);
    let (kind, title) = known.unwrap_or_else(|| (ActionKind::Tool, name.to_owned()));
    let mut action = Action::new(id, kind, title);
    let said =
        list(result, "content").iter().filter_map(|block| text(block, "text")).take(8).collect::<Vec<_>>().join("\n");
    if !said.is_empty() {
        action = action.with("output_preview", shortened(&said, 500));
    }
    out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(!is_error)));
}

fn message_end(state: &mut State, message: &Message<'_>, counts: bool) {
    if !message.from_assistant {
        return;
    }
    if !message.text.trim().is_empty() {
        state.answer = message.text.clone();
    }
    // A later message without an error takes an earlier error back.
    state.error = match message.stop_reason {
        reason @ ("error" | "aborted") => Some(message.error.map_or_else(|| format!("pi run {reason}"), str::to_owned)),
        _ => None,
    };
    if counts {
        let number = |key: &str| message.usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (input, output, cached, cost) = &mut state.usage;
        *input += number("input");
        *output += number("output");
        *cached += number("cacheRead");
        *cost += field(message.usage, "cost").get("total").and_then(Value::as_f64).unwrap_or(0.0);
    }
}

fn agent_end(state: &mut State, last: Option<&Message<'_>>, out: &mut Output) {
    if let Some(message) = last {
        message_end(state, message, false);
    }
    if state.error.is_some() {
        // A retry may follow; then this was not the end.
        state.failed = true;
        out.settle = Some(SETTLE);
    } else {
        out.event(completed(state, None));
    }
}

/// No retry followed.
pub fn settled(state: &mut State, out: &mut Output) {
    if std::mem::take(&mut state.failed) {
        let error = state.error.take().unwrap_or_else(|| "pi failed".to_owned());
        out.event(completed(state, Some(error)));
    }
}

/// The process is gone and no end was said.
pub fn ended(state: &mut State, exit: &Exit, out: &mut Output) {
    let error = match state.error.take() {
        Some(error) => exit.with_stderr(error),
        None if !exit.is_success() => {
            let error = exit.failure("pi");
            let id = state.note_id();
            out.event(EngineEvent::warning(&ID, id, shortened(&error, 1000)));
            error
        }
        None => exit.with_stderr("pi finished without an agent_end event".to_owned()),
    };
    out.event(completed(state, Some(error)));
}

pub fn completed(state: &mut State, error: Option<String>) -> EngineEvent {
    let (input, output, cached, cost) = std::mem::take(&mut state.usage);
    let mut usage = Detail::new();
    if input + output > 0 {
        usage.insert("input_tokens".into(), input.into());
        usage.insert("cached_input_tokens".into(), cached.into());
        usage.insert("output_tokens".into(), output.into());
    }
    if cost > 0.0 {
        usage.insert("total_cost_usd".into(), cost.into());
    }
    EngineEvent::Completed(Completed {
        engine: ID,
        ok: error.is_none(),
        answer: state.answer.clone(),
        resume: None,
        error,
        usage,
    })
}
