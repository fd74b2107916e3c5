//! What codex asks for: the requests of its app server as asks of the model.

use folkmoot_action::{CommandLine, changed_files, lasting, named_paths};
use serde_json::{Map, Value, json};

use super::command::clean;
use crate::event::{Ask, Detail, Subject};
use crate::json::{holds_only, list, options, questions, shortened, text, words};
use crate::tools::Folder;

/// Which question, and which turn of which conversation it belongs to: new every time.
pub(super) const BOOKKEEPING: [&str; 7] =
    ["threadId", "turnId", "itemId", "approvalId", "startedAtMs", "conversationId", "callId"];

/// How a request wants to be answered.
#[derive(Clone, Copy, PartialEq)]
pub enum Request {
    Decision,
    Permissions,
    Questions,
    /// The older requests answer with other words.
    Review,
}

/// Takes the subject out of what is asked.
type SubjectOf = fn(&mut Detail) -> Option<Subject>;

/// The ask that a request is, and how it wants to be answered; `None`: nothing that we offer. `detail` is what the request
/// says, with what its item said before.
pub fn ask(id: String, method: &str, detail: Detail, folder: &Folder) -> Option<(Request, Ask)> {
    let said = Value::Object(detail.clone());
    let (request, subject_of, title): (Request, SubjectOf, String) = match method {
        "item/commandExecution/requestApproval" => {
            let line = words(&said, "command").map(|line| clean(line, list(&said, "commandActions")));
            let title = line.map_or("run a command".to_owned(), |line| format!("run `{}`", folder.command(&line)));
            (Request::Decision, command, title)
        }
        "item/fileChange/requestApproval" if detail.get("changes").is_some_and(Value::is_array) => {
            (Request::Decision, edit, format!("change {}", files(list(&said, "changes"), folder)))
        }
        "item/fileChange/requestApproval" => {
            (Request::Decision, unknown, "change files that codex does not name".to_owned())
        }
        "item/permissions/requestApproval" => (Request::Permissions, unknown, "more permissions".to_owned()),
        "item/tool/requestUserInput" => (Request::Questions, question, questions(&said)),
        "execCommandApproval" => (Request::Review, command, method.to_owned()),
        "applyPatchApproval" => (Request::Review, edit, method.to_owned()),
        _ => return None,
    };
    let title = match words(&said, "reason") {
        Some(reason) => format!("{title}: {reason}"),
        None => title,
    };
    let mut rest = lasting(&detail, &BOOKKEEPING);
    let subject = subject_of(&mut rest).unwrap_or_default();
    let always = always(request, &subject).into_iter().map(str::to_owned).collect();
    let (title, options) = (shortened(&title, 500), options(&said));
    let ask = Ask { id, subject, title, detail, rest, options, always, ..Ask::default() };
    Some((request, ask.identified(&BOOKKEEPING)))
}

/// What codex takes "for the session" to mean.
fn always(request: Request, subject: &Subject) -> Option<&'static str> {
    match (request, subject) {
        (Request::Permissions, _) => Some("these permissions"),
        (_, Subject::Command { .. }) => Some("this command in this folder"),
        (_, Subject::Edit { .. }) => Some("changes of these files"),
        _ => None,
    }
}

/// The files that are named, as people see them from the folder.
fn files(changes: &[Value], folder: &Folder) -> String {
    let names: Vec<&str> =
        changes.iter().filter_map(|change| text(change, "path")).map(|path| folder.path(path)).collect();
    if names.is_empty() { "files".to_owned() } else { names.join(", ") }
}

fn command(rest: &mut Detail) -> Option<Subject> {
    let line = match CommandLine::of(rest.get("command")?)? {
        CommandLine::Text(line) => {
            let actions = rest.get("commandActions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            CommandLine::Text(clean(&line, actions).into_owned())
        }
        words => words,
    };
    rest.remove("command");
    without_repetitions(rest, &line);
    Some(Subject::Command { tool: String::new(), lines: vec![line] })
}

/// What says the command once more, or how codex would like to be answered, is nothing to decide about.
fn without_repetitions(rest: &mut Detail, line: &CommandLine) {
    let again = json!([{"type": "unknown", "command": line.text()}]);
    for (name, nothing_new) in
        [("commandActions", again), ("kind", json!("command")), ("environmentId", json!("local"))]
    {
        if rest.get(name) == Some(&nothing_new) {
            rest.remove(name);
        }
    }
    rest.remove("availableDecisions");
    rest.remove("proposedExecpolicyAmendment");
}

/// Changes of files that are named; rights beyond them are more than an edit.
fn edit(rest: &mut Detail) -> Option<Subject> {
    let name = ["changes", "fileChanges"].into_iter().find(|name| rest.contains_key(*name))?;
    let said: Map<String, Value> =
        rest.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), value.clone())).collect();
    let diff = changed_files(&rest[name]).filter(|_| holds_only(&said, &[name, "reason", "cwd"]))?;
    let paths = named_paths(&Map::from_iter([(name.to_owned(), rest[name].clone())]));
    rest.remove(name);
    Some(Subject::Edit { tool: String::new(), paths, diff })
}

fn question(_: &mut Detail) -> Option<Subject> {
    Some(Subject::Question)
}

fn unknown(_: &mut Detail) -> Option<Subject> {
    None
}

#[cfg(test)]
mod tests {
    use folkmoot_action::FileDiff;

    use super::*;
    use crate::testing::{assert_identity_is_the_action, assert_nothing_is_hidden};

    const COMMAND: &str = "item/commandExecution/requestApproval";
    const CHANGE: &str = "item/fileChange/requestApproval";

