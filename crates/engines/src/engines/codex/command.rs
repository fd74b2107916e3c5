//! The command itself, without the shell that codex puts around it.

use std::borrow::Cow;

use serde_json::Value;

use crate::json::text;

/// What is run: the line that the shell is given. What codex understood of it (`commandActions`) leaves things out, so it
/// is taken only for lines of a shell that we do not know, and only if it is all that codex saw in them.
pub fn clean<'a>(command: &'a str, actions: &'a [Value]) -> Cow<'a, str> {
    if let Some(script) = script(command) {
        return Cow::Owned(script);
    }
    let known = match actions {
        [only] if text(only, "type") == Some("unknown") => text(only, "command"),
        _ => None,
    };
    Cow::Borrowed(known.filter(|known| !known.is_empty() && command.contains(known)).unwrap_or(command))
}

/// The line in `/bin/bash -lc 'LINE'`.
fn script(command: &str) -> Option<String> {
    let mut words = words(command)?;
    let shell = words.first()?.rsplit('/').next()?;
    let fits = words.len() == 3 && ["bash", "zsh", "sh"].contains(&shell) && ["-lc", "-c"].contains(&words[1].as_str());
    if fits { words.pop() } else { None }
}

/// The words of a line that only quotes; `None` when the shell would do anything else with it.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut rest) = (Vec::new(), None::<String>, line.chars());
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' | '\n' => {
                words.extend(word.take());
                continue;
            }
            '$' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '*' | '?' | '[' | '#' | '~' | '{' => return None,
            _ => {}
        }
        let word = word.get_or_insert_default();
        match c {
            '\'' => word.push_str(until_quote(&mut rest)?),
            '"' => in_double_quotes(&mut rest, word)?,
            '\\' => word.push(rest.next()?),
            c => word.push(c),
        }
    }
    words.extend(word);
    Some(words)
}

fn until_quote<'a>(rest: &mut std::str::Chars<'a>) -> Option<&'a str> {
    let (inside, after) = rest.as_str().split_once('\'')?;
    *rest = after.chars();
    Some(inside)
}

fn in_double_quotes(rest: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '"' => return Some(()),
            '$' | '`' => return None,
            '\\' => match rest.next()? {
                '\n' => {}
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_command_is_what_the_shell_is_given_and_nothing_of_it_is_left_out() {
        for (line, shown) in [
            ("/bin/bash -lc 'touch a'", "touch a"),
            ("/bin/bash -lc pwd", "pwd"),
            ("bash -lc \"echo 'a' && rm \\$x\"", "echo 'a' && rm $x"),
            ("/bin/zsh -c 'a\nb'", "a\nb"),
            ("/bin/bash -lc 'it'\\''s'", "it's"),
            ("/bin/bash -lc 'rm a' b", "/bin/bash -lc 'rm a' b"),
            ("/bin/bash -lc \"rm $x\"", "/bin/bash -lc \"rm $x\""),
            ("/bin/bash -lc 'rm a'; rm b", "/bin/bash -lc 'rm a'; rm b"),
            ("/bin/bash -lc 'rm", "/bin/bash -lc 'rm"),
            ("rm x", "rm x"),
        ] {
            assert_eq!(clean(line, &[]), shown, "{line}");
        }
    }

    #[test]
    fn what_codex_understood_counts_only_for_shells_that_we_do_not_know_and_only_as_the_whole() {
        let unknown = json!({"type": "unknown", "command": "del x"});
        assert_eq!(clean("pwsh -Command 'del x'", std::slice::from_ref(&unknown)), "del x");
        assert_eq!(
            clean("pwsh -Command 'del x; del y'", &[unknown.clone(), unknown.clone()]),
            "pwsh -Command 'del x; del y'"
        );
        assert_eq!(clean("pwsh -Command 'dir'", std::slice::from_ref(&unknown)), "pwsh -Command 'dir'");
        let read = json!({"type": "read", "command": "cat a"});
        assert_eq!(clean("/bin/bash -lc 'cat a | sh'", &[read]), "cat a | sh");
        assert_eq!(clean("/bin/bash -lc 'rm x'", &[unknown]), "rm x");
    }
}
