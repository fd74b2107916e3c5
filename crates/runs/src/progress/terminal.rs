//! A run in a terminal: a few lines that are drawn again and again, or one plain line per event.

use std::time::Duration;

use super::{Label, Mark, Progress, ShownAction, is_background};
use folkmoot_engines::event::{EngineEvent, Phase};

/// The lines to draw now, each at most `width` columns; colours only when asked for.
pub fn lines(progress: &Progress, elapsed: Duration, width: usize, colour: bool) -> Vec<String> {
    let paint = |code: &str, text: &str| paint(code, text, colour);
    let status = clipped(&progress.status_line(elapsed), width);
    let mut lines = vec![match progress.label() {
        Label::Error => paint("1;31", &status),
        Label::Waiting => paint("1;33", &status),
        _ => paint("1", &status),
    }];
    for action in progress.actions() {
        lines.push(action_line(action, width, colour));
    }
    for ask in progress.asks() {
        lines.push(paint("33", &clipped(&format!("? {}", safe(&ask.title)), width)));
    }
    if let Some(resume) = progress.resume_line() {
        lines.push(paint("2", &clipped(resume.trim_matches('`'), width)));
    }
    lines
}

fn action_line(action: &ShownAction, width: usize, colour: bool) -> String {
    let text = clipped(&format!("{} {}", action.mark().as_str(), plain(&action.text)), width);
    let code = match action.mark() {
        Mark::Good => "32",
        Mark::Bad => "31",
        Mark::Started | Mark::Updated => "36",
    };
    let (mark, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}", paint(code, mark, colour))
}

fn paint(code: &str, text: &str, colour: bool) -> String {
    if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}

/// One line for an event, for a file or a pipe; `None` for what is only of interest live.
pub fn plain_line(event: &EngineEvent) -> Option<String> {
    match event {
        EngineEvent::Started(started) => {
            let title = started.title.as_deref().map(|title| format!(" · {}", safe(title))).unwrap_or_default();
            Some(format!("started · {}{title}", started.engine))
        }
        EngineEvent::Action(event) => {
            // Words on their way are soon an answer, which is printed whole.
            if is_background(event) || event.phase == Phase::Updated || event.is_saying() {
                return None;
            }
            let mut progress = Progress::new(event.engine.clone());
            progress.take(&EngineEvent::Action(event.clone()), |_| None);
            progress.actions().next().map(|action| format!("{} {}", action.mark().as_str(), plain(&action.text)))
        }
        EngineEvent::Asked(asked) if asked.ask.withdrawn => None,
        EngineEvent::Asked(asked) => Some(format!("? {}", safe(&asked.ask.title))),
        EngineEvent::Completed(_) => None,
    }
}

/// The Markdown of an action without its backticks.
fn plain(text: &str) -> String {
    safe(&text.replace('`', ""))
}

/// Text of others in which nothing steers the terminal or hides.
pub fn safe(text: &str) -> String {
    folkmoot_action::visible::text(text)
}

/// At most `width` characters; wide characters may still wrap, which only costs a line.
fn clipped(text: &str, width: usize) -> String {
    folkmoot_engines::json::shortened(&text.replace('\n', " "), width.max(1))
}
