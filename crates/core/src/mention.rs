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

/// The names that a text of an agent mentions: what it quotes or shows as code, it does not say.
pub fn spoken_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            fenced = !fenced;
        } else if !fenced && !start.starts_with('>') {
            spoken_in(line, &mut names);
        }
    }
    names
}

/// The names in one line, less those between two backticks; one backtick without its other half is no code.
fn spoken_in<'a>(line: &'a str, names: &mut Vec<&'a str>) {
    let ticks = |text: &str| text.matches('`').count();
    let paired = ticks(line) / 2 * 2;
    let mut before = 0;
    for word in line.split_whitespace() {
        let in_code = before % 2 == 1 && before < paired;
        before += ticks(word);
        for name in mentioned_names(word) {
            if !in_code && !names.contains(&name) {
                names.push(name);
            }
        }
    }
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

    #[test]
    fn an_agent_does_not_mention_what_it_quotes_or_shows_as_code() {
        assert_eq!(spoken_names("@a and `@b` and @c"), ["a", "c"]);
        assert_eq!(spoken_names("> @a said\n  > @b too\n@c, look"), ["c"]);
        assert_eq!(spoken_names("```\n@a\n```\n@b"), ["b"]);
        assert_eq!(spoken_names("a ` alone, then @b"), ["b"]);
        assert_eq!(spoken_names("`code`@a is one word"), Vec::<&str>::new());
        assert_eq!(spoken_names("`let x = @a.y @b` then @c"), ["c"]);
        assert_eq!(spoken_names("\\@a never"), Vec::<&str>::new());
    }
}
