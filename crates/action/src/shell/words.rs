//! One word of a line: quotes, escapes, and what is only known when it runs.

use super::{Reader, read_into};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Some of it is only known when it runs.
    pub is_open: bool,
    /// Some of it stood in quotes, so it is no keyword.
    pub is_quoted: bool,
    /// It may stand for several words, or for names of files.
    pub is_pattern: bool,
}

impl Reader<'_, '_> {
    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                '\\' => {
                    self.rest.next();
                    match self.rest.next() {
                        Some('\n') => {}
                        Some(c) => {
                            word.is_quoted = true;
                            word.text.push(c);
                        }
                        None => self.reading.unsure("it ends in the middle"),
                    }
                }
                '\'' => self.single(&mut word),
                '"' => self.double(&mut word),
                '$' => self.dollar(&mut word, false),
                '`' => self.backtick(&mut word),
                _ => {
                    self.rest.next();
                    word.is_pattern |= matches!(c, '*' | '?' | '[');
                    word.text.push(c);
                }
            }
        }
        if !word.is_quoted && word.text.contains('{') && word.text.contains('}') && word.text.contains([',', '.']) {
            word.is_open = true;
            word.is_pattern = true;
        }
        // Partly quoted words may still stand for several: `{git,'push'}`.
        if word.is_quoted && word.text.starts_with('{') && word.text.contains(',') {
            word.is_open = true;
        }
        word
    }

    fn single(&mut self, word: &mut Word) {
        self.rest.next();
        word.is_quoted = true;
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some(c) => word.text.push(c),
                None => return self.reading.unsure("a quote does not end"),
            }
        }
    }

    fn double(&mut self, word: &mut Word) {
        self.rest.next();
        word.is_quoted = true;
        loop {
            match self.peek() {
                Some('"') => {
                    self.rest.next();
                    return;
                }
                Some('\\') => {
                    self.rest.next();
                    match self.rest.next() {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                        Some(c) => word.text.extend(['\\', c]),
                        None => return self.reading.unsure("a quote does not end"),
                    }
                }
                Some('$') => self.dollar(word, true),
                Some('`') => self.backtick(word),
                Some(c) => {
                    self.rest.next();
                    word.text.push(c);
                }
                None => return self.reading.unsure("a quote does not end"),
            }
        }
    }

    fn dollar(&mut self, word: &mut Word, in_quotes: bool) {
        self.rest.next();
        match self.peek() {
            Some('(') => {
                self.rest.next();
                word.is_open = true;
                word.text.push_str("$(…)");
                if self.peek() == Some('(') { self.sum() } else { self.nested(')') }
            }
            Some('{') => self.braces(word),
            Some('\'') if !in_quotes => self.escapes(word),
            Some('"') if !in_quotes => self.double(word),
            Some('[') => {
                word.is_open = true;
                self.reading.unsure("it calculates something");
            }
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                word.is_open = true;
                word.text.push('$');
                let is_name = c.is_ascii_alphabetic() || c == '_';
                self.rest.next();
                word.text.push(c);
                while is_name && self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                    word.text.extend(self.rest.next());
                }
            }
            _ => word.text.push('$'),
        }
    }

    /// `$((…))`: numbers. Anything but plain ones may as well be `$( (…) )`, which runs something.
    fn sum(&mut self) {
        let inside = self.rest.as_str();
        let plain = |c: char| c.is_ascii_alphanumeric() || "_+-*/% ".contains(c);
        let end = inside[1..].find(|c: char| !plain(c)).map(|at| at + 1);
        match end.map(|at| &inside[at..]).and_then(|rest| rest.strip_prefix("))")) {
            Some(after) => {
                let skipped = inside.len() - after.len();
                self.rest = inside[skipped..].chars();
            }
            None => {
                self.reading.unsure("it calculates something");
                self.nested(')');
            }
        }
    }

    fn braces(&mut self, word: &mut Word) {
        word.is_open = true;
        word.text.push('$');
        let mut open = 0;
        for c in self.rest.by_ref() {
            word.text.push(c);
            match c {
                '{' => open += 1,
                '}' => open -= 1,
                '`' | '\'' | '"' | '\\' | '@' | '(' => self.reading.unsure("a variable is worked on"),
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
        self.reading.unsure("a brace does not end");
    }

    /// `$'…'`.
    fn escapes(&mut self, word: &mut Word) {
        self.rest.next();
        word.is_quoted = true;
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some('\\') => match self.rest.next() {
                    Some('n') => word.text.push('\n'),
                    Some('t') => word.text.push('\t'),
                    Some(c @ ('\\' | '\'' | '"' | '?')) => word.text.push(c),
                    // Letters by number: nobody writes them so who wants to be read.
                    _ => {
                        word.is_open = true;
                        self.reading.unsure("letters are written as numbers");
                    }
                },
                Some(c) => word.text.push(c),
                None => return self.reading.unsure("a quote does not end"),
            }
        }
    }

    fn backtick(&mut self, word: &mut Word) {
        self.rest.next();
        word.is_open = true;
        word.text.push_str("$(…)");
        let mut inside = String::new();
        loop {
            match self.rest.next() {
                Some('`') => return read_into(&inside, self.depth + 1, self.reading),
                Some('\\') => match self.rest.next() {
                    Some(c @ ('`' | '\\' | '$')) => inside.push(c),
                    Some(c) => inside.extend(['\\', c]),
                    None => return self.reading.unsure("a quote does not end"),
                },
                Some(c) => inside.push(c),
                None => return self.reading.unsure("a quote does not end"),
            }
        }
    }
}

/// `NAME=value` in front of a command.
pub fn is_assignment(word: &Word) -> bool {
    word.text.split_once('=').is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// Variables by which other programs than those named are run.
pub fn is_steering_variable(assignment: &str) -> bool {
    let name = assignment.split(['=', '+']).next().unwrap_or_default();
    let exact =
        ["PATH", "IFS", "ENV", "BASH_ENV", "PAGER", "EDITOR", "VISUAL", "SHELL", "SHELLOPTS", "BASHOPTS", "PS4"];
    let begins = ["LD_", "DYLD_", "GIT_", "BASH_FUNC", "PYTHON", "PERL5", "RUBY", "NODE_"];
    exact.contains(&name)
        || begins.iter().any(|begin| name.starts_with(begin))
        || name.ends_with("_COMMAND")
        || name.ends_with("_WRAPPER")
}

/// A word as one would write it in a shell.
pub fn quoted(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,@%+".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}
