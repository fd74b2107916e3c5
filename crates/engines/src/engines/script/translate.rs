//! What a script's lines mean.

use super::ID;
use crate::engine::Exit;
use crate::event::{Completed, Detail, EngineEvent, ResumeToken};

/// The lines of a script with its placeholders filled; empty lines and `#` comments are left out.
pub fn prepared(text: &str, prompt: &str, session: &str) -> Vec<String> {
    // The prompt stands inside a JSON string there.
    let quoted = serde_json::Value::from(prompt).to_string();
    let quoted = &quoted[1..quoted.len() - 1];
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.replace("{{prompt}}", quoted).replace("{{session}}", session)).collect()
}

/// The event as this run's own: its session is the one that was asked for.
pub fn of_script(mut event: EngineEvent, session: &str) -> EngineEvent {
    if let EngineEvent::Started(started) = &mut event
        && started.resume.value.is_empty()
    {
        started.resume = ResumeToken::new(ID, session);
    }
    event
}

/// The script is over and nobody said `completed`.
pub fn ended(exit: &Exit) -> EngineEvent {
    let error = if exit.is_success() {
        "the script ended without a completed event".to_owned()
    } else {
        exit.failure("script")
    };
    EngineEvent::Completed(Completed {
        engine: ID,
        ok: false,
        answer: String::new(),
        resume: None,
        error: Some(error),
        usage: Detail::new(),
    })
}
