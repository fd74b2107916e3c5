//! The conversation with `opencode serve`: orders over HTTP, events over `/event`.
//!
//! The orders are values here, `{"method","path","body","tag"}`; the feed makes requests of them and brings the answers
//! back as lines `moot.response`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::translate::{self, State, Texts};
use super::turn::{SETTLE_TIMEOUT, Turn};
use super::wire::Tool;
use super::{DANGER, ID, asks, sessions, trouble};
use crate::engine::{Control, Dialog, Exit, Order, Output, Piece, Unsupported};
use crate::event::{Ask, AskAnswer, EngineEvent};
use crate::json::{field, flag, text, words};

/// Families of events that say nothing about a run.
const QUIET: &str = "server. plugin. catalog. reference. integration. installation. project. workspace. worktree. vcs. \
                     lsp. mcp. pty. tui. ide. file. todo. command. global. message. session.created session.updated \
                     session.deleted session.diff session.compacted";

/// Parts of a message that are neither words nor deeds.
const QUIET_PARTS: [&str; 8] = ["step-start", "snapshot", "patch", "file", "agent", "subtask", "compaction", "retry"];

pub struct Serve {
    state: State,
    folder: PathBuf,
    resume: Option<String>,
    session: Option<String>,
    waiting: Vec<String>,
    model: Option<(String, String)>,
    agent: Option<String>,
    variant: Option<String>,
    approves_all: bool,
    turn: Turn,
    /// Messages of people, whose parts are not answers.
    from_people: BTreeSet<String>,
    /// Messages of the model in this turn, and in those before: what comes late is no answer to what was asked since.
    messages: BTreeSet<String>,
    past: BTreeSet<String>,
    /// Messages of the model that are not for people, such as summaries for itself.
    asides: BTreeSet<String>,
    thoughts: Texts,
    /// Parts that are thoughts; the pieces of a part do not say.
    thinking: BTreeSet<String>,
    /// Tools that were said to be at work.
    at_work: BTreeSet<String>,
    open: Vec<Open>,
    retries: bool,
    interrupted: bool,
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
            folder: order.folder.to_owned(),
            resume: order.resume.map(|token| token.value.clone()),
            session: None,
            waiting: Vec::new(),
            model,
            agent: settings.own_text("agent").map(str::to_owned),
            variant: settings.own_text("variant").map(str::to_owned),
            approves_all: settings.own_flag(DANGER),
            turn: Turn::default(),
            from_people: BTreeSet::new(),
            messages: BTreeSet::new(),
            past: BTreeSet::new(),
            asides: BTreeSet::new(),
            thoughts: Texts::default(),
            thinking: BTreeSet::new(),
            at_work: BTreeSet::new(),
            open: Vec::new(),
            retries: false,
            interrupted: false,
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
        self.turn.prompt();
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
        let tag = text(line, "tag").unwrap_or_default();
        if (200..300).contains(&status) {
            if tag == "session" {
                self.session_opened(body, out);
            }
            return;
        }
        let said = trouble::words_for(body).unwrap_or_else(|| format!("opencode answered {status}"));
        match tag {
            "session" => out.event(self.completed(Some(said))),
            // What it was told first goes on without what it was told later.
            "prompt" if self.turn.has_begun() => {
                self.turn.refused();
                out.event(EngineEvent::warning(&ID, format!("opencode.http.{status}"), said));
                self.end_if_over(out);
            }
            "prompt" => out.event(self.completed(Some(said))),
            _ => out.event(EngineEvent::warning(&ID, format!("opencode.http.{status}"), said)),
        }
    }

    fn session_opened(&mut self, body: &Value, out: &mut Output) {
        let Some(id) = words(body, "id").map(str::to_owned).or_else(|| self.resume.clone()) else {
            return out.event(self.completed(Some("opencode opened no session".to_owned())));
        };
        if let Some(folder) =
            words(body, "directory").filter(|folder| self.resume.is_some() && self.is_elsewhere(folder))
        {
            return out.event(self.completed(Some(sessions::foreign(&id, folder).whole())));
        }
        translate::started(&mut self.state, &id, out);
        self.session = Some(id);
        for prompt in std::mem::take(&mut self.waiting) {
            self.say(&prompt, out);
        }
    }

    fn is_elsewhere(&self, folder: &str) -> bool {
        sessions::is_other(folder, &self.folder)
    }

    fn event(&mut self, kind: &str, properties: &Value, out: &mut Output) {
        let (part, info) = (field(properties, "part"), field(properties, "info"));
        let session = words(properties, "sessionID").or_else(|| words(part, "sessionID"));
        let session = session.or_else(|| words(info, "sessionID"));
        // The server is ours alone, so another session is a subagent's: what it does is not ours, but what it asks, what it
        // costs, and what it has trouble with is.
        let is_ours = session.is_none() || session == self.session.as_deref();
        match kind {
            "permission.asked" => self.permission(properties, Route::Permission, out),
            "permission.updated" => self.permission(properties, Route::OldPermission, out),
            "question.asked" => self.question(properties, out),
            "permission.replied" | "question.replied" | "question.rejected" => self.answered(properties, out),
            "session.status" => self.status(field(properties, "status"), is_ours, out),
            "message.part.updated" => self.part(part, is_ours, out),
            "message.part.delta" if is_ours => self.piece(properties, out),
            "message.updated" if is_ours => self.message_updated(info, out),
            "session.error" if is_ours => self.failed(field(properties, "error")),
            "session.idle" if is_ours => self.idle(out),
            "session.error" | "session.idle" => {}
            _ if QUIET.split(' ').any(|quiet| kind.starts_with(quiet)) => {}
            _ => out.unknown(kind),
        }
        if self.turn.is_idle() {
            out.settle = Some(SETTLE_TIMEOUT);
        }
    }

    fn status(&mut self, status: &Value, is_ours: bool, out: &mut Output) {
        match text(status, "type").unwrap_or_default() {
            "retry" => {
                self.retries = true;
                out.event(EngineEvent::retrying(&ID, trouble::retry(status)));
            }
            "busy" if is_ours => {
                self.turn.busy();
                // It was told to stop before it had begun.
                if self.interrupted {
                    self.abort(out);
                }
            }
            "idle" if is_ours => self.idle(out),
            _ => {}
        }
    }

    fn idle(&mut self, out: &mut Output) {
        self.turn.idle();
        self.end_if_over(out);
    }

    fn end_if_over(&mut self, out: &mut Output) {
        if self.turn.is_over(self.error.is_some()) {
            let error = self.error.take();
            out.event(self.completed(error));
        }
    }

    /// An error; what comes late from an earlier turn is none of this one.
    fn failed(&mut self, error: &Value) {
        if self.turn.has_begun() && !self.interrupted {
            self.error = trouble::words_for(error);
        }
    }

    fn message_updated(&mut self, info: &Value, out: &mut Output) {
        let Some(id) = words(info, "id") else { return };
        if text(info, "role") == Some("user") {
            if self.from_people.insert(id.to_owned()) {
                self.turn.said(id);
            }
            return;
        }
        if flag(info, "summary") == Some(true) {
            self.asides.insert(id.to_owned());
        }
        let is_finished = !field(field(info, "time"), "completed").is_null();
        if !self.turn.answers(id, words(info, "parentID"), is_finished) {
            self.past.insert(id.to_owned());
            return;
        }
        self.messages.insert(id.to_owned());
        if !is_finished
            && !self.interrupted
            && let Some(error) = self.error.take()
        {
            // It went on after all.
            out.event(EngineEvent::warning(&ID, format!("opencode.error.{id}"), error));
        }
    }

    fn part(&mut self, part: &Value, is_ours: bool, out: &mut Output) {
        let message = text(part, "messageID").unwrap_or_default();
        if self.from_people.contains(message) || self.past.contains(message) {
            return;
        }
        if std::mem::take(&mut self.retries) {
            out.event(EngineEvent::going_on(&ID, "the model answers again"));
        }
        let kind = text(part, "type").unwrap_or_default();
        if kind == "step-finish" {
            translate::count(&mut self.state, part);
        }
        if is_ours && !self.asides.contains(message) && flag(part, "synthetic") != Some(true) {
            self.own_part(kind, part, out);
        }
    }

    fn own_part(&mut self, kind: &str, part: &Value, out: &mut Output) {
        let (id, said) = (text(part, "id").unwrap_or_default(), text(part, "text").unwrap_or_default());
        match kind {
            "text" => out.say(self.state.texts.set(id, said)),
            "reasoning" => {
                self.thinking.insert(id.to_owned());
                out.think(self.thoughts.set(id, said));
            }
            "tool" => return self.tool(&Tool::read(part), out),
            "step-finish" => return,
            _ if QUIET_PARTS.contains(&kind) => return,
            _ => return out.unknown(format!("part {kind}")),
        }
        if !field(field(part, "time"), "end").is_null() {
            out.pieces.push(Piece::Break);
        }
    }

    /// More of the text of a part.
    fn piece(&mut self, properties: &Value, out: &mut Output) {
        let message = text(properties, "messageID").unwrap_or_default();
        let is_quiet = self.asides.contains(message) || self.past.contains(message);
        if is_quiet || text(properties, "field") != Some("text") {
            return;
        }
        let (id, piece) =
            (text(properties, "partID").unwrap_or_default(), text(properties, "delta").unwrap_or_default());
        if self.thinking.contains(id) {
            self.thoughts.add(id, piece);
            out.think(piece);
        } else {
            self.state.texts.add(id, piece);
            out.say(piece);
        }
    }

    /// It is told again and again that a tool runs, and first that one will, of which nothing is known yet.
    fn tool(&mut self, tool: &Tool<'_>, out: &mut Output) {
        let is_news = match tool.status {
            "pending" => false,
            "running" => self.at_work.insert(tool.call_id.to_owned()),
            _ => true,
        };
        if is_news {
            out.event(translate::tool_event(&self.state, tool));
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

    fn abort(&self, out: &mut Output) {
        if let Some(session) = &self.session {
            self.post(&format!("/session/{session}/abort"), &json!({}), "abort", out);
        }
    }

    /// The end of a turn. The next one begins with nothing of it but the names of its messages.
    fn completed(&mut self, error: Option<String>) -> EngineEvent {
        self.turn = Turn::default();
        self.past.append(&mut self.messages);
        self.thoughts = Texts::default();
        self.thinking.clear();
        self.at_work.clear();
        self.open.clear();
        self.retries = false;
        self.interrupted = false;
        self.error = None;
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
            kind => self.event(kind, field(line, "properties"), out),
        }
    }

    fn control(&mut self, control: &Control, out: &mut Output) -> Result<(), Unsupported> {
        match control {
            Control::Steer(text) => self.say(text, out),
            Control::Interrupt if self.session.is_none() => return Err(Unsupported),
            Control::Interrupt => {
                self.interrupted = true;
                self.error = Some("interrupted".to_owned());
                self.abort(out);
            }
            Control::Answer { ask, answer } => return self.answer(ask, answer, out),
        }
        Ok(())
    }

    /// The session is idle, and yet something was left open.
    fn settled(&mut self, out: &mut Output) {
        if !self.turn.is_idle() {
            return;
        }
        let unanswered = (!self.turn.is_answered()).then_some("opencode stopped and left the last message unanswered");
        let error = self.error.take().or_else(|| unanswered.map(str::to_owned));
        out.event(self.completed(error));
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        let vanished = exit.code.is_none() && exit.signal.is_none() && !exit.stderr.is_empty();
        let error = if vanished { exit.stderr.clone() } else { exit.failure("opencode serve") };
        out.event(self.completed(Some(error)));
    }

    fn answer_so_far(&self) -> String {
        self.state.texts.joined()
    }
}
