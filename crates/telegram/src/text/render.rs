//! Markdown to text and entities: a small writer driven by the parser's tokens.
//!
//! What Telegram does not allow is sorted out here, because the server would do it silently and not always well: code
//! holds no other look, a link is worth more than the code inside it, quotes do not nest.

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event as Token, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Rendered, table, utf16};
use crate::api::{Entity, EntityKind};

/// The longest name of a language that is passed on.
const MAX_LANGUAGE: usize = 32;

/// Markdown as text and entities.
pub fn render(markdown: &str) -> Rendered {
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS;
    let mut tokens = Parser::new_ext(markdown, options);
    let mut writer = Writer::default();
    while let Some(token) = tokens.next() {
        match token {
            Token::Start(Tag::Table(_)) => writer.table(&table::read(&mut tokens)),
            token => writer.token(token),
        }
    }
    writer.finish()
}

/// What is open while the tokens come.
struct Open {
    kind: EntityKind,
    offset: usize,
    /// The language or the address.
    extra: Option<String>,
    /// Something around it makes it pointless.
    shadowed: bool,
}

#[derive(Default)]
pub(super) struct Writer {
    text: String,
    /// Of the text, in UTF-16 units.
    length: usize,
    entities: Vec<Entity>,
    open: Vec<Open>,
    lists: Vec<Option<u64>>,
    /// Line ends to write before the next text.
    breaks: usize,
}

impl Writer {
    pub(super) fn token(&mut self, token: Token<'_>) {
        match token {
            Token::Start(tag) => self.start(tag),
            Token::End(tag) => self.end(tag),
            Token::Text(text) => self.write(&text),
            Token::Html(text) | Token::InlineHtml(text) => self.html(&text),
            Token::Code(text) | Token::InlineMath(text) | Token::DisplayMath(text) => {
                self.begin(EntityKind::Code, None);
                self.write(&text);
                self.close(EntityKind::Code);
            }
            // In a chat a line that ends is meant to end.
            Token::SoftBreak | Token::HardBreak => self.write("\n"),
            Token::Rule => {
                self.separate(2);
                self.write(&"⎯".repeat(10));
                self.separate(2);
            }
            Token::TaskListMarker(done) => self.task(done),
            Token::FootnoteReference(text) => self.write(&text),
        }
    }

    /// A table, as [`table`] lays it out.
    fn table(&mut self, table: &table::Table) {
        self.separate(2);
        self.append(&table.lay_out());
        self.separate(2);
    }

    pub(super) fn append(&mut self, part: &Rendered) {
        self.break_lines();
        let shift = self.length;
        self.write(&part.text);
        self.entities.extend(part.entities.iter().cloned().map(|entity| shifted(entity, shift)));
    }

