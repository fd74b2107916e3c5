//! What codex' lines mean.

use serde_json::{Value, json};

use super::wire::{CodexLine, Item};
use super::{ID, LOGIN};
use crate::engine::{Exit, Order, Output, Piece};
use crate::engines::trouble;
use crate::event::{Action, ActionKind, Completed, Detail, EngineEvent, Phase, ResumeToken};
use crate::json::{copy, flag, shortened, text, whole, words};
use crate::tools::Folder;

/// What must be remembered between lines.
pub struct State {
    folder: Folder,
    title: String,
    turns: usize,
    notes: usize,
    thread: bool,
    /// What was spent before this run, because `exec` counts the whole conversation; `None`: nobody knows.
    before: Option<Value>,
    /// Answers of turns of this run that are over.
    earlier: Vec<String>,
    final_answer: Option<String>,
    last_message: String,
    /// The message that it is writing, as far as it came.
    partial: String,
    retrying: bool,
    /// An error that the end of the turn may say again.
    held: Option<String>,
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
            before: Some(Value::Null),
            earlier: Vec::new(),
            final_answer: None,
            last_message: String::new(),
            partial: String::new(),
            retrying: false,
            held: None,
        }
    }

    /// All that was answered, with the message that is not finished.
    pub fn answer(&self) -> String {
        let whole = self.final_answer.as_ref().unwrap_or(&self.last_message);
        let newest = if self.partial.trim().is_empty() { whole } else { &self.partial };
        let all = self.earlier.iter().chain([newest]).filter(|text| !text.is_empty());
        all.map(String::as_str).collect::<Vec<_>>().join("\n\n")
    }

    pub fn counting_from(self, before: Option<Value>) -> Self {
        Self { before, ..self }
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// A new run has no answer yet.
    pub fn begin(&mut self) {
        self.earlier.clear();
        self.forget();
    }

    /// Another turn of the same run follows: what was answered stays answered.
    pub fn keep_answer(&mut self) {
        let answered = self.answer();
        self.forget();
        self.earlier = vec![answered];
    }

    fn forget(&mut self) {
        (self.final_answer, self.held, self.retrying) = (None, None, false);
        self.last_message.clear();
        self.partial.clear();
    }

    fn note_id(&mut self) -> String {
        self.notes += 1;
        format!("codex.note.{}", self.notes)
    }
}

pub fn translate(state: &mut State, line: &CodexLine<'_>, out: &mut Output) {
    if let CodexLine::TurnFailed { error } = line {
        state.held.take_if(|held| error.as_ref() == Some(held));
    }
    warn_of_held(state, out);
    match line {
        CodexLine::ThreadStarted { thread_id: Some(id) } => {
            state.thread = true;
            out.event(EngineEvent::started(ResumeToken::new(ID, *id), Some(state.title.clone()), Detail::new()));
        }
        CodexLine::TurnStarted => turn_started(state, out),
        CodexLine::TurnCompleted { usage } => {
            going_on(state, out);
            let usage = state.before.as_ref().map(|before| less(usage_of(usage), before)).unwrap_or_default();
            out.event(completed(state, true, None, usage));
        }
        CodexLine::TurnFailed { error } => {
            let error = error.as_deref().map(|error| trouble::told(error, None, LOGIN));
            let error = error.unwrap_or_else(|| "the turn failed".to_owned());
            out.event(completed(state, false, Some(error), Detail::new()));
        }
        CodexLine::Item { phase, id, item } => item_event(state, *phase, id, item, out),
        CodexLine::Error { message } => match reconnecting(message) {
            Some((attempt, of, why)) => retrying(state, why, attempt, of, out),
            None => state.held = Some((*message).to_owned()),
        },
        CodexLine::RequestUserInput { id, questions } => {
            let asked =
                questions.iter().filter_map(|question| words(question, "question")).collect::<Vec<_>>().join(" ");
            let action = Action::new(*id, ActionKind::Note, format!("ask user: {asked}"));
            out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(false)));
        }
        CodexLine::Unknown { kind } => out.unknown(*kind),
        CodexLine::ThreadStarted { thread_id: None } | CodexLine::Known => {}
    }
}

/// More of the message that it is writing.
pub fn says(state: &mut State, piece: &str, out: &mut Output) {
    going_on(state, out);
    state.partial.push_str(piece);
    out.say(piece);
}

/// The process is gone and no turn was completed.
pub fn ended(state: &mut State, exit: &Exit, out: &mut Output) {
    warn_of_held(state, out);
    if !exit.is_success() {
        let error = failure(exit);
        out.event(EngineEvent::warning(&ID, state.note_id(), shortened(&error, 1000)));
        out.event(completed(state, false, Some(error), Detail::new()));
    } else if state.thread {
        out.event(completed(state, true, None, Detail::new()));
    } else {
        let error = exit.with_stderr("codex finished but no session was captured".to_owned());
        out.event(completed(state, false, Some(error), Detail::new()));
    }
}

