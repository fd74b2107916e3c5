//! Questions of the hub's agents as cards: how they look, and what their buttons and the words in reply to them decide.

use std::borrow::Cow;

use folkmoot_action::{Shown, visible};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::{Button, Keyboard, UserId};
use crate::cards::{self, MAX_OPTIONS, Pages, plain};
use crate::hub::{Decision, Question};
use crate::ids::CardId;
use crate::journal::Card;
use crate::press::{Asker, Choice, Press};
use crate::text::{self, Message, Rendered};

/// A question as it is kept with its card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sheet {
    pub user: UserId,
    pub question: Question,
    /// What goes to the agent with the decision.
    pub note: Option<String>,
}

impl Sheet {
    pub fn of(card: &Card) -> Option<Self> {
        serde_json::from_value(card.body.clone()).ok()
    }

    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The card; the buttons belong under the last of its first pages.
    pub fn pages(&self) -> Pages {
        let reply = match self.asks_for_words() {
            true => "Reply to this message to answer in your own words.",
            false => "Reply to this message to give the agent a note with your decision.",
        };
        Pages::of(&self.message(format!("open until {}\n\n{reply}", self.question.expires)))
    }

    /// The card when it is no longer open. One message, so long words are cut.
    pub fn closed(&self, how: &str) -> Rendered {
        text::page(&self.message(format!("**{}**", plain(how))))
    }

    pub fn keyboard(&self, id: CardId) -> Keyboard {
        let data = |choice| Press::Card { asker: Asker::Agent, card: id, choice }.data();
        let button = |label: &str, choice: Choice| Button::new(label, data(choice));
        let rest = self.pages().rest_button(data(Choice::Rest));
        let options = self.options().into_iter().enumerate();
        let options = options.map(|(number, word)| vec![button(&visible::line(&word), Choice::Option(number))]);
        let mut rows: Vec<Vec<Button>> = rest.into_iter().chain(options).collect();
        rows.push(match (self.question.is_brake, self.question.has_run) {
            (true, _) => vec![
                button("Post this one", Choice::Once),
                button("Continue", Choice::Run),
                button("Stop", Choice::Deny),
            ],
            (false, _) if self.asks_for_words() => vec![button("Deny", Choice::Deny)],
            (false, true) => vec![
                button("Allow once", Choice::Once),
                button("Allow for this run", Choice::Run),
                button("Deny", Choice::Deny),
            ],
            (false, false) => vec![button("Allow", Choice::Once), button("Deny", Choice::Deny)],
        });
        Keyboard { inline_keyboard: rows }
    }

    /// What a button decides, with the note that was given before.
    pub fn decision(&self, choice: Choice) -> Option<Decision> {
        let note = self.note.clone();
        Some(match choice {
            Choice::Once => Decision { approved: true, for_run: false, note },
            Choice::Run => Decision { approved: true, for_run: true, note },
            Choice::Rest => return None,
            Choice::Deny => Decision { approved: false, for_run: false, note },
            Choice::Option(number) => {
                let option = self.options().into_iter().nth(number)?;
                Decision { approved: true, for_run: false, note: Some(option) }
            }
        })
    }

    /// The engine wants to be told something rather than to be let.
    pub fn asks_for_words(&self) -> bool {
        !self.question.is_brake && self.payload()["kind"] == "question"
    }

    fn payload(&self) -> Value {
        serde_json::from_str(&self.question.payload).unwrap_or_default()
    }

    fn options(&self) -> Vec<String> {
        if !self.asks_for_words() {
            return Vec::new();
        }
        let payload = self.payload();
        let words = payload["options"].as_array().into_iter().flatten().filter_map(Value::as_str);
        words.map(str::to_owned).filter(|word| !word.trim().is_empty()).take(MAX_OPTIONS).collect()
    }

