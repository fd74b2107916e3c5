//! Agents that the hub hosts itself: which engine works as which member, and what it may do without asking.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::ids::*;

/// An agent of the hub's own daemon; the role card is the member's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hosted {
    pub id: HostedId,
    pub workspace: WorkspaceId,
    pub agent: MemberId,
    pub engine: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A configured project's name, or a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default)]
    pub policy: Policy,
    /// What it may never do, and nobody is asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Whether each thread has a git work tree of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worktrees: bool,
    pub created_by: MemberId,
    pub created_at: Millis,
}

/// What an engine may do without asking people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Nothing: every question of the engine is put to people.
    #[default]
    Ask,
    /// Everything but commands.
    AskCommands,
    /// Changes of files inside the project.
    AcceptEdits,
    /// Everything: nobody is asked. The only one for engines that cannot ask.
    DangerouslyAllowAll,
}

impl Policy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AskCommands => "ask-commands",
            Self::AcceptEdits => "accept-edits",
            Self::DangerouslyAllowAll => "dangerously-allow-all",
        }
    }
}
