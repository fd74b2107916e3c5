//! The conversation with `codex app-server`: requests and answers as JSON lines, several turns on one process.
//!
//! Its items have the same meaning as those of `codex exec`, in camel case; they are renamed and given to the same
//! translation. Helpers of the agent have threads of their own on the same process: they are no part of the answer.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::asks::{self, Request};
use super::items::{QUIET, snake_item};
use super::spent::Spent;
use super::translate::{self, State};
use super::wire::CodexLine;
use super::{DANGER, ID, LOGIN, profile, sandbox};
use crate::engine::{Control, Dialog, EngineError, Exit, Order, Output, SETTLE, Unsupported};
use crate::engines::trouble;
use crate::event::{Ask, AskAnswer, Completed, Detail, EngineEvent, ResumeToken};
use crate::json::{field, flag, list, message, text, whole, words};

const INITIALIZE: u64 = 1;
const THREAD: u64 = 2;
/// What is shown of what helpers do.
const SEEN_OF_HELPERS: [&str; 4] = ["commandExecution", "fileChange", "mcpToolCall", "webSearch"];
/// More open items than this are not remembered.
const MAX_ITEMS: usize = 256;

pub struct AppServer {
    state: State,
    resume: Option<String>,
    thread: Option<String>,
    turn: Option<String>,
    waiting: Vec<String>,
    next_id: u64,
    /// The request for a turn that is not answered yet.
    starting: Option<u64>,
    settings: Map<String, Value>,
    effort: Option<String>,
    open: Vec<Open>,
    /// What each thread spends in this run: its own, and those of helpers.
    spent: HashMap<String, Spent>,
    /// Threads of helpers that are working.
    helpers: HashSet<String>,
    /// Words to the turn that it has not taken up yet.
    steers: Vec<(u64, String)>,
    /// Words that came before the turn had a name.
    early: Vec<String>,
    /// Words that came too late for their turn: the next one is about them.
    late: Vec<String>,
    /// When the plan's limit ends, if one is reached.
    limited_until: Option<i64>,
    /// How the turn ended, while words to it are still on their way.
    over: Option<Option<String>>,
    /// What it works on, by item: a question names the item only, and people must see what it is.
    items: HashMap<String, Value>,
}

/// A request of the server that waits for people.
struct Open {
    ask: String,
    id: Value,
    request: Request,
    params: Value,
}

impl AppServer {
    pub fn new(order: &Order<'_>) -> Result<Self, EngineError> {
        let mut settings = Map::new();
        settings.insert("cwd".into(), json!(order.folder));
        let profile = profile::read(order.settings)?;
        if !profile.is_empty() {
            settings.insert("config".into(), Value::Object(profile));
        }
        if !order.settings.model.is_empty() {
            settings.insert("model".into(), json!(order.settings.model));
        }
        if let Some(word) = sandbox(order) {
            settings.insert("sandbox".into(), json!(word));
        }
        let bypass = order.settings.own_flag(DANGER);
        settings.insert("approvalPolicy".into(), json!(if bypass { "never" } else { "on-request" }));
        if bypass {
            settings.insert("sandbox".into(), json!("danger-full-access"));
        }
        Ok(Self {
            state: State::new(order),
            resume: order.resume.map(|token| token.value.clone()),
            thread: None,
            turn: None,
            waiting: Vec::new(),
            next_id: 10,
            starting: None,
            settings,
            effort: order.settings.own_text("reasoning_effort").map(str::to_owned),
            open: Vec::new(),
            spent: HashMap::new(),
            helpers: HashSet::new(),
            steers: Vec::new(),
            early: Vec::new(),
            late: Vec::new(),
            limited_until: None,
            over: None,
            items: HashMap::new(),
        })
    }

    fn request(&mut self, method: &str, params: Value, out: &mut Output) -> u64 {
        self.next_id += 1;
        out.send(&json!({"id": self.next_id, "method": method, "params": params}));
        self.next_id
    }