    fn asked(method: &str, params: &Value) -> Ask {
        ask("9".into(), method, params.as_object().unwrap().clone(), &Folder::default()).unwrap().1
    }

    /// A request as the app server of codex 0.166 writes it.
    fn request(more: Value) -> Value {
        let mut params = json!({"threadId": "t", "turnId": "u", "itemId": "i", "startedAtMs": 1, "reason": "why"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    }

    fn subject(method: &str, more: Value) -> Subject {
        asked(method, &request(more)).subject
    }

    #[test]
    fn each_request_is_what_it_says() {
        let command = |line| Subject::Command { tool: String::new(), lines: vec![line] };
        let line = "/bin/bash -lc 'rm x'";
        assert_eq!(subject(COMMAND, json!({"command": line, "cwd": "/r"})), command(CommandLine::Text("rm x".into())));
        let words = ["bash", "-lc", "rm x"].map(str::to_owned).to_vec();
        assert_eq!(subject("execCommandApproval", json!({"command": words})), command(CommandLine::Words(words)));
        let changes = json!([{"path": "n", "kind": {"type": "add"}, "diff": "x\n"},
                             {"path": "u", "kind": {"type": "update", "move_path": "v"}, "diff": "@@ -1 +1 @@\n-a\n+b"}]);
        let diff = vec![
            FileDiff { file: "n (new)".into(), text: "+x".into() },
            FileDiff { file: "u → v".into(), text: "@@ -1 +1 @@\n-a\n+b".into() },
        ];
        let Subject::Edit { mut paths, diff: seen, .. } = subject(CHANGE, json!({"changes": changes})) else {
            panic!()
        };
        paths.sort();
        assert_eq!((paths, seen), (["n", "u", "v"].map(str::to_owned).to_vec(), diff));
        let old = json!({"fileChanges": {"a": {"type": "add", "content": "x"}}, "grantRoot": null});
        assert!(matches!(subject("applyPatchApproval", old), Subject::Edit { .. }));
        let questions = json!([{"id": "q", "question": "Which?", "options": ["A", {"label": "B"}]}]);
        let question = asked("item/tool/requestUserInput", &request(json!({"questions": questions})));
        assert_eq!((question.subject, question.options), (Subject::Question, vec!["A".to_owned(), "B".to_owned()]));
    }

    #[test]
    fn what_is_not_known_through_and_through_is_a_tool() {
        let changes = || json!([{"path": "a", "kind": {"type": "add"}, "diff": "x"}]);
        for (method, more) in [
            (COMMAND, json!({})),
            (COMMAND, json!({"command": ["rm", 7]})),
            (CHANGE, json!({})),
            (CHANGE, json!({"changes": []})),
            (CHANGE, json!({"changes": [{"kind": "add"}]})),
            (CHANGE, json!({"changes": changes(), "grantRoot": "/"})),
            (CHANGE, json!({"changes": changes(), "command": "make"})),
            (CHANGE, json!({"changes": changes(), "permissions": {"network": true}})),
            ("item/permissions/requestApproval", json!({"permissions": {"network": true}})),
        ] {
            let subject = subject(method, more.clone());
            assert!(matches!(&subject, Subject::Tool { .. }), "{method} {more}: {subject:?}");
        }
        assert!(ask("9".into(), "account/login", Detail::new(), &Folder::default()).is_none());
    }

    #[test]
    fn a_request_is_told_from_others_by_all_that_it_asks_and_shown_whole() {
        for (method, more) in [
            (
                COMMAND,
                json!({"command": "rm x", "cwd": "/r", "kind": "writeStdin", "environmentId": "far",
                       "commandActions": [{"type": "read", "command": "rm x", "path": "p"}]}),
            ),
            (CHANGE, json!({"changes": [{"path": "a", "kind": {"type": "update"}, "diff": "@@ -1 +1 @@"}]})),
            (CHANGE, json!({"changes": [{"path": "a", "kind": {"type": "update"}, "diff": "@@"}], "grantRoot": "/"})),
            ("item/permissions/requestApproval", json!({"permissions": {"network": true, "itemId": "x"}})),
            ("item/tool/requestUserInput", json!({"questions": [{"question": "Which?", "id": "q"}]})),
        ] {
            let request = request(more);
            assert_identity_is_the_action(&request, &BOOKKEEPING, |params| asked(method, params));
            let words: Vec<&str> = BOOKKEEPING.into_iter().chain(["changes"]).collect();
            assert_nothing_is_hidden(&request, &words, |params| asked(method, params));
        }
    }

    /// As codex 0.166.0 asks; `environmentId` and `kind` are shown when they say anything else.
    #[test]
    fn what_only_repeats_the_command_is_not_shown_again() {
        let again = json!([{"type": "unknown", "command": "touch a"}]);
        let offers = json!(["accept", "cancel"]);
        let ask = asked(
            COMMAND,
            &json!({"kind": "command", "environmentId": "local", "command": "/bin/bash -lc 'touch a'", "cwd": "/r",
                    "commandActions": again, "proposedExecpolicyAmendment": ["touch", "a"], "availableDecisions": offers}),
        );
        assert_eq!(ask.shown(None, None).lines()[2..], ["  Command: touch a", "  Folder (cwd): /r"]);
        assert_eq!(ask.detail["availableDecisions"], offers, "what codex said is kept as it said it");
    }

    #[test]
    fn always_says_what_codex_means_by_it() {
        assert_eq!(asked(COMMAND, &request(json!({"command": "ls"}))).always, ["this command in this folder"]);
        let permissions = json!({"permissions": {"network": true}});
        assert_eq!(asked("item/permissions/requestApproval", &request(permissions)).always, ["these permissions"]);
        assert!(asked(CHANGE, &request(json!({}))).always.is_empty());
    }
}
