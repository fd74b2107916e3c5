//! What helps the router, where the configuration names it: a language model that chooses, and a recogniser of speech.

mod model;

use std::time::Duration;

use bytes::Bytes;
use folkmoot_clients::Endpoint;
use folkmoot_core::route::Chosen;
use folkmoot_hub::doors::Boxed;
use folkmoot_services::routing::choose::{Advisor, Candidate, Question};
use folkmoot_services::routing::{Helpers, Recogniser, Spoken};

use crate::config::{Config, Llm, Stt};

const SPEECH_TIMEOUT: Duration = Duration::from_secs(30);

/// Those that are set up.
pub fn helpers(config: &Config) -> Helpers {
    Helpers {
        advisor: advisor(config).map(|endpoint| Box::new(Model(endpoint)) as Box<dyn Advisor>),
        recogniser: recogniser(config).map(|endpoint| Box::new(Speech(endpoint)) as Box<dyn Recogniser>),
    }
}

/// Whoever runs a model of their own may need no key.
fn advisor(config: &Config) -> Option<Endpoint> {
    let llm = &config.llm;
    let set_up = !llm.api_key.is_empty() || llm.base_url != Llm::default().base_url;
    let timeout = Duration::from_secs_f64(config.smarthole.choice_timeout_s);
    set_up.then(|| Endpoint::new(&llm.base_url, llm.api_key.expose(), &llm.model, timeout).ok()).flatten()
}

fn recogniser(config: &Config) -> Option<Endpoint> {
    let stt = &config.stt;
    let set_up = !stt.api_key.is_empty() || stt.base_url != Stt::default().base_url;
    set_up.then(|| Endpoint::new(&stt.base_url, stt.api_key.expose(), &stt.model, SPEECH_TIMEOUT).ok()).flatten()
}

struct Model(Endpoint);

impl Advisor for Model {
    fn choose<'a>(
        &'a self,
        candidates: &'a [Candidate],
        question: &'a Question<'a>,
    ) -> Boxed<'a, Result<Vec<Chosen>, String>> {
        Box::pin(async { model::choose(&self.0, candidates, question).await.map_err(|error| error.to_string()) })
    }
}

struct Speech(Endpoint);

impl Recogniser for Speech {
    fn transcribe<'a>(&'a self, name: &'a str, recording: Bytes) -> Boxed<'a, Result<Spoken, String>> {
        Box::pin(async move {
            let said = self.0.transcribe(name, recording).await.map_err(|error| error.to_string())?;
            Ok(Spoken { text: said.text, confidence: said.confidence })
        })
    }
}