    fn start_turn(&mut self, prompt: &str, out: &mut Output) {
        let Some(thread) = self.thread.clone() else {
            self.waiting.push(prompt.to_owned());
            return;
        };
        let input = json!([{"type": "text", "text": prompt}]);
        let mut params = json!({"threadId": thread, "input": input});
        if let Some(effort) = &self.effort {
            params["effort"] = json!(effort);
        }
        self.starting = Some(self.request("turn/start", params, out));
    }

    fn steer(&mut self, text: &str, out: &mut Output) {
        let input = json!([{"type": "text", "text": text}]);
        let params = json!({"threadId": self.thread, "input": input, "expectedTurnId": self.turn});
        let id = self.request("turn/steer", params, out);
        self.steers.push((id, text.to_owned()));
    }

    fn response(&mut self, id: u64, line: &Value, out: &mut Output) {
        if let Some(error) = line.get("error").filter(|error| !error.is_null()) {
            let said = message(error).unwrap_or_else(|| "codex refused a request".to_owned());
            return self.refused(id, said, out);
        }
        let result = field(line, "result");
        match id {
            INITIALIZE => self.open_thread(out),
            THREAD => self.thread_opened(result, out),
            _ if self.starting == Some(id) => {
                self.starting = None;
                self.turn = words(field(result, "turn"), "id").map(str::to_owned);
                for text in std::mem::take(&mut self.early) {
                    self.steer(&text, out);
                }
            }
            _ => {
                self.steers.retain(|(steer, _)| *steer != id);
                self.perhaps_over(out);
            }
        }
    }

    fn refused(&mut self, id: u64, said: String, out: &mut Output) {
        if let Some(at) = self.steers.iter().position(|(steer, _)| *steer == id) {
            let (_, text) = self.steers.remove(at);
            self.late.push(text);
            return self.perhaps_over(out);
        }
        if [INITIALIZE, THREAD].contains(&id) || self.starting == Some(id) {
            let lost = self.resume.as_ref().filter(|_| id == THREAD && said.contains("no rollout found"));
            let lost =
                lost.map(|id| format!("codex has no session {id}\nhint: begin a new one, without the resume line"));
            return out.event(self.completed(Some(lost.unwrap_or(said))));
        }
        translate::warn(&mut self.state, format!("codex refused: {said}"), out);
    }

    fn open_thread(&mut self, out: &mut Output) {
        out.send(&json!({"method": "initialized", "params": {}}));
        let mut params = self.settings.clone();
        let method = match &self.resume {
            Some(thread) => {
                params.insert("threadId".into(), json!(thread));
                "thread/resume"
            }
            None => "thread/start",
        };
        out.send(&json!({"id": THREAD, "method": method, "params": params}));
    }

    fn thread_opened(&mut self, result: &Value, out: &mut Output) {
        let known = words(field(result, "thread"), "id").or_else(|| words(result, "threadId"));
        let Some(id) = known.map(str::to_owned).or_else(|| self.resume.clone()) else {
            return out.event(self.completed(Some("codex started no thread".to_owned())));
        };
        let title = words(result, "model").unwrap_or("Codex").to_owned();
        out.event(EngineEvent::started(ResumeToken::new(ID, id.as_str()), Some(title), Detail::new()));
        self.thread = Some(id);
        for prompt in std::mem::take(&mut self.waiting) {
            self.start_turn(&prompt, out);
        }
    }

