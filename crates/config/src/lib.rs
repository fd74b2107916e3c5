//! What an operator can set: every key as a typed field, with its default.
//!
//! A setting comes from, in rising order: the default here, the configuration file, the environment
//! (`MOOT_SECTION__KEY`, or `MOOT_SECTION__KEY_FILE` to read a secret from a file), a command line flag.
//! [`load`] does that layering and refuses what it does not know; [`keys`] is the catalogue it checks against.
//!
//! To add a key: a field with its default here (or in the `settings` of `folkmoot-hub` or `folkmoot-services`, whose sections
//! are composed here), a row in [`keys::KEYS`], a rule in `validate.rs` if not every value
//! is good, and a line in `docs/operations.md`. A test compares the fields with the catalogue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

mod agents;
mod bot;
pub mod edit;
mod environment;
mod file;
pub mod keys;
mod load;
mod nearest;
pub mod paths;
mod private;
mod problem;
#[cfg(test)]
mod tests;
mod validate;
pub mod values;
mod variables;

pub use agents::Agent;
pub use bot::Bot;
pub use environment::Environment;
pub use folkmoot_hub::settings::{Limits, LogFormat, Network, Registration, Secret, Server, Wakes, parse_listen};
pub use folkmoot_services::settings::{Chopsticks, Smarthole};
pub use load::{Loaded, Origin, Override, Sources, file_path as load_path, load, load_text};
pub use nearest::nearest;
pub use private::tend_all;
pub use problem::{ConfigError, Problem};

/// All settings, after layering and validation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub server: Server,
    pub store: Store,
    pub bus: Bus,
    pub llm: Llm,
    pub stt: Stt,
    pub smarthole: Smarthole,
    pub chopsticks: Chopsticks,
    pub telegram: Telegram,
    pub engines: Engines,
    pub projects: BTreeMap<String, Project>,
    pub wakes: Wakes,
    pub limits: Limits,
    pub bot: Bot,
    pub agentd: Agentd,
    pub agents: BTreeMap<String, Agent>,
    /// The XDG data folder as it was when the configuration was loaded.
    #[serde(skip)]
    default_data_dir: Option<PathBuf>,
    /// The file that it came from, whether that is there or not.
    #[serde(skip)]
    file: Option<PathBuf>,
}

impl Config {
    /// The folder that holds the database, the uploads and the hub's own secret.
    pub fn data_dir(&self) -> PathBuf {
        let environment = Environment::of_process();
        if !self.server.data_dir.is_empty() {
            return paths::expand_home(&self.server.data_dir, &environment);
        }
        self.default_data_dir
            .clone()
            .or_else(|| paths::data_dir(&environment))
            .unwrap_or_else(|| PathBuf::from("folkmoot-data"))
    }

    /// What only the hub and its owner may read: its folders, its configuration, and files that hold single secrets.
    pub fn private_paths(&self) -> Vec<PathBuf> {
        let environment = Environment::of_process();
        let folders = [Some(self.data_dir()), paths::data_dir(&environment), paths::config_dir(&environment)];
        folders.into_iter().flatten().chain(self.file.clone()).chain(environment.secret_files()).collect()
    }

    /// Whether the value of `key` must never be shown.
    pub fn is_secret(key: &str) -> bool {
        keys::find(key).is_some_and(|found| found.secret)
    }
}

/// `[store]`: where messages are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    pub url: Secret,
}

impl Default for Store {
    fn default() -> Self {
        Self { url: Secret::new("sqlite") }
    }
}

/// `[bus]`: how several hubs tell each other what happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bus {
    pub url: Secret,
}

impl Default for Bus {
    fn default() -> Self {
        Self { url: Secret::new("local") }
    }
}

/// `[llm]`: any OpenAI-compatible chat endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Llm {
    pub base_url: String,
    pub api_key: Secret,
    pub model: String,
}

impl Default for Llm {
    fn default() -> Self {
        Self { base_url: "https://api.openai.com/v1".into(), api_key: Secret::default(), model: "gpt-4o-mini".into() }
    }
}

