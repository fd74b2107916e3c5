//! Lines of an engine that nobody here knows: kept as a note, once per kind of line, and counted.

use std::collections::BTreeSet;
use std::sync::Arc;

use folkmoot_engines::event::{Action, ActionEvent, ActionKind, EngineEvent, EngineId, Level, Phase};
use folkmoot_engines::json::shortened;

/// How many kinds of unknown lines one run shows; the engine makes up their names.
const MAX_KINDS: usize = 20;
const MAX_NAME_CHARS: usize = 80;

/// Told of every unknown line, with the engine that wrote it.
pub type Counter = Arc<dyn Fn(&EngineId) + Send + Sync>;

pub struct Unknown {
    engine: EngineId,
    kinds: BTreeSet<String>,
    counter: Option<Counter>,
}

impl Unknown {
    pub fn new(engine: EngineId, counter: Option<Counter>) -> Self {
        Self { engine, kinds: BTreeSet::new(), counter }
    }

    /// Counts a line; the note, when it is the first of its kind.
    pub fn take(&mut self, name: &str) -> Option<EngineEvent> {
        if let Some(count) = &self.counter {
            count(&self.engine);
        }
        let name = shortened(&name.replace(char::is_control, " "), MAX_NAME_CHARS);
        if self.kinds.len() == MAX_KINDS || !self.kinds.insert(name.clone()) {
            return None;
        }
        let id = format!("{}.unknown.{}", self.engine, self.kinds.len());
        let title = format!("{} wrote a line of a kind that is not known here: {name}", self.engine);
        Some(EngineEvent::Action(ActionEvent {
            engine: self.engine.clone(),
            action: Action::new(id, ActionKind::Note, title),
            phase: Phase::Completed,
            ok: Some(true),
            message: None,
            // For those who look closely; there is nothing that anybody could do about it.
            level: Some(Level::Debug),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn an_unknown_line_is_noted_once_per_kind_and_counted_every_time() {
        let counted = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&counted);
        let count: Counter = Arc::new(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        let mut unknown = Unknown::new(EngineId::new("pi"), Some(count));
        let noted: Vec<EngineEvent> =
            ["dance", "dance", "sing\u{1b}[31m"].iter().filter_map(|name| unknown.take(name)).collect();
        let titles: Vec<&str> = noted
            .iter()
            .map(|event| if let EngineEvent::Action(event) = event { event.action.title.as_str() } else { "" })
            .collect();
        assert!(titles[0].ends_with(": dance") && titles[1].ends_with(": sing [31m"), "{titles:?}");
        assert_eq!((noted.len(), counted.load(Ordering::SeqCst)), (2, 3));
    }

    #[test]
    fn an_engine_that_makes_up_names_does_not_flood_the_run() {
        let mut unknown = Unknown::new(EngineId::new("pi"), None);
        let noted: Vec<EngineEvent> =
            (0..1000).filter_map(|number| unknown.take(&format!("{number}{}", "x".repeat(9000)))).collect();
        assert_eq!(noted.len(), MAX_KINDS);
        assert!(noted.iter().all(|event| event.to_line().len() < 500));
    }
}
