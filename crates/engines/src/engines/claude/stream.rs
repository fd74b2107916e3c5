//! The conversation with claude over JSON lines: prompts and answers go in, questions for permission come out.

use serde_json::{Value, json};

use super::wire::{Body, ClaudeLine};
use super::{ID, asks, translate};
use crate::engine::{Control, Dialog, Exit, Order, Output, Unsupported};
use crate::event::{Ask, AskAnswer, EngineEvent};
use crate::json::{field, list, text, words};
use crate::tools::Folder;

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
    /// What "always" allows, as people were told.
    offers: Vec<Value>,
}

impl Stream {
    pub fn new(order: &Order<'_>) -> Self {
        let (state, folder) = (translate::State::new(order), Folder::new(order.folder));
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
        let ask = asks::ask(id, request, &self.folder);
        let offers = asks::offers(request).into_iter().map(|offer| offer.update).collect();
        self.open.push(Open { id: id.to_owned(), input: field(request, "input").clone(), offers });
        out.event(EngineEvent::asked(&ID, ask));
    }

    fn withdrawn(&mut self, id: &str, out: &mut Output) {
        let Some(at) = self.open.iter().position(|open| open.id == id) else { return };
        let ask = Ask::withdrawn(self.open.remove(at).id);
        out.event(EngineEvent::asked(&ID, ask));
    }

    /// Stops the turn, and what goes on beside it: an interrupt alone leaves the background running.
    fn interrupt(&mut self, out: &mut Output) {
        self.request(json!({"subtype": "interrupt"}), out);
        self.state.turns.hurry();
        let tasks: Vec<String> = self.state.turns.running().iter().map(|task| task.id.clone()).collect();
        for task in tasks {
            self.request(json!({"subtype": "stop_task", "task_id": task}), out);
        }
    }

    /// People who were asked something take their time.
    fn wait(&mut self, out: &mut Output) {
        translate::go_on(&mut self.state, out);
        if !self.open.is_empty() {
            out.settle = None;
        }
    }

    fn answer(&mut self, ask: &str, answer: &AskAnswer, out: &mut Output) -> Result<(), Unsupported> {
        let at = self.open.iter().position(|open| open.id == ask).ok_or(Unsupported)?;
        let Open { id, input, offers } = self.open.remove(at);
        let response = match answer {
            AskAnswer::Allow { input: changed } => {
                json!({"behavior": "allow", "updatedInput": changed.as_ref().unwrap_or(&input)})
            }
            AskAnswer::AllowAlways if !offers.is_empty() => {
                json!({"behavior": "allow", "updatedInput": input, "updatedPermissions": offers})
            }
            AskAnswer::AllowAlways => json!({"behavior": "allow", "updatedInput": input}),
            AskAnswer::Deny { note, stop } => {
                let note = if note.trim().is_empty() { "denied" } else { note };
                json!({"behavior": "deny", "message": note, "interrupt": stop})
            }
            AskAnswer::Reply { answers } => json!({"behavior": "allow", "updatedInput": answered(&input, answers)}),
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

/// Words of ours, by whose number claude says when it takes them up. It must be new: a session drops what it knows.
fn user(uuid: &str, text: &str) -> Value {
    let message = json!({"role": "user", "content": text});
    json!({"type": "user", "uuid": uuid, "session_id": "", "message": message, "parent_tool_use_id": null})
}

fn new_uuid() -> String {
    uuid::Uuid::new_v4().to_string()
}

impl Dialog for Stream {
    fn prompt(&mut self, prompt: &str, out: &mut Output) {
        if !self.initialized {
            self.initialized = true;
            self.request(json!({"subtype": "initialize", "hooks": null}), out);
        }
        let uuid = new_uuid();
        self.state.prompt(&uuid, prompt);
        out.send(&user(&uuid, prompt));
    }

    fn line(&mut self, line: &Value, out: &mut Output) {
        let line = ClaudeLine::read(line);
        match line.body {
            Body::ControlRequest { request_id, request } => self.asked(request_id, request, out),
            Body::ControlCancel { request_id } => self.withdrawn(request_id, out),
            _ => translate::translate(&mut self.state, &line, out),
        }
        self.wait(out);
    }

    fn control(&mut self, control: &Control, out: &mut Output) -> Result<(), Unsupported> {
        match control {
            Control::Steer(text) => {
                let uuid = new_uuid();
                self.state.turns.give(&uuid, text);
                out.send(&user(&uuid, text));
            }
            Control::Interrupt => self.interrupt(out),
            Control::Answer { ask, answer } => self.answer(ask, answer, out)?,
        }
        self.wait(out);
        Ok(())
    }

    fn settled(&mut self, out: &mut Output) {
        translate::settled(&mut self.state, out);
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        translate::ended(&mut self.state, exit, out);
    }

    fn answer_so_far(&self) -> String {
        self.state.answer_so_far()
    }
}
