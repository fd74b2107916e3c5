//! A run as Markdown: a status line, what happens or the answer, and the resume line.

use std::time::Duration;

use super::{Label, Progress};

/// The three parts of a message, each Markdown; joined by blank lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub header: String,
    pub body: String,
    /// The resume line, which no truncation may touch.
    pub footer: Option<String>,
}

impl Message {
    pub fn to_markdown(&self) -> String {
        let footer = self.footer.as_deref().unwrap_or_default();
        let mut text = String::with_capacity(self.header.len() + self.body.len() + footer.len() + 4);
        for part in [self.header.as_str(), self.body.as_str(), footer] {
            if part.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(part);
        }
        text
    }
}

/// The run at this moment: while it works its last actions, afterwards its answer.
pub fn message(progress: &Progress, elapsed: Duration) -> Message {
    let body = match progress.completed() {
        Some(_) => outcome(progress),
        None => activity(progress),
    };
    Message { header: progress.status_line(elapsed), body, footer: progress.resume_line().map(str::to_owned) }
}

fn activity(progress: &Progress) -> String {
    let mut body = String::with_capacity(256);
    for action in progress.actions() {
        if !body.is_empty() {
            // Two blanks make a line break of a line end.
            body.push_str("  \n");
        }
        body.push_str(action.mark().as_str());
        body.push(' ');
        body.push_str(&action.text);
    }
    for ask in progress.asks() {
        if !body.is_empty() {
            body.push_str("\n\n");
        }
        body.push_str("**");
        body.push_str(&ask.title.replace("**", ""));
        body.push_str("**");
        if !ask.options.is_empty() {
            body.push_str(&format!("  \n{}", ask.options.join(" · ")));
        }
    }
    body
}

/// The answer, then the error. Somebody who cancelled needs no error text.
fn outcome(progress: &Progress) -> String {
    let Some(completed) = progress.completed() else { return String::new() };
    let answer = completed.answer.trim_end();
    let error = completed.error.as_deref().filter(|_| progress.label() == Label::Error).unwrap_or_default();
    let error = if answer.contains(error) { "" } else { error };
    match (answer, error) {
        (answer, "") => answer.to_owned(),
        ("", error) => error.to_owned(),
        (answer, error) => format!("{}\n\n{error}", closed(answer)),
    }
}

/// The text with its last code fence closed, so that what follows is not swallowed.
pub fn closed(text: &str) -> String {
    let mut open: Option<String> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let marker = line.chars().next().filter(|c| *c == '`' || *c == '~').unwrap_or(' ');
        let length = line.chars().take_while(|c| *c == marker).count();
        match &open {
            None if marker != ' ' && length >= 3 => open = Some(marker.to_string().repeat(length)),
            Some(fence) if line.starts_with(fence.as_str()) && line.trim_end().chars().all(|c| c == marker) => {
                open = None;
            }
            _ => {}
        }
    }
    match open {
        Some(fence) => format!("{text}\n{fence}"),
        None => text.to_owned(),
    }
}
