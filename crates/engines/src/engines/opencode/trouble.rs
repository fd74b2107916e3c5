//! What opencode says when something goes wrong, in words that help people.

use jiff::Timestamp;
use serde_json::Value;

use crate::json::{field, message, shortened, text, words};

/// What its server says when it failed for reasons that only its log knows.
const NO_REASON: &str = "Unexpected server error";

/// An `error` as a sentence, with a remedy where we know one; `None` when it says nothing.
pub fn words_for(error: &Value) -> Option<String> {
    let data = field(error, "data");
    let said = message(error)?;
    if said.starts_with(NO_REASON) {
        let number = words(data, "ref").map_or_else(String::new, |number| format!(" ({number})"));
        return Some(format!(
            "opencode failed and does not say why{number}\n\
             hint: a model that it does not know ends like this, see `opencode models`; its log is below \
             `~/.local/share/opencode/log`"
        ));
    }
    let said = one_line(&said);
    let status = data.get("statusCode").and_then(Value::as_u64);
    let said = status.map_or_else(|| said.clone(), |status| format!("API error {status}: {said}"));
    Some(match status {
        Some(401 | 403) => with_login(&said),
        Some(429) => with_patience(said, field(data, "responseHeaders")),
        _ if text(error, "name") == Some("ProviderAuthError") => with_login(&said),
        _ => said,
    })
}

/// What people see while it tries again.
pub fn retry(status: &Value) -> String {
    let attempt = status.get("attempt").and_then(Value::as_u64).unwrap_or(1);
    let said = one_line(words(status, "message").unwrap_or("the model did not answer"));
    let next = status.get("next").and_then(Value::as_i64).and_then(|next| Timestamp::from_millisecond(next).ok());
    let when = next.map_or_else(String::new, |next| next.strftime(" at %H:%M:%S UTC").to_string());
    format!("{said}, trying again{when} (attempt {attempt})")
}

fn with_login(said: &str) -> String {
    format!("{said}\nhint: log in with `opencode auth login`, or give it the provider's key in `engines.opencode.env`")
}

fn with_patience(said: String, headers: &Value) -> String {
    match words(headers, "retry-after") {
        Some(seconds) if seconds.chars().all(|c| c.is_ascii_digit()) => {
            format!("{said}\nhint: it may be asked again in {seconds} s")
        }
        Some(when) => format!("{said}\nhint: it may be asked again at {when}"),
        None => said,
    }
}

/// Without the places in the program that it names below.
fn one_line(said: &str) -> String {
    shortened(said.trim().lines().next().unwrap_or_default().trim(), 500)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(name: &str, data: Value) -> String {
        words_for(&json!({"name": name, "data": data})).unwrap()
    }

    #[test]
    fn an_error_says_its_number_and_what_helps() {
        let denied = said("APIError", json!({"message": "invalid x-api-key", "statusCode": 401}));
        assert!(
            denied.starts_with("API error 401: invalid x-api-key\nhint: log in with `opencode auth login`"),
            "{denied}"
        );
        let limited = json!({"message": "slow down", "statusCode": 429, "responseHeaders": {"retry-after": "30"}});
        assert_eq!(said("APIError", limited), "API error 429: slow down\nhint: it may be asked again in 30 s");
        assert_eq!(said("APIError", json!({"message": "down", "statusCode": 500})), "API error 500: down");
        assert_eq!(said("MessageOutputLengthError", json!({})), "MessageOutputLengthError");
    }

    #[test]
    fn the_insides_of_the_program_are_no_error_for_people() {
        let stack =
            "ProviderModelNotFoundError: Model not found: fake/nope.\n    at <anonymous> (/$bunfs/root/c.js:4:9)";
        assert_eq!(
            said("UnknownError", json!({"message": stack})),
            "ProviderModelNotFoundError: Model not found: fake/nope."
        );
        let silent =
            json!({"message": "Unexpected server error. Check server logs for details.", "ref": "err_bb0942a3"});
        assert!(
            said("UnknownError", silent).starts_with("opencode failed and does not say why (err_bb0942a3)\nhint: ")
        );
    }

    #[test]
    fn a_retry_says_why_and_when() {
        let status = json!({"type": "retry", "attempt": 2, "message": "overloaded", "next": 1_794_843_656_646_i64});
        assert_eq!(retry(&status), "overloaded, trying again at 15:40:56 UTC (attempt 2)");
        assert_eq!(retry(&json!({})), "the model did not answer, trying again (attempt 1)");
    }
}
