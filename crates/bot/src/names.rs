//! Names of other bots in what the bot says, changed so that they do not feel called.

/// `text` with a hyphen after the first letter of every name in `names`: `snek` becomes `s-nek`.
///
/// A name counts as a whole word, in any case, with or without `@`. Addresses of pages stay as they are, because a
/// changed one leads nowhere.
pub fn sanitize(text: &str, names: &[String]) -> String {
    let mut result = String::with_capacity(text.len() + 8);
    for piece in text.split_inclusive(char::is_whitespace) {
        if piece.contains("://") {
            result.push_str(piece);
        } else {
            sanitize_piece(piece, names, &mut result);
        }
    }
    result
}

fn sanitize_piece(piece: &str, names: &[String], result: &mut String) {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut rest = piece;
    while !rest.is_empty() {
        let length = rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        push_word(word, names, result);
        let other = after.find(is_letter).unwrap_or(after.len());
        result.push_str(&after[..other]);
        rest = &after[other..];
    }
}

fn push_word(word: &str, names: &[String], result: &mut String) {
    let is_name = names.iter().any(|name| name.to_lowercase() == word.to_lowercase());
    let mut letters = word.chars();
    match letters.next() {
        Some(first) if is_name => {
            result.push(first);
            result.push('-');
            result.push_str(letters.as_str());
        }
        _ => result.push_str(word),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::settings::Limits;

    fn sanitized(text: &str) -> String {
        sanitize(text, &Limits::default().sanitized_names)
    }

    #[test]
    fn every_name_of_the_document_gets_a_hyphen_after_its_first_letter() {
        let text = "snek, grok, snik, lisa, gemma, joanne, ira, thomas";
        assert_eq!(sanitized(text), "s-nek, g-rok, s-nik, l-isa, g-emma, j-oanne, i-ra, t-homas");
    }

    #[test]
    fn the_case_stays_and_the_at_sign_does_not_protect() {
        assert_eq!(sanitized("Ask @Snek or GROK!"), "Ask @S-nek or G-ROK!");
    }

    #[test]
    fn longer_words_and_addresses_stay() {
        let text = "a pirate in https://snek.molodetz.nl/drive.bin, lisabon";
        assert_eq!(sanitized(text), text);
    }

    proptest! {
        /// What was sanitised names nobody any more, and only hyphens were added.
        #[test]
        fn it_only_adds_hyphens_and_is_done_after_once(text in "[a-z @.,\n-]{0,30}(snek|ira|Lisa)?[ ,!a-z]{0,10}") {
            let once = sanitized(&text);
            prop_assert_eq!(&sanitized(&once), &once);
            prop_assert_eq!(once.replace('-', ""), text.replace('-', ""));
        }
    }
}
