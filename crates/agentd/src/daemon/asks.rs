//! Questions of engines: ruled by the agent's policy, else put to people as an approval, whose decision goes back.
//!
//! The hub knows a question by its fingerprint, so asking again is always right: what is still open stays one question, and
//! what was decided meanwhile, also while nobody waited for it, is answered with that decision, once.

use folkmoot_action::{Payload, too_large, visible};
use folkmoot_clients::lark::CallError;
use folkmoot_engines::event::{Ask, AskAnswer, AskKind};
use folkmoot_wire::lark::{ApprovalAnswer, ApprovalKind, ApprovalRequest, ApprovalResult, ApprovalStatus, Carried};
use serde_json::value::to_raw_value;

use super::{Daemon, DaemonEvent, Ticket};
use crate::policy::{self, Ruling};

/// The hub's own limit, with room for the sign that more was said.
const MAX_ACTION_CHARS: usize = 480;

/// A question that waits for people.
pub(crate) struct Open {
    ask: Ask,
    /// What the hub calls it, once it has it.
    approval: Option<String>,
    /// The hub is being asked. One question at a time: a second one behind the decision would be a new question.
    asking: bool,
    /// Something happened meanwhile that makes it worth asking once more, if the answer is that people still think.
    again: bool,
}

impl Daemon {
    pub(super) async fn asked(&mut self, ticket: Ticket, ask: Ask) {
        let Some(live) = self.live.get_mut(&ticket) else { return };
        let spec = &live.agent.spec;
        match policy::rule(spec.policy, &spec.deny, &ask, &live.folder) {
            Ruling::Allow => self.answer(ticket, ask.id, AskAnswer::Allow { input: None }),
            Ruling::Deny(note) => self.answer(ticket, ask.id, AskAnswer::Deny { note, stop: false }),
            Ruling::AskPeople => {
                let id = ask.id.clone();
                live.asks.insert(id.clone(), Open { ask, approval: None, asking: false, again: false });
                self.ask_people(ticket, &id);
            }
        }
    }

    /// Puts a question to people; the hub's answer comes as an event.
    fn ask_people(&mut self, ticket: Ticket, id: &str) {
        let Some(live) = self.live.get_mut(&ticket) else { return };
        let (Some(open), Some(run)) = (live.asks.get_mut(id), &live.run) else { return };
        if open.asking {
            open.again = true;
            return;
        }
        let (machine, folder) = (&self.settings.machine, live.folder.to_string_lossy());
        let (proposal, options) = (open.ask.proposal(), open.ask.options.as_slice());
        let payload = Payload { engine: &live.engine, proposal, options, folder: &folder, machine }.text();
        if let Some(note) = too_large(payload.len()) {
            return self.decided(ticket, id, AskAnswer::Deny { note, stop: false });
        }
        (open.asking, open.again) = (true, false);
        let fingerprint = policy::fingerprint(&live.agent.id, &live.engine, &open.ask, &live.folder, machine);
        let request = ApprovalRequest {
            channel_id: Some((&run.channel).into()),
            action: action_of(&open.ask),
            payload: to_raw_value(&payload).ok(),
            kind: ApprovalKind::Permission,
            fingerprint: Some(fingerprint),
            run_id: Some((&run.id).into()),
            message_id: live.wake.message_ids.first().map(Into::into),
        };
        let request = Carried { agent_id: (&live.agent.id).into(), request };
        let (link, events, ask) = (self.link.clone(), self.events.clone(), id.to_owned());
        tokio::spawn(async move {
            let answer = link.call(&request).await;
            let _ = events.send(DaemonEvent::Asked { ticket, ask, answer });
        });
    }

    pub(super) async fn ask_answered(&mut self, ticket: Ticket, id: &str, answer: Result<ApprovalAnswer, CallError>) {
        let Some(open) = self.live.get_mut(&ticket).and_then(|live| live.asks.get_mut(id)) else { return };
        open.asking = false;
        let again = open.again;
        match answer {
            // Asked again with the next connection.
            Err(CallError::Lost) if !again => {}
            Err(CallError::Lost) => self.ask_people(ticket, id),
            Err(CallError::Refused { text, .. }) => {
                let note = format!("nobody could be asked: {text}");
                self.decided(ticket, id, AskAnswer::Deny { note, stop: false });
            }
            Ok(said) => match said.status {
                ApprovalStatus::Pending => {
                    open.approval = Some(said.id.into());
                    if again {
                        self.ask_people(ticket, id);
                    }
                }
                status @ (ApprovalStatus::Approved | ApprovalStatus::Denied) => {
                    let answer = answer_of(&open.ask, status == ApprovalStatus::Approved, said.note());
                    self.decided(ticket, id, answer);
                }
            },
        }
    }

