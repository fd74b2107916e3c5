//! A question of an engine to people: what it wants to do, said by its adapter, and what people say to it.

pub use folkmoot_action::{AskKind, Identity, Subject};
use folkmoot_action::{LocalQuestion, Proposal, Shown, guessed, lasting};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Detail;

/// A question of the engine to people.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Record", into = "Record")]
pub struct Ask {
    pub id: String,
    /// What it wants to do.
    pub subject: Subject,
    /// The same whenever the same is asked, and never that of something else.
    pub identity: Identity,
    /// In the engine's words, for one line.
    pub title: String,
    /// What the engine said, exactly as it said it.
    pub detail: Detail,
    /// What else it said of it: all that is neither in the subject nor the engine's own bookkeeping.
    pub rest: Detail,
    /// Words that the engine offers as answers; empty: allow or deny, or free text.
    pub options: Vec<String>,
    /// What [`AskAnswer::AllowAlways`] would allow for the rest of the session; empty: no more than this once.
    pub always: Vec<String>,
    /// The engine no longer waits for an answer.
    pub withdrawn: bool,
}

impl Ask {
    /// The engine no longer waits for an answer to this.
    pub fn withdrawn(id: impl Into<String>) -> Self {
        Self { id: id.into(), withdrawn: true, ..Self::default() }
    }

    /// With its identity: everything that the engine said but the fields that only count. These are looked for at the top of
    /// what it said; inside what a tool is given, every field is part of the action.
    #[must_use]
    pub fn identified(mut self, bookkeeping: &[&str]) -> Self {
        let asked = lasting(&self.detail, bookkeeping);
        self.identity = Identity::of(self.kind(), &self.title, &asked, &self.options);
        self
    }

    pub fn kind(&self) -> AskKind {
        self.subject.kind()
    }

    pub fn proposal(&self) -> Proposal<'_> {
        Proposal { subject: &self.subject, rest: &self.rest }
    }

    /// How much there is to show.
    pub fn shown_bytes(&self) -> usize {
        let all = (&self.subject, &self.rest, &self.title, &self.options);
        serde_json::to_string(&all).map_or(usize::MAX, |text| text.len())
    }

    /// As people see it, here and everywhere else.
    pub fn shown(&self, folder: Option<&str>, machine: Option<&str>) -> Shown {
        let (proposal, options) = (self.proposal(), self.options.as_slice());
        Shown::of(&LocalQuestion { proposal, says: &self.title, options, folder, machine })
    }
}

/// An ask as it is written. Older ones, and those of scripts, say neither subject nor identity.
#[derive(Serialize, Deserialize)]
struct Record {
    id: String,
    kind: AskKind,
    title: String,
    #[serde(default)]
    detail: Detail,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<Subject>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identity: Option<Identity>,
    #[serde(default, skip_serializing_if = "Detail::is_empty")]
    rest: Detail,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    always: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    withdrawn: bool,
}

impl From<Record> for Ask {
    fn from(record: Record) -> Self {
        let Record { id, kind, title, detail, options, subject, identity, rest, always, withdrawn } = record;
        let (subject, rest) = match subject {
            Some(subject) => (subject, rest),
            None => guessed(kind, &detail),
        };
        let ask = Self { id, subject, identity: Identity::default(), title, detail, rest, options, always, withdrawn };
        match identity {
            Some(identity) => Self { identity, ..ask },
            None => ask.identified(&[]),
        }
    }
}

impl From<Ask> for Record {
    fn from(ask: Ask) -> Self {
        let kind = ask.kind();
        let Ask { id, subject, identity, title, detail, rest, options, always, withdrawn } = ask;
        let (subject, identity) = ((!withdrawn).then_some(subject), (!withdrawn).then_some(identity));
        Self { id, kind, title, detail, options, subject, identity, rest, always, withdrawn }
    }
}

/// What people say to an [`Ask`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum AskAnswer {
    /// Yes, this once; `input` replaces what the engine wanted to do, where it takes that.
    Allow {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
    },
    /// Yes, also for the rest of the session: what [`Ask::always`] says, and no more.
    AllowAlways,
    /// No, and why; `stop` also ends the turn.
    Deny {
        #[serde(default)]
        note: String,
        #[serde(default)]
        stop: bool,
    },
    /// The answers to a question, in the order of its parts.
    Reply { answers: Vec<String> },
}

#[cfg(test)]
mod tests {
    use folkmoot_action::CommandLine;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_ask_survives_its_json_and_keeps_the_fields_of_the_document() {
        let detail = json!({"itemId": "i", "command": "rm x"}).as_object().unwrap().clone();
        let subject = Subject::Command { tool: String::new(), lines: vec![CommandLine::Text("rm x".into())] };
        let ask =
            Ask { id: "1".into(), title: "run".into(), subject, detail, ..Ask::default() }.identified(&["itemId"]);
        let line = serde_json::to_value(&ask).unwrap();
        for (name, value) in [("id", json!("1")), ("kind", json!("permission")), ("title", json!("run"))] {
            assert_eq!(line[name], value);
        }
        assert_eq!(line["detail"], json!({"itemId": "i", "command": "rm x"}));
        assert_eq!(serde_json::from_value::<Ask>(line).unwrap(), ask);
        let gone = serde_json::to_value(Ask::withdrawn("1")).unwrap();
        let wanted = json!({"id": "1", "kind": "permission", "title": "", "detail": {}, "withdrawn": true});
        assert_eq!(gone, wanted);
    }

    #[test]
    fn an_ask_that_was_stored_before_engines_said_what_they_ask_is_read() {
        let old = json!({"id": "1", "kind": "permission", "title": "t", "detail": {"tool_name": "Bash", "input": {"command": "rm x"}}});
        let ask: Ask = serde_json::from_value(old).unwrap();
        assert!(matches!(&ask.subject, Subject::Command { tool, .. } if tool == "Bash"), "{ask:?}");
        assert_eq!(ask.shown(None, None).parts[0].text, "rm x");
        let old = json!({"id": "1", "kind": "permission", "title": "t", "detail": {"tool_name": "Edit", "input": {"file_path": "a"}}});
        let ask: Ask = serde_json::from_value(old).unwrap();
        assert!(matches!(ask.subject, Subject::Tool { .. }), "what is guessed is never let pass");
    }
}
