//! What an engine says and thinks while it works, told calmly: one note per block of text, now and then, with the end of
//! the block, because that is what is new. The whole is the answer's business.

use std::time::Duration;

use tokio::time::Instant;

use folkmoot_engines::engine::Piece;
use folkmoot_engines::event::{ActionEvent, ActionKind, EngineEvent, EngineId, Phase};

/// The least time between two notes, and how long a block may take that needs none.
pub const PACE: Duration = Duration::from_millis(500);
/// How much of a block a note shows.
const MAX_SHOWN_CHARS: usize = 280;
/// How much of a block is kept, for whoever unfolds it.
const MAX_KEPT_BYTES: usize = 4000;

pub struct Speech {
    engine: EngineId,
    /// How many blocks were shown.
    shown: usize,
    block: Option<Block>,
    /// The last block that was shown.
    last: Option<Block>,
    /// When the block is shown next, if it has anything new.
    due: Option<Instant>,
    told_at: Option<Instant>,
}

struct Block {
    thought: bool,
    text: String,
    cut: bool,
    id: Option<String>,
}

impl Speech {
    pub fn new(engine: EngineId) -> Self {
        Self { engine, shown: 0, block: None, last: None, due: None, told_at: None }
    }

    /// When to call [`Speech::tell`].
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Takes a piece up; says so when it ends a block that people have seen.
    pub fn take(&mut self, piece: Piece, now: Instant) -> Option<EngineEvent> {
        let (thought, text) = match piece {
            Piece::Break => return self.close(),
            Piece::Answer(text) => (false, text),
            Piece::Thought(text) => (true, text),
        };
        let other = self.block.as_ref().is_some_and(|block| block.thought != thought);
        let closed = if other { self.close() } else { None };
        let earliest = match &self.block {
            // What is complete in a moment is not worth a note.
            None => now + PACE,
            Some(_) => self.told_at.map_or(now, |at| at + PACE),
        };
        let block = self.block.get_or_insert_with(|| Block { thought, text: String::new(), cut: false, id: None });
        block.push(&text);
        self.due = self.due.or(Some(earliest));
        closed
    }

    /// The note that is due, if one is.
    pub fn tell(&mut self, now: Instant) -> Option<EngineEvent> {
        self.due.take_if(|due| *due <= now)?;
        let block = self.block.as_mut().filter(|block| !block.text.trim().is_empty())?;
        if block.id.is_none() {
            self.shown += 1;
            block.id = Some(EngineEvent::saying_id(&self.engine, self.shown));
        }
        self.told_at = Some(now);
        block.event(&self.engine, Phase::Updated)
    }

    /// What was said is said.
    pub fn close(&mut self) -> Option<EngineEvent> {
        self.due = None;
        let block = self.block.take()?;
        let event = block.event(&self.engine, Phase::Completed);
        self.last = Some(block).filter(|block| block.id.is_some());
        event
    }

    /// An engine's own note of what it just said is the end of that block, not a second one beside it.
    pub fn adopt(&mut self, event: &mut ActionEvent) {
        if event.action.kind != ActionKind::Note || event.phase != Phase::Completed {
            return;
        }
        let is_it = |text: &str| one_line(&event.action.title).ends_with(&one_line(text));
        if self.block.as_ref().is_some_and(|block| is_it(&block.text)) {
            self.close();
        }
        let Some(block) = self.last.take_if(|block| is_it(&block.text)) else { return };
        if block.thought {
            let whole = std::mem::replace(&mut event.action.title, block.title().0);
            event.action.detail.entry("text").or_insert(whole.into());
        }
        event.action.id = block.id.unwrap_or_default();
    }
}

