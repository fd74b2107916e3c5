//! What the engines' tools and their arguments are usually called: for words to people, and for finding what may do harm
//! wherever it stands. Nothing is let pass by a name that is known here.

use serde_json::{Map, Value};

use crate::shell::CommandLine;

/// Names under which engines put what a tool is given, inside their own envelope.
const HOLDERS: [&str; 9] =
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
pub(crate) enum Sort {
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

/// A line or words that would be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    /// The field in which it stands, such as `input.command`; `None`: the asker says that it is run.
    pub place: Option<String>,
    pub line: CommandLine,
}

/// Everything in these fields that looks like something to be run, wherever engines put such things.
pub fn commands(fields: &Map<String, Value>) -> Vec<FoundLine> {
    let at_top = COMMANDS.iter().filter_map(|name| line(String::new(), name, fields.get(*name)?));
    let below = HOLDERS.iter().flat_map(|holder| {
        let fields = fields.get(*holder).and_then(Value::as_object);
        fields.into_iter().flat_map(move |fields| {
            COMMANDS.iter().filter_map(move |name| line(format!("{holder}."), name, fields.get(*name)?))
        })
    });
    at_top.chain(below).collect()
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
        Value::Array(items) => {
            // In a list every entry names its file itself.
            let name = if PATH_MAPS.contains(&name.as_str()) { "" } else { &name };
            items.iter().for_each(|item| gather_paths(name, item, found));
        }
        _ => {}
    }
}

fn line(holder: String, name: &str, value: &Value) -> Option<FoundLine> {
    CommandLine::of(value).map(|line| FoundLine { place: Some(format!("{holder}{name}")), line })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_line_is_found_also_a_second_one() {
        let detail = json!({"command": "ls", "input": {"command": "rm -rf /", "cmd": ["git", "push origin"]}});
        let found = commands(detail.as_object().unwrap()).into_iter().map(|line| (line.place, line.line.text()));
        let wanted = [("command", "ls"), ("input.command", "rm -rf /"), ("input.cmd", "git 'push origin'")];
        let wanted = wanted.map(|(place, text)| (Some(place.to_owned()), text.to_owned()));
        assert_eq!(found.collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn every_file_is_found_however_deep_and_nothing_else() {
        let found = |detail: Value| paths(detail.as_object().unwrap());
        let moved = json!({"changes": [{"path": "u", "kind": {"type": "update", "move_path": "v"}, "diff": "x"}]});
        assert_eq!(found(moved), ["v", "u"]);
        assert_eq!(found(json!({"fileChanges": {"a": {"type": "add", "content": "x"}}})), ["a"]);
        assert_eq!(found(json!({"input": {"file_path": "a"}, "grantRoot": "/", "title": "b"})), ["/", "a"]);
    }
}
