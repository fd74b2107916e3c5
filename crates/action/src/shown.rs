//! An action as people see it: made once here, and the same on every surface. All of it is shown, every argument in one place.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::known::{self, Sort};
use crate::{danger, diff, json, visible};

/// The most of an action that is shown; more is denied rather than cut, because nobody should allow what nobody can see.
pub const MOST_BYTES: usize = 64 * 1024;

/// What an engine reads when its question is too large to be shown; `None`: it is not.
pub fn too_large(bytes: usize) -> Option<String> {
    let words = format!(
        "too large to show: {bytes} bytes, and people can be shown {MOST_BYTES}; nobody allows what nobody can see\n\
         hint: do it in smaller steps"
    );
    (bytes > MOST_BYTES).then_some(words)
}

/// What a question looks like. Every text is safe to show as it is: nothing in it hides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Shown {
    /// What it is, in the hub's own words.
    pub heading: String,
    /// What it may destroy; stands before everything that the asker wrote.
    pub warning: Option<String>,
    /// The asker's own words about it.
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

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Permission,
    Question,
    Plan,
    /// The hub holds a text of an agent back.
    HeldText,
}

/// What an engine asks on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    pub subject: Subject,
    /// The engine's own words.
    pub says: &'a str,
    pub detail: &'a Map<String, Value>,
    pub options: &'a [String],
    pub folder: Option<&'a str>,
    pub machine: Option<&'a str>,
}

impl Shown {
    /// What an engine asks that runs beside us.
    pub fn of(asked: &Asked<'_>) -> Self {
        let mut sheet = Sheet::default();
        sheet.detail(asked.subject, asked.detail);
        sheet.place("Folder", asked.folder);
        sheet.place("Machine", asked.machine);
        let options = asked.options.iter().map(String::as_str);
        sheet.shown(asked.subject, asked.says, asked.detail, options)
    }

