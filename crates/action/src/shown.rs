//! An action as people see it: made once here, and the same on every surface. All of it is shown, every argument in one place.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::guess::guessed;
use crate::known::{self, Sort};
use crate::payload::Envelope;
use crate::subject::{AskKind, Proposal, Subject};
use crate::{changes, danger, json, visible};

/// The most of an action that is shown; more is denied rather than cut, because nobody should allow what nobody can see.
pub const MAX_BYTES: usize = 64 * 1024;

/// What an engine reads when its question is too large to be shown; `None`: it is not.
pub fn too_large(bytes: usize) -> Option<String> {
    let words = format!(
        "too large to show: {bytes} bytes, and people can be shown {MAX_BYTES}; nobody allows what nobody can see\n\
         hint: do it in smaller steps"
    );
    (bytes > MAX_BYTES).then_some(words)
}

/// What a question looks like. Every text is safe to show as it is: nothing in it hides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Shown {
    /// What it is, in the hub's own words.
    pub heading: String,
    /// What it may destroy; stands before everything that the asker wrote.
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub warning: Option<String>,
    /// The asker's own words about it.
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub says: Option<String>,
    /// All of it, in this order.
    pub parts: Vec<Part>,
    /// Words that a question offers as answers.
    pub choices: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Part {
    pub label: String,
    pub kind: PartKind,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    Command,
    Place,
    Url,
    Diff,
    Argument,
}

/// What an engine asks on this machine.
#[derive(Clone, Copy, Debug)]
pub struct LocalQuestion<'a> {
    pub proposal: Proposal<'a>,
    /// The engine's own words.
    pub says: &'a str,
    pub options: &'a [String],
    pub folder: Option<&'a str>,
    pub machine: Option<&'a str>,
}

impl Shown {
    /// What an engine asks that runs beside us.
    pub fn of(asked: &LocalQuestion<'_>) -> Self {
        let mut sheet = Sheet::default();
        sheet.proposal(&asked.proposal);
        sheet.place("Folder", asked.folder);
        sheet.place("Machine", asked.machine);
        sheet.shown(&asked.proposal, asked.says, asked.options.iter().map(String::as_str))
    }

    /// A stored question: `action` and `payload` as the agent gave them, JSON or not.
    pub fn of_question(is_held_text: bool, action: &str, payload: &str) -> Self {
        match json::read(payload) {
            Some(Value::Object(envelope)) if is_held_text => of_held_text(envelope),
            Some(Value::Object(envelope)) => of_envelope(action, envelope),
            _ => {
                let mut sheet = Sheet::default();
                if !payload.trim().is_empty() {
                    sheet.argument("Details", &Value::from(payload));
                }
                let nothing = (Subject::default(), Map::new());
                let proposal = Proposal { subject: &nothing.0, rest: &nothing.1 };
                let mut shown = sheet.shown(&proposal, action, std::iter::empty());
                // Words that look like a call and are none: the name in them still says something.
                shown.warning = danger::of_words(&format!("{action} {payload}"));
                shown
            }
        }
    }

    /// The whole as lines of text, for a terminal.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.warning.iter().map(|warning| format!("! {warning}")).collect();
        lines.push(self.heading.clone());
        lines.extend(self.says.iter().map(|says| format!("  says: “{says}”")));
        for part in &self.parts {
            let label = visible::line(&part.label);
            if part.text.contains('\n') || part.kind == PartKind::Diff {
                lines.push(format!("  {label}:"));
                lines.extend(part.text.split('\n').map(|line| format!("    {line}")));
            } else {
                lines.push(format!("  {label}: {}", part.text));
            }
        }
        lines.extend(self.choices.iter().map(|choice| format!("  - {choice}")));
        lines
    }
}

/// What the daemon sends around an engine's question, or whatever an agent of somebody else sends instead.
fn of_envelope(action: &str, envelope: Map<String, Value>) -> Shown {
    let Envelope { subject, detail, options, folder, machine, engine, beside } = Envelope::read(envelope);
    let proposal = Proposal { subject: &subject, rest: &detail };
    let mut sheet = Sheet::default();
    sheet.proposal(&proposal);
    sheet.place("Folder", folder.as_deref());
    sheet.place("Machine", machine.as_deref());
    sheet.place("Engine", engine.as_deref());
    // Shown like the rest, and looked at like it.
    sheet.fields("", &beside, &[]);
    let mut shown = sheet.shown(&proposal, action, options.iter().map(String::as_str));
    if shown.warning.is_none() {
        let (subject, rest) = guessed(AskKind::Permission, &beside);
        shown.warning = danger::warning(&Proposal { subject: &subject, rest: &rest });
    }
    shown
}

