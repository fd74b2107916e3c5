//! What people see of actions.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn question(payload: Value) -> Shown {
    Shown::of_question(false, "does something", &payload.to_string())
}

fn detail(detail: Value) -> Shown {
    question(
        json!({"engine": "claude", "kind": "permission", "detail": detail, "options": [], "folder": "/src/site", "machine": "laptop"}),
    )
}

fn parts(shown: &Shown) -> Vec<(&str, PartKind, &str)> {
    shown.parts.iter().map(|part| (part.label.as_str(), part.kind, part.text.as_str())).collect()
}

#[test]
fn a_command_is_shown_with_folder_machine_and_every_argument() {
    let shown =
        detail(json!({"tool_name": "Bash", "input": {"command": "rm -rf build", "timeout": 7, "description": "tidy"}}));
    assert_eq!(shown.heading, "Run a command");
    assert_eq!(shown.warning.as_deref(), Some("deletes files without asking"));
    assert_eq!(shown.says.as_deref(), Some("does something"));
    let wanted = [
        ("Command", PartKind::Command, "rm -rf build"),
        ("Folder", PartKind::Place, "/src/site"),
        ("Machine", PartKind::Place, "laptop"),
        ("Engine", PartKind::Place, "claude"),
        ("input.description", PartKind::Argument, "tidy"),
        ("input.timeout", PartKind::Argument, "7"),
    ];
    assert_eq!(parts(&shown), wanted);
    assert!(shown.choices.is_empty());
}

#[test]
fn nothing_hides_behind_another_field() {
    let shown = detail(
        json!({"command": "ls", "tool_name": "Edit", "input": {"command": "rm -rf /", "file_path": "a", "old_string": "x", "new_string": "y", "row_id": "*"}}),
    );
    assert_eq!(shown.heading, "Use a tool: Edit");
    let texts: Vec<_> = shown.parts.iter().map(|part| part.text.as_str()).collect();
    for text in ["ls", "rm -rf /", "-x\n+y", "*"] {
        assert!(texts.contains(&text), "{text}: {texts:?}");
    }
    assert!(shown.warning.is_some());
    let twice = Shown::of_question(false, "a", r#"{"command":"ls","command":"rm -rf /"}"#);
    assert!(twice.parts[0].text.contains("rm -rf /") && twice.parts[0].text.contains("ls"), "{twice:?}");
}

#[test]
fn changes_are_differences() {
    let edit = detail(
        json!({"tool_name": "Edit", "input": {"file_path": "src/a.rs", "old_string": "one\ntwo", "new_string": "one\nthree", "replace_all": true}}),
    );
    assert_eq!(edit.heading, "Change files");
    assert!(parts(&edit).contains(&("src/a.rs", PartKind::Diff, " one\n-two\n+three")));
    assert!(parts(&edit).contains(&("input.replace_all", PartKind::Argument, "true")));
    let write = detail(json!({"tool_name": "Write", "input": {"file_path": "b", "content": "hello\nyou\n"}}));
    assert!(parts(&write).contains(&("b", PartKind::Diff, "+hello\n+you")));
    let many = detail(
        json!({"tool_name": "MultiEdit", "input": {"file_path": "c", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]}}),
    );
    assert_eq!(many.parts.iter().filter(|part| part.kind == PartKind::Diff).count(), 2);
    let codex = detail(
        json!({"changes": [{"path": "n", "kind": {"type": "add"}, "diff": "x\n"}, {"path": "u", "kind": {"type": "update", "move_path": "v"}, "diff": "@@ -1 +1 @@\n-a\n+b"}]}),
    );
    assert_eq!(codex.heading, "Change files");
    assert!(parts(&codex).contains(&("n (new)", PartKind::Diff, "+x")));
    assert!(parts(&codex).contains(&("u → v", PartKind::Diff, "@@ -1 +1 @@\n-a\n+b")));
    let opencode =
        detail(json!({"permission": "edit", "patterns": ["x"], "metadata": {"filepath": "x", "diff": "-a\n+b"}}));
    assert!(parts(&opencode).contains(&("x", PartKind::Diff, "-a\n+b")));
}

#[test]
fn addresses_are_whole() {
    let url = format!("https://example.org/?q={}", "x".repeat(3000));
    let shown = detail(json!({"tool_name": "WebFetch", "input": {"url": url, "prompt": "read"}}));
    assert_eq!(shown.heading, "Fetch a page");
    assert!(parts(&shown).contains(&("URL", PartKind::Url, url.as_str())));
}

