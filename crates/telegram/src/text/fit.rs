//! Keeping to the limits: one page with its body cut, or as many pages as it takes.

use super::render::{shifted, trimmed};
use super::{GAP, MAX_ENTITIES, MAX_ENTITY_BYTES, MAX_TEXT, Message, Rendered, render, utf16};
use crate::api::{Entity, EntityKind, units_end};

/// What happens to an answer that is longer than a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// One message; the end of the answer is cut.
    Trim,
    /// As many messages as it takes.
    #[default]
    Split,
}

/// The longest header; a longer one is cut.
const MAX_HEADER: usize = 512;
/// What ` · continued (12/34)` may take.
const CONTINUED: usize = 32;

/// The message as one page or several, each with the footer.
pub fn pages(message: &Message, overflow: Overflow) -> Vec<Rendered> {
    let frame = Frame::new(message);
    let body = render(&message.body);
    match overflow {
        Overflow::Trim => vec![frame.page(None, cut(body, frame.room()))],
        Overflow::Split => frame.split(body),
    }
}

/// The message with its body cut, if need be, so that header and footer fit.
pub fn page(message: &Message) -> Rendered {
    let frame = Frame::new(message);
    frame.page(None, cut(render(&message.body), frame.room()))
}

/// What stands around the body of every page.
struct Frame {
    header: Rendered,
    footer: Rendered,
}

/// What one page can take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// In UTF-16 units.
    pub text: usize,
    pub entities: usize,
    pub entity_bytes: usize,
}

impl Room {
    pub const WHOLE: Self = Self { text: MAX_TEXT, entities: MAX_ENTITIES, entity_bytes: MAX_ENTITY_BYTES };

    fn without(self, part: &Rendered) -> Self {
        let text = if part.text.is_empty() { 0 } else { utf16(&part.text) + GAP.len() };
        let bytes: usize = part.entities.iter().map(entity_bytes).sum();
        Self {
            text: self.text.saturating_sub(text),
            entities: self.entities.saturating_sub(part.entities.len()),
            entity_bytes: self.entity_bytes.saturating_sub(bytes),
        }
    }
}

impl Frame {
    fn new(message: &Message) -> Self {
        let header = cut(render(&message.header), Room { text: MAX_HEADER, ..Room::WHOLE });
        Self { header, footer: message.footer.as_deref().map(render).unwrap_or_default() }
    }

    fn room(&self) -> Room {
        Room::WHOLE.without(&self.header).without(&self.footer)
    }

    fn split(&self, body: Rendered) -> Vec<Rendered> {
        let room = self.room();
        let pieces = split(body.clone(), room);
        if pieces.len() <= 1 {
            return vec![self.page(None, body)];
        }
        let pieces = split(body, Room { text: room.text.saturating_sub(CONTINUED), ..room });
        let all = pieces.len();
        let numbered = |(index, piece)| self.page((index > 0).then_some((index + 1, all)), piece);
        pieces.into_iter().enumerate().map(numbered).collect()
    }

    fn page(&self, number: Option<(usize, usize)>, body: Rendered) -> Rendered {
        let mut whole = self.header.clone();
        if let Some((number, all)) = number {
            let dot = if whole.text.is_empty() { "" } else { " · " };
            whole.text.push_str(&format!("{dot}continued ({number}/{all})"));
        }
        append(&mut whole, body);
        append(&mut whole, self.footer.clone());
        if whole.text.is_empty() {
            whole.text.push('…');
        }
        whole
    }
}

/// The beginning of a text that fits, with an ellipsis where it was cut. Looks that do not fit go without the text.
pub(super) fn cut(rendered: Rendered, room: Room) -> Rendered {
    let mut kept = if utf16(&rendered.text) <= room.text {
        rendered
    } else {
        let end = units_end(&rendered.text, room.text.saturating_sub(1));
        let end = rendered.text[..end].trim_end().len();
        let mut kept = rendered.slice(0..end);
        kept.text.push_str(if room.text > 0 { "…" } else { "" });
        kept
    };
    let mut bytes = 0;
    kept.entities.truncate(room.entities);
    kept.entities.retain(|entity| {
        bytes += entity_bytes(entity);
        bytes <= room.entity_bytes
    });
    kept
}

/// The text in pieces that fit, each cut at the best place there is.
fn split(mut rest: Rendered, room: Room) -> Vec<Rendered> {
    let mut pieces = Vec::new();
    // A room too small for anything would never come to an end.
    let room = Room { text: room.text.max(16), ..room };
    loop {
        let most = fitting(&rest, room);
        if most == rest.text.len() {
            pieces.push(cut(rest, room));
            return pieces;
        }
        let end = best_break(&rest, most);
        pieces.push(cut(trimmed(rest.slice(0..end)), room));
        let skipped = rest.text[end..].len() - rest.text[end..].trim_start_matches('\n').len();
        rest = rest.slice(end + skipped..rest.text.len());
        if rest.text.trim().is_empty() {
            return pieces;
        }
    }
}

/// How far a piece may reach, in bytes; at least one character.
fn fitting(rest: &Rendered, room: Room) -> usize {
    let by_text = units_end(&rest.text, room.text);
    let mut bytes = 0;
    let over = rest.entities.iter().enumerate().find(|(index, entity)| {
        bytes += entity_bytes(entity);
        *index >= room.entities || bytes > room.entity_bytes
    });
    // The first that does not fit begins the next piece, unless it begins where this one does.
    let by_looks = over.map(|(_, entity)| byte_at(&rest.text, entity.offset)).filter(|at| *at > 0);
    by_looks.map_or(by_text, |at| at.min(by_text))
}

/// A blank line outside of code, or any line end, or a blank; none of them too early; else right there.
fn best_break(rest: &Rendered, most: usize) -> usize {
    let text = &rest.text[..most];
    let early = text.len() / 3;
    let in_code = |at: usize| {
        let unit = utf16(&text[..at]);
        let holds = |entity: &&Entity| entity.kind == EntityKind::Pre && entity.offset < unit && unit < entity.end();
        rest.entities.iter().any(|entity| holds(&entity))
    };
    let last = |pattern: &str, wanted: &dyn Fn(usize) -> bool| {
        text.rmatch_indices(pattern).map(|(at, _)| at).take_while(|at| *at > early).find(|at| wanted(*at))
    };
    let paragraph = last("\n\n", &|at| !in_code(at));
    let line = || last("\n", &|_| true);
    let blank = || last(" ", &|_| true).map(|at| at + 1);
    paragraph.or_else(line).or_else(blank).unwrap_or(most)
}

/// An estimate of what an entity takes on the server's side.
pub(super) fn entity_bytes(entity: &Entity) -> usize {
    let extra = |text: &Option<String>| text.as_ref().map_or(0, |text| text.len() + 4);
    12 + extra(&entity.url) + extra(&entity.language)
}

fn append(whole: &mut Rendered, part: Rendered) {
    if part.text.is_empty() {
        return;
    }
    if !whole.text.is_empty() {
        whole.text.push_str(GAP);
    }
    let shift = utf16(&whole.text);
    whole.text.push_str(&part.text);
    whole.entities.extend(part.entities.into_iter().map(|entity| shifted(entity, shift)));
}

/// The byte at which a UTF-16 offset lies.
fn byte_at(text: &str, offset: usize) -> usize {
    let mut units = 0;
    let found = text.char_indices().find(|(_, c)| {
        let here = units >= offset;
        units += c.len_utf16();
        here
    });
    found.map_or(text.len(), |(at, _)| at)
}
