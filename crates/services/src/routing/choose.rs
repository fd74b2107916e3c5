//! Who should have a sentence: the one it names, else whom the model chooses, else whom the words point to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::ids::MemberId;
use folkmoot_core::model::{Member, RoleCard};
use folkmoot_core::rank::{self, Profile, Verdict};
use folkmoot_core::route::{Choice, Chosen, Route, direct_address};
use folkmoot_core::{Millis, access};
use folkmoot_hub::doors::Boxed;
use parking_lot::Mutex;

use super::Routing;

/// A language model that can be asked whom to choose; nobody when it is unsure.
pub trait Advisor: Send + Sync {
    fn choose<'a>(
        &'a self,
        candidates: &'a [Candidate],
        question: &'a Question<'a>,
    ) -> Boxed<'a, Result<Vec<Chosen>, String>>;
}

pub struct Chooser {
    advisor: Option<Box<dyn Advisor>>,
    choice_timeout: Duration,
    /// How the ranking sees each client, as long as it says the same of itself.
    profiles: Mutex<HashMap<MemberId, (RoleCard, Arc<Profile>)>>,
}

/// A client that may be chosen.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub id: MemberId,
    pub name: String,
    pub card: RoleCard,
}

impl Chooser {
    pub fn new(advisor: Option<Box<dyn Advisor>>, choice_timeout: Duration) -> Self {
        Self { advisor, choice_timeout, profiles: Mutex::default() }
    }

    /// What can be said without waiting: a direct address, or without a model the ranking.
    pub fn at_once(&self, routing: &Routing, speaker: MemberId, text: &str) -> Choice {
        let candidates = candidates(routing, speaker);
        if let Some(direct) = direct(&candidates, text) {
            return direct;
        }
        match self.advisor {
            Some(_) => Choice::Later,
            None => self.ranked(&candidates, text, true),
        }
    }

    /// A choice that may take the model's time; never one of those who had the sentence already.
    pub async fn with_time(&self, routing: &Routing, route: &Route) -> Choice {
        let is_first = route.attempts.is_empty();
        let mut candidates = candidates(routing, route.speaker);
        candidates.retain(|candidate| !route.was_tried(candidate.id));
        if is_first && let Some(direct) = direct(&candidates, &route.text) {
            return direct;
        }
        if let Some(advisor) = &self.advisor {
            let question = Question { text: &route.text, refusals: route.refusals(), at: routing.hub.now() };
            match tokio::time::timeout(self.choice_timeout, advisor.choose(&candidates, &question)).await {
                Ok(Ok(chosen)) if !chosen.is_empty() => return Choice::These(chosen),
                Ok(Ok(_)) => tracing::info!(route = %route.id, "the model chose nobody; the ranking decides"),
                Ok(Err(error)) => tracing::warn!(route = %route.id, error, "the model failed; the ranking decides"),
                Err(_) => tracing::warn!(route = %route.id, "the model took too long; the ranking decides"),
            }
        }
        self.ranked(&candidates, &route.text, is_first)
    }

    fn ranked(&self, candidates: &[Candidate], text: &str, is_first: bool) -> Choice {
        if is_first && let [only] = candidates {
            // With one there is nothing to guess; it may still refuse.
            return Choice::These(vec![Chosen { client: only.id, reason: None }]);
        }
        let profiles: Vec<_> = candidates.iter().map(|candidate| self.profile(candidate)).collect();
        let views: Vec<&Profile> = profiles.iter().map(|profile| &**profile).collect();
        match rank::verdict(rank::rank(text, &views), views.len(), !is_first) {
            Verdict::Clear(first) => {
                let reason = match first.words.as_slice() {
                    [] => "Whoever was asked before did not take it".to_owned(),
                    words => format!("The words fit this client: {}", words.join(", ")),
                };
                let reason = Some(reason);
                Choice::These(vec![Chosen { client: candidates[first.client].id, reason }])
            }
            Verdict::Unsure(likely) => Choice::Unsure(likely.into_iter().map(|at| candidates[at].id).collect()),
        }
    }

    fn profile(&self, candidate: &Candidate) -> Arc<Profile> {
        let mut profiles = self.profiles.lock();
        match profiles.get(&candidate.id) {
            Some((card, profile)) if *card == candidate.card => Arc::clone(profile),
            _ => {
                let card = &candidate.card;
                let made = Arc::new(Profile::new(&candidate.name, &card.system_prompt, &card.capabilities));
                profiles.insert(candidate.id, (card.clone(), Arc::clone(&made)));
                made
            }
        }
    }
}

/// What a model is asked to decide.
pub struct Question<'a> {
    pub text: &'a str,
    /// Who refused it so far and why.
    pub refusals: String,
    pub at: Millis,
}

fn candidates(routing: &Routing, speaker: MemberId) -> Vec<Candidate> {
    routing.hub.with_state(|state| {
        let Some(speaker) = state.member(speaker) else { return Vec::new() };
        let candidate = |member: &Arc<Member>| Candidate {
            id: member.id,
            name: member.client_name().to_owned(),
            card: member.role_card.clone().unwrap_or_default(),
        };
        access::takers(state, speaker).map(candidate).collect()
    })
}

fn direct(candidates: &[Candidate], text: &str) -> Option<Choice> {
    let (name, rest) = direct_address(text)?;
    let client = candidates.iter().find(|candidate| candidate.name.eq_ignore_ascii_case(name))?;
    Some(Choice::Direct { client: client.id, text: rest.to_owned() })
}