/// A text that the hub holds back: the text first; what it belongs to is for programs, and follows.
fn of_held_text(envelope: Map<String, Value>) -> Shown {
    let mut sheet = Sheet::default();
    if let Some(text) = envelope.get("text") {
        sheet.argument("Text", text);
    }
    sheet.fields("", &envelope, &["text"]);
    let parts = [sheet.places, sheet.urls, sheet.diffs, sheet.arguments].concat();
    Shown { heading: "Post a text that was held back".to_owned(), parts, ..Shown::default() }
}

/// The parts as they are found, by kind.
#[derive(Default)]
struct Sheet {
    commands: Vec<Part>,
    places: Vec<Part>,
    urls: Vec<Part>,
    diffs: Vec<Part>,
    arguments: Vec<Part>,
}

impl Sheet {
    fn proposal(&mut self, proposal: &Proposal<'_>) {
        let lines = proposal.lines();
        for (number, line) in lines.iter().enumerate() {
            let label = match &line.place {
                _ if number == 0 => "Command".to_owned(),
                Some(place) => format!("Command ({place})"),
                None => format!("Command ({})", number + 1),
            };
            self.commands.push(part(&label, PartKind::Command, &line.line.text()));
        }
        let seen: Vec<&str> = lines.iter().filter_map(|line| line.place.as_deref()).collect();
        self.subject(proposal.subject, &seen);
        self.fields("", proposal.rest, &seen);
        let (name, heading) = (proposal.subject.tool(), self.heading(proposal));
        if !name.is_empty() && !tells(&heading, name) {
            self.arguments.insert(0, part("Tool", PartKind::Argument, name));
        }
    }

    /// All that a subject holds beside its lines.
    fn subject(&mut self, subject: &Subject, seen: &[&str]) {
        match subject {
            Subject::Edit { paths, diff, .. } => {
                let named = |path: &&String| diff.iter().any(|one| one.file.contains(path.as_str()));
                paths.iter().filter(|path| !named(path)).for_each(|path| self.place("File", Some(path)));
                self.diffs.extend(diff.iter().map(|one| part(&one.file, PartKind::Diff, &one.text)));
            }
            Subject::Read { paths, patterns, .. } => {
                paths.iter().for_each(|path| self.place("File", Some(path)));
                self.arguments.extend(patterns.iter().map(|one| part("Pattern", PartKind::Argument, one)));
            }
            Subject::Tool { input: Value::Null, .. } => {}
            Subject::Tool { input: Value::Object(fields), .. } if !fields.is_empty() => {
                self.fields("input.", fields, seen);
            }
            Subject::Tool { input, .. } => self.argument("input", input),
            Subject::Command { .. } | Subject::Question | Subject::Plan => {}
        }
    }

    fn place(&mut self, label: &str, text: Option<&str>) {
        self.places.extend(text.map(|text| part(label, PartKind::Place, text)));
    }

    fn argument(&mut self, label: &str, value: &Value) {
        self.arguments.push(part(label, PartKind::Argument, &json::pretty(value)));
    }

    /// Every field but those that were seen already; what a tool is given is opened one level down.
    fn fields(&mut self, prefix: &str, fields: &Map<String, Value>, seen: &[&str]) {
        let at = |name: &str| format!("{prefix}{name}");
        let mut taken: Vec<String> = self.changes(fields);
        taken.extend(fields.keys().filter(|name| seen.contains(&at(name).as_str())).cloned());
        for (name, value) in fields.iter().filter(|(name, _)| !taken.contains(name)) {
            match value {
                Value::Null if prefix.is_empty() => {}
                Value::Object(inner) if prefix.is_empty() && !inner.is_empty() => {
                    self.fields(&format!("{name}."), inner, seen);
                }
                Value::String(text) if is_folder(name) => self.place(&format!("Folder ({})", at(name)), Some(text)),
                Value::String(text) if is_url(text) => {
                    let label = if name.eq_ignore_ascii_case("url") { "URL".to_owned() } else { at(name) };
                    self.urls.push(part(&label, PartKind::Url, text));
                }
                Value::Array(all) if name == "questions" => self.questions(&at(name), all),
                other => self.argument(&self.label(&at(name)), other),
            }
        }
    }

    fn label(&self, place: &str) -> String {
        if place == "input.plan" { "Plan".to_owned() } else { place.to_owned() }
    }

    /// Changes of files as differences; which fields they were made of.
    fn changes(&mut self, fields: &Map<String, Value>) -> Vec<String> {
        let mut left = fields.clone();
        let mut diffs = changes::take(&mut left);
        for name in ["changes", "fileChanges"] {
            if let Some(files) = left.get(name).and_then(changes::of_files) {
                diffs.extend(files);
                left.remove(name);
            }
        }
        self.diffs.extend(diffs.iter().map(|one| part(&one.file, PartKind::Diff, &one.text)));
        fields.keys().filter(|name| !left.contains_key(*name)).cloned().collect()
    }