/// What codex says of it, without its warnings and stacks.
fn failure(exit: &Exit) -> String {
    let said = exit.stderr.lines().find_map(|line| line.strip_prefix("Error: "));
    let lost = said.and_then(|said| said.split_once("no rollout found for thread id ")).map(|(_, id)| id);
    match (lost.and_then(|rest| rest.split_whitespace().next()), said) {
        (Some(id), _) => format!("codex has no session {id}\nhint: begin a new one, without the resume line"),
        (None, Some(said)) => trouble::told(said, None, LOGIN),
        (None, None) => exit.failure("codex exec"),
    }
}

fn turn_started(state: &mut State, out: &mut Output) {
    state.forget();
    let action = Action::new(format!("turn_{}", state.turns), ActionKind::Turn, "turn started");
    state.turns += 1;
    out.event(EngineEvent::action(&ID, action, Phase::Started, None));
}

fn completed(state: &State, ok: bool, error: Option<String>, usage: Detail) -> EngineEvent {
    EngineEvent::Completed(Completed { engine: ID, ok, answer: state.answer(), resume: None, error, usage })
}

fn usage_of(usage: &Value) -> Detail {
    let mut kept = Detail::new();
    let names = ["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"];
    copy(usage, &names.map(|name| (name, name)), &mut kept);
    kept
}

fn less(mut usage: Detail, before: &Value) -> Detail {
    for (name, count) in &mut usage {
        if let (Some(all), Some(before)) = (count.as_i64(), whole(before, name)) {
            *count = (all - before).into();
        }
    }
    usage
}

/// `Reconnecting... 2/5 (why)`: which attempt, of how many, and why.
fn reconnecting(message: &str) -> Option<(u64, Option<u64>, &str)> {
    let rest = message.strip_prefix("Reconnecting...")?.trim();
    let (count, why) = rest.split_once(' ').unwrap_or((rest, ""));
    let (attempt, of) = count.split_once('/').unwrap_or((count, ""));
    let why = why.trim().strip_prefix('(').and_then(|why| why.strip_suffix(')')).unwrap_or(why);
    Some((attempt.parse().unwrap_or(1), of.parse().ok(), why))
}

/// The app server says why in another place than the number of the attempt.
pub fn reconnects(state: &mut State, message: &str, why: Option<&str>, out: &mut Output) {
    let (attempt, of, said) = reconnecting(message).unwrap_or((1, None, message));
    retrying(state, why.unwrap_or(said), attempt, of, out);
}

fn retrying(state: &mut State, why: &str, attempt: u64, of: Option<u64>, out: &mut Output) {
    state.retrying = true;
    let why = if why.is_empty() { "the connection to the model broke" } else { why };
    out.event(EngineEvent::retrying(&ID, trouble::retrying(why, attempt, of)));
}

fn going_on(state: &mut State, out: &mut Output) {
    if std::mem::take(&mut state.retrying) {
        out.event(EngineEvent::going_on(&ID, "the model answers again"));
    }
}

/// An error that was not the end of the turn.
fn warn_of_held(state: &mut State, out: &mut Output) {
    if let Some(message) = state.held.take() {
        warn(state, message, out);
    }
}

pub fn warn(state: &mut State, message: String, out: &mut Output) {
    let id = state.note_id();
    out.event(EngineEvent::warning(&ID, id, message));
}

fn item_event(state: &mut State, phase: Phase, id: &str, item: &Item<'_>, out: &mut Output) {
    let done = phase == Phase::Completed;
    if done {
        going_on(state, out);
    }
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
        Item::AgentMessage { .. } if !done => return message_begins(state, out),
        Item::AgentMessage { text, phase } => {
            message(state, text, *phase, out);
            if *phase != Some("commentary") {
                return;
            }
            (Action::new(id, ActionKind::Note, *text), true)
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

/// One that was not finished will not be: its connection broke, or it was given something else to say.
fn message_begins(state: &mut State, out: &mut Output) {
    if !state.partial.is_empty() {
        state.partial.clear();
        out.pieces.push(Piece::Break);
    }
}

fn message(state: &mut State, text: &str, phase: Option<&str>, out: &mut Output) {
    if std::mem::take(&mut state.partial).is_empty() && !text.is_empty() {
        out.say(text);
    }
    out.pieces.push(Piece::Break);
    match phase {
        Some("commentary") => {}
        Some("final_answer") => state.final_answer = Some(text.to_owned()),
        _ => text.clone_into(&mut state.last_message),
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