    fn notification(&mut self, method: &str, params: &Value, out: &mut Output) {
        match method {
            "item/started" | "item/completed" => self.item(method, params, out),
            "serverRequest/resolved" => self.withdrawn(field(params, "requestId"), out),
            "thread/tokenUsage/updated" => self.spends(params),
            _ if self.is_helper(params) => self.helper(method, params),
            "turn/started" => {
                self.turn = words(field(params, "turn"), "id").map(str::to_owned);
                translate::translate(&mut self.state, &CodexLine::TurnStarted, out);
            }
            "item/agentMessage/delta" => {
                translate::says(&mut self.state, text(params, "delta").unwrap_or_default(), out);
            }
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                out.think(text(params, "delta").unwrap_or_default());
            }
            "account/rateLimits/updated" => self.limited_until = limited_until(field(params, "rateLimits")),
            "error" => self.error(params, out),
            "warning" | "configWarning" | "deprecationNotice" | "guardianWarning" | "windows/worldWritableWarning" => {
                let said = words(params, "message").or_else(|| words(params, "summary")).unwrap_or(method).to_owned();
                translate::warn(&mut self.state, said, out);
            }
            "turn/completed" => self.turn_completed(field(params, "turn"), out),
            _ if QUIET.contains(&method) => {}
            _ => out.unknown(method),
        }
    }

    fn item(&mut self, method: &str, params: &Value, out: &mut Output) {
        let item = field(params, "item");
        self.note_item(method, item);
        // People see what helpers do, and do not take what they say for the answer.
        if self.is_helper(params) && !SEEN_OF_HELPERS.contains(&text(item, "type").unwrap_or_default()) {
            return;
        }
        let kind = format!("item.{}", &method["item/".len()..]);
        let line = json!({"type": kind, "item": snake_item(item)});
        translate::translate(&mut self.state, &CodexLine::read(&line), out);
    }

    /// The end of a turn says again what ended it.
    fn error(&mut self, params: &Value, out: &mut Output) {
        let error = field(params, "error");
        let said = message(error).unwrap_or_default();
        match flag(params, "willRetry") {
            Some(true) => translate::reconnects(&mut self.state, &said, words(error, "additionalDetails"), out),
            Some(false) => {}
            None => translate::translate(&mut self.state, &CodexLine::Error { message: &said }, out),
        }
    }

    fn is_helper(&self, params: &Value) -> bool {
        matches!((words(params, "threadId"), &self.thread), (Some(id), Some(own)) if id != own)
    }

    fn helper(&mut self, method: &str, params: &Value) {
        let id = words(params, "threadId").unwrap_or_default();
        match method {
            "turn/started" if self.helpers.len() < MAX_ITEMS => drop(self.helpers.insert(id.to_owned())),
            "turn/completed" | "thread/closed" => drop(self.helpers.remove(id)),
            _ => {}
        }
    }

    /// A thread that is resumed says again what it spent before; that is no part of a turn of this run.
    fn spends(&mut self, params: &Value) {
        let turn = words(params, "turnId");
        if self.is_helper(params) || self.turn.is_some() && (turn.is_none() || turn == self.turn.as_deref()) {
            let thread = words(params, "threadId").unwrap_or_default().to_owned();
            self.spent.entry(thread).or_default().note(field(params, "tokenUsage"));
        }
    }

    fn note_item(&mut self, method: &str, item: &Value) {
        let Some(id) = words(item, "id") else { return };
        if method == "item/completed" {
            self.items.remove(id);
        } else if self.items.len() < MAX_ITEMS
            && ["fileChange", "commandExecution"].contains(&text(item, "type").unwrap_or_default())
        {
            self.items.insert(id.to_owned(), item.clone());
        }
    }

    /// What the question says, with what its item said before where it leaves that out.
    fn detail(&self, params: &Value) -> Detail {
        let mut detail = params.as_object().cloned().unwrap_or_default();
        let item = words(params, "itemId").and_then(|id| self.items.get(id));
        for name in ["changes", "command", "cwd"] {
            let known = item.map(|item| field(item, name)).filter(|value| !value.is_null());
            if let Some(known) = known.filter(|_| detail.get(name).is_none_or(Value::is_null)) {
                detail.insert(name.to_owned(), known.clone());
            }
        }
        detail
    }

    fn turn_completed(&mut self, turn: &Value, out: &mut Output) {
        if self.turn.is_some() && words(turn, "id").is_some_and(|id| self.turn.as_deref() != Some(id)) {
            return;
        }
        self.turn = None;
        self.items.clear();
        let error = match text(turn, "status").unwrap_or("completed") {
            "completed" => None,
            "interrupted" => Some("interrupted".to_owned()),
            other => {
                let failed = failure(field(turn, "error"), self.limited_until);
                Some(failed.unwrap_or_else(|| format!("the turn ended as {other}")))
            }
        };
        self.over = Some(error);
        self.perhaps_over(out);
    }

    /// The run ends with its turn, unless words to it came too late; those on their way are waited for.
    fn perhaps_over(&mut self, out: &mut Output) {
        if !self.steers.is_empty() {
            out.settle = self.over.is_some().then_some(SETTLE);
            return;
        }
        let Some(error) = self.over.take() else { return };
        let late = std::mem::take(&mut self.late).join("\n\n");
        if error.is_none() && !late.is_empty() {
            self.state.keep_answer();
            return self.start_turn(&late, out);
        }
        if !late.is_empty() {
            translate::warn(&mut self.state, format!("codex did not take up: {late}"), out);
        }
        if !self.helpers.is_empty() {
            let said = format!("codex did not wait for {} of its helpers", self.helpers.len());
            translate::warn(&mut self.state, said, out);
        }
        out.event(self.completed(error));
    }

    fn completed(&mut self, error: Option<String>) -> EngineEvent {
        let (usage, answer) = (Spent::all(self.spent.drain().map(|(_, spent)| spent)), self.state.answer());
        EngineEvent::Completed(Completed { engine: ID, ok: error.is_none(), answer, resume: None, error, usage })
    }

    /// A request of the server: it wants an answer from people.
    fn asked(&mut self, id: &Value, method: &str, params: &Value, out: &mut Output) {
        let Some((request, ask)) = asks::ask(key(id), method, self.detail(params), self.state.folder()) else {
            let error = json!({"code": -32601, "message": "not offered here"});
            return out.send(&json!({"id": id, "error": error}));
        };
        self.open.push(Open { ask: ask.id.clone(), id: id.clone(), request, params: params.clone() });
        out.event(EngineEvent::asked(&ID, ask));
    }

    fn withdrawn(&mut self, id: &Value, out: &mut Output) {
        let Some(at) = self.open.iter().position(|open| open.ask == key(id)) else { return };
        let ask = Ask::withdrawn(self.open.remove(at).ask);
        out.event(EngineEvent::asked(&ID, ask));
    }

    fn answer(&mut self, ask: &str, answer: &AskAnswer, out: &mut Output) -> Result<(), Unsupported> {
        let at = self.open.iter().position(|open| open.ask == ask).ok_or(Unsupported)?;
        let Open { id, request, params, .. } = self.open.remove(at);
        let wanted = field(&params, "permissions");
        let result = match (request, answer) {
            (Request::Decision, answer) => json!({"decision": decision(answer)}),
            (Request::Review, AskAnswer::Allow { .. } | AskAnswer::Reply { .. }) => json!({"decision": "approved"}),
            (Request::Review, AskAnswer::AllowAlways) => json!({"decision": "approved_for_session"}),
            (Request::Review, AskAnswer::Deny { stop, .. }) => {
                json!({"decision": if *stop { "abort" } else { "denied" }})
            }
            (Request::Permissions, AskAnswer::Allow { input }) => {
                json!({"permissions": input.as_ref().unwrap_or(wanted), "scope": "turn"})
            }
            (Request::Permissions, AskAnswer::AllowAlways) => json!({"permissions": wanted, "scope": "session"}),
            (Request::Permissions, _) => json!({"permissions": {}}),
            (Request::Questions, AskAnswer::Reply { answers }) => {
                json!({"answers": answers_by_id(list(&params, "questions"), answers)})
            }
            (Request::Questions, _) => json!({"answers": {}}),
        };
        out.send(&json!({"id": id, "result": result}));
        if let (AskAnswer::Deny { note, .. }, Some(_)) = (answer, &self.turn)
            && !note.trim().is_empty()
        {
            // The denial has no room for a note, so the note is the next word to the engine.
            return self.control(&Control::Steer(note.clone()), out);
        }
        Ok(())
    }
}

