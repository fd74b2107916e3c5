//! The conversation with claude over JSON lines: prompts and answers go in, questions for permission come out.

use serde_json::{Value, json};

use super::wire::{Body, Line};
use super::{ID, translate};
use crate::engine::{Control, Dialog, Exit, Order, Output, Unsupported};
use crate::event::{Answer, Ask, AskKind, Asked, Detail, Event};
use crate::json::{field, list, shortened, text, words};
use crate::tools::{self, Folder};

pub struct Stream {
    state: translate::State,
    folder: Folder,
    initialized: bool,
    requests: usize,
    open: Vec<Open>,
}

/// A question that waits for people.
struct Open {
    id: String,
    input: Value,
    /// What the engine offers to allow from now on.
    suggestions: Value,
}

impl Stream {
    pub fn new(order: &Order<'_>) -> Self {
        let (state, folder) = (translate::State::new(order.folder), Folder::new(order.folder));
        Self { state, folder, initialized: false, requests: 0, open: Vec::new() }
    }

    fn request(&mut self, request: Value, out: &mut Output) {
        let id = format!("r{}", self.requests);
        self.requests += 1;
        out.send(&json!({"type": "control_request", "request_id": id, "request": request}));
    }

    fn asked(&mut self, id: &str, request: &Value, out: &mut Output) {
        if text(request, "subtype") != Some("can_use_tool") {
            // Something that we do not offer must be answered too, or it waits for ever.
            let error = json!({"subtype": "error", "request_id": id, "error": "not offered here"});
            return out.send(&json!({"type": "control_response", "response": error}));
        }
        let tool = words(request, "tool_name").unwrap_or("a tool").to_owned();
        let input = field(request, "input").clone();
        let (kind, title) = match tool.as_str() {
            "AskUserQuestion" => (AskKind::Question, questions(&input)),
            "ExitPlanMode" => (AskKind::Plan, words(&input, "plan").unwrap_or("go on with the plan").to_owned()),
            _ => (AskKind::Permission, format!("{tool}: {}", tools::action("", &tool, &input, &self.folder).title)),
        };
        let mut detail = Detail::new();
        detail.insert("tool_name".into(), json!(tool));
        detail.insert("input".into(), input.clone());
        let first = list(&input, "questions").first().map_or(&[][..], |question| list(question, "options"));
        let options = first.iter().filter_map(|option| text(option, "label")).map(str::to_owned).collect();
        let suggestions = field(request, "permission_suggestions").clone();
        self.open.push(Open { id: id.to_owned(), input, suggestions });
        let ask = Ask { id: id.to_owned(), kind, title: shortened(&title, 500), detail, options, withdrawn: false };
        out.event(Event::Asked(Asked { engine: ID, ask }));
    }

    fn withdrawn(&mut self, id: &str, out: &mut Output) {
        let Some(at) = self.open.iter().position(|open| open.id == id) else { return };
        let id = self.open.remove(at).id;
        let (kind, detail, options) = (AskKind::Permission, Detail::new(), Vec::new());
        let ask = Ask { id, kind, title: String::new(), detail, options, withdrawn: true };
        out.event(Event::Asked(Asked { engine: ID, ask }));
    }

    fn answer(&mut self, ask: &str, answer: &Answer, out: &mut Output) -> Result<(), Unsupported> {
        let at = self.open.iter().position(|open| open.id == ask).ok_or(Unsupported)?;
        let Open { id, input, suggestions } = self.open.remove(at);
        let response = match answer {
            Answer::Allow { input: changed } => {
                json!({"behavior": "allow", "updatedInput": changed.as_ref().unwrap_or(&input)})
            }
            Answer::AllowAlways if suggestions.is_array() => {
                json!({"behavior": "allow", "updatedInput": input, "updatedPermissions": suggestions})
            }
            Answer::AllowAlways => json!({"behavior": "allow", "updatedInput": input}),
            Answer::Deny { note, stop } => {
                let note = if note.trim().is_empty() { "denied" } else { note };
                json!({"behavior": "deny", "message": note, "interrupt": stop})
            }
            Answer::Reply { answers } => json!({"behavior": "allow", "updatedInput": answered(&input, answers)}),
        };
        let response = json!({"subtype": "success", "request_id": id, "response": response});
        out.send(&json!({"type": "control_response", "response": response}));
        Ok(())
    }
}

/// The questions with their answers, as the tool expects them back.
fn answered(input: &Value, answers: &[String]) -> Value {
    let asked = list(input, "questions").iter().filter_map(|question| words(question, "question"));
    let answers: serde_json::Map<String, Value> =
        asked.zip(answers).map(|(question, answer)| (question.to_owned(), json!(answer))).collect();
    let mut input = input.clone();
    if let Some(object) = input.as_object_mut() {
        object.insert("answers".into(), Value::Object(answers));
    }
    input
}

fn questions(input: &Value) -> String {
    list(input, "questions").iter().filter_map(|question| words(question, "question")).collect::<Vec<_>>().join(" ")
}

fn user(text: &str) -> Value {
    json!({"type": "user", "session_id": "", "message": {"role": "user", "content": text}, "parent_tool_use_id": null})
}

impl Dialog for Stream {
    fn prompt(&mut self, prompt: &str, out: &mut Output) {
        if !self.initialized {
            self.initialized = true;
            self.request(json!({"subtype": "initialize", "hooks": null}), out);
        }
        self.state.forget_answer();
        out.send(&user(prompt));
    }

    fn line(&mut self, line: &Value, out: &mut Output) {
        let line = Line::read(line);
        match line.body {
            Body::ControlRequest { request_id, request } => self.asked(request_id, request, out),
            Body::ControlCancel { request_id } => self.withdrawn(request_id, out),
            _ => translate::translate(&mut self.state, &line, out),
        }
    }

    fn control(&mut self, control: &Control, out: &mut Output) -> Result<(), Unsupported> {
        match control {
            Control::Steer(text) => out.send(&user(text)),
            Control::Interrupt => self.request(json!({"subtype": "interrupt"}), out),
            Control::Answer { ask, answer } => return self.answer(ask, answer, out),
        }
        Ok(())
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        translate::ended(&mut self.state, exit, out);
    }

    fn answer_so_far(&self) -> String {
        self.state.last_text().to_owned()
    }
}