#[test]
fn what_hides_is_made_visible_everywhere() {
    let shown = Shown::of_question(
        false,
        "a\u{1b}[2Jb\nc",
        &json!({"detail": {"tool_name": "x\u{202e}y", "input": {"k\u{200b}": "v\u{7}", "command": "l\rs"}}, "folder": "/a\n/b", "options": ["y\u{9b}"]}).to_string(),
    );
    let all = serde_json::to_string(&shown).unwrap();
    assert!(
        !all.contains(['\u{202e}', '\u{200b}', '\u{9b}']) && !all.contains("\\u00") && !all.contains("\\r"),
        "{all}"
    );
    assert_eq!(shown.says.as_deref(), Some("a␛[2Jb␊c"));
}

#[test]
fn questions_and_plans_are_readable() {
    let payload = json!({"engine": "claude", "kind": "question", "options": ["red", "blue"], "folder": "/p", "machine": "m",
        "detail": {"tool_name": "AskUserQuestion", "input": {"questions": [{"question": "Which?", "header": "Colour", "multiSelect": false, "options": [{"label": "red", "description": "warm"}, {"label": "blue"}]}]}}});
    let shown = question(payload);
    assert_eq!((shown.heading.as_str(), shown.choices.len()), ("A question", 2));
    let text = &shown.parts.iter().find(|part| part.label == "Question").unwrap().text;
    assert_eq!(text, "Which?\nheader: Colour\n- red: warm\n- blue");
    let plan =
        question(json!({"kind": "plan", "detail": {"tool_name": "ExitPlanMode", "input": {"plan": "1. a\n2. b"}}}));
    assert_eq!(plan.heading, "Approve a plan");
    assert!(parts(&plan).contains(&("Plan", PartKind::Argument, "1. a\n2. b")));
}

#[test]
fn a_held_text_is_shown_first_and_whole() {
    let shown = Shown::of_question(
        true,
        "continue",
        &json!({"text": "@other go", "limit": "pair", "root_id": "msg_1"}).to_string(),
    );
    assert_eq!(shown.heading, "Post a text that was held back");
    assert_eq!((shown.parts[0].label.as_str(), shown.parts[0].text.as_str()), ("Text", "@other go"));
    assert_eq!((shown.says, shown.parts.len()), (None, 3));
}

#[test]
fn whatever_an_agent_sends_is_shown() {
    let plain = Shown::of_question(false, "deploy", "to production");
    assert_eq!(
        (plain.heading.as_str(), parts(&plain)),
        ("Asks for approval", vec![("Details", PartKind::Argument, "to production")])
    );
    assert!(Shown::of_question(false, "deploy", "").parts.is_empty());
    assert_eq!(parts(&question(json!({"service": "api"}))), [("service", PartKind::Argument, "api")]);
    assert!(Shown::of_question(false, "rm -rf /", "").warning.is_some());
    let odd = question(json!({"kind": "permission", "detail": "just words", "options": [1], "engine": 3}));
    let labels: Vec<_> = odd.parts.iter().map(|part| part.label.as_str()).collect();
    assert_eq!(labels, ["detail", "engine", "options"]);
}

#[test]
fn tools_by_name() {
    let shown = detail(json!({"tool_name": "mcp__db__delete", "input": {"row_id": 7}}));
    assert_eq!(shown.heading, "Use a tool: mcp__db__delete");
    assert!(parts(&shown).contains(&("input.row_id", PartKind::Argument, "7")) && shown.warning.is_some());
    let long = detail(json!({"tool_name": "x".repeat(500), "input": {}}));
    assert!(
        long.heading.chars().count() < 120
            && parts(&long).iter().any(|(label, _, text)| *label == "Tool" && text.len() == 500)
    );
}

#[test]
fn the_terminal_reads_warning_heading_words_and_parts() {
    let shown = detail(json!({"tool_name": "Bash", "input": {"command": "rm -rf a\nls"}}));
    let wanted = [
        "! deletes files without asking",
        "Run a command",
        "  says: “does something”",
        "  Command:",
        "    rm -rf a",
        "    ls",
        "  Folder: /src/site",
    ];
    assert_eq!(shown.lines()[..7], wanted);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        "[a-z]{1,6}".prop_map(|word| Value::from(format!("mark-{word}"))),
        (1000..9999_i64).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let names = prop_oneof![
            Just("input"),
            Just("command"),
            Just("tool_name"),
            Just("metadata"),
            Just("file_path"),
            Just("content"),
            Just("diff"),
            Just("old_string"),
            Just("new_string"),
            Just("changes"),
            Just("edits"),
            Just("questions"),
            Just("path"),
            Just("url"),
            Just("detail"),
            Just("kind"),
            Just("options"),
            Just("folder"),
            Just("x_id"),
            Just("type"),
            Just("label"),
            Just("question"),
            Just("subject"),
            Just("lines"),
            Just("patterns"),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(names.prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| leaves(value, found)),
        _ => {}
    }
}

