//! What the daemon is doing, for `moot agentd status`.

use serde::Serialize;

use super::Daemon;
use crate::settings::Kind;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Whether the hub is there and knows our agents.
    pub connected: bool,
    pub agents: Vec<AgentStatus>,
    pub runs: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentStatus {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The engine, or `program`.
    pub kind: String,
    /// `running`, `waiting`, `stopped` or `failed`.
    pub state: &'static str,
}

impl Daemon {
    pub(super) fn show_status(&self) {
        let connected = self.link.is_ready();
        let of = |agent: &crate::settings::AgentSpec| AgentStatus {
            name: agent.name.clone(),
            id: agent.id.clone(),
            kind: match &agent.kind {
                Kind::Engine(engine) => engine.engine.clone(),
                Kind::Program(_) => "program".to_owned(),
            },
            state: match &agent.kind {
                Kind::Engine(_) if connected && agent.id.is_some() => "running",
                Kind::Engine(_) => "waiting",
                Kind::Program(_) => self.programs.state(&agent.name),
            },
        };
        let agents = self.wanted.iter().map(of).collect();
        let now = Status { connected, agents, runs: self.live.len() };
        self.status.send_if_modified(|known| {
            let changed = *known != now;
            *known = now;
            changed
        });
    }
}