    pub(super) fn finish(mut self) -> Rendered {
        while let Some(open) = self.open.last() {
            let kind = open.kind;
            self.close(kind);
        }
        let mut rendered = trimmed(Rendered { text: self.text, entities: self.entities });
        keep_code_clean(&mut rendered.entities);
        // Outer looks first, as the server sorts them.
        rendered.entities.sort_by_key(|entity| (entity.offset, std::cmp::Reverse(entity.length), entity.kind));
        rendered
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.separate(if self.lists.is_empty() { 2 } else { 0 }),
            Tag::Heading { level, .. } => {
                self.separate(2);
                self.begin(EntityKind::Bold, None);
                if level == HeadingLevel::H1 {
                    self.begin(EntityKind::Underline, None);
                }
            }
            Tag::BlockQuote(_) => {
                self.separate(self.block_breaks());
                self.begin(EntityKind::Blockquote, None);
            }
            Tag::CodeBlock(kind) => {
                self.separate(self.block_breaks());
                self.begin(EntityKind::Pre, language(&kind));
            }
            Tag::List(first) => {
                self.separate(self.block_breaks());
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Emphasis => self.begin(EntityKind::Italic, None),
            Tag::Strong => self.begin(EntityKind::Bold, None),
            Tag::Strikethrough => self.begin(EntityKind::Strikethrough, None),
            Tag::Link { dest_url, .. } => self.begin(EntityKind::TextLink, Some(dest_url.into_string())),
            Tag::Image { dest_url, .. } => {
                self.begin(EntityKind::TextLink, Some(dest_url.into_string()));
                self.write("🖼 ");
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.separate(self.block_breaks()),
            TagEnd::Heading(level) => {
                if level == HeadingLevel::H1 {
                    self.close(EntityKind::Underline);
                }
                self.close(EntityKind::Bold);
                self.separate(2);
            }
            TagEnd::BlockQuote(_) => {
                self.close(EntityKind::Blockquote);
                self.separate(2);
            }
            TagEnd::CodeBlock => {
                self.trim_line_end();
                self.close(EntityKind::Pre);
                self.separate(self.block_breaks());
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.separate(self.block_breaks());
            }
            TagEnd::Item => self.separate(1),
            TagEnd::Emphasis => self.close(EntityKind::Italic),
            TagEnd::Strong => self.close(EntityKind::Bold),
            TagEnd::Strikethrough => self.close(EntityKind::Strikethrough),
            TagEnd::Link | TagEnd::Image => self.close_link(),
            _ => {}
        }
    }

    /// Lists are close together, everything else has a blank line in between.
    fn block_breaks(&self) -> usize {
        if self.lists.is_empty() { 2 } else { 1 }
    }

    fn item(&mut self) {
        self.separate(1);
        let depth = self.lists.len().saturating_sub(1);
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.write(&format!("{}{marker}", "  ".repeat(depth)));
    }

    /// The box stands for the bullet.
    fn task(&mut self, done: bool) {
        if self.text.ends_with("- ") {
            self.text.truncate(self.text.len() - 2);
            self.length -= 2;
        }
        self.write(if done { "☑ " } else { "☐ " });
    }

    fn html(&mut self, text: &str) {
        let name = text.trim().trim_matches(['<', '>', '/', ' ']);
        if name.eq_ignore_ascii_case("br") { self.write("\n") } else { self.write(text) }
    }

    /// At least this many line ends before what comes next.
    fn separate(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.break_lines();
        let text = printable(text);
        self.text.push_str(&text);
        self.length += utf16(&text);
    }

    fn break_lines(&mut self) {
        let breaks = std::mem::take(&mut self.breaks);
        if self.text.is_empty() {
            return;
        }
        let present = self.text.len() - self.text.trim_end_matches('\n').len();
        for _ in present..breaks {
            self.text.push('\n');
            self.length += 1;
        }
    }

    fn begin(&mut self, kind: EntityKind, extra: Option<String>) {
        // Line ends that are due lie before the look, not in it.
        self.break_lines();
        let around = |open: &Open| {
            open.kind == kind || kind == EntityKind::Code && open.kind == EntityKind::TextLink && is_link(open)
        };
        let shadowed = self.open.iter().any(around);
        self.open.push(Open { kind, offset: self.length, extra, shadowed });
    }

    fn close(&mut self, kind: EntityKind) {
        let Some(at) = self.open.iter().rposition(|open| open.kind == kind) else { return };
        let open = self.open.remove(at);
        let length = self.length.saturating_sub(open.offset);
        if length == 0 || open.shadowed || kind == EntityKind::TextLink && !is_link(&open) {
            return;
        }
        let Open { offset, extra, .. } = open;
        let (url, language) = if kind == EntityKind::TextLink { (extra, None) } else { (None, extra) };
        self.entities.push(Entity { kind, offset, length, url, language });
    }

    /// A link that cannot be followed from a phone, such as one to a file, shows where it leads.
    fn close_link(&mut self) {
        let last = self.open.iter().rfind(|open| open.kind == EntityKind::TextLink);
        let target = last.and_then(|open| open.extra.clone()).filter(|target| is_path(target));
        self.close(EntityKind::TextLink);
        if let Some(target) = target.filter(|target| !self.text.ends_with(target.as_str())) {
            self.write(&format!(" ({target})"));
        }
    }

    fn trim_line_end(&mut self) {
        while self.text.ends_with('\n') {
            self.text.pop();
            self.length -= 1;
        }
    }
}

fn is_link(open: &Open) -> bool {
    let url = open.extra.as_deref().unwrap_or_default();
    ["http://", "https://", "tg://"].iter().any(|scheme| url.starts_with(scheme))
}

/// No scheme: `src/main.rs`, `main.rs:10`, but not `javascript:…` or `mailto:…`.
fn is_path(target: &str) -> bool {
    let scheme = target
        .split_once(':')
        .filter(|(before, after)| !before.contains('/') && !after.starts_with(|first: char| first.is_ascii_digit()));
    !target.is_empty() && !target.starts_with('#') && scheme.is_none()
}

fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(words) = kind else { return None };
    let word = words.split(|c: char| c.is_whitespace() || ",{".contains(c)).next().unwrap_or_default();
    let name: String = word.chars().filter(|c| !c.is_control()).take(MAX_LANGUAGE).collect();
    (!name.is_empty()).then_some(name)
}

/// Without what the server would take out, which would shift everything behind it.
fn printable(text: &str) -> Cow<'_, str> {
    let odd = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(odd) { Cow::Owned(text.replace(odd, "")) } else { Cow::Borrowed(text) }
}

pub(super) fn shifted(mut entity: Entity, by: usize) -> Entity {
    entity.offset += by;
    entity
}

/// Without blank lines at the beginning and white space at the end, which the server would cut off. What the first line
/// begins with stays: it may be the indentation of code.
pub(super) fn trimmed(rendered: Rendered) -> Rendered {
    let blank = rendered.text.len() - rendered.text.trim_start().len();
    let line = rendered.text[..blank].rfind('\n').map_or(0, |at| at + 1);
    let start = if blank == rendered.text.len() { blank } else { line };
    let end = rendered.text.trim_end().len().max(start);
    rendered.slice(start..end)
}

/// Code and code blocks hold no other look: bold and its like end before them and go on behind.
fn keep_code_clean(entities: &mut Vec<Entity>) {
    let is_code = |entity: &Entity| matches!(entity.kind, EntityKind::Code | EntityKind::Pre);
    let code: Vec<(usize, usize)> =
        entities.iter().filter(|entity| is_code(entity)).map(|entity| (entity.offset, entity.end())).collect();
    if code.is_empty() {
        return;
    }
    let splits = |entity: &Entity| {
        let look = [EntityKind::Bold, EntityKind::Italic, EntityKind::Underline, EntityKind::Strikethrough];
        look.contains(&entity.kind)
    };
    let mut kept = Vec::with_capacity(entities.len());
    for entity in entities.drain(..) {
        if splits(&entity) { around(entity, &code, &mut kept) } else { kept.push(entity) }
    }
    *entities = kept;
}

/// The parts of an entity that lie outside these ranges, which are in order and apart.
fn around(entity: Entity, holes: &[(usize, usize)], kept: &mut Vec<Entity>) {
    let mut offset = entity.offset;
    for (start, end) in holes.iter().filter(|(start, end)| *start < entity.end() && *end > entity.offset) {
        if *start > offset {
            kept.push(Entity { offset, length: start - offset, ..entity.clone() });
        }
        offset = offset.max(*end);
    }
    if offset < entity.end() {
        kept.push(Entity { offset, length: entity.end() - offset, ..entity });
    }
}
