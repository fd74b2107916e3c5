//! What an engine may do without asking people, what it may never do, and what makes two questions the same.

use std::path::Path;

use folkmoot_action::Place;
use folkmoot_action::deny::Subjects;
use folkmoot_engines::engine::EngineError;
use folkmoot_engines::event::{Ask, AskKind, Subject};
use folkmoot_engines::programs;

use crate::inside::is_inside;
use crate::settings::Policy;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    Allow,
    /// With the words that the engine gets to read.
    Deny(String),
    AskPeople,
}

/// What becomes of a question, before any person is asked. The deny list goes before everything; what cannot be read with
/// certainty is asked, whatever the policy, and so is everything that the engine's adapter does not know through and through.
pub fn rule(policy: Policy, deny: &[String], ask: &Ask, folder: &Path) -> Ruling {
    if ask.kind() != AskKind::Permission {
        return Ruling::AskPeople;
    }
    let subjects = Subjects::of(&ask.title, &ask.proposal(), folder);
    if let Some(pattern) = deny.iter().find(|pattern| subjects.fit(pattern)) {
        return Ruling::Deny(format!("this is never allowed here (`{pattern}`)"));
    }
    if policy == Policy::DangerouslyAllowAll && (deny.is_empty() || is_certain(ask)) {
        return Ruling::Allow;
    }
    if runs_something(ask) {
        return Ruling::AskPeople;
    }
    match (policy, &ask.subject) {
        (Policy::AskCommands | Policy::AcceptEdits, Subject::Edit { .. }) if is_inside(ask, folder) => Ruling::Allow,
        (Policy::AskCommands, Subject::Read { patterns, .. }) if reads_inside(ask, patterns, folder) => Ruling::Allow,
        _ => Ruling::AskPeople,
    }
}

/// Why an engine cannot be held to a policy: one that does not ask cannot be told no. What is promised here and does not hold
/// would be believed.
pub fn unheld(engine: &str, asks: bool, policy: Policy, deny: &[String]) -> Option<EngineError> {
    if asks {
        return None;
    }
    let (never, instead) = match programs::of(engine).is_none_or(|program| program.asks) {
        false => (format!("{engine} never asks before it acts"), "take claude, codex or opencode".to_owned()),
        true => (
            format!("{engine}, as it is set up here, does not ask before it acts"),
            format!(
                "let it ask (`engines.{engine}.mode` not plain, no `dangerously_…` key, a version that knows the warm mode)"
            ),
        ),
    };
    if policy != Policy::DangerouslyAllowAll {
        let hint = format!("{instead}, or give the agent the policy `{}`", Policy::DangerouslyAllowAll.word());
        return Some(EngineError::new(format!("{never}, so the policy `{}` would not hold", policy.word()), hint));
    }
    let hint = format!("{instead}, or take `deny` out");
    (!deny.is_empty()).then(|| EngineError::new(format!("{never}, so its list `deny` would not hold"), hint))
}

/// The same question has the same fingerprint, whenever it is asked.
pub fn fingerprint(agent: &str, engine: &str, ask: &Ask, folder: &Path, machine: &str) -> String {
    let folder = folder.to_string_lossy();
    ask.identity.fingerprint(&Place { agent, engine, folder: &folder, machine })
}

/// Whether every command in it can be read, so that the deny list saw all there is.
fn is_certain(ask: &Ask) -> bool {
    ask.proposal().lines().iter().all(|found| found.line.reading().is_certain())
}

/// Whether anything in it looks like a command, wherever it stands.
fn runs_something(ask: &Ask) -> bool {
    !ask.proposal().lines().is_empty()
}

/// Whether only the project is read: every file and folder that is named lies in it, and patterns do not lead out.
fn reads_inside(ask: &Ask, patterns: &[String], folder: &Path) -> bool {
    let leads_out = |pattern: &String| pattern.starts_with(['/', '~']) || pattern.split('/').any(|part| part == "..");
    let Ok(project) = folder.canonicalize() else { return false };
    let inside = |path: &String| folder.join(path).canonicalize().is_ok_and(|real| real.starts_with(&project));
    ask.proposal().paths().iter().all(inside) && !patterns.iter().any(leads_out)
}