/// A subject of any kind that was stored, with whatever else stands beside it.
fn subjects() -> impl Strategy<Value = Value> {
    let word = || "[a-z]{1,6}".prop_map(|word| format!("mark-{word}"));
    let words = || proptest::collection::vec(word(), 1..4);
    prop_oneof![
        (word(), words()).prop_map(|(tool, lines)| json!({"kind": "command", "tool": tool, "lines": lines})),
        words().prop_map(|line| json!({"kind": "command", "lines": [line]})),
        (word(), words(), word()).prop_map(|(file, paths, text)| {
            json!({"kind": "edit", "paths": paths, "diff": [{"file": file, "text": text}]})
        }),
        (words(), words()).prop_map(|(paths, patterns)| json!({"kind": "read", "paths": paths, "patterns": patterns})),
        (word(), values()).prop_map(|(name, input)| json!({"kind": "tool", "name": name, "input": input})),
        (word(), values()).prop_map(|(name, more)| json!({"kind": "edit", "paths": [name], "more": more})),
    ]
}

#[test]
fn what_the_asker_says_it_is_is_shown_as_that() {
    let shown =
        |subject: Value, detail: Value| question(json!({"kind": "permission", "subject": subject, "detail": detail}));
    let run =
        shown(json!({"kind": "command", "tool": "Bash", "lines": ["rm -rf x", ["git", "push"]]}), json!({"cwd": "/p"}));
    assert_eq!((run.heading.as_str(), run.warning.is_some()), ("Run a command", true));
    let wanted = [
        ("Command", PartKind::Command, "rm -rf x"),
        ("Command (2)", PartKind::Command, "git push"),
        ("Folder (cwd)", PartKind::Place, "/p"),
    ];
    assert_eq!(parts(&run), wanted);
    let diff = json!([{"file": "a (new)", "text": "+x"}]);
    let edit = shown(json!({"kind": "edit", "tool": "Write", "paths": ["a", "/etc/x"], "diff": diff}), json!({}));
    assert_eq!(edit.heading, "Change files");
    assert_eq!(parts(&edit), [("File", PartKind::Place, "/etc/x"), ("a (new)", PartKind::Diff, "+x")]);
    let read = shown(json!({"kind": "read", "tool": "Glob", "paths": ["src"], "patterns": ["*.rs"]}), json!({}));
    assert_eq!(read.heading, "Read files");
    assert_eq!(parts(&read), [("File", PartKind::Place, "src"), ("Pattern", PartKind::Argument, "*.rs")]);
    let tool = shown(json!({"kind": "tool", "name": "mcp__db__delete", "input": {"row_id": 7}}), json!({}));
    assert_eq!(tool.heading, "Use a tool: mcp__db__delete");
    assert_eq!(parts(&tool), [("input.row_id", PartKind::Argument, "7")]);
    let odd = shown(json!({"kind": "edit", "tool": "mcp__x", "paths": ["a"]}), json!({"input": {"script": "make"}}));
    assert_eq!(odd.heading, "Use a tool: mcp__x", "what runs something is no edit, whoever says so");
}

proptest! {
    #[test]
    fn every_value_of_any_subject_is_somewhere_in_what_is_shown(subject in subjects(), detail in values()) {
        let payload = json!({"kind": "permission", "subject": subject, "detail": detail});
        let shown = Shown::of_question(false, "a", &payload.to_string());
        let all = serde_json::to_string(&shown).unwrap();
        let mut wanted = Vec::new();
        leaves(&subject, &mut wanted);
        leaves(&detail, &mut wanted);
        for leaf in wanted.iter().filter(|leaf| leaf.starts_with("mark-")) {
            prop_assert!(all.contains(leaf), "{leaf} of {payload} is not in {shown:#?}");
        }
    }

    #[test]
    fn every_value_of_any_payload_is_somewhere_in_what_is_shown(payload in values()) {
        let shown = Shown::of_question(false, "a", &payload.to_string());
        let mut all = shown.parts.iter().map(|part| format!("{} {}", part.label, part.text)).collect::<Vec<_>>().join("\n");
        all.push_str(&shown.heading);
        all.push_str(&shown.choices.join(" "));
        let mut wanted = Vec::new();
        leaves(&payload, &mut wanted);
        for leaf in wanted {
            prop_assert!(all.contains(&leaf), "{leaf} of {payload} is not in {shown:#?}");
        }
    }

    #[test]
    fn any_payload_is_shown_within_bounds(action in "\\PC{0,40}", payload in "\\PC{0,300}|\\[{0,200}1?\\]{0,200}") {
        let shown = Shown::of_question(false, &action, &payload);
        let size = serde_json::to_string(&shown).unwrap().len();
        prop_assert!(size < 64 * (action.len() + payload.len()) + 1000, "{size}");
    }
}
