//! What pi asks for. It has no permissions of its own; its extensions put dialogs up.

use folkmoot_action::lasting;
use serde_json::Value;

use crate::event::{Ask, Subject};
use crate::json::{list, shortened, words};

/// Which dialog it is: new every time.
const BOOKKEEPING: [&str; 2] = ["id", "type"];

/// The ask that a dialog is; `None`: it only shows something. What an extension wants confirmed is never known.
pub fn ask(id: &str, method: &str, request: &Value) -> Option<Ask> {
    let subject = match method {
        "confirm" => Subject::default(),
        "select" | "input" | "editor" => Subject::Question,
        _ => return None,
    };
    let title =
        [words(request, "title"), words(request, "message")].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let options = list(request, "options").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let detail = request.as_object().cloned().unwrap_or_default();
    let rest = lasting(&detail, &BOOKKEEPING);
    let (id, title) = (id.to_owned(), shortened(&title, 500));
    Some(Ask { id, subject, title, detail, rest, options, ..Ask::default() }.identified(&BOOKKEEPING))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{assert_identity_is_the_action, assert_nothing_is_hidden};

    fn asked(request: &Value) -> Ask {
        ask("d1", request["method"].as_str().unwrap_or("confirm"), request).unwrap_or_default()
    }

    /// A dialog as `pi --mode rpc` writes it.
    fn request(method: &str) -> Value {
        json!({"type": "extension_ui_request", "id": "d1", "method": method, "title": "Deploy?", "message": "to production",
               "options": ["yes", "no"], "timeout": 7})
    }

    #[test]
    fn each_dialog_is_what_it_says() {
        assert_eq!(asked(&request("confirm")).subject, Subject::default());
        for method in ["select", "input", "editor"] {
            assert_eq!(asked(&request(method)).subject, Subject::Question);
        }
        assert!(ask("d1", "notify", &request("notify")).is_none());
    }

    #[test]
    fn a_dialog_is_told_from_others_by_all_that_it_asks_and_shown_whole() {
        let confirm = |request: &Value| ask("d1", "confirm", request).unwrap();
        assert_identity_is_the_action(&request("confirm"), &BOOKKEEPING, confirm);
        assert_nothing_is_hidden(&request("confirm"), &BOOKKEEPING, confirm);
    }
}
