//! The engines as the configuration sets them up.

use std::collections::BTreeMap;

use folkmoot_engines::engine::Settings;
use folkmoot_engines::engines;
use folkmoot_engines::locks::Locks;
use folkmoot_engines::run::Runner;

use crate::config::{Config, Engine, Environment, paths};

/// What starts runs. All processes of one user share the locks of threads, whatever their configuration: the engines
/// keep their sessions per user too.
pub fn runner(config: &Config) -> Runner {
    let folder = paths::data_dir(&Environment::of_process()).unwrap_or_else(|| config.data_dir());
    Runner::new(settings(config), Locks::shared(folder.join("threads")), engines::codecs())
}

/// The tables `[engines.NAME]`.
pub fn settings(config: &Config) -> BTreeMap<String, Settings> {
    config.engines.named.iter().map(|(name, engine)| (name.clone(), of_engine(engine))).collect()
}

fn of_engine(engine: &Engine) -> Settings {
    let own = engine.own.iter().filter_map(|(key, value)| Some((key.clone(), serde_json::to_value(value).ok()?)));
    Settings {
        command: engine.command.clone(),
        extra_args: engine.extra_args.clone(),
        model: engine.model.clone(),
        env: engine.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect(),
        own: own.collect(),
    }
}
