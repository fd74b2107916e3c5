//! Resume lines: the engine's own command that continues a conversation, written and recognised.
//!
//! Each engine describes its lines with one [`ResumeCodec`]; the rules that all share stand here once: the whole line
//! and nothing else on it, the words without regard to case, with or without backticks, the last match wins.

use crate::event::{EngineId, ResumeToken};

/// How one engine's resume lines look.
#[derive(Debug)]
pub struct ResumeCodec {
    pub engine: EngineId,
    /// The words before the value; the first form is the one that is written.
    pub forms: &'static [&'static [&'static str]],
    pub value: ValueRule,
}

/// What may stand where the value stands.
#[derive(Clone, Copy, Debug)]
pub enum ValueRule {
    /// One word without blanks and backticks.
    Word,
    /// One word that passes the test.
    WordLike(fn(&str) -> bool),
    /// The rest of the line, in quotes if it has blanks.
    Rest,
}

/// Why a token has no resume line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResumeError {
    #[error("`{engine}` cannot write the resume line of `{token}`")]
    Foreign { engine: EngineId, token: EngineId },
    #[error("`{value}` is not a session of {engine}")]
    Value { engine: EngineId, value: String },
}

impl ResumeCodec {
    /// The canonical resume line, in backticks.
    pub fn format_resume(&self, token: &ResumeToken) -> Result<String, ResumeError> {
        Ok(format!("`{}`", self.command(token)?))
    }

    /// The resume line without backticks, to paste into a shell.
    pub fn command(&self, token: &ResumeToken) -> Result<String, ResumeError> {
        if token.engine != self.engine {
            return Err(ResumeError::Foreign { engine: self.engine.clone(), token: token.engine.clone() });
        }
        let value = &token.value;
        if !self.accepts(value) {
            return Err(ResumeError::Value { engine: self.engine.clone(), value: value.clone() });
        }
        let quoted = matches!(self.value, ValueRule::Rest) && value.contains(|c: char| c.is_whitespace() || "\"'".contains(c));
        let value = if quoted { format!("\"{value}\"") } else { value.clone() };
        Ok(format!("{} {value}", self.forms[0].join(" ")))
    }

    /// The token of the last resume line in the text.
    pub fn extract_resume(&self, text: &str) -> Option<ResumeToken> {
        text.lines().rev().find_map(|line| self.parse(line))
    }

    pub fn is_resume_line(&self, line: &str) -> bool {
        self.parse(line).is_some()
    }

    /// Whether the value could stand in one of our lines.
    pub fn accepts(&self, value: &str) -> bool {
        let plain = !value.is_empty() && !value.starts_with('-') && !value.contains(['`', '\n', '\r']);
        plain
            && match self.value {
                ValueRule::Word => !value.contains(char::is_whitespace),
                ValueRule::WordLike(test) => test(value),
                ValueRule::Rest => value.trim() == value && !value.contains(char::is_control),
            }
    }

    fn parse(&self, line: &str) -> Option<ResumeToken> {
        let line = line.trim();
        let line = line.strip_prefix('`').unwrap_or(line);
        let line = line.strip_suffix('`').unwrap_or(line).trim();
        let rest = self.forms.iter().find_map(|form| after_words(line, form))?;
        let value = match self.value {
            ValueRule::Rest => unquoted(rest),
            ValueRule::Word | ValueRule::WordLike(_) => rest,
        };
        self.accepts(value).then(|| ResumeToken { engine: self.engine.clone(), value: value.to_owned() })
    }
}

/// What follows the words, which must be followed by a blank.
fn after_words<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().try_fold(line, |rest, word| {
        let head = rest.get(..word.len())?;
        let tail = &rest[word.len()..];
        let fits = head.eq_ignore_ascii_case(word) && tail.starts_with(char::is_whitespace);
        fits.then(|| tail.trim_start())
    })
}

fn unquoted(text: &str) -> &str {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// All engines' codecs, in the fixed order in which they are asked.
#[derive(Clone, Debug)]
pub struct Codecs(Vec<&'static ResumeCodec>);

impl Codecs {
    /// Sorted by engine, so that the order depends on nothing else.
    pub fn new(codecs: impl IntoIterator<Item = &'static ResumeCodec>) -> Self {
        let mut codecs: Vec<_> = codecs.into_iter().collect();
        codecs.sort_by(|one, other| one.engine.cmp(&other.engine));
        Self(codecs)
    }

    pub fn of(&self, engine: &str) -> Option<&'static ResumeCodec> {
        self.0.iter().find(|codec| codec.engine == *engine).copied()
    }

    /// The token of the first engine that finds one.
    pub fn extract_resume(&self, text: &str) -> Option<ResumeToken> {
        self.0.iter().find_map(|codec| codec.extract_resume(text))
    }

    pub fn is_resume_line(&self, line: &str) -> bool {
        self.0.iter().any(|codec| codec.is_resume_line(line))
    }

    /// The resume line, if the token has one.
    pub fn format_resume(&self, token: &ResumeToken) -> Option<String> {
        self.of(token.engine.as_str())?.format_resume(token).ok()
    }

    /// The prompt without resume lines of any engine; `continue` when nothing else was said.
    pub fn strip_resume_lines(&self, prompt: &str) -> String {
        if !prompt.lines().any(|line| self.is_resume_line(line)) {
            return if prompt.trim().is_empty() { "continue".to_owned() } else { prompt.to_owned() };
        }
        let kept: Vec<&str> = prompt.lines().filter(|line| !self.is_resume_line(line)).collect();
        let kept = kept.join("\n");
        if kept.trim().is_empty() { "continue".to_owned() } else { kept.trim().to_owned() }
    }
}
