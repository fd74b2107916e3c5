//! `moot engines login`: the engine's own login, in this terminal and in the environment that its runs have.

use std::io::IsTerminal;

use folkmoot_runs::availability::{self, Login};
use folkmoot_runs::run::Runner;

use crate::cli::{Fault, output};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  moot engines login claude
  moot engines login codex -- --device-auth                  on a machine without a browser
  printenv KEY | moot engines login codex -- --with-api-key")]
pub struct Args {
    /// claude, codex, opencode or pi.
    engine: String,
    /// What else the engine's login takes, behind `--`.
    #[arg(last = true)]
    more: Vec<String>,
}

pub async fn run(runner: &Runner, args: Args) -> anyhow::Result<()> {
    let (engine, program) = super::find_program(&args.engine)?;
    let settings = runner.settings(&engine.id());
    let name = &args.engine;
    folkmoot_engines::engine::settings::check_settings(engine, &settings).map_err(|error| Fault {
        sentence: error.sentence,
        hint: error.hint,
        usage: true,
    })?;
    let mut command = availability::login_command(engine, &settings).map_err(|error| {
        Fault::failed(error.sentence).hint(format!("`moot engines install {name}`, or set `engines.{name}.command`"))
    })?;
    if args.more.is_empty() && !std::io::stdin().is_terminal() {
        let fault = Fault::usage("a login needs a terminal, and standard input is none");
        return Err(fault.hint("run it in a terminal; some logins take a key from a pipe, see `--help`").into());
    }
    if let Some(words) = program.login_words {
        output::note(&format!("This opens {name}: {words}."));
    }
    let status = command.args(program.login).args(&args.more).status();
    let status = status.map_err(|error| Fault::failed(format!("{name} cannot be started: {error}")))?;
    if !status.success() {
        return Err(Fault::failed(format!("the login of {name} did not succeed ({status})")).into());
    }
    let found = availability::look(engine, &settings, &runner.host()).await;
    match found.login {
        Login::Out(problem) => Err(Fault { sentence: problem.sentence, hint: problem.hint, usage: false }.into()),
        Login::In => output::line(&format!("{name} is ready.")),
        Login::Free | Login::Unknown => {
            found.notes.iter().for_each(|note| output::note(note));
            Ok(())
        }
    }
}
