//! Finding `@name` in a text: split on whitespace, take words that start with `@`, strip trailing punctuation.

/// The names a text mentions, in order of first mention, without the `@`.
pub fn mentioned_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for word in text.split_whitespace() {
        let Some(name) = word.strip_prefix('@') else { continue };
        let name = name.trim_end_matches([',', '.', '!', '?', ';', ':', ')', ']', '}', '"', '\'', '*', '~', '`']);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_a_word_that_starts_with_at_less_its_trailing_punctuation() {
        assert_eq!(mentioned_names("Hey @codebot, can you and @bob! look?"), ["codebot", "bob"]);
        assert_eq!(mentioned_names("mail me at a@b.c"), Vec::<&str>::new());
        assert_eq!(mentioned_names("@a@b is one name"), ["a@b"]);
        assert_eq!(mentioned_names("@ nobody @, either"), Vec::<&str>::new());
        assert_eq!(mentioned_names("@codebot:\n@codebot again"), ["codebot"]);
    }
}
