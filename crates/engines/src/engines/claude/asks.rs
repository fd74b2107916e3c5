//! What claude asks for: its requests `can_use_tool` as asks of the model.

use folkmoot_action::{CommandLine, lasting, named_paths, take_changes};
use serde_json::{Map, Value, json};

use super::ASKING_MODES;
use crate::event::{Ask, Detail, Subject};
use crate::json::{field, holds_only, list, options, questions, shortened, take_texts, text, words};
use crate::tools::{self, Folder};

/// What claude only counts with. What it suggests to allow for good is not part of the action either: [`offers`] says it.
const BOOKKEEPING: [&str; 4] = ["subtype", "tool_use_id", "agent_id", "permission_suggestions"];

/// Everything else that a request may say and do no more than its tool does; with any other field it is not known what it is.
const KNOWN: [&str; 15] = [
    "tool_name",
    "input",
    "blocked_path",
    "description",
    "decision_reason",
    "decision_reason_type",
    "decision_reason_code",
    "decision_reason_rule_source",
    "matched_ask_rule",
    "server_policy_ask_only",
    "classifier_approvable",
    "default_to_no",
    "requires_user_interaction",
    "display_name",
    "title",
];

/// Tools that change the files they name and do nothing else, with all that they may be given.
const EDITS: [(&str, &[&str]); 4] = [
    ("Edit", &["file_path", "old_string", "new_string", "replace_all"]),
    ("Write", &["file_path", "content"]),
    ("MultiEdit", &["file_path", "edits"]),
    ("NotebookEdit", &["notebook_path", "new_source", "cell_id", "cell_type", "edit_mode"]),
];

/// A tool that only reads files, or changes nothing but claude's own notes.
struct Reads {
    tool: &'static str,
    /// Which of its fields say where it looks: files and folders, then names with `*`.
    paths: &'static [&'static str],
    patterns: &'static [&'static str],
    others: &'static [&'static str],
}

const READS: [Reads; 7] = [
    Reads { tool: "Read", paths: &["file_path"], patterns: &[], others: &["offset", "limit", "pages"] },
    Reads { tool: "NotebookRead", paths: &["notebook_path"], patterns: &[], others: &["cell_id"] },
    Reads { tool: "Glob", paths: &["path"], patterns: &["pattern"], others: &[] },
    Reads {
        tool: "Grep",
        paths: &["path"],
        patterns: &["glob"],
        // What is searched for may begin with anything; where it is searched may not.
        others: &[
            "pattern",
            "output_mode",
            "head_limit",
            "offset",
            "multiline",
            "type",
            "context",
            "-A",
            "-B",
            "-C",
            "-n",
            "-i",
            "-o",
        ],
    },
    Reads { tool: "LS", paths: &["path"], patterns: &[], others: &["ignore"] },
    Reads { tool: "TodoRead", paths: &[], patterns: &[], others: &[] },
    Reads { tool: "TodoWrite", paths: &[], patterns: &[], others: &["todos"] },
];

/// The ask that a request is.
pub fn ask(id: &str, request: &Value, folder: &Folder) -> Ask {
    let detail = request.as_object().cloned().unwrap_or_default();
    let (tool, input) = (words(request, "tool_name").unwrap_or("a tool"), field(request, "input"));
    let (subject, rest) = subject(tool, lasting(&detail, &BOOKKEEPING));
    let title = match &subject {
        Subject::Question => questions(input),
        Subject::Plan => words(input, "plan").unwrap_or("go on with the plan").to_owned(),
        _ => format!("{tool}: {}", tools::action("", tool, input, folder).title),
    };
    let always = offers(request).into_iter().flat_map(|offer| offer.words).collect();
    let (id, title, options) = (id.to_owned(), shortened(&title, 500), options(input));
    Ask { id, subject, title, detail, rest, options, always, ..Ask::default() }.identified(&BOOKKEEPING)
}

