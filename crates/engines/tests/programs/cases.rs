//! What is played with every program: what is said to it, what happens meanwhile, and what must come of it.

/// One case. `FILE` in a prompt is the path of a file in the project whose text is `before`.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub name: &'static str,
    /// One run each, in one thread.
    pub prompts: &'static [&'static str],
    pub event: Event,
    /// What the last answer says.
    pub says: &'static [&'static str],
    /// Whether the run fails, and says why.
    pub fails: bool,
    /// A command that is shown among its actions, as it was meant.
    pub does: Option<&'static str>,
    /// What people are asked about, as they read it.
    pub asks: Option<&'static str>,
}

/// The command of the case `kill` as the kernel lists it; it does not end by itself.
pub const ENDLESS: &str = "tail\0-f\0note.txt";

/// What happens while the program works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Nothing,
    /// Whatever is asked is denied.
    Deny,
    /// Questions are answered so.
    Reply(&'static str),
    /// Somebody says something more.
    Words(&'static str),
    Cancel,
    /// SIGKILL to `moot` itself.
    Kill,
    /// The prompts go to one process that is kept.
    KeepWarm,
    /// The prompts go to two threads at the same time.
    TwoThreads,
}

const fn case(name: &'static str, prompts: &'static [&'static str], says: &'static [&'static str]) -> Case {
    Case { name, prompts, event: Event::Nothing, says, fails: false, does: None, asks: None }
}

pub const CASES: [Case; 17] = [
    case("hello", &["say hello"], &["Hello from the fake model."]),
    Case {
        does: Some("echo heron"),
        ..case("tool", &["please [tool:echo heron]"], &["Done. The tool said:", "heron"])
    },
    case("resume", &["my word is heron", "[recall]"], &["You said so far:", "heron"]),
    Case { event: Event::Cancel, fails: true, ..case("cancel", &["[slow:60]"], &["Beginning slowly."]) },
    Case { event: Event::Kill, ..case("kill", &["[tool:tail -f note.txt]"], &[]) },
    Case { fails: true, ..case("500", &["[error:500]"], &[]) },
    Case { fails: true, ..case("401", &["[error:401]"], &[]) },
    Case { fails: true, ..case("429", &["[error:429]"], &[]) },
    Case {
        event: Event::Reply("Blue"),
        asks: Some("Which colour?"),
        ..case("question", &["[ask]"], &["The answer was:", "Blue"])
    },
    Case { asks: Some("touch made.txt"), ..case("allowed", &["[permit:touch made.txt]"], &["Done. The tool said:"]) },
    Case { event: Event::Deny, asks: Some("touch made.txt"), ..case("denied", &["[permit:touch made.txt]"], &[]) },
    Case { asks: Some("FILE"), ..case("edit", &["[edit:FILE]"], &["Edited:"]) },
    case("subagent", &["[sub]"], &["Hello from the fake model."]),
    case("background", &["[background:sleep 2; echo woke]"], &["The task has ended:"]),
    Case { event: Event::Words("[recall] mind the heron"), ..case("words", &["[slow:4]"], &["mind the heron"]) },
    Case {
        event: Event::KeepWarm,
        ..case("keep-warm", &["first word adder", "second word badger", "[recall]"], &["adder", "badger"])
    },
    Case {
        event: Event::TwoThreads,
        ..case("two-threads", &["my word is adder [slow:3]", "my word is badger [slow:3]"], &[])
    },
];

/// Why a program does not offer this; `None`: it does, and the case is played.
pub fn not_offered(engine: &str, warm: bool, case: &Case) -> Option<&'static str> {
    let asks = case.asks.is_some() && case.name != "edit";
    match (case.name, engine) {
        _ if asks && !warm => Some("nobody can be asked in the plain mode"),
        ("words" | "keep-warm", _) if !warm => Some("one prompt per process in the plain mode"),
        ("background", "codex" | "opencode" | "pi") => Some("it has no tasks in the background"),
        ("subagent", "pi") => Some("it has no subagents"),
        ("question", "pi") => Some("its model has no tool to ask with"),
        ("allowed" | "denied", "pi") => Some("it never asks for permission"),
        _ => None,
    }
}

/// What the last answer says, as far as the program tells it.
pub fn says(engine: &str, warm: bool, case: &Case) -> &'static [&'static str] {
    if case.event == Event::Cancel && tells_whole_texts_only(engine, warm) { &[] } else { case.says }
}

/// What people have read when they speak in the middle of a slow answer; nothing where a text is only told when it is whole.
pub fn begun(engine: &str, warm: bool) -> Option<&'static str> {
    (!tells_whole_texts_only(engine, warm)).then_some("Beginning slowly.")
}

/// In the plain mode these two say a text when it is whole; of one that was cut short nothing is known.
fn tells_whole_texts_only(engine: &str, warm: bool) -> bool {
    !warm && ["codex", "opencode"].contains(&engine)
}

/// What the error of a run that fails says, in whatever words the program has for it.
pub fn error(engine: &str, warm: bool, case: &Case) -> Option<&'static str> {
    match (case.name, engine) {
        ("cancel", _) if warm => Some("interrupted"),
        ("cancel", _) => Some("cancelled"),
        // It keeps the number to itself.
        ("500", "codex") => Some("high demand"),
        (name @ ("500" | "401" | "429"), _) => Some(name),
        _ => None,
    }
}

/// Whether people are asked in this case.
pub fn is_asked(engine: &str, warm: bool, case: &Case) -> bool {
    case.asks.is_some() && warm && engine != "pi"
}
