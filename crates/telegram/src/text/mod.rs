//! Markdown as Telegram takes it: text with entities, within the limits, the footer always whole.
//!
//! Entities need no escaping, so what is counted is what is sent: limits are applied after rendering. A cut through a
//! code block or a link gives both sides their own entity, which is what closing and opening a fence again amounts to.

mod fit;
mod render;
mod table;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::api::Entity;

pub use fit::{Overflow, page, pages};
pub use folkmoot_runs::progress::markdown::Message;
pub use render::render;

/// The longest message, in UTF-16 units. Some servers count characters, of which there are never more.
pub const MAX_TEXT: usize = 4096;
/// Further entities are ignored by the server.
pub const MAX_ENTITIES: usize = 100;
/// What the entities of a message may weigh together, somewhat below what the server refuses.
pub const MAX_ENTITY_BYTES: usize = 9000;
/// Between header, body and footer.
pub const GAP: &str = "\n\n";

/// A message as the Bot API takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rendered {
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Entity>,
}

impl Rendered {
    /// A part of the text, in bytes, with the looks that lie in it.
    fn slice(&self, range: Range<usize>) -> Self {
        let start = utf16(&self.text[..range.start]);
        let end = start + utf16(&self.text[range.clone()]);
        let clip = |entity: &Entity| {
            let (from, to) = (entity.offset.max(start), entity.end().min(end));
            (from < to).then(|| Entity { offset: from - start, length: to - from, ..entity.clone() })
        };
        Self { text: self.text[range].to_owned(), entities: self.entities.iter().filter_map(clip).collect() }
    }
}

/// A text as it is, without any look, cut if need be.
pub fn plain(text: &str) -> Rendered {
    fit::cut(Rendered { text: text.trim().to_owned(), entities: Vec::new() }, fit::Room::WHOLE)
}

/// The length in UTF-16 units, in which entities count.
pub fn utf16(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}
