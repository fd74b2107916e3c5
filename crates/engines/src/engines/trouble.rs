//! Trouble between an engine and the provider of its model, in words, with the remedy where there is one.

use serde_json::Value;

use crate::json;

/// What is wrong and what helps; `login` says how people give this engine a key.
pub(super) fn told(message: &str, status: Option<u64>, login: &str) -> String {
    let message = plain(message);
    if let Some(name) = missing_variable(&message) {
        let hint = format!(
            "set it and name it in `pass_env`: no other variables than those it is known to read are handed on to an engine, and `{name}` is none of them"
        );
        return format!("{message}\nhint: {hint}");
    }
    let (what, hint) = match status.or_else(|| status_in(&message)) {
        Some(status @ (401 | 403)) => (format!("the provider refuses the key or the login ({status})"), login),
        Some(429) => {
            ("the provider takes no more requests for now (429)".into(), "wait, or look at the limits of the plan")
        }
        Some(status @ 500..=599) => (format!("the provider has trouble ({status})"), "try again later"),
        _ if message.contains("No API key") => ("there is no key for the model".to_owned(), login),
        _ => return message,
    };
    format!("{what}: {message}\nhint: {hint}")
}

/// The same on one line, while the engine tries again.
pub(super) fn retrying(message: &str, attempt: u64, of: Option<u64>) -> String {
    let message = plain(message);
    let message = message.lines().next().unwrap_or_default().trim_end_matches('.');
    match of {
        Some(of) => format!("{message}; trying again ({attempt} of {of})"),
        None => format!("{message}; trying again ({attempt})"),
    }
}

/// The words in a message that may be, or end in, the provider's JSON.
fn plain(message: &str) -> String {
    let body = message.find('{').and_then(|at| Some((at, serde_json::from_str::<Value>(&message[at..]).ok()?)));
    match body
        .and_then(|(at, body)| Some((at, json::message(json::field(&body, "error")).or_else(|| json::message(&body))?)))
    {
        Some((at, said)) => format!("{}{said}", &message[..at]),
        None => message.trim().to_owned(),
    }
}

/// The name in "Missing environment variable: `NAME`."
fn missing_variable(message: &str) -> Option<&str> {
    message.split_once("Missing environment variable: `")?.1.split('`').next()
}

/// The status that a message names: its first word, or after a word that says so.
fn status_in(message: &str) -> Option<u64> {
    let words: Vec<&str> =
        message.split(|c: char| c.is_whitespace() || ":,(".contains(c)).filter(|word| !word.is_empty()).collect();
    let is_status =
        |word: &str| word.len() == 3 && word.starts_with(['4', '5']) && word.bytes().all(|byte| byte.is_ascii_digit());
    let at = words.iter().position(|word| is_status(word))?;
    let named = |word: &&str| ["status", "error", "code", "http"].contains(&word.to_ascii_lowercase().as_str());
    if at == 0 || words.get(at - 1).is_some_and(named) { words[at].parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_with_a_provider_says_what_it_is_and_what_helps() {
        for (message, begins, hint) in [
            (
                "unexpected status 401 Unauthorized: no",
                "the provider refuses the key or the login (401): unexpected",
                "log in",
            ),
            ("exceeded retry limit, last status: 429 Too Many Requests", "the provider takes no more requests", "wait"),
            (
                "429: {\"message\":\"slow down\",\"type\":\"x\"}",
                "the provider takes no more requests for now (429): 429: slow down",
                "wait",
            ),
            ("500 the fake model refuses with 500", "the provider has trouble (500)", "try again later"),
            ("Missing environment variable: `MY_KEY`.", "Missing environment variable: `MY_KEY`.", "`pass_env`"),
            ("No API key found for anthropic.", "there is no key for the model", "log in"),
        ] {
            let told = told(message, None, "log in");
            let (sentence, remedy) = told.split_once("\nhint: ").unwrap_or_else(|| panic!("{told}"));
            assert!(sentence.starts_with(begins) && remedy.contains(hint), "{told}");
        }
        for message in ["the model wrote 404 lines", "stream disconnected", "it took 500 ms"] {
            assert_eq!(told(message, None, "log in"), message);
        }
    }
}
