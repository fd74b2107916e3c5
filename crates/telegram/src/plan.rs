//! What the bridge knows about a prompt beyond its words, as it is stored with it.

use std::path::PathBuf;

use folkmoot_engines::event::{EngineId, ResumeToken};
use serde::{Deserialize, Serialize};

use crate::api::UserId;
use crate::context::Context;
use crate::journal::{Prompt, PromptId, Scope, SlipId};
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
    pub(crate) after: Option<i64>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slip: Option<i64>,
}

impl Plan {
    /// A plan that cannot be read any more is an empty one: the prompt's words are kept apart from it.
    pub fn of(prompt: &Prompt) -> Self {
        serde_json::from_value(prompt.plan.clone()).unwrap_or_default()
    }

    pub fn to_value(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    pub fn after(&self) -> Option<PromptId> {
        self.after.map(PromptId)
    }

    pub fn set_after(&mut self, leader: Option<PromptId>) {
        self.after = leader.map(|leader| leader.0);
    }

    pub fn slip(&self) -> Option<SlipId> {
        self.slip.map(SlipId)
    }

    pub fn set_slip(&mut self, slip: Option<SlipId>) {
        self.slip = slip.map(|slip| slip.0);
    }
}

/// Where preferences of a prompt's place are kept.
pub fn place_of(prompt: &Prompt) -> Scope {
    Scope { chat: prompt.chat, topic: prompt.topic, sender: None }
}

/// Where a thread goes on by itself: the topic, the private chat, or one person in a group.
pub fn session_scope(prompt: &Prompt) -> Scope {
    let place = place_of(prompt);
    prompt.sender.map_or(place, |sender| session_scope_at(place, sender))
}

/// The same for what somebody says in a place.
pub fn session_scope_at(place: Scope, sender: UserId) -> Scope {
    if place.chat.is_group() && place.topic.is_none() { place.of(sender) } else { place }
}
