//! What claude's lines mean.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;

use super::ID;
use super::trouble::{self, Trouble};
use super::turns::{Running, Turns, Wait};
use super::usage::Usage;
use super::wire::{Block, Body, ClaudeLine, Delta, Outcome, TaskNews};
use crate::engine::{Exit, Order, Output, Piece};
use crate::event::{Action, ActionKind, Completed, Detail, EngineEvent, Phase, ResumeToken};
use crate::json::{copy, shortened, text, words};
use crate::tools::{self, Folder};

/// How long a run waits in silence for what is in the background, unless the configuration says otherwise.
const BACKGROUND_WAIT: Duration = Duration::from_secs(300);

/// What must be remembered between lines.
pub struct State {
    folder: Folder,
    session: bool,
    open: HashMap<String, (ActionKind, String)>,
    pub turns: Turns,
    usage: Usage,
    trouble: Trouble,
    retrying: bool,
    /// What was last said about limits; claude says it with every answer.
    limit: Option<String>,
    /// The answers of the turns that ended, and how the last one ended.
    answers: Vec<String>,
    verdict: Option<Verdict>,
    /// The last text of this turn, and the one that is being said.
    last_text: String,
    partial: String,
    thoughts: usize,
    notes: usize,
}

struct Verdict {
    ok: bool,
    error: Option<String>,
}

impl State {
    pub fn new(order: &Order<'_>) -> Self {
        let wait = order.settings.own.get("background_wait_s").and_then(Value::as_f64);
        let wait = wait.map_or(BACKGROUND_WAIT, |seconds| Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)));
        Self {
            folder: Folder::new(order.folder),
            session: false,
            open: HashMap::new(),
            turns: Turns::new(wait),
            usage: Usage::new(order.resume.is_some()),
            trouble: Trouble::new(order),
            retrying: false,
            limit: None,
            answers: Vec::new(),
            verdict: None,
            last_text: String::new(),
            partial: String::new(),
            thoughts: 0,
            notes: 0,
        }
    }

    /// All that was said in this run, also what has no end yet.
    pub fn answer_so_far(&self) -> String {
        let said = self.answers.iter().map(String::as_str).chain([self.last_text.as_str(), self.partial.as_str()]);
        said.map(str::trim).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// A new prompt has no answer yet.
    pub fn prompt(&mut self, uuid: &str, prompt: &str) {
        self.turns.prompt(uuid, prompt);
        self.answers.clear();
        self.verdict = None;
        self.forget_turn();
    }

    fn forget_turn(&mut self) {
        self.last_text.clear();
        self.partial.clear();
    }

    fn warn(&mut self, text: impl Into<String>, out: &mut Output) {
        let id = self.note_id();
        out.event(EngineEvent::warning(&ID, id, text));
    }

    fn note_id(&mut self) -> String {
        self.notes += 1;
        format!("claude.note.{}", self.notes)
    }
}

pub fn translate(state: &mut State, line: &ClaudeLine<'_>, out: &mut Output) {
    // The signs of life before `init` name the session, but not its model.
    let sign = matches!(line.body, Body::State { .. } | Body::Words { .. } | Body::ControlResponse { .. });
    if let Some(session) = line.session_id
        && !state.session
        && !sign
    {
        state.session = true;
        out.event(started(session, &line.body));
    }
    match &line.body {
        Body::Init { .. } => state.turns.begun(),
        Body::State { idle } => state.turns.state(*idle),
        Body::Words { uuid, state: "discarded" | "refused" | "cancelled" } => lost(state, uuid, out),
        Body::Words { state: "queued", .. } => {}
        Body::Words { uuid, .. } => state.turns.taken(uuid),
        Body::Task(news) => task(state, news, out),
        Body::Retry(retry) => {
            state.retrying = true;
            out.event(EngineEvent::retrying(&ID, state.trouble.retrying(retry)));
        }
        Body::RateLimit(info) => limit(state, info, out),
        Body::Note(text) => note(state, text, out),
        Body::Assistant { api_error: Some(kind), .. } => state.trouble.api_error(kind),
        Body::Assistant { content, parent, .. } => {
            going_on(state, out);
            content.iter().for_each(|block| said(state, block, *parent, out));
        }
        Body::User { replay: Some(uuid), .. } => state.turns.taken(uuid),
        Body::User { content, .. } => content.iter().for_each(|block| {
            if let Block::ToolResult { tool_use_id, content, is_error } = block {
                tool_result(state, tool_use_id, content, *is_error, out);
            }
        }),
        Body::Delta(delta) => piece(state, delta, out),
        Body::Result(outcome) => result(state, outcome, out),
        Body::ControlResponse { error: Some(error) } => state.warn(*error, out),
        Body::Unknown(name) => out.unknown(name.clone()),
        _ => {}
    }
    go_on(state, out);
}

/// Ends the run when nothing is left to wait for.
pub fn go_on(state: &mut State, out: &mut Output) {
    match state.turns.wait() {
        _ if state.verdict.is_none() => {}
        Wait::Over => finish(state, out),
        Wait::AtMost(time) => out.settle = Some(time),
        Wait::Turn => {}
    }
}

/// What was waited for did not come.
pub fn settled(state: &mut State, out: &mut Output) {
    if state.verdict.is_none() {
        return;
    }
    abandon(state, "and the run does not wait any longer", out);
    finish(state, out);
}

