//! The model's choice: one tool per client, several may be called, and what it cannot choose it does not get.

use std::time::Duration;

use folkmoot_clients::llm::{Completion, Message, Request, Tool};
use folkmoot_clients::{Endpoint, PeerError};
use folkmoot_core::route::Chosen;
use folkmoot_services::routing::choose::{Candidate, Question};
use serde::Deserialize;
use serde_json::json;

const PREFIX: &str = "route_to_";
/// A model that asks to slow down is asked once more after this; then the words decide.
const SECOND_TRY: Duration = Duration::from_secs(1);

const INSTRUCTIONS: &str = "\
You are a router. People say a sentence, and you hand it to the client that should take it by calling that client's \
tool. Always call at least one tool; call several only when the sentence clearly is for several. Pass the complete \
sentence as `message`, unchanged, and say in one short sentence why as `reason`. When you are not sure, choose the most \
likely client. Never answer the sentence yourself.";

/// Whom the model wants to have the sentence; nobody when it called no tool that there is.
pub async fn choose(
    endpoint: &Endpoint,
    candidates: &[Candidate],
    question: &Question<'_>,
) -> Result<Vec<Chosen>, PeerError> {
    let names = tool_names(candidates);
    let request = request(candidates, &names, question);
    let completion = match endpoint.complete(&request).await {
        Err(PeerError::RateLimited { retry_after }) => {
            tokio::time::sleep(retry_after.unwrap_or(SECOND_TRY)).await;
            endpoint.complete(&request).await?
        }
        other => other?,
    };
    Ok(chosen(&completion, candidates, &names))
}

fn request(candidates: &[Candidate], names: &[String], question: &Question<'_>) -> Request {
    let tool = |(candidate, name): (&Candidate, &String)| {
        let capabilities = match candidate.card.capabilities.as_slice() {
            [] => String::new(),
            list => format!(" Capabilities: {}.", list.join(", ")),
        };
        let parameters = json!({
            "type": "object",
            "properties": {
                "message": { "type": "string", "description": "The complete sentence of the user" },
                "reason": { "type": "string", "description": "Why this client should take it" },
            },
            "required": ["message"],
        });
        let description = format!("{}{capabilities}", candidate.card.system_prompt);
        Tool { name: name.clone(), description, parameters }
    };
    let mut text = question.text.to_owned();
    if !question.refusals.is_empty() {
        let refusals = &question.refusals;
        text.push_str(&format!(
            "\n\n[Context: Previous routing attempts failed:\n{refusals}\nPlease route to a different, more appropriate client.]"
        ));
    }
    Request {
        messages: vec![Message::system(INSTRUCTIONS), Message::user(text)],
        tools: candidates.iter().zip(names).map(tool).collect(),
        extra: [("max_tokens".to_owned(), json!(1024))].into_iter().collect(),
    }
}

/// A tool name per client: what is not a letter or digit becomes `_`, and no two are alike.
fn tool_names(candidates: &[Candidate]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for candidate in candidates {
        let clean = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let plain: String = candidate.name.chars().map(clean).collect();
        let plain = plain.trim_start_matches('_');
        let letter_first = plain.starts_with(|first: char| first.is_ascii_alphabetic());
        let base: String =
            format!("{PREFIX}{}{plain}", if letter_first { "" } else { "client_" }).chars().take(60).collect();
        let numbered = (2..).map(|number| format!("{base}_{number}"));
        let free = std::iter::once(base.clone()).chain(numbered).find(|name| !names.contains(name));
        names.push(free.unwrap_or(base));
    }
    names
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    reason: Option<String>,
}

fn chosen(completion: &Completion, candidates: &[Candidate], names: &[String]) -> Vec<Chosen> {
    let mut chosen: Vec<Chosen> = Vec::new();
    for call in &completion.tool_calls {
        let Some(at) = names.iter().position(|name| *name == call.function.name) else { continue };
        let client = candidates[at].id;
        let arguments = serde_json::from_str::<Arguments>(&call.function.arguments).ok();
        let reason = arguments.and_then(|arguments| arguments.reason).map(|reason| reason.trim().to_owned());
        if !chosen.iter().any(|known| known.client == client) {
            chosen.push(Chosen { client, reason: reason.filter(|reason| !reason.is_empty()) });
        }
    }
    chosen
}