    /// `approval.result`: asking again takes the decision up, so that it counts once.
    pub(super) fn approval_decided(&mut self, result: &ApprovalResult) {
        let waiting = |open: &Open| open.approval.as_deref() == Some(&*result.id);
        let found = self.live.iter().find_map(|(ticket, live)| {
            let (id, _) = live.asks.iter().find(|(_, open)| waiting(open))?;
            Some((*ticket, id.clone()))
        });
        match found {
            Some((ticket, id)) => self.ask_people(ticket, &id),
            // It may be the decision of a question whose receipt is still on its way.
            None => self.being_asked().for_each(|open| open.again = true),
        }
    }

    fn being_asked(&mut self) -> impl Iterator<Item = &mut Open> {
        self.live.values_mut().flat_map(|live| live.asks.values_mut()).filter(|open| open.asking)
    }

    /// After a reconnect: what was decided meanwhile is learned, what the hub did not get is asked.
    pub(super) fn ask_again(&mut self) {
        let asks = self.live.iter().flat_map(|(ticket, live)| live.asks.keys().map(|id| (*ticket, id.clone())));
        for (ticket, id) in asks.collect::<Vec<_>>() {
            self.ask_people(ticket, &id);
        }
    }

    pub(super) fn withdrawn(&mut self, ticket: Ticket, ask: &str) {
        if let Some(live) = self.live.get_mut(&ticket) {
            live.asks.remove(ask);
        }
    }

    fn decided(&mut self, ticket: Ticket, id: &str, answer: AskAnswer) {
        if let Some(live) = self.live.get_mut(&ticket) {
            live.asks.remove(id);
        }
        self.answer(ticket, id.to_owned(), answer);
    }

    fn answer(&self, ticket: Ticket, ask: String, answer: AskAnswer) {
        let run_queue = self.run_queue.clone();
        tokio::spawn(async move {
            if run_queue.answer(ticket, ask, answer).await.is_err() {
                tracing::debug!("the engine no longer waits for this answer");
            }
        });
    }
}

/// What the engine says of it, in one line; the payload has all of it.
fn action_of(ask: &Ask) -> String {
    let title = visible::line(&ask.title.split_whitespace().collect::<Vec<_>>().join(" "));
    match title.chars().count() {
        0 => "go on".to_owned(),
        1..=MAX_ACTION_CHARS => title,
        _ => title.chars().take(MAX_ACTION_CHARS - 1).chain(['…']).collect(),
    }
}

/// A decision in the words of the engine; the note goes with it where the engine takes one.
fn answer_of(ask: &Ask, approved: bool, note: Option<&str>) -> AskAnswer {
    let note = note.unwrap_or_default().to_owned();
    match (ask.kind(), approved) {
        (AskKind::Question, true) => {
            let word =
                if note.is_empty() { ask.options.first().cloned().unwrap_or_else(|| "yes".to_owned()) } else { note };
            AskAnswer::Reply { answers: vec![word] }
        }
        (AskKind::Permission | AskKind::Plan, true) => AskAnswer::Allow { input: None },
        (_, false) => AskAnswer::Deny { note, stop: false },
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engines::event::Subject;

    use super::*;

    fn ask(kind: AskKind, title: &str, options: &[&str]) -> Ask {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let subject = match kind {
            AskKind::Permission => Subject::default(),
            AskKind::Question => Subject::Question,
            AskKind::Plan => Subject::Plan,
        };
        Ask { id: "1".into(), subject, title: title.into(), options, ..Ask::default() }
    }

    #[test]
    fn a_decision_reaches_the_engine_with_its_note() {
        let permission = ask(AskKind::Permission, "run `rm x`", &[]);
        assert_eq!(answer_of(&permission, true, None), AskAnswer::Allow { input: None });
        let no = AskAnswer::Deny { note: "not today".into(), stop: false };
        assert_eq!(answer_of(&permission, false, Some("not today")), no);
        let question = ask(AskKind::Question, "which?", &["a", "b"]);
        assert_eq!(answer_of(&question, true, Some("b")), AskAnswer::Reply { answers: vec!["b".into()] });
        assert_eq!(answer_of(&question, true, None), AskAnswer::Reply { answers: vec!["a".into()] });
    }

    #[test]
    fn the_action_is_one_line_that_says_something() {
        assert_eq!(action_of(&ask(AskKind::Plan, "a\nb", &[])), "a b");
        assert_eq!(action_of(&ask(AskKind::Plan, "  ", &[])), "go on");
        let long = action_of(&ask(AskKind::Plan, &"x".repeat(900), &[]));
        assert!(long.chars().count() == 480 && long.ends_with('…'));
        assert_eq!(action_of(&ask(AskKind::Plan, "a\u{1b}[2Jb\u{202e}c", &[])), "a␛[2Jb⟨U+202E⟩c");
    }
}