/// Says what nobody waits for.
fn abandon(state: &mut State, why: &str, out: &mut Output) {
    let untaken = state.turns.untaken().iter().map(|words| shortened(words, 200)).collect::<Vec<_>>();
    for words in untaken {
        state.warn(format!("claude did not take up: {words}"), out);
    }
    let running = state.turns.give_up().into_iter().map(|task| task.description).collect::<Vec<_>>();
    if !running.is_empty() {
        state.warn(format!("still running in the background: {}, {why}", running.join("; ")), out);
    }
}

fn finish(state: &mut State, out: &mut Output) {
    let Some(Verdict { ok, error }) = state.verdict.take() else { return };
    let answer = std::mem::take(&mut state.answers).join("\n\n");
    let usage = state.usage.take();
    out.event(completed(answer, ok, error, usage));
}

/// The process is gone although the run has not ended.
pub fn ended(state: &mut State, exit: &Exit, out: &mut Output) {
    if state.verdict.is_some() && !state.turns.is_busy() {
        abandon(state, "and ended with claude", out);
        return finish(state, out);
    }
    let error = if !exit.is_success() {
        let error = exit.failure("claude");
        state.warn(shortened(&error, 1000), out);
        error
    } else if state.session {
        exit.with_stderr("claude finished without a result event".to_owned())
    } else {
        exit.with_stderr("claude finished but no session was captured".to_owned())
    };
    out.event(completed(state.answer_so_far(), false, Some(error), state.usage.take()));
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

fn lost(state: &mut State, uuid: &str, out: &mut Output) {
    if let Some(words) = state.turns.dropped(uuid) {
        state.warn(format!("claude did not take up: {}", shortened(&words, 200)), out);
    }
}

fn limit(state: &mut State, info: &Value, out: &mut Output) {
    let said = trouble::rate_limit(info);
    if let Some(text) = said.clone().filter(|_| said != state.limit) {
        state.warn(text, out);
    }
    state.limit = said;
}

fn going_on(state: &mut State, out: &mut Output) {
    if std::mem::take(&mut state.retrying) {
        out.event(EngineEvent::going_on(&ID, "the API answers again"));
    }
}

fn task(state: &mut State, news: &TaskNews<'_>, out: &mut Output) {
    let Some(task) = state.turns.task(news) else { return };
    let ok = matches!(news, TaskNews::Ended { status: "completed", .. });
    out.event(EngineEvent::action(&ID, background(&task), Phase::Completed, Some(ok)));
}

fn background(task: &Running) -> Action {
    let kind = if task.kind == "local_bash" { ActionKind::Command } else { ActionKind::Subagent };
    let title = format!("in the background: {}", task.description);
    Action::new(format!("claude.task.{}", task.id), kind, title)
}

fn piece(state: &mut State, delta: &Delta<'_>, out: &mut Output) {
    match delta {
        Delta::Begun => {
            state.turns.begun();
            going_on(state, out);
            if !state.partial.is_empty() {
                // The line was cut and the model begins again.
                state.partial.clear();
                out.pieces.push(Piece::Break);
            }
        }
        Delta::Text(text) => {
            state.partial.push_str(text);
            out.say(*text);
        }
        Delta::Thinking(text) => out.think(*text),
        Delta::BlockEnded => out.pieces.push(Piece::Break),
    }
}

fn said(state: &mut State, block: &Block<'_>, parent: Option<&str>, out: &mut Output) {
    match block {
        Block::Text(text) if parent.is_none() && !text.trim().is_empty() => {
            state.last_text = (*text).to_owned();
            // What came in pieces was said already.
            if std::mem::take(&mut state.partial).is_empty() {
                out.say(*text);
                out.pieces.push(Piece::Break);
            }
        }
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

/// The end of a turn, which is the end of the run only when nothing else is left.
fn result(state: &mut State, outcome: &Outcome<'_>, out: &mut Output) {
    state.usage.add(outcome.line);
    for denied in outcome.denials {
        let tool = words(denied, "tool_name").unwrap_or("a tool");
        state.warn(format!("permission for {tool} was denied"), out);
    }
    let ok = !outcome.is_error;
    let answer = if ok && !outcome.result.trim().is_empty() {
        outcome.result.to_owned()
    } else {
        [state.last_text.as_str(), state.partial.as_str()].concat()
    };
    state.forget_turn();
    if !state.turns.ended(outcome) {
        return left_over(state, &answer, out);
    }
    state.answers.extend(Some(answer).filter(|answer| !answer.trim().is_empty()));
    if let Some(Verdict { error: Some(error), .. }) = &state.verdict {
        // A turn that failed is not forgotten because another one followed.
        let error = error.clone();
        state.warn(error, out);
    }
    let error = (!ok).then(|| state.trouble.failure(outcome));
    state.verdict = Some(Verdict { ok, error });
    tell_what_runs(state, out);
}

/// An answer to what the run before left behind: shown, and never taken for the answer to this prompt.
fn left_over(state: &mut State, answer: &str, out: &mut Output) {
    if !answer.trim().is_empty() {
        note(state, &format!("about what went on in the background: {answer}"), out);
    }
}

fn note(state: &mut State, text: &str, out: &mut Output) {
    let action = Action::new(state.note_id(), ActionKind::Note, text);
    out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(true)));
}

fn tell_what_runs(state: &mut State, out: &mut Output) {
    for task in state.turns.running().iter_mut().filter(|task| !task.told) {
        task.told = true;
        out.event(EngineEvent::action(&ID, background(task), Phase::Started, None));
    }
}

fn completed(answer: String, ok: bool, error: Option<String>, usage: Detail) -> EngineEvent {
    EngineEvent::Completed(Completed { engine: ID, ok, answer, resume: None, error, usage })
}
