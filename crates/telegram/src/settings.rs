//! What the bridge is told by its configuration.

use std::path::PathBuf;
use std::time::Duration;

use folkmoot_clients::Endpoint;
use folkmoot_engines::event::EngineId;

use crate::api::ChatId;
use crate::context::Projects;
use crate::permission::Permission;
use crate::text::Overflow;

/// Everything that does not change while the bridge runs.
#[derive(Clone)]
pub struct BridgeSettings {
    pub token: String,
    pub api_base: String,
    pub permission: Permission,
    /// Where the bridge says that it is ready.
    pub main_chat: Option<ChatId>,
    pub projects: Projects,
    /// The engine of new threads, from the command line or the configuration.
    pub default_engine: EngineId,
    /// The engines that the configuration has a table for.
    pub engines: Vec<EngineId>,
    pub edit_interval: Duration,
    /// How long a message waits for another one to join it.
    pub join_window: Duration,
    pub overflow: Overflow,
    pub sessions: Sessions,
    /// Where uploads go, below the folder of the project.
    pub uploads: PathBuf,
    /// Where runs without a project work.
    pub start_folder: PathBuf,
    pub data_dir: PathBuf,
    pub lock: PathBuf,
    /// What writes voice notes down.
    pub speech: Option<Endpoint>,
}

/// Whether a chat goes on where it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    /// Every message begins a thread, unless it replies to one.
    #[default]
    Stateless,
    /// A message goes on with the last thread of its chat or topic.
    Chat,
}
