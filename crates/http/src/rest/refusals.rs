//! Every refusal that an operation can answer with: those that follow from what it takes are found here, those of its
//! own rules are named by its handler.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// A status, the name of its answer, and what it says.
const REFUSALS: &[(u16, &str, &str)] = &[
    (400, "BadRequest", "the path, the query or the body is not as it must be"),
    (401, "NotAuthenticated", "nobody is named, or the token is unknown or has ended"),
    (403, "Forbidden", "the caller may not do this"),
    (404, "NotFound", "there is no such thing, or not for the caller to know of"),
    (408, "TooSlow", "the body came too slowly"),
    (409, "Conflict", "it is taken, over, or not as it was"),
    (413, "TooLarge", "the body is too large"),
    (429, "TooManyRequests", "too often; `Retry-After` says when to come back"),
    (503, "Unavailable", "the hub cannot do it now, and nothing was changed"),
    (504, "AgentTimeout", "the agent did not answer in time"),
    (507, "QuotaReached", "there is too much of it already"),
];

/// The refusals that the operations refer to.
pub fn responses() -> Value {
    let named = REFUSALS.iter().map(|(status, name, meaning)| ((*name).to_owned(), response(*status, meaning)));
    Value::Object(named.collect())
}

fn response(status: u16, meaning: &str) -> Value {
    let schema = json!({ "$ref": "#/components/schemas/Error" });
    let mut response = json!({ "description": meaning, "content": { "application/json": { "schema": schema } } });
    let header = match status {
        401 => Some(("WWW-Authenticate", json!({ "type": "string" }), "how to authenticate")),
        429 => Some(("Retry-After", json!({ "type": "integer", "minimum": 1 }), "seconds to wait")),
        _ => None,
    };
    if let Some((name, schema, meaning)) = header {
        let is_always_there = status == 401;
        response["headers"][name] = json!({ "schema": schema, "description": meaning, "required": is_always_there });
    }
    response
}

/// What follows from who may call, and from what is taken.
pub fn of(method: &str, path: &str, operation: &Value) -> BTreeSet<u16> {
    let is_open = operation["security"].is_array();
    let has_parts = path.contains('{');
    let takes_query = operation["parameters"].as_array().is_some_and(|all| all.iter().any(|one| one["in"] != "path"));
    let content = operation["requestBody"]["content"].as_object();
    let takes_form = content.is_some_and(|content| content.contains_key("multipart/form-data"));
    let changes = method != "get";
    let asks_the_hub = has_parts || changes;
    let rules: [(bool, &[u16]); 7] = [
        (!is_open, &[401, 403, 429, 503]),
        (is_open && asks_the_hub, &[429, 503]),
        // A page of another site changes nothing.
        (changes, &[403]),
        (has_parts, &[400, 404]),
        (takes_query, &[400]),
        (content.is_some(), &[400, 408, 413]),
        (takes_form, &[507]),
    ];
    rules.iter().filter(|(applies, _)| *applies).flat_map(|(_, statuses)| statuses.iter().copied()).collect()
}

/// Adds the statuses, and gives those that a handler named the shape of a refusal.
pub fn add(responses: &mut Value, statuses: &BTreeSet<u16>) {
    let Some(responses) = responses.as_object_mut() else { return };
    let named: Vec<u16> = responses.keys().filter_map(|status| status.parse().ok()).collect();
    for status in statuses.iter().copied().chain(named).filter(|status| *status >= 400) {
        let Some((_, name, meaning)) = REFUSALS.iter().find(|(known, ..)| *known == status) else { continue };
        let own = responses.entry(status.to_string()).or_insert(Value::Object(Map::new()));
        let meaning = match own["description"].as_str().unwrap_or_default() {
            "" => {
                *own = json!({ "$ref": format!("#/components/responses/{name}") });
                continue;
            }
            own if own == *meaning => meaning.to_string(),
            own => own.to_owned(),
        };
        *own = response(status, &meaning);
    }
}