/// What a request is about, and what is left of it beside that.
fn subject(tool: &str, mut rest: Detail) -> (Subject, Detail) {
    let known = match tool {
        "AskUserQuestion" => Some(Subject::Question),
        "ExitPlanMode" => Some(Subject::Plan),
        "Bash" => command(tool, &mut rest),
        _ => edit(tool, &mut rest).or_else(|| read(tool, &mut rest)),
    };
    let named = rest.remove("tool_name").and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default();
    let subject =
        known.unwrap_or_else(|| Subject::Tool { name: named, input: rest.remove("input").unwrap_or_default() });
    (subject, rest)
}

fn command(tool: &str, rest: &mut Detail) -> Option<Subject> {
    let line = CommandLine::of(rest.get("input")?.get("command")?)?;
    let mut input = input(rest)?;
    input.remove("command");
    put_back(rest, input);
    Some(Subject::Command { tool: tool.to_owned(), lines: vec![line] })
}

fn edit(tool: &str, rest: &mut Detail) -> Option<Subject> {
    let (_, fields) = EDITS.iter().find(|(name, _)| *name == tool)?;
    let mut input = input(rest).filter(|input| holds_only(rest, &KNOWN) && holds_only(input, fields))?;
    let mut paths = named_paths(&input);
    let diff = take_changes(&mut input);
    take_texts(&mut input, &["file_path", "notebook_path"])?;
    paths.extend(blocked(rest)?);
    put_back(rest, input);
    Some(Subject::Edit { tool: tool.to_owned(), paths, diff })
}

fn read(tool: &str, rest: &mut Detail) -> Option<Subject> {
    let reads = READS.iter().find(|reads| reads.tool == tool)?;
    let fields = [reads.paths, reads.patterns, reads.others].concat();
    let mut input = input(rest).filter(|input| holds_only(rest, &KNOWN) && holds_only(input, &fields))?;
    let mut paths = take_texts(&mut input, reads.paths)?;
    let patterns = take_texts(&mut input, reads.patterns)?;
    if paths.is_empty() && ["Read", "NotebookRead"].contains(&tool) {
        return None;
    }
    paths.extend(blocked(rest)?);
    put_back(rest, input);
    Some(Subject::Read { tool: tool.to_owned(), paths, patterns })
}

/// The file for which claude asks at all, where it says so.
fn blocked(rest: &mut Detail) -> Option<Vec<String>> {
    take_texts(rest, &["blocked_path"])
}

fn input(rest: &Detail) -> Option<Map<String, Value>> {
    rest.get("input").and_then(Value::as_object).cloned()
}

fn put_back(rest: &mut Detail, input: Map<String, Value>) {
    rest.remove("input");
    if !input.is_empty() {
        rest.insert("input".to_owned(), input.into());
    }
}

/// Something that claude offers to allow from now on.
pub struct Offer {
    pub words: Vec<String>,
    /// In claude's own words, and for this session only: nothing is written into anybody's settings.
    pub update: Value,
}

/// What "always" allows: of claude's suggestions those that can be said to people in full.
pub fn offers(request: &Value) -> Vec<Offer> {
    list(request, "permission_suggestions").iter().filter_map(offer).collect()
}

fn offer(suggestion: &Value) -> Option<Offer> {
    let mut update = suggestion.as_object()?.clone();
    update.insert("destination".to_owned(), json!("session"));
    let (fields, words): (&[&str], Vec<String>) = match text(suggestion, "type")? {
        "addRules" if text(suggestion, "behavior") == Some("allow") => {
            (&["rules", "behavior"], list(suggestion, "rules").iter().map(rule).collect::<Option<_>>()?)
        }
        "addDirectories" => {
            let folders = list(suggestion, "directories").iter();
            (
                &["directories"],
                folders.map(|folder| Some(format!("the folder {}", folder.as_str()?))).collect::<Option<_>>()?,
            )
        }
        "setMode" => {
            let mode = text(suggestion, "mode").filter(|mode| ASKING_MODES.contains(mode))?;
            (&["mode"], vec![format!("everything that the mode {mode} allows")])
        }
        _ => return None,
    };
    let plain = holds_only(&update, &[&["type", "destination"], fields].concat());
    (plain && !words.is_empty()).then(|| Offer { words, update: update.into() })
}