impl Dialog for AppServer {
    fn prompt(&mut self, prompt: &str, out: &mut Output) {
        // Nothing of an earlier run is left over for this one.
        self.state.begin();
        (self.turn, self.starting, self.over) = (None, None, None);
        self.spent.clear();
        self.helpers.clear();
        self.steers.clear();
        self.early.clear();
        self.late.clear();
        self.open.clear();
        if self.thread.is_none() && self.waiting.is_empty() {
            let client = json!({"name": "folkmoot", "title": "Folkmoot", "version": env!("CARGO_PKG_VERSION")});
            out.send(&json!({"id": INITIALIZE, "method": "initialize", "params": {"clientInfo": client}}));
        }
        self.start_turn(prompt, out);
    }

    fn line(&mut self, line: &Value, out: &mut Output) {
        let id = field(line, "id");
        match (text(line, "method"), id.is_null()) {
            (Some(method), false) => self.asked(id, method, field(line, "params"), out),
            (Some(method), true) => self.notification(method, field(line, "params"), out),
            (None, _) => {
                if let Some(id) = id.as_u64() {
                    self.response(id, line, out);
                }
            }
        }
    }

    fn control(&mut self, control: &Control, out: &mut Output) -> Result<(), Unsupported> {
        match control {
            Control::Steer(text) if self.turn.is_some() => {
                self.steer(text, out);
                Ok(())
            }
            Control::Steer(text) if self.starting.is_some() || !self.waiting.is_empty() => {
                self.early.push(text.clone());
                Ok(())
            }
            Control::Steer(_) => Err(Unsupported),
            Control::Interrupt => {
                let (Some(thread), Some(turn)) = (self.thread.clone(), self.turn.clone()) else {
                    return Err(Unsupported);
                };
                self.request("turn/interrupt", json!({"threadId": thread, "turnId": turn}), out);
                Ok(())
            }
            Control::Answer { ask, answer } => self.answer(ask, answer, out),
        }
    }

