//! A run within Telegram's limits: text with entities, cut after rendering, the resume line always whole.
//!
//! Entities need no escaping, so what is counted is what is sent: at most 4096 characters, offsets in UTF-16 units, at
//! most 100 entities.

use pulldown_cmark::{CodeBlockKind, Event as Token, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde::Serialize;

use super::markdown::Message;

/// The longest message, in Unicode scalar values.
pub const MOST_TEXT: usize = 4096;
/// Further entities are ignored by the server.
pub const MOST_ENTITIES: usize = 100;

/// A message as the Bot API takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rendered {
    pub text: String,
    pub entities: Vec<Entity>,
}

/// A part of the text with a look; offset and length in UTF-16 units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entity {
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub offset: usize,
    pub length: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// The message with its body cut, if need be, so that header and resume line fit.
pub fn message(message: &Message) -> Rendered {
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

/// The beginning of a text, at most `most` characters with the ellipsis.
pub fn cut(rendered: Rendered, most: usize) -> Rendered {
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

fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What is open while the tokens come: the look, where it began, and the language or address.
struct Open {
    kind: &'static str,
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
                self.begin("code", None);
                self.write(&text);
                self.close("code");
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
                self.begin("bold", None);
                if level == HeadingLevel::H1 {
                    self.begin("underline", None);
                }
            }
            Tag::BlockQuote(_) => {
                self.separate(2);
                self.begin("blockquote", None);
            }
            Tag::CodeBlock(kind) => {
                self.separate(if self.lists.is_empty() { 2 } else { 1 });
                let language = match kind {
                    CodeBlockKind::Fenced(words) => words.split_whitespace().next().map(str::to_owned),
                    CodeBlockKind::Indented => None,
                };
                self.begin("pre", language);
            }
            Tag::List(first) => {
                self.separate(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Emphasis => self.begin("italic", None),
            Tag::Strong => self.begin("bold", None),
            Tag::Strikethrough => self.begin("strikethrough", None),
            Tag::Link { dest_url, .. } => self.begin("text_link", Some(dest_url.into_string())),
            Tag::Image { dest_url, .. } => {
                self.begin("text_link", Some(dest_url.into_string()));
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
                    self.close("underline");
                }
                self.close("bold");
                self.separate(2);
            }
            TagEnd::BlockQuote(_) => {
                self.close("blockquote");
                self.separate(2);
            }
            TagEnd::CodeBlock => {
                self.trim_line_end();
                self.close("pre");
                self.separate(2);
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.separate(if self.lists.is_empty() { 2 } else { 1 });
            }
            TagEnd::Item | TagEnd::TableRow | TagEnd::TableHead => self.separate(1),
            TagEnd::Table => self.separate(2),
            TagEnd::Emphasis => self.close("italic"),
            TagEnd::Strong => self.close("bold"),
            TagEnd::Strikethrough => self.close("strikethrough"),
            TagEnd::Link | TagEnd::Image => self.close("text_link"),
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

    fn begin(&mut self, kind: &'static str, extra: Option<String>) {
        // Line ends that are due lie before the look, not in it.
        self.break_lines();
        self.open.push(Open { kind, offset: self.length, extra });
    }

    fn close(&mut self, kind: &'static str) {
        let Some(at) = self.open.iter().rposition(|open| open.kind == kind) else { return };
        let Open { kind, offset, extra } = self.open.remove(at);
        let length = self.length.saturating_sub(offset);
        let linked = extra
            .as_deref()
            .is_some_and(|url| ["http://", "https://", "tg://"].iter().any(|scheme| url.starts_with(scheme)));
        if length == 0 || (kind == "text_link" && !linked) {
            return;
        }
        let (url, language) = if kind == "text_link" { (extra, None) } else { (None, extra) };
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
