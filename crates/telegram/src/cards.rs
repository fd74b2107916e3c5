//! Cards: a question of an engine as people see it, and what their buttons and words mean to the engine.

use folkmoot_action::{Part, PartKind, Shown};
use folkmoot_engines::event::{Ask, AskAnswer, AskKind};
use serde::{Deserialize, Serialize};

use crate::api::{Button, Keyboard};
use crate::ids::CardId;
use crate::journal::{Card, Content, JournalError, NewCard, OutgoingKind, Rows};
use crate::press::{Asker, Choice, Press};
use crate::spot::Spot;
use crate::text::{self, Message, Overflow, Rendered};

/// The most options that get a button each.
pub const MAX_OPTIONS: usize = 8;

/// The most messages that a card takes at once; the rest comes when it is wanted.
const MAX_PAGES: usize = 4;
/// The most of a warning that stands on every page; a longer one stands whole in the card.
const MAX_WARNING: usize = 250;

/// What a button tells the engine, and the word for people.
pub fn answer(ask: &Ask, choice: Choice) -> Option<(AskAnswer, String)> {
    Some(match choice {
        // Shows more and decides nothing.
        Choice::Rest => return None,
        Choice::Once => (AskAnswer::Allow { input: None }, "allowed once".to_owned()),
        // The bridge asks every time.
        Choice::Run => return None,
        Choice::Deny => (AskAnswer::Deny { note: String::new(), stop: false }, "denied".to_owned()),
        Choice::Option(number) => {
            let option = ask.options.get(number)?.clone();
            (AskAnswer::Reply { answers: vec![option.clone()] }, format!("answered: {option}"))
        }
    })
}

/// What a reply to the card means: the answer to a question, or what to do instead.
pub fn note(ask: &Ask, text: &str) -> (AskAnswer, String) {
    match ask.kind() {
        AskKind::Question => (AskAnswer::Reply { answers: vec![text.to_owned()] }, "answered".to_owned()),
        AskKind::Permission | AskKind::Plan => {
            (AskAnswer::Deny { note: text.to_owned(), stop: false }, "denied with a note".to_owned())
        }
    }
}

/// A question as it is kept with its card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub ask: Ask,
    pub engine: String,
    /// Where it would happen.
    #[serde(default)]
    pub folder: Option<String>,
    #[serde(default)]
    pub machine: Option<String>,
}

impl Question {
    pub fn of(card: &Card) -> Option<Self> {
        serde_json::from_value(card.body.clone()).ok()
    }

    /// The card; the buttons belong under the last of its first pages.
    pub fn pages(&self) -> Pages {
        Pages::of(&self.message(footer(&self.ask)))
    }

    /// The card after it was decided, or when nobody waits for a decision any more. One message, so long words are cut.
    pub fn closed(&self, how: &str) -> Rendered {
        text::page(&self.message(format!("**{}**", plain(how))))
    }

    /// What people see, as on every other surface.
    pub fn shown(&self) -> Shown {
        self.ask.shown(self.folder.as_deref(), self.machine.as_deref())
    }

    fn message(&self, footer: String) -> Message {
        let word = match self.ask.kind() {
            AskKind::Permission => "permission",
            AskKind::Question => "question",
            AskKind::Plan => "plan",
        };
        let shown = self.shown();
        Message {
            header: header(&shown, &format!("**{word}** · {}", plain(&self.engine))),
            body: body(&shown),
            footer: Some(footer),
        }
    }

    pub fn keyboard(&self, id: CardId) -> Keyboard {
        let ask = &self.ask;
        let data = |choice| Press::Card { asker: Asker::Engine, card: id, choice }.data();
        let deny = || Button::new("Deny", data(Choice::Deny));
        let rest = self.pages().rest_button(data(Choice::Rest));
        let options = ask.options.iter().take(MAX_OPTIONS).enumerate();
        let options = options.map(|(number, word)| vec![Button::new(word.clone(), data(Choice::Option(number)))]);
        let rows: Vec<Vec<Button>> = match ask.kind() {
            AskKind::Question => options.chain([vec![deny()]]).collect(),
            AskKind::Permission | AskKind::Plan => {
                vec![vec![Button::new("Allow once", data(Choice::Once)), deny()]]
            }
        };
        Keyboard { inline_keyboard: rest.into_iter().chain(rows).collect() }
    }
}

/// A card in messages: those that are shown at once, and those that come when they are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pages {
    pub first: Vec<Rendered>,
    pub rest: Vec<Rendered>,
}

