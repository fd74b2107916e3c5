//! What an engine is to the rest: how it is started, what it is told, and how its lines are understood.
//!
//! An engine plans a [`Launch`], for which it may look at its program's own files, and hands out a [`Dialog`], a state
//! machine without I/O over the lines that the process writes; the run drives both, and the contract watches what comes out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::event::{AskAnswer, EngineEvent, EngineId, ResumeToken};
use crate::resume::ResumeCodec;

pub mod settings;
pub mod words;

/// An adapter to one command line.
pub trait Engine: Send + Sync {
    fn id(&self) -> EngineId;

    /// How its resume lines look.
    fn codec(&self) -> &'static ResumeCodec;

    /// Keys of its configuration table that no other engine has, with what they are for.
    fn own_keys(&self) -> &'static [(&'static str, &'static str)];

    /// The process and the dialog of one run, for an order that was looked at; callers use [`Engine::prepare`].
    fn plan(&self, order: &Order<'_>) -> Result<Plan, EngineError>;

    /// Looks at what people said, plans, and says which variables of our own environment the program may see.
    fn prepare(&self, order: &Order<'_>) -> Result<Plan, EngineError> {
        words::check(self.codec(), self.reasoning_key(), order)?;
        let mut plan = self.plan(order)?;
        if let Some(launch) = plan.source.launch_mut() {
            launch.pass = passed(&self.variables(), order.settings);
        }
        Ok(plan)
    }

    /// Variables of our own environment that the program reads, beside those that every program gets; `X_*` stands for all
    /// that begin so.
    fn variables(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Names of files and folders in a project that tell the program what to run, or what it may do: no agent changes them
    /// without a question.
    fn project_files(&self) -> &'static [&'static str] {
        &[]
    }

    /// How to find out whether the command knows the warm mode; `None`: there is no such mode.
    fn warm_probe(&self) -> Option<WarmProbe> {
        None
    }

    /// The key of its configuration that says how long it thinks; `None`: it cannot be told.
    fn reasoning_key(&self) -> Option<&'static str> {
        None
    }

    /// Whether a program that ended like this, before it had begun anything, may well begin when it is started again.
    fn may_begin_again(&self, _exit: &Exit) -> bool {
        false
    }

    /// Whether it is a program at all; the script engine is not.
    fn needs_program(&self) -> bool {
        true
    }
}

/// Arguments whose output names the warm mode.
#[derive(Clone, Copy, Debug)]
pub struct WarmProbe {
    pub args: &'static [&'static str],
    pub says: &'static str,
}

/// How an engine is driven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One process per prompt, told everything at the start.
    #[default]
    Plain,
    /// A process that takes more while it works: it can be steered, interrupted and asks for permission.
    Warm,
}

/// The table `[engines.NAME]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineSettings {
    pub command: String,
    pub extra_args: Vec<String>,
    pub model: String,
    pub env: BTreeMap<String, String>,
    /// Variables of our own environment that it gets too.
    pub pass_env: Vec<String>,
    /// Keys that only this engine knows.
    pub own: Map<String, Value>,
}

impl EngineSettings {
    pub fn own_text(&self, key: &str) -> Option<&str> {
        self.own.get(key)?.as_str().filter(|text| !text.is_empty())
    }

    /// A variable as the program will see it: what the configuration sets goes before our own environment.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned().or_else(|| std::env::var(name).ok()).filter(|value| !value.is_empty())
    }

    pub fn own_flag(&self, key: &str) -> bool {
        self.own.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn own_list(&self, key: &str) -> Vec<String> {
        match self.own.get(key) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(text)) => text.split(',').map(|item| item.trim().to_owned()).collect(),
            _ => Vec::new(),
        }
    }

    /// Refuses arguments that would break the stream or switch off permissions without saying so.
    pub fn refuse_args(&self, engine: &EngineId, refused: &[&str], why: &str) -> Result<(), EngineError> {
        let name_of = |argument: &'_ String| argument.split('=').next().unwrap_or_default().to_owned();
        match self.extra_args.iter().map(name_of).find(|name| refused.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                Err(EngineError::new(format!("`engines.{engine}.extra_args` may not hold `{name}`"), why.to_owned()))
            }
        }
    }
}

/// What a run is asked to do, as the engine sees it.
#[derive(Debug)]
pub struct Order<'a> {
    pub settings: &'a EngineSettings,
    pub prompt: &'a str,
    pub resume: Option<&'a ResumeToken>,
    pub folder: &'a Path,
    pub mode: Mode,
    /// Unix time in seconds, for names of new sessions.
    pub now: u64,
}

pub struct Plan {
    pub source: Source,
    pub dialog: Box<dyn Dialog>,
}

/// Where the lines come from.
pub enum Source {
    /// A process that writes a line per event.
    Process(Launch),
    /// A process that serves HTTP on loopback: events over `/event`, orders as requests.
    Server(LocalServer),
    /// A file that is played.
    Script(Vec<String>),
}

impl Source {
    fn launch_mut(&mut self) -> Option<&mut Launch> {
        match self {
            Self::Process(launch) | Self::Server(LocalServer { launch, .. }) => Some(launch),
            Self::Script(_) => None,
        }
    }
}

/// A program that serves HTTP on loopback. Other users of this machine can reach its port, so it is given a password.
pub struct LocalServer {
    pub launch: Launch,
    /// As whom we speak to it.
    pub user: &'static str,
    /// The variable in which it finds the password.
    pub password: &'static str,
}