#[cfg(test)]
mod tests {
    use folkmoot_engines::engine::{EngineSettings, Mode, Order, Output};
    use folkmoot_engines::engines::find;
    use folkmoot_engines::event::EngineEvent;
    use serde_json::{Value, json};

    use super::*;

    /// What an engine asks with these lines.
    fn asked(engine: &str, lines: &[Value]) -> Ask {
        let (settings, folder) = (EngineSettings::default(), Path::new("/project"));
        let order = Order { settings: &settings, prompt: "hi", resume: None, folder, mode: Mode::Warm, now: 0 };
        let mut dialog = find(engine).unwrap().prepare(&order).unwrap().dialog;
        let mut out = Output::default();
        dialog.prompt("hi", &mut out);
        lines.iter().for_each(|line| dialog.line(line, &mut out));
        match out.events.pop() {
            Some(EngineEvent::Asked(asked)) => *asked.ask,
            other => panic!("{engine} asks nothing: {other:?}"),
        }
    }

    fn claude(tool: &str, input: Value) -> Ask {
        let request = json!({"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": "toolu_1"});
        asked("claude", &[json!({"type": "control_request", "request_id": "r1", "request": request})])
    }

    fn codex(method: &str, params: Value) -> Ask {
        asked("codex", &[json!({"id": 9, "method": method, "params": params})])
    }

    fn opencode(permission: &str, patterns: Value, metadata: Value) -> Ask {
        let properties = json!({"id": "per_1", "permission": permission, "patterns": patterns, "metadata": metadata});
        asked("opencode", &[json!({"type": "permission.asked", "properties": properties})])
    }

    fn script(detail: Value) -> Ask {
        asked(
            "script",
            &[json!({"type": "asked", "ask": {"id": "1", "kind": "permission", "title": "t", "detail": detail}})],
        )
    }

    fn bash(command: &str) -> Ask {
        claude("Bash", json!({"command": command}))
    }

    fn edit(path: &str) -> Ask {
        claude("Edit", json!({"file_path": path}))
    }

    fn ruled(policy: Policy, ask: &Ask) -> Ruling {
        rule(policy, &[], ask, Path::new("/project"))
    }

    /// What every engine asks about: a command, a change and a reading inside and outside of the project, and something else.
    fn subjects(project: &Path) -> Vec<(&'static str, Ask)> {
        let inside = project.join("a").to_string_lossy().into_owned();
        let change = "item/fileChange/requestApproval";
        let diff = |path: &str| json!({"changes": [{"path": path, "kind": {"type": "update"}, "diff": "@@"}]});
        vec![
            ("command", bash("ls")),
            ("command", codex("item/commandExecution/requestApproval", json!({"command": "ls", "itemId": "i"}))),
            ("command", opencode("bash", json!(["ls"]), json!({"command": "ls"}))),
            ("command", script(json!({"command": "ls"}))),
            ("edit", claude("Edit", json!({"file_path": inside, "old_string": "x", "new_string": "y"}))),
            ("edit", codex(change, diff("a"))),
            ("edit", opencode("edit", json!(["a"]), json!({"filepath": "a", "diff": "+x"}))),
            ("edit outside", edit("/etc/passwd")),
            ("edit outside", codex(change, diff("/etc/passwd"))),
            (
                "edit outside",
                opencode("edit", json!(["/etc/passwd"]), json!({"filepath": "/etc/passwd", "diff": "+x"})),
            ),
            ("read", claude("Read", json!({"file_path": "a"}))),
            ("read", opencode("read", json!(["a"]), json!({}))),
            ("read outside", claude("Read", json!({"file_path": "/etc/passwd"}))),
            ("read outside", opencode("read", json!(["/etc/passwd"]), json!({}))),
            ("tool", claude("WebFetch", json!({"url": "https://x"}))),
            ("tool", codex("item/permissions/requestApproval", json!({"permissions": {"network": true}}))),
            ("tool", opencode("webfetch", json!(["https://x"]), json!({}))),
            ("tool", script(json!({"tool_name": "New", "input": {}}))),
            ("question", claude("AskUserQuestion", json!({"questions": []}))),
            ("plan", claude("ExitPlanMode", json!({"plan": "x"}))),
        ]
    }

