//! What the bridge knows about a prompt beyond its words, as it is stored with it.

use std::path::PathBuf;

use folkmoot_engines::event::{EngineId, ResumeToken};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::ids::{OutgoingId, PromptId};
use crate::piece::Piece;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// What the prompt is put together from; forgotten when it is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<Piece>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineId>,
    /// The thread, asked for or found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeToken>,
    /// The prompt whose thread this one continues, as long as that has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<PromptId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Somebody was asked what to do with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// The message that shows how it goes.
    #[serde(rename = "slip", skip_serializing_if = "Option::is_none")]
    pub outgoing: Option<OutgoingId>,
}
