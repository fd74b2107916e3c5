//! Tables, which Telegram does not have: aligned columns where they fit a phone, else one block of lines per row.

use pulldown_cmark::{Event as Token, Tag, TagEnd};

use super::Rendered;
use super::render::Writer;
use crate::api::{Entity, EntityKind};

/// What a phone shows in one line of code.
const WIDEST: usize = 48;

/// The cells, row by row; the first row is the head.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<Rendered>>,
}

/// Reads a table up to its end; its beginning was read already.
pub fn read<'a>(tokens: &mut impl Iterator<Item = Token<'a>>) -> Table {
    let mut table = Table::default();
    let mut cell = Writer::default();
    for token in tokens {
        match token {
            Token::End(TagEnd::Table) => break,
            Token::Start(Tag::TableHead | Tag::TableRow) => table.rows.push(Vec::new()),
            Token::End(TagEnd::TableHead | TagEnd::TableRow) | Token::Start(Tag::TableCell) => {}
            Token::End(TagEnd::TableCell) => {
                let done = std::mem::take(&mut cell).finish();
                if let Some(row) = table.rows.last_mut() {
                    row.push(done);
                }
            }
            token => cell.token(token),
        }
    }
    table
}

impl Table {
    pub fn lay_out(&self) -> Rendered {
        let widths = self.widths();
        let wide = widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1) > WIDEST;
        let mut cells = self.rows.iter().flatten();
        let has_links = cells.any(|cell| cell.entities.iter().any(|entity| entity.kind == EntityKind::TextLink));
        if wide || has_links { self.in_blocks() } else { self.in_columns(&widths) }
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width_of =
            |column: usize| self.rows.iter().filter_map(move |row| row.get(column)).map(|cell| width(&cell.text));
        (0..columns).map(|column| width_of(column).max().unwrap_or(0)).collect()
    }

    /// Code, so that the columns stand below each other; looks inside are given up for it.
    fn in_columns(&self, widths: &[usize]) -> Rendered {
        let line = |row: &Vec<Rendered>| {
            let padded = widths.iter().enumerate().map(|(column, most)| {
                let text = row.get(column).map_or("", |cell| cell.text.as_str());
                format!("{text}{}", " ".repeat(most.saturating_sub(width(text))))
            });
            padded.collect::<Vec<_>>().join(" │ ").trim_end().to_owned()
        };
        let mut lines: Vec<String> = self.rows.iter().map(line).collect();
        if lines.len() > 1 {
            let rule = widths.iter().map(|most| "─".repeat(*most)).collect::<Vec<_>>().join("─┼─");
            lines.insert(1, rule);
        }
        let text = lines.join("\n");
        let length = super::utf16(&text);
        let entity = Entity { kind: EntityKind::Pre, offset: 0, length, url: None, language: None };
        Rendered { entities: if length > 0 { vec![entity] } else { Vec::new() }, text }
    }

    /// Each row as a line with its first cell and one line for each further cell with the head of its column.
    fn in_blocks(&self) -> Rendered {
        let Some((head, rows)) = self.rows.split_first() else { return Rendered::default() };
        let mut writer = Writer::default();
        let plain = |text: &str| Rendered { text: text.to_owned(), entities: Vec::new() };
        // A head without rows is all there is to show.
        let rows = if rows.is_empty() { std::slice::from_ref(head) } else { rows };
        for (number, row) in rows.iter().enumerate() {
            for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.text.is_empty()) {
                let start = match (number, column) {
                    (0, 0) => "- ",
                    (_, 0) => "\n- ",
                    _ => "\n  ",
                };
                writer.append(&plain(start));
                if let Some(name) = head.get(column).filter(|name| column > 0 && !name.text.is_empty()) {
                    writer.append(&plain(&format!("{}: ", name.text)));
                }
                writer.append(cell);
            }
        }
        writer.finish()
    }
}

/// How many columns a text takes; wide scripts and emoji take two each.
fn width(text: &str) -> usize {
    let wide = |c: char| matches!(u32::from(c), 0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe4f | 0xff00..=0xff60 | 0x1f300..=0x1faff);
    text.chars().map(|c| if wide(c) { 2 } else { 1 }).sum()
}
