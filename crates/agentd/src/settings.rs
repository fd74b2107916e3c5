//! Whom the daemon hosts, and for which hub.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use reqwest::Url;

/// What the daemon shows the hub; asked for at every connection, because a token may be a new one each time.
pub type Key = Arc<dyn Fn() -> String + Send + Sync>;

#[derive(Clone)]
pub struct DaemonSettings {
    /// The WebSocket of the hub.
    pub server: Url,
    pub key: Key,
    /// Where the journal and the logs of programs are.
    pub data_dir: PathBuf,
    /// The Unix socket for programs; none: no program can come in.
    pub socket: Option<PathBuf>,
    /// What this machine is called in runs.
    pub machine: String,
    pub agents: Vec<AgentSpec>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AgentSpec {
    pub name: String,
    /// The member it works as, where that is known already.
    pub id: Option<String>,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Engine(EngineAgent),
    Program(ProgramAgent),
}

/// A coding agent's command line that works as a member.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineAgent {
    pub engine: String,
    pub model: Option<String>,
    pub folder: PathBuf,
    /// What the folder is called in runs.
    pub project: Option<String>,
    pub system_prompt: String,
    pub capabilities: Vec<String>,
    pub policy: Policy,
    pub deny: Vec<String>,
    /// Each thread gets a work tree of its own, below the project's folder.
    pub worktrees: Option<Worktrees>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktrees {
    /// Where they go, below the project's folder.
    pub folder: PathBuf,
    /// What a new branch begins from.
    pub base: Option<String>,
}

/// A program that speaks the protocol over the daemon's socket.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramAgent {
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub auto_start: bool,
    pub restart: bool,
    pub max_restarts: u32,
}

/// What an engine may do without asking people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    #[default]
    Ask,
    AskCommands,
    AcceptEdits,
    DangerouslyAllowAll,
}

impl Policy {
    /// The one that people write so.
    pub fn named(word: &str) -> Option<Self> {
        let all = [Self::Ask, Self::AskCommands, Self::AcceptEdits, Self::DangerouslyAllowAll];
        all.into_iter().find(|policy| policy.word() == word)
    }

    /// As people write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AskCommands => "ask-commands",
            Self::AcceptEdits => "accept-edits",
            Self::DangerouslyAllowAll => "dangerously-allow-all",
        }
    }
}
