//! Writing for people and for scripts: lines, tables, JSON, and colour where somebody looks at it.
//!
//! Everything for people goes through here, and what others wrote cannot steer the terminal: whatever is written, only our own
//! colours pass. What is for scripts ([`json`], [`exact`]) stays as it is.

use std::io::{IsTerminal, Write};

use folkmoot_action::visible;
use serde_json::Value;

use folkmoot_hub::modes::{Exposed, Outcome};

/// All that we ever ask of a terminal.
const CODES: [&str; 7] = ["1;31", "32", "33", "36", "2", "1", "0"];

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

    /// The text with everything that could steer the terminal made visible, but for the colours that this gives.
    fn guarded(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for (number, piece) in text.split("\u{1b}[").enumerate() {
            let code = CODES.iter().find(|code| piece.strip_prefix(**code).is_some_and(|rest| rest.starts_with('m')));
            match (number, code) {
                (0, _) => out.push_str(&visible::text(piece)),
                (_, Some(code)) if self.on => {
                    out.push_str(&format!("\u{1b}[{code}m{}", visible::text(&piece[code.len() + 1..])));
                }
                _ => out.push_str(&visible::text(&format!("\u{1b}[{piece}"))),
            }
        }
        out
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Says on standard error what others could read, one line each.
pub fn exposed(found: &[Exposed]) {
    for one in found {
        let hint =
            if matches!(one.outcome, Outcome::Mended { .. }) { String::new() } else { format!("; {}", one.remedy()) };
        note(&format!("warning: {}{hint}", one.sentence()));
    }
}

/// <https://no-color.org>: any non-empty value turns colour off.
fn wanted() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !no_color && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// One line to standard output; an error rather than a panic when nobody reads it any more.
pub fn line(text: &str) -> anyhow::Result<()> {
    exact(&Paint::of_stdout().guarded(text))
}

/// A line for a script, as it is.
pub fn exact(text: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Text to standard output that ends with exactly one line end.
pub fn text(text: &str) -> anyhow::Result<()> {
    line(text.trim_end_matches('\n'))
}

/// What others wrote and scripts may want as it is, such as a difference: made visible only for somebody who looks.
pub fn verbatim(content: &str) -> anyhow::Result<()> {
    if std::io::stdout().is_terminal() { text(content) } else { exact(content.trim_end_matches('\n')) }
}

/// A JSON value, readable.
pub fn json(value: &Value) -> anyhow::Result<()> {
    exact(&serde_json::to_string_pretty(value)?)
}

/// A remark to standard error.
pub fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", guarded(text));
}

/// Text for standard error in which only our own colours pass.
pub fn guarded(text: &str) -> String {
    Paint::of_stderr().guarded(text)
}

/// Rows with aligned columns, under a header when somebody looks.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| visible::line(cell)).collect()).collect();
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

/// Text of others in which nothing steers this terminal or hides.
pub fn printable(text: &str) -> String {
    visible::text(text)
}

/// The name of somebody else, or another word of theirs that has one line.
pub fn name(text: &str) -> String {
    visible::line(text)
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
        assert_eq!(printable("a\u{1b}[31mb\r\u{7}c\u{202e}d"), "a␛[31mb␍␇c⟨U+202E⟩d");
        assert_eq!(name("ann\n12:00  bob"), "ann␊12:00  bob");
        assert_eq!(printable("two\n\tlines, é"), "two\n\tlines, é");
    }

    #[test]
    fn only_our_own_colours_pass_and_only_where_there_are_any() {
        let (on, off) = (Paint { on: true }, Paint { on: false });
        let painted = format!("{} {}", on.red("error:"), on.dim("x"));
        assert_eq!(on.guarded(&painted), painted);
        for steering in ["\u{1b}[2J", "\u{1b}[8mhidden", "\u{1b}]0;title\u{7}", "\u{9b}31m", "\u{1b}[1;31", "\u{1b}"] {
            for paint in [on, off] {
                let guarded = paint.guarded(&format!("a{steering}b"));
                assert!(!guarded.contains(['\u{1b}', '\u{9b}', '\u{7}']), "{guarded:?}");
            }
        }
        assert_eq!(off.guarded("\u{1b}[32mok"), "␛[32mok");
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
