//! What a program says to the daemon of its machine before it speaks Lark through it: envelopes, one per line.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Id;

/// The first line of a program. It is read leniently: the answer tells nobody which half was wrong.
#[derive(Deserialize)]
pub struct ProgramFrame {
    #[serde(default, deserialize_with = "crate::lenient::fitting")]
    pub id: Option<String>,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub data: Option<Box<RawValue>>,
}

/// `agent.auth`.
#[derive(Default, Serialize, Deserialize)]
pub struct AgentAuth {
    #[serde(default)]
    pub agent_name: String,
    #[serde(default)]
    pub token: String,
}

/// `agent.auth_ok`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentAuthOk {
    pub agent_id: Id,
    pub workspace_id: Id,
    pub name: String,
}

/// `agent.restart`, and its answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentRestart {
    #[serde(default)]
    pub agent_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}
