//! A command as an engine writes it: one line, or its words.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Reading, quoted, read, read_words};

/// Something that would be run: a line for a shell, or a program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandLine {
    Text(String),
    Words(Vec<String>),
}

impl CommandLine {
    /// The line in a field of a request; `None` when nothing would be run.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if !text.trim().is_empty() => Some(Self::Text(text.clone())),
            Value::Array(items) if !items.is_empty() => {
                let words = items.iter().map(|item| item.as_str().map(str::to_owned));
                words.collect::<Option<_>>().map(Self::Words)
            }
            _ => None,
        }
    }

    /// As one would type it.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Words(words) => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        }
    }

    pub fn reading(&self) -> Reading {
        match self {
            Self::Text(text) => read(text),
            Self::Words(words) => read_words(words),
        }
    }
}
