//! What came of a suite: rows, and the same as JUnit XML for build servers.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::case::Case;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    Failed(String),
    NotRun(String),
}

/// One case and what came of it.
#[derive(Clone, Debug)]
pub struct Row {
    pub id: &'static str,
    pub section: &'static str,
    pub rule: &'static str,
    pub outcome: Outcome,
    pub took: Duration,
}

/// How something is meant, for whoever has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hue {
    Good,
    Bad,
    Open,
    Aside,
}

impl Row {
    /// The case as a line of the table, and why not below it.
    pub fn line(&self, paint: impl Fn(Hue, &str) -> String) -> String {
        let (mark, why) = match &self.outcome {
            Outcome::Passed => (paint(Hue::Good, "passed "), String::new()),
            Outcome::Failed(what) => (paint(Hue::Bad, "FAILED "), format!("\n               {what}")),
            Outcome::NotRun(why) => {
                (paint(Hue::Open, "not run"), format!("\n               {}", paint(Hue::Aside, why)))
            }
        };
        format!("{mark}  {:5} {}: {}{why}", self.id, paint(Hue::Aside, self.section), self.rule)
    }

    fn json(&self) -> Value {
        let (outcome, why) = match &self.outcome {
            Outcome::Passed => ("passed", None),
            Outcome::Failed(what) => ("failed", Some(what)),
            Outcome::NotRun(why) => ("not_run", Some(why)),
        };
        let seconds = self.took.as_secs_f64();
        json!({
            "case": self.id, "section": self.section, "rule": self.rule, "outcome": outcome, "why": why,
            "seconds": seconds,
        })
    }
}

#[derive(Clone, Debug)]
pub struct Report {
    pub suite: String,
    pub rows: Vec<Row>,
}

impl Report {
    pub fn passed(&self) -> usize {
        self.rows.iter().filter(|row| row.outcome == Outcome::Passed).count()
    }

    pub fn failed(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| matches!(row.outcome, Outcome::Failed(_))).collect()
    }

    /// All of it in one line.
    pub fn sentence(&self, paint: impl Fn(Hue, &str) -> String) -> String {
        let (passed, failed, not_run) = (self.passed(), self.failed().len(), self.not_run().len());
        let hue = if failed == 0 { Hue::Good } else { Hue::Bad };
        paint(hue, &format!("{}: {passed} passed, {failed} failed, {not_run} not run", self.suite))
    }

    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(Row::json).collect();
        let (passed, failed, not_run) = (self.passed(), self.failed().len(), self.not_run().len());
        json!({ "suite": self.suite, "passed": passed, "failed": failed, "not_run": not_run, "cases": rows })
    }

    pub fn not_run(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| matches!(row.outcome, Outcome::NotRun(_))).collect()
    }
}

/// The table of `conformance/SUITE.md`.
pub fn table<S>(cases: &[Case<S>]) -> String {
    let mut table = "| case | section | rule |\n|---|---|---|\n".to_owned();
    for case in cases {
        let _ = writeln!(table, "| {} | {} | {} |", case.id, case.section, case.rule);
    }
    table
}

/// The report in the form that build servers read.
pub fn junit(report: &Report) -> String {
    let seconds = |took: Duration| format!("{:.3}", took.as_secs_f64());
    let took: Duration = report.rows.iter().map(|row| row.took).sum();
    let (failures, skipped) = (report.failed().len(), report.not_run().len());
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(
        xml,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"{}\">",
        escaped(&report.suite),
        report.rows.len(),
        seconds(took)
    );
    for row in &report.rows {
        let name = escaped(&format!("{} {}", row.id, row.rule));
        let class = escaped(&format!("{}.{}", report.suite, row.section));
        let _ = write!(xml, "  <testcase classname=\"{class}\" name=\"{name}\" time=\"{}\"", seconds(row.took));
        let _ = match &row.outcome {
            Outcome::Passed => writeln!(xml, "/>"),
            Outcome::Failed(what) => writeln!(xml, "><failure message=\"{}\"/></testcase>", escaped(what)),
            Outcome::NotRun(why) => writeln!(xml, "><skipped message=\"{}\"/></testcase>", escaped(why)),
        };
    }
    xml + "</testsuite>\n"
}

/// Text for an attribute. What XML has no way to say is shown as a replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junit_counts_and_escapes() {
        let row =
            |outcome| Row { id: "1.1", section: "A & B", rule: "x < y", outcome, took: Duration::from_millis(1500) };
        let rows = vec![
            row(Outcome::Passed),
            row(Outcome::Failed("said \"no\"\u{1b}\n".to_owned())),
            row(Outcome::NotRun("needs --x".to_owned())),
        ];
        let xml = junit(&Report { suite: "lark".to_owned(), rows });
        assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"4.500\""), "{xml}");
        assert!(xml.contains("<failure message=\"said &quot;no&quot;\u{fffd}&#10;\"/>"), "{xml}");
        assert!(xml.contains("classname=\"lark.A &amp; B\" name=\"1.1 x &lt; y\""), "{xml}");
        assert_eq!(xml.matches("</testcase>").count(), 2);
    }
}
