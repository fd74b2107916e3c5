//! One line on standard error that says what is waited for, where somebody looks.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use crate::output;

/// A longer line would wrap, and could not be taken back.
const MAX_CHARS: usize = 78;

pub struct ProgressLine {
    is_live: bool,
    /// What stands there; it is written again only when it changed.
    shown: String,
}

impl ProgressLine {
    pub fn new() -> Self {
        let can_redraw = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        Self { is_live: std::io::stderr().is_terminal() && can_redraw, shown: String::new() }
    }

    pub fn show(&mut self, what: &str, since: Duration) {
        let line: String = format!("{what} … {} s; Ctrl-C ends", since.as_secs()).chars().take(MAX_CHARS).collect();
        if self.is_live && line != self.shown {
            eprint!("\r\u{1b}[K{}", output::guarded(&line));
            let _ = std::io::stderr().flush();
            self.shown = line;
        }
    }

    /// Takes the line back, before something else is written.
    pub fn clear(&mut self) {
        if !std::mem::take(&mut self.shown).is_empty() {
            eprint!("\r\u{1b}[K");
        }
    }
}
