//! `moot say` without a sentence: where lines come from and answers go. At a terminal that is a prompt with line editing
//! and a history, and answers appear above it; elsewhere plain lines.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};
use tokio::sync::mpsc;

use crate::output;
use folkmoot_config::{Environment, paths};

const PROMPT: &str = "say> ";

pub struct Conversation {
    lines: mpsc::Receiver<String>,
    screen: Screen,
}

enum Screen {
    /// What is being typed stays as it is, below.
    AbovePrompt(Box<dyn ExternalPrinter + Send>),
    Plain,
}

impl Conversation {
    pub fn open() -> Self {
        let (sender, lines) = mpsc::channel(16);
        match Editor::open() {
            Some((editor, printer)) => {
                output::note("Say something; Ctrl-D ends.");
                std::thread::spawn(move || editor.read(&sender));
                Self { lines, screen: Screen::AbovePrompt(printer) }
            }
            None => {
                std::thread::spawn(move || read_plainly(&sender));
                Self { lines, screen: Screen::Plain }
            }
        }
    }

    /// Somebody types here and looks.
    pub fn is_attended(&self) -> bool {
        matches!(self.screen, Screen::AbovePrompt(_))
    }

    /// The next line that says something; none at the end.
    pub async fn line(&mut self) -> Option<String> {
        self.lines.recv().await
    }

    /// Shows an answer.
    pub fn show(&mut self, text: &str) -> anyhow::Result<()> {
        match &mut self.screen {
            Screen::AbovePrompt(printer) => Ok(printer.print(format!("{}\n", output::guarded(text)))?),
            Screen::Plain => output::line(text),
        }
    }

    /// Shows what is no answer of a client.
    pub fn note(&mut self, text: &str) -> anyhow::Result<()> {
        match &self.screen {
            Screen::AbovePrompt(_) => self.show(text),
            Screen::Plain => {
                output::note(text);
                Ok(())
            }
        }
    }
}

fn read_plainly(sender: &mpsc::Sender<String>) {
    let lines = std::io::stdin().lock().lines().map_while(Result::ok);
    for line in lines.filter(|line| !line.trim().is_empty()) {
        if sender.blocking_send(line).is_err() {
            return;
        }
    }
}

struct Editor {
    editor: DefaultEditor,
    /// Sentences of earlier times; none where there is no place for them.
    history: Option<PathBuf>,
}

impl Editor {
    /// None where nobody types, or where the terminal can do too little.
    fn open() -> Option<(Self, Box<dyn ExternalPrinter + Send>)> {
        if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
            return None;
        }
        let mut editor = DefaultEditor::new().ok()?;
        let printer = Box::new(editor.create_external_printer().ok()?);
        let history = history_file();
        if let Some(history) = &history {
            let _ = editor.load_history(history);
        }
        Some((Self { editor, history }, printer))
    }

    fn read(mut self, sender: &mpsc::Sender<String>) {
        loop {
            let line = match self.editor.readline(PROMPT) {
                Ok(line) if line.trim().is_empty() => continue,
                Ok(line) => line,
                // As in a shell: what was typed is dropped, and the prompt stays.
                Err(ReadlineError::Interrupted) => continue,
                Err(_) => return,
            };
            self.remember(&line);
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    }

    /// A history that cannot be kept is no reason not to say something.
    fn remember(&mut self, line: &str) {
        let _ = self.editor.add_history_entry(line);
        if let Some(history) = &self.history {
            let _ = self.editor.append_history(history);
        }
    }
}

/// `say-history` in the state folder, which is made if it is not there. The editor keeps the file for its owner only.
fn history_file() -> Option<PathBuf> {
    let folder = paths::state_dir(&Environment::of_process())?;
    folkmoot_hub::modes::make_folder(&folder).ok()?;
    Some(folder.join("say-history"))
}
