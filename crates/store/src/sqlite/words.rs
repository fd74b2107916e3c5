//! What counts as a word: the same for what is stored and for what is searched.

use std::borrow::Cow;

/// Sets the signs of scripts that write no spaces apart, so that each is a word and a search can find some of them in a sentence.
/// (The tokenizer would take the whole sentence for one word.)
pub fn set_apart(text: &str) -> Cow<'_, str> {
    if !text.chars().any(stands_alone) {
        return Cow::Borrowed(text);
    }
    let mut apart = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        apart.push(letter);
        if stands_alone(letter) {
            apart.push(' ');
        }
    }
    Cow::Owned(apart)
}

/// Han and kana.
fn stands_alone(letter: char) -> bool {
    matches!(letter,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2fa1f}')
}

/// The words of a search, each as a quoted string of the index's query language, in which nothing but a quote has a meaning.
pub fn quoted(words: &str) -> Vec<String> {
    /// More words than this narrow nothing down any further.
    const MOST: usize = 64;
    let mut quoted = Vec::new();
    for word in words.split(|letter: char| letter.is_whitespace() || letter == '\0') {
        // What has no letter or digit is no word to the index either, and would match nothing.
        if !word.chars().any(char::is_alphanumeric) {
            continue;
        }
        let word = format!("\"{}\"", set_apart(word).replace('"', "\"\""));
        if !quoted.contains(&word) {
            quoted.push(word);
        }
        if quoted.len() == MOST {
            break;
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_word_does_not_end_it() {
        assert_eq!(quoted(r#"say "hi" OR* say"#), [r#""say""#, r#""""hi""""#, r#""OR*""#]);
    }

    #[test]
    fn signs_without_spaces_between_them_become_words() {
        assert_eq!(set_apart("abc 你好a"), "abc 你 好 a");
        assert!(matches!(set_apart("plain “text”"), Cow::Borrowed(_)));
    }
}
