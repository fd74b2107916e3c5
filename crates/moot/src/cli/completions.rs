//! `moot completions`: the script that teaches a shell our commands.

use std::process::ExitCode;

use clap_complete::Shell;

use super::output;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot completions bash > ~/.local/share/bash-completion/completions/moot
  moot completions zsh > ~/.zfunc/_moot
  moot completions fish > ~/.config/fish/completions/moot.fish")]
pub struct Args {
    /// The shell to write for.
    shell: Shell,
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "moot", &mut script);
    output::exact(&String::from_utf8(script)?)?;
    Ok(ExitCode::SUCCESS)
}
