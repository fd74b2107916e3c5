//! What codex' lines mean.

use serde_json::{Value, json};

use super::ID;
use super::wire::{CodexLine, Item};
use crate::engine::{Exit, Order, Output};
use crate::event::{Action, ActionKind, Completed, Detail, EngineEvent, Phase, ResumeToken};
use crate::json::{copy, flag, shortened, text, words};
use crate::tools::Folder;

/// What must be remembered between lines.
pub struct State {
    folder: Folder,
    title: String,
    turns: usize,
    notes: usize,
    thread: bool,
    final_answer: Option<String>,
    last_message: String,
}

impl State {
    pub fn new(order: &Order<'_>) -> Self {
        let title = order.settings.own_text("profile").unwrap_or("Codex").to_owned();
        Self {
            folder: Folder::new(order.folder),
            title,
            turns: 0,
            notes: 0,
            thread: false,
            final_answer: None,
            last_message: String::new(),
        }
    }

    pub fn answer(&self) -> String {
        self.final_answer.clone().unwrap_or_else(|| self.last_message.clone())
    }

    fn note_id(&mut self) -> String {
        self.notes += 1;
        format!("codex.note.{}", self.notes)
    }
}

pub fn translate(state: &mut State, line: &CodexLine<'_>, out: &mut Output) {
    match line {
        CodexLine::ThreadStarted { thread_id: Some(id) } => {
            state.thread = true;
            out.event(EngineEvent::started(ResumeToken::new(ID, *id), Some(state.title.clone()), Detail::new()));
        }
        CodexLine::TurnStarted => turn_started(state, out),
        CodexLine::TurnCompleted { usage } => out.event(completed(state, true, None, usage_of(usage))),
        CodexLine::TurnFailed { error } => {
            let error = error.clone().unwrap_or_else(|| "the turn failed".to_owned());
            out.event(completed(state, false, Some(error), Detail::new()));
        }
        CodexLine::Item { phase, id, item } => item_event(state, *phase, id, item, out),
        CodexLine::Error { message } => error(state, message, out),
        CodexLine::RequestUserInput { id, questions } => {
            let asked =
                questions.iter().filter_map(|question| words(question, "question")).collect::<Vec<_>>().join(" ");
            let action = Action::new(*id, ActionKind::Note, format!("ask user: {asked}"));
            out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(false)));
        }
        CodexLine::ThreadStarted { thread_id: None } | CodexLine::Other => {}
    }
}

/// The process is gone and no turn was completed.
pub fn ended(state: &mut State, exit: &Exit, out: &mut Output) {
    if !exit.is_success() {
        let error = exit.failure("codex exec");
        out.event(EngineEvent::warning(&ID, state.note_id(), shortened(&error, 1000)));
        out.event(completed(state, false, Some(error), Detail::new()));
    } else if state.thread {
        out.event(completed(state, true, None, Detail::new()));
    } else {
        let error = exit.with_stderr("codex finished but no session was captured".to_owned());
        out.event(completed(state, false, Some(error), Detail::new()));
    }
}

fn turn_started(state: &mut State, out: &mut Output) {
    state.final_answer = None;
    state.last_message.clear();
    let action = Action::new(format!("turn_{}", state.turns), ActionKind::Turn, "turn started");
    state.turns += 1;
    out.event(EngineEvent::action(&ID, action, Phase::Started, None));
}

fn completed(state: &State, ok: bool, error: Option<String>, usage: Detail) -> EngineEvent {
    EngineEvent::Completed(Completed { engine: ID, ok, answer: state.answer(), resume: None, error, usage })
}

pub fn usage_of(usage: &Value) -> Detail {
    let mut kept = Detail::new();
    let names = ["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"];
    copy(usage, &names.map(|name| (name, name)), &mut kept);
    kept
}