/// What a program may see of our environment: what its engine reads, and what the configuration names.
pub fn passed(variables: &[&str], settings: &EngineSettings) -> Vec<String> {
    variables.iter().map(|&name| name.to_owned()).chain(settings.pass_env.iter().cloned()).collect()
}

/// A command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    pub program: String,
    pub args: Vec<String>,
    /// Variables to set, or with `None` to take away.
    pub env: Vec<(String, Option<String>)>,
    /// Which variables of our own environment are handed on, beside those that every program gets.
    pub pass: Vec<String>,
    pub folder: PathBuf,
}

impl Launch {
    /// The engine's command with its environment, to be filled with arguments.
    pub fn of(order: &Order<'_>, engine: &EngineId) -> Self {
        let settings = order.settings;
        let program = if settings.command.is_empty() { engine.to_string() } else { settings.command.clone() };
        let env = settings.env.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        Self { program, env, folder: order.folder.to_owned(), ..Self::default() }
    }

    pub fn args<S: AsRef<str>>(&mut self, args: impl IntoIterator<Item = S>) -> &mut Self {
        self.args.extend(args.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// `name value`, when there is a value.
    pub fn option(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.args([name, value]);
        }
        self
    }

    /// Takes a variable away, unless the configuration sets it.
    pub fn without(&mut self, name: &str) -> &mut Self {
        if !self.env.iter().any(|(known, _)| known == name) {
            self.env.push((name.to_owned(), None));
        }
        self
    }

    /// Sets a variable that the configuration does not set.
    pub fn default_env(&mut self, name: &str, value: &str) -> &mut Self {
        if !self.env.iter().any(|(known, _)| known == name) {
            self.env.push((name.to_owned(), Some(value.to_owned())));
        }
        self
    }
}

/// The conversation with one process, as a state machine without I/O.
pub trait Dialog: Send {
    /// A prompt: the first one right after the start, later ones when the process is used again.
    fn prompt(&mut self, prompt: &str, out: &mut Output);

    /// One JSON line of the process.
    fn line(&mut self, line: &Value, out: &mut Output);

    /// Somebody wants something while the engine works.
    fn control(&mut self, _control: &Control, _out: &mut Output) -> Result<(), Unsupported> {
        Err(Unsupported)
    }

    /// Nothing was said for as long as [`Output::settle`] asked for.
    fn settled(&mut self, _out: &mut Output) {}

    /// The process ended although no `completed` was said yet: say what happened.
    fn ended(&mut self, exit: &Exit, out: &mut Output);

    /// What was answered so far, for a run that is cut short.
    fn answer_so_far(&self) -> String {
        String::new()
    }
}

/// What a dialog wants done.
#[derive(Debug, Default)]
pub struct Output {
    pub events: Vec<EngineEvent>,
    /// Texts for the standard input of the process, written as they are.
    pub send: Vec<String>,
    /// Nothing more will be said.
    pub close: bool,
    /// Call [`Dialog::settled`] if no line comes for this long.
    pub settle: Option<Duration>,
    /// Words as the engine finds them, before they are an answer.
    pub pieces: Vec<Piece>,
    /// Names of lines that nobody here knows; they are counted and shown, never an error.
    pub unknown: Vec<String>,
}

/// How long a failure may still be taken back by the engine.
pub const SETTLE: Duration = Duration::from_secs(2);

/// Some of what an engine is saying; the next piece goes on where this one ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Answer(String),
    Thought(String),
    /// What was said so far is said; what follows begins anew.
    Break,
}

impl Output {
    pub fn event(&mut self, event: EngineEvent) {
        self.events.push(event);
    }

    /// One JSON line.
    pub fn send(&mut self, line: &Value) {
        self.send.push(format!("{line}\n"));
    }

    pub fn say(&mut self, piece: impl Into<String>) {
        self.pieces.push(Piece::Answer(piece.into()));
    }

    pub fn think(&mut self, piece: impl Into<String>) {
        self.pieces.push(Piece::Thought(piece.into()));
    }

    pub fn unknown(&mut self, name: impl Into<String>) {
        self.unknown.push(name.into());
    }
}

/// What people can want of a running engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Take this into account now.
    Steer(String),
    /// Stop what you are doing, but stay.
    Interrupt,
    Answer {
        ask: String,
        answer: AskAnswer,
    },
}

/// This engine, in this mode, cannot do that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine cannot do that in this mode")]
pub struct Unsupported;

/// How a process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// The end of what it wrote to standard error.
    pub stderr: String,
}

impl Exit {
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// `WHAT failed (rc=N).` and the last words of standard error.
    pub fn failure(&self, what: &str) -> String {
        let how = match (self.code, self.signal) {
            (Some(code), _) => format!("rc={code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "it vanished".to_owned(),
        };
        self.with_stderr(format!("{what} failed ({how})."))
    }

    pub fn with_stderr(&self, sentence: String) -> String {
        match self.stderr.trim() {
            "" => sentence,
            tail => format!("{sentence}\n{tail}"),
        }
    }
}

/// Why a run cannot begin: one sentence, and a remedy where there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sentence}")]
pub struct EngineError {
    pub sentence: String,
    pub hint: Option<String>,
}

impl EngineError {
    pub fn new(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), hint: Some(hint.into()) }
    }

    /// Sentence and hint as one text.
    pub fn whole(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\nhint: {hint}", self.sentence),
            None => self.sentence.clone(),
        }
    }
}
