//! Where the progress of a run goes: drawn again and again in a terminal, line by line elsewhere.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use folkmoot_action::{Shown, visible};
use folkmoot_engines::event::{Ask, AskKind, EngineEvent};
use folkmoot_runs::progress::{Progress, terminal};

use crate::cli::output::{self, Paint};

pub struct Screen {
    kind: Kind,
    drawn: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Live { colour: bool },
    Lines,
    Silent,
}

impl Screen {
    /// Events as JSON are progress enough.
    pub fn new(json: bool) -> Self {
        let live = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let kind = match (json, live) {
            (true, _) => Kind::Silent,
            (false, true) => Kind::Live { colour: Paint::of_stderr().bold("x") != "x" },
            (false, false) => Kind::Lines,
        };
        Self { kind, drawn: 0 }
    }

    pub fn event(&mut self, event: &EngineEvent, progress: &Progress, elapsed: Duration) {
        match self.kind {
            Kind::Live { .. } => self.draw(progress, elapsed),
            Kind::Lines => {
                if let Some(line) = terminal::plain_line(event) {
                    output::note(&line);
                }
            }
            Kind::Silent => {}
        }
    }

    pub fn draw(&mut self, progress: &Progress, elapsed: Duration) {
        let Kind::Live { colour } = self.kind else { return };
        if progress.completed().is_some() {
            return;
        }
        let lines = terminal::lines(progress, elapsed, width(), colour);
        let mut text = self.wipe();
        for line in &lines {
            text.push_str(line);
            text.push('\n');
        }
        self.drawn = lines.len();
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// The question, below the progress: all of it, as every surface shows it.
    pub fn ask(&mut self, ask: &Ask, shown: &Shown) {
        if self.kind == Kind::Silent {
            return;
        }
        let how = match (ask.kind(), ask.options.as_slice()) {
            (AskKind::Permission | AskKind::Plan, _) if ask.always.is_empty() => "y = yes, n WHY = no".to_owned(),
            (AskKind::Permission | AskKind::Plan, _) => "y = yes, a = always, n WHY = no".to_owned(),
            (AskKind::Question, []) => "type the answer".to_owned(),
            (AskKind::Question, _) => "type one of these, or other words".to_owned(),
        };
        let paint = Paint::of_stderr();
        let mut lines = shown.lines();
        // Nobody says yes for good to something that nobody saw.
        lines.extend(ask.always.iter().map(|what| format!("  always (in this session): {}", visible::line(what))));
        if shown.warning.is_some() {
            lines[0] = paint.red(&lines[0]);
        }
        self.remark(&format!("{}\n{}", lines.join("\n"), paint.bold(&format!("[{how}]"))));
    }

    /// A line that stays, above what is drawn next.
    pub fn remark(&mut self, text: &str) {
        if self.kind == Kind::Silent {
            return;
        }
        let mut wiped = self.wipe();
        self.drawn = 0;
        wiped.push_str(&output::guarded(text));
        wiped.push('\n');
        let _ = std::io::stderr().lock().write_all(wiped.as_bytes());
    }

    /// The last word on the progress; `whole` also says what was done.
    pub fn close(&mut self, progress: &Progress, elapsed: Duration, whole: bool) {
        if self.kind == Kind::Silent {
            return;
        }
        let mut text = self.wipe();
        self.drawn = 0;
        let colour = matches!(self.kind, Kind::Live { colour: true });
        let lines = terminal::lines(progress, elapsed, width(), colour);
        let actions = if whole || matches!(self.kind, Kind::Live { .. }) { progress.actions().len() } else { 0 };
        for line in lines.iter().take(1 + actions) {
            text.push_str(line);
            text.push('\n');
        }
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// Back to the first drawn line, and clear from there.
    fn wipe(&self) -> String {
        if self.drawn == 0 { String::new() } else { format!("\u{1b}[{}F\u{1b}[J", self.drawn) }
    }
}

fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}