fn error(state: &mut State, message: &str, out: &mut Output) {
    if let Some(attempt) = message.strip_prefix("Reconnecting...") {
        let first = attempt.trim().split('/').next().and_then(|number| number.parse().ok()).is_none_or(|n: u32| n <= 1);
        let phase = if first { Phase::Started } else { Phase::Updated };
        out.event(EngineEvent::action(&ID, Action::new("codex.reconnect", ActionKind::Note, message), phase, None));
        return;
    }
    let id = state.note_id();
    out.event(EngineEvent::warning(&ID, id, message));
}

fn item_event(state: &mut State, phase: Phase, id: &str, item: &Item<'_>, out: &mut Output) {
    let done = phase == Phase::Completed;
    let good = |status: &str| status.is_empty() || status == "completed";
    let (action, ok) = match item {
        Item::CommandExecution { command, exit_code, status, output } => {
            let mut action = Action::new(id, ActionKind::Command, state.folder.command(command));
            if done {
                copy(
                    &json!({"exit_code": exit_code, "status": status}),
                    &[("exit_code", "exit_code"), ("status", "status")],
                    &mut action.detail,
                );
                if !output.is_empty() {
                    action = action.with("output_preview", shortened(output, 500));
                }
            }
            (action, good(status) && matches!(exit_code, None | Some(0)))
        }
        Item::McpToolCall { server, tool, failed, status } => {
            (Action::new(id, ActionKind::Tool, format!("{server}.{tool}")), good(status) && !failed)
        }
        Item::FileChange { changes, status } if done => (file_change(state, id, changes), good(status)),
        Item::WebSearch { query } => (Action::new(id, ActionKind::WebSearch, *query), true),
        Item::TodoList { items } => (Action::new(id, ActionKind::Note, todo_title(items)), true),
        Item::Reasoning { text } | Item::Plan { text } => (Action::new(id, ActionKind::Note, *text), true),
        Item::AgentMessage { text, phase: Some("commentary") } => (Action::new(id, ActionKind::Note, *text), true),
        Item::AgentMessage { text, phase } => {
            message(state, text, *phase);
            return;
        }
        Item::CollabToolCall { tool, prompt, status } => {
            let action = Action::new(id, ActionKind::Subagent, shortened(prompt.unwrap_or(tool), 300));
            (action, !["failed", "errored"].contains(status))
        }
        Item::Error { message } if done => {
            out.event(EngineEvent::warning(&ID, id, *message));
            return;
        }
        Item::Other { kind } if !kind.is_empty() => (Action::new(id, ActionKind::Note, *kind), true),
        Item::FileChange { .. } | Item::Error { .. } | Item::Other { .. } => return,
    };
    out.event(EngineEvent::action(&ID, action, phase, done.then_some(ok)));
}

fn message(state: &mut State, text: &str, phase: Option<&str>) {
    if phase == Some("final_answer") {
        state.final_answer = Some(text.to_owned());
    } else {
        state.last_message = text.to_owned();
    }
}

fn file_change(state: &State, id: &str, changes: &[Value]) -> Action {
    let paths: Vec<&str> =
        changes.iter().filter_map(|change| text(change, "path")).map(|path| state.folder.path(path)).collect();
    let title = if paths.is_empty() { "files".to_owned() } else { paths.join(", ") };
    let kept = changes.iter().filter_map(|change| {
        let kind = text(change, "kind").or_else(|| text(change.get("kind")?, "type")).unwrap_or("update");
        Some(json!({"path": state.folder.path(text(change, "path")?), "kind": kind}))
    });
    Action::new(id, ActionKind::FileChange, title).with("changes", kept.collect::<Vec<_>>())
}

fn todo_title(items: &[Value]) -> String {
    let done = items.iter().filter(|item| flag(item, "completed") == Some(true)).count();
    let next = items.iter().find(|item| flag(item, "completed") != Some(true));
    match next.and_then(|item| text(item, "text")) {
        Some(next) => format!("todo {done}/{}: {next}", items.len()),
        None => format!("todo {done}/{}: done", items.len()),
    }
}
