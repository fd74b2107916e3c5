//! `moot engines`: which engines there are, which of them can be used here, and how to get and log in to the others.

use folkmoot_engines::engine::Engine;
use folkmoot_engines::engines;
use folkmoot_engines::programs::{self, Program};
use folkmoot_runs::availability::{self, Availability, Login};
use folkmoot_runs::run::Runner;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::output::{self, Paint};
use super::{Fault, Settings};
use crate::config::nearest;
use crate::runner;

mod install;
mod login;

#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  moot engines
  moot engines --json
  moot engines install claude         with npm, into ~/.local; shows the command and asks first
  moot engines login claude           opens the engine's own login in this terminal"
)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Install an engine's program with npm, for you alone, in a version that was tried.
    Install(install::Args),
    /// Open an engine's own login in this terminal.
    Login(login::Args),
}

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    let loaded = settings.load()?;
    let runner = runner::runner(&loaded.config);
    match args.command {
        Some(Command::Install(args)) => install::run(&runner, args).await,
        Some(Command::Login(args)) => login::run(&runner, args).await,
        None => list(&runner, &loaded.config.engines.default, args.json).await,
    }
}

async fn list(runner: &Runner, default: &str, as_json: bool) -> anyhow::Result<()> {
    let found = join_all(engines::ALL.map(|engine| look(engine, runner))).await;
    if as_json {
        let list: Vec<Value> = found.iter().map(|engine| self::as_json(engine, default)).collect();
        return output::json(&Value::Array(list));
    }
    table(&found, default)
}

/// The engine of that name, or what else was probably meant.
pub fn find(name: &str) -> anyhow::Result<&'static dyn Engine> {
    engines::find(name).ok_or_else(|| {
        let names: Vec<String> = engines::ALL.iter().map(|engine| engine.id().to_string()).collect();
        let near = nearest(name, names.iter().map(String::as_str));
        let hint =
            near.map_or_else(|| format!("there are {}", names.join(", ")), |near| format!("did you mean `{near}`?"));
        Fault::usage(format!("there is no engine `{name}`")).hint(hint).into()
    })
}

/// The engine of that name, and what is known about its program.
fn find_program(name: &str) -> anyhow::Result<(&'static dyn Engine, &'static Program)> {
    let engine = find(name)?;
    let program = programs::of(name).ok_or_else(|| Fault::usage(format!("{name} is built in and needs no program")))?;
    Ok((engine, program))
}

async fn look(engine: &'static dyn Engine, runner: &Runner) -> Availability {
    let (settings, host) = (runner.settings(&engine.id()), runner.host());
    let mut found = availability::look(engine, &settings, &host).await;
    if found.is_usable() && engine.warm_probe().is_some() {
        found.warm = Some(availability::has_warm(engine, &settings, &host).await);
    }
    found
}

fn as_json(found: &Availability, default: &str) -> Value {
    let trouble = found.trouble();
    json!({
        "engine": found.engine,
        "default": found.engine == default,
        "version": found.version,
        "path": found.path,
        "state": state(found),
        "usable": trouble.is_none(),
        "login": found.login.word(),
        "warm": found.warm.unwrap_or(false),
        "reason": trouble.map(|trouble| &trouble.sentence),
        "hint": trouble.and_then(|trouble| trouble.hint.as_ref()),
        "notes": found.notes,
    })
}

fn state(found: &Availability) -> &'static str {
    match (found.is_usable(), &found.login, found.warm) {
        (false, ..) => "unusable",
        (true, Login::Out(_), _) => "installed, not logged in",
        (true, _, Some(true)) => "ready, steerable",
        (true, ..) => "ready",
    }
}

fn table(found: &[Availability], default: &str) -> anyhow::Result<()> {
    let row = |engine: &Availability| {
        let name =
            if engine.engine == default { format!("{} (default)", engine.engine) } else { engine.engine.clone() };
        let place = match (&engine.problem, &engine.path) {
            (Some(problem), _) => problem.sentence.clone(),
            (None, Some(path)) => path.display().to_string(),
            (None, None) => "built in".to_owned(),
        };
        vec![name, engine.version.clone().unwrap_or_else(|| "-".to_owned()), state(engine).to_owned(), place]
    };
    output::table(&["ENGINE", "VERSION", "STATE", "PATH OR REASON"], &found.iter().map(row).collect::<Vec<_>>())?;
    let paint = Paint::of_stderr();
    for engine in found {
        for note in &engine.notes {
            output::note(&format!("{} {}: {note}", paint.cyan("note:"), engine.engine));
        }
        if let Some(hint) = engine.trouble().and_then(|trouble| trouble.hint.as_ref()) {
            output::note(&format!("{} {}: {hint}", paint.cyan("hint:"), engine.engine));
        }
    }
    Ok(())
}
