//! How opencode is told to ask: by itself it does everything without a question.
//!
//! Of all rules that fit, opencode follows the last one, and its own defaults stand before what people configure. Ours must
//! stand between the two: after "everything is allowed", before each word of the user, so that what the user forbids stays
//! forbidden and what the user allows stays allowed. A configuration of our own comes too late for that, but `tools` (an
//! older way to say the same) is put before all `permission`s: naming a key there gives it the first place, and
//! `permission` its value. Keys are patterns, so ours are spelled as nobody spells them (`rea?` for `read`): none of them
//! takes the place of a user's. Reading and looking around needs no question; everything else does, also tools that nobody
//! here knows. Agents that may not edit at all stay that way.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::ID;
use crate::engine::{EngineError, Order};

/// Where opencode reads a configuration that is no file.
pub const VARIABLE: &str = "OPENCODE_CONFIG_CONTENT";

const OURS: &str = include_str!("permissions.json");

type Fields = BTreeMap<String, Box<RawValue>>;

/// The configuration for a run: ours, and what was already in the variable.
pub fn configuration(order: &Order<'_>) -> Result<String, EngineError> {
    let set = order.settings.variable(VARIABLE);
    let theirs = set.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| "{}".to_owned());
    merged(&theirs).ok_or_else(|| {
        let sentence = format!("`{VARIABLE}` is not a JSON object, so {ID} cannot be told to ask before it acts");
        EngineError::new(sentence, "put it into a file, and name that in `OPENCODE_CONFIG`")
    })
}

/// Both, ours first. Texts are put together as they are: the order of their fields means something.
fn merged(theirs: &str) -> Option<String> {
    let ours: Fields = serde_json::from_str(OURS).ok()?;
    let mut all: Fields = serde_json::from_str(theirs).ok()?;
    for (name, value) in ours {
        let both = match all.get(&name) {
            None => value,
            // Agents that are configured here are the user's business.
            Some(_) if name == "agent" => continue,
            Some(theirs) => RawValue::from_string(joined(value.get(), theirs.get())?).ok()?,
        };
        all.insert(name, both);
    }
    serde_json::to_string(&all).ok()
}

/// Two objects as one; a permission may also be one word for everything.
fn joined(ours: &str, theirs: &str) -> Option<String> {
    let theirs = theirs.trim();
    let inner = match theirs.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?.trim().to_owned(),
        None => format!("\"*\": {theirs}"),
    };
    let ours = ours.trim().strip_suffix('}')?.trim_end();
    Some(if inner.is_empty() { format!("{ours}}}") } else { format!("{ours}, {inner}}}") })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn every_rule_of_ours_has_its_place_before_the_users() {
        let ours: Value = serde_json::from_str(OURS).unwrap();
        let names = |field: &str| ours[field].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names("tools"), names("permission"));
        assert!(
            names("permission").iter().all(|name| name.contains(['*', '?']) && name != "*"),
            "nobody spells them so"
        );
    }

    #[test]
    fn what_is_already_configured_stays_and_stands_behind_ours_in_its_order() {
        let theirs = r#"{"model": "a/b", "permission": {"bash": {"git *": "allow", "*": "deny", "a": "ask"}}}"#;
        let text = merged(theirs).unwrap();
        assert!(
            text.contains(r#""questio?": "allow", "bash": {"git *": "allow", "*": "deny", "a": "ask"}}"#),
            "{text}"
        );
        let all: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&all["model"], &all["permission"]["**"]), (&"a/b".into(), &"ask".into()));
        let word: Value = serde_json::from_str(&merged(r#"{"permission": "deny", "tools": {}}"#).unwrap()).unwrap();
        assert_eq!((&word["permission"]["*"], &word["tools"]["**"]), (&"deny".into(), &true.into()));
        assert!(merged("// not JSON").is_none() && merged("[]").is_none());
    }
}
