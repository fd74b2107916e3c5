//! Cards: a question of an engine as people see it, and what their buttons and words mean to the engine.

use folkmoot_engines::event::{Answer, Ask, AskKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::{Button, Keyboard};
use crate::bridge::Spot;
use crate::journal::{Card, CardId, Content, JournalError, Kind, NewCard, Rows};
use crate::press::{Asker, Choice, Press};
use crate::text::{self, Message, Overflow, Rendered};

/// The most options that get a button each.
pub const MOST_OPTIONS: usize = 8;

/// What a button tells the engine, and the word for people.
pub fn answer(ask: &Ask, choice: Choice) -> Option<(Answer, String)> {
    Some(match choice {
        Choice::Once => (Answer::Allow { input: None }, "allowed once".to_owned()),
        // The bridge asks every time.
        Choice::Run => return None,
        Choice::Deny => (Answer::Deny { note: String::new(), stop: false }, "denied".to_owned()),
        Choice::Option(number) => {
            let option = ask.options.get(number)?.clone();
            (Answer::Reply { answers: vec![option.clone()] }, format!("answered: {option}"))
        }
    })
}

/// What a reply to the card means: the answer to a question, or what to do instead.
pub fn note(ask: &Ask, text: &str) -> (Answer, String) {
    match ask.kind {
        AskKind::Question => (Answer::Reply { answers: vec![text.to_owned()] }, "answered".to_owned()),
        AskKind::Permission | AskKind::Plan => {
            (Answer::Deny { note: text.to_owned(), stop: false }, "denied with a note".to_owned())
        }
    }
}

/// A question as it is kept with its card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub ask: Ask,
    pub engine: String,
}

impl Question {
    pub fn of(card: &Card) -> Option<Self> {
        serde_json::from_value(card.body.clone()).ok()
    }

    /// The card, in as many messages as its exact words take; the buttons belong under the last.
    pub fn pages(&self) -> Vec<Rendered> {
        text::pages(&message(&self.ask, &self.engine, footer(&self.ask)), Overflow::Split)
    }

    /// The card after it was decided, or when nobody waits for a decision any more. One message, so long words are cut.
    pub fn closed(&self, how: &str) -> Rendered {
        text::page(&message(&self.ask, &self.engine, format!("**{how}**")))
    }

    pub fn keyboard(&self, id: CardId) -> Keyboard {
        let ask = &self.ask;
        let data = |choice| Press { asker: Asker::Engine, card: id, choice }.data();
        let deny = || Button::new("Deny", data(Choice::Deny));
        let options = ask.options.iter().take(MOST_OPTIONS).enumerate();
        let options = options.map(|(number, word)| vec![Button::new(word.clone(), data(Choice::Option(number)))]);
        let rows = match ask.kind {
            AskKind::Question => options.chain([vec![deny()]]).collect(),
            AskKind::Permission | AskKind::Plan => {
                vec![vec![Button::new("Allow once", data(Choice::Once)), deny()]]
            }
        };
        Keyboard { inline_keyboard: rows }
    }
}

/// Puts a card up: its pages, and the buttons under the last.
pub fn post(
    rows: &mut Rows<'_>,
    spot: Spot,
    card: &NewCard,
    mut pages: Vec<Rendered>,
    keyboard: impl FnOnce(CardId) -> Keyboard,
) -> Result<(), JournalError> {
    let card = rows.add_card(card)?;
    let last = pages.pop().unwrap_or_default();
    let mut first = None;
    for page in pages {
        let slip = rows.post(&spot.draft(Kind::Notice, Content::new(page)))?;
        first.get_or_insert(slip);
    }
    // Somebody has to decide, so this one makes a sound and does not wait behind progress.
    let slip = rows.post(&spot.draft(Kind::Notice, Content::with_keyboard(last, keyboard(card))))?;
    rows.place_card(card, first.unwrap_or(slip), slip)
}

fn message(ask: &Ask, engine: &str, footer: String) -> Message {
    let word = match ask.kind {
        AskKind::Permission => "permission",
        AskKind::Question => "question",
        AskKind::Plan => "plan",
    };
    let title = ask.title.trim();
    let exact = exact(&ask.detail);
    let body = match exact {
        Some(exact) if ask.kind == AskKind::Permission => format!("{}\n\n{exact}", plain(title)),
        _ => title.to_owned(),
    };
    Message { header: format!("**{word}** · {engine}"), body, footer: Some(footer) }
}

fn footer(ask: &Ask) -> String {
    match ask.kind {
        AskKind::Question => "Reply to this message to answer in your own words.".to_owned(),
        AskKind::Permission | AskKind::Plan => "Reply to this message to deny and say what to do instead.".to_owned(),
    }
}

/// The exact command, change or input, whichever way the engine puts it.
pub fn exact(detail: &Map<String, Value>) -> Option<String> {
    let detail = Value::Object(detail.clone());
    let input = ["input", "params", "metadata"].iter().find_map(|key| detail.get(key)).unwrap_or(&detail);
    let found = |key: &str| input.get(key).or_else(|| detail.get(key)).filter(|value| !value.is_null());
    if let Some(command) = found("command") {
        let command = match command {
            Value::String(text) => text.clone(),
            Value::Array(words) => words.iter().map(word).collect::<Vec<_>>().join(" "),
            other => other.to_string(),
        };
        return Some(fenced("sh", &command));
    }
    let path = ["file_path", "path", "filePath"].iter().find_map(|key| found(key)?.as_str());
    let old = found("old_string").and_then(Value::as_str);
    let new = found("new_string").or_else(|| found("content")).and_then(Value::as_str);
    if let (Some(path), Some(new)) = (path, new) {
        return Some(format!("`{path}`\n\n{}", fenced("diff", &difference(old.unwrap_or_default(), new))));
    }
    if let Some(diff) = found("diff").and_then(Value::as_str) {
        return Some(fenced("diff", diff));
    }
    let changes = found("changes").or_else(|| found("fileChanges")).or_else(|| found("edits"));
    if let Some(changes) = changes {
        return Some(fenced("json", &serde_json::to_string_pretty(changes).ok()?));
    }
    let shown = input.as_object().is_some_and(|object| !object.is_empty());
    shown.then(|| fenced("json", &serde_json::to_string_pretty(input).unwrap_or_default()))
}

