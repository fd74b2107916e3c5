//! Markdown to text and entities: a small writer driven by the parser's tokens.

use pulldown_cmark::{CodeBlockKind, Event as Token, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{Rendered, utf16};
use crate::api::{Entity, EntityKind};

/// Markdown as text and entities.
pub fn render(markdown: &str) -> Rendered {
    let mut writer = Writer::default();
    for token in
        Parser::new_ext(markdown, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES | Options::ENABLE_TASKLISTS)
    {
        writer.token(token);
    }
    writer.finish()
}

/// What is open while the tokens come: the look, where it began, and the language or address.
struct Open {
    kind: EntityKind,
    offset: usize,
    extra: Option<String>,
}

#[derive(Default)]
struct Writer {
    text: String,
    length: usize,
    entities: Vec<Entity>,
    open: Vec<Open>,
    lists: Vec<Option<u64>>,
    /// Line ends to write before the next text.
    breaks: usize,
    cell: bool,
}

impl Writer {
    fn token(&mut self, token: Token<'_>) {
        match token {
            Token::Start(tag) => self.start(tag),
            Token::End(tag) => self.end(tag),
            Token::Text(text) | Token::Html(text) | Token::InlineHtml(text) => self.write(&text),
            Token::Code(text) | Token::InlineMath(text) | Token::DisplayMath(text) => {
                self.begin(EntityKind::Code, None);
                self.write(&text);
                self.close(EntityKind::Code);
            }
            Token::SoftBreak => self.write(" "),
            Token::HardBreak => self.write("\n"),
            Token::Rule => {
                self.separate(2);
                self.write(&"⎯".repeat(10));
                self.breaks = 2;
            }
            Token::TaskListMarker(done) => self.write(if done { "☑ " } else { "☐ " }),
            Token::FootnoteReference(text) => self.write(&text),
        }
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
                self.separate(2);
                self.begin(EntityKind::Blockquote, None);
            }
            Tag::CodeBlock(kind) => {
                self.separate(if self.lists.is_empty() { 2 } else { 1 });
                let language = match kind {
                    CodeBlockKind::Fenced(words) => words.split_whitespace().next().map(str::to_owned),
                    CodeBlockKind::Indented => None,
                };
                self.begin(EntityKind::Pre, language);
            }
            Tag::List(first) => {
                self.separate(if self.lists.is_empty() { 2 } else { 1 });
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
            Tag::Table(_) => self.separate(2),
            Tag::TableRow | Tag::TableHead => {
                self.separate(1);
                self.cell = false;
            }
            // Before every cell of a row but the first.
            Tag::TableCell if std::mem::replace(&mut self.cell, true) => self.write(" | "),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.separate(if self.lists.is_empty() { 2 } else { 1 }),
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
                self.separate(2);
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.separate(if self.lists.is_empty() { 2 } else { 1 });
            }
            TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead => self.separate(1),
            TagEnd::Table => self.separate(2),
            TagEnd::Emphasis => self.close(EntityKind::Italic),
            TagEnd::Strong => self.close(EntityKind::Bold),
            TagEnd::Strikethrough => self.close(EntityKind::Strikethrough),
            TagEnd::Link | TagEnd::Image => self.close(EntityKind::TextLink),
            _ => {}
        }
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

    /// At least this many line ends before what comes next.
    fn separate(&mut self, breaks: usize) {
        self.breaks = self.breaks.max(breaks);
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.break_lines();
        self.text.push_str(text);
        self.length += utf16(text);
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
        self.open.push(Open { kind, offset: self.length, extra });
    }

    fn close(&mut self, kind: EntityKind) {
        let Some(at) = self.open.iter().rposition(|open| open.kind == kind) else { return };
        let Open { kind, offset, extra } = self.open.remove(at);
        let length = self.length.saturating_sub(offset);
        let linked = extra
            .as_deref()
            .is_some_and(|url| ["http://", "https://", "tg://"].iter().any(|scheme| url.starts_with(scheme)));
        if length == 0 || (kind == EntityKind::TextLink && !linked) {
            return;
        }
        let (url, language) = if kind == EntityKind::TextLink { (extra, None) } else { (None, extra) };
        self.entities.push(Entity { kind, offset, length, url, language });
    }

    fn trim_line_end(&mut self) {
        while self.text.ends_with('\n') {
            self.text.pop();
            self.length -= 1;
        }
    }

    fn finish(mut self) -> Rendered {
        while let Some(open) = self.open.last() {
            let kind = open.kind;
            self.close(kind);
        }
        let trimmed = self.text.trim_end().len();
        self.text.truncate(trimmed);
        let end = utf16(&self.text);
        for entity in &mut self.entities {
            entity.length = entity.length.min(end.saturating_sub(entity.offset));
        }
        self.entities.retain(|entity| entity.length > 0);
        // Outer looks first, as the server sorts them.
        self.entities.sort_by_key(|entity| (entity.offset, std::cmp::Reverse(entity.length)));
        Rendered { text: self.text, entities: self.entities }
    }
}
