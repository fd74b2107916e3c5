//! The conversation with `codex app-server`: requests and answers as JSON lines, several turns on one process.
//!
//! Its items have the same meaning as those of `codex exec`, in camel case; they are renamed and given to the same
//! translation.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::asks::{self, Request};
use super::translate::{self, State, usage_of};
use super::wire::CodexLine;
use super::{DANGER, ID, sandbox};
use crate::engine::{Control, Dialog, Exit, Order, Output, Unsupported};
use crate::event::{Ask, AskAnswer, Completed, Detail, EngineEvent, ResumeToken};
use crate::json::{field, flag, list, message, text, words};

const INITIALIZE: u64 = 1;
const THREAD: u64 = 2;
/// More open items than this are not remembered.
const MAX_ITEMS: usize = 256;

pub struct AppServer {
    state: State,
    resume: Option<String>,
    thread: Option<String>,
    turn: Option<String>,
    waiting: Vec<String>,
    next_id: u64,
    settings: Map<String, Value>,
    open: Vec<Open>,
    usage: Detail,
    steers: Vec<(u64, String)>,
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
    pub fn new(order: &Order<'_>) -> Self {
        let mut settings = Map::new();
        settings.insert("cwd".into(), json!(order.folder));
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
        Self {
            state: State::new(order),
            resume: order.resume.map(|token| token.value.clone()),
            thread: None,
            turn: None,
            waiting: Vec::new(),
            next_id: 10,
            settings,
            open: Vec::new(),
            usage: Detail::new(),
            steers: Vec::new(),
            items: HashMap::new(),
        }
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
        self.request("turn/start", json!({"threadId": thread, "input": input}), out);
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
            _ => {
                if let Some(turn) = words(field(result, "turn"), "id") {
                    self.turn = Some(turn.to_owned());
                }
                self.steers.retain(|(steer, _)| *steer != id);
            }
        }
    }

    fn refused(&mut self, id: u64, said: String, out: &mut Output) {
        // A steer that came too late for its turn becomes a turn of its own.
        if let Some(at) = self.steers.iter().position(|(steer, _)| *steer == id) {
            let (_, text) = self.steers.remove(at);
            return self.start_turn(&text, out);
        }
        out.event(self.completed(false, Some(said)));
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
            return out.event(self.completed(false, Some("codex started no thread".to_owned())));
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
            "turn/started" => {
                self.turn = words(field(params, "turn"), "id").map(str::to_owned);
                translate::translate(&mut self.state, &CodexLine::TurnStarted, out);
            }
            "item/started" | "item/completed" => {
                self.note_item(method, field(params, "item"));
                let kind = format!("item.{}", &method["item/".len()..]);
                let line = json!({"type": kind, "item": snake_item(field(params, "item"))});
                translate::translate(&mut self.state, &CodexLine::read(&line), out);
            }
            "thread/tokenUsage/updated" => {
                self.usage = usage_of(&snake(field(field(params, "tokenUsage"), "last")));
            }
            "error" => {
                let said = message(field(params, "error")).unwrap_or_default();
                let said =
                    if flag(params, "willRetry") == Some(true) { format!("Reconnecting... {said}") } else { said };
                translate::translate(&mut self.state, &CodexLine::Error { message: &said }, out);
            }
            "warning" | "configWarning" | "deprecationNotice" => {
                let said = words(params, "message").or_else(|| words(params, "summary")).unwrap_or(method).to_owned();
                translate::translate(&mut self.state, &CodexLine::Error { message: &said }, out);
            }
            "serverRequest/resolved" => self.withdrawn(field(params, "requestId"), out),
            "turn/completed" => self.turn_completed(field(params, "turn"), out),
            _ => {}
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
        self.turn = None;
        self.items.clear();
        let error = match text(turn, "status").unwrap_or("completed") {
            "completed" => None,
            "interrupted" => Some("interrupted".to_owned()),
            other => Some(message(field(turn, "error")).unwrap_or_else(|| format!("the turn ended as {other}"))),
        };
        out.event(self.completed(error.is_none(), error));
    }

    fn completed(&mut self, ok: bool, error: Option<String>) -> EngineEvent {
        let usage = std::mem::take(&mut self.usage);
        EngineEvent::Completed(Completed { engine: ID, ok, answer: self.state.answer(), resume: None, error, usage })
    }

    /// A request of the server: it wants an answer from people.
    fn asked(&mut self, id: &Value, method: &str, params: &Value, out: &mut Output) {
        let Some((request, ask)) = asks::ask(key(id), method, self.detail(params)) else {
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
            Control::Steer(text) => {
                let (Some(thread), Some(turn)) = (self.thread.clone(), self.turn.clone()) else {
                    return Err(Unsupported);
                };
                let input = json!([{"type": "text", "text": text}]);
                let params = json!({"threadId": thread, "input": input, "expectedTurnId": turn});
                let id = self.request("turn/steer", params, out);
                self.steers.push((id, text.clone()));
                Ok(())
            }
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

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        out.event(self.completed(false, Some(exit.failure("codex app-server"))));
    }

    fn answer_so_far(&self) -> String {
        self.state.answer()
    }
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

/// An item of the app server in the words of `codex exec`.
fn snake_item(item: &Value) -> Value {
    let mut item = snake(item);
    let kind = item.get("type").and_then(Value::as_str).map(snake_word).unwrap_or_default();
    let kind = if kind == "collab_agent_tool_call" { "collab_tool_call".to_owned() } else { kind };
    if kind == "reasoning" {
        let parts = list(&item, "summary").iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n");
        item["text"] = Value::String(parts);
    }
    if ["user_message", "hook_prompt", "function_call_output"].contains(&kind.as_str()) {
        return Value::Null;
    }
    if let Some(status) = item.get("status").and_then(Value::as_str).map(snake_word) {
        item["status"] = Value::String(status);
    }
    item["type"] = Value::String(kind);
    item
}

/// The fields of an object in snake case; values stay.
fn snake(value: &Value) -> Value {
    let Some(object) = value.as_object() else { return Value::Object(Map::new()) };
    Value::Object(object.iter().map(|(name, value)| (snake_word(name), value.clone())).collect())
}

fn snake_word(word: &str) -> String {
    let mut snake = String::with_capacity(word.len() + 4);
    for letter in word.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
