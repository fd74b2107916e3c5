//! What opencode's lines mean.

use std::time::Duration;

use serde_json::Value;

use super::ID;
use super::wire::{Body, OpencodeLine, Tool};
use crate::engine::{Exit, Order, Output, Piece, SETTLE};
use crate::event::{Action, ActionEvent, ActionKind, Completed, Detail, EngineEvent, Phase, ResumeToken};
use crate::json::{copy, field, shortened};
use crate::tools::{self, Folder};

/// How a tool ends that `opencode run` asks about: it answers its own question, with no.
const REJECTED: &str = "The user rejected permission";

/// How long a process that said its last word may stay before we believe that it was the last: a step that stops is not
/// always the last one, as when it sums up a long conversation and goes on. Usually the process ends within 100 ms.
const LAST_STEP: Duration = Duration::from_secs(5);

/// What must be remembered between lines.
pub struct State {
    folder: Folder,
    title: String,
    session: bool,
    pub texts: Texts,
    notes: usize,
    usage: Usage,
    step_finished: bool,
    /// Whether the last line was the end of a step that may be the last one.
    stopped: bool,
    /// How many texts there were before this step.
    texts_before: usize,
    /// Whether a tool was the last thing in this step: then it is not the last one, whatever its reason says.
    uses_tools: bool,
    /// What it may not do, because nobody can be asked.
    refused: Option<String>,
    /// An error that more may follow; it stands when nothing does.
    error: Option<String>,
}

/// What was said, part by part, in the order in which the parts began.
#[derive(Default)]
pub struct Texts(Vec<(String, String)>);

impl Texts {
    /// The whole of a part as it is now; returns what is new of it.
    pub fn set(&mut self, id: &str, text: &str) -> String {
        let part = self.part(id);
        let new = text.strip_prefix(part.as_str()).unwrap_or_default().to_owned();
        text.clone_into(part);
        new
    }

    /// More of a part.
    pub fn add(&mut self, id: &str, piece: &str) {
        self.part(id).push_str(piece);
    }

    fn part(&mut self, id: &str) -> &mut String {
        let known = self.0.iter().position(|(known, _)| known == id && !id.is_empty());
        let at = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push((id.to_owned(), String::new()));
        }
        &mut self.0[at].1
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn truncate(&mut self, length: usize) {
        self.0.truncate(length);
    }

    /// Parts are paragraphs.
    pub fn joined(&self) -> String {
        let texts = self.0.iter().map(|(_, text)| text.trim()).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("\n\n")
    }
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
            texts: Texts::default(),
            notes: 0,
            usage: Usage::default(),
            step_finished: false,
            stopped: false,
            texts_before: 0,
            uses_tools: false,
            refused: None,
            error: None,
        }
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
        // What we do not know does not take an error back.
        Body::Other(kind) => {
            out.unknown(*kind);
            let patience = if state.stopped { LAST_STEP } else { SETTLE };
            out.settle = (state.stopped || state.error.is_some()).then_some(patience);
            return;
        }
        Body::Done => {
            state.stopped |= state.step_finished;
            return settled(state, out);
        }
        Body::GoesOn => {
            state.stopped = false;
            state.texts.truncate(state.texts_before);
        }
        Body::ToolUse(tool) => tool_used(state, tool, out),
        Body::Text { id, text } => {
            state.uses_tools = false;
            out.say(state.texts.set(id, text));
            out.pieces.push(Piece::Break);
        }
        Body::Reasoning { id, text } => {
            let action = Action::new(*id, ActionKind::Note, *text);
            out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(true)));
        }
        Body::StepFinish { reason, part } => step_finished(state, reason, part, out),
        Body::StepStart => {
            (state.uses_tools, state.stopped) = (false, false);
            state.texts_before = state.texts.len();
        }
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

/// Nothing followed an error, or a step that may be the last, so it is the end.
pub fn settled(state: &mut State, out: &mut Output) {
    if let Some(error) = state.error.take() {
        out.event(completed(state, false, Some(error)));
    } else if state.stopped {
        out.event(completed(state, true, None));
    }
}

/// The process is gone and no end was said.
pub fn ended(state: &mut State, exit: &Exit, out: &mut Output) {
    let error = match state.error.take() {
        Some(error) => Some(exit.with_stderr(error)),
        None if state.stopped => None,
        None if !exit.is_success() => {
            let error = exit.failure("opencode");
            let id = state.note_id();
            out.event(EngineEvent::warning(&ID, id, shortened(&error, 1000)));
            Some(error)
        }
        None if state.refused.is_some() => state.refused.take().map(|what| refusal(&what)),
        None if !state.session => Some(exit.with_stderr("opencode finished but no session was captured".to_owned())),
        None if state.step_finished => None,
        None => Some(exit.with_stderr("opencode finished without a result event".to_owned())),
    };
    out.event(completed(state, error.is_none(), error));
}

/// In the plain mode there is nobody to ask, so it does not do what it should ask for, and ends.
fn tool_used(state: &mut State, tool: &Tool<'_>, out: &mut Output) {
    state.uses_tools = true;
    let mut event = tool_event(state, tool);
    if let EngineEvent::Action(event) = &mut event
        && tool.error.is_some_and(|error| error.starts_with(REJECTED))
    {
        event.message = Some("not done: nobody can be asked in the plain mode".to_owned());
        state.refused = Some(event.action.title.clone());
    }
    out.event(event);
}

fn refusal(what: &str) -> String {
    format!(
        "opencode may not do this without a question, and in the plain mode nobody can be asked: {what}\n\
         hint: use the warm mode, or allow it with `permission` in your `opencode.json`"
    )
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
            (Phase::Completed, Some(matches!(tool.exit, None | Some(0)) && !tool.was_cut), None)
        }
        "error" => (Phase::Completed, Some(false), tool.error.map(|error| shortened(error, 1000))),
        _ => (Phase::Started, None, None),
    };
    EngineEvent::Action(ActionEvent { engine: ID, action, phase, ok, message, level: None })
}

fn step_finished(state: &mut State, reason: &str, part: &Value, out: &mut Output) {
    state.step_finished = true;
    count(state, part);
    if reason == "stop" && !state.uses_tools {
        (state.refused, state.stopped) = (None, true);
        out.settle = Some(LAST_STEP);
    }
}

/// Costs and tokens are told per step; people want the sum.
pub fn count(state: &mut State, part: &Value) {
    let tokens = field(part, "tokens");
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
    state.usage.cost += part.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
    state.usage.input += number(tokens, "input");
    state.usage.output += number(tokens, "output") + number(tokens, "reasoning");
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
    let answer = std::mem::take(&mut state.texts).joined();
    EngineEvent::Completed(Completed { engine: ID, ok, answer, resume: None, error, usage })
}
