//! The conversation with `opencode serve`: orders over HTTP, events over `/event`.
//!
//! The orders are values here, `{"method","path","body","tag"}`; the feed makes requests of them and brings the answers
//! back as lines `moot.response`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::translate::{self, State};
use super::wire::Tool;
use super::{DANGER, ID, asks};
use crate::engine::{Control, Dialog, Exit, Order, Output, Unsupported};
use crate::event::{Action, ActionKind, Ask, AskAnswer, EngineEvent, Phase};
use crate::json::{field, message, text, words};

pub struct Serve {
    state: State,
    resume: Option<String>,
    session: Option<String>,
    waiting: Vec<String>,
    model: Option<(String, String)>,
    agent: Option<String>,
    variant: Option<String>,
    approves_all: bool,
    /// Messages of people, whose parts are not answers.
    from_people: BTreeSet<String>,
    /// The answer's parts by id, in the order in which they came.
    texts: BTreeMap<String, String>,
    open: Vec<Open>,
    error: Option<String>,
}

/// A question that waits for people.
struct Open {
    id: String,
    route: Route,
    /// Ours, or the one of a subagent.
    session: String,
    /// Whether opencode said what "always" allows.
    offers: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Route {
    Permission,
    /// The route of servers before `permission.asked`.
    OldPermission,
    Question,
}

impl Serve {
    pub fn new(order: &Order<'_>) -> Self {
        let settings = order.settings;
        let model = settings.model.split_once('/').map(|(provider, model)| (provider.to_owned(), model.to_owned()));
        Self {
            state: State::new(order),
            resume: order.resume.map(|token| token.value.clone()),
            session: None,
            waiting: Vec::new(),
            model,
            agent: settings.own_text("agent").map(str::to_owned),
            variant: settings.own_text("variant").map(str::to_owned),
            approves_all: settings.own_flag(DANGER),
            from_people: BTreeSet::new(),
            texts: BTreeMap::new(),
            open: Vec::new(),
            error: None,
        }
    }

    fn post(&self, path: &str, body: &Value, tag: &str, out: &mut Output) {
        out.send(&json!({"method": "POST", "path": path, "body": body, "tag": tag}));
    }

    fn say(&mut self, prompt: &str, out: &mut Output) {
        let Some(session) = &self.session else {
            self.waiting.push(prompt.to_owned());
            return;
        };
        let mut body = json!({"parts": [{"type": "text", "text": prompt}]});
        if let Some((provider, model)) = &self.model {
            body["model"] = json!({"providerID": provider, "modelID": model});
        }
        if let Some(agent) = &self.agent {
            body["agent"] = json!(agent);
        }
        if let Some(variant) = &self.variant {
            body["variant"] = json!(variant);
        }
        self.post(&format!("/session/{session}/prompt_async"), &body, "prompt", out);
    }

    fn response(&mut self, line: &Value, out: &mut Output) {
        let status = line.get("status").and_then(Value::as_u64).unwrap_or(0);
        let body = field(line, "body");
        let good = (200..300).contains(&status);
        match (text(line, "tag").unwrap_or_default(), good) {
            ("session", true) => self.session_opened(words(body, "id"), out),
            ("session" | "prompt", false) => {
                let said = message(body).unwrap_or_else(|| format!("opencode answered {status}"));
                out.event(self.completed(Some(said)));
            }
            (_, false) => {
                let said = message(body).unwrap_or_else(|| format!("opencode answered {status}"));
                out.event(EngineEvent::warning(&ID, format!("opencode.http.{status}"), said));
            }
            _ => {}
        }
    }

    fn session_opened(&mut self, id: Option<&str>, out: &mut Output) {
        let Some(id) = id.map(str::to_owned).or_else(|| self.resume.clone()) else {
            return out.event(self.completed(Some("opencode opened no session".to_owned())));
        };
        translate::started(&mut self.state, &id, out);
        self.session = Some(id);
        for prompt in std::mem::take(&mut self.waiting) {
            self.say(&prompt, out);
        }
    }

    fn event(&mut self, kind: &str, properties: &Value, out: &mut Output) {
        let part = field(properties, "part");
        let session = words(properties, "sessionID").or_else(|| words(part, "sessionID"));
        let session = session.or_else(|| words(field(properties, "info"), "sessionID"));
        // The server is ours alone, so another session is a subagent's: what it does is not ours, what it asks is.
        let is_ours = session.is_none() || session == self.session.as_deref();
        match kind {
            "permission.asked" => self.permission(properties, Route::Permission, out),
            "permission.updated" => self.permission(properties, Route::OldPermission, out),
            "question.asked" => self.question(properties, out),
            "permission.replied" | "question.replied" | "question.rejected" => self.answered(properties, out),
            _ if !is_ours => {}
            "message.updated" => self.message_updated(field(properties, "info")),
            "message.part.updated" => self.part(part, out),
            "session.error" => self.error = message(field(properties, "error")),
            "session.idle" => out.event(self.completed_now()),
            "session.status" if text(field(properties, "status"), "type") == Some("idle") => {
                out.event(self.completed_now());
            }
            _ => {}
        }
    }

    fn message_updated(&mut self, info: &Value) {
        if text(info, "role") == Some("user")
            && let Some(id) = words(info, "id")
        {
            self.from_people.insert(id.to_owned());
        }
    }

