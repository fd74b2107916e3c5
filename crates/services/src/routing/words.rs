//! A routed sentence in words, for whoever reads `/v1/route`: what happened so far, and whose answer is awaited.

use serde_json::Value;

/// Nobody has taken it yet, and somebody may.
pub fn is_open(route: &Value) -> bool {
    ["choosing", "waiting"].contains(&text(route, "state"))
}

pub fn is_taken(route: &Value) -> bool {
    items(&route["attempts"]).iter().any(|attempt| text(attempt, "status") == "acked")
}

/// The clients that have the sentence and have not said anything to it but that they take it.
pub fn awaited(route: &Value) -> Vec<String> {
    let has_it = |attempt: &&Value| ["delivered", "acked"].contains(&text(attempt, "status"));
    let answered = |attempt: &Value| items(&attempt["responses"]).iter().any(is_answer);
    let waiting = items(&route["attempts"]).iter().filter(has_it).filter(|attempt| !answered(attempt));
    waiting.map(|attempt| text(attempt, "client").to_owned()).collect()
}

/// Also one without words: the client has nothing to add.
fn is_answer(response: &Value) -> bool {
    ["notification", "reply"].contains(&text(response, "type"))
}

/// What happened to a sentence so far, one line each.
pub fn lines(route: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for attempt in items(&route["attempts"]) {
        let client = text(attempt, "client");
        match text(attempt, "status") {
            "acked" => lines.push(format!("{client} took it")),
            "rejected" | "timeout" => {
                lines.push(format!("{client} did not: {}", text(attempt, "reject_reason")));
            }
            _ => {}
        }
        let answers = items(&attempt["responses"]).iter().filter(|said| is_answer(said));
        let words = answers.map(words).filter(|words| !words.is_empty());
        lines.extend(words.map(|words| format!("{client}: {words}")));
    }
    lines
}

fn words(answer: &Value) -> String {
    let parts = ["title", "body"].map(|part| text(answer, part).trim());
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(": ")
}

/// What the speaker waits for, in a few words.
pub fn progress(route: &Value) -> String {
    let names = awaited(route).join(", ");
    match (names.is_empty(), is_taken(route)) {
        (true, _) => "looking for somebody who takes it".to_owned(),
        (false, false) => format!("waiting for {names} to take it"),
        (false, true) => format!("waiting for the answer of {names}"),
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn route(state: &str, attempts: Value) -> Value {
        json!({ "state": state, "attempts": attempts })
    }

    fn attempt(status: &str, responses: Value) -> Value {
        json!({ "client": "notebook", "status": status, "responses": responses })
    }

    #[test]
    fn a_client_is_awaited_until_it_said_something_or_refused() {
        let awaits =
            |status: &str, responses: Value| !awaited(&route("taken", json!([attempt(status, responses)]))).is_empty();
        assert!(awaits("delivered", json!([])));
        assert!(awaits("acked", json!([{ "type": "ack" }])));
        assert!(!awaits("acked", json!([{ "type": "ack" }, { "type": "notification", "body": "done" }])));
        assert!(!awaits("acked", json!([{ "type": "notification", "title": null, "body": null }])), "nothing to add");
        assert!(!awaits("acked", json!([{ "type": "reply", "body": "looks fine" }])));
        assert!(!awaits("rejected", json!([{ "type": "reject", "reason": "no" }])));
    }

    #[test]
    fn an_empty_notification_is_no_line() {
        let silent = json!([{ "type": "notification", "title": null, "body": null }, { "type": "notification", "title": " ", "body": "" }]);
        assert_eq!(lines(&route("taken", json!([attempt("acked", silent)]))), ["notebook took it"]);
        let spoken =
            json!([{ "type": "notification", "body": "saved" }, { "type": "notification", "title": "A", "body": "b" }]);
        let expected = ["notebook took it", "notebook: saved", "notebook: A: b"];
        assert_eq!(lines(&route("taken", json!([attempt("acked", spoken)]))), expected);
    }

    #[test]
    fn progress_tells_what_is_waited_for() {
        let shown = |state: &str, attempts: Value| progress(&route(state, attempts));
        assert_eq!(shown("choosing", json!([])), "looking for somebody who takes it");
        assert_eq!(shown("waiting", json!([attempt("delivered", json!([]))])), "waiting for notebook to take it");
        assert_eq!(shown("taken", json!([attempt("acked", json!([]))])), "waiting for the answer of notebook");
    }
}
