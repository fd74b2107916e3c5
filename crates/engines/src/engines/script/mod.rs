//! script: plays a file of events, for demonstrations, tests and people without an engine installed.
//!
//! A line of the file is an event of the model, or a stage direction: `{"type":"delay","ms":500}`,
//! `{"type":"wait","for":"steer"}` (or `answer`, `interrupt`, `any`), `{"type":"fail","code":3,"message":"…"}`,
//! `{"type":"linger"}`. A line that is no JSON is played as it is, so that a broken engine can be shown too.
//! `{{prompt}}` in a line is replaced by the prompt and `{{session}}` by the session.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::engine::{Control, Dialog, Engine, EngineError, Exit, Mode, Order, Output, Plan, Source, Unsupported};
use crate::event::{EngineEvent, EngineId};
use crate::resume::{ResumeCodec, ValueRule};

#[cfg(test)]
mod tests;
mod translate;
mod wire;

pub(crate) const ID: EngineId = EngineId::new("script");

static CODEC: ResumeCodec =
    ResumeCodec { engine: ID, forms: &[&["moot", "run", "script", "--resume"]], value: ValueRule::Word };

/// What is played when no file is named: where nobody can answer, in a channel, and when somebody goes on in its thread.
const DEMONSTRATION: &str = include_str!("demonstration.jsonl");
const TOUR: &str = include_str!("tour.jsonl");
const AGAIN: &str = include_str!("again.jsonl");

pub struct Script;

impl Engine for Script {
    fn id(&self) -> EngineId {
        ID
    }

    fn codec(&self) -> &'static ResumeCodec {
        &CODEC
    }

    fn own_keys(&self) -> &'static [(&'static str, &'static str)] {
        &[("file", "the script to play; without it the prompt may name one")]
    }

    fn needs_program(&self) -> bool {
        false
    }

    fn plan(&self, order: &Order<'_>) -> Result<Plan, EngineError> {
        let session = match order.resume {
            Some(token) => token.value.clone(),
            None => uuid::Uuid::new_v4().simple().to_string()[..12].to_owned(),
        };
        let text = match script_of(order) {
            Some(path) => std::fs::read_to_string(&path).map_err(|error| {
                EngineError::new(
                    format!("the script `{}` cannot be read: {error}", path.display()),
                    "check `engines.script.file`",
                )
            })?,
            None => demonstration(order).to_owned(),
        };
        let lines = translate::prepared(&text, order.prompt, &session);
        let steerable = order.mode == Mode::Warm || lines.iter().any(|line| line.contains("\"wait\""));
        Ok(Plan { source: Source::Script(lines), dialog: Box::new(Play { session, steerable, notes: 0 }) })
    }
}

fn demonstration(order: &Order<'_>) -> &'static str {
    match (order.mode, order.resume) {
        (_, Some(_)) => AGAIN,
        (Mode::Warm, None) => TOUR,
        (_, None) => DEMONSTRATION,
    }
}

/// The file of the configuration, else the file that the prompt names.
fn script_of(order: &Order<'_>) -> Option<PathBuf> {
    if let Some(file) = order.settings.own_text("file") {
        return Some(order.folder.join(file));
    }
    let named = order.prompt.trim();
    let path = order.folder.join(Path::new(named));
    (named.ends_with(".jsonl") && !named.contains('\n') && path.is_file()).then_some(path)
}

struct Play {
    session: String,
    steerable: bool,
    notes: usize,
}

impl Dialog for Play {
    fn prompt(&mut self, _prompt: &str, _out: &mut Output) {}

    fn line(&mut self, line: &Value, out: &mut Output) {
        self.notes += 1;
        out.event(match wire::read(line) {
            Some(event) => translate::of_script(event, &self.session),
            None => EngineEvent::warning(
                &ID,
                format!("script.note.{}", self.notes),
                format!("no event and no direction: {line}"),
            ),
        });
    }

    fn control(&mut self, control: &Control, out: &mut Output) -> Result<(), Unsupported> {
        if !self.steerable {
            return Err(Unsupported);
        }
        let word = match control {
            Control::Steer(_) => "steer",
            Control::Interrupt => "interrupt",
            Control::Answer { .. } => "answer",
        };
        out.send.push(word.to_owned());
        Ok(())
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        out.event(translate::ended(exit));
    }
}