impl Block {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        // Not at every piece, so that each byte is moved at most once or twice.
        if self.text.len() > 2 * MAX_KEPT_BYTES {
            let from = self.text.ceil_char_boundary(self.text.len() - MAX_KEPT_BYTES);
            self.text.drain(..from);
            self.cut = true;
        }
    }

    /// The end of the block on one line, and whether that is not all of it.
    fn title(&self) -> (String, bool) {
        let line = one_line(&self.text);
        let over = line.chars().count().saturating_sub(MAX_SHOWN_CHARS);
        let cut = over > 0 || self.cut;
        let what = if self.thought { "thinking: " } else { "" };
        let end = line.chars().skip(over);
        (what.chars().chain(cut.then_some('…')).chain(end).collect(), cut)
    }

    /// Nothing before the first note: it has no id then.
    fn event(&self, engine: &EngineId, phase: Phase) -> Option<EngineEvent> {
        let (title, cut) = self.title();
        let text = (cut && phase == Phase::Completed).then(|| self.text.clone());
        Some(EngineEvent::saying(engine, self.id.clone()?, title, text, phase))
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use folkmoot_engines::event::Action;

    const ENGINE: EngineId = EngineId::new("codex");

    /// Plays pieces with the time in milliseconds at which they come, asking for what is due in between.
    fn play(pieces: &[(u64, Piece)]) -> Vec<(u64, EngineEvent)> {
        let begun = Instant::now();
        let mut speech = Speech::new(ENGINE);
        let mut told = Vec::new();
        let mut now = 0;
        for (at, piece) in pieces {
            while let Some(due) = speech.due().map(|due| (due - begun).as_millis() as u64).filter(|due| due <= at) {
                now = now.max(due);
                told.extend(speech.tell(begun + Duration::from_millis(now)).map(|event| (now, event)));
            }
            now = *at;
            let at = begun + Duration::from_millis(now);
            told.extend(speech.take(piece.clone(), at).map(|event| (now, event)));
        }
        told
    }

    fn answer(text: &str) -> Piece {
        Piece::Answer(text.to_owned())
    }

    fn action(event: &EngineEvent) -> &ActionEvent {
        let EngineEvent::Action(action) = event else { panic!("{event:?}") };
        action
    }

    #[test]
    fn an_answer_that_completes_at_once_is_no_news() {
        assert!(play(&[(0, answer("Hel")), (10, answer("lo.")), (499, Piece::Break)]).is_empty());
        assert!(play(&[(0, answer("\n")), (600, answer(" ")), (2000, Piece::Break)]).is_empty());
    }

    #[test]
    fn a_block_is_one_note_that_is_told_at_most_every_half_second_and_ends() {
        let mut pieces: Vec<(u64, Piece)> = (0..3000).map(|at| (at, answer("word "))).collect();
        pieces.push((3000, Piece::Break));
        let told = play(&pieces);
        assert_eq!(told.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [500, 1000, 1500, 2000, 2500, 3000, 3000]);
        let actions: Vec<&ActionEvent> = told.iter().map(|(_, event)| action(event)).collect();
        assert!(actions.iter().all(|event| event.action.id == actions[0].action.id && event.is_saying()));
        assert_eq!(actions.last().unwrap().phase, Phase::Completed);
        assert!(actions[..6].iter().all(|event| event.phase == Phase::Updated));
    }

    #[test]
    fn a_note_is_small_however_long_the_block_and_shows_its_end() {
        let pieces: Vec<(u64, Piece)> = (0..40_000).map(|at| (at, answer(&format!("ü{at} ")))).collect();
        let told = play(&pieces);
        assert!(told.len() <= 80);
        for (at, event) in &told {
            let title = &action(event).action.title;
            assert!(title.chars().count() <= MAX_SHOWN_CHARS + 1 && event.to_line().len() < 1000);
            // The piece of this very moment comes after the note.
            assert!(title.ends_with(&format!("ü{}", at - 1)), "{title}");
        }
    }

    #[test]
    fn thinking_is_named_and_what_does_not_fit_can_be_unfolded() {
        let long = "so it is ".repeat(100);
        let told = play(&[(0, Piece::Thought(long.clone())), (600, answer("Yes.")), (700, Piece::Break)]);
        let actions: Vec<&ActionEvent> = told.iter().map(|(_, event)| action(event)).collect();
        assert_eq!(actions.len(), 2, "the answer came at once: {actions:?}");
        assert!(actions[0].action.title.starts_with("thinking: …") && actions[0].action.detail.is_empty());
        assert_eq!(actions[1].action.detail["text"], long);
    }

    #[test]
    fn what_an_engine_says_in_blocks_has_one_id_per_block() {
        let told =
            play(&[(0, answer("I will run it.")), (600, Piece::Break), (700, answer("Done.")), (1300, Piece::Break)]);
        let ids: Vec<&str> = told.iter().map(|(_, event)| action(event).action.id.as_str()).collect();
        assert_eq!(ids, ["codex.saying.1", "codex.saying.1", "codex.saying.2", "codex.saying.2"]);
    }

    #[test]
    fn an_engines_own_note_of_what_it_said_takes_the_place_of_ours() {
        let note = |title: &str| ActionEvent {
            engine: ENGINE,
            action: Action::new("item_1", ActionKind::Note, title),
            phase: Phase::Completed,
            ok: Some(true),
            message: None,
            level: None,
        };
        for breaks in [false, true] {
            let (mut speech, begun) = (Speech::new(ENGINE), Instant::now());
            speech.take(Piece::Thought("Let me\nsee.".into()), begun);
            assert!(speech.tell(begun + PACE).is_some());
            if breaks {
                assert!(speech.take(Piece::Break, begun + PACE).is_some());
            }
            let (mut other, mut same) = (note("update todos"), note("Let me see."));
            speech.adopt(&mut other);
            speech.adopt(&mut same);
            assert_eq!((other.action.id.as_str(), same.action.id.as_str()), ("item_1", "codex.saying.1"));
            assert_eq!(
                (same.action.title.as_str(), &same.action.detail["text"]),
                ("thinking: Let me see.", &"Let me see.".into())
            );
            assert!(speech.close().is_none() && speech.due().is_none());
        }
    }
}
