//! The dialog of the plain modes: one prompt on standard input, lines until the process ends.

use serde_json::Value;

use crate::engine::{Dialog, Exit, Output};

/// How an engine's lines are understood.
pub(super) trait Translate: Send {
    fn line(&mut self, line: &Value, out: &mut Output);

    /// See [`Dialog::settled`].
    fn settled(&mut self, _out: &mut Output) {}

    /// See [`Dialog::ended`].
    fn ended(&mut self, exit: &Exit, out: &mut Output);

    /// See [`Dialog::answer_so_far`].
    fn answer_so_far(&self) -> String;
}

pub(super) struct Plain<T>(pub T);

impl<T: Translate> Dialog for Plain<T> {
    /// On standard input, where a prompt is not seen in the list of processes.
    fn prompt(&mut self, prompt: &str, out: &mut Output) {
        out.send.push(prompt.to_owned());
        out.close = true;
    }

    fn line(&mut self, line: &Value, out: &mut Output) {
        self.0.line(line, out);
    }

    fn settled(&mut self, out: &mut Output) {
        self.0.settled(out);
    }

    fn ended(&mut self, exit: &Exit, out: &mut Output) {
        self.0.ended(exit, out);
    }

    fn answer_so_far(&self) -> String {
        self.0.answer_so_far()
    }
}