impl Pages {
    /// Every page has the header, and with it the warning; where there is more, every page says how much.
    pub fn of(message: &Message) -> Self {
        let mut first = text::pages(message, Overflow::Split);
        if first.len() <= MAX_PAGES {
            return Self { first, rest: Vec::new() };
        }
        let footer = message.footer.clone().unwrap_or_default();
        let frame = text::page(&Message { body: String::new(), ..message.clone() }).text.lines().count() + 4;
        let mut rest = first.split_off(MAX_PAGES);
        // Saying how much follows takes room itself; a second round knows the number.
        for _ in 0..2 {
            let lines: usize = rest.iter().map(|page| page.text.lines().count().saturating_sub(frame).max(1)).sum();
            let more = format!("{lines} more lines: press “Show the rest”\n\n{footer}");
            first = text::pages(&Message { footer: Some(more), ..message.clone() }, Overflow::Split);
            rest = first.split_off(MAX_PAGES.min(first.len()));
        }
        Self { first, rest }
    }

    /// The button that brings the rest.
    pub fn rest_button(&self, data: String) -> Option<Vec<Button>> {
        (!self.rest.is_empty()).then(|| vec![Button::new("Show the rest", data)])
    }
}

/// Puts a card up: its pages, and the buttons under the last.
pub fn post(
    rows: &mut Rows<'_>,
    spot: Spot,
    card: &NewCard,
    pages: Pages,
    keyboard: impl FnOnce(CardId) -> Keyboard,
) -> Result<(), JournalError> {
    let card = rows.add_card(card)?;
    let mut pages = pages.first;
    let last = pages.pop().unwrap_or_default();
    let mut first = None;
    for page in pages {
        let outgoing = rows.post(&spot.draft(OutgoingKind::Notice, Content::new(page)))?;
        first.get_or_insert(outgoing);
    }
    // Somebody has to decide, so this one makes a sound and does not wait behind progress.
    let outgoing = rows.post(&spot.draft(OutgoingKind::Notice, Content::with_keyboard(last, keyboard(card))))?;
    rows.place_card(card, first.unwrap_or(outgoing), outgoing)
}

/// Takes the buttons of a card away, if it is open, and shows how it ended.
pub fn close(rows: &mut Rows<'_>, card: &Card, closed: impl FnOnce() -> Option<Rendered>) -> Result<(), JournalError> {
    if !rows.withdraw_card(card.id)? {
        return Ok(());
    }
    let shown = card.outgoing.and_then(|outgoing| Some((outgoing, closed()?)));
    shown.map_or(Ok(()), |(outgoing, closed)| rows.revise(outgoing, &Content::new(closed)))
}

/// Sends what did not fit onto a card.
pub fn post_rest(rows: &mut Rows<'_>, spot: Spot, pages: Pages) -> Result<(), JournalError> {
    pages
        .rest
        .into_iter()
        .try_for_each(|page| rows.post(&spot.draft(OutgoingKind::Notice, Content::new(page))).map(drop))
}

/// What stands on every page: the warning before everything, who asks, and what for.
pub fn header(shown: &Shown, who: &str) -> String {
    let warning = shown.warning.iter().map(|warning| format!("⚠️ **{}**", plain(&cut(warning, MAX_WARNING))));
    let lines = warning.chain([who.to_owned(), plain(&shown.heading)]);
    lines.collect::<Vec<_>>().join("\n")
}

/// All of an action, part by part.
pub fn body(shown: &Shown) -> String {
    let long = shown.warning.iter().filter(|warning| warning.chars().count() > MAX_WARNING);
    let long = long.map(|warning| plain(&format!("⚠️ {warning}")));
    let says = shown.says.iter().map(|says| plain(&format!("“{says}”")));
    long.chain(says).chain(shown.parts.iter().map(one_part)).collect::<Vec<_>>().join("\n\n")
}

