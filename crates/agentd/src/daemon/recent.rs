//! What a run did lately, for a hub that dies before it has read it: frames on their way are lost with their connection.

use std::collections::VecDeque;

use folkmoot_wire::lark::{Carried, RunActionReport};

/// More than a connection can hold on both sides; what is older than that has arrived.
const MAX_BYTES: usize = 8 << 20;

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
    request: Action,
}

type Action = Carried<RunActionReport>;

impl Recent {
    pub fn keep(&mut self, id: &str, request: Action) {
        // Where it is not found so near, both are kept, and the newer one still comes later.
        let near = self.actions.len().saturating_sub(NEAR);
        if let Some(at) = self.actions.range(near..).position(|kept| kept.id == id).map(|at| near + at)
            && let Some(old) = self.actions.remove(at)
        {
            self.bytes -= old.bytes;
        }
        let bytes = bytes_of(&request);
        self.bytes += bytes;
        self.actions.push_back(Kept { id: id.to_owned(), bytes, request });
        while self.bytes > MAX_BYTES
            && let Some(old) = self.actions.pop_front()
        {
            self.bytes -= old.bytes;
        }
    }

    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.actions.iter().map(|kept| &kept.request)
    }
}

fn bytes_of(request: &Action) -> usize {
    serde_json::to_string(request).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests {
    use folkmoot_wire::lark::ActionPhase;
    use serde_json::value::to_raw_value;

    use super::*;

    fn action(id: &str, phase: ActionPhase, detail: &str) -> Action {
        let (run_id, kind, title) = ("run_1".into(), "command".to_owned(), String::new());
        let detail = to_raw_value(detail).ok();
        let request = RunActionReport { run_id, id: id.to_owned(), kind, title, phase, ok: None, detail };
        Carried { agent_id: "mem_1".into(), request }
    }

    #[test]
    fn the_newest_event_of_each_action_is_kept_in_order() {
        let mut recent = Recent::default();
        let (started, completed) = (ActionPhase::Started, ActionPhase::Completed);
        for (id, phase) in [("a", started), ("b", started), ("a", completed)] {
            recent.keep(id, action(id, phase, ""));
        }
        let kept: Vec<_> = recent.actions().map(|kept| (kept.request.id.as_str(), kept.request.phase)).collect();
        assert_eq!(kept, [("b", started), ("a", completed)]);
    }

    #[test]
    fn a_long_run_keeps_only_what_may_be_on_its_way() {
        let mut recent = Recent::default();
        let detail = "x".repeat(16 << 10);
        for number in 0..2000 {
            recent.keep(&number.to_string(), action("a", ActionPhase::Started, &detail));
        }
        assert!(recent.bytes <= MAX_BYTES && recent.actions().count() > 400);
        assert_eq!(recent.bytes, recent.actions().map(bytes_of).sum::<usize>());
    }
}
