//! What a run spends: the app server counts a whole conversation, so what was spent before is taken off.

use serde_json::Value;

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

    /// The sum of what threads spent; nothing when none did.
    pub fn all(threads: impl Iterator<Item = Self>) -> Detail {
        let spent = threads.filter_map(|thread| Some((thread.now, thread.before?)));
        let each = spent.map(|(now, before)| std::array::from_fn(|at| now[at] - before[at]));
        let sum = each.reduce(|sum: [i64; 4], thread| std::array::from_fn(|at| sum[at] + thread[at]));
        let Some(sum) = sum else { return Detail::new() };
        NAMES.iter().zip(sum).map(|((_, name), count)| ((*name).to_owned(), count.into())).collect()
    }
}
