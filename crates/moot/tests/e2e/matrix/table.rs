//! The tables: who gets which answer, one line per request, as text that is read when the test runs.

use std::collections::BTreeMap;

use super::people::{ALL, Who};

/// One line of a table: what is asked, and what each of [`ALL`] gets.
pub struct Row {
    /// `GET /v1/runs/{run}`, `message.send`, `get_user`: what the list of the surface calls it.
    pub name: String,
    /// The same with what is filled in: `GET /v1/messages/{message:dm_message}?limit=1`.
    pub asked: String,
    /// The body as JSON, or a form, with `$things` in it.
    pub body: String,
    pub cells: Vec<String>,
    pub line: usize,
    /// Below `== last ==`: these end sessions or the workspace, so nobody listens any more and everybody logs in anew.
    pub is_last: bool,
}

impl Row {
    pub fn cell(&self, who: Who) -> &str {
        &self.cells[who as usize]
    }
}

pub struct Table {
    pub file: &'static str,
    pub rows: Vec<Row>,
}

impl Table {
    pub fn read(file: &'static str) -> Table {
        let path = format!("{}/tests/e2e/matrix/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut is_last = false;
        let mut rows = Vec::new();
        for (index, line) in text.lines().enumerate() {
            match line.trim() {
                "== last ==" => is_last = true,
                "" => {}
                comment if comment.starts_with('#') => {}
                row => rows.push(parse(row, index + 1, is_last)),
            }
        }
        Table { file, rows }
    }

    /// Fails when something of the surface has no row, or a row is of something that is no longer there.
    pub fn covers(&self, surface: &[String]) {
        let has_row = |name: &&String| !self.rows.iter().any(|row| row.name == **name);
        let without: Vec<String> = surface.iter().filter(has_row).map(|name| template(name)).collect();
        assert!(
            without.is_empty(),
            "nobody has said who may ask for this; add a row to crates/moot/tests/e2e/matrix/{}, run the test, look \
             whether what it prints is what should be, and put that in place of the question marks:\n{}",
            self.file,
            without.join("\n")
        );
        let gone = self.rows.iter().filter(|row| !surface.contains(&row.name));
        let gone: Vec<String> = gone.map(|row| format!("{}:{} {}", self.file, row.line, row.name)).collect();
        assert!(gone.is_empty(), "rows of what is no longer there: {gone:?}");
    }

    /// The rows whose answers were others than those in the table, as they would have to be.
    pub fn differences(&self, seen: &BTreeMap<usize, Vec<String>>) -> Vec<String> {
        let differs = |row: &&Row| seen.get(&row.line).is_some_and(|cells| *cells != row.cells);
        let shown = |row: &Row| {
            format!(
                "{}:{} {}\n    in the table  {}\n    was           {}",
                self.file,
                row.line,
                row.asked,
                row.cells.join(" "),
                seen[&row.line].join(" ")
            )
        };
        self.rows.iter().filter(differs).map(shown).collect()
    }
}

fn template(name: &str) -> String {
    format!("{name:<72} {} | {{}}", ["?"; ALL.len()].join(" "))
}

/// `METHOD path  cells… | body`, or `type  cells… | body`.
fn parse(line: &str, number: usize, is_last: bool) -> Row {
    let (head, body) = line.split_once(" | ").unwrap_or((line, ""));
    let words: Vec<&str> = head.split_whitespace().collect();
    let asked = words.len().checked_sub(ALL.len()).filter(|words| (1..=2).contains(words));
    let asked = asked.unwrap_or_else(|| panic!("line {number} needs {} cells: {line}", ALL.len()));
    let (asked, cells) = words.split_at(asked);
    let asked = asked.join(" ");
    Row {
        name: plain(asked.split('?').next().unwrap_or_default()),
        asked,
        body: body.trim().to_owned(),
        cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
        line: number,
        is_last,
    }
}

/// `{message:dm_message}` is `{message}` in the description of the surface.
fn plain(asked: &str) -> String {
    let mut parts = asked.split(':');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        name.push_str(part.find('}').map_or(part, |end| &part[end..]));
    }
    name
}