    /// Words to a turn that is over got no reply.
    fn settled(&mut self, out: &mut Output) {
        self.late.extend(self.steers.drain(..).map(|(_, text)| text));
        self.perhaps_over(out);
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        out.event(self.completed(Some(exit.failure("codex app-server"))));
    }

    fn answer_so_far(&self) -> String {
        self.state.answer()
    }
}

/// Why a turn failed, in words.
fn failure(error: &Value, limited_until: Option<i64>) -> Option<String> {
    let info = field(error, "codexErrorInfo");
    let kinds = info.as_object().into_iter().flat_map(Map::values);
    let status = kinds.into_iter().find_map(|kind| kind.get("httpStatusCode")?.as_u64());
    let status = status.or((info.as_str() == Some("usageLimitExceeded")).then_some(429));
    let until = limited_until.filter(|_| status == Some(429)).and_then(|until| Timestamp::from_second(until).ok());
    let said = match until {
        Some(until) => format!("{} (until {})", message(error)?, until.strftime("%Y-%m-%d %H:%M UTC")),
        None => message(error)?,
    };
    Some(trouble::told(&said, status, LOGIN))
}

/// When a limit ends that is used up.
fn limited_until(limits: &Value) -> Option<i64> {
    let windows = ["primary", "secondary"].map(|name| field(limits, name));
    let used_up = windows.into_iter().filter(|window| whole(window, "usedPercent").is_some_and(|used| used >= 100));
    used_up.filter_map(|window| whole(window, "resetsAt")).max()
}

fn decision(answer: &AskAnswer) -> &'static str {
    match answer {
        AskAnswer::Allow { .. } | AskAnswer::Reply { .. } => "accept",
        AskAnswer::AllowAlways => "acceptForSession",
        AskAnswer::Deny { stop: true, .. } => "cancel",
        AskAnswer::Deny { stop: false, .. } => "decline",
    }
}

/// The questions are answered in their order.
fn answers_by_id(questions: &[Value], answers: &[String]) -> Value {
    let ids = questions.iter().filter_map(|question| words(question, "id"));
    Value::Object(ids.zip(answers).map(|(id, answer)| (id.to_owned(), json!({"answers": [answer]}))).collect())
}

fn key(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}
