//! `moot engines`: which engines there are, and which of them can be used here.

use folkmoot_engines::availability::{self, Availability};
use folkmoot_engines::engines;
use folkmoot_engines::run::Runner;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::output::{self, Paint};
use super::{Fault, Settings};
use crate::config::nearest;
use crate::runner;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  moot engines\n  moot engines --json")]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub async fn run(settings: &Settings, args: Args) -> anyhow::Result<()> {
    let loaded = settings.load()?;
    let runner = runner::runner(&loaded.config);
    let found = join_all(engines::ALL.map(|engine| look(engine, &runner))).await;
    let default = &loaded.config.engines.default;
    if args.json {
        let list: Vec<Value> = found.iter().map(|engine| as_json(engine, default)).collect();
        return output::json(&Value::Array(list));
    }
    table(&found, default)
}

/// The engine of that name, or what else was probably meant.
pub fn find(name: &str) -> anyhow::Result<&'static dyn folkmoot_engines::engine::Engine> {
    engines::find(name).ok_or_else(|| {
        let names: Vec<String> = engines::ALL.iter().map(|engine| engine.id().to_string()).collect();
        let near = nearest(name, names.iter().map(String::as_str));
        let hint =
            near.map_or_else(|| format!("there are {}", names.join(", ")), |near| format!("did you mean `{near}`?"));
        Fault::usage(format!("there is no engine `{name}`")).hint(hint).into()
    })
}

async fn look(engine: &'static dyn folkmoot_engines::engine::Engine, runner: &Runner) -> Availability {
    let (settings, host) = (runner.settings(&engine.id()), runner.host());
    let mut found = availability::look(engine, &settings, &host).await;
    if found.is_usable() && engine.warm_probe().is_some() {
        found.warm = Some(availability::has_warm(engine, &settings, &host).await);
    }
    found
}

fn as_json(found: &Availability, default: &str) -> Value {
    json!({
        "engine": found.engine,
        "default": found.engine == default,
        "version": found.version,
        "path": found.path,
        "state": state(found),
        "usable": found.is_usable(),
        "warm": found.warm.unwrap_or(false),
        "reason": found.problem.as_ref().map(|problem| &problem.sentence),
        "hint": found.problem.as_ref().and_then(|problem| problem.hint.as_ref()),
    })
}

fn state(found: &Availability) -> &'static str {
    match (found.is_usable(), found.warm) {
        (false, _) => "unusable",
        (true, Some(true)) => "ready, steerable",
        (true, _) => "ready",
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
    for engine in found {
        if let Some(hint) = engine.problem.as_ref().and_then(|problem| problem.hint.as_ref()) {
            output::note(&format!("{} {}: {hint}", Paint::of_stderr().cyan("hint:"), engine.engine));
        }
    }
    Ok(())
}
