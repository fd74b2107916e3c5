//! Whether what a run did is what its case wants, whichever surface it came from.

use super::cases::{self, Case, Event};
use super::stage::Stage;
use super::table::Outcome;

/// What people saw of a run.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub ok: bool,
    pub answer: String,
    pub error: String,
    /// What people were asked, in the words that they read.
    pub asks: Vec<String>,
    /// The titles of what it did; `None` where not everything that is done is shown.
    pub actions: Option<Vec<String>>,
}

pub fn judge(stage: &Stage, case: &Case, seen: &Seen) -> Outcome {
    let wrong = |what: String| Err(format!("{what}; seen: {seen:?}"));
    if seen.ok == case.fails {
        return wrong(format!("ok is {}", seen.ok));
    }
    let says = cases::says(stage.program.engine, stage.warm, case);
    if let Some(words) = says.iter().find(|words| !seen.answer.contains(**words)) {
        return wrong(format!("the answer does not say `{words}`"));
    }
    if let Some(words) = error(stage, case)
        && !seen.error.contains(words)
    {
        return wrong(format!("the error does not say `{words}`"));
    }
    if case.fails && case.event == Event::Nothing && !seen.answer.is_empty() {
        return wrong("an error is the answer too".to_owned());
    }
    if let (Some(command), Some(actions)) = (case.does, &seen.actions)
        && !actions.iter().any(|title| title == command)
    {
        return wrong(format!("no action is called `{command}`"));
    }
    if let Err(what) = asked(stage, case, seen) {
        return wrong(what);
    }
    files(stage, case)
}

/// Cancelled by people, whichever way the program was told.
fn error(stage: &Stage, case: &Case) -> Option<&'static str> {
    if case.event == Event::Cancel {
        return Some("cancelled");
    }
    cases::error(stage.program.engine, stage.warm, case)
}

fn asked(stage: &Stage, case: &Case, seen: &Seen) -> Outcome {
    if !cases::is_asked(stage.program.engine, stage.warm, case) {
        return Ok(());
    }
    let wanted = case.asks.unwrap_or_default().replace("FILE", "note.txt");
    if !seen.asks.iter().any(|ask| ask.contains(&wanted)) {
        return Err(format!("nobody is asked about `{wanted}`"));
    }
    match seen.asks.iter().find(|ask| ask.contains("bash -lc")) {
        Some(_) => Err("what is asked is wrapped in a shell".to_owned()),
        None => Ok(()),
    }
}

/// What was allowed is done, and what was denied is not.
fn files(stage: &Stage, case: &Case) -> Outcome {
    let made = stage.project().join("made.txt").exists();
    let note = std::fs::read_to_string(stage.project().join("note.txt")).unwrap_or_default();
    match case.name {
        "allowed" if !made => Err("what was allowed is not done".to_owned()),
        "denied" if made => Err("what was denied is done".to_owned()),
        "edit" if note != "after\n" => Err(format!("the file is not edited: {note:?}")),
        _ => Ok(()),
    }
}