    /// A stored question: `action` and `payload` as the agent gave them, JSON or not.
    pub fn of_question(is_held_text: bool, action: &str, payload: &str) -> Self {
        match json::read(payload) {
            Some(Value::Object(envelope)) => of_envelope(is_held_text, action, envelope),
            _ => {
                let mut sheet = Sheet::default();
                if !payload.trim().is_empty() {
                    sheet.argument("Details", &Value::from(payload));
                }
                // Words that look like a call and are none: the name in them still says something.
                let warns = format!("{action} {payload}");
                let mut shown = sheet.shown(Subject::Permission, action, &Map::new(), std::iter::empty());
                shown.warning = danger::of_words(&warns);
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
fn of_envelope(is_held_text: bool, action: &str, mut envelope: Map<String, Value>) -> Shown {
    let mut sheet = Sheet::default();
    let named = envelope.get("kind").and_then(Value::as_str);
    let subject = match named {
        _ if is_held_text => Subject::HeldText,
        Some("question") => Subject::Question,
        Some("plan") => Subject::Plan,
        _ => Subject::Permission,
    };
    if matches!(named, Some("question" | "plan" | "permission")) {
        envelope.remove("kind");
    }
    let folder = take_text(&mut envelope, "folder");
    let machine = take_text(&mut envelope, "machine");
    let engine = take_text(&mut envelope, "engine");
    let options = take_options(&mut envelope);
    let detail = match envelope.remove("detail") {
        Some(Value::Object(detail)) => detail,
        Some(other) => {
            envelope.insert("detail".to_owned(), other);
            std::mem::take(&mut envelope)
        }
        None => std::mem::take(&mut envelope),
    };
    sheet.detail(subject, &detail);
    sheet.place("Folder", folder.as_deref());
    sheet.place("Machine", machine.as_deref());
    sheet.place("Engine", engine.as_deref());
    // Beside a detail: shown like the rest, and looked at like it.
    sheet.fields("", &envelope, &[]);
    let mut shown = sheet.shown(subject, action, &detail, options.iter().map(String::as_str));
    if shown.warning.is_none() {
        shown.warning = danger::warning(&envelope);
    }
    shown
}

fn take_text(envelope: &mut Map<String, Value>, name: &str) -> Option<String> {
    envelope.get(name)?.as_str()?;
    envelope.remove(name)?.as_str().map(str::to_owned)
}

/// The words that are offered, if they are nothing but words.
fn take_options(envelope: &mut Map<String, Value>) -> Vec<String> {
    let words = envelope.get("options").and_then(Value::as_array);
    let words: Option<Vec<String>> =
        words.and_then(|all| all.iter().map(|one| one.as_str().map(str::to_owned)).collect());
    if words.is_some() {
        envelope.remove("options");
    }
    words.unwrap_or_default()
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
    fn detail(&mut self, subject: Subject, detail: &Map<String, Value>) {
        let lines: Vec<known::Line> = known::commands(detail).collect();
        for (number, line) in lines.iter().enumerate() {
            let label = if number == 0 { "Command".to_owned() } else { format!("Command ({})", line.place) };
            self.commands.push(part(&label, PartKind::Command, &line.text));
        }
        let mut seen: Vec<String> = lines.into_iter().map(|line| line.place).collect();
        if subject == Subject::HeldText {
            return self.held_text(detail);
        }
        if let Some((field, name)) = known::tool_field(detail) {
            seen.push(field.to_owned());
            if !self.is_told(subject, detail, name) {
                self.arguments.push(part("Tool", PartKind::Argument, name));
            }
        }
        let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
        self.fields("", detail, &seen);
    }

    /// Whether the heading says which tool it is.
    fn is_told(&self, subject: Subject, detail: &Map<String, Value>, name: &str) -> bool {
        match subject {
            Subject::Question => name == "AskUserQuestion",
            Subject::Plan => name == "ExitPlanMode",
            _ => {
                let (by_name, by_heading) =
                    (known::sort_of_name(name), heading(subject, detail, !self.commands.is_empty(), false));
                (by_name != Sort::Other && by_name == known::sort(detail))
                    || by_heading.strip_prefix("Use a tool: ") == Some(&visible::line(name))
            }
        }
    }

    /// The text first; what it belongs to is for programs, and follows.
    fn held_text(&mut self, detail: &Map<String, Value>) {
        if let Some(text) = detail.get("text") {
            self.argument("Text", text);
        }
        self.fields("", detail, &["text"]);
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
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let path = known::PATHS.into_iter().find(|name| text(name).is_some());
        let label = path.and_then(text).unwrap_or("Changes").to_owned();
        let mut taken: Vec<&str> = Vec::new();
        for (old, new) in [("old_string", "new_string"), ("oldString", "newString"), ("old_source", "new_source")] {
            if let (Some(before), Some(after)) = (text(old), text(new)) {
                self.diffs.push(part(&label, PartKind::Diff, &diff::between(before, after)));
                taken.extend([old, new]);
            }
        }
        for new in ["content", "new_source", "file_text"] {
            if let Some(after) = text(new).filter(|_| path.is_some() && !taken.contains(&new)) {
                self.diffs.push(part(&label, PartKind::Diff, &diff::all('+', after)));
                taken.push(new);
            }
        }
        if let Some(Value::Array(edits)) = fields.get("edits")
            && path.is_some()
            && let Some(all) = edits.iter().map(one_edit).collect::<Option<Vec<String>>>()
            && !all.is_empty()
        {
            self.diffs.extend(all.iter().map(|text| part(&label, PartKind::Diff, text)));
            taken.push("edits");
        }
        for name in ["diff", "unified_diff", "patch"] {
            if let Some(patch) = text(name) {
                self.diffs.push(part(&label, PartKind::Diff, patch));
                taken.push(name);
            }
        }
        if !taken.is_empty() {
            taken.extend(path);
        }
        for name in ["changes", "fileChanges"] {
            if let Some(files) = fields.get(name).and_then(files_of) {
                self.diffs.extend(files);
                taken.push(name);
            }
        }
        taken.into_iter().map(str::to_owned).collect()
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

    fn shown<'o>(
        self,
        subject: Subject,
        says: &str,
        detail: &Map<String, Value>,
        options: impl Iterator<Item = &'o str>,
    ) -> Shown {
        let heading = heading(subject, detail, !self.commands.is_empty(), !self.diffs.is_empty());
        let says = Some(visible::line(says.trim())).filter(|says| !says.is_empty() && subject != Subject::HeldText);
        let warning = danger::warning(detail).filter(|_| subject == Subject::Permission);
        let parts = [self.commands, self.places, self.urls, self.diffs, self.arguments].concat();
        let choices = options.filter(|option| !option.trim().is_empty()).map(visible::line).collect();
        Shown { heading, warning, says, parts, choices }
    }
}

fn part(label: &str, kind: PartKind, text: &str) -> Part {
    let text =
        if kind == PartKind::Place || kind == PartKind::Url { visible::line(text) } else { visible::exact(text) };
    Part { label: visible::line(label), kind, text }
}

fn heading(subject: Subject, detail: &Map<String, Value>, runs: bool, changes: bool) -> String {
    let tool = known::tool(detail);
    let sort = tool.map(known::sort_of_name);
    let word = match (subject, sort) {
        (Subject::HeldText, _) => "Post a text that was held back",
        (Subject::Question, _) => "A question",
        (Subject::Plan, _) => "Approve a plan",
        (_, Some(Sort::Command)) => "Run a command",
        (_, None) if runs => "Run a command",
        (_, Some(sort)) if runs || sort == Sort::Other => {
            return format!("Use a tool: {}", visible::line(&short(tool.unwrap_or_default())));
        }
        (_, Some(Sort::Edit)) => "Change files",
        (_, Some(Sort::Read)) => "Read files",
        (_, Some(Sort::Fetch)) => "Fetch a page",
        (_, Some(Sort::Search)) => "Search the web",
        (_, None) if changes => "Change files",
        (_, None) if detail.contains_key("permissions") => "More permissions",
        _ => "Asks for approval",
    };
    word.to_owned()
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
        (Some(label), Some(description)) if only(option, &["label", "description"]) => {
            format!("- {label}: {description}")
        }
        (Some(label), None) if only(option, &["label"]) => format!("- {label}"),
        _ => format!("- {}", json::pretty(option)),
    }
}

fn only(value: &Value, names: &[&str]) -> bool {
    value.as_object().is_some_and(|fields| fields.keys().all(|name| names.contains(&name.as_str())))
}

/// One of several edits of a file; none when it has more to it than old and new text.
fn one_edit(edit: &Value) -> Option<String> {
    let pair = |old: &str, new: &str| Some((edit.get(old)?.as_str()?, edit.get(new)?.as_str()?));
    let (old, new) = pair("old_string", "new_string").or_else(|| pair("oldString", "newString"))?;
    let plain = only(edit, &["old_string", "new_string", "oldString", "newString", "replace_all", "replaceAll"]);
    let everywhere = ["replace_all", "replaceAll"].iter().any(|name| edit.get(*name).is_some_and(|all| *all != false));
    let word = if everywhere { "@@ everywhere @@\n" } else { "" };
    plain.then(|| format!("{word}{}", diff::between(old, new)))
}

/// Changes of files as codex names them; none when they look otherwise.
fn files_of(changes: &Value) -> Option<Vec<Part>> {
    let files: Vec<(&str, &Value)> = match changes {
        Value::Array(all) => all.iter().map(|file| Some((file.get("path")?.as_str()?, file))).collect::<Option<_>>()?,
        Value::Object(all) => all.iter().map(|(path, file)| (path.as_str(), file)).collect(),
        _ => return None,
    };
    (!files.is_empty()).then(|| files.into_iter().map(|(path, file)| one_file(path, file)).collect())
}

fn one_file(path: &str, file: &Value) -> Part {
    let kind = file.get("kind").unwrap_or(file);
    let word = kind.as_str().or_else(|| kind.get("type").and_then(Value::as_str));
    let moved = [kind, file].iter().find_map(|at| at.get("move_path").and_then(Value::as_str));
    let text = ["diff", "unified_diff", "content"].iter().find_map(|name| file.get(*name).and_then(Value::as_str));
    let known = ["path", "kind", "type", "move_path", "diff", "unified_diff", "content"];
    let plain = only(file, &known) && (kind == file || kind.is_string() || only(kind, &["type", "move_path"]));
    let (Some(word), Some(text), true) = (word, text, plain) else {
        return part(path, PartKind::Diff, &json::pretty(file));
    };
    let label = match (word, moved) {
        (_, Some(moved)) => format!("{path} → {moved}"),
        ("add", None) => format!("{path} (new)"),
        ("delete", None) => format!("{path} (deleted)"),
        _ => path.to_owned(),
    };
    let text = match word {
        "add" if !text.starts_with("@@") => diff::all('+', text),
        "delete" if !text.starts_with("@@") => diff::all('-', text),
        _ => text.to_owned(),
    };
    // Both could be there; the one that was not taken must not be lost.
    let texts = known[4..].iter().filter(|name| file.get(**name).is_some()).count();
    let text = if texts > 1 { json::pretty(file) } else { text };
    part(&label, PartKind::Diff, &text)
}

#[cfg(test)]
mod tests;
