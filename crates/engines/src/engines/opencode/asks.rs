//! What opencode asks for: its permissions and questions as asks of the model.

use folkmoot_action::{CommandLine, lasting, named_paths, take_changes};
use serde_json::{Map, Value};

use crate::event::{Ask, Detail, Subject};
use crate::json::{field, holds_only, list, options, questions, shortened, take_texts, words};

/// Which question, and which call of which message in which session it belongs to: new every time.
const BOOKKEEPING: [&str; 6] = ["id", "sessionID", "messageID", "callID", "time", "tool"];

/// Everything else that a permission may say and do no more than its tool does.
const KNOWN: [&str; 7] = ["permission", "type", "patterns", "pattern", "metadata", "always", "title"];

/// Where it stands what a permission is for.
struct Reads {
    permission: &'static str,
    /// The patterns are the files themselves.
    patterns_are_paths: bool,
    paths: &'static [&'static str],
    patterns: &'static [&'static str],
    others: &'static [&'static str],
}

const READS: [Reads; 6] = [
    Reads {
        permission: "read",
        patterns_are_paths: true,
        paths: &["filepath", "filePath"],
        patterns: &[],
        others: &[],
    },
    Reads { permission: "list", patterns_are_paths: true, paths: &["path"], patterns: &[], others: &[] },
    Reads { permission: "glob", patterns_are_paths: false, paths: &["path"], patterns: &["pattern"], others: &[] },
    // What is searched for may begin with anything; where it is searched may not.
    Reads {
        permission: "grep",
        patterns_are_paths: false,
        paths: &["path"],
        patterns: &["include"],
        others: &["pattern"],
    },
    Reads { permission: "todoread", patterns_are_paths: false, paths: &[], patterns: &[], others: &[] },
    Reads { permission: "todowrite", patterns_are_paths: false, paths: &[], patterns: &[], others: &["todos"] },
];

/// The ask that a permission is.
pub fn permission(id: &str, properties: &Value) -> Ask {
    let detail = properties.as_object().cloned().unwrap_or_default();
    let bookkeeping = bookkeeping(&detail);
    let (subject, rest) = subject(lasting(&detail, &bookkeeping));
    let what = words(properties, "permission").or_else(|| words(properties, "type")).unwrap_or("permission");
    let title = words(properties, "title").map_or_else(|| format!("{what}: {}", deed(properties)), str::to_owned);
    let always = always(properties).into_iter().map(|pattern| format!("{what}: {pattern}")).collect();
    let (id, title) = (id.to_owned(), shortened(title.trim(), 500));
    Ask { id, subject, title, detail, rest, always, ..Ask::default() }.identified(&bookkeeping)
}

/// What it is about, in one line: patterns are only what would be remembered.
fn deed(properties: &Value) -> String {
    let metadata = field(properties, "metadata");
    let named = ["command", "filepath", "url"].iter().find_map(|name| words(metadata, name));
    let patterns = || list(properties, "patterns").iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
    named.map_or_else(patterns, str::to_owned)
}

/// The ask that a question is.
pub fn question(id: &str, properties: &Value) -> Ask {
    let detail = properties.as_object().cloned().unwrap_or_default();
    let bookkeeping = bookkeeping(&detail);
    let (subject, rest) = (Subject::Question, lasting(&detail, &bookkeeping));
    let (id, title, options) = (id.to_owned(), shortened(questions(properties).trim(), 500), options(properties));
    Ask { id, subject, title, detail, rest, options, ..Ask::default() }.identified(&bookkeeping)
}

/// `tool` holds the numbers of the message and the call; if it ever is anything else, it is part of what is asked.
fn bookkeeping(detail: &Detail) -> Vec<&'static str> {
    let counts = |tool: &Value| tool.as_object().is_some_and(|ids| holds_only(ids, &["messageID", "callID"]));
    let tool_counts = detail.get("tool").is_some_and(counts);
    BOOKKEEPING.into_iter().filter(|name| *name != "tool" || tool_counts).collect()
}

