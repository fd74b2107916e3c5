//! What counts as a word: the same for every backend, for what is stored and for what is searched.
//!
//! A word is a run of letters and digits, without regard to case and to accents on Latin letters. Signs of scripts that write no
//! spaces are words each, so that a search can find some of them in a sentence.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

/// The words of a text, folded, in order.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Words::default();
    if text.is_ascii() {
        text.chars().for_each(|letter| words.take(letter));
    } else {
        text.nfc().for_each(|letter| words.take(letter));
    }
    words.end();
    words.done
}

/// What a search asks for: everything between two spaces is a phrase, whose words must stand side by side.
pub fn phrases(query: &str) -> Vec<Vec<String>> {
    /// More phrases than this narrow nothing down any further.
    const MAX_PHRASES: usize = 64;
    let mut phrases = Vec::new();
    for part in query.split(|letter: char| letter.is_whitespace() || letter == '\0') {
        let phrase = words(part);
        // What has no letter or digit is no word, and is not looked for.
        if !phrase.is_empty() && !phrases.contains(&phrase) {
            phrases.push(phrase);
        }
        if phrases.len() == MAX_PHRASES {
            break;
        }
    }
    phrases
}

/// Whether a text holds all phrases.
pub fn holds(text: &str, phrases: &[Vec<String>]) -> bool {
    let words = words(text);
    phrases.iter().all(|phrase| words.windows(phrase.len()).any(|window| window == phrase.as_slice()))
}

#[derive(Default)]
struct Words {
    done: Vec<String>,
    word: String,
}

impl Words {
    fn take(&mut self, letter: char) {
        if stands_alone(letter) {
            self.end();
            self.done.push(letter.to_string());
        } else if letter.is_ascii_alphanumeric() {
            self.word.push(letter.to_ascii_lowercase());
        } else if is_mark(letter) {
            // An accent that has no letter of its own together with what it stands on.
        } else if letter.is_alphanumeric() {
            fold(letter, &mut self.word);
        } else {
            self.end();
        }
    }

    fn end(&mut self) {
        if !self.word.is_empty() {
            self.done.push(std::mem::take(&mut self.word));
        }
    }
}

/// Upper case first: letters that have several small forms (σ and ς, s and ſ) then have one.
fn fold(letter: char, word: &mut String) {
    for small in letter.to_uppercase().flat_map(char::to_lowercase) {
        if !is_mark(small) {
            word.push(without_accent(small));
        }
    }
}

/// The plain letter below an accent, where it is one of ASCII: elsewhere what looks like an accent often makes another letter.
fn without_accent(letter: char) -> char {
    let mut base = None;
    decompose_canonical(letter, |part| base = base.or(Some(part)));
    base.filter(char::is_ascii_alphabetic).unwrap_or(letter)
}

fn is_mark(letter: char) -> bool {
    !letter.is_ascii() && canonical_combining_class(letter) != 0
}

/// Han and kana.
fn stands_alone(letter: char) -> bool {
    matches!(letter,
        '\u{3040}'..='\u{3098}' | '\u{309b}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_latin_accents_do_not_count() {
        assert_eq!(words("Ça VA, e\u{301}te\u{301} İstanbul Ångström"), ["ca", "va", "ete", "istanbul", "angstrom"]);
        assert_eq!(words("ΚΌΣΜΟΣ κόσμος"), ["κόσμοσ", "κόσμοσ"]);
        assert_eq!(words("й и"), ["й", "и"], "another letter, not an accent");
        assert_eq!(words("и\u{306}"), ["й"], "written in two parts it is the same letter");
    }

    #[test]
    fn signs_without_spaces_between_them_are_words() {
        assert_eq!(words("abc 你好a"), ["abc", "你", "好", "a"]);
        assert_eq!(words("か\u{3099}が"), ["が", "が"]);
    }

    #[test]
    fn what_is_between_spaces_is_a_phrase() {
        assert_eq!(phrases("say it's \"it's\" – 世界"), [vec!["say"], vec!["it", "s"], vec!["世", "界"]]);
        assert!(holds("so it: s, I say!", &phrases("it's say")));
        assert!(!holds("it has s", &phrases("it's")));
    }
}