    /// Questions of an engine with what they offer.
    fn questions(&mut self, place: &str, all: &[Value]) {
        for (number, question) in all.iter().enumerate() {
            let Some(fields) = question.as_object() else {
                self.argument(&format!("{place}[{number}]"), question);
                continue;
            };
            let mut lines: Vec<String> =
                fields.get("question").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
            let said = lines.len();
            for (name, value) in fields.iter().filter(|(name, _)| said == 0 || *name != "question") {
                match value {
                    Value::Array(options) if name == "options" => lines.extend(options.iter().map(offered)),
                    Value::Null | Value::Bool(false) => {}
                    other => lines.push(format!("{name}: {}", json::pretty(other))),
                }
            }
            let label = if all.len() == 1 { "Question".to_owned() } else { format!("Question {}", number + 1) };
            self.arguments.push(part(&label, PartKind::Argument, &lines.join("\n")));
        }
    }

    fn shown<'o>(self, proposal: &Proposal<'_>, says: &str, options: impl Iterator<Item = &'o str>) -> Shown {
        let heading = self.heading(proposal);
        let says = Some(visible::line(says.trim())).filter(|says| !says.is_empty());
        let warning = danger::warning(proposal).filter(|_| proposal.subject.kind() == AskKind::Permission);
        let parts = [self.commands, self.places, self.urls, self.diffs, self.arguments].concat();
        let choices = options.filter(|option| !option.trim().is_empty()).map(visible::line).collect();
        Shown { heading, warning, says, parts, choices }
    }

    fn heading(&self, proposal: &Proposal<'_>) -> String {
        let (runs, changes) = (!self.commands.is_empty(), !self.diffs.is_empty());
        let name = proposal.subject.tool();
        let sort = Some(name).filter(|name| !name.is_empty()).map(known::sort_of_name);
        let word = match (proposal.subject, sort) {
            (Subject::Question, _) => "A question",
            (Subject::Plan, _) => "Approve a plan",
            (Subject::Command { .. }, _) => "Run a command",
            (Subject::Edit { .. }, _) if !runs => "Change files",
            (_, None) if runs => "Run a command",
            (_, Some(sort)) if sort == Sort::Other || (runs && sort != Sort::Command) => {
                return format!("{USE}{}", visible::line(&short(name)));
            }
            (_, Some(sort)) => word(sort),
            (_, None) if changes => "Change files",
            (_, None) if proposal.rest.contains_key("permissions") => "More permissions",
            _ => "Asks for approval",
        };
        word.to_owned()
    }
}

/// Before the name of a tool of which no more can be said.
const USE: &str = "Use a tool: ";

/// The heading for a tool of a known name.
fn word(sort: Sort) -> &'static str {
    match sort {
        Sort::Command => "Run a command",
        Sort::Edit => "Change files",
        Sort::Read => "Read files",
        Sort::Fetch => "Fetch a page",
        Sort::Search => "Search the web",
        Sort::Other => "Asks for approval",
    }
}

/// Whether the heading says which tool it is.
fn tells(heading: &str, name: &str) -> bool {
    let sort = known::sort_of_name(name);
    heading.strip_prefix(USE) == Some(&visible::line(name)) || (sort != Sort::Other && heading == word(sort))
}

fn part(label: &str, kind: PartKind, text: &str) -> Part {
    let text =
        if kind == PartKind::Place || kind == PartKind::Url { visible::line(text) } else { visible::exact(text) };
    Part { label: visible::line(label), kind, text }
}

/// A name that fits into a heading.
fn short(name: &str) -> String {
    if name.chars().count() <= 80 { name.to_owned() } else { name.chars().take(79).chain(['…']).collect() }
}

fn is_folder(name: &str) -> bool {
    ["cwd", "workdir", "working_directory", "workingDirectory", "folder"].contains(&name)
}

fn is_url(text: &str) -> bool {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    ["http", "https", "ftp", "ws", "wss"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
        && !rest.is_empty()
        && !text.contains(char::is_whitespace)
}

fn offered(option: &Value) -> String {
    match (option.get("label").and_then(Value::as_str), option.get("description").and_then(Value::as_str)) {
        (Some(label), Some(description)) if json::only(option, &["label", "description"]) => {
            format!("- {label}: {description}")
        }
        (Some(label), None) if json::only(option, &["label"]) => format!("- {label}"),
        _ => format!("- {}", json::pretty(option)),
    }
}

#[cfg(test)]
mod tests;