fn word(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_./=:,@%+".contains(c));
    if plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn difference(old: &str, new: &str) -> String {
    let lines = |sign: char, text: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    format!("{}{}", lines('-', old), lines('+', new))
}

/// A code block that nothing inside can end.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Words that must not be read as Markdown.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            plain.push('\\');
        }
        plain.push(c);
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(kind: AskKind, detail: Value, options: &[&str]) -> Question {
        let ask = Ask {
            id: "q".into(),
            kind,
            title: "Bash: do *it*".into(),
            detail: detail.as_object().unwrap().clone(),
            options: options.iter().map(|&word| word.to_owned()).collect(),
            withdrawn: false,
        };
        Question { ask, engine: "claude".into() }
    }

    fn text(detail: Value) -> String {
        question(AskKind::Permission, detail, &[]).pages().remove(0).text
    }

    #[test]
    fn a_card_shows_the_exact_command() {
        let claude = text(json!({"tool_name": "Bash", "input": {"command": "rm -rf ``` build"}}));
        assert!(claude.contains("rm -rf ``` build"), "{claude}");
        assert!(claude.contains("Bash: do *it*") && claude.starts_with("permission · claude"), "{claude}");
        let codex = text(json!({"command": ["bash", "-lc", "echo 'a b'"]}));
        assert!(codex.contains(r"bash -lc 'echo '\''a b'\'''"), "{codex}");
    }

    #[test]
    fn a_card_shows_the_exact_change() {
        let edit = text(json!({"input": {"file_path": "src/a.rs", "old_string": "one\ntwo", "new_string": "three"}}));
        assert!(edit.contains("src/a.rs") && edit.contains("-one\n-two\n+three"), "{edit}");
        let write = text(json!({"input": {"file_path": "b", "content": "hello"}}));
        assert!(write.contains("+hello"));
        assert!(text(json!({"input": {"url": "https://example.org"}})).contains("https://example.org"));
    }

    #[test]
    fn nothing_of_a_long_command_is_hidden() {
        let command = (0..400).map(|n| format!("echo line-{n}")).collect::<Vec<_>>().join("\n");
        let pages = question(AskKind::Permission, json!({"command": command}), &[]).pages();
        let whole: String = pages.iter().map(|page| page.text.as_str()).collect();
        assert!((0..400).all(|n| whole.contains(&format!("line-{n}"))));
    }

    #[tokio::test]
    async fn every_page_of_a_long_card_is_the_card_and_nothing_around_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _orders) = crate::journal::Journal::open(folder.path()).unwrap();
        let question = question(AskKind::Permission, json!({"command": "echo line\n".repeat(2000)}), &[]);
        let store = move |rows: &mut Rows<'_>| {
            let spot = Spot { chat: crate::api::ChatId(1), topic: None, reply_to: None };
            let notice = || spot.draft(Kind::Notice, Content::default());
            let before = rows.post(&notice())?;
            let card = NewCard { prompt: None, slip: None, ask: "q".into(), body: Value::Null };
            post(rows, spot, &card, question.pages(), |id| question.keyboard(id))?;
            let after = rows.post(&notice())?;
            let shows = |slip| Ok(rows.card_of(crate::journal::SlipId(slip))?.is_some());
            (before.0..=after.0).map(shows).collect::<Result<Vec<bool>, JournalError>>()
        };
        let shown = journal.transact(store).await.unwrap();
        let (first, pages) = shown.split_first().unwrap();
        let (last, pages) = pages.split_last().unwrap();
        assert!(!first && !last && pages.len() > 2, "{shown:?}");
        assert!(pages.iter().all(|is_card| *is_card), "{shown:?}");
    }

    #[test]
    fn a_permission_has_allow_once_and_deny() {
        let keyboard = question(AskKind::Permission, json!({}), &[]).keyboard(CardId(7));
        let buttons: Vec<&str> = keyboard.inline_keyboard[0].iter().map(|button| button.text.as_str()).collect();
        assert_eq!(buttons, ["Allow once", "Deny"]);
        for button in &keyboard.inline_keyboard[0] {
            assert_eq!(Press::of(&button.callback_data).unwrap().card, CardId(7));
        }
    }

    #[test]
    fn a_question_has_its_options_and_takes_any_words() {
        let question = question(AskKind::Question, json!({}), &["red", "blue"]);
        let keyboard = question.keyboard(CardId(1));
        let question = question.ask;
        let press = Press::of(&keyboard.inline_keyboard[1][0].callback_data).unwrap();
        assert_eq!(answer(&question, press.choice).unwrap().0, Answer::Reply { answers: vec!["blue".into()] });
        assert_eq!(note(&question, "green").0, Answer::Reply { answers: vec!["green".into()] });
        assert!(answer(&question, Choice::Option(9)).is_none());
    }

    #[test]
    fn a_reply_to_a_permission_is_the_note_to_the_engine() {
        let (answer, _) = note(&question(AskKind::Permission, json!({}), &[]).ask, "use trash instead");
        assert_eq!(answer, Answer::Deny { note: "use trash instead".into(), stop: false });
    }
}
