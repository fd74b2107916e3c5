//! What the engines' tools are called, and how people read them.

use serde_json::{Value, json};

use crate::event::{Action, ActionKind};
use crate::json::{shortened, text};

/// The longest title that is kept; renderers cut further.
const MAX_TITLE: usize = 2000;

/// Paths and commands as seen from the folder of the run.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    with_slash: String,
}

impl Folder {
    pub fn new(path: &std::path::Path) -> Self {
        let mut with_slash = path.to_string_lossy().into_owned();
        if !with_slash.is_empty() && !with_slash.ends_with('/') {
            with_slash.push('/');
        }
        // Everything is below the root; cutting that off would only mislead.
        Self { with_slash: if with_slash == "/" { String::new() } else { with_slash } }
    }

    pub fn path<'a>(&self, path: &'a str) -> &'a str {
        let inside = if self.with_slash.is_empty() { None } else { path.strip_prefix(&self.with_slash) };
        inside.filter(|rest| !rest.is_empty()).unwrap_or(path)
    }

    pub fn command(&self, command: &str) -> String {
        let command = shortened(command, MAX_TITLE);
        if self.with_slash.is_empty() || !command.contains(&self.with_slash) {
            return command;
        }
        command.replace(&self.with_slash, "")
    }
}

/// The action of a tool call, by the table that all engines share.
pub fn action(id: &str, name: &str, input: &Value, folder: &Folder) -> Action {
    let path = || text(input, "file_path").or_else(|| text(input, "filePath")).or_else(|| text(input, "path"));
    let path = || path().or_else(|| text(input, "notebook_path")).map(|path| folder.path(path));
    let said = |key: &str| text(input, key).filter(|text| !text.is_empty());
    let (kind, title) = match name.to_ascii_lowercase().as_str() {
        "bash" | "shell" | "killshell" => (ActionKind::Command, said("command").map(|command| folder.command(command))),
        "edit" | "write" | "notebookedit" | "multiedit" | "patch" => {
            let Some(path) = path() else { return Action::new(id, ActionKind::FileChange, name) };
            let changes = json!([{"path": path, "kind": "update"}]);
            return Action::new(id, ActionKind::FileChange, path).with("changes", changes);
        }
        "read" => (ActionKind::Tool, path().map(|path| format!("read: `{path}`"))),
        "glob" => (ActionKind::Tool, said("pattern").map(|pattern| format!("glob: `{pattern}`"))),
        word @ ("grep" | "find") => (ActionKind::Tool, said("pattern").map(|pattern| format!("{word}: {pattern}"))),
        "ls" | "list" => (ActionKind::Tool, path().map(|path| format!("ls: `{path}`"))),
        "websearch" | "web_search" => (ActionKind::WebSearch, said("query").map(str::to_owned)),
        "webfetch" | "web_fetch" => (ActionKind::WebSearch, said("url").map(str::to_owned)),
        "todowrite" => (ActionKind::Note, Some("update todos".to_owned())),
        "todoread" => (ActionKind::Note, Some("read todos".to_owned())),
        "askuserquestion" => (ActionKind::Note, Some("ask user".to_owned())),
        "task" | "agent" => (ActionKind::Subagent, said("description").or_else(|| said("prompt")).map(str::to_owned)),
        _ => (ActionKind::Tool, None),
    };
    Action::new(id, kind, shortened(&title.unwrap_or_else(|| name.to_owned()), MAX_TITLE))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn check(name: &str, input: &Value, kind: &ActionKind, title: &str) {
        let action = action("1", name, input, &Folder::new(Path::new("/r")));
        assert_eq!((&action.kind, action.title.as_str()), (kind, title), "{name}");
    }

    #[test]
    fn tools_become_actions_by_the_shared_table() {
        check("Bash", &json!({"command": "cat /r/a /r/b"}), &ActionKind::Command, "cat a b");
        check("Edit", &json!({"file_path": "/r/src/a.rs"}), &ActionKind::FileChange, "src/a.rs");
        check("read", &json!({"path": "/elsewhere/x"}), &ActionKind::Tool, "read: `/elsewhere/x`");
        check("Grep", &json!({"pattern": "fn"}), &ActionKind::Tool, "grep: fn");
        check("WebFetch", &json!({"url": "https://x"}), &ActionKind::WebSearch, "https://x");
        check("TodoWrite", &json!({}), &ActionKind::Note, "update todos");
        check("Task", &json!({"prompt": "p"}), &ActionKind::Subagent, "p");
        check("mcp__x__y", &json!({"a": 1}), &ActionKind::Tool, "mcp__x__y");
    }

    #[test]
    fn a_tool_without_its_usual_input_keeps_its_name() {
        check("Bash", &json!(null), &ActionKind::Command, "Bash");
        check("Read", &json!({"file_path": 7}), &ActionKind::Tool, "Read");
    }

    #[test]
    fn the_root_folder_shortens_nothing() {
        assert_eq!(Folder::new(Path::new("/")).path("/etc/passwd"), "/etc/passwd");
    }
}
