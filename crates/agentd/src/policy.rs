//! What an engine may do without asking people, what it may never do, and what makes two questions the same.

use std::path::{Component, Path, PathBuf};

use folkmoot_action::deny::Subjects;
use folkmoot_action::{Identity, known};
use folkmoot_engines::engine::KnownQuestions;
use folkmoot_engines::event::{Ask, AskKind, Detail};
use serde_json::Value;

use crate::inside::is_inside;
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
    Edit,
    Read,
    /// Commands, and whatever is not known to be harmless.
    Other,
}

/// What becomes of a question, before any person is asked. The deny list goes before everything; what cannot be read with
/// certainty is asked, whatever the policy.
pub fn rule(policy: Policy, deny: &[String], engine: KnownQuestions, ask: &Ask, folder: &Path) -> Ruling {
    if ask.kind != AskKind::Permission {
        return Ruling::AskPeople;
    }
    let subjects = Subjects::of(&ask.title, &ask.detail, &files(ask, folder));
    if let Some(pattern) = deny.iter().find(|pattern| subjects.fit(pattern)) {
        return Ruling::Deny(format!("this is never allowed here (`{pattern}`)"));
    }
    if !subjects.are_certain() {
        return Ruling::AskPeople;
    }
    match (policy, sort(engine, ask)) {
        (Policy::AskCommands | Policy::AcceptEdits, Sort::Edit) if is_inside(ask, folder) => Ruling::Allow,
        (Policy::AskCommands, Sort::Read) if reads_inside(ask, folder) => Ruling::Allow,
        _ => Ruling::AskPeople,
    }
}

/// The same question has the same fingerprint, whenever it is asked.
pub fn fingerprint(agent: &str, engine: &str, ask: &Ask, matter: &Detail, folder: &Path, machine: &str) -> String {
    let kind = match ask.kind {
        AskKind::Permission => "permission",
        AskKind::Question => "question",
        AskKind::Plan => "plan",
    };
    let (title, options, folder) = (ask.title.as_str(), ask.options.as_slice(), folder.to_string_lossy());
    Identity { agent, engine, kind, title, detail: matter, options, folder: &folder, machine }.fingerprint()
}

/// Fields that tools which read or edit files have; with any other one it is a tool that we do not know.
const FIELDS: [&str; 32] = [
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "pattern",
    "glob",
    "include",
    "offset",
    "limit",
    "pages",
    "output_mode",
    "head_limit",
    "multiline",
    "type",
    "-A",
    "-B",
    "-C",
    "-n",
    "-i",
    "-o",
    "ignore",
    "todos",
    "old_string",
    "new_string",
    "replace_all",
    "content",
    "edits",
    "cell_id",
    "cell_type",
    "edit_mode",
    "new_source",
    "context",
];

fn sort(engine: KnownQuestions, ask: &Ask) -> Sort {
    let detail = &ask.detail;
    let given = |name: &str| detail.get(name).and_then(Value::as_object).into_iter().flat_map(|fields| fields.keys());
    let plain = given("input").all(|name| FIELDS.contains(&name.as_str()));
    match (known::tool(detail), known::sort(detail)) {
        (_, known::Sort::Command) => Sort::Other,
        (Some(name), _) if plain && engine.edits.contains(&name) => Sort::Edit,
        (Some(name), _) if plain && engine.reads.contains(&name) => Sort::Read,
        (None, known::Sort::Edit) if engine.names_changes => Sort::Edit,
        _ => Sort::Other,
    }
}

/// Whether only the project is read: every file and folder that is named lies in it, and patterns do not lead out.
fn reads_inside(ask: &Ask, folder: &Path) -> bool {
    let leads_out = |pattern: &str| pattern.starts_with(['/', '~']) || pattern.split('/').any(|part| part == "..");
    let patterns =
        ["pattern", "glob", "include"].iter().filter_map(|name| ask.detail.get("input")?.get(name)?.as_str());
    let Ok(project) = folder.canonicalize() else { return false };
    let inside = |path: &String| folder.join(path).canonicalize().is_ok_and(|real| real.starts_with(&project));
    // What is searched for may begin with anything; where it is searched may not.
    let searches = known::tool(&ask.detail).is_some_and(|name| name.eq_ignore_ascii_case("grep"));
    let mut patterns = patterns.filter(|_| !searches);
    known::paths(&ask.detail).iter().all(inside) && !patterns.any(leads_out)
}

