//! What could not be done, in words: one sentence, and a hint where there is a remedy.

use std::fmt;

/// What a command could not do. The hub may return one too, when it knows a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub sentence: String,
    pub hint: Option<String>,
    /// Wrong usage or configuration (exit code 2) rather than a failure (1).
    pub usage: bool,
}

impl Fault {
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), hint: None, usage: false }
    }

    pub fn usage(sentence: impl Into<String>) -> Self {
        Self { usage: true, ..Self::failed(sentence) }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.sentence)
    }
}

impl std::error::Error for Fault {}

impl From<folkmoot_store::StoreError> for Fault {
    fn from(error: folkmoot_store::StoreError) -> Self {
        Self { hint: error.hint().map(str::to_owned), ..Self::failed(error.to_string()) }
    }
}