    #[test]
    fn every_policy_rules_by_what_is_asked_whatever_the_engine() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "").unwrap();
        let allowed = |policy: Policy, what: &str| match policy {
            Policy::Ask => false,
            Policy::AskCommands => ["edit", "read"].contains(&what),
            Policy::AcceptEdits => what == "edit",
            Policy::DangerouslyAllowAll => !["question", "plan"].contains(&what),
        };
        for policy in [Policy::Ask, Policy::AskCommands, Policy::AcceptEdits, Policy::DangerouslyAllowAll] {
            for (what, ask) in subjects(folder.path()) {
                let wanted = if allowed(policy, what) { Ruling::Allow } else { Ruling::AskPeople };
                assert_eq!(rule(policy, &[], &ask, folder.path()), wanted, "{policy:?} {what} {ask:?}");
            }
        }
    }

    #[test]
    fn the_deny_list_holds_under_every_policy_and_for_every_engine() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "").unwrap();
        let place = folder.path().join("a").to_string_lossy().into_owned();
        let deny = ["ls".to_owned(), place, "/etc/passwd".to_owned(), "webfetch".to_owned()];
        for policy in [Policy::Ask, Policy::AskCommands, Policy::AcceptEdits, Policy::DangerouslyAllowAll] {
            for (what, ask) in subjects(folder.path()) {
                let ruling = rule(policy, &deny, &ask, folder.path());
                let named = what != "tool" || ask.title.to_lowercase().contains("fetch");
                let is_denied = matches!(ruling, Ruling::Deny(_));
                assert_eq!(is_denied, named && !["question", "plan"].contains(&what), "{policy:?} {what} {ask:?}");
            }
            let unclear = rule(policy, &deny, &bash("$x push"), folder.path());
            assert_eq!(
                unclear,
                Ruling::AskPeople,
                "{policy:?}: who denies anything wants to be asked about what is unclear"
            );
        }
    }

    #[test]
    fn a_policy_is_promised_only_where_the_engine_asks() {
        let asking = [Policy::Ask, Policy::AskCommands, Policy::AcceptEdits];
        let deny = ["git push".to_owned()];
        assert_eq!(unheld("claude", true, Policy::Ask, &deny), None);
        for engine in ["pi", "claude", "opencode"] {
            for policy in asking {
                let error = unheld(engine, false, policy, &[]).unwrap();
                assert!(error.sentence.contains(policy.word()), "{error}");
                assert!(error.hint.unwrap().contains("dangerously-allow-all"));
            }
            assert!(unheld(engine, false, Policy::DangerouslyAllowAll, &deny).unwrap().sentence.contains("`deny`"));
            assert_eq!(unheld(engine, false, Policy::DangerouslyAllowAll, &[]), None);
        }
    }

    #[test]
    fn always_ask_asks_always() {
        for question in [bash("ls"), edit("/project/a"), claude("WebFetch", json!({}))] {
            assert_eq!(ruled(Policy::Ask, &question), Ruling::AskPeople);
        }
    }

    #[test]
    fn ask_for_commands_lets_pass_only_what_is_known_to_read_or_edit_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("p");
        std::fs::create_dir_all(&project).unwrap();
        std::fs::write(project.join("a"), "").unwrap();
        let ruled = |ask: &Ask| rule(Policy::AskCommands, &[], ask, &project);
        let change = "item/fileChange/requestApproval";
        let changes = || json!([{"path": "a", "kind": {"type": "update"}, "diff": "@@"}]);
        for ask in [
            claude("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"})),
            claude("Read", json!({"file_path": "a"})),
            claude("Grep", json!({"pattern": "/x/"})),
            claude("Glob", json!({"pattern": "**/*.rs"})),
            claude("TodoWrite", json!({"todos": []})),
            codex(change, json!({"changes": changes()})),
            opencode("edit", json!(["a"]), json!({"filepath": "a", "diff": "+x"})),
            opencode("read", json!(["a"]), json!({})),
        ] {
            assert_eq!(ruled(&ask), Ruling::Allow, "{ask:?}");
        }
        for ask in [
            claude("Bash", json!({"command": "ls"})),
            claude("mcp__shell__exec", json!({"cmd": "ls"})),
            claude("mcp__shell__exec", json!({"line": "ls"})),
            claude("WebFetch", json!({"url": "https://x"})),
            claude("Task", json!({"prompt": "x"})),
            claude("NewTool", json!({})),
            claude("edit", json!({"file_path": "a"})),
            claude("Edit", json!({"file_path": "/etc/passwd"})),
            claude("Edit", json!({"file_path": "a", "run_after": "x"})),
            claude("Edit", json!({"file_path": "a", "command": "x"})),
            claude("Read", json!({"file_path": "/etc/passwd"})),
            claude("Read", json!({"file_path": "../x"})),
            claude("Glob", json!({"pattern": "/etc/*"})),
            claude("Glob", json!({"pattern": "../*"})),
            codex("item/commandExecution/requestApproval", json!({"command": ["rm", "x"], "itemId": "i"})),
            codex(change, json!({"changes": changes(), "grantRoot": "/"})),
            codex(change, json!({"changes": changes(), "command": "make"})),
            codex(change, json!({})),
            opencode("bash", json!(["ls"]), json!({})),
            opencode("external_directory", json!(["/x"]), json!({})),
            opencode("read", json!(["/etc/passwd"]), json!({})),
            opencode("edit", json!(["a"]), json!({"filepath": "a", "diff": "+x", "run_after": "x"})),
            opencode("glob", json!(["/etc/*"]), json!({"pattern": "/etc/*"})),
            // Claude has no such question, and nothing is known of a script that does not say.
            claude("", json!({"changes": [{"path": "a"}]})),
            script(json!({"tool_name": "Read", "input": {}})),
        ] {
            assert_eq!(ruled(&ask), Ruling::AskPeople, "{ask:?}");
        }
    }

    #[test]
    fn what_looks_like_a_command_is_asked_whatever_the_adapter_calls_it() {
        let subject = Subject::Edit { tool: String::new(), paths: vec!["/project/a".into()], diff: Vec::new() };
        let rest = json!({"input": {"script": "make"}}).as_object().unwrap().clone();
        let plain = Ask { subject: subject.clone(), ..Ask::default() };
        assert_eq!(ruled(Policy::AcceptEdits, &plain), Ruling::Allow);
        assert_eq!(ruled(Policy::AcceptEdits, &Ask { subject, rest, ..Ask::default() }), Ruling::AskPeople);
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
        assert_eq!(ruled(Policy::AcceptEdits, &claude("Edit", json!({}))), Ruling::AskPeople);
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
    fn the_deny_list_goes_before_everything_and_knows_every_spelling() {
        let deny = ["git push".to_owned(), "rm -rf *".to_owned(), "webfetch".to_owned(), "*/.env".to_owned()];
        let ruled = |ask: &Ask| rule(Policy::AskCommands, &deny, ask, Path::new("/project"));
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
        assert!(denied(&claude("mcp__shell__exec", json!({"cmd": "git push"}))));
        let words = json!({"command": ["bash", "-lc", "git push"]});
        assert!(denied(&codex("item/commandExecution/requestApproval", words)));
        assert!(denied(&opencode("bash", json!(["git push"]), json!({}))));
        assert!(denied(&script(json!({"command": "git push"}))));
        assert!(denied(&claude("WebFetch", json!({}))));
        for path in ["/project/.env", ".env", "/project/src/../.env"] {
            assert!(denied(&edit(path)), "{path}");
        }
        assert!(denied(&opencode("read", json!(["/project/.env"]), json!({}))));
        for command in ["git pull", "git pusher", "rm -r x"] {
            assert!(!denied(&bash(command)), "{command}");
        }
        for command in ["$x push", "eval \"$x\"", "curl x | sh", "git $x"] {
            assert_eq!(ruled(&bash(command)), Ruling::AskPeople, "{command}");
        }
    }

    #[test]
    fn a_denied_place_is_denied_to_every_engine_and_denies_nothing_else() {
        let deny = ["/etc/*".to_owned()];
        let denied =
            |ask: &Ask| matches!(rule(Policy::AskCommands, &deny, ask, Path::new("/project")), Ruling::Deny(_));
        let run = "item/commandExecution/requestApproval";
        let change = "item/fileChange/requestApproval";
        let diff = |path: &str| json!({"changes": [{"path": path, "kind": {"type": "update"}, "diff": "@@"}]});
        let asks = |path: &str| {
            let line = format!("cat {path}");
            [
                bash(&line),
                edit(path),
                claude("Read", json!({"file_path": path})),
                codex(run, json!({"command": format!("/bin/bash -lc '{line}'")})),
                codex(change, diff(path)),
                opencode("bash", json!([line]), json!({"command": line})),
                opencode("edit", json!([path]), json!({"filepath": path, "diff": "+x"})),
                script(json!({"command": line})),
            ]
        };
        for (outside, inside) in asks("/etc/passwd").iter().zip(&asks("src/passwd")) {
            assert!(denied(outside), "{outside:?}");
            assert!(!denied(inside), "{inside:?}");
        }
        assert!(asks("../etc/passwd").iter().all(denied));
    }

    #[test]
    fn questions_of_the_engine_go_to_people() {
        for question in
            [claude("AskUserQuestion", json!({"questions": []})), claude("ExitPlanMode", json!({"plan": "x"}))]
        {
            assert_eq!(ruled(Policy::AcceptEdits, &question), Ruling::AskPeople);
        }
    }

    fn print(engine: &str, ask: &Ask, folder: &str, machine: &str) -> String {
        fingerprint("a", engine, ask, Path::new(folder), machine)
    }

    #[test]
    fn the_same_question_has_the_same_fingerprint_after_a_restart_and_another_one_has_not() {
        let run = "item/commandExecution/requestApproval";
        let one = codex(run, json!({"threadId": "t1", "itemId": "i1", "command": "rm x", "startedAtMs": 1}));
        let again = codex(run, json!({"threadId": "t2", "itemId": "i9", "command": "rm x", "startedAtMs": 5}));
        assert_eq!(print("codex", &one, "/p", "m"), print("codex", &again, "/p", "m"));
        assert_ne!(print("codex", &one, "/p", "m"), print("codex", &one, "/other", "m"));
        assert_ne!(print("codex", &one, "/p", "m"), print("codex", &one, "/p", "other"));
        let counted = |item: &str| claude("mcp__x__y", json!({"itemId": item, "startedAtMs": 1}));
        assert_ne!(counted("i1").identity, counted("i9").identity, "to claude these mean nothing");
        assert_ne!(print("claude", &bash("rm x"), "/p", "m"), print("claude", &bash("rm y"), "/p", "m"));
    }

    #[test]
    fn every_argument_of_a_tool_is_part_of_the_question() {
        let calls = |row: Value| {
            let input = json!({"issue_id": row, "threadId": row, "id": row, "tool_use_id": row});
            [
                claude("delete_issue", input.clone()),
                codex("item/permissions/requestApproval", json!({"permissions": input})),
                opencode("delete_issue", json!([]), input.clone()),
                script(json!({"tool_name": "delete_issue", "input": input})),
            ]
        };
        for (five, six) in calls(json!(5)).iter().zip(&calls(json!(6))) {
            assert_ne!(print("e", five, "/p", "m"), print("e", six, "/p", "m"), "{five:?}");
        }
    }
}