/// The files it names, as it names them and as they are found from the root.
fn files(ask: &Ask, folder: &Path) -> Vec<String> {
    let whole = |path: &String| {
        let mut clean = PathBuf::new();
        for part in folder.join(path).components() {
            match part {
                Component::ParentDir => drop(clean.pop()),
                Component::CurDir => {}
                other => clean.push(other),
            }
        }
        clean.to_string_lossy().into_owned()
    };
    let named = known::paths(&ask.detail);
    named.iter().map(whole).chain(named.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use folkmoot_engines::engines::find;
    use serde_json::json;

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

    fn known(engine: &str) -> KnownQuestions {
        find(engine).unwrap().questions()
    }

    fn ruled(policy: Policy, ask: &Ask) -> Ruling {
        rule(policy, &[], known("claude"), ask, Path::new("/project"))
    }

    #[test]
    fn always_ask_asks_always() {
        for question in [bash("ls"), edit("/project/a"), ask(json!({"tool_name": "WebFetch"}))] {
            assert_eq!(ruled(Policy::Ask, &question), Ruling::AskPeople);
        }
    }

    #[test]
    fn ask_for_commands_lets_pass_only_what_is_known_to_read_or_edit_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("p");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::write(project.join("a"), "").unwrap();
        let ruled = |engine: &str, detail: Value| rule(Policy::AskCommands, &[], known(engine), &ask(detail), &project);
        let call = |tool: &str, input: Value| ruled("claude", json!({"tool_name": tool, "input": input}));
        for (tool, input) in [
            ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"})),
            ("Read", json!({"file_path": "a"})),
            ("Grep", json!({"pattern": "/x/"})),
            ("Glob", json!({"pattern": "**/*.rs"})),
            ("TodoWrite", json!({"todos": []})),
        ] {
            assert_eq!(call(tool, input), Ruling::Allow, "{tool}");
        }
        for (tool, input) in [
            ("Bash", json!({"command": "ls"})),
            ("mcp__shell__exec", json!({"cmd": "ls"})),
            ("mcp__shell__exec", json!({"line": "ls"})),
            ("WebFetch", json!({"url": "https://x"})),
            ("Task", json!({"prompt": "x"})),
            ("NewTool", json!({})),
            ("edit", json!({"file_path": "a"})),
            ("Edit", json!({"file_path": "/etc/passwd"})),
            ("Edit", json!({"file_path": "a", "run_after": "x"})),
            ("Edit", json!({"file_path": "a", "command": "x"})),
            ("Read", json!({"file_path": "/etc/passwd"})),
            ("Read", json!({"file_path": "../x"})),
            ("Glob", json!({"pattern": "/etc/*"})),
            ("Glob", json!({"pattern": "../*"})),
        ] {
            assert_eq!(call(tool, input.clone()), Ruling::AskPeople, "{tool} {input}");
        }
        assert_eq!(ruled("codex", json!({"command": ["rm", "x"], "itemId": "i"})), Ruling::AskPeople);
        assert_eq!(ruled("codex", json!({"changes": [{"path": "a"}]})), Ruling::Allow);
        assert_eq!(ruled("codex", json!({"changes": [{"path": "a"}], "grantRoot": "/"})), Ruling::AskPeople);
        assert_eq!(
            ruled("claude", json!({"changes": [{"path": "a"}]})),
            Ruling::AskPeople,
            "claude has no such question"
        );
        assert_eq!(ruled("opencode", json!({"permission": "bash", "patterns": ["ls"]})), Ruling::AskPeople);
        assert_eq!(
            ruled("opencode", json!({"permission": "external_directory", "patterns": ["/x"]})),
            Ruling::AskPeople
        );
        assert_eq!(
            ruled("script", json!({"tool_name": "Read", "input": {}})),
            Ruling::AskPeople,
            "nothing is known of it"
        );
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
        assert_eq!(rule(Policy::AcceptEdits, &[], known("claude"), &question, &project), Ruling::AskPeople);
        let question = edit(&project.join("new/file").to_string_lossy());
        assert_eq!(rule(Policy::AcceptEdits, &[], known("claude"), &question, &project), Ruling::Allow);
    }

    #[test]
    fn the_deny_list_goes_before_everything_and_knows_every_spelling() {
        let deny = ["git push".to_owned(), "rm -rf *".to_owned(), "webfetch".to_owned(), "*/.env".to_owned()];
        let ruled = |ask: &Ask| rule(Policy::AskCommands, &deny, known("claude"), ask, Path::new("/project"));
        let denied = |ask: &Ask| matches!(ruled(ask), Ruling::Deny(_));
        for command in [
            "git push",
            "git  push",
            "git push --force",
            "true && git push",
            "ls; rm -rf /",
            "echo `git push`",
            "env git push",
            "/usr/bin/git -C x push",
            "sh -c 'git push'",
            "bash -lc \"true; git push\"",
            "rm -fr x",
            "rm -r -f x",
            "rm --recursive --force x",
            "sudo rm -Rf x",
        ] {
            assert!(denied(&bash(command)), "{command}");
        }
        assert!(denied(&ask(json!({"tool_name": "mcp__shell__exec", "input": {"cmd": "git push"}}))));
        assert!(denied(&ask(json!({"command": ["bash", "-lc", "git push"]}))));
        assert!(denied(&ask(json!({"tool_name": "WebFetch"}))));
        for path in ["/project/.env", ".env", "/project/src/../.env"] {
            assert!(denied(&edit(path)), "{path}");
        }
        for command in ["git pull", "git pusher", "rm -r x"] {
            assert!(!denied(&bash(command)), "{command}");
        }
        for command in ["$x push", "eval \"$x\"", "curl x | sh", "git $x"] {
            assert_eq!(ruled(&bash(command)), Ruling::AskPeople, "{command}");
        }
    }

    #[test]
    fn questions_of_the_engine_go_to_people() {
        let question = Ask { kind: AskKind::Question, ..edit("/project/a") };
        assert_eq!(ruled(Policy::AcceptEdits, &question), Ruling::AskPeople);
    }

    fn print(engine: &str, ask: &Ask, folder: &str, machine: &str) -> String {
        let matter = known(engine).matter(ask);
        fingerprint("a", engine, ask, &matter, Path::new(folder), machine)
    }

    #[test]
    fn the_same_question_has_the_same_fingerprint_after_a_restart_and_another_one_has_not() {
        let one = ask(json!({"threadId": "t1", "itemId": "i1", "command": "rm x", "startedAtMs": 1}));
        let again = Ask {
            id: "2".into(),
            ..ask(json!({"threadId": "t2", "itemId": "i9", "command": "rm x", "startedAtMs": 5}))
        };
        assert_eq!(print("codex", &one, "/p", "m"), print("codex", &again, "/p", "m"));
        assert_ne!(print("codex", &one, "/p", "m"), print("codex", &one, "/other", "m"));
        assert_ne!(print("codex", &one, "/p", "m"), print("codex", &one, "/p", "other"));
        assert_ne!(
            print("claude", &one, "/p", "m"),
            print("claude", &again, "/p", "m"),
            "to claude these mean nothing"
        );
        assert_ne!(print("claude", &bash("rm x"), "/p", "m"), print("claude", &bash("rm y"), "/p", "m"));
    }

    #[test]
    fn every_argument_of_a_tool_is_part_of_the_question() {
        let call = |row: Value| ask(json!({"tool_name": "delete", "input": {"row_id": row, "threadId": row}}));
        for engine in ["claude", "codex", "opencode", "pi"] {
            assert_ne!(
                print(engine, &call(json!(7)), "/p", "m"),
                print(engine, &call(json!("*")), "/p", "m"),
                "{engine}"
            );
        }
    }
}
