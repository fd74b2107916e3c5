//! What is wrong with a configuration, in words for the person who wrote it.

use std::fmt;

/// One thing that is wrong: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub place: Option<String>,
    pub sentence: String,
    pub hint: Option<String>,
}

impl Problem {
    pub fn new(sentence: impl Into<String>) -> Self {
        Self { place: None, sentence: sentence.into(), hint: None }
    }

    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(formatter, "{place}: {}", self.sentence),
            None => formatter.write_str(&self.sentence),
        }
    }
}

/// Everything that is wrong, so that one run of `moot config check` shows it all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub problems: Vec<Problem>,
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        formatter.write_str(&lines.join("; "))
    }
}

impl std::error::Error for ConfigError {}
