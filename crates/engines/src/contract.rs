//! The runner contract, enforced once for all engines.
//!
//! A dialog says what it understood; this decides what people get to see: exactly one `started`, with the lock of its
//! thread taken before; `completed` exactly once and last; stable unique action ids; everything in the order in which
//! it was said. An engine that breaks a rule is corrected with a visible warning rather than believed.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::event::{ActionEvent, Completed, Detail, EngineEvent, EngineId, Phase, ResumeToken, Started};

/// How many finished actions are remembered to keep ids unique; memory stays flat however long a run is.
const FINISHED_KEPT: usize = 4096;

/// What the run does next, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Take the lock of this thread before going on.
    Lock(ResumeToken),
    Emit(EngineEvent),
}

pub struct Contract {
    engine: EngineId,
    requested: Option<ResumeToken>,
    started: Option<ResumeToken>,
    completed: bool,
    actions: Actions,
    notes: usize,
}

impl Contract {
    pub fn new(engine: EngineId, requested: Option<ResumeToken>) -> Self {
        Self { engine, requested, started: None, completed: false, actions: Actions::default(), notes: 0 }
    }

    pub fn is_completed(&self) -> bool {
        self.completed
    }

    /// The thread as far as it is known.
    pub fn token(&self) -> Option<&ResumeToken> {
        self.started.as_ref().or(self.requested.as_ref())
    }

    /// Whether the engine itself has confirmed the thread.
    pub fn is_started(&self) -> bool {
        self.started.is_some()
    }

    /// What becomes of an event that a dialog produced.
    pub fn admit(&mut self, event: EngineEvent) -> Vec<Step> {
        if self.completed {
            return Vec::new();
        }
        match event {
            EngineEvent::Started(started) => self.admit_started(started),
            EngineEvent::Action(action) => self.admit_action(action),
            EngineEvent::Asked(asked) => vec![Step::Emit(EngineEvent::Asked(asked))],
            EngineEvent::Completed(completed) => self.admit_completed(completed),
        }
    }

    /// A warning of our own about a line.
    pub fn warn(&mut self, text: impl Into<String>) -> Vec<Step> {
        self.notes += 1;
        let id = format!("{}.note.{}", self.engine, self.notes);
        self.admit(EngineEvent::warning(&self.engine, id, text))
    }

    /// The end of a run that did not say its end itself.
    pub fn fail(&mut self, error: impl Into<String>, answer: String) -> Vec<Step> {
        self.admit(EngineEvent::Completed(Completed {
            engine: self.engine.clone(),
            ok: false,
            answer,
            resume: None,
            error: Some(error.into()),
            usage: Detail::new(),
        }))
    }

    fn admit_started(&mut self, started: Started) -> Vec<Step> {
        let token = &started.resume;
        match &self.started {
            Some(known) if known == token => return Vec::new(),
            Some(known) => {
                let text = format!("{} changed its session from {} to {}", self.engine, known.value, token.value);
                return self.warn(text);
            }
            None => {}
        }
        let mut steps = Vec::new();
        if let Some(requested) = self.requested.clone().filter(|requested| requested != token) {
            let text = format!("{} went on in session {} instead of {}", self.engine, token.value, requested.value);
            steps.extend(self.warn(text));
        }
        self.started = Some(token.clone());
        steps.push(Step::Lock(token.clone()));
        steps.push(Step::Emit(EngineEvent::Started(started)));
        steps
    }

    fn admit_action(&mut self, mut event: ActionEvent) -> Vec<Step> {
        if event.action.id.is_empty() {
            self.notes += 1;
            event.action.id = format!("{}.action.{}", self.engine, self.notes);
        }
        self.actions.settle_id(&mut event);
        vec![Step::Emit(EngineEvent::Action(event))]
    }

    fn admit_completed(&mut self, mut completed: Completed) -> Vec<Step> {
        let mut steps = Vec::new();
        if completed.ok && self.started.is_none() {
            match self.requested.clone() {
                // It answered, so it is in the thread that it was asked to continue.
                Some(requested) => {
                    steps.extend(self.admit_started(Started {
                        engine: self.engine.clone(),
                        resume: requested,
                        title: None,
                        meta: Detail::new(),
                    }));
                }
                None => {
                    completed.ok = false;
                    let text = format!("{} finished but no session was captured", self.engine);
                    completed.error.get_or_insert(text);
                }
            }
        }
        completed.resume = self.token().cloned();
        self.completed = true;
        steps.push(Step::Emit(EngineEvent::Completed(completed)));
        steps
    }
}

/// Which ids are in use. Engines that use one again for something else get it renamed, with its later events.
#[derive(Default)]
struct Actions {
    open: HashMap<String, Option<String>>,
    finished: VecDeque<u64>,
    lookup: HashMap<u64, u32>,
    hasher: RandomState,
}

impl Actions {
    fn settle_id(&mut self, event: &mut ActionEvent) {
        let id = event.action.id.clone();
        let hash = self.hasher.hash_one(&id);
        let renamed = match self.open.get(&id) {
            Some(renamed) => renamed.clone(),
            None => match self.lookup.get(&hash) {
                // Something finished that begins anew is something else.
                Some(uses) if event.phase == Phase::Started => Some(format!("{id}~{}", uses + 1)),
                Some(uses) if *uses > 1 => Some(format!("{id}~{uses}")),
                _ => None,
            },
        };
        if event.phase == Phase::Completed {
            if self.open.remove(&id).is_some() || !self.lookup.contains_key(&hash) {
                self.finish(hash);
            }
        } else {
            self.open.insert(id, renamed.clone());
        }
        if let Some(renamed) = renamed {
            event.action.id = renamed;
        }
    }

