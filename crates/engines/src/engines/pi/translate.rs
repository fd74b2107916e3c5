//! What pi's lines mean.

use std::collections::HashMap;

use serde_json::Value;

use super::wire::{Message, PiLine};
use super::{ID, LOGIN};
use crate::engine::{Exit, Order, Output, Piece, SETTLE};
use crate::engines::trouble;
use crate::event::{Action, ActionKind, Completed, Detail, EngineEvent, Phase, ResumeToken};
use crate::json::{field, list, shortened, text};
use crate::tools::{self, Folder};

/// What must be remembered between lines.
pub struct State {
    folder: Folder,
    title: Option<String>,
    /// The session as we know it before pi says its id.
    session: String,
    started: bool,
    open: HashMap<String, (ActionKind, String)>,
    /// Answers before the last one: words that came during the run are answered after it.
    earlier: Vec<String>,
    answer: String,
    /// The last message only said what it would do next.
    interim: bool,
    /// The message that it is writing, as far as it came.
    partial: String,
    /// Words to this run that it has not taken up yet.
    pending: usize,
    /// The prompt was taken up, so the next words of people came during the run.
    prompted: bool,
    error: Option<String>,
    /// The agent ended with an error that it may try again.
    failed: bool,
    /// The agent ended, but words to it are on their way.
    over: bool,
    retrying: bool,
    interrupted: bool,
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
            started: false,
            open: HashMap::new(),
            earlier: Vec::new(),
            answer: String::new(),
            interim: false,
            partial: String::new(),
            pending: 0,
            prompted: false,
            error: None,
            failed: false,
            over: false,
            retrying: false,
            interrupted: false,
            usage: (0, 0, 0, 0.0),
            notes: 0,
        }
    }

    /// All that was answered, with the message that is not finished.
    pub fn answer(&self) -> String {
        let newest = if self.partial.trim().is_empty() { &self.answer } else { &self.partial };
        let all = self.earlier.iter().chain([newest]).map(|text| text.trim()).filter(|text| !text.is_empty());
        all.collect::<Vec<_>>().join("\n\n")
    }

    /// A new prompt has no answer and no error yet, and nothing of an earlier one is left over for it.
    pub fn begin_turn(&mut self) {
        self.earlier.clear();
        self.answer.clear();
        self.partial.clear();
        self.error = None;
        (self.pending, self.prompted) = (0, false);
        (self.failed, self.over, self.retrying, self.interrupted) = (false, false, false, false);
    }

    /// Whether the prompt was taken up.
    pub fn is_taken_up(&self) -> bool {
        self.prompted
    }

    /// Words were said to the run.
    pub fn expects_words(&mut self) {
        self.pending += 1;
    }

    /// Words were refused.
    pub fn lost_words(&mut self, out: &mut Output) {
        self.pending = self.pending.saturating_sub(1);
        perhaps_over(self, out);
    }

    /// The end that comes is the one that was asked for.
    pub fn interrupts(&mut self) {
        self.interrupted = true;
    }

    pub fn note_id(&mut self) -> String {
        self.notes += 1;
        format!("pi.note.{}", self.notes)
    }
}

pub fn translate(state: &mut State, line: &PiLine<'_>, out: &mut Output) {
    match line {
        PiLine::Session { id } => started(state, *id, out),
        PiLine::Unknown { kind } => out.unknown(*kind),
        PiLine::Response { .. } | PiLine::ExtensionRequest { .. } => {}
        line => {
            // Whatever comes first shows that the session exists.
            started(state, None, out);
            happened(state, line, out);
        }
    }
    if state.failed || state.over {
        out.settle = Some(SETTLE);
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
        PiLine::MessageStart => state.partial.clear(),
        PiLine::Says(piece) => {
            going_on(state, out);
            state.partial.push_str(piece);
            out.say(*piece);
        }
        PiLine::Thinks(piece) => out.think(*piece),
        PiLine::MessageEnd(message) if message.from_people => words_taken_up(state),
        PiLine::MessageEnd(message) => message_end(state, message, true, out),
        PiLine::AgentEnd { last, will_retry } => agent_end(state, last.as_ref(), *will_retry, out),
        PiLine::AgentSettled if state.failed => settled(state, out),
        PiLine::RetryStart { attempt, of, message } => {
            (state.failed, state.retrying, state.error) = (false, true, None);
            out.event(EngineEvent::retrying(&ID, trouble::retrying(message, *attempt, *of)));
        }
        // One that is left over from an earlier run ends nothing.
        PiLine::RetryEnd { success: false, error } if state.failed || state.retrying => {
            if let Some(error) = error {
                state.error = Some((*error).to_owned());
            }
            state.failed = true;
            settled(state, out);
        }
        PiLine::CompactionStart => note(state, "compacting", out),
        PiLine::ExtensionError { message } => {
            let id = state.note_id();
            out.event(EngineEvent::warning(&ID, id, format!("an extension of pi failed: {message}")));
        }
        _ => {}
    }
}

