//! The configuration file: its values, and the line on which each one stands.

use std::path::{Path, PathBuf};

use toml_edit::{Document, TableLike};

use super::Problem;

/// A parsed file.
pub struct File {
    path: PathBuf,
    text: String,
    document: Document<String>,
    pub table: toml::Table,
}

impl File {
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Problem::new(format!("the configuration file cannot be read: {error}"))
                .at(path.display().to_string())
                .hint("create it with `moot config set KEY VALUE`, or leave out `--config` and MOOT_CONFIG")
        })?;
        Self::parse(path, text)
    }

    pub fn parse(path: &Path, text: String) -> Result<Self, Problem> {
        let document = Document::parse(text.clone()).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(&text, span.start));
            Problem::new(error.message().trim().replace('\n', ", ")).at(format!("{}:{line}", path.display()))
        })?;
        let table = text.parse().map_err(|error: toml::de::Error| {
            Problem::new(error.message().to_owned()).at(path.display().to_string())
        })?;
        Ok(Self { path: path.to_owned(), text, document, table })
    }

    /// `file:line` of a key.
    pub fn place(&self, path: &str) -> String {
        let line = self.offset(path).map(|offset| line_of(&self.text, offset));
        match line {
            Some(line) => format!("{}:{line}", self.path.display()),
            None => self.path.display().to_string(),
        }
    }

    fn offset(&self, path: &str) -> Option<usize> {
        let mut table: &dyn TableLike = self.document.as_table();
        let mut found = None;
        for part in path.split('.') {
            let Some((key, item)) = table.get_key_value(part) else {
                break;
            };
            found = key.span().or_else(|| item.span()).map(|span| span.start).or(found);
            let Some(below) = item.as_table_like() else {
                break;
            };
            table = below;
        }
        found
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}