/// What "always" allows: the patterns that opencode names for it, in older versions the ones that it asks for.
fn always(properties: &Value) -> Vec<String> {
    let of = |name: &str| match properties.get(name) {
        Some(Value::String(pattern)) => vec![pattern.clone()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    if properties.get("permission").is_some() { of("always") } else { of("pattern") }
}

/// What a permission is for, and what is left of it beside that.
fn subject(mut rest: Detail) -> (Subject, Detail) {
    let field = ["permission", "type"].into_iter().find(|name| rest.get(*name).is_some_and(Value::is_string));
    let name = field.and_then(|field| rest[field].as_str()).unwrap_or_default().to_owned();
    let known = match name.as_str() {
        "bash" => command(&name, &mut rest),
        "edit" | "write" | "patch" | "multiedit" => edit(&name, &mut rest),
        _ => read(&name, &mut rest),
    };
    if let Some(field) = field {
        rest.remove(field);
    }
    (known.unwrap_or(Subject::Tool { name, input: Value::Null }), rest)
}

/// The line; the commands in it one by one where opencode leaves the line out.
fn command(tool: &str, rest: &mut Detail) -> Option<Subject> {
    let mut metadata = metadata(rest);
    let line = metadata.get("command").and_then(CommandLine::of);
    let lines = match line {
        Some(line) => {
            metadata.remove("command");
            put_back(rest, metadata);
            vec![line]
        }
        None => {
            let patterns = rest.get("patterns").and_then(Value::as_array)?;
            let lines = patterns.iter().map(|one| one.as_str().map(|text| CommandLine::Text(text.to_owned())));
            let lines: Vec<CommandLine> = lines.collect::<Option<_>>()?;
            rest.remove("patterns");
            lines
        }
    };
    (!lines.is_empty()).then(|| Subject::Command { tool: tool.to_owned(), lines })
}

fn edit(tool: &str, rest: &mut Detail) -> Option<Subject> {
    let mut metadata = metadata(rest);
    if !holds_only(rest, &KNOWN) || !holds_only(&metadata, &["filepath", "filePath", "diff"]) {
        return None;
    }
    let paths = named_paths(&metadata);
    let diff = take_changes(&mut metadata);
    take_texts(&mut metadata, &["filepath", "filePath"])?;
    put_back(rest, metadata);
    Some(Subject::Edit { tool: tool.to_owned(), paths, diff })
}

fn read(tool: &str, rest: &mut Detail) -> Option<Subject> {
    let reads = READS.iter().find(|reads| reads.permission == tool)?;
    let mut metadata = metadata(rest);
    let fields = [reads.paths, reads.patterns, reads.others].concat();
    if !holds_only(rest, &KNOWN) || !holds_only(&metadata, &fields) {
        return None;
    }
    let mut paths = take_texts(&mut metadata, reads.paths)?;
    let patterns = take_texts(&mut metadata, reads.patterns)?;
    if reads.patterns_are_paths {
        let named = rest.get("patterns").and_then(Value::as_array)?;
        paths.extend(named.iter().map(|path| path.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?);
        if paths.is_empty() {
            return None;
        }
        rest.remove("patterns");
    }
    put_back(rest, metadata);
    Some(Subject::Read { tool: tool.to_owned(), paths, patterns })
}

fn metadata(rest: &Detail) -> Map<String, Value> {
    rest.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn put_back(rest: &mut Detail, metadata: Map<String, Value>) {
    if rest.get("metadata").is_some_and(Value::is_object) {
        rest.remove("metadata");
    }
    if !metadata.is_empty() {
        rest.insert("metadata".to_owned(), metadata.into());
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_action::FileDiff;
    use serde_json::json;

    use super::*;
    use crate::testing::{assert_identity_is_the_action, assert_nothing_is_hidden};

    fn asked(properties: &Value) -> Ask {
        permission("per_1", properties)
    }

    /// A permission as the server of opencode 1.18 writes it.
    fn request(permission: &str, patterns: &[&str], metadata: Value) -> Value {
        json!({"id": "per_1", "sessionID": "ses_1", "permission": permission, "patterns": patterns, "metadata": metadata,
               "always": ["*"], "tool": {"messageID": "msg_1", "callID": "call_1"}})
    }

    fn subject(permission: &str, patterns: &[&str], metadata: Value) -> Subject {
        asked(&request(permission, patterns, metadata)).subject
    }

    fn read(tool: &str, paths: &[&str], patterns: &[&str]) -> Subject {
        let all = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Subject::Read { tool: tool.into(), paths: all(paths), patterns: all(patterns) }
    }

    #[test]
    fn each_permission_is_what_it_says() {
        let lines = |lines: &[&str]| Subject::Command {
            tool: "bash".into(),
            lines: lines.iter().map(|&line| CommandLine::Text(line.into())).collect(),
        };
        assert_eq!(subject("bash", &["rm *"], json!({"command": "rm x && ls"})), lines(&["rm x && ls"]));
        assert_eq!(subject("bash", &["rm x", "ls"], json!({})), lines(&["rm x", "ls"]));
        let diff = vec![FileDiff { file: "/r/x".into(), text: "-a\n+b".into() }];
        assert_eq!(
            subject("edit", &["x"], json!({"filepath": "/r/x", "diff": "-a\n+b"})),
            Subject::Edit { tool: "edit".into(), paths: vec!["/r/x".into()], diff }
        );
        assert_eq!(subject("read", &["/etc/passwd"], json!({})), read("read", &["/etc/passwd"], &[]));
        assert_eq!(subject("list", &["src"], json!({"path": "src"})), read("list", &["src", "src"], &[]));
        assert_eq!(
            subject("glob", &["*.rs"], json!({"pattern": "*.rs", "path": "/r"})),
            read("glob", &["/r"], &["*.rs"])
        );
        assert_eq!(
            subject("grep", &["/x/"], json!({"pattern": "/x/", "include": "*.rs"})),
            read("grep", &[], &["*.rs"])
        );
        assert_eq!(subject("todowrite", &["*"], json!({})), read("todowrite", &[], &[]));
        let old =
            json!({"id": "per_1", "type": "bash", "pattern": "rm *", "title": "rm x", "metadata": {"command": "rm x"}});
        assert_eq!(asked(&old).subject, lines(&["rm x"]));
        assert_eq!(question("q", &json!({"questions": [{"question": "Which?"}]})).subject, Subject::Question);
    }

    #[test]
    fn what_is_not_known_through_and_through_is_a_tool() {
        for (permission, patterns, metadata) in [
            ("edit", &["a"][..], json!({"filepath": "a", "diff": "+x", "run_after": "x"})),
            ("edit", &["a"], json!({"filepath": 7})),
            ("read", &[], json!({})),
            ("read", &["a"], json!({"command": "ls"})),
            ("external_directory", &["/x"], json!({})),
            ("webfetch", &["https://x"], json!({"url": "https://x"})),
            ("Edit", &["a"], json!({"filepath": "a"})),
            ("task", &["x"], json!({})),
        ] {
            let subject = subject(permission, patterns, metadata.clone());
            assert!(matches!(&subject, Subject::Tool { .. }), "{permission} {metadata}: {subject:?}");
        }
        let mut more = request("edit", &["a"], json!({"filepath": "a", "diff": "+x"}));
        more["alsoRuns"] = json!("make");
        assert!(matches!(asked(&more).subject, Subject::Tool { .. }));
    }

    #[test]
    fn a_permission_is_told_from_others_by_all_that_it_asks_and_shown_whole() {
        for request in [
            request("bash", &["rm *"], json!({"command": "rm x"})),
            request("edit", &["a"], json!({"filepath": "a", "diff": "+x"})),
            request("mcp_delete", &["*"], json!({"issue_id": 5, "id": 7, "time": 9})),
            request("read", &["/etc/passwd"], json!({})),
        ] {
            assert_identity_is_the_action(&request, &BOOKKEEPING, asked);
            let told = [&BOOKKEEPING[..], &["permission"]].concat();
            assert_nothing_is_hidden(&request, &told, asked);
        }
        let named = |tool: &str| asked(&json!({"permission": "edit", "patterns": [], "tool": tool})).identity;
        assert_ne!(named("a"), named("b"), "a tool with a name is no bookkeeping");
    }

    #[test]
    fn always_is_the_patterns_that_opencode_names_for_it() {
        let mut git = request("bash", &["git push"], json!({"command": "git push"}));
        git["always"] = json!(["git push *"]);
        assert_eq!(asked(&git).always, ["bash: git push *"]);
        git.as_object_mut().unwrap().remove("always");
        assert!(asked(&git).always.is_empty());
    }
}
