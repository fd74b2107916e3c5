//! What a run spends: the app server counts a whole conversation, so what was spent before is taken off.

use serde_json::{Value, json};

use super::translate::usage_of;
use crate::event::Detail;
use crate::json::{field, whole};

const NAMES: [(&str, &str); 4] = [
    ("inputTokens", "input_tokens"),
    ("cachedInputTokens", "cached_input_tokens"),
    ("outputTokens", "output_tokens"),
    ("reasoningOutputTokens", "reasoning_output_tokens"),
];

#[derive(Default)]
pub struct Spent {
    /// The count before the first call of this run.
    before: Option<[i64; 4]>,
    now: [i64; 4],
}

impl Spent {
    /// `total` is all calls of the conversation, `last` the newest one; the same may be said more than once.
    pub fn note(&mut self, usage: &Value) {
        let of = |part: &str| NAMES.map(|(name, _)| whole(field(usage, part), name).unwrap_or(0));
        let (total, last) = (of("total"), of("last"));
        self.before.get_or_insert(std::array::from_fn(|at| total[at] - last[at]));
        self.now = total;
    }

    pub fn usage(&self) -> Detail {
        let Some(before) = self.before else { return Detail::new() };
        let counts =
            NAMES.iter().enumerate().map(|(at, (_, name))| ((*name).to_owned(), json!(self.now[at] - before[at])));
        usage_of(&Value::Object(counts.collect()))
    }
}
