//! What a shell line would run: its simple commands, through lists, pipes, subshells, substitutions and quotes, and through
//! programs that only run others (`env`, `sudo`, `sh -c`).
//!
//! This is no shell. It knows the everyday grammar, and whatever it cannot read with certainty it says so ([`Reading::unclear`]):
//! then people are asked. So it must never be sure of something wrong, while being unsure too often only costs a question.
//! Crates with a whole grammar exist; they would bring a syntax tree of every construct, all of which would be "unclear" here.

mod line;
mod unwrap;
mod words;

use std::str::Chars;

pub use line::CommandLine;
pub use words::quoted;
use words::{Word, is_assignment, is_steering_variable};

/// Deeper than this nothing is read.
const MAX_DEPTH: usize = 12;
/// Longer lines are not read at all.
const MAX_BYTES: usize = 64 * 1024;

/// What a line would run, as far as that can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// In the order in which they are found; a program that runs another one stands before it.
    pub commands: Vec<Command>,
    /// Why the commands may not be all, or not these.
    pub unclear: Option<&'static str>,
}

/// One program with its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The program as it was called, then its arguments, without quotes.
    pub words: Vec<String>,
    /// Some word is only known when it runs, such as `$x`.
    pub open: bool,
    /// Files that its output is written over.
    pub writes: Vec<String>,
    /// Files that it is given as its input.
    pub reads: Vec<String>,
}

impl Command {
    /// The program without its folder, in small letters.
    pub fn program(&self) -> String {
        program(self.words.first().map_or("", String::as_str))
    }

    pub fn args(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }
}

pub(crate) fn program(word: &str) -> String {
    word.rsplit('/').next().unwrap_or_default().to_lowercase()
}

impl Reading {
    /// Everything it would run is known, to the last word.
    pub fn is_certain(&self) -> bool {
        self.unclear.is_none() && !self.commands.iter().any(|command| command.open)
    }

    fn unsure(&mut self, why: &'static str) {
        self.unclear.get_or_insert(why);
    }
}

/// Reads a line as a shell would.
pub fn read(line: &str) -> Reading {
    let mut reading = Reading::default();
    read_into(line, 0, &mut reading);
    reading
}

/// Reads words that are run without a shell.
pub fn read_words(words: &[String]) -> Reading {
    let mut reading = Reading::default();
    let words = words.iter().map(|word| Word { text: word.clone(), ..Word::default() }).collect();
    unwrap::run(Simple { words, ..Simple::default() }, 0, &mut reading);
    reading
}

fn read_into(line: &str, depth: usize, reading: &mut Reading) {
    if depth > MAX_DEPTH || line.len() > MAX_BYTES {
        return reading.unsure("it is too long or too deep to be read");
    }
    Reader { rest: line.chars(), depth, reading, documents: Vec::new() }.list(None);
}

/// A command while it is read.
#[derive(Default)]
struct Simple {
    words: Vec<Word>,
    writes: Vec<String>,
    reads: Vec<String>,
    /// Text is written into it: `<<`.
    is_fed: bool,
}

