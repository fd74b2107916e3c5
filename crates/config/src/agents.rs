//! `[agents.NAME]`: an agent that the daemon hosts, an engine or a program of anybody's making.

use std::collections::BTreeMap;

use folkmoot_core::hosting::Policy;
use serde::{Deserialize, Serialize};

use super::Secret;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    pub engine: String,
    pub project: String,
    pub model: String,
    pub system_prompt: String,
    pub capabilities: Vec<String>,
    pub policy: Policy,
    pub deny: Vec<String>,
    pub worktrees: bool,
    pub command: Vec<String>,
    pub env: BTreeMap<String, Secret>,
    pub auto_start: bool,
    pub restart: bool,
    pub max_restarts: u32,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            engine: String::new(),
            project: String::new(),
            model: String::new(),
            system_prompt: String::new(),
            capabilities: Vec::new(),
            policy: Policy::Ask,
            deny: Vec::new(),
            worktrees: false,
            command: Vec::new(),
            env: BTreeMap::new(),
            auto_start: true,
            restart: true,
            max_restarts: 10,
        }
    }
}

impl Agent {
    pub fn is_program(&self) -> bool {
        !self.command.is_empty()
    }
}
