//! Asking the person at the terminal.

use std::io::{BufRead, IsTerminal, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::Fault;
use folkmoot_config::Secret;

/// Whether somebody is there to be asked.
pub fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// A line of text; the default when it is empty.
pub fn text(question: &str, default: Option<&str>) -> anyhow::Result<String> {
    match default {
        Some(default) => eprint!("{question} [{default}]: "),
        None => eprint!("{question}: "),
    }
    let answer = read_line()?;
    let answer = answer.trim();
    match default {
        Some(default) if answer.is_empty() => Ok(default.to_owned()),
        _ => Ok(answer.to_owned()),
    }
}

/// Yes or no; anything but `y` is no.
pub fn confirm(question: &str) -> anyhow::Result<bool> {
    eprint!("{question} [y/N] ");
    Ok(matches!(read_line()?.trim(), "y" | "Y" | "yes"))
}

/// A password, from whichever of the three places it was offered.
pub fn password(given: Option<String>, from_stdin: bool) -> anyhow::Result<Secret> {
    if let Some(password) = given {
        return Ok(Secret::new(password));
    }
    if from_stdin {
        return Ok(Secret::new(read_line()?.trim_end_matches(['\r', '\n'])));
    }
    if !is_possible() {
        let fault = Fault::usage("no password was given, and there is no terminal to ask for it");
        return Err(fault.hint("pipe it in with `--password-stdin`").into());
    }
    hidden("Password")
}

/// Something secret, from standard input or typed without an echo.
pub fn secret(question: &str, from_stdin: bool) -> anyhow::Result<Secret> {
    if from_stdin {
        return Ok(Secret::new(read_line()?.trim_end_matches(['\r', '\n'])));
    }
    if !is_possible() {
        let fault = Fault::usage("there is no terminal to ask for the token");
        return Err(fault.hint("pipe it in with `--token-stdin`").into());
    }
    hidden(question)
}

fn hidden(question: &str) -> anyhow::Result<Secret> {
    eprint!("{question}: ");
    std::io::stderr().flush()?;
    let silence = Silence::begin()?;
    let answer = read_line();
    drop(silence);
    eprintln!();
    Ok(Secret::new(answer?.trim_end_matches(['\r', '\n'])))
}

fn read_line() -> anyhow::Result<String> {
    std::io::stderr().flush()?;
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(Fault::failed("standard input ended before there was an answer").into());
    }
    Ok(line)
}

/// The terminal without echo; it gets its echo back whichever way we leave.
struct Silence {
    before: Termios,
}

impl Silence {
    fn begin() -> anyhow::Result<Self> {
        let before = tcgetattr(std::io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self { before })
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
