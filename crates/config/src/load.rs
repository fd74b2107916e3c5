//! Layers defaults, file, environment and flags into one [`Config`], and refuses what it does not know.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::PathBuf;

use serde::Deserialize;
use toml::{Table, Value};

use super::file::File;
use super::keys::{self, Kind};
use super::values::{fits, leaves, parse_text, wrong_type};
use super::variables::{self, Unknown};
use super::{Config, ConfigError, Environment, Problem, paths, validate};

/// Where settings are looked for.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// `--config F`; it must exist.
    pub file: Option<PathBuf>,
    pub environment: Environment,
    pub overrides: Vec<Override>,
}

impl Sources {
    /// What a command of this process sees.
    pub fn of_process(file: Option<PathBuf>) -> Self {
        Self { file, environment: Environment::of_process(), overrides: Vec::new() }
    }
}

/// A flag that sets a key, like `--listen`.
#[derive(Clone, Debug)]
pub struct Override {
    pub flag: &'static str,
    pub key: &'static str,
    pub value: String,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// `file:line`.
    File(String),
    Environment(String),
    Flag(&'static str),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(place) => formatter.write_str(place),
            Self::Environment(name) => write!(formatter, "environment variable {name}"),
            Self::Flag(flag) => write!(formatter, "flag {flag}"),
        }
    }
}

/// A configuration and the story of how it came about.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    /// The file that was read, or would have been.
    pub file: PathBuf,
    pub file_exists: bool,
    /// Effective values by section, secrets included: mask them before showing.
    pub table: Table,
    /// Things that are allowed but probably not meant.
    pub notes: Vec<Problem>,
    origins: BTreeMap<String, Origin>,
}

impl Loaded {
    pub fn origin(&self, path: &str) -> Origin {
        self.origins.get(path).cloned().unwrap_or(Origin::Default)
    }

    /// The files that secrets were read from: the configuration itself, and those that `_FILE` variables name.
    pub fn files_with_secrets(&self) -> BTreeSet<PathBuf> {
        let is_secret = |path: &str| keys::find(path).is_some_and(|known| known.secret);
        let is_filled = |value: &toml::Value| value.as_str().is_none_or(|text| !text.is_empty());
        let leaves = leaves(&self.table);
        let secrets = leaves.iter().filter(|(path, value)| is_secret(path) && is_filled(value));
        let file_of = |origin| match origin {
            Origin::File(_) => Some(self.file.clone()),
            Origin::Environment(name) if name.ends_with("_FILE") => std::env::var_os(name).map(PathBuf::from),
            Origin::Environment(_) | Origin::Default | Origin::Flag(_) => None,
        };
        secrets.filter_map(|(path, _)| file_of(self.origin(path))).collect()
    }
}

/// Reads every source; either the whole configuration is good or all its problems come back.
pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let (path, must_exist) = file_path(sources)?;
    let file = if must_exist || path.exists() { Some(File::read(&path)?) } else { None };
    load_with(sources, path, file.as_ref())
}

/// Like [`load`], with the text of the file given instead of read.
pub fn load_text(sources: &Sources, path: PathBuf, text: String) -> Result<Loaded, ConfigError> {
    let file = File::parse(&path, text)?;
    load_with(sources, path, Some(&file))
}

/// The configuration file, and whether somebody asked for exactly this one.
pub fn file_path(sources: &Sources) -> Result<(PathBuf, bool), ConfigError> {
    if let Some(path) = &sources.file {
        return Ok((path.clone(), true));
    }
    if let Some(path) = sources.environment.get("MOOT_CONFIG").filter(|path| !path.is_empty()) {
        return Ok((PathBuf::from(path), true));
    }
    let folder = paths::config_dir(&sources.environment).ok_or_else(|| {
        Problem::new("there is no home folder to look for the configuration in")
            .hint("set HOME, or name a file with `--config`")
    })?;
    Ok((folder.join("config.toml"), false))
}

fn load_with(sources: &Sources, path: PathBuf, file: Option<&File>) -> Result<Loaded, ConfigError> {
    let mut layers = Layers::new();
    if let Some(file) = file {
        layers.add_file(file);
    }
    layers.add_environment(&sources.environment);
    layers.add_overrides(&sources.overrides);
    layers.derive_public_url();
    let mut config = layers.config();
    if let Some(config) = &mut config {
        config.default_data_dir = paths::data_dir(&sources.environment);
        config.file = Some(path.clone());
        fill_engine_commands(config);
        layers.validate(config);
    }
    let Layers { table, origins, problems, notes } = layers;
    match config {
        Some(config) if problems.is_empty() => {
            Ok(Loaded { config, file: path, file_exists: file.is_some(), table, notes, origins })
        }
        _ => Err(ConfigError { problems }),
    }
}

/// An engine without a command of its own is called by its name.
fn fill_engine_commands(config: &mut Config) {
    for (name, engine) in &mut config.engines.named {
        if engine.command.is_empty() {
            engine.command.clone_from(name);
        }
    }
}

/// The values gathered so far, later layers over earlier ones.
struct Layers {
    table: Table,
    origins: BTreeMap<String, Origin>,
    problems: Vec<Problem>,
    notes: Vec<Problem>,
}

