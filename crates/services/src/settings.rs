//! What an operator can set about pools and routing, one struct per section of the configuration, each with its defaults.

use std::net::SocketAddr;

use folkmoot_hub::settings::{Secret, parse_listen};
use serde::{Deserialize, Serialize};

/// `[smarthole]`: the router's listener, always on loopback.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Smarthole {
    pub enabled: bool,
    pub listen: String,
    pub response_timeout_s: f64,
    pub choice_timeout_s: f64,
}

impl Default for Smarthole {
    fn default() -> Self {
        Self { enabled: true, listen: "127.0.0.1:9473".into(), response_timeout_s: 30.0, choice_timeout_s: 6.0 }
    }
}

impl Smarthole {
    /// The address of the door; an error only for a value that was not checked.
    pub fn listen_addr(&self) -> anyhow::Result<SocketAddr> {
        parse_listen(&self.listen).map_err(anyhow::Error::msg)
    }
}

/// `[chopsticks]`: pools of worker agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chopsticks {
    pub enabled: bool,
    pub listen: String,
    pub runner_secret: Secret,
    pub request_timeout_s: f64,
    pub handshake_s: f64,
    pub stale_s: f64,
    pub reconnect_grace_s: f64,
    pub probe_s: f64,
    pub idle_release_s: f64,
    pub max_connections: u32,
    pub max_connections_per_ip: u32,
}

impl Default for Chopsticks {
    fn default() -> Self {
        Self {
            enabled: true,
            listen: String::new(),
            runner_secret: Secret::default(),
            request_timeout_s: 30.0,
            handshake_s: 8.0,
            stale_s: 45.0,
            reconnect_grace_s: 2.0,
            probe_s: 2.0,
            idle_release_s: 1800.0,
            max_connections: 200,
            max_connections_per_ip: 20,
        }
    }
}

impl Chopsticks {
    /// The address of a listener of its own, when there is one.
    pub fn listen_addr(&self) -> anyhow::Result<Option<SocketAddr>> {
        if self.listen.is_empty() {
            return Ok(None);
        }
        parse_listen(&self.listen).map(Some).map_err(anyhow::Error::msg)
    }
}
