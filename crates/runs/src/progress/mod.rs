//! What people see of a run: a state machine over events, shown for a terminal or as Markdown.
//!
//! It does no I/O and knows no clock; the time since the start comes with each call.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use folkmoot_engines::event::{
    Action, ActionEvent, ActionKind, Ask, Completed, Detail, EngineEvent, EngineId, Level, Phase, ResumeToken,
};
use folkmoot_engines::json::{shortened, text};

pub mod markdown;
pub mod terminal;
#[cfg(test)]
mod tests;

/// How many actions are shown.
pub const SHOWN: usize = 5;
/// The longest title of an action.
const MAX_TITLE: usize = 300;
/// How many running actions are remembered beyond those.
const MAX_SCROLLED: usize = 1024;

/// A run as far as it is known.
#[derive(Clone, Debug)]
pub struct Progress {
    engine: EngineId,
    label: Label,
    title: Option<String>,
    resume: Option<ResumeToken>,
    resume_line: Option<String>,
    lines: VecDeque<ShownAction>,
    steps: usize,
    /// Running actions that are no longer shown.
    scrolled: HashSet<u64>,
    asks: Vec<Ask>,
    completed: Option<Completed>,
}

/// The first word of the status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    Starting,
    Working,
    Queued,
    Waiting,
    Done,
    Error,
    Cancelled,
    Stopped,
}

impl Label {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Queued => "queued",
            Self::Waiting => "waiting for an answer",
            Self::Done => "done",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Stopped => "stopped",
        }
    }
}

/// One action as people see it; all events about it end up here.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownAction {
    id: String,
    mark: Mark,
    /// Words that are on their way, which are no step.
    saying: bool,
    /// The title in Markdown, with its prefix.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Started,
    Updated,
    Good,
    Bad,
}

impl Mark {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "▸",
            Self::Updated => "↻",
            Self::Good => "✓",
            Self::Bad => "✗",
        }
    }

    pub fn is_final(self) -> bool {
        matches!(self, Self::Good | Self::Bad)
    }
}

impl ShownAction {
    pub fn mark(&self) -> Mark {
        self.mark
    }
}

impl Progress {
    pub fn new(engine: EngineId) -> Self {
        Self {
            engine,
            label: Label::Starting,
            title: None,
            resume: None,
            resume_line: None,
            lines: VecDeque::with_capacity(SHOWN + 1),
            steps: 0,
            scrolled: HashSet::new(),
            asks: Vec::new(),
            completed: None,
        }
    }

    /// Takes an event up; `true` when something that is shown has changed.
    pub fn take(&mut self, event: &EngineEvent, format_resume: impl FnOnce(&ResumeToken) -> Option<String>) -> bool {
        match event {
            EngineEvent::Started(started) => {
                self.label = Label::Working;
                self.title = started.title.clone();
                self.resume_line = format_resume(&started.resume);
                self.resume = Some(started.resume.clone());
                true
            }
            EngineEvent::Action(action) => self.take_action(action),
            EngineEvent::Asked(asked) => {
                self.asks.retain(|open| open.id != asked.ask.id);
                if !asked.ask.withdrawn {
                    self.asks.push((*asked.ask).clone());
                }
                self.label = if self.asks.is_empty() { Label::Working } else { Label::Waiting };
                true
            }
            EngineEvent::Completed(completed) => {
                self.label = match (completed.ok, completed.error.as_deref()) {
                    (true, _) => Label::Done,
                    (false, Some("cancelled")) => Label::Cancelled,
                    (false, _) => Label::Error,
                };
                if let (None, Some(token)) = (&self.resume_line, &completed.resume) {
                    self.resume_line = format_resume(token);
                    self.resume = Some(token.clone());
                }
                self.asks.clear();
                self.completed = Some(completed.clone());
                true
            }
        }
    }

    /// A question was answered here.
    pub fn answered(&mut self, ask: &str) {
        self.asks.retain(|open| open.id != ask);
        if self.asks.is_empty() && self.label == Label::Waiting {
            self.label = Label::Working;
        }
    }

    pub fn set_queued(&mut self) {
        self.label = Label::Queued;
    }

    /// Whoever drives the run went away; nobody cancelled it.
    pub fn set_stopped(&mut self) {
        self.label = Label::Stopped;
    }

    pub fn label(&self) -> Label {
        self.label
    }

    pub fn resume_line(&self) -> Option<&str> {
        self.resume_line.as_deref()
    }

    pub fn resume(&self) -> Option<&ResumeToken> {
        self.resume.as_ref()
    }

    pub fn completed(&self) -> Option<&Completed> {
        self.completed.as_ref()
    }

    /// The last actions, oldest first.
    pub fn actions(&self) -> impl ExactSizeIterator<Item = &ShownAction> {
        self.lines.iter()
    }

    /// Questions that wait for an answer.
    pub fn asks(&self) -> &[Ask] {
        &self.asks
    }

    /// How many different actions there were.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// `working · codex · 1m 05s · step 3 · 9.1k in, 400 out · $0.01`
    pub fn status_line(&self, elapsed: Duration) -> String {
        let mut line = format!("{} · {} · ", self.label.as_str(), self.engine);
        write_elapsed(&mut line, elapsed);
        if self.steps > 0 {
            line.push_str(" · step ");
            line.push_str(&self.steps.to_string());
        }
        if let Some(completed) = &self.completed {
            write_usage(&mut line, &completed.usage);
        }
        line
    }