/// A rule as claude's settings have it: `Bash(npm run build:*)`.
fn rule(rule: &Value) -> Option<String> {
    let known = rule.as_object().is_some_and(|fields| holds_only(fields, &["toolName", "ruleContent"]));
    let tool = words(rule, "toolName").filter(|_| known)?;
    match field(rule, "ruleContent") {
        Value::Null => Some(format!("every use of {tool}")),
        content => Some(format!("{tool}({})", content.as_str()?)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use folkmoot_action::FileDiff;

    use super::*;
    use crate::testing::{assert_identity_is_the_action, assert_nothing_is_hidden};

    fn asked(request: &Value) -> Ask {
        ask("r1", request, &Folder::new(Path::new("/r")))
    }

    /// A request as claude 2.1 writes it.
    fn request(tool: &str, input: Value) -> Value {
        json!({"subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": "toolu_01", "description": "why",
               "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]})
    }

    fn subject(tool: &str, input: Value) -> Subject {
        asked(&request(tool, input)).subject
    }

    fn edit(tool: &str, path: &str, texts: &[&str]) -> Subject {
        let diff = texts.iter().map(|&text| FileDiff { file: path.into(), text: text.into() }).collect();
        Subject::Edit { tool: tool.into(), paths: vec![path.into()], diff }
    }

    fn read(tool: &str, paths: &[&str], patterns: &[&str]) -> Subject {
        let all = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Subject::Read { tool: tool.into(), paths: all(paths), patterns: all(patterns) }
    }

    #[test]
    fn each_request_is_what_it_says() {
        let line = CommandLine::Text("rm /r/x".into());
        assert_eq!(
            subject("Bash", json!({"command": "rm /r/x", "timeout": 7})),
            Subject::Command { tool: "Bash".into(), lines: vec![line] }
        );
        let replaced = json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true});
        assert_eq!(subject("Edit", replaced), edit("Edit", "a", &["-x\n+y"]));
        assert_eq!(subject("Write", json!({"file_path": "a", "content": "x"})), edit("Write", "a", &["+x"]));
        let two = json!([{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d", "replace_all": true}]);
        assert_eq!(
            subject("MultiEdit", json!({"file_path": "a", "edits": two})),
            edit("MultiEdit", "a", &["-a\n+b", "@@ everywhere @@\n-c\n+d"])
        );
        let cell = json!({"notebook_path": "n.ipynb", "new_source": "1", "cell_id": "c", "edit_mode": "insert"});
        assert_eq!(subject("NotebookEdit", cell), edit("NotebookEdit", "n.ipynb", &["+1"]));
        assert_eq!(subject("Read", json!({"file_path": "a", "limit": 9})), read("Read", &["a"], &[]));
        assert_eq!(subject("Glob", json!({"pattern": "*.rs", "path": "src"})), read("Glob", &["src"], &["*.rs"]));
        assert_eq!(subject("Grep", json!({"pattern": "/x/", "glob": "*.rs"})), read("Grep", &[], &["*.rs"]));
        assert_eq!(subject("TodoWrite", json!({"todos": []})), read("TodoWrite", &[], &[]));
        assert_eq!(subject("AskUserQuestion", json!({"questions": []})), Subject::Question);
        assert_eq!(subject("ExitPlanMode", json!({"plan": "1."})), Subject::Plan);
        let row = json!({"row_id": 7});
        assert_eq!(
            subject("mcp__db__delete", row.clone()),
            Subject::Tool { name: "mcp__db__delete".into(), input: row }
        );
    }

    #[test]
    fn what_is_not_known_through_and_through_is_a_tool() {
        for (tool, input) in [
            ("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y", "run_after": "x"})),
            ("Edit", json!({"file_path": 7})),
            ("Write", json!({"file_path": "a", "content": "x", "mode": "0777"})),
            ("Read", json!({})),
            ("Read", json!({"file_path": ["a"]})),
            ("Glob", json!({"pattern": {"x": 1}})),
            ("Bash", json!({"cmd": "ls"})),
            ("bash", json!({"command": "ls"})),
            ("edit", json!({"file_path": "a"})),
            ("KillShell", json!({"shell_id": "1"})),
            ("WebFetch", json!({"url": "https://x"})),
            ("Task", json!({"prompt": "x"})),
            ("Edit", json!(null)),
            ("Edit", json!("a")),
        ] {
            let subject = subject(tool, input.clone());
            assert!(matches!(&subject, Subject::Tool { name, .. } if name == tool), "{tool} {input}: {subject:?}");
        }
        let mut more = request("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"}));
        more["also_runs"] = json!("make");
        assert!(matches!(asked(&more).subject, Subject::Tool { .. }), "nor with a field of the request that is new");
    }

    #[test]
    fn the_file_for_which_claude_asks_is_one_of_the_files() {
        let mut request = request("Edit", json!({"file_path": "a", "old_string": "x", "new_string": "y"}));
        request["blocked_path"] = json!("/etc/x");
        let Subject::Edit { paths, .. } = asked(&request).subject else { panic!() };
        assert_eq!(paths, ["a", "/etc/x"]);
    }

    #[test]
    fn a_request_is_told_from_others_by_all_that_it_asks_and_shown_whole() {
        let mut blocked = request("Read", json!({"file_path": "a", "offset": 3}));
        blocked["blocked_path"] = json!("/etc/x");
        for request in [
            request("Bash", json!({"command": "rm x", "timeout": 7, "cmd": "git push"})),
            request("Edit", json!({"file_path": "a", "old_string": "xx", "new_string": "yy", "replace_all": true})),
            request("Write", json!({"file_path": "a", "content": "x"})),
            request(
                "mcp__db__delete",
                json!({"issue_id": 5, "tool_use_id": "t", "agent_id": 3, "deep": {"id": [1, 2]}}),
            ),
            request("AskUserQuestion", json!({"questions": [{"question": "Which?", "options": [{"label": "A"}]}]})),
            request("ExitPlanMode", json!({"plan": "1. do it"})),
            blocked,
        ] {
            assert_identity_is_the_action(&request, &BOOKKEEPING, asked);
            // The heading says which tool it is.
            let told = [&BOOKKEEPING[..], &["tool_name"]].concat();
            assert_nothing_is_hidden(&request, &told, asked);
        }
    }

    #[test]
    fn always_is_what_can_be_said_in_full_and_ends_with_the_session() {
        let offered = |suggestion: Value| {
            let offers = offers(&json!({"permission_suggestions": [suggestion]}));
            offers.into_iter().map(|offer| (offer.words, offer.update)).next()
        };
        let rules = json!([{"toolName": "Bash", "ruleContent": "npm run build:*"}, {"toolName": "Read"}]);
        let (words, update) =
            offered(json!({"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"}))
                .unwrap();
        assert_eq!(words, ["Bash(npm run build:*)", "every use of Read"]);
        assert_eq!(update["destination"], "session", "nothing is written into anybody's settings");
        let folders = json!({"type": "addDirectories", "directories": ["/x"], "destination": "session"});
        assert_eq!(offered(folders).unwrap().0, ["the folder /x"]);
        for unseen in [
            json!({"type": "addRules"}),
            json!({"type": "addRules", "rules": [], "behavior": "allow"}),
            json!({"type": "addRules", "rules": [{"toolName": "Bash", "more": 1}], "behavior": "allow"}),
            json!({"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "also": 1}),
            json!({"type": "replaceRules", "rules": [{"toolName": "Bash"}], "behavior": "allow"}),
            json!({"type": "setMode", "mode": "bypassPermissions"}),
            json!("everything"),
        ] {
            assert!(offered(unseen.clone()).is_none(), "{unseen}");
        }
    }
}
