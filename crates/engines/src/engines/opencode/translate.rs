//! What opencode's lines mean.

use serde_json::Value;

use super::ID;
use super::wire::{Body, OpencodeLine, Tool};
use crate::engine::{Exit, Order, Output, SETTLE};
use crate::event::{Action, ActionEvent, ActionKind, Completed, Detail, EngineEvent, Phase, ResumeToken};
use crate::json::{copy, field, shortened};
use crate::tools::{self, Folder};

/// What must be remembered between lines.
pub struct State {
    folder: Folder,
    title: String,
    session: bool,
    answer: String,
    notes: usize,
    usage: Usage,
    step_finished: bool,
    /// An error that more may follow; it stands when nothing does.
    error: Option<String>,
}

#[derive(Default)]
struct Usage {
    cost: f64,
    input: u64,
    cached: u64,
    output: u64,
}

impl State {
    pub fn new(order: &Order<'_>) -> Self {
        let model = &order.settings.model;
        let title = if model.is_empty() { "opencode".to_owned() } else { model.clone() };
        Self {
            folder: Folder::new(order.folder),
            title,
            session: false,
            answer: String::new(),
            notes: 0,
            usage: Usage::default(),
            step_finished: false,
            error: None,
        }
    }

    pub fn answer(&self) -> &str {
        &self.answer
    }

    pub fn set_answer(&mut self, answer: String) {
        self.answer = answer;
    }

    fn note_id(&mut self) -> String {
        self.notes += 1;
        format!("opencode.note.{}", self.notes)
    }
}

pub fn translate(state: &mut State, line: &OpencodeLine<'_>, out: &mut Output) {
    if let Some(session) = line.session_id {
        started(state, session, out);
    }
    match &line.body {
        Body::Error(error) => {
            state.error = Some(error.clone());
            out.settle = Some(SETTLE);
            return;
        }
        // A heartbeat does not take an error back.
        Body::Other => {
            out.settle = state.error.is_some().then_some(SETTLE);
            return;
        }
        Body::Done => {
            settled(state, out);
            if state.step_finished {
                out.event(completed(state, true, None));
            }
            return;
        }
        Body::ToolUse(tool) => out.event(tool_event(state, tool)),
        Body::Text(text) => state.answer.push_str(text),
        Body::Reasoning { id, text } => {
            let action = Action::new(*id, ActionKind::Note, *text);
            out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(true)));
        }
        Body::StepFinish { reason, part } => step_finish(state, reason, part, out),
        Body::StepStart => {}
    }
    if let Some(error) = state.error.take() {
        // It went on after all.
        let id = state.note_id();
        out.event(EngineEvent::warning(&ID, id, error));
    }
}

pub fn started(state: &mut State, session: &str, out: &mut Output) {
    if !state.session {
        state.session = true;
        out.event(EngineEvent::started(ResumeToken::new(ID, session), Some(state.title.clone()), Detail::new()));
    }
}

/// Nothing followed an error, so it is the end.
pub fn settled(state: &mut State, out: &mut Output) {
    if let Some(error) = state.error.take() {
        out.event(completed(state, false, Some(error)));
    }
}

/// The process is gone and no end was said.
pub fn ended(state: &mut State, exit: &Exit, out: &mut Output) {
    let error = match state.error.take() {
        Some(error) => Some(exit.with_stderr(error)),
        None if !exit.is_success() => {
            let error = exit.failure("opencode");
            let id = state.note_id();
            out.event(EngineEvent::warning(&ID, id, shortened(&error, 1000)));
            Some(error)
        }
        None if !state.session => Some(exit.with_stderr("opencode finished but no session was captured".to_owned())),
        None if state.step_finished => None,
        None => Some(exit.with_stderr("opencode finished without a result event".to_owned())),
    };
    out.event(completed(state, error.is_none(), error));
}

pub fn tool_event(state: &State, tool: &Tool<'_>) -> EngineEvent {
    let mut action = tools::action(tool.call_id, tool.name, tool.input, &state.folder);
    if action.kind == ActionKind::Subagent {
        action.kind = ActionKind::Tool;
    }
    if let Some(title) = tool.title {
        let title = state.folder.command(title);
        // A bare path reads better as code.
        let bare = title.contains('/') && !title.contains(char::is_whitespace) && action.kind == ActionKind::Tool;
        action.title = if bare { format!("{}: `{title}`", tool.name) } else { title };
    }
    let (phase, ok, message) = match tool.status {
        "completed" => {
            if !tool.output.is_empty() {
                action = action.with("output_preview", shortened(tool.output, 500));
            }
            if let Some(exit) = tool.exit {
                action = action.with("exit_code", exit);
            }
            (Phase::Completed, Some(matches!(tool.exit, None | Some(0))), None)
        }
        "error" => (Phase::Completed, Some(false), tool.error.map(|error| shortened(error, 1000))),
        _ => (Phase::Started, None, None),
    };
    EngineEvent::Action(ActionEvent { engine: ID, action, phase, ok, message, level: None })
}

fn step_finish(state: &mut State, reason: &str, part: &Value, out: &mut Output) {
    state.step_finished = true;
    count(state, part);
    if reason == "stop" {
        out.event(completed(state, true, None));
    }
}

/// Costs and tokens are told per step; people want the sum.
pub fn count(state: &mut State, part: &Value) {
    let tokens = field(part, "tokens");
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
    state.usage.cost += part.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
    state.usage.input += number(tokens, "input");
    state.usage.output += number(tokens, "output");
    state.usage.cached += number(field(tokens, "cache"), "read");
}

pub fn completed(state: &mut State, ok: bool, error: Option<String>) -> EngineEvent {
    let counted = std::mem::take(&mut state.usage);
    let mut usage = Detail::new();
    if counted.input + counted.output > 0 {
        let all = serde_json::json!({
            "input_tokens": counted.input,
            "cached_input_tokens": counted.cached,
            "output_tokens": counted.output,
            "total_cost_usd": (counted.cost > 0.0).then_some(counted.cost),
        });
        let names = ["input_tokens", "cached_input_tokens", "output_tokens", "total_cost_usd"];
        copy(&all, &names.map(|name| (name, name)), &mut usage);
    }
    let answer = state.answer.trim().to_owned();
    EngineEvent::Completed(Completed { engine: ID, ok, answer, resume: None, error, usage })
}