struct Reader<'a, 'r> {
    rest: Chars<'a>,
    depth: usize,
    reading: &'r mut Reading,
    /// Ends of texts that begin with the next line, and whether something in them is run.
    documents: Vec<(String, bool)>,
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.rest.next();
        }
        found
    }

    /// Commands until the end of the text or of the parenthesis; whether the end was found.
    fn list(&mut self, end: Option<char>) -> bool {
        let mut simple = Simple::default();
        loop {
            match self.peek() {
                None => {
                    self.finish(&mut simple);
                    if !self.documents.is_empty() {
                        self.reading.unsure("a text begins that does not end");
                    }
                    return end.is_none();
                }
                Some(c) if Some(c) == end => {
                    self.rest.next();
                    self.finish(&mut simple);
                    return true;
                }
                Some(' ' | '\t') => drop(self.rest.next()),
                Some('\n') => {
                    self.rest.next();
                    self.finish(&mut simple);
                    self.skip_documents();
                }
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.rest.next();
                    }
                }
                Some('&') if self.rest.as_str().starts_with("&>") => self.redirect(&mut simple),
                Some(';' | '&' | '|') => {
                    self.rest.next();
                    self.finish(&mut simple);
                }
                Some('<' | '>') => self.redirect(&mut simple),
                Some('(') => self.parenthesis(&mut simple),
                Some(')') => {
                    self.rest.next();
                    self.finish(&mut simple);
                    self.reading.unsure("a parenthesis ends that did not begin");
                }
                Some(_) => self.word_of(&mut simple),
            }
        }
    }

    fn word_of(&mut self, simple: &mut Simple) {
        let before = self.rest.as_str();
        let word = self.word();
        let stuck = self.rest.as_str().len() == before.len();
        if stuck {
            // Nothing we know begins like this; it must not keep us here for ever.
            self.rest.next();
            return self.reading.unsure("it cannot be read");
        }
        let is_number = !word.is_quoted && !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit());
        if is_number && matches!(self.peek(), Some('<' | '>')) {
            return self.redirect(simple);
        }
        let opens = simple.words.is_empty() && !word.is_quoted;
        match word.text.as_str() {
            "if" | "then" | "elif" | "else" | "while" | "until" | "do" | "!" | "{" | "}" | "fi" | "done" if opens => {}
            "for" | "select" if opens => self.loop_head(),
            "case" | "esac" | "function" | "coproc" if opens => {
                self.reading.unsure("it has a construct that is not read");
            }
            // A line that goes on begins no word.
            "" if !word.is_quoted && !word.is_open => {}
            _ => simple.words.push(word),
        }
    }

    /// `for NAME in WORDS`: no command, but words may have substitutions; `do` may follow at once.
    fn loop_head(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                '\n' | ';' => return,
                ' ' | '\t' => drop(self.rest.next()),
                '(' | ')' | '<' | '>' | '&' | '|' => return self.reading.unsure("it has a construct that is not read"),
                _ => {
                    let word = self.word();
                    if word.text == "do" && !word.is_quoted {
                        return;
                    }
                }
            }
        }
    }

    fn parenthesis(&mut self, simple: &mut Simple) {
        self.rest.next();
        if !simple.words.is_empty() || self.peek() == Some('(') {
            self.reading.unsure("it defines or calculates something");
        }
        self.finish(simple);
        self.nested(')');
    }

    /// The commands inside a pair that has just begun.
    fn nested(&mut self, end: char) {
        if self.depth >= MAX_DEPTH {
            self.rest = "".chars();
            return self.reading.unsure("it is too long or too deep to be read");
        }
        self.depth += 1;
        if !self.list(Some(end)) {
            self.reading.unsure("a parenthesis does not end");
        }
        self.depth -= 1;
    }

    fn finish(&mut self, simple: &mut Simple) {
        let mut simple = std::mem::take(simple);
        let set: Vec<Word> = {
            let count = simple.words.iter().take_while(|word| is_assignment(word)).count();
            simple.words.drain(..count).collect()
        };
        if set.iter().any(|word| is_steering_variable(&word.text)) {
            self.reading.unsure("it sets a variable that changes what is run");
        }
        if simple.words.is_empty() {
            // `> file` alone empties the file.
            if !simple.writes.is_empty() || !simple.reads.is_empty() {
                let Simple { writes, reads, .. } = simple;
                self.reading.commands.push(Command { writes, reads, ..Command::default() });
            }
            return;
        }
        unwrap::run(simple, self.depth, self.reading);
    }

    fn redirect(&mut self, simple: &mut Simple) {
        let both = self.eat('&');
        let writes = self.rest.next() == Some('>');
        let mut is_text = false;
        match (writes, self.peek()) {
            (_, Some('(')) if !both => {
                self.rest.next();
                self.reading.unsure("a command stands in the place of a file");
                return self.nested(')');
            }
            (true, Some('>' | '|' | '&')) | (false, Some('&' | '>')) => drop(self.rest.next()),
            (false, Some('<')) => {
                self.rest.next();
                simple.is_fed = true;
                if !self.eat('<') {
                    return self.document();
                }
                is_text = true;
            }
            _ => {}
        }
        self.skip_blanks();
        let target = self.word();
        if target.text.is_empty() && !target.is_quoted {
            return self.reading.unsure("a redirection leads nowhere");
        }
        if writes {
            simple.writes.push(target.text);
        } else if !is_text {
            simple.reads.push(target.text);
        }
    }

    fn document(&mut self) {
        self.eat('-');
        self.skip_blanks();
        let end = self.word();
        if end.text.is_empty() {
            self.reading.unsure("a text begins that does not end");
        }
        self.documents.push((end.text, !end.is_quoted));
    }

    fn skip_documents(&mut self) {
        for (end, runs) in std::mem::take(&mut self.documents) {
            let mut ended = false;
            while !ended && !self.rest.as_str().is_empty() {
                let text = self.rest.as_str();
                let (line, after) = text.split_once('\n').unwrap_or((text, ""));
                ended = line.trim_start_matches('\t') == end;
                if runs && !ended && line.contains(['`', '$']) {
                    self.reading.unsure("a text has commands in it");
                }
                self.rest = after.chars();
            }
            if !ended {
                self.reading.unsure("a text begins that does not end");
            }
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.rest.next();
        }
    }
}

#[cfg(test)]
mod tests;
