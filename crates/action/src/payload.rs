//! A question as it is stored with the hub: what the daemon writes, and how that and everybody else's payload is read.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::guess::guessed;
use crate::subject::{AskKind, Proposal, Subject};

/// What the daemon sends with a question.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    pub engine: &'a str,
    pub proposal: Proposal<'a>,
    pub options: &'a [String],
    pub folder: &'a str,
    pub machine: &'a str,
}

#[derive(Serialize)]
struct Record<'a> {
    engine: &'a str,
    kind: AskKind,
    subject: &'a Subject,
    detail: &'a Map<String, Value>,
    options: &'a [String],
    folder: &'a str,
    machine: &'a str,
}

impl Payload<'_> {
    pub fn text(&self) -> String {
        let Payload { engine, proposal, options, folder, machine } = *self;
        let (kind, subject, detail) = (proposal.subject.kind(), proposal.subject, proposal.rest);
        let record = Record { engine, kind, subject, detail, options, folder, machine };
        serde_json::to_string(&record).expect("a question holds nothing that JSON cannot say")
    }
}

/// A stored question, taken apart without losing anything: what is not understood is in `beside`.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub subject: Subject,
    pub detail: Map<String, Value>,
    pub options: Vec<String>,
    pub folder: Option<String>,
    pub machine: Option<String>,
    pub engine: Option<String>,
    pub beside: Map<String, Value>,
}

impl Envelope {
    pub fn read(mut fields: Map<String, Value>) -> Self {
        let kind = take_kind(&mut fields);
        let folder = take_text(&mut fields, "folder");
        let machine = take_text(&mut fields, "machine");
        let engine = take_text(&mut fields, "engine");
        let options = take_options(&mut fields);
        let said = take_subject(&mut fields, kind);
        let detail = match fields.remove("detail") {
            Some(Value::Object(detail)) => detail,
            Some(other) => {
                fields.insert("detail".to_owned(), other);
                std::mem::take(&mut fields)
            }
            None => std::mem::take(&mut fields),
        };
        let (subject, detail) = match said {
            Some(subject) => (subject, detail),
            None => guessed(kind.unwrap_or_default(), &detail),
        };
        Self { subject, detail, options, folder, machine, engine, beside: fields }
    }
}

fn take_kind(fields: &mut Map<String, Value>) -> Option<AskKind> {
    let kind: AskKind = serde_json::from_value(fields.get("kind")?.clone()).ok()?;
    fields.remove("kind");
    Some(kind)
}

/// What the asker says it is. If it does not fit to the kind, it is shown as it stands, and the kind counts.
fn take_subject(fields: &mut Map<String, Value>, kind: Option<AskKind>) -> Option<Subject> {
    let subject = Subject::stored(fields.get("subject")?)?;
    if subject.kind() != kind.unwrap_or_default() {
        return None;
    }
    fields.remove("subject");
    Some(subject)
}

fn take_text(fields: &mut Map<String, Value>, name: &str) -> Option<String> {
    fields.get(name)?.as_str()?;
    fields.remove(name)?.as_str().map(str::to_owned)
}

/// The words that are offered, if they are nothing but words.
fn take_options(fields: &mut Map<String, Value>) -> Vec<String> {
    let words = fields.get("options").and_then(Value::as_array);
    let words: Option<Vec<String>> =
        words.and_then(|all| all.iter().map(|one| one.as_str().map(str::to_owned)).collect());
    if words.is_some() {
        fields.remove("options");
    }
    words.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::shell::CommandLine;

    fn read(payload: Value) -> Envelope {
        Envelope::read(payload.as_object().unwrap().clone())
    }

    #[test]
    fn what_the_daemon_writes_is_what_is_read() {
        let subject = Subject::Command { tool: "Bash".into(), lines: vec![CommandLine::Text("rm x".into())] };
        let rest = json!({"input": {"timeout": 7}}).as_object().unwrap().clone();
        let (proposal, options) = (Proposal { subject: &subject, rest: &rest }, ["yes".to_owned()]);
        let payload = Payload { engine: "claude", proposal, options: &options, folder: "/p", machine: "m" };
        let envelope = read(serde_json::from_str(&payload.text()).unwrap());
        assert_eq!((&envelope.subject, &envelope.detail), (&subject, &rest));
        assert_eq!((envelope.options, envelope.folder), (vec!["yes".to_owned()], Some("/p".to_owned())));
        assert!(envelope.beside.is_empty());
    }

    #[test]
    fn a_subject_that_cannot_be_believed_is_shown_as_it_stands() {
        for subject in
            [json!({"kind": "question"}), json!({"kind": "edit", "paths": ["a"], "then": "rm -rf /"}), json!(7)]
        {
            let envelope = read(json!({"kind": "permission", "subject": subject, "detail": {"command": "rm x"}}));
            assert_eq!(envelope.beside["subject"], subject);
            assert!(matches!(envelope.subject, Subject::Command { .. }), "the detail says what it is");
        }
    }
}
