//! Which plays are wanted, and the table of how they went.

use std::collections::BTreeMap;
use std::fmt;

use super::cases::{CASES, Case};
use super::programs::Program;

/// Nothing, or what is wrong.
pub type Outcome = Result<(), String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    Run,
    Channel,
    Telegram,
}

impl Surface {
    fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Channel => "channel",
            Self::Telegram => "telegram",
        }
    }
}

enum Cell {
    Passed,
    Failed(String),
    NotOffered(&'static str),
}

pub struct Table {
    wanted: String,
    missing: Vec<String>,
    /// By program, mode and surface, then by case.
    rows: Vec<(String, BTreeMap<&'static str, Cell>)>,
}

impl Table {
    pub fn new(wanted: &str, missing: Vec<String>) -> Self {
        Self { wanted: wanted.to_owned(), missing, rows: Vec::new() }
    }

    /// Whether to play this; what is not offered is noted.
    pub fn wants(
        &mut self,
        program: &Program,
        warm: bool,
        surface: Surface,
        case: &'static Case,
        reason: Option<&'static str>,
    ) -> bool {
        let row = name(program, warm, surface);
        if !format!("{row}/{}", case.name).contains(&self.wanted) {
            return false;
        }
        if let Some(reason) = reason {
            self.put(row, case, Cell::NotOffered(reason));
            return false;
        }
        true
    }

    pub fn note(&mut self, program: &Program, warm: bool, surface: Surface, case: &'static Case, outcome: Outcome) {
        let row = name(program, warm, surface);
        let cell = outcome.map_or_else(Cell::Failed, |()| Cell::Passed);
        match &cell {
            Cell::Failed(why) => println!("FAILED {row}/{}: {why}", case.name),
            _ => println!("passed {row}/{}", case.name),
        }
        self.put(row, case, cell);
    }

    fn put(&mut self, row: String, case: &'static Case, cell: Cell) {
        let at = self.rows.iter().position(|(known, _)| *known == row).unwrap_or_else(|| {
            self.rows.push((row, BTreeMap::new()));
            self.rows.len() - 1
        });
        self.rows[at].1.insert(case.name, cell);
    }

    pub fn failed(&self) -> bool {
        self.rows.iter().any(|(_, cells)| cells.values().any(|cell| matches!(cell, Cell::Failed(_))))
    }

    fn count(&self, test: fn(&Cell) -> bool) -> usize {
        self.rows.iter().flat_map(|(_, cells)| cells.values()).filter(|cell| test(cell)).count()
    }
}

fn name(program: &Program, warm: bool, surface: Surface) -> String {
    format!("{}/{}/{}", program.label, if warm { "warm" } else { "plain" }, surface.name())
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|(row, _)| row.len()).max().unwrap_or_default();
        let played = |case: &&Case| self.rows.iter().any(|(_, cells)| cells.contains_key(case.name));
        let cases: Vec<&str> = CASES.iter().filter(played).map(|case| case.name).collect();
        writeln!(formatter, "\n{:width$} {}", "", cases.join(" "))?;
        for (row, cells) in &self.rows {
            write!(formatter, "{row:width$}")?;
            for case in &cases {
                let sign = match cells.get(case) {
                    Some(Cell::Passed) => "✓",
                    Some(Cell::Failed(_)) => "✗",
                    Some(Cell::NotOffered(_)) => "–",
                    None => " ",
                };
                write!(formatter, " {sign:^length$}", length = case.len())?;
            }
            writeln!(formatter)?;
        }
        let (mut failed, mut reasons) = (Vec::new(), BTreeMap::<_, Vec<String>>::new());
        for (row, cells) in &self.rows {
            for (case, cell) in cells {
                match cell {
                    Cell::Failed(why) => failed.push(format!("✗ {row}/{case}: {why}")),
                    Cell::NotOffered(reason) => reasons.entry(reason).or_default().push(format!("{row}/{case}")),
                    Cell::Passed => {}
                }
            }
        }
        failed.iter().try_for_each(|line| writeln!(formatter, "{line}"))?;
        for (reason, plays) in reasons {
            writeln!(formatter, "– {reason}: {}", plays.join(", "))?;
        }
        self.missing.iter().try_for_each(|sentence| writeln!(formatter, "PASSED OVER: {sentence}"))?;
        let passed = self.count(|cell| matches!(cell, Cell::Passed));
        let not_offered = self.count(|cell| matches!(cell, Cell::NotOffered(_)));
        let missing = self.missing.len();
        write!(
            formatter,
            "{passed} passed, {} failed, {not_offered} not offered, {missing} programs passed over",
            failed.len()
        )
    }
}
