//! What people type while an engine works: answers, and words to steer it.

use folkmoot_engines::event::{Ask, AskAnswer, AskKind};
use serde::Deserialize;
use tokio::sync::mpsc;

/// Something that was typed.
pub enum Word {
    /// A line: the answer to the open question, else a word to the engine.
    Line(String),
    Answer(String, AskAnswer),
    Steer(String),
    Interrupt,
    /// A line that says none of these, though it should.
    Nonsense(String),
    /// Nothing more will be typed.
    End,
}

pub struct Keyboard {
    words: Option<mpsc::Receiver<Word>>,
}

/// With `--json`, standard input takes lines too: `{"ask":"ID","verdict":"allow"}`, `{"steer":"…"}`, `{"interrupt":true}`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Order {
    Answer {
        ask: String,
        #[serde(flatten)]
        answer: AskAnswer,
    },
    Steer {
        steer: String,
    },
    Interrupt {
        #[serde(rename = "interrupt")]
        _interrupt: bool,
    },
}

impl Keyboard {
    pub fn new(listens: bool, json: bool) -> Self {
        if !listens {
            return Self { words: None };
        }
        let (typed, words) = mpsc::channel(16);
        // Reading cannot be given up, so it has a thread that ends with the process.
        std::thread::spawn(move || {
            for line in std::io::stdin().lines().map_while(Result::ok) {
                let Some(word) = word(line, json) else { continue };
                if typed.blocking_send(word).is_err() {
                    return;
                }
            }
        });
        Self { words: Some(words) }
    }

    /// The next word, the last one of which is the end; never, when nobody can type.
    pub async fn word(&mut self) -> Word {
        let Some(words) = &mut self.words else { return std::future::pending().await };
        match words.recv().await {
            Some(word) => word,
            None => {
                self.words = None;
                Word::End
            }
        }
    }
}

fn word(line: String, json: bool) -> Option<Word> {
    if !json {
        return (!line.trim().is_empty()).then_some(Word::Line(line));
    }
    if line.trim().is_empty() {
        return None;
    }
    Some(match serde_json::from_str(&line) {
        Ok(Order::Answer { ask, answer }) => Word::Answer(ask, answer),
        Ok(Order::Steer { steer }) => Word::Steer(steer),
        Ok(Order::Interrupt { .. }) => Word::Interrupt,
        Err(_) => Word::Nonsense(line),
    })
}

/// What a typed line says to a question.
pub fn answer(ask: &Ask, line: &str) -> AskAnswer {
    let line = line.trim();
    if ask.kind() == AskKind::Question {
        return AskAnswer::Reply { answers: line.split(';').map(|answer| answer.trim().to_owned()).collect() };
    }
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word.to_lowercase().as_str() {
        "y" | "yes" | "allow" => AskAnswer::Allow { input: None },
        "a" | "always" => AskAnswer::AllowAlways,
        "n" | "no" | "deny" => AskAnswer::Deny { note: rest.trim().to_owned(), stop: false },
        // Anything else is a reason why not.
        _ => AskAnswer::Deny { note: line.to_owned(), stop: false },
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_engines::event::Subject;

    use super::*;

    fn ask(kind: AskKind) -> Ask {
        let subject = if kind == AskKind::Question { Subject::Question } else { Subject::default() };
        Ask { id: "1".to_owned(), subject, ..Ask::default() }
    }

    #[test]
    fn yes_always_no_and_a_reason_are_understood() {
        let typed = |line: &str| answer(&ask(AskKind::Permission), line);
        let deny = |note: &str| AskAnswer::Deny { note: note.to_owned(), stop: false };
        assert_eq!(typed("Y"), AskAnswer::Allow { input: None });
        assert_eq!(typed("always"), AskAnswer::AllowAlways);
        assert_eq!(typed("n use git rm"), deny("use git rm"));
        assert_eq!(typed("rather not"), deny("rather not"));
        assert_eq!(answer(&ask(AskKind::Question), "a; b"), AskAnswer::Reply { answers: vec!["a".into(), "b".into()] });
    }

    #[test]
    fn json_lines_answer_steer_and_interrupt() {
        let read = |line: &str| word(line.to_owned(), true);
        assert!(
            matches!(read(r#"{"ask":"7","verdict":"allow"}"#), Some(Word::Answer(id, AskAnswer::Allow { .. })) if id == "7")
        );
        assert!(matches!(
            read(r#"{"ask":"7","verdict":"deny","note":"no"}"#),
            Some(Word::Answer(_, AskAnswer::Deny { .. }))
        ));
        assert!(matches!(read(r#"{"steer":"left"}"#), Some(Word::Steer(text)) if text == "left"));
        assert!(matches!(read(r#"{"interrupt":true}"#), Some(Word::Interrupt)));
        assert!(matches!(read("nonsense"), Some(Word::Nonsense(_))));
        assert!(matches!(read(r#"{"ask":"7","verdict":"perhaps"}"#), Some(Word::Nonsense(_))));
        assert!(read("  ").is_none());
    }
}