    fn take_action(&mut self, event: &ActionEvent) -> bool {
        if is_background(event) {
            return false;
        }
        if !self.asks.is_empty() && event.phase == Phase::Completed && !event.is_saying() {
            // The engine went on, so somebody has answered.
            self.asks.clear();
        }
        if self.label == Label::Starting || (self.label == Label::Waiting && self.asks.is_empty()) {
            self.label = Label::Working;
        }
        let known = self.lines.iter_mut().rev().find(|line| line.id == event.action.id);
        let again = known.is_some();
        let mark = match (event.phase, event.ok) {
            (Phase::Completed, Some(false)) => Mark::Bad,
            (Phase::Completed, _) => Mark::Good,
            (Phase::Updated, _) => Mark::Updated,
            (Phase::Started, _) if again => Mark::Updated,
            (Phase::Started, _) => Mark::Started,
        };
        match known {
            Some(line) => {
                let text = shown(&event.action, event.phase);
                if line.mark == mark && line.text == text {
                    return false;
                }
                line.mark = mark;
                line.text = text;
            }
            None if event.is_saying() => self.say(event, mark),
            None => self.push(event, mark),
        }
        true
    }

    /// Only the newest words are shown, beside the actions and not in the place of one.
    fn say(&mut self, event: &ActionEvent, mark: Mark) {
        self.lines.retain(|line| !line.saying);
        let (id, text) = (event.action.id.clone(), shown(&event.action, event.phase));
        self.lines.push_back(ShownAction { id, mark, saying: true, text });
    }

    fn push(&mut self, event: &ActionEvent, mark: Mark) {
        // What scrolled away while it ran was counted when it began.
        self.steps += usize::from(!self.scrolled.remove(&hash(&event.action.id)));
        if self.lines.iter().filter(|line| !line.saying).count() == SHOWN {
            // What still runs stays visible as long as something finished can go.
            let finished = self.lines.iter().position(|line| !line.saying && line.mark.is_final());
            let oldest = self.lines.iter().position(|line| !line.saying).unwrap_or(0);
            if let Some(line) = self.lines.remove(finished.unwrap_or(oldest))
                && finished.is_none()
                && self.scrolled.len() < MAX_SCROLLED
            {
                self.scrolled.insert(hash(&line.id));
            }
        }
        let text = shown(&event.action, event.phase);
        self.lines.push_back(ShownAction { id: event.action.id.clone(), mark, saying: false, text });
    }
}

/// What is kept of a run but of no interest while it goes on.
fn is_background(event: &ActionEvent) -> bool {
    matches!(event.action.kind, ActionKind::Turn | ActionKind::Telemetry) || event.level == Some(Level::Debug)
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The title of an action in Markdown.
fn shown(action: &Action, phase: Phase) -> String {
    let title = one_line(&action.title);
    let mut text = match &action.kind {
        ActionKind::Command => code(&title),
        ActionKind::Tool => format!("tool: {title}"),
        ActionKind::WebSearch => format!("searched: {title}"),
        ActionKind::Subagent => format!("subagent: {title}"),
        ActionKind::FileChange => files(action, &title),
        _ => title,
    };
    let exit = action.detail.get("exit_code").and_then(serde_json::Value::as_i64).filter(|code| *code != 0);
    if let (Phase::Completed, Some(exit)) = (phase, exit) {
        text.push_str(&format!(" (exit {exit})"));
    }
    text
}

fn one_line(title: &str) -> String {
    if !title.contains(char::is_control) {
        return shortened(title.trim(), MAX_TITLE);
    }
    let words: Vec<&str> =
        title.split(|c: char| c.is_control() || c == ' ').filter(|word| !word.is_empty()).take(200).collect();
    shortened(&words.join(" "), MAX_TITLE)
}

/// As code, whatever backticks are inside.
fn code(text: &str) -> String {
    if !text.contains('`') {
        return format!("`{text}`");
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    format!("{fence} {text} {fence}")
}

fn files(action: &Action, title: &str) -> String {
    let changes = action.detail.get("changes").and_then(serde_json::Value::as_array);
    let Some(changes) = changes.filter(|changes| !changes.is_empty()) else { return format!("files: {}", code(title)) };
    let named = changes.iter().take(3).map(|change| {
        let path = code(&one_line(text(change, "path").unwrap_or("?")));
        format!("{} {path}", text(change, "kind").unwrap_or("update"))
    });
    let named = named.collect::<Vec<_>>().join(", ");
    match changes.len() {
        0..=3 => format!("files: {named}"),
        more => format!("files: {named} …({} more)", more - 3),
    }
}

fn write_elapsed(line: &mut String, elapsed: Duration) {
    use std::fmt::Write;
    let seconds = elapsed.as_secs();
    let _ = match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => write!(line, "{seconds}s"),
        (0, minutes, seconds) => write!(line, "{minutes}m {seconds:02}s"),
        (hours, minutes, _) => write!(line, "{hours}h {minutes:02}m"),
    };
}

fn write_usage(line: &mut String, usage: &Detail) {
    use std::fmt::Write;
    let number = |key: &str| usage.get(key).and_then(serde_json::Value::as_u64);
    if let (Some(input), Some(output)) = (number("input_tokens"), number("output_tokens")) {
        let _ = write!(line, " · {} in, {} out", thousands(input), thousands(output));
    }
    if let Some(cost) = usage.get("total_cost_usd").and_then(serde_json::Value::as_f64).filter(|cost| *cost > 0.0) {
        let _ = if cost < 0.01 { write!(line, " · ${cost:.4}") } else { write!(line, " · ${cost:.2}") };
    }
}

fn thousands(number: u64) -> String {
    match number {
        0..1000 => number.to_string(),
        1000..1_000_000 => format!("{:.1}k", number as f64 / 1000.0),
        _ => format!("{:.1}M", number as f64 / 1_000_000.0),
    }
}
