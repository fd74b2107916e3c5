//! What somebody seems to ask who does not say it: agents that are not ours, and questions stored before engines said what
//! they ask. For showing and warning: a guess is never an edit or a read, which rules might let pass.

use serde_json::{Map, Value};

use crate::known::{self, Sort};
use crate::shell::CommandLine;
use crate::subject::{AskKind, Subject};

/// The subject, and what is left of the detail beside it.
pub fn guessed(kind: AskKind, detail: &Map<String, Value>) -> (Subject, Map<String, Value>) {
    let mut rest = detail.clone();
    match kind {
        AskKind::Question => (Subject::Question, without_tool(rest, "AskUserQuestion")),
        AskKind::Plan => (Subject::Plan, without_tool(rest, "ExitPlanMode")),
        AskKind::Permission => {
            let name = match known::tool_field(detail) {
                Some((field, name)) => {
                    rest.remove(field);
                    name.to_owned()
                }
                None => String::new(),
            };
            let is_shell = !name.is_empty() && known::sort_of_name(&name) == Sort::Command;
            let lines = if is_shell || name.is_empty() { take_lines(&mut rest, is_shell) } else { Vec::new() };
            match lines.is_empty() {
                true => (Subject::Tool { name, input: Value::Null }, rest),
                false => (Subject::Command { tool: name, lines }, rest),
            }
        }
    }
}

/// The heading says which tool it is.
fn without_tool(mut rest: Map<String, Value>, told: &str) -> Map<String, Value> {
    if let Some((field, _)) = known::tool_field(&rest).filter(|(_, name)| *name == told) {
        rest.remove(field);
    }
    rest
}

/// The first line; further ones stay in their fields, where they are found too.
fn take_lines(rest: &mut Map<String, Value>, is_shell: bool) -> Vec<CommandLine> {
    if let Some(known::FoundLine { place: Some(place), line }) = known::commands(rest).into_iter().next() {
        remove(rest, &place);
        return vec![line];
    }
    // Opencode names the commands of a line one by one; they are all there is when it leaves the line out.
    let patterns = rest.get("patterns").and_then(Value::as_array).filter(|_| is_shell);
    let lines: Option<Vec<CommandLine>> = patterns
        .and_then(|all| all.iter().map(|one| one.as_str().map(|text| CommandLine::Text(text.to_owned()))).collect());
    if lines.is_some() {
        rest.remove("patterns");
    }
    lines.unwrap_or_default()
}

/// Takes a field away by its place, and what held it when nothing else is in there.
fn remove(fields: &mut Map<String, Value>, place: &str) {
    let Some((holder, name)) = place.split_once('.') else {
        fields.remove(place);
        return;
    };
    if let Some(Value::Object(inner)) = fields.get_mut(holder) {
        inner.remove(name);
        if inner.is_empty() {
            fields.remove(holder);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn guess(detail: Value) -> (Subject, Value) {
        let (subject, rest) = guessed(AskKind::Permission, detail.as_object().unwrap());
        (subject, rest.into())
    }

    fn command(tool: &str, line: CommandLine) -> Subject {
        Subject::Command { tool: tool.into(), lines: vec![line] }
    }

    #[test]
    fn what_runs_something_in_a_shell_is_a_command() {
        let rm = || CommandLine::Text("rm x".into());
        let (subject, rest) = guess(json!({"tool_name": "Bash", "input": {"command": "rm x", "timeout": 1}}));
        assert_eq!((subject, rest), (command("Bash", rm()), json!({"input": {"timeout": 1}})));
        let words = CommandLine::Words(vec!["rm".into(), "x".into()]);
        assert_eq!(guess(json!({"command": ["rm", "x"]})), (command("", words), json!({})));
        assert_eq!(guess(json!({"permission": "bash", "patterns": ["rm x"]})), (command("bash", rm()), json!({})));
        let (subject, rest) = guess(json!({"command": "rm x", "input": {"command": "ls"}}));
        assert_eq!((subject, rest), (command("", rm()), json!({"input": {"command": "ls"}})), "the second one stays");
    }

    #[test]
    fn nothing_else_is_more_than_a_tool() {
        for detail in [
            json!({"tool_name": "mcp__shell__exec", "input": {"cmd": "ls"}}),
            json!({"tool_name": "Edit", "input": {"file_path": "a", "old_string": "x", "new_string": "y"}}),
            json!({"tool_name": "Read", "input": {"file_path": "a"}}),
            json!({"changes": [{"path": "a"}]}),
            json!({"changes": [{"path": "a"}], "grantRoot": "/"}),
            json!({"tool_name": "mcp__db__delete", "input": {"row_id": 7}}),
            json!({}),
        ] {
            assert!(matches!(guess(detail.clone()).0, Subject::Tool { .. }), "{detail}");
        }
    }
}
