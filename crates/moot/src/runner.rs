//! The engines as the configuration sets them up.

use std::collections::BTreeMap;
use std::sync::Arc;

use folkmoot_engines::engine::EngineSettings;
use folkmoot_engines::engines;
use folkmoot_hub::Hub;
use folkmoot_runs::locks::Locks;
use folkmoot_runs::process::Host;
use folkmoot_runs::process::answers::Answers;
use folkmoot_runs::process::walls::{Hold, Walls};
use folkmoot_runs::run::Runner;

use crate::config::{self, Config, Engine, Environment, Project, paths};

/// The folder of the daemon inside the hub, in the data folder, so that one beside it on the same machine does not meet it.
pub const HOSTING_FOLDER: &str = "hosting";

/// Where an engine is tried, in the data folder.
pub const TEST_FOLDER: &str = "engine-test";

/// What starts runs. All processes of one user share the locks of threads, whatever their configuration: the engines
/// keep their sessions per user too.
pub fn runner(config: &Config) -> Runner {
    let folder = paths::data_dir(&Environment::of_process()).unwrap_or_else(|| config.data_dir());
    let runner = Runner::new(settings(config), Locks::shared(folder.join("threads")), engines::codecs());
    let answers = Answers::kept_in(folder.join("programs.json"));
    runner.on(Host { walls: walls(config), answers, ..Host::default() })
}

/// The same for runs inside the hub, whose `/metrics` has what nobody here understood of the engines.
pub fn inside_hub(hub: &Hub, config: &Config) -> Runner {
    let metrics = Arc::clone(hub.metrics());
    runner(config).counting_unknown(move |engine| metrics.unknown_line(engine.as_str()))
}

/// What is kept from engines: everything that only the hub and its owner may read, but the folders in it that agents work in.
fn walls(config: &Config) -> Walls {
    let data = config.data_dir();
    Walls {
        hold: match config.engines.walls {
            config::Walls::Auto => Hold::Auto,
            config::Walls::Required => Hold::Required,
            config::Walls::Off => Hold::Off,
        },
        closed: config.private_paths(),
        rooms: vec![data.join("agents"), data.join(HOSTING_FOLDER).join("agents")],
        places: config.projects.values().map(Project::folder).chain([data.join(TEST_FOLDER)]).collect(),
        ..Walls::default()
    }
}

/// The tables `[engines.NAME]`.
pub fn settings(config: &Config) -> BTreeMap<String, EngineSettings> {
    config.engines.named.iter().map(|(name, engine)| (name.clone(), of_engine(engine))).collect()
}

fn of_engine(engine: &Engine) -> EngineSettings {
    let own = engine.own.iter().filter_map(|(key, value)| Some((key.clone(), serde_json::to_value(value).ok()?)));
    EngineSettings {
        command: engine.command.clone(),
        extra_args: engine.extra_args.clone(),
        model: engine.model.clone(),
        env: engine.env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect(),
        pass_env: engine.pass_env.clone(),
        own: own.collect(),
    }
}