fn one_part(part: &Part) -> String {
    let label = plain(&part.label);
    match part.kind {
        PartKind::Command if part.label == "Command" => fenced("sh", &part.text),
        PartKind::Command => format!("{label}:\n\n{}", fenced("sh", &part.text)),
        PartKind::Diff => format!("{label}\n\n{}", fenced("diff", &part.text)),
        PartKind::Url => format!("{label}:\n\n{}", fenced("", &part.text)),
        PartKind::Place => format!("{label}: {}", plain(&part.text)),
        PartKind::Argument if part.text.contains('\n') => format!("{label}:\n\n{}", fenced("", &part.text)),
        PartKind::Argument => format!("{label}: {}", plain(&part.text)),
    }
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

fn footer(ask: &Ask) -> String {
    match ask.kind() {
        AskKind::Question => "Reply to this message to answer in your own words.".to_owned(),
        AskKind::Permission | AskKind::Plan => "Reply to this message to deny and say what to do instead.".to_owned(),
    }
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
    use serde_json::{Value, json};

    use super::*;

    fn question(kind: AskKind, detail: Value, options: &[&str]) -> Question {
        let ask = json!({"id": "q", "kind": kind, "title": "Bash: do *it*", "detail": detail, "options": options});
        let ask = serde_json::from_value(ask).unwrap();
        Question { ask, engine: "claude".into(), folder: Some("/src/site".into()), machine: Some("laptop".into()) }
    }

    fn choice_of(button: &Button) -> Choice {
        match Press::of(&button.callback_data) {
            Some(Press::Card { choice, .. }) => choice,
            other => panic!("{other:?}"),
        }
    }

    fn text(detail: Value) -> String {
        question(AskKind::Permission, detail, &[]).pages().first.remove(0).text
    }

    #[test]
    fn a_card_shows_the_exact_command() {
        let claude = text(json!({"tool_name": "Bash", "input": {"command": "rm -rf ``` build"}}));
        assert!(claude.contains("rm -rf ``` build"), "{claude}");
        assert!(claude.starts_with("⚠️ deletes files without asking"), "{claude}");
        assert!(claude.contains("\npermission · claude\nRun a command\n"), "{claude}");
        for part in ["Bash: do *it*", "Folder: /src/site", "Machine: laptop"] {
            assert!(claude.contains(part), "{part}: {claude}");
        }
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
    fn nothing_of_a_long_command_is_hidden_and_the_warning_stands_on_every_page() {
        let lines = |count: usize| (0..count).map(|n| format!("echo line-{n}")).collect::<Vec<_>>().join("\n");
        let pages = |count| {
            let command = format!("{}\nrm -rf /", lines(count));
            question(AskKind::Permission, json!({"command": command}), &[]).pages()
        };
        let short = pages(400);
        assert!(short.rest.is_empty() && short.first.len() > 1);
        let long = pages(3000);
        assert_eq!(long.first.len(), MAX_PAGES);
        for (pages, count) in [(short, 400), (long, 3000)] {
            let all: Vec<&Rendered> = pages.first.iter().chain(&pages.rest).collect();
            let whole: String = all.iter().map(|page| page.text.as_str()).collect();
            assert!((0..count).all(|n| whole.contains(&format!("line-{n}"))));
            assert!(all.iter().all(|page| page.text.starts_with("⚠️ deletes files without asking")));
        }
    }

    #[test]
    fn a_card_that_is_cut_says_how_much_follows_and_has_a_button_for_it() {
        let command = "echo line\n".repeat(3000);
        let question = question(AskKind::Permission, json!({"command": command}), &[]);
        let pages = question.pages();
        let last = &pages.first.last().unwrap().text;
        let more = last.split(" more lines: press “Show the rest”").next().unwrap().rsplit('\n').next().unwrap();
        let shown: usize = pages.first.iter().map(|page| page.text.matches("echo line").count()).sum();
        let said: usize = more.parse().unwrap();
        assert!(said.abs_diff(3000 - shown) < 30, "{said} said, {} are left", 3000 - shown);
        let button = &question.keyboard(CardId(7)).inline_keyboard[0][0];
        assert_eq!((button.text.as_str(), choice_of(button)), ("Show the rest", Choice::Rest));
    }

    #[test]
    fn what_hides_is_seen_on_a_card() {
        let text = text(json!({"tool_name": "Bash", "input": {"command": "ls \u{202e}\u{1b}[8m", "x\u{200b}": "y"}}));
        assert!(text.contains("ls ⟨U+202E⟩␛[8m") && text.contains("x⟨U+200B⟩: y"), "{text}");
    }

    #[tokio::test]
    async fn every_page_of_a_long_card_is_the_card_and_nothing_around_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _orders) = crate::journal::Journal::open(folder.path()).unwrap();
        let question = question(AskKind::Permission, json!({"command": "echo line\n".repeat(1000)}), &[]);
        let store = move |rows: &mut Rows<'_>| {
            let spot = Spot { chat: crate::api::ChatId(1), topic: None, reply_to: None };
            let notice = || spot.draft(OutgoingKind::Notice, Content::default());
            let before = rows.post(&notice())?;
            let card = NewCard { prompt: None, ask: "q".into(), body: Value::Null };
            post(rows, spot, &card, question.pages(), |id| question.keyboard(id))?;
            let after = rows.post(&notice())?;
            let shows = |outgoing| Ok(rows.card_of(crate::ids::OutgoingId(outgoing))?.is_some());
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
            assert_eq!(Press::of(&button.callback_data).unwrap().card(), Some(CardId(7)));
        }
    }

    #[test]
    fn a_question_has_its_options_and_takes_any_words() {
        let question = question(AskKind::Question, json!({}), &["red", "blue"]);
        let keyboard = question.keyboard(CardId(1));
        let question = question.ask;
        let choice = choice_of(&keyboard.inline_keyboard[1][0]);
        assert_eq!(answer(&question, choice).unwrap().0, AskAnswer::Reply { answers: vec!["blue".into()] });
        assert_eq!(note(&question, "green").0, AskAnswer::Reply { answers: vec!["green".into()] });
        assert!(answer(&question, Choice::Option(9)).is_none());
    }

    #[test]
    fn a_reply_to_a_permission_is_the_note_to_the_engine() {
        let (answer, _) = note(&question(AskKind::Permission, json!({}), &[]).ask, "use trash instead");
        assert_eq!(answer, AskAnswer::Deny { note: "use trash instead".into(), stop: false });
    }
}
