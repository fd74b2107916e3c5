//! The table of what was measured, on the terminal and in `RESULTS.md`.

use std::fmt::Write;

/// One measured thing.
#[derive(Debug)]
pub struct Row {
    what: String,
    unit: &'static str,
    hub: f64,
    /// The bare server, bare SQLite, or the same hub with the small database.
    against: Option<f64>,
    peer: Option<f64>,
    bar: Option<Bar>,
    /// Nothing can be below `against`; a smaller number means that the two did not do the same work.
    floor: bool,
    /// The measurement itself went wrong, whatever its number.
    doubted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Met {
    Yes,
    No,
    /// The number is below what is possible, or the systems did not do the same work: it proves nothing.
    Doubtful,
}

/// What the issue asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bar {
    RatioAtMost(f64),
    RatioAtLeast(f64),
    AtMost(f64),
    /// This much more than what it is against.
    MoreByAtMost(f64),
    AtLeast(f64),
}

impl Row {
    pub fn new(what: impl Into<String>, unit: &'static str, hub: f64) -> Self {
        Self { what: what.into(), unit, hub, against: None, peer: None, bar: None, floor: false, doubted: false }
    }

    pub fn against(mut self, value: f64) -> Self {
        self.against = Some(value);
        self
    }

    pub fn peer(mut self, value: Option<f64>) -> Self {
        self.peer = value;
        self
    }

    pub fn bar(mut self, bar: Bar) -> Self {
        self.bar = Some(bar);
        self
    }

    /// Against the least that any server must do.
    pub fn against_floor(mut self, value: f64) -> Self {
        self.floor = true;
        self.against(value)
    }

    pub fn doubt_if(mut self, doubted: bool) -> Self {
        self.doubted |= doubted;
        self
    }

    fn ratio(&self) -> Option<f64> {
        self.against.map(|against| self.hub / against)
    }

    /// A ratio that could not be measured meets nothing.
    fn met(&self) -> Option<Met> {
        let ratio = self.ratio().unwrap_or(f64::NAN);
        let holds = |bar| match bar {
            Bar::RatioAtMost(limit) => ratio <= limit,
            Bar::RatioAtLeast(limit) => ratio >= limit,
            Bar::AtMost(limit) => self.hub <= limit,
            Bar::MoreByAtMost(limit) => self.against.is_some_and(|against| self.hub - against <= limit),
            Bar::AtLeast(limit) => self.hub >= limit,
        };
        self.bar.map(|bar| match holds(bar) {
            _ if self.doubted || self.floor && ratio < 1.0 => Met::Doubtful,
            true => Met::Yes,
            false => Met::No,
        })
    }

    fn cells(&self) -> [String; 8] {
        let optional = |value: Option<f64>| value.map_or_else(String::new, number);
        let peer_ratio = self.peer.zip(self.against).map(|(peer, against)| peer / against);
        [
            self.what.clone(),
            self.unit.to_owned(),
            number(self.hub),
            optional(self.against),
            optional(self.ratio()),
            self.peer.map_or_else(String::new, |peer| match peer_ratio {
                Some(ratio) => format!("{} ({})", number(peer), number(ratio)),
                None => number(peer),
            }),
            self.bar.map_or_else(String::new, bar_text),
            self.met().map_or("", met_text).to_owned(),
        ]
    }
}

const HEADINGS: [&str; 8] = ["what", "unit", "hub", "against", "ratio", "peer (ratio)", "bar", "met"];

fn met_text(met: Met) -> &'static str {
    match met {
        Met::Yes => "yes",
        Met::No => "NO",
        Met::Doubtful => "doubtful",
    }
}

fn bar_text(bar: Bar) -> String {
    match bar {
        Bar::RatioAtMost(limit) => format!("ratio ≤ {}", number(limit)),
        Bar::RatioAtLeast(limit) => format!("ratio ≥ {}", number(limit)),
        Bar::AtMost(limit) => format!("≤ {}", number(limit)),
        Bar::MoreByAtMost(limit) => format!("≤ against + {}", number(limit)),
        Bar::AtLeast(limit) => format!("≥ {}", number(limit)),
    }
}

/// About three digits that mean something, thousands apart.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let decimals = match value.abs() {
        v if v >= 100.0 => return grouped(value.round() as i64),
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

fn grouped(value: i64) -> String {
    let digits = value.abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

/// A Markdown table with its columns aligned, so that it reads on a terminal too.
pub fn table(rows: &[Row]) -> String {
    let lines: Vec<[String; 8]> =
        std::iter::once(HEADINGS.map(str::to_owned)).chain(rows.iter().map(Row::cells)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}")).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
        if index == 0 {
            let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
            let _ = writeln!(text, "| {} |", rules.join(" | "));
        }
    }
    text
}

