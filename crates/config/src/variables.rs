//! Environment variables: which key `MOOT_SECTION__KEY` or `MOOT_SECTION__KEY_FILE` stands for.

use super::keys::{self, Kind};
use super::nearest::distance;
use super::{Environment, Problem};

/// A variable that names a key.
pub struct Variable {
    pub path: String,
    /// The value is the name of a file that holds it.
    pub from_file: bool,
}

/// A variable that names none.
pub enum Unknown {
    /// Meant for us, but misspelt.
    Mistake(Problem),
    /// Probably somebody else's; worth a note only.
    Foreign(Problem),
}

/// The key that `SERVER__LISTEN` or `LLM__API_KEY_FILE` stands for.
pub fn find(rest: &str) -> Option<Variable> {
    let known = |rest: &str| {
        let path = key_path(rest);
        keys::find(&path).map(|found| (path, found.kind))
    };
    let stem = rest.strip_suffix("_FILE").and_then(known).filter(|(_, kind)| *kind != Kind::Any);
    if let Some((path, _)) = stem {
        return Some(Variable { path, from_file: true });
    }
    known(rest).map(|(path, _)| Variable { path, from_file: false })
}

/// A name with two underscores means a key; any other only counts when it looks like a slip of one, because
/// scripts around this program may have variables of their own that begin with `MOOT_`.
pub fn unknown(name: &str, rest: &str) -> Unknown {
    let near = nearest_variable(rest);
    let slip = distance(&near.replace("__", "_"), name) <= 2;
    if rest.contains("__") || slip {
        let problem = Problem::new(format!("unknown environment variable `{name}`"));
        return Unknown::Mistake(problem.hint(format!("the nearest known one is `{near}`")));
    }
    Unknown::Foreign(Problem::new(format!("the environment variable {name} is set, but means nothing to this program")))
}

pub fn refuse_twice(environment: &Environment, name: &str, path: &str) -> Result<(), Problem> {
    let stem = name.strip_suffix("_FILE").unwrap_or(name);
    if environment.get(stem).is_none() {
        return Ok(());
    }
    let sentence = format!("`{path}` is given twice, with and without `_FILE`");
    Err(Problem::new(sentence).hint(format!("unset {name} or {stem}")))
}

pub fn read_value_file(path: &str) -> Result<String, Problem> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Problem::new(format!("the file `{path}` cannot be read: {error}")))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn key_path(rest: &str) -> String {
    let parts: Vec<&str> = rest.split("__").collect();
    let path: Vec<String> = parts.iter().map(|part| part.to_lowercase()).collect();
    // What follows `env` is itself the name of a variable and keeps its case.
    match (parts.as_slice(), path.as_slice()) {
        ([_, _, _, name], [engines, engine, env, _]) if engines == "engines" && env == "env" => {
            format!("engines.{engine}.env.{name}")
        }
        _ => path.join("."),
    }
}

fn nearest_variable(rest: &str) -> String {
    let wanted = rest.replace("__", "_").to_lowercase();
    let fixed = keys::KEYS.iter().map(|key| key.path).filter(|path| !path.contains('*'));
    let by_letters = fixed.min_by_key(|path| distance(&path.replace('.', "_"), &wanted)).map(str::to_owned);
    let by_parts = || keys::suggest(&key_path(rest)).filter(|path| path.contains('.'));
    let path = if rest.contains("__") { by_parts().or(by_letters) } else { by_letters };
    let name = path.unwrap_or_default().to_uppercase().replace('.', "__");
    if !rest.contains("__") && distance(rest, "CONFIG") < distance(rest, &name.replace("__", "_")) {
        return "MOOT_CONFIG".into();
    }
    format!("MOOT_{name}")
}
