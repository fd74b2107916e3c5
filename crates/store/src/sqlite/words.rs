//! Words as the index gets them, so that its own tokenizer finds exactly the words that every backend finds.

use std::borrow::Cow;
use std::fmt::Write;

use crate::words::{phrases, words};

/// A text as it is put into the index. The tokenizer takes ASCII apart as we do; other words it gets in letters on which nobody
/// can disagree.
pub fn for_index(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(in_index_letters(&words(text))) }
}

/// The phrases of a search, each as a quoted string of the index's query language.
pub fn quoted(query: &str) -> Vec<String> {
    phrases(query).iter().map(|phrase| format!("\"{}\"", in_index_letters(phrase))).collect()
}

fn in_index_letters(words: &[String]) -> String {
    /// A letter to the tokenizer and none to us, so no text can hold it in a word.
    const FOREIGN: char = '\u{e000}';
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        if word.is_ascii() {
            text.push_str(word);
        } else {
            text.push(FOREIGN);
            word.bytes().for_each(|byte| write!(text, "{byte:02x}").unwrap_or_default());
        }
    }
    text
}

/// The same, each standing for all words that begin so; one letter begins too much to be meant.
pub fn beginnings(words: &str) -> Vec<String> {
    let begins = |word: &String| word.chars().filter(|letter| letter.is_alphanumeric()).count() > 1;
    quoted(words).into_iter().map(|word| if begins(&word) { word + "*" } else { word }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_word_does_not_end_it() {
        assert_eq!(quoted(r#"say "hi" OR* say it's"#), [r#""say""#, r#""hi""#, r#""or""#, r#""it s""#]);
    }

    #[test]
    fn a_beginning_has_two_letters() {
        assert_eq!(beginnings("dep x \"hi\""), ["\"dep\"*", "\"x\"", "\"hi\"*"]);
    }

    #[test]
    fn what_is_not_ascii_is_spelt_in_letters_that_nobody_can_type() {
        assert_eq!(for_index("Olé, мир"), "ole \u{e000}d0bcd0b8d180");
        assert!(matches!(for_index("plain text"), Cow::Borrowed(_)));
    }
}
