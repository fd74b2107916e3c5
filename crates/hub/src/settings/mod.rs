//! What an operator can set about the hub itself, one struct per section of the configuration, each with its defaults.

mod limits;
mod network;
mod secret;
mod wakes;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use limits::Limits;
pub use network::{Network, parse_listen};
pub use secret::Secret;
pub use wakes::Wakes;

/// Everything that a hub is started with.
#[derive(Clone, Debug, Default)]
pub struct HubSettings {
    pub server: Server,
    pub limits: Limits,
    pub wakes: Wakes,
    /// The folder that holds the database, the uploads and the hub's own secret.
    pub data_dir: PathBuf,
}

/// `[server]`: the main listener and the hub itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Server {
    pub listen: String,
    pub public_url: String,
    pub data_dir: String,
    pub registration: Registration,
    pub jwt_secret: Secret,
    pub log: String,
    pub log_format: LogFormat,
    pub allowed_origins: Vec<String>,
    pub trusted_proxies: Vec<String>,
    pub header_timeout_s: f64,
    pub write_timeout_s: f64,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8484".into(),
            public_url: "http://127.0.0.1:8484".into(),
            data_dir: String::new(),
            registration: Registration::First,
            jwt_secret: Secret::default(),
            log: "info".into(),
            log_format: LogFormat::Text,
            allowed_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            header_timeout_s: 10.0,
            write_timeout_s: 10.0,
        }
    }
}

impl Server {
    /// The address of the main listener; an error only for a value that was not checked.
    pub fn listen_addr(&self) -> anyhow::Result<SocketAddr> {
        parse_listen(&self.listen).map_err(anyhow::Error::msg)
    }

    /// The proxies whose `X-Forwarded-For` may be believed.
    pub fn trusted_networks(&self) -> Vec<Network> {
        self.trusted_proxies.iter().filter_map(|text| Network::parse(text)).collect()
    }

    /// How long the head of a request may take, and how long a connection may say nothing between two requests.
    pub fn header_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.header_timeout_s)
    }

    /// A socket that takes nothing for this long is given up.
    pub fn write_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.write_timeout_s)
    }
}

/// Who may create an account without being invited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// Only the very first account.
    First,
    /// Anybody, each with a workspace of their own.
    Open,
    /// Nobody.
    Closed,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Text,
    Json,
}
