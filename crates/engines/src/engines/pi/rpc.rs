//! The conversation with `pi --mode rpc`: the same events, and commands on standard input.

use serde_json::{Value, json};

use super::translate::{self, State};
use super::wire::PiLine;
use super::{ID, LOGIN, asks};
use crate::engine::{Control, Dialog, Exit, Output, Unsupported};
use crate::engines::trouble;
use crate::event::{AskAnswer, EngineEvent};
use crate::json::words;

/// How the ids of words to a run begin.
const WORDS: &str = "words-";

pub struct Rpc {
    state: State,
    asked_state: bool,
    /// How many words were sent to runs.
    words: usize,
    /// Words that came before the prompt was taken up: sent beside it, one of the two would be refused.
    early: Vec<String>,
    /// Dialogs of extensions that wait for people: id and method.
    open: Vec<(String, String)>,
}

impl Rpc {
    pub fn new(state: State) -> Self {
        Self { state, asked_state: false, words: 0, early: Vec::new(), open: Vec::new() }
    }

    fn response(&mut self, id: &str, command: &str, result: Result<&Value, &str>, out: &mut Output) {
        match (command, result) {
            ("get_state", Ok(data)) => translate::started(&mut self.state, words(data, "sessionId"), out),
            ("prompt", Err(error)) if !id.starts_with(WORDS) => {
                let error = trouble::told(error, None, LOGIN);
                out.event(translate::completed(&mut self.state, Some(error)));
            }
            (_, Err(error)) => {
                let note = self.state.note_id();
                out.event(EngineEvent::warning(&ID, note, format!("pi refused {command}: {error}")));
                if id.starts_with(WORDS) {
                    self.state.lost_words(out);
                }
            }
            (_, Ok(_)) => {}
        }
    }

    /// What `steer` brings too late waits for the next prompt; a prompt is taken up by the run, or at once.
    fn say(&mut self, text: &str, out: &mut Output) {
        self.words += 1;
        let id = format!("{WORDS}{}", self.words);
        out.send(&json!({"id": id, "type": "prompt", "message": text, "streamingBehavior": "steer"}));
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
        self.early.clear();
        out.send(&json!({"type": "prompt", "message": prompt}));
    }

    fn line(&mut self, line: &Value, out: &mut Output) {
        let line = PiLine::read(line);
        match &line {
            PiLine::Response { id, command, success, error, data } => {
                let result = if *success { Ok(*data) } else { Err(error.unwrap_or("no reason given")) };
                self.response(id, command, result, out);
            }
            PiLine::ExtensionRequest { id, method, request } => self.extension(id, method, request, out),
            _ => {}
        }
        translate::translate(&mut self.state, &line, out);
        if self.state.is_taken_up() {
            std::mem::take(&mut self.early).iter().for_each(|text| self.say(text, out));
        }
    }

    fn control(&mut self, control: &Control, out: &mut Output) -> Result<(), Unsupported> {
        match control {
            Control::Steer(text) => {
                self.state.expects_words();
                if self.state.is_taken_up() {
                    self.say(text, out);
                } else {
                    self.early.push(text.clone());
                }
            }
            Control::Interrupt => {
                self.state.interrupts();
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
        self.state.answer()
    }
}