    /// As the hub shows it everywhere; cards of an older version have only what it is made of.
    fn shown(&self) -> Cow<'_, Shown> {
        let question = &self.question;
        match question.shown.heading.is_empty() {
            false => Cow::Borrowed(&question.shown),
            true => Cow::Owned(Shown::of_question(question.is_brake, &question.action, &question.payload)),
        }
    }

    fn message(&self, footer: String) -> Message {
        let question = &self.question;
        let name = |text: &str| plain(&visible::line(text));
        let place = question.place.as_ref().map(|place| format!(" · {}", name(place))).unwrap_or_default();
        let what = if question.is_brake { "wants to go on" } else { "asks" };
        let who = format!("**{}** {what}{place}", name(&question.agent));
        let shown = self.shown();
        Message { header: cards::header(&shown, &who), body: cards::body(&shown), footer: Some(footer) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sheet(payload: Value) -> Sheet {
        let question = Question {
            approval: "appr_1".into(),
            is_brake: false,
            agent: "claude".into(),
            place: Some("#general".into()),
            action: "Bash: rm *x*".into(),
            payload: payload.to_string(),
            shown: Shown::default(),
            has_run: true,
            expires: "2026-11-16 12:00 UTC".into(),
        };
        Sheet { user: UserId(7), question, note: None }
    }

    fn labels(sheet: &Sheet) -> Vec<String> {
        let rows = sheet.keyboard(CardId(3)).inline_keyboard;
        rows.into_iter().flatten().map(|button| button.text).collect()
    }

    #[test]
    fn a_card_shows_agent_channel_exact_action_folder_and_expiry() {
        let shown = sheet(json!({"detail": {"input": {"command": "rm -rf ``` x"}}, "folder": "/src/a_b"})).pages();
        let text = &shown.first[0].text;
        for part in ["claude asks · #general", "Bash: rm *x*", "rm -rf ``` x", "/src/a_b", "2026-11-16 12:00 UTC"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_card_shows_what_the_hub_shows() {
        let mut sheet = sheet(json!({"command": "ls"}));
        sheet.question.shown = Shown::of_question(
            false,
            "tidy up",
            &json!({"detail": {"command": "rm -rf x"}, "machine": "laptop"}).to_string(),
        );
        let text = sheet.pages().first[0].text.clone();
        assert!(text.starts_with("⚠️ deletes files without asking\nclaude asks"), "{text}");
        assert!(text.contains("Machine: laptop") && text.contains("“tidy up”") && !text.contains("ls"), "{text}");
    }

    #[test]
    fn any_payload_is_shown_as_it_is() {
        assert!(sheet(json!({"service": "api"})).pages().first[0].text.contains("service: api"));
        let mut other = sheet(Value::Null);
        other.question.payload = "to *production*".into();
        assert!(other.pages().first[0].text.contains("to *production*"));
        other.question.payload = String::new();
        assert!(other.pages().first[0].text.contains("Bash"));
    }

    #[test]
    fn a_permission_is_allowed_once_or_for_its_run_or_denied_with_the_note() {
        let mut sheet = sheet(json!({}));
        assert_eq!(labels(&sheet), ["Allow once", "Allow for this run", "Deny"]);
        sheet.note = Some("mind the tests".into());
        let decided = |choice| sheet.decision(choice).map(|made| (made.approved, made.for_run, made.note));
        let note = Some("mind the tests".to_owned());
        assert_eq!(decided(Choice::Once), Some((true, false, note.clone())));
        assert_eq!(decided(Choice::Run), Some((true, true, note.clone())));
        assert_eq!(decided(Choice::Deny), Some((false, false, note)));
        assert_eq!(decided(Choice::Option(0)), None);
        sheet.question.has_run = false;
        assert_eq!(labels(&sheet), ["Allow", "Deny"]);
    }

    #[test]
    fn a_held_text_is_posted_continued_or_stopped() {
        let mut sheet = sheet(json!({"text": "@other **go**", "limit": "pair"}));
        sheet.question.is_brake = true;
        assert_eq!(labels(&sheet), ["Post this one", "Continue", "Stop"]);
        let text = sheet.pages().first[0].text.clone();
        assert!(text.contains("wants to go on") && text.contains("@other **go**"), "{text}");
    }

    #[test]
    fn a_question_has_its_options_and_takes_any_words() {
        let sheet = sheet(json!({"kind": "question", "options": ["red", "blue", 3]}));
        assert_eq!(labels(&sheet), ["red", "blue", "Deny"]);
        let answer = sheet.decision(Choice::Option(1)).unwrap();
        assert_eq!((answer.approved, answer.note.as_deref()), (true, Some("blue")));
        assert_eq!(sheet.decision(Choice::Option(2)), None);
        assert!(sheet.asks_for_words());
    }
}
