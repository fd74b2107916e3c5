//! What claude was given and what it is done with. One process ends many turns: for words that came while it answered,
//! and for subagents and commands in the background. A run ends when nothing of all this is left.

use std::collections::HashSet;
use std::time::Duration;

use super::wire::{Outcome, Task, TaskNews};

/// How long claude may take to begin the next turn, when it has not said that there is one.
const NEXT_TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// The same, when it says that it is at work; sooner or later it says that it is not.
const AT_WORK_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Turns {
    /// The words of this run, the prompt first.
    given: Vec<Given>,
    /// Whether it has nothing to do; nothing where it does not say.
    idle: Option<bool>,
    /// A turn has begun and has no result yet.
    busy: bool,
    /// Something in the background is done, and a turn about it comes.
    owed: bool,
    tasks: Vec<Running>,
    /// This run has begun something in the background.
    has_background: bool,
    /// What nobody waits for any more, by its own number and that of its run.
    given_up: HashSet<String>,
    patience: Duration,
    /// Somebody wants the end.
    hurry: bool,
}

struct Given {
    uuid: String,
    words: String,
    taken: bool,
}

/// Something that goes on beside the turns.
pub struct Running {
    pub id: String,
    pub kind: String,
    pub description: String,
    run: String,
    /// People were told that it goes on.
    pub told: bool,
    foreground: bool,
}

/// What a run with an answer still waits for.
#[derive(Debug, PartialEq, Eq)]
pub enum Wait {
    Over,
    /// A turn, which takes as long as it takes.
    Turn,
    /// Something that may never come.
    AtMost(Duration),
}

impl Turns {
    pub fn new(patience: Duration) -> Self {
        let (given, tasks, given_up) = (Vec::new(), Vec::new(), HashSet::new());
        Self {
            given,
            idle: None,
            busy: false,
            owed: false,
            tasks,
            has_background: false,
            given_up,
            patience,
            hurry: false,
        }
    }

    /// A new run: whatever the last one left behind is not waited for.
    pub fn prompt(&mut self, uuid: &str, words: &str) {
        self.given.clear();
        self.give_up();
        self.owed = false;
        self.hurry = false;
        self.has_background = false;
        self.give(uuid, words);
    }

    pub fn give(&mut self, uuid: &str, words: &str) {
        self.given.push(Given { uuid: uuid.to_owned(), words: words.to_owned(), taken: false });
    }

    pub fn taken(&mut self, uuid: &str) {
        if let Some(given) = self.given.iter_mut().find(|given| given.uuid == uuid) {
            given.taken = true;
        }
    }

    /// Words that will never be taken up.
    pub fn dropped(&mut self, uuid: &str) -> Option<String> {
        let at = self.given.iter().position(|given| given.uuid == uuid && !given.taken)?;
        self.given[at].taken = true;
        Some(self.given[at].words.clone())
    }

    pub fn state(&mut self, idle: bool) {
        self.idle = Some(idle);
        // Busy again, or done with what was owed.
        self.owed = false;
        self.busy &= !idle;
    }

    pub fn begun(&mut self) {
        self.busy = true;
        self.owed = false;
    }

    /// The end of a turn. `false`: it is none of this run's; it answers what the last one left behind.
    pub fn ended(&mut self, outcome: &Outcome<'_>) -> bool {
        self.busy = false;
        self.owed = false;
        let Some(prompt) = self.given.first() else { return true };
        let ours = |uuid: &str| self.given.iter().any(|given| given.uuid == uuid);
        let answers = || outcome.answers.iter().filter_map(|uuid| uuid.as_str());
        let foreign = answers().next().is_some() && !answers().any(ours);
        // Nobody said anything: it is about the background, and perhaps about that of another run.
        let unasked = outcome.origin.is_some();
        let given_up = outcome.origin_run.is_some_and(|run| self.given_up.contains(run));
        if foreign || (unasked && (given_up || !self.has_background || !prompt.taken)) {
            return false;
        }
        answers().for_each(|uuid| self.taken(uuid));
        // Older programs do not say that they took up a command such as `/cost`.
        self.given[0].taken = true;
        true
    }

    /// Follows what is in the background; returns what ended, if people were told of it.
    pub fn task(&mut self, news: &TaskNews<'_>) -> Option<Running> {
        match news {
            TaskNews::Started(task) => self.started(task),
            TaskNews::Background(tasks) => {
                self.tasks.retain(|known| known.foreground || tasks.iter().any(|task| task.id == known.id));
                tasks.iter().for_each(|task| self.started(task));
            }
            TaskNews::Ended { id, status } => {
                let at = self.tasks.iter().position(|task| task.id == *id)?;
                let task = self.tasks.remove(at);
                // Claude says something about what ended by itself. When it is at work, it may do so in the same turn, and
                // says itself when there is no other.
                self.owed |= matches!(*status, "completed" | "failed") && !self.busy;
                return Some(task).filter(|task| task.told);
            }
        }
        None
    }

    fn started(&mut self, task: &Task<'_>) {
        if self.given_up.contains(task.id) || self.tasks.iter().any(|known| known.id == task.id) {
            return;
        }
        self.has_background = true;
        let [id, run, kind, description] = [task.id, task.run, task.kind, task.description].map(str::to_owned);
        self.tasks.push(Running { id, run, kind, description, told: false, foreground: task.foreground });
    }

    pub fn running(&mut self) -> &mut [Running] {
        &mut self.tasks
    }

    /// Nobody waits for what is in the background; returns what that is.
    pub fn give_up(&mut self) -> Vec<Running> {
        let tasks = std::mem::take(&mut self.tasks);
        self.given_up.extend(tasks.iter().flat_map(|task| [task.id.clone(), task.run.clone()]));
        tasks
    }

    /// Words that it did not take up, although it is not done.
    pub fn untaken(&self) -> Vec<&str> {
        let lost = self.given.iter().filter(|given| !given.taken && self.idle != Some(true));
        lost.map(|given| given.words.as_str()).collect()
    }

    /// Whatever is in the background is not waited for much longer.
    pub fn hurry(&mut self) {
        self.hurry = true;
    }

    pub fn is_busy(&self) -> bool {
        self.busy
    }

    pub fn wait(&self) -> Wait {
        if self.busy {
            Wait::Turn
        } else if !self.tasks.is_empty() {
            Wait::AtMost(if self.hurry { NEXT_TURN_TIMEOUT } else { self.patience })
        } else if self.idle == Some(false) {
            Wait::AtMost(AT_WORK_TIMEOUT)
        } else if self.owed || self.given.iter().any(|given| !given.taken) {
            Wait::AtMost(NEXT_TURN_TIMEOUT)
        } else {
            Wait::Over
        }
    }
}
