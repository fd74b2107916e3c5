//! What was said in both directions, with the moment of each, free of this machine's paths.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

/// Longer texts are cut: system prompts and the like say nothing about the stream.
const MAX_TEXT: usize = 1000;

pub struct Tape {
    lines: Vec<Value>,
    begun: Instant,
    /// What is replaced by what.
    private: Vec<(String, String)>,
}

impl Tape {
    pub fn new(header: Value, home: &Path, programs: &Path, models: &str) -> Self {
        let path = home.to_string_lossy().into_owned();
        // Some programs name their folders after the one they work in.
        let private = vec![
            (path.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-"), "-home-ann".to_owned()),
            (path, "/home/ann".to_owned()),
            (programs.to_string_lossy().into_owned(), "/opt/engines".to_owned()),
            (models.to_owned(), "127.0.0.1:1".to_owned()),
        ];
        Self { lines: vec![header], begun: Instant::now(), private }
    }

    pub fn note(&mut self, kind: &str, value: Value) {
        let at = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.lines.push(json!({"at": at, kind: value}));
    }

    pub fn write(self, file: &Path) {
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        let lines: String = self.lines.iter().map(|line| format!("{}\n", self.public(line))).collect();
        std::fs::write(file, lines).expect("a file");
    }

    fn public(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.public_text(text)),
            Value::Array(items) => items.iter().map(|item| self.public(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (self.public_text(name), self.public(value))).collect()
            }
            other => other.clone(),
        }
    }

    fn public_text(&self, text: &str) -> String {
        let replaced = self.private.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        if replaced.len() <= MAX_TEXT {
            return replaced;
        }
        replaced.chars().take(MAX_TEXT).collect::<String>() + " …"
    }
}
