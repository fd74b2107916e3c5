//! What goes wrong between claude and its model, in words that name a remedy where there is one.

use serde_json::Value;

use super::wire::{Outcome, Retry};
use crate::engine::Order;
use crate::json::{message, text, whole};

/// What claude calls it when nobody is logged in, or the key is wrong.
const NOT_LOGGED_IN: &str = "authentication_failed";
/// The variable that makes claude bill its runs.
const KEY: &str = "ANTHROPIC_API_KEY";
/// How claude's words for those who mend claude begin.
const DIAGNOSTIC: &str = "[ede_diagnostic]";
const NO_SESSION: &str = "No conversation found with session ID:";

/// Words about failures; what they advise depends on what claude was given.
pub struct Trouble {
    login: &'static str,
    /// The model refused because of who asks.
    refused: bool,
}

impl Trouble {
    pub fn new(order: &Order<'_>) -> Self {
        let settings = order.settings;
        let is_passed = settings.own_flag("use_api_billing") || settings.env.contains_key(KEY);
        Self { login: login(settings.variable(KEY).is_some(), is_passed), refused: false }
    }

    /// An error that claude says in the place of an answer.
    pub fn api_error(&mut self, kind: &str) {
        self.refused |= kind == NOT_LOGGED_IN;
    }

    pub fn retrying(&self, retry: &Retry<'_>) -> String {
        let what = match (retry.status, retry.error) {
            (Some(429), _) => "rate limited (API error 429)".to_owned(),
            (Some(status), _) => format!("API error {status}"),
            (None, "" | "unknown") => "no answer from the API".to_owned(),
            (None, error) => format!("API error: {}", error.replace('_', " ")),
        };
        let seconds = (retry.delay_ms / 1000.0).ceil();
        let again = format!("{what}, trying again in {seconds:.0} s ({} of {})", retry.attempt, retry.most);
        if retry.error == NOT_LOGGED_IN { format!("{again}\nhint: {}", self.login) } else { again }
    }

    /// Why a turn failed.
    pub fn failure(&mut self, outcome: &Outcome<'_>) -> String {
        let said = outcome.result.trim();
        let errors = outcome.errors.iter().filter_map(message).filter(|error| !error.starts_with(DIAGNOSTIC));
        let errors = errors.collect::<Vec<_>>().join("\n");
        let refused = std::mem::replace(&mut self.refused, false) || outcome.status == Some(401);
        match (said, errors.as_str()) {
            ("", _) if refused => format!("claude is refused by its API\nhint: {}", self.login),
            (said, _) if refused => format!("{said}\nhint: {}", self.login),
            ("", "") if outcome.reason.starts_with("aborted") => "interrupted".to_owned(),
            ("", "") => format!("claude run failed ({})", outcome.subtype),
            ("", errors) => no_session(errors).unwrap_or_else(|| errors.to_owned()),
            (said, _) => said.to_owned(),
        }
    }
}

/// What helps whoever is refused, by whether there is a key, and whether claude was given it.
fn login(is_set: bool, is_passed: bool) -> &'static str {
    match (is_set, is_passed) {
        (true, true) => "look at the key in ANTHROPIC_API_KEY, or start `claude` and say /login",
        (true, false) => {
            "start `claude` and say /login. moot removed ANTHROPIC_API_KEY, because runs would be billed to it; to use it, \
             set `engines.claude.use_api_billing = true`, or the key in `engines.claude.env`"
        }
        (false, _) => "start `claude` and say /login, or set ANTHROPIC_API_KEY in `engines.claude.env`",
    }
}

fn no_session(error: &str) -> Option<String> {
    let session = error.strip_prefix(NO_SESSION)?.trim();
    Some(format!(
        "claude has no session {session} in this folder\nhint: its sessions belong to the folder they began in; go on there, \
         or begin a new one"
    ))
}

/// A limit that is near or reached, with the time at which it ends.
pub fn rate_limit(info: &Value) -> Option<String> {
    let name = match text(info, "rateLimitType").unwrap_or_default() {
        "five_hour" => "5-hour limit".to_owned(),
        "seven_day" => "weekly limit".to_owned(),
        "" => "limit".to_owned(),
        other => format!("limit ({})", other.replace('_', " ")),
    };
    let used = info.get("utilization").and_then(Value::as_f64).map(|used| format!("{:.0} % used", used * 100.0));
    let state = match text(info, "status")? {
        "rejected" => "used up".to_owned(),
        "allowed_warning" => used.unwrap_or_else(|| "almost used up".to_owned()),
        _ => return None,
    };
    let reset = whole(info, "resetsAt").and_then(|at| jiff::Timestamp::from_second(at).ok());
    let reset = reset.map(|at| format!("; it begins anew on {}", at.strftime("%Y-%m-%d at %H:%M UTC")));
    Some(format!("claude's {name} is {state}{}", reset.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_said_to_be_removed_only_if_there_was_one_and_claude_did_not_get_it() {
        let says = |is_set, is_passed| login(is_set, is_passed).contains("moot removed ANTHROPIC_API_KEY");
        assert!(says(true, false) && !says(true, true) && !says(false, false) && !says(false, true));
    }
}
