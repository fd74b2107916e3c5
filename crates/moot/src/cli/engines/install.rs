//! `moot engines install`: an engine's program from npm, in a version that was tried, for the user alone.

use std::os::fd::AsFd;
use std::path::Path;
use std::process::Stdio;

use folkmoot_engines::engine::EngineError;
use folkmoot_engines::programs;
use folkmoot_runs::availability::{self, Availability};
use folkmoot_runs::install::Install;
use folkmoot_runs::run::Runner;

use crate::cli::{Fault, output, prompt};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
It goes to ~/.local (the program to ~/.local/bin): no other user is touched, no root is needed.
npm must be there. The version is the newest one that was tried and that the Node here can run;
see docs/engines.md.

Examples:
  moot engines install claude
  moot engines install pi --yes")]
pub struct Args {
    /// claude, codex, opencode or pi.
    engine: String,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

pub async fn run(runner: &Runner, args: Args) -> anyhow::Result<()> {
    let (engine, program) = super::find_program(&args.engine)?;
    let settings = runner.settings(&engine.id());
    if !settings.command.is_empty() && settings.command != args.engine {
        let sentence = format!("`engines.{}.command` names another program: {}", engine.id(), settings.command);
        return Err(Fault::usage(sentence).hint("take that key out of the configuration first").into());
    }
    let plan = Install::plan(program).map_err(failed)?;
    let found = availability::look(engine, &settings, &runner.host()).await;
    if is_there(&found, &plan)? {
        return done(&found);
    }
    show(&plan);
    if !args.yes && !agreed()? {
        output::note("Nothing was installed.");
        return Ok(());
    }
    carry_out(&plan)?;
    let found = availability::look(engine, &settings, &runner.host()).await;
    match found.problem {
        Some(problem) => Err(failed(problem).into()),
        None => done(&found),
    }
}

fn failed(error: EngineError) -> Fault {
    Fault { sentence: error.sentence, hint: error.hint, usage: false }
}

fn agreed() -> anyhow::Result<bool> {
    if !prompt::is_possible() {
        let fault = Fault::usage("there is no terminal to ask whether to go on");
        return Err(fault.hint("`--yes` installs without asking").into());
    }
    prompt::confirm("Go on?")
}

/// Whether there is nothing to do. One that came another way is not replaced: the search path would still find it first.
fn is_there(found: &Availability, plan: &Install) -> Result<bool, Fault> {
    let (Some(path), Some(version)) = (&found.path, &found.version) else { return Ok(false) };
    if programs::order(version, plan.release.version).is_ge() {
        return Ok(true);
    }
    if *path == plan.target() {
        return Ok(false);
    }
    let fault = Fault::failed(format!("{} {version} is installed already, at {}", found.engine, path.display()));
    Err(fault.hint("update it the way it was installed, or remove it first; it runs as it is"))
}

/// What is there now, and what is left to do.
fn done(found: &Availability) -> anyhow::Result<()> {
    let version = found.version.as_deref().unwrap_or_default();
    let path = found.path.as_deref().unwrap_or(Path::new("?"));
    output::line(&format!("{} {version} is installed: {}", found.engine, path.display()))?;
    if !is_in_search_path(path) {
        let folder = path.parent().unwrap_or(path).display();
        output::note(&format!("moot finds it there; for your shell, add {folder} to PATH."));
    }
    if let Some(hint) = found.trouble().and_then(|trouble| trouble.hint.as_ref()) {
        output::note(&format!("Log in next: {hint}"));
    }
    Ok(())
}

fn is_in_search_path(program: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| Some(folder.as_path()) == program.parent())
}

fn show(plan: &Install) {
    let (program, release, newest) = (plan.program, plan.release, plan.program.releases[0]);
    let target = plan.target();
    output::note(&format!(
        "This installs {} {} for you alone, as {}:",
        program.engine,
        release.version,
        target.display()
    ));
    output::note(&format!("  npm {}", plan.arguments().join(" ")));
    if release != newest {
        output::note(&format!("({} is newer, but needs Node {}.)", newest.version, newest.node));
    }
    if program.has_scripts {
        output::note("npm also runs what the package itself does after it is unpacked.");
    }
}

fn carry_out(plan: &Install) -> anyhow::Result<()> {
    // Standard output is for what we say ourselves.
    let status = plan.command().stdout(Stdio::from(std::io::stderr().as_fd().try_clone_to_owned()?)).status();
    let status = status.map_err(|error| Fault::failed(format!("npm cannot be started: {error}")))?;
    if status.success() {
        return Ok(());
    }
    let hint = match plan.is_taken() {
        true => format!("{} is there already, and npm replaces only what it installed", plan.target().display()),
        false => "what npm said above tells why; what was there before is still there".to_owned(),
    };
    Err(Fault::failed(format!("npm did not install {} ({status})", plan.program.engine)).hint(hint).into())
}
