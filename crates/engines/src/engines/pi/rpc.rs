//! The conversation with `pi --mode rpc`: the same events, and commands on standard input.

use serde_json::{Value, json};

use super::translate::{self, State};
use super::wire::PiLine;
use super::{ID, asks};
use crate::engine::{Control, Dialog, Exit, Output, Unsupported};
use crate::event::{AskAnswer, EngineEvent};
use crate::json::words;

pub struct Rpc {
    state: State,
    asked_state: bool,
    interrupted: bool,
    /// Dialogs of extensions that wait for people: id and method.
    open: Vec<(String, String)>,
}

impl Rpc {
    pub fn new(state: State) -> Self {
        Self { state, asked_state: false, interrupted: false, open: Vec::new() }
    }

    fn response(&mut self, command: &str, success: bool, error: Option<&str>, data: &Value, out: &mut Output) {
        match (command, success) {
            ("get_state", true) => translate::started(&mut self.state, words(data, "sessionId"), out),
            ("prompt", false) => {
                let error = error.unwrap_or("pi refused the prompt").to_owned();
                out.event(translate::completed(&mut self.state, Some(error)));
            }
            (_, false) => {
                let id = self.state.note_id();
                let said = format!("pi refused {command}: {}", error.unwrap_or("no reason given"));
                out.event(EngineEvent::warning(&ID, id, said));
            }
            _ => {}
        }
    }

    fn extension(&mut self, id: &str, method: &str, request: &Value, out: &mut Output) {
        let Some(ask) = asks::ask(id, method, request) else { return };
        self.open.push((id.to_owned(), method.to_owned()));
        out.event(EngineEvent::asked(&ID, ask));
    }

    fn answer(&mut self, ask: &str, answer: &AskAnswer, out: &mut Output) -> Result<(), Unsupported> {
        let at = self.open.iter().position(|(id, _)| id == ask).ok_or(Unsupported)?;
        let (id, method) = self.open.remove(at);
        let mut response = match (method.as_str(), answer) {
            ("confirm", AskAnswer::Allow { .. } | AskAnswer::AllowAlways | AskAnswer::Reply { .. }) => {
                json!({"confirmed": true})
            }
            ("confirm", AskAnswer::Deny { .. }) => json!({"confirmed": false}),
            (_, AskAnswer::Reply { answers }) => json!({"value": answers.first().cloned().unwrap_or_default()}),
            _ => json!({"cancelled": true}),
        };
        response["type"] = json!("extension_ui_response");
        response["id"] = json!(id);
        out.send(&response);
        if matches!(answer, AskAnswer::Deny { stop: true, .. }) {
            return self.control(&Control::Interrupt, out);
        }
        Ok(())
    }
}

impl Dialog for Rpc {
    fn prompt(&mut self, prompt: &str, out: &mut Output) {
        if !self.asked_state {
            self.asked_state = true;
            out.send(&json!({"type": "get_state"}));
        }
        self.state.begin_turn();
        out.send(&json!({"type": "prompt", "message": prompt}));
    }

    fn line(&mut self, line: &Value, out: &mut Output) {
        match PiLine::read(line) {
            PiLine::Response { command, success, error, data } => self.response(command, success, error, data, out),
            PiLine::ExtensionRequest { id, method, request } => self.extension(id, method, request, out),
            line => {
                translate::translate(&mut self.state, &line, out);
                if self.interrupted && out.settle.is_some() {
                    // We asked for this end; no retry will follow.
                    self.interrupted = false;
                    translate::settled(&mut self.state, out);
                }
            }
        }
    }

    fn control(&mut self, control: &Control, out: &mut Output) -> Result<(), Unsupported> {
        match control {
            Control::Steer(text) => out.send(&json!({"type": "steer", "message": text})),
            Control::Interrupt => {
                self.interrupted = true;
                out.send(&json!({"type": "abort"}));
            }
            Control::Answer { ask, answer } => return self.answer(ask, answer, out),
        }
        Ok(())
    }

    fn settled(&mut self, out: &mut Output) {
        translate::settled(&mut self.state, out);
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        translate::ended(&mut self.state, exit, out);
    }

    fn answer_so_far(&self) -> String {
        self.state.answer().to_owned()
    }
}
