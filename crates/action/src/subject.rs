//! What an action is, as whoever asks for it says. Rules are made on this alone; nothing in it is guessed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::changes::FileDiff;
use crate::known::{self, FoundLine};
use crate::shell::CommandLine;

/// What a question to people is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskKind {
    /// May I do this?
    #[default]
    Permission,
    /// Which of these, or what?
    Question,
    /// Shall I go on with this plan?
    Plan,
}

/// What is asked for. An adapter says `Edit` or `Read` only of what it knows through and through; whatever has a field that it
/// does not know is a `Tool`, and that is never let pass without a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// Something is run.
    Command {
        /// As the engine calls its shell; empty where it names none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tool: String,
        lines: Vec<CommandLine>,
    },
    /// These files are changed, and nothing else is done.
    Edit {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tool: String,
        paths: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        diff: Vec<FileDiff>,
    },
    /// These files are read, or the engine's own notes changed, and nothing else is done.
    Read {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tool: String,
        paths: Vec<String>,
        /// Names with `*` in them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        patterns: Vec<String>,
    },
    /// Anything else.
    Tool {
        /// Empty where the engine names none.
        name: String,
        #[serde(default, skip_serializing_if = "Value::is_null")]
        input: Value,
    },
    Question,
    Plan,
}

impl Default for Subject {
    /// Nothing is known of it.
    fn default() -> Self {
        Self::Tool { name: String::new(), input: Value::Null }
    }
}

impl Subject {
    pub fn kind(&self) -> AskKind {
        match self {
            Self::Question => AskKind::Question,
            Self::Plan => AskKind::Plan,
            Self::Command { .. } | Self::Edit { .. } | Self::Read { .. } | Self::Tool { .. } => AskKind::Permission,
        }
    }

    /// The tool as the engine calls it; empty where it names none.
    pub fn tool(&self) -> &str {
        match self {
            Self::Command { tool, .. } | Self::Edit { tool, .. } | Self::Read { tool, .. } => tool,
            Self::Tool { name, .. } => name,
            Self::Question | Self::Plan => "",
        }
    }

    /// A subject that was stored, if all of what was stored is in it: what would be lost must be shown as it is.
    pub(crate) fn stored(value: &Value) -> Option<Self> {
        let subject: Self = serde_json::from_value(value.clone()).ok()?;
        (serde_json::to_value(&subject).ok()? == *value).then_some(subject)
    }
}

/// An action that waits for a yes: what it is, and everything else that came with it.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    pub subject: &'a Subject,
    pub rest: &'a Map<String, Value>,
}

impl Proposal<'_> {
    /// Everything that would be run: what the asker says is run, and whatever else in it looks like a line.
    pub fn lines(&self) -> Vec<FoundLine> {
        let mut lines: Vec<FoundLine> = Vec::new();
        if let Subject::Command { lines: said, .. } = self.subject {
            lines.extend(said.iter().map(|line| FoundLine { place: None, line: line.clone() }));
        }
        lines.extend(self.given().iter().flat_map(known::commands));
        lines.extend(known::commands(self.rest));
        lines
    }

    /// Every file that it names, wherever it names it.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = match self.subject {
            Subject::Edit { paths, .. } | Subject::Read { paths, .. } => paths.clone(),
            _ => Vec::new(),
        };
        paths.extend(self.given().iter().flat_map(known::paths));
        paths.extend(known::paths(self.rest));
        paths
    }

    /// What an unknown tool is given, where engines put it.
    fn given(&self) -> Option<Map<String, Value>> {
        match self.subject {
            Subject::Tool { input, .. } if !input.is_null() => {
                Some(Map::from_iter([("input".to_owned(), input.clone())]))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_subject_survives_being_stored() {
        let diff = vec![FileDiff { file: "a".into(), text: "+x".into() }];
        for subject in [
            Subject::Command { tool: "Bash".into(), lines: vec![CommandLine::Text("ls".into())] },
            Subject::Command { tool: String::new(), lines: vec![CommandLine::Words(vec!["rm".into(), "a b".into()])] },
            Subject::Edit { tool: "Write".into(), paths: vec!["a".into()], diff },
            Subject::Read { tool: "Glob".into(), paths: Vec::new(), patterns: vec!["*.rs".into()] },
            Subject::Tool { name: "mcp__db__delete".into(), input: json!({"row_id": 7}) },
            Subject::Question,
            Subject::Plan,
            Subject::default(),
        ] {
            let stored = serde_json::to_value(&subject).unwrap();
            assert_eq!(Subject::stored(&stored), Some(subject), "{stored}");
        }
    }

    #[test]
    fn a_stored_subject_of_which_something_would_be_lost_is_none() {
        for stored in [
            json!({"kind": "question", "also": "rm -rf /"}),
            json!({"kind": "command", "lines": ["ls"], "then": "rm -rf /"}),
            json!({"kind": "edit", "paths": ["a"], "diff": [{"file": "a", "text": "+x", "mode": "0777"}]}),
            json!({"kind": "dance"}),
            json!("command"),
        ] {
            assert_eq!(Subject::stored(&stored), None, "{stored}");
        }
    }

    #[test]
    fn what_looks_like_a_line_or_a_file_counts_wherever_it_stands() {
        let rest = json!({"input": {"cmd": "git push"}, "metadata": {"filepath": "/etc/x"}});
        let subject = Subject::Command { tool: String::new(), lines: vec![CommandLine::Text("ls".into())] };
        let proposal = Proposal { subject: &subject, rest: rest.as_object().unwrap() };
        let lines: Vec<_> = proposal.lines().into_iter().map(|line| (line.place, line.line.text())).collect();
        assert_eq!(lines, [(None, "ls".to_owned()), (Some("input.cmd".to_owned()), "git push".to_owned())]);
        assert_eq!(proposal.paths(), ["/etc/x"]);
        let tool = Subject::Tool { name: "mcp__x".into(), input: json!({"script": "rm x", "path": "/p"}) };
        let proposal = Proposal { subject: &tool, rest: &Map::new() };
        assert_eq!((proposal.lines()[0].line.text().as_str(), proposal.paths()), ("rm x", vec!["/p".to_owned()]));
    }
}
