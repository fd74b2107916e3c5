//! What an engine may do without asking people, what it may never do, and what makes two questions the same.

use std::path::{Component, Path, PathBuf};

use folkmoot_engines::event::{Ask, AskKind};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::settings::Policy;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    Allow,
    /// With the words that the engine gets to read.
    Deny(String),
    AskPeople,
}

/// What kind of thing the engine wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Command,
    Edit,
    Other,
}

/// What becomes of a question, before any person is asked. The deny list goes before everything.
pub fn rule(policy: Policy, deny: &[String], ask: &Ask, folder: &Path) -> Ruling {
    if ask.kind != AskKind::Permission {
        return Ruling::AskPeople;
    }
    if let Some(pattern) = deny.iter().find(|pattern| subjects(ask).iter().any(|subject| fits(pattern, subject))) {
        return Ruling::Deny(format!("this is never allowed here (`{pattern}`)"));
    }
    match (policy, sort(ask)) {
        (Policy::AskCommands, Sort::Edit | Sort::Other) => Ruling::Allow,
        (Policy::AcceptEdits, Sort::Edit) if is_inside(ask, folder) => Ruling::Allow,
        _ => Ruling::AskPeople,
    }
}

/// The same question has the same fingerprint, whenever it is asked: agent, tool, arguments, folder.
pub fn fingerprint(agent: &str, ask: &Ask, folder: &Path) -> String {
    let detail = Value::Object(ask.detail.clone());
    let asked =
        json!({"agent": agent, "title": ask.title, "detail": lasting(&detail), "folder": folder.to_string_lossy()});
    Sha256::digest(asked.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Without numbers that engines give anew every time.
fn lasting(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let passing = |name: &str| {
                let name = name.to_ascii_lowercase();
                name == "id"
                    || name.ends_with("id")
                    || name.ends_with("_ids")
                    || name.ends_with("atms")
                    || name == "time"
            };
            fields
                .iter()
                .filter(|(name, _)| !passing(name))
                .map(|(name, value)| (name.clone(), lasting(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(lasting).collect(),
        other => other.clone(),
    }
}

fn tool(ask: &Ask) -> String {
    let named = ["tool_name", "tool", "permission", "type"].iter().find_map(|key| ask.detail.get(*key)?.as_str());
    named.unwrap_or_default().to_ascii_lowercase()
}

fn command(ask: &Ask) -> Option<String> {
    let input = ask.detail.get("input");
    let command = ask.detail.get("command").or_else(|| input?.get("command"))?;
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

fn sort(ask: &Ask) -> Sort {
    if command(ask).is_some() {
        return Sort::Command;
    }
    match tool(ask).as_str() {
        "bash" | "shell" | "killshell" => Sort::Command,
        "edit" | "write" | "multiedit" | "notebookedit" | "patch" | "applypatchapproval" => Sort::Edit,
        _ if ask.detail.contains_key("changes") || ask.detail.contains_key("fileChanges") => Sort::Edit,
        _ => Sort::Other,
    }
}

/// The files that a change is about, as far as the engine names them.
fn paths(ask: &Ask) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let input = ask.detail.get("input").cloned().unwrap_or_default();
    let detail = Value::Object(ask.detail.clone());
    for holder in [&input, &detail] {
        for key in ["file_path", "filePath", "path", "notebook_path"] {
            found.extend(holder[key].as_str().map(PathBuf::from));
        }
        for key in ["changes", "fileChanges"] {
            match &holder[key] {
                Value::Object(files) => found.extend(files.keys().map(PathBuf::from)),
                Value::Array(files) => {
                    found.extend(files.iter().filter_map(|file| file["path"].as_str()).map(PathBuf::from));
                }
                _ => {}
            }
        }
    }
    found
}

/// Whether every file lies below the folder; a change that names none does not count as inside.
fn is_inside(ask: &Ask, folder: &Path) -> bool {
    let paths = paths(ask);
    let plain = |path: &Path| !path.components().any(|part| part == Component::ParentDir);
    !paths.is_empty()
        && paths.iter().all(|path| {
            let whole = folder.join(path);
            plain(path) && whole.starts_with(folder) && is_really_inside(&whole, folder)
        })
}

/// A link could lead out of the project; what exists of the path is looked at.
fn is_really_inside(path: &Path, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return true };
    let nearest = path.ancestors().find_map(|part| part.canonicalize().ok());
    nearest.is_none_or(|real| real.starts_with(&folder) || folder.starts_with(&real))
}

/// What patterns are held against: the tool, the command, and both as `Tool(command)`.
fn subjects(ask: &Ask) -> Vec<String> {
    let (tool, command) = (tool(ask), command(ask).unwrap_or_default());
    let mut subjects = vec![ask.title.to_lowercase(), format!("{tool}({command})").to_lowercase()];
    // Each command of a line counts by itself, so that `true && rm -rf /` does not slip through.
    let parts = command.split(['\n', ';', '|', '&', '(', ')', '`']).map(|part| part.trim().to_lowercase());
    subjects.extend(parts.filter(|part| !part.is_empty()));
    subjects.extend(paths(ask).iter().map(|path| path.to_string_lossy().to_lowercase()));
    subjects.push(tool);
    subjects
}

/// `*` stands for anything; a pattern without one also fits what begins with it as a word.
fn fits(pattern: &str, subject: &str) -> bool {
    let pattern = pattern.trim().to_lowercase();
    if pattern.is_empty() || subject.is_empty() {
        return false;
    }
    if !pattern.contains('*') {
        return subject == pattern || subject.strip_prefix(&pattern).is_some_and(|rest| rest.starts_with(' '));
    }
    let parts: Vec<&str> = pattern.split('*').collect();
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    let Some(mut rest) = subject.strip_prefix(first) else { return false };
    for part in &parts[1..parts.len() - 1] {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(detail: Value) -> Ask {
        let detail = detail.as_object().unwrap().clone();
        Ask {
            id: "1".into(),
            kind: AskKind::Permission,
            title: "t".into(),
            detail,
            options: Vec::new(),
            withdrawn: false,
        }
    }

    fn bash(command: &str) -> Ask {
        ask(json!({"tool_name": "Bash", "input": {"command": command}}))
    }

    fn edit(path: &str) -> Ask {
        ask(json!({"tool_name": "Edit", "input": {"file_path": path}}))
    }

    fn ruled(policy: Policy, ask: &Ask) -> Ruling {
        rule(policy, &[], ask, Path::new("/project"))
    }

    #[test]
    fn always_ask_asks_always() {
        for question in [bash("ls"), edit("/project/a"), ask(json!({"tool_name": "WebFetch"}))] {
            assert_eq!(ruled(Policy::Ask, &question), Ruling::AskPeople);
        }
    }

    #[test]
    fn ask_for_commands_asks_for_commands_only() {
        assert_eq!(ruled(Policy::AskCommands, &bash("ls")), Ruling::AskPeople);
        let codex = ask(json!({"command": ["rm", "x"], "itemId": "i"}));
        assert_eq!(ruled(Policy::AskCommands, &codex), Ruling::AskPeople);
        assert_eq!(ruled(Policy::AskCommands, &edit("/elsewhere/a")), Ruling::Allow);
        assert_eq!(ruled(Policy::AskCommands, &ask(json!({"tool_name": "WebFetch"}))), Ruling::Allow);
    }

    #[test]
    fn edits_inside_the_project_are_allowed_and_nothing_else() {
        for path in ["/project/src/a.rs", "src/a.rs"] {
            assert_eq!(ruled(Policy::AcceptEdits, &edit(path)), Ruling::Allow, "{path}");
        }
        for path in ["/etc/passwd", "/project/../etc/passwd", "../x", "/projector/a"] {
            assert_eq!(ruled(Policy::AcceptEdits, &edit(path)), Ruling::AskPeople, "{path}");
        }
        assert_eq!(ruled(Policy::AcceptEdits, &bash("ls")), Ruling::AskPeople);
        assert_eq!(ruled(Policy::AcceptEdits, &ask(json!({"tool_name": "Edit"}))), Ruling::AskPeople);
    }

    #[test]
    fn a_link_does_not_lead_out_of_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let (project, outside) = (folder.path().join("p"), folder.path().join("o"));
        std::fs::create_dir_all(&project).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, project.join("link")).unwrap();
        let question = edit(&project.join("link/file").to_string_lossy());
        assert_eq!(rule(Policy::AcceptEdits, &[], &question, &project), Ruling::AskPeople);
        let question = edit(&project.join("new/file").to_string_lossy());
        assert_eq!(rule(Policy::AcceptEdits, &[], &question, &project), Ruling::Allow);
    }

    #[test]
    fn the_deny_list_goes_before_everything_and_looks_at_every_command_of_a_line() {
        let deny = ["git push".to_owned(), "rm -rf *".to_owned(), "webfetch".to_owned(), "*/.env".to_owned()];
        let denied =
            |ask: &Ask| matches!(rule(Policy::AskCommands, &deny, ask, Path::new("/project")), Ruling::Deny(_));
        for command in ["git push", "git push --force", "true && git push", "ls; rm -rf /", "echo `git push`"] {
            assert!(denied(&bash(command)), "{command}");
        }
        assert!(denied(&ask(json!({"tool_name": "WebFetch"}))) && denied(&edit("/project/.env")));
        for command in ["git pull", "git pusher", "rm -r x"] {
            assert!(!denied(&bash(command)), "{command}");
        }
    }

    #[test]
    fn questions_of_the_engine_go_to_people() {
        let question = Ask { kind: AskKind::Question, ..edit("/project/a") };
        assert_eq!(ruled(Policy::AcceptEdits, &question), Ruling::AskPeople);
    }

    #[test]
    fn the_same_question_has_the_same_fingerprint_after_a_restart_and_another_one_has_not() {
        let folder = Path::new("/project");
        let one = ask(json!({"threadId": "t1", "itemId": "i1", "command": "rm x", "startedAtMs": 1}));
        let again = Ask {
            id: "2".into(),
            ..ask(json!({"threadId": "t2", "itemId": "i9", "command": "rm x", "startedAtMs": 5}))
        };
        assert_eq!(fingerprint("a", &one, folder), fingerprint("a", &again, folder));
        assert_ne!(fingerprint("a", &one, folder), fingerprint("b", &one, folder));
        assert_ne!(fingerprint("a", &one, folder), fingerprint("a", &one, Path::new("/other")));
        assert_ne!(fingerprint("a", &bash("rm x"), folder), fingerprint("a", &bash("rm y"), folder));
    }
}
