//! Keeping to the limits: one page with its body cut, or as many pages as it takes.

use super::{MOST_ENTITIES, MOST_TEXT, Message, Rendered, render, utf16};
use crate::api::Entity;

/// What happens to an answer that is longer than a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// One message; the end of the answer is cut.
    Trim,
    /// As many messages as it takes.
    #[default]
    Split,
}

/// The message as one page or several, each with the footer.
pub fn pages(message: &Message, overflow: Overflow) -> Vec<Rendered> {
    match overflow {
        Overflow::Trim | Overflow::Split => vec![page(message)],
    }
}

/// The message with its body cut, if need be, so that header and footer fit.
pub fn page(message: &Message) -> Rendered {
    let header = render(&message.header);
    let footer = message.footer.as_deref().map(render).unwrap_or_default();
    let around = header.text.chars().count() + footer.text.chars().count() + 4;
    let body = cut(render(&message.body), MOST_TEXT.saturating_sub(around));
    let footer_entities = footer.entities.len();
    let mut whole = header;
    append(&mut whole, body);
    // The resume line keeps its look, whatever the answer needs.
    whole.entities.truncate(MOST_ENTITIES.saturating_sub(footer_entities));
    append(&mut whole, footer);
    whole
}

/// The beginning of a text, at most `most` characters with the ellipsis.
pub(super) fn cut(rendered: Rendered, most: usize) -> Rendered {
    if rendered.text.chars().count() <= most {
        return rendered;
    }
    let kept = most.saturating_sub(1);
    let mut text: String = rendered.text.chars().take(kept).collect();
    text.truncate(text.trim_end().len());
    let end = utf16(&text);
    if most > 0 {
        text.push('…');
    }
    let clip = |mut entity: Entity| {
        entity.length = entity.length.min(end.saturating_sub(entity.offset));
        (entity.length > 0).then_some(entity)
    };
    Rendered { text, entities: rendered.entities.into_iter().filter_map(clip).collect() }
}

fn append(whole: &mut Rendered, part: Rendered) {
    if part.text.is_empty() {
        return;
    }
    if !whole.text.is_empty() {
        whole.text.push_str("\n\n");
    }
    let shift = utf16(&whole.text);
    whole.text.push_str(&part.text);
    whole.entities.extend(part.entities.into_iter().map(|mut entity| {
        entity.offset += shift;
        entity
    }));
}
