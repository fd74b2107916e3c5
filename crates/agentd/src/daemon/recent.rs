//! What a run did lately, for a hub that dies before it has read it: frames on their way are lost with their connection.

use std::collections::VecDeque;

use serde_json::Value;

/// More than a connection can hold on both sides; what is older than that has arrived.
const MOST_BYTES: usize = 8 << 20;

/// How far back an earlier event of the same action is looked for.
const NEAR: usize = 256;

/// The newest event of each of the last actions, oldest first.
#[derive(Default)]
pub(crate) struct Recent {
    actions: VecDeque<Kept>,
    bytes: usize,
}

struct Kept {
    id: String,
    bytes: usize,
    data: Value,
}

impl Recent {
    pub fn keep(&mut self, id: &str, data: Value) {
        // Where it is not found so near, both are kept, and the newer one still comes later.
        let near = self.actions.len().saturating_sub(NEAR);
        if let Some(at) = self.actions.range(near..).position(|kept| kept.id == id).map(|at| near + at)
            && let Some(old) = self.actions.remove(at)
        {
            self.bytes -= old.bytes;
        }
        let bytes = data.to_string().len();
        self.bytes += bytes;
        self.actions.push_back(Kept { id: id.to_owned(), bytes, data });
        while self.bytes > MOST_BYTES
            && let Some(old) = self.actions.pop_front()
        {
            self.bytes -= old.bytes;
        }
    }

    pub fn actions(&self) -> impl Iterator<Item = &Value> {
        self.actions.iter().map(|kept| &kept.data)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_event_of_each_action_is_kept_in_order() {
        let mut recent = Recent::default();
        for (id, phase) in [("a", "started"), ("b", "started"), ("a", "completed")] {
            recent.keep(id, json!({"id": id, "phase": phase}));
        }
        let kept: Vec<_> = recent.actions().cloned().collect();
        assert_eq!(kept, [json!({"id": "b", "phase": "started"}), json!({"id": "a", "phase": "completed"})]);
    }

    #[test]
    fn a_long_run_keeps_only_what_may_be_on_its_way() {
        let mut recent = Recent::default();
        let detail = "x".repeat(16 << 10);
        for number in 0..2000 {
            recent.keep(&number.to_string(), json!({"detail": detail}));
        }
        assert!(recent.bytes <= MOST_BYTES && recent.actions().count() > 400);
        assert_eq!(recent.bytes, recent.actions().map(|data| data.to_string().len()).sum::<usize>());
    }
}