    fn finish(&mut self, hash: u64) {
        *self.lookup.entry(hash).or_insert(0) += 1;
        self.finished.push_back(hash);
        if self.finished.len() > FINISHED_KEPT
            && let Some(old) = self.finished.pop_front()
            && let Some(uses) = self.lookup.get_mut(&old)
        {
            *uses -= 1;
            if *uses == 0 {
                self.lookup.remove(&old);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Action, ActionKind};

    const ENGINE: EngineId = EngineId::new("codex");

    fn started(value: &str) -> EngineEvent {
        EngineEvent::started(ResumeToken::new("codex", value), None, Detail::new())
    }

    fn action(id: &str, phase: Phase) -> EngineEvent {
        EngineEvent::action(&ENGINE, Action::new(id, ActionKind::Tool, "t"), phase, None)
    }

    fn completed(ok: bool) -> EngineEvent {
        let (engine, answer) = (ENGINE, "a".to_owned());
        EngineEvent::Completed(Completed { engine, ok, answer, resume: None, error: None, usage: Detail::new() })
    }

    fn play(contract: &mut Contract, events: Vec<EngineEvent>) -> Vec<Step> {
        events.into_iter().flat_map(|event| contract.admit(event)).collect()
    }

    fn ids(steps: &[Step]) -> Vec<&str> {
        steps
            .iter()
            .filter_map(|step| match step {
                Step::Emit(EngineEvent::Action(event)) => Some(event.action.id.as_str()),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn if_a_token_is_obtained_exactly_one_started_and_its_lock_comes_first() {
        let mut contract = Contract::new(ENGINE, None);
        let steps = play(&mut contract, vec![started("a"), started("a"), started("b")]);
        assert_eq!(steps[0], Step::Lock(ResumeToken::new("codex", "a")));
        assert_eq!(steps[1], Step::Emit(started("a")));
        let count = steps.iter().filter(|step| matches!(step, Step::Emit(EngineEvent::Started(_)))).count();
        assert_eq!(count, 1);
        assert!(
            matches!(&steps[2], Step::Emit(EngineEvent::Action(event)) if event.action.kind == ActionKind::Warning)
        );
    }

    #[test]
    fn completed_is_emitted_once_and_last() {
        let mut contract = Contract::new(ENGINE, None);
        let late = vec![started("a"), completed(true), action("1", Phase::Started), completed(false), started("b")];
        let steps = play(&mut contract, late);
        assert!(
            matches!(steps.last(), Some(Step::Emit(EngineEvent::Completed(done))) if done.ok && done.resume.is_some())
        );
        assert_eq!(steps.len(), 3);
        assert!(contract.fail("late", String::new()).is_empty());
    }

    #[test]
    fn a_success_without_a_session_is_a_failure_that_keeps_its_answer() {
        let steps = Contract::new(ENGINE, None).admit(completed(true));
        let [Step::Emit(EngineEvent::Completed(done))] = &steps[..] else { panic!("{steps:?}") };
        assert!(!done.ok && done.answer == "a" && done.error.as_deref().unwrap().contains("no session"));
    }

    #[test]
    fn a_resumed_run_that_answers_without_naming_its_thread_is_in_the_thread_asked_for() {
        let token = ResumeToken::new("codex", "a");
        let steps = Contract::new(ENGINE, Some(token.clone())).admit(completed(true));
        assert_eq!(steps[0], Step::Lock(token));
        assert_eq!(steps.len(), 3);
    }

    #[test]
    fn a_resumed_run_that_fails_at_once_names_the_thread_but_does_not_claim_to_have_started() {
        let token = ResumeToken::new("codex", "a");
        let steps = Contract::new(ENGINE, Some(token.clone())).fail("gone", String::new());
        let [Step::Emit(EngineEvent::Completed(done))] = &steps[..] else { panic!("{steps:?}") };
        assert_eq!(done.resume, Some(token));
    }

    #[test]
    fn action_ids_are_stable_within_an_action_and_unique_within_a_run() {
        let mut contract = Contract::new(ENGINE, None);
        let phases = [Phase::Started, Phase::Updated, Phase::Completed];
        let twice = phases.iter().chain(&phases).map(|phase| action("i", *phase)).collect();
        let steps = play(&mut contract, twice);
        assert_eq!(ids(&steps), ["i", "i", "i", "i~2", "i~2", "i~2"]);
        assert_eq!(ids(&contract.admit(action("", Phase::Completed))), ["codex.action.1"]);
    }

    #[test]
    fn memory_for_ids_is_bounded() {
        let mut contract = Contract::new(ENGINE, None);
        for number in 0..3 * FINISHED_KEPT {
            contract.admit(action(&format!("i{number}"), Phase::Completed));
        }
        assert_eq!(contract.actions.lookup.len(), FINISHED_KEPT);
        assert!(contract.actions.open.is_empty());
    }
}
