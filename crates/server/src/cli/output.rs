//! Writing for people and for scripts: lines, tables, JSON, and colour where somebody looks at it.

use std::io::{IsTerminal, Write};

use serde_json::Value;

/// Colours, when the stream is a terminal and nobody asked for none.
#[derive(Clone, Copy)]
pub struct Paint {
    on: bool,
}

impl Paint {
    pub fn of_stdout() -> Self {
        Self { on: std::io::stdout().is_terminal() && wanted() }
    }

    pub fn of_stderr() -> Self {
        Self { on: std::io::stderr().is_terminal() && wanted() }
    }

    #[cfg(test)]
    pub fn none() -> Self {
        Self { on: false }
    }

    pub fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// <https://no-color.org>: any non-empty value turns colour off.
fn wanted() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !no_color && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// One line to standard output; an error rather than a panic when nobody reads it any more.
pub fn line(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Text to standard output that ends with exactly one line end.
pub fn text(text: &str) -> anyhow::Result<()> {
    line(text.trim_end_matches('\n'))
}

/// A JSON value, readable.
pub fn json(value: &Value) -> anyhow::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// A remark to standard error.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Rows with aligned columns, under a header when somebody looks.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    if std::io::stdout().is_terminal() {
        let header: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
        line(&Paint::of_stdout().dim(&aligned(&header, &widths)))?;
    }
    rows.iter().try_for_each(|row| line(&aligned(row, &widths)))
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    cells.join("  ").trim_end().to_owned()
}

/// Text of others without the control characters that could steer this terminal.
pub fn printable(text: &str) -> String {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    let reorders = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if steers(c) || reorders(c) { '\u{fffd}' } else { c }).collect()
}

/// A size for people.
pub fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_others_do_not_reach_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\r\u{7}c\u{202e}d"), "a\u{fffd}[31mb\u{fffd}\u{fffd}c\u{fffd}d");
        assert_eq!(printable("two\n\tlines, é"), "two\n\tlines, é");
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_234_567), "1.2 MB");
    }

    #[test]
    fn columns_line_up_and_lines_do_not_end_in_blanks() {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        assert_eq!(aligned(&row("a", "b"), &[3, 5]), "a    b");
        assert_eq!(aligned(&row("abc", ""), &[3, 5]), "abc");
    }
}