    fn part(&mut self, part: &Value, out: &mut Output) {
        if words(part, "messageID").is_some_and(|id| self.from_people.contains(id)) {
            return;
        }
        let id = text(part, "id").unwrap_or_default();
        match text(part, "type").unwrap_or_default() {
            "text" => {
                self.texts.insert(id.to_owned(), text(part, "text").unwrap_or_default().to_owned());
            }
            "tool" => out.event(translate::tool_event(&self.state, &Tool::read(part))),
            "reasoning" if !field(field(part, "time"), "end").is_null() => {
                let action = Action::new(id, ActionKind::Note, text(part, "text").unwrap_or_default());
                out.event(EngineEvent::action(&ID, action, Phase::Completed, Some(true)));
            }
            "step-finish" => translate::count(&mut self.state, part),
            _ => {}
        }
    }

    fn permission(&mut self, properties: &Value, route: Route, out: &mut Output) {
        let Some(id) = words(properties, "id").map(str::to_owned) else { return };
        if self.open.iter().any(|open| open.id == id) {
            return;
        }
        let ask = asks::permission(&id, properties);
        self.wait(&ask, route, properties);
        if self.approves_all {
            let _ = self.answer(&id, &AskAnswer::Allow { input: None }, out);
            return;
        }
        out.event(EngineEvent::asked(&ID, ask));
    }

    fn question(&mut self, properties: &Value, out: &mut Output) {
        let Some(id) = words(properties, "id").map(str::to_owned) else { return };
        let ask = asks::question(&id, properties);
        self.wait(&ask, Route::Question, properties);
        out.event(EngineEvent::asked(&ID, ask));
    }

    fn wait(&mut self, ask: &Ask, route: Route, properties: &Value) {
        let session = words(properties, "sessionID").or(self.session.as_deref()).unwrap_or_default().to_owned();
        self.open.push(Open { id: ask.id.clone(), route, session, offers: !ask.always.is_empty() });
    }

    /// Somebody answered, perhaps elsewhere.
    fn answered(&mut self, properties: &Value, out: &mut Output) {
        let id = words(properties, "requestID").or_else(|| words(properties, "permissionID")).unwrap_or_default();
        let Some(at) = self.open.iter().position(|open| open.id == id) else { return };
        let ask = Ask::withdrawn(self.open.remove(at).id);
        out.event(EngineEvent::asked(&ID, ask));
    }

    fn answer(&mut self, ask: &str, answer: &AskAnswer, out: &mut Output) -> Result<(), Unsupported> {
        let at = self.open.iter().position(|open| open.id == ask).ok_or(Unsupported)?;
        let Open { id, route, session, offers } = self.open.remove(at);
        let word = match answer {
            AskAnswer::AllowAlways if offers => "always",
            AskAnswer::Allow { .. } | AskAnswer::AllowAlways | AskAnswer::Reply { .. } => "once",
            AskAnswer::Deny { .. } => "reject",
        };
        match (route, answer) {
            (Route::Question, AskAnswer::Reply { answers }) => {
                let answers: Vec<Value> = answers.iter().map(|answer| json!([answer])).collect();
                self.post(&format!("/question/{id}/reply"), &json!({"answers": answers}), "answer", out);
            }
            (Route::Question, _) => self.post(&format!("/question/{id}/reject"), &json!({}), "answer", out),
            (Route::Permission, AskAnswer::Deny { note, .. }) if !note.trim().is_empty() => {
                let body = json!({"reply": word, "message": note});
                self.post(&format!("/permission/{id}/reply"), &body, "answer", out);
            }
            (Route::Permission, _) => {
                self.post(&format!("/permission/{id}/reply"), &json!({"reply": word}), "answer", out);
            }
            (Route::OldPermission, _) => {
                let path = format!("/session/{session}/permissions/{id}");
                self.post(&path, &json!({"response": word}), "answer", out);
            }
        }
        if matches!(answer, AskAnswer::Deny { stop: true, .. }) {
            return self.control(&Control::Interrupt, out);
        }
        Ok(())
    }

    fn completed_now(&mut self) -> EngineEvent {
        let error = self.error.take();
        self.completed(error)
    }

    fn completed(&mut self, error: Option<String>) -> EngineEvent {
        let answer = self.answer_so_far();
        self.texts.clear();
        self.state.set_answer(answer);
        translate::completed(&mut self.state, error.is_none(), error)
    }
}

impl Dialog for Serve {
    fn prompt(&mut self, prompt: &str, out: &mut Output) {
        if self.session.is_none() && self.waiting.is_empty() {
            match &self.resume {
                Some(session) => {
                    out.send(&json!({"method": "GET", "path": format!("/session/{session}"), "tag": "session"}));
                }
                None => self.post("/session", &json!({}), "session", out),
            }
        }
        self.say(prompt, out);
    }

    fn line(&mut self, line: &Value, out: &mut Output) {
        match text(line, "type").unwrap_or_default() {
            "moot.response" => self.response(line, out),
            "moot.lost" => {
                let said = message(line).unwrap_or_else(|| "opencode's events were lost".to_owned());
                out.event(self.completed(Some(said)));
            }
            kind => self.event(kind, field(line, "properties"), out),
        }
    }

    fn control(&mut self, control: &Control, out: &mut Output) -> Result<(), Unsupported> {
        match control {
            Control::Steer(text) => self.say(text, out),
            Control::Interrupt => {
                let session = self.session.clone().ok_or(Unsupported)?;
                self.error = Some("interrupted".to_owned());
                self.post(&format!("/session/{session}/abort"), &json!({}), "abort", out);
            }
            Control::Answer { ask, answer } => return self.answer(ask, answer, out),
        }
        Ok(())
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        out.event(self.completed(Some(exit.failure("opencode serve"))));
    }

    fn answer_so_far(&self) -> String {
        self.texts.values().map(String::as_str).collect::<Vec<_>>().join("\n\n")
    }
}