fn note(state: &mut State, title: &str, out: &mut Output) {
    let action = Action::new(state.note_id(), ActionKind::Note, title);
    out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(true)));
}

fn going_on(state: &mut State, out: &mut Output) {
    if std::mem::take(&mut state.retrying) {
        out.event(EngineEvent::going_on(&ID, "the model answers again"));
    }
}

/// The first words are the prompt; what was answered before later ones stays answered.
fn words_taken_up(state: &mut State) {
    state.over = false;
    if std::mem::replace(&mut state.prompted, true) {
        state.pending = state.pending.saturating_sub(1);
        let answered = Some(std::mem::take(&mut state.answer)).filter(|_| !state.interim);
        state.earlier.extend(answered);
    }
}

/// The thread is known: by its whole id, because its beginning is also that of others; else by the name that we gave.
pub fn started(state: &mut State, id: Option<&str>, out: &mut Output) {
    if state.started {
        return;
    }
    state.started = true;
    let value = id.unwrap_or(&state.session).to_owned();
    out.event(EngineEvent::started(ResumeToken::new(ID, value), state.title.clone(), Detail::new()));
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

fn message_end(state: &mut State, message: &Message<'_>, counts: bool, out: &mut Output) {
    if !message.from_assistant {
        return;
    }
    state.interim = message.stop_reason == "toolUse";
    let streamed = !std::mem::take(&mut state.partial).is_empty();
    if !message.text.trim().is_empty() {
        state.answer = message.text.clone();
        if counts && !streamed {
            out.say(message.text.as_str());
        }
        out.pieces.push(Piece::Break);
    }
    // A later message without an error takes an earlier error back.
    state.error = match message.stop_reason {
        reason @ ("error" | "aborted") => Some(message.error.map_or_else(|| format!("pi run {reason}"), str::to_owned)),
        _ => None,
    };
    if state.error.is_none() {
        going_on(state, out);
    }
    if counts {
        let number = |key: &str| message.usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        let (input, output, cached, cost) = &mut state.usage;
        *input += number("input");
        *output += number("output");
        *cached += number("cacheRead");
        *cost += field(message.usage, "cost").get("total").and_then(Value::as_f64).unwrap_or(0.0);
    }
}

fn agent_end(state: &mut State, last: Option<&Message<'_>>, will_retry: Option<bool>, out: &mut Output) {
    if let Some(message) = last {
        message_end(state, message, false, out);
    }
    state.over = state.error.is_none();
    // A retry may follow; then this was not the end.
    state.failed = state.error.is_some() && will_retry != Some(true);
    if state.failed && state.interrupted {
        return settled(state, out);
    }
    perhaps_over(state, out);
}

/// The run ends with the agent, unless words to it are on their way.
fn perhaps_over(state: &mut State, out: &mut Output) {
    if state.over && state.pending == 0 {
        state.over = false;
        out.event(completed(state, None));
    }
}

/// No retry followed, or words were not taken up.
pub fn settled(state: &mut State, out: &mut Output) {
    if std::mem::take(&mut state.failed) {
        if state.pending > 0 {
            let id = state.note_id();
            out.event(EngineEvent::warning(&ID, id, "pi did not take up what was said last"));
        }
        let error = state.error.take().unwrap_or_else(|| "pi failed".to_owned());
        let error = if state.interrupted { "interrupted".to_owned() } else { trouble::told(&error, None, LOGIN) };
        out.event(completed(state, Some(error)));
    } else if state.over {
        let id = state.note_id();
        out.event(EngineEvent::warning(
            &ID,
            id,
            "pi did not answer what was said last; it sees it with the next prompt",
        ));
        state.pending = 0;
        perhaps_over(state, out);
    }
}

/// The process is gone and no end was said.
pub fn ended(state: &mut State, exit: &Exit, out: &mut Output) {
    let error = match state.error.take() {
        Some(error) => trouble::told(&error, None, LOGIN),
        None if exit.stderr.contains("No API key found") => trouble::told(exit.stderr.trim(), None, LOGIN),
        None if exit.stderr.contains("Session found in different project") => {
            "the session belongs to another folder\nhint: go on in that folder, or begin a new session here".to_owned()
        }
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
        answer: state.answer(),
        resume: None,
        error,
        usage,
    })
}
