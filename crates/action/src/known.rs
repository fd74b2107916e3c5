//! What kind of thing a tool call is, by what the engines' tools are called and what they are given.

use serde_json::{Map, Value};

use crate::shell::{self, Reading};

/// Names under which engines put what a tool is given, inside their own envelope.
pub(crate) const HOLDERS: [&str; 9] =
    ["input", "params", "metadata", "arguments", "args", "parameters", "tool_input", "toolInput", "rawInput"];
/// Names of arguments that are run.
const COMMANDS: [&str; 9] =
    ["command", "cmd", "script", "commandLine", "command_line", "shell_command", "bash_command", "code", "argv"];
/// Names of arguments that are a file.
pub(crate) const PATHS: [&str; 6] = ["file_path", "filePath", "notebook_path", "path", "filepath", "blocked_path"];
/// Under these names engines tell of a file; in small letters and without `_`.
const PATH_KEYS: [&str; 8] =
    ["path", "filepath", "notebookpath", "blockedpath", "movepath", "newpath", "oldpath", "grantroot"];
/// Under these, of files and what becomes of them.
const PATH_MAPS: [&str; 2] = ["changes", "filechanges"];
const TOOL_NAMES: [&str; 4] = ["tool_name", "tool", "permission", "type"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Command,
    Edit,
    Read,
    Fetch,
    Search,
    Other,
}

/// The field that names the tool, and the name as the engine wrote it.
pub(crate) fn tool_field(detail: &Map<String, Value>) -> Option<(&'static str, &str)> {
    TOOL_NAMES.into_iter().find_map(|key| Some((key, detail.get(key)?.as_str().filter(|name| !name.is_empty())?)))
}

/// The tool as the engine calls it.
pub fn tool(detail: &Map<String, Value>) -> Option<&str> {
    tool_field(detail).map(|(_, name)| name)
}

/// By its name only.
pub(crate) fn sort_of_name(name: &str) -> Sort {
    match name.to_ascii_lowercase().as_str() {
        "bash" | "shell" | "local_shell" | "killshell" | "killbash" | "bashoutput" => Sort::Command,
        "edit" | "write" | "multiedit" | "notebookedit" | "patch" | "apply_patch" => Sort::Edit,
        "read" | "glob" | "grep" | "ls" | "list" | "notebookread" => Sort::Read,
        "webfetch" | "web_fetch" | "fetch" => Sort::Fetch,
        "websearch" | "web_search" => Sort::Search,
        _ => Sort::Other,
    }
}

/// What a tool call is. Whatever is run makes it a command, however the tool is called.
pub fn sort(detail: &Map<String, Value>) -> Sort {
    if commands(detail).next().is_some() {
        return Sort::Command;
    }
    match tool(detail) {
        Some(name) => sort_of_name(name),
        // Rights beyond the change itself are more than an edit.
        None if given(detail, "grantRoot") || given(detail, "permissions") => Sort::Other,
        None if given(detail, "changes") || given(detail, "fileChanges") => Sort::Edit,
        None => Sort::Other,
    }
}

fn given(detail: &Map<String, Value>, name: &str) -> bool {
    detail.get(name).is_some_and(|value| !value.is_null())
}

/// A line or words that would be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it stands, such as `input.command`.
    pub place: String,
    /// As one would type it.
    pub text: String,
    words: Option<Vec<String>>,
}

impl Line {
    pub fn reading(&self) -> Reading {
        match &self.words {
            Some(words) => shell::read_words(words),
            None => shell::read(&self.text),
        }
    }
}

/// Everything that would be run, wherever the engine puts it.
pub fn commands(detail: &Map<String, Value>) -> impl Iterator<Item = Line> {
    let at_top = COMMANDS.iter().filter_map(|name| line(String::new(), name, detail.get(*name)?));
    let below = HOLDERS.iter().flat_map(|holder| {
        let fields = detail.get(*holder).and_then(Value::as_object);
        fields.into_iter().flat_map(move |fields| {
            COMMANDS.iter().filter_map(move |name| line(format!("{holder}."), name, fields.get(*name)?))
        })
    });
    let found: Vec<Line> = at_top.chain(below).collect();
    // Opencode names the commands of a line one by one; they are all there is when it leaves the line out.
    let patterns = detail.get("patterns").and_then(Value::as_array).filter(|_| found.is_empty());
    let is_shell = tool(detail).is_some_and(|name| sort_of_name(name) == Sort::Command);
    let patterns = patterns.filter(|_| is_shell).into_iter().flatten().filter_map(Value::as_str);
    let patterns: Vec<Line> =
        patterns.map(|text| Line { place: "patterns".to_owned(), text: text.to_owned(), words: None }).collect();
    found.into_iter().chain(patterns)
}

/// The files that it names, as far as engines say so, however deep they stand.
pub fn paths(detail: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    detail.iter().for_each(|(name, value)| gather_paths(name, value, &mut found));
    found
}

fn gather_paths(name: &str, value: &Value, found: &mut Vec<String>) {
    let name = name.to_ascii_lowercase().replace('_', "");
    match value {
        Value::String(text) if PATH_KEYS.contains(&name.as_str()) => found.push(text.clone()),
        Value::Object(fields) => {
            if PATH_MAPS.contains(&name.as_str()) {
                found.extend(fields.keys().cloned());
            }
            fields.iter().for_each(|(name, value)| gather_paths(name, value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| gather_paths(&name, item, found)),
        _ => {}
    }
}

fn line(holder: String, name: &str, value: &Value) -> Option<Line> {
    let place = format!("{holder}{name}");
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(Line { place, text: text.clone(), words: None }),
        Value::Array(items) if !items.is_empty() => {
            let words: Vec<String> =
                items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>()?;
            let text = words.iter().map(|word| shell::quoted(word)).collect::<Vec<_>>().join(" ");
            Some(Line { place, text, words: Some(words) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sorted(detail: Value) -> Sort {
        sort(detail.as_object().unwrap())
    }

    #[test]
    fn what_runs_something_is_a_command_however_it_is_called() {
        assert_eq!(sorted(json!({"tool_name": "Bash", "input": {"command": "ls"}})), Sort::Command);
        assert_eq!(sorted(json!({"tool_name": "mcp__shell__exec", "input": {"cmd": "ls"}})), Sort::Command);
        assert_eq!(sorted(json!({"tool_name": "Edit", "input": {"file_path": "a", "script": "ls"}})), Sort::Command);
        assert_eq!(sorted(json!({"command": ["rm", "x"]})), Sort::Command);
        assert_eq!(sorted(json!({"permission": "bash", "patterns": ["rm x"]})), Sort::Command);
        assert_eq!(sorted(json!({"tool_name": "Edit", "input": {"file_path": "a"}})), Sort::Edit);
        assert_eq!(sorted(json!({"changes": [{"path": "a"}]})), Sort::Edit);
        assert_eq!(sorted(json!({"changes": [{"path": "a"}], "grantRoot": "/"})), Sort::Other);
        assert_eq!(sorted(json!({"tool_name": "mcp__db__delete", "input": {"row_id": 7}})), Sort::Other);
    }

    #[test]
    fn every_line_is_found_also_a_second_one() {
        let detail = json!({"command": "ls", "input": {"command": "rm -rf /", "cmd": ["git", "push origin"]}});
        let found: Vec<_> = commands(detail.as_object().unwrap()).map(|line| (line.place, line.text)).collect();
        let wanted = [("command", "ls"), ("input.command", "rm -rf /"), ("input.cmd", "git 'push origin'")];
        assert_eq!(found, wanted.map(|(place, text)| (place.to_owned(), text.to_owned())));
    }
}