/// What became of the bars: one sentence for those met or missed, one for those that prove nothing.
pub fn verdict(rows: &[Row]) -> String {
    let named = |wanted: Met| -> Vec<String> {
        let rows = rows.iter().filter(|row| row.met() == Some(wanted));
        rows.map(|row| format!("{} ({})", row.what, row.unit)).collect()
    };
    let count = rows.iter().filter(|row| row.met().is_some()).count();
    let (missed, doubtful) = (named(Met::No), named(Met::Doubtful));
    let mut text = match (missed.as_slice(), doubtful.as_slice()) {
        ([], []) => format!("All {count} bars that were measured are met."),
        ([], _) => format!("{} of {count} bars are met, none is missed.", count - doubtful.len()),
        _ => format!("{} of {count} bars are missed: {}.", missed.len(), missed.join("; ")),
    };
    if !doubtful.is_empty() {
        let _ = write!(text, " Doubtful, see the notes: {}.", doubtful.join("; "));
    }
    text
}

/// Everything that goes into `RESULTS.md`.
pub struct Results {
    pub quick: bool,
    pub facts: Vec<(&'static str, String)>,
    pub rows: Vec<Row>,
    pub notes: Vec<String>,
    pub failures: Vec<String>,
}

impl Results {
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Bench results\n\n");
        if self.quick {
            text.push_str(
                "**Quick run**: short measurements and a smaller database; `make bench` gives the real ones.\n\n",
            );
        }
        for (name, value) in &self.facts {
            let _ = writeln!(text, "- {name}: {value}");
        }
        let _ = write!(text, "\n{}\n{}\n", table(&self.rows), verdict(&self.rows));
        for (heading, items) in [("Failed", &self.failures), ("Notes", &self.notes)] {
            if !items.is_empty() {
                let _ = write!(text, "\n## {heading}\n");
                for item in items {
                    let _ = writeln!(text, "- {item}");
                }
            }
        }
        text.push_str("\nWhat each number means: `bench/README.md`.\n");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_about_three_digits() {
        let shown: Vec<String> = [0.1234, 1.234, 12.34, 123.4, 1_234_567.0, f64::NAN].map(number).to_vec();
        assert_eq!(shown, ["0.123", "1.23", "12.3", "123", "1,234,567", "–"]);
    }

    #[test]
    fn bars_are_met_at_their_limit_and_missed_beyond_it() {
        let at = |hub: f64, bar| Row::new("x", "s", hub).against(2.0).bar(bar).met();
        assert_eq!(at(2.6, Bar::RatioAtMost(1.3)), Some(Met::Yes));
        assert_eq!(at(2.7, Bar::RatioAtMost(1.3)), Some(Met::No));
        assert_eq!(at(1.4, Bar::RatioAtLeast(0.7)), Some(Met::Yes));
        assert_eq!(at(1.3, Bar::RatioAtLeast(0.7)), Some(Met::No));
        assert_eq!(at(8.0, Bar::AtMost(8.0)), Some(Met::Yes));
        assert_eq!(at(3.0, Bar::MoreByAtMost(1.0)), Some(Met::Yes));
        assert_eq!(at(3.1, Bar::MoreByAtMost(1.0)), Some(Met::No));
        assert_eq!(at(7.9, Bar::AtLeast(8.0)), Some(Met::No));
    }

    #[test]
    fn unmeasured_ratio_meets_no_bar() {
        assert_eq!(Row::new("x", "s", 1.0).bar(Bar::RatioAtMost(2.0)).met(), Some(Met::No));
        assert_eq!(Row::new("x", "s", 1.0).bar(Bar::MoreByAtMost(2.0)).met(), Some(Met::No));
        assert_eq!(Row::new("x", "s", 1.0).met(), None);
    }

    #[test]
    fn ratio_below_the_floor_meets_no_bar_and_is_named() {
        let row = |hub| Row::new("x", "s", hub).against_floor(2.0).bar(Bar::RatioAtMost(1.3));
        assert_eq!(row(1.9).met(), Some(Met::Doubtful));
        assert_eq!(row(2.0).met(), Some(Met::Yes));
        assert_eq!(row(2.7).met(), Some(Met::No));
        assert_eq!(row(2.0).doubt_if(true).met(), Some(Met::Doubtful));
        let text = verdict(&[row(1.9)]);
        assert!(
            text.starts_with("0 of 1 bars are met") && text.contains("Doubtful") && text.contains("x (s)"),
            "{text}"
        );
    }

    #[test]
    fn verdict_names_what_is_missed() {
        let rows = [Row::new("good", "s", 1.0).bar(Bar::AtMost(2.0)), Row::new("bad", "s", 3.0).bar(Bar::AtMost(2.0))];
        assert_eq!(verdict(&rows), "1 of 2 bars are missed: bad (s).");
        assert_eq!(verdict(&rows[..1]), "All 1 bars that were measured are met.");
    }
}
