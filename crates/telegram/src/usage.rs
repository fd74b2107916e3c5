//! What runs have cost, counted per engine: today, and since the beginning.

use std::collections::BTreeMap;

use folkmoot_engines::event::Detail;
use serde::{Deserialize, Serialize};

use crate::journal::{JournalError, Rows};

const TOTAL: &str = "usage:total";

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sum {
    pub runs: u64,
    pub input: u64,
    pub output: u64,
    pub cost: f64,
}

impl Sum {
    fn add(&mut self, used: &Detail) {
        let number = |key: &str| used.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0);
        self.runs += 1;
        self.input += number("input_tokens");
        self.output += number("output_tokens");
        self.cost += used.get("total_cost_usd").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
    }

    fn words(&self) -> String {
        let cost = if self.cost > 0.0 { format!(", ${:.2}", self.cost) } else { String::new() };
        let runs = if self.runs == 1 { "run" } else { "runs" };
        format!("{} {runs}, {} tokens in, {} out{cost}", self.runs, self.input, self.output)
    }
}

type Sums = BTreeMap<String, Sum>;

fn of_day(now: i64) -> String {
    format!("usage:day:{}", now.div_euclid(86_400))
}

fn read(rows: &Rows<'_>, name: &str) -> Result<Sums, JournalError> {
    Ok(rows.value(name)?.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Adds one run.
pub fn count(rows: &mut Rows<'_>, engine: &str, used: &Detail, now: i64) -> Result<(), JournalError> {
    for name in [TOTAL.to_owned(), of_day(now)] {
        let mut sums = read(rows, &name)?;
        sums.entry(engine.to_owned()).or_default().add(used);
        rows.set_value(&name, &serde_json::to_string(&sums)?)?;
    }
    Ok(())
}

/// The sums in words.
pub fn report(rows: &Rows<'_>, now: i64) -> Result<String, JournalError> {
    let part = |title: &str, sums: &Sums| {
        let lines: Vec<String> = sums.iter().map(|(engine, sum)| format!("{engine}: {}", sum.words())).collect();
        format!("**{title}**  \n{}", if lines.is_empty() { "nothing".to_owned() } else { lines.join("  \n") })
    };
    let (today, total) = (read(rows, &of_day(now))?, read(rows, TOTAL)?);
    Ok(format!("{}\n\n{}", part("today (UTC)", &today), part("altogether", &total)))
}
