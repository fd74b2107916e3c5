//! Characters that hide, steer or reorder made visible, so that what is read is what is there.

/// A text in which nothing hides: for actions that people decide. Line ends and tabs stay.
pub fn exact(text: &str) -> String {
    shown(text, |c, _, _| is_quiet(c) || is_odd_space(c))
}

/// Words of others in a place with one line, such as a name or a heading: line ends and tabs are shown too.
pub fn line(text: &str) -> String {
    shown(text, |c, _, _| is_quiet(c) || is_odd_space(c) || c == '\n' || c == '\t')
}

/// Words of others, such as messages: what only joins emoji or keeps words together stays as it is.
pub fn text(text: &str) -> String {
    shown(text, |c, before, after| is_quiet(c) && !joins_emoji(c, before, after))
}

fn shown(text: &str, hides: impl Fn(char, Option<char>, Option<char>) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if hides(c, before, rest.peek().copied()) {
            picture(c, &mut out);
        } else {
            out.push(c);
        }
        before = Some(c);
    }
    out
}

/// Control pictures where there are any, else the number of the character.
fn picture(c: char, out: &mut String) {
    match c {
        '\0'..='\u{1f}' => out.extend(char::from_u32(0x2400 + c as u32)),
        '\u{7f}' => out.push('\u{2421}'),
        _ => out.push_str(&format!("⟨U+{:04X}⟩", c as u32)),
    }
}

/// What has no looks of its own, or changes those of others: controls, direction marks, zero width, tags, fillers.
fn is_quiet(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' => true,
        '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' => true,
        '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// Looks like a space and is none to a shell.
fn is_odd_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, ' ' | '\n' | '\t') || c == '\u{2800}'
}

fn joins_emoji(c: char, before: Option<char>, after: Option<char>) -> bool {
    let is_sign = |c: char| c > '\u{2000}' && !c.is_alphanumeric() && !is_quiet(c);
    let follows = before.is_some_and(|c| is_sign(c) || c == '\u{fe0f}');
    match c {
        '\u{fe0e}' | '\u{fe0f}' => follows,
        '\u{200d}' => follows && after.is_some_and(is_sign),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_direction_marks_and_zero_width_are_seen() {
        assert_eq!(exact("a\u{1b}[31mb\rc\u{7f}"), "a␛[31mb␍c␡");
        assert_eq!(
            exact("\u{9b}2J \u{202e}gpj\u{2066} x\u{200b}y \u{e0041}"),
            "⟨U+009B⟩2J ⟨U+202E⟩gpj⟨U+2066⟩ x⟨U+200B⟩y ⟨U+E0041⟩"
        );
        assert_eq!(exact("rm\u{a0}x"), "rm⟨U+00A0⟩x");
        assert_eq!(exact("two\n\tlines, é, 日本"), "two\n\tlines, é, 日本");
        assert_eq!(line("two\n\tlines"), "two␊␉lines");
    }

    #[test]
    fn emoji_in_messages_stay_whole_and_what_hides_does_not() {
        assert_eq!(text("👩\u{200d}💻 ❤\u{fe0f} é\u{a0}!"), "👩\u{200d}💻 ❤\u{fe0f} é\u{a0}!");
        assert_eq!(text("a\u{200d}b\u{202e}c"), "a⟨U+200D⟩b⟨U+202E⟩c");
        assert_eq!(exact("👩\u{200d}💻"), "👩⟨U+200D⟩💻");
    }

    proptest! {
        #[test]
        fn nothing_hides_in_what_is_shown_and_showing_twice_changes_nothing(any in "\\PC*|[\\x00-\\x{9f}\\x{2000}-\\x{2070}]*") {
            let once = exact(&any);
            prop_assert!(!once.chars().any(|c| is_quiet(c) || is_odd_space(c)), "{once:?}");
            prop_assert_eq!(exact(&once), once);
            prop_assert!(!line(&any).contains(['\n', '\t']));
        }
    }
}
