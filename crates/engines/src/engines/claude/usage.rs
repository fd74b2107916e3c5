//! What a run cost. Claude counts on: over the turns of a process, and in newer versions over resumed sessions too.

use serde_json::{Map, Value};

use crate::event::Detail;
use crate::json::field;

/// Names of what is counted per turn, as claude and as we say it.
const COUNTS: [(&str, &str); 4] = [
    ("input_tokens", "input_tokens"),
    ("cache_read_input_tokens", "cached_input_tokens"),
    ("cache_creation_input_tokens", "cache_creation_input_tokens"),
    ("output_tokens", "output_tokens"),
];
/// The same as `model_usage_since_last_result` has it.
const MODEL_COUNTS: [(&str, &str); 4] = [
    ("inputTokens", "input_tokens"),
    ("cacheReadInputTokens", "cached_input_tokens"),
    ("cacheCreationInputTokens", "cache_creation_input_tokens"),
    ("outputTokens", "output_tokens"),
];
const SPANS: [&str; 2] = ["duration_ms", "num_turns"];

pub struct Usage {
    /// The session went on from an earlier process, and no turn of this one has ended yet.
    resumed: bool,
    /// The last total that claude said.
    total: f64,
    /// The last time with the API that claude said; nothing where it is not known from where it counts.
    api_ms: Option<u64>,
    /// It is known what every turn of this run cost, and how long it was with the API.
    known: bool,
    api_known: bool,
    sum: Map<String, Value>,
}

impl Usage {
    pub fn new(resumed: bool) -> Self {
        Self { resumed, total: 0.0, api_ms: (!resumed).then_some(0), known: true, api_known: true, sum: Map::new() }
    }

    /// Adds the result of a turn.
    pub fn add(&mut self, line: &Value) {
        SPANS.iter().for_each(|name| self.count(name, field(line, name)));
        let since = line.get("model_usage_since_last_result").and_then(Value::as_object);
        match since {
            Some(models) => {
                let each =
                    || models.values().flat_map(|model| MODEL_COUNTS.map(|(name, ours)| (ours, field(model, name))));
                each().for_each(|(ours, value)| self.count(ours, value));
            }
            None => COUNTS.iter().for_each(|(name, ours)| self.count(ours, field(field(line, "usage"), name))),
        }
        self.api_time(line);
        self.cost(line, since);
    }

    fn api_time(&mut self, line: &Value) {
        let Some(now) = field(line, "duration_api_ms").as_u64() else { return };
        let before = self.api_ms.replace(now);
        self.api_known &= before.is_some();
        let spent = now.checked_sub(before.unwrap_or(now)).unwrap_or(now);
        self.count("duration_api_ms", &Value::from(spent));
    }

    fn cost(&mut self, line: &Value, since: Option<&Map<String, Value>>) {
        let Some(total) = field(line, "total_cost_usd").as_f64() else { return };
        let before = self.total;
        // A result without any count says nothing about it.
        self.total = if total > 0.0 { total } else { before };
        let resumed = std::mem::replace(&mut self.resumed, false);
        let cost = match since {
            Some(models) => models.values().filter_map(|model| field(model, "costUSD").as_f64()).sum(),
            // It may hold what was spent before this process; then nobody can tell what this turn cost.
            None if resumed && counts_on(line) => {
                self.known = false;
                0.0
            }
            // Less than before: the count began anew.
            None if total < before => total,
            None => total - before,
        };
        self.count("total_cost_usd", &Value::from(cost));
    }

    fn count(&mut self, name: &str, value: &Value) {
        let before = self.sum.get(name).cloned().unwrap_or(Value::Null);
        let sum = match (before.as_u64().or(before.is_null().then_some(0)), value.as_u64(), value.as_f64()) {
            (Some(before), Some(more), _) => Value::from(before + more),
            (_, _, Some(more)) => {
                let sum = before.as_f64().unwrap_or(0.0) + more;
                Value::from((sum * 1e9).round() / 1e9)
            }
            _ => return,
        };
        self.sum.insert(name.to_owned(), sum);
    }

    /// All that this run used. What it cost is left out where it cannot be known; what the session cost is said instead.
    pub fn take(&mut self) -> Detail {
        let mut sum = std::mem::take(&mut self.sum);
        if !std::mem::replace(&mut self.api_known, true) {
            sum.remove("duration_api_ms");
        }
        if !std::mem::replace(&mut self.known, true) {
            sum.remove("total_cost_usd");
            sum.insert("session_cost_usd".to_owned(), Value::from(self.total));
        }
        sum
    }
}

/// Whether the totals hold more than the turn that just ended.
fn counts_on(line: &Value) -> bool {
    let models = field(line, "modelUsage").as_object();
    let total = |name: &str| models.map(|models| models.values().filter_map(|model| field(model, name).as_u64()).sum());
    let turn = |name: &str| field(field(line, "usage"), name).as_u64().unwrap_or(0);
    MODEL_COUNTS.iter().zip(COUNTS).any(|((name, _), (turns, _))| total(name).is_some_and(|sum: u64| sum > turn(turns)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(total: f64, all: u64, turn: u64) -> Value {
        json!({"total_cost_usd": total, "num_turns": 1, "usage": {"input_tokens": turn}, "modelUsage": {"m": {"inputTokens": all}}})
    }

    #[test]
    fn a_run_costs_what_its_own_turns_cost_however_long_the_process_lives() {
        let mut usage = Usage::new(false);
        usage.add(&result(0.01, 5, 5));
        assert_eq!(
            usage.take(),
            *json!({"num_turns": 1, "input_tokens": 5, "total_cost_usd": 0.01}).as_object().unwrap()
        );
        usage.add(&result(0.03, 10, 5));
        usage.add(&result(0.07, 15, 5));
        assert_eq!(
            usage.take(),
            *json!({"num_turns": 2, "input_tokens": 10, "total_cost_usd": 0.06}).as_object().unwrap()
        );
        usage.add(&result(0.02, 5, 5));
        assert_eq!(usage.take()["total_cost_usd"], 0.02, "the count began anew");
    }

    #[test]
    fn after_a_resume_a_total_that_counts_on_is_not_the_cost_of_the_run() {
        let mut usage = Usage::new(true);
        usage.add(&result(0.05, 25, 5));
        let first = usage.take();
        assert_eq!((first.get("total_cost_usd"), &first["session_cost_usd"]), (None, &json!(0.05)));
        usage.add(&result(0.06, 30, 5));
        assert_eq!(usage.take()["total_cost_usd"], 0.01);
        let mut anew = Usage::new(true);
        anew.add(&result(0.01, 5, 5));
        assert_eq!(anew.take()["total_cost_usd"], 0.01, "this version begins anew with every process");
    }
}