impl Layers {
    fn new() -> Self {
        let table = Table::try_from(Config::default()).expect("the defaults are a table");
        Self { table, origins: BTreeMap::new(), problems: Vec::new(), notes: Vec::new() }
    }

    fn add_file(&mut self, file: &File) {
        for (name, value) in &file.table {
            self.add_file_value(file, name, value);
        }
    }

    fn add_file_value(&mut self, file: &File, path: &str, value: &Value) {
        let known = keys::find(path);
        let open = known.is_none_or(|known| known.kind == Kind::Any) && keys::is_section(path);
        if let (Value::Table(below), true) = (value, open) {
            for (name, value) in below {
                self.add_file_value(file, &format!("{path}.{name}"), value);
            }
            return;
        }
        match known {
            Some(known) if fits(known.kind, value) => {
                self.set(path, value.clone(), Origin::File(file.place(path)));
            }
            Some(known) => self.problems.push(wrong_type(path, &known.kind.expected(), value).at(file.place(path))),
            None if keys::is_section(path) => {
                self.problems.push(wrong_type(path, "a table", value).at(file.place(path)));
            }
            None => self.problems.push(unknown_key(path, value).at(file.place(path))),
        }
    }

    fn add_environment(&mut self, environment: &Environment) {
        for (name, value) in environment.iter() {
            let Some(rest) = name.strip_prefix("MOOT_").filter(|rest| *rest != "CONFIG") else {
                continue;
            };
            if let Err(problem) = self.add_variable(environment, name, rest, value) {
                self.problems.push(problem);
            }
        }
    }

    fn add_variable(
        &mut self,
        environment: &Environment,
        name: &str,
        rest: &str,
        value: &OsStr,
    ) -> Result<(), Problem> {
        let Some(variable) = variables::find(rest) else {
            return self.unknown_variable(name, rest);
        };
        let place = format!("environment variable {name}");
        let located = |problem: Problem| problem.at(place.clone());
        let text = value.to_str().ok_or_else(|| located(Problem::new("the value is not UTF-8 text")))?;
        let text = if variable.from_file {
            variables::refuse_twice(environment, name, &variable.path).map_err(located)?;
            variables::read_value_file(text).map_err(located)?
        } else {
            text.to_owned()
        };
        let value = parse_text(&variable.path, &text).map_err(located)?;
        self.set(&variable.path, value, Origin::Environment(name.to_owned()));
        Ok(())
    }

    fn unknown_variable(&mut self, name: &str, rest: &str) -> Result<(), Problem> {
        match variables::unknown(name, rest) {
            Unknown::Mistake(problem) => Err(problem),
            Unknown::Foreign(note) => {
                self.notes.push(note);
                Ok(())
            }
        }
    }

    fn add_overrides(&mut self, overrides: &[Override]) {
        for Override { flag, key, value } in overrides {
            match parse_text(key, value) {
                Ok(value) => self.set(key, value, Origin::Flag(flag)),
                Err(problem) => self.problems.push(problem.at(format!("flag {flag}"))),
            }
        }
    }

    /// Somebody who moves the listener means the hub to be reached there.
    fn derive_public_url(&mut self) {
        let moved = self.origins.contains_key("server.listen");
        if !moved || self.origins.contains_key("server.public_url") {
            return;
        }
        let listen = self.table["server"]["listen"].as_str().unwrap_or_default();
        if let Ok(mut address) = super::parse_listen(listen) {
            if address.ip().is_unspecified() {
                address.set_ip(if address.is_ipv4() {
                    [127, 0, 0, 1].into()
                } else {
                    std::net::Ipv6Addr::LOCALHOST.into()
                });
            }
            insert(&mut self.table, "server.public_url", Value::String(format!("http://{address}")));
        }
    }

    fn config(&mut self) -> Option<Config> {
        match Config::deserialize(self.table.clone()) {
            Ok(config) => Some(config),
            Err(error) => {
                // The types were checked key by key; this can only be a hole in the catalogue.
                self.problems.push(Problem::new(format!("the configuration does not fit: {}", error.message())));
                None
            }
        }
    }

    fn validate(&mut self, config: &Config) {
        for (path, problem) in validate::problems(config) {
            let place = match self.origins.get(&path) {
                Some(Origin::Default) | None => None,
                Some(origin) => Some(origin.to_string()),
            };
            self.problems.push(Problem { place, ..problem });
        }
    }

    fn set(&mut self, path: &str, value: Value, origin: Origin) {
        insert(&mut self.table, path, value);
        self.origins.insert(path.to_owned(), origin);
    }
}

/// Puts a value at a dotted path, making tables on the way.
pub fn insert(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value);
        }
        Some((head, rest)) => {
            let below = table.entry(head.to_owned()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(below) = below {
                insert(below, rest, value);
            }
        }
    }
}

fn unknown_key(path: &str, value: &Value) -> Problem {
    let what = if value.is_table() && !path.contains('.') { "section" } else { "key" };
    let problem = Problem::new(format!("unknown {what} `{path}`"));
    match keys::suggest(path) {
        Some(near) => problem.hint(format!("the nearest known one is `{near}`")),
        None => problem,
    }
}
