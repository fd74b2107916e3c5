//! `moot config`: show, check and change the settings.

use std::io::Read;
use std::process::ExitCode;

use serde_json::json;

use super::{Fault, Settings, output};
use crate::config::{Loaded, edit, keys, load_path, values};

#[derive(Debug, clap::Subcommand)]
#[command(after_help = "\
Examples:
  moot config list                               every key, its value and where it comes from
  moot config get server.listen
  moot config set server.registration open
  pass show llm | moot config set llm.api_key -   read the value from standard input
  moot config check                              exit code 2 if something is wrong

A key comes from, in rising order: its default, the file, the environment variable
MOOT_SECTION__KEY (or MOOT_SECTION__KEY_FILE), a flag.")]
pub enum Command {
    /// Print where the configuration file is.
    Path(JsonArg),
    /// List every key with its value and its origin; secrets are shown as ***, long values are cut.
    List(ListArgs),
    /// Print the value of one key.
    Get(GetArgs),
    /// Change one key in the file; comments and layout stay.
    Set(SetArgs),
    /// Check everything without starting anything.
    Check(JsonArg),
}

#[derive(Debug, clap::Args)]
pub struct JsonArg {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Also say what each key is for.
    #[arg(long)]
    about: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct GetArgs {
    /// The key, such as `server.listen`.
    key: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct SetArgs {
    /// The key, such as `server.listen`.
    key: String,
    /// The value; lists as `a,b`; `-` reads it from standard input.
    #[arg(allow_negative_numbers = true)]
    value: String,
}

pub fn run(settings: &Settings, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Path(args) => path(settings, args.json)?,
        Command::List(args) => list(&settings.load()?, &args)?,
        Command::Get(args) => get(&settings.load()?, &args)?,
        Command::Set(args) => set(settings, args)?,
        Command::Check(args) => check(&settings.load()?, args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn path(settings: &Settings, as_json: bool) -> anyhow::Result<()> {
    let (path, _) = load_path(&settings.sources())?;
    if as_json {
        return output::json(&json!({"path": path, "exists": path.exists()}));
    }
    output::line(&path.display().to_string())
}

fn list(loaded: &Loaded, args: &ListArgs) -> anyhow::Result<()> {
    let leaves = values::leaves(&loaded.table);
    if args.json {
        let row = |(path, value): &(String, &toml::Value)| json!({"key": path, "value": values::shown(path, value), "origin": loaded.origin(path).to_string()});
        return output::json(&leaves.iter().map(row).collect());
    }
    let header = if args.about { ["KEY", "VALUE", "FOR"] } else { ["KEY", "VALUE", "FROM"] };
    let last = |path: &str| if args.about { keys::about(path).to_owned() } else { loaded.origin(path).to_string() };
    let row = |(path, value): &(String, &toml::Value)| {
        vec![path.clone(), in_column(&values::shown(path, value).to_string()), last(path)]
    };
    output::table(&header, &leaves.iter().map(row).collect::<Vec<_>>())
}

/// One long value does not make every line long; `get` shows it whole.
fn in_column(value: &str) -> String {
    const WIDTH: usize = 40;
    match value.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

fn get(loaded: &Loaded, args: &GetArgs) -> anyhow::Result<()> {
    let leaves = values::leaves(&loaded.table);
    let Some((path, value)) = leaves.iter().find(|(path, _)| *path == args.key) else {
        return Err(missing(&args.key).into());
    };
    match values::shown(path, value) {
        shown if args.json => output::json(&json!(shown)),
        toml::Value::String(text) => output::line(&text),
        shown => output::line(&shown.to_string()),
    }
}

fn missing(key: &str) -> Fault {
    if keys::find(key).is_some() {
        return Fault::failed(format!("`{key}` is not set"));
    }
    let fault = Fault::usage(format!("unknown key `{key}`"));
    match keys::suggest(key) {
        Some(near) => fault.hint(format!("the nearest known one is `{near}`; `moot config list` shows all")),
        None => fault,
    }
}

fn set(settings: &Settings, args: SetArgs) -> anyhow::Result<()> {
    let mut value = args.value;
    if value == "-" {
        value.clear();
        std::io::stdin().lock().read_to_string(&mut value)?;
        value.truncate(value.trim_end_matches(['\r', '\n']).len());
    }
    let file = edit::set(&settings.sources(), &args.key, &value)?;
    output::note(&format!("set {} in {}", args.key, file.display()));
    Ok(())
}

fn check(loaded: &Loaded, as_json: bool) -> anyhow::Result<()> {
    let notes: Vec<String> = loaded.notes.iter().map(ToString::to_string).collect();
    if as_json {
        return output::json(&json!({"ok": true, "file": loaded.file, "exists": loaded.file_exists, "notes": notes}));
    }
    for note in notes {
        output::note(&format!("note: {note}"));
    }
    match loaded.file_exists {
        true => output::line(&format!("{} is good", loaded.file.display())),
        false => {
            output::line(&format!("there is no {}; the defaults and the environment are good", loaded.file.display()))
        }
    }
}
