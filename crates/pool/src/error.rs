//! Why an operation did not succeed: the short text that the controller passes on to the one who asked.

/// The `error` of an answer. Codes such as `no-session` are for programs, sentences such as `Track not found` for people;
/// the protocol carries both in the same field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OpError(String);

impl OpError {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<&str> for OpError {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}