/// `[stt]`: any OpenAI-compatible transcription endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stt {
    pub base_url: String,
    pub api_key: Secret,
    pub model: String,
}

impl Default for Stt {
    fn default() -> Self {
        Self {
            base_url: "https://api.openai.com/v1".into(),
            api_key: Secret::default(),
            model: "gpt-4o-mini-transcribe".into(),
        }
    }
}

/// `[telegram]`: the Telegram bridge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telegram {
    pub bot_token: Secret,
    pub chat_id: i64,
    pub allowed_user_ids: Vec<i64>,
    pub api_base: String,
    pub edit_interval_s: f64,
    pub join_window_s: f64,
    pub message_overflow: MessageOverflow,
    pub session_mode: SessionMode,
    pub uploads_dir: String,
}

/// What happens to an answer that is longer than a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageOverflow {
    /// As many messages as it takes.
    Split,
    /// One message, its end cut.
    Trim,
}

/// Whether a chat goes on where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionMode {
    /// Every message begins a thread, unless it replies to one.
    Stateless,
    /// A message goes on with the last thread of its chat or topic.
    Chat,
}

impl Default for Telegram {
    fn default() -> Self {
        Self {
            bot_token: Secret::default(),
            chat_id: 0,
            allowed_user_ids: Vec::new(),
            api_base: "https://api.telegram.org".into(),
            edit_interval_s: 1.0,
            join_window_s: 0.35,
            message_overflow: MessageOverflow::Split,
            session_mode: SessionMode::Stateless,
            uploads_dir: "incoming".into(),
        }
    }
}

/// `[engines]`: the default engine and one table per engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Engines {
    pub default: String,
    pub walls: Walls,
    #[serde(flatten)]
    pub named: BTreeMap<String, Engine>,
}

impl Default for Engines {
    fn default() -> Self {
        let named = ["codex", "claude", "opencode", "pi"];
        Self {
            default: "codex".into(),
            walls: Walls::Auto,
            named: named.into_iter().map(|name| (name.to_owned(), Engine::named(name))).collect(),
        }
    }
}

/// Whether the hub's own files are kept from engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Walls {
    /// Where the kernel can hold them.
    Auto,
    /// An engine that cannot be kept out is not started.
    Required,
    /// Not at all.
    Off,
}

/// `[engines.NAME]`: how one engine is started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Engine {
    pub command: String,
    pub extra_args: Vec<String>,
    pub model: String,
    pub env: BTreeMap<String, Secret>,
    pub pass_env: Vec<String>,
    /// Keys that only this engine knows.
    #[serde(flatten)]
    pub own: BTreeMap<String, toml::Value>,
}

impl Engine {
    fn named(name: &str) -> Self {
        Self { command: name.to_owned(), ..Self::default() }
    }
}

/// `[projects.NAME]`: a folder that chats can work in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Project {
    pub path: String,
    pub default_engine: String,
    pub chat_id: i64,
    pub worktrees_dir: String,
    pub worktree_base: String,
}

impl Default for Project {
    fn default() -> Self {
        Self {
            path: String::new(),
            default_engine: String::new(),
            chat_id: 0,
            worktrees_dir: ".worktrees".into(),
            worktree_base: String::new(),
        }
    }
}

impl Project {
    /// The project's folder with `~` replaced.
    pub fn folder(&self) -> PathBuf {
        paths::expand_home(&self.path, &Environment::of_process())
    }
}

/// `[agentd]`: the daemon that hosts agents on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agentd {
    pub server: String,
    pub api_key: Secret,
    pub socket: String,
}

impl Default for Agentd {
    fn default() -> Self {
        Self { server: "ws://127.0.0.1:8484/ws".into(), api_key: Secret::default(), socket: String::new() }
    }
}

impl Agentd {
    /// The Unix socket for local agents: the runtime folder, else the data folder.
    pub fn socket_path(&self, data_dir: &Path) -> PathBuf {
        let environment = Environment::of_process();
        if !self.socket.is_empty() {
            return paths::expand_home(&self.socket, &environment);
        }
        paths::runtime_dir(&environment).unwrap_or_else(|| data_dir.to_owned()).join("agentd.sock")
    }
}
