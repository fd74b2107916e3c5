//! Who should have a sentence: the one it names, else whom the model chooses, else whom the words point to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::ids::MemberId;
use folkmoot_core::model::{Member, RoleCard};
use folkmoot_core::rank::{self, Profile, Verdict};
use folkmoot_core::route::{Choice, Chosen, Route, direct_address};
use folkmoot_core::{Millis, access};
use folkmoot_peers::Endpoint;
use parking_lot::Mutex;

use super::model;
use crate::app::App;
use crate::config::Config;

pub struct Chooser {
    model: Option<Endpoint>,
    model_patience: Duration,
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
    pub fn new(config: &Config) -> Self {
        let llm = &config.llm;
        let model_patience = Duration::from_secs_f64(config.smarthole.choice_timeout_s);
        let set_up = !llm.api_key.is_empty() || llm.base_url != crate::config::Llm::default().base_url;
        let endpoint = || Endpoint::new(&llm.base_url, llm.api_key.expose(), &llm.model, model_patience).ok();
        Self { model: set_up.then(endpoint).flatten(), model_patience, profiles: Mutex::default() }
    }

    /// What can be said without waiting: a direct address, or without a model the ranking.
    pub fn at_once(&self, app: &App, speaker: MemberId, text: &str) -> Choice {
        let candidates = candidates(app, speaker);
        if let Some(direct) = direct(&candidates, text) {
            return direct;
        }
        match self.model {
            Some(_) => Choice::Later,
            None => self.ranked(&candidates, text, true),
        }
    }

    /// A choice that may take the model's time; never one of those who had the sentence already.
    pub async fn with_time(&self, app: &App, route: &Route) -> Choice {
        let is_first = route.attempts.is_empty();
        let mut candidates = candidates(app, route.speaker);
        candidates.retain(|candidate| !route.was_tried(candidate.id));
        if is_first && let Some(direct) = direct(&candidates, &route.text) {
            return direct;
        }
        if let Some(endpoint) = &self.model {
            let asked = Ask { text: &route.text, refusals: route.refusals(), at: app.now() };
            match tokio::time::timeout(self.model_patience, model::choose(endpoint, &candidates, &asked)).await {
                Ok(Ok(chosen)) if !chosen.is_empty() => return Choice::These(chosen),
                Ok(Ok(_)) => tracing::info!(route = %route.id, "the model chose nobody; the ranking decides"),
                Ok(Err(error)) => tracing::warn!(route = %route.id, %error, "the model failed; the ranking decides"),
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
                let reason = Some(format!("The words fit this client: {}", first.words.join(", ")));
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
pub struct Ask<'a> {
    pub text: &'a str,
    /// Who refused it so far and why.
    pub refusals: String,
    pub at: Millis,
}

fn candidates(app: &App, speaker: MemberId) -> Vec<Candidate> {
    app.with_state(|state| {
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
