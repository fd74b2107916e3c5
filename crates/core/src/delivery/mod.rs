//! What was asked of an agent and what came of it: one delivery per wake, and the root a chain of messages came from.
//!
//! A delivery begins when a message wants an agent. It collects what its sender adds before the next pause, is sent as one
//! wake, and ends with the answer, or with a word on why there is none. What is open is kept in memory ([`OpenDeliveries`]),
//! because something happens to it in time; what is over is only stored.

mod open;
mod rules;
mod talk;

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::ids::*;

pub use open::OpenDeliveries;
pub use rules::WakeRules;
pub use talk::{Heard, Talk};

/// One agent's part in what somebody said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub id: DeliveryId,
    pub workspace: WorkspaceId,
    /// None only for a task that belongs to no channel.
    pub channel: Option<ChannelId>,
    pub thread: Option<MessageId>,
    pub agent: MemberId,
    pub sender: MemberId,
    pub reason: WakeReason,
    pub state: DeliveryState,
    pub why: Option<String>,
    /// What the sender said, oldest first.
    pub messages: Vec<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The message at the beginning of the chain, and how many agents' messages lie between it and this.
    pub root: MessageId,
    pub depth: u32,
    pub run: Option<RunId>,
    pub reply: Option<MessageId>,
    /// What the agent said outside of its thread meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<Elsewhere>,
    /// Why the last answer was refused: nobody will have it, unless the agent tries again before it rests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    pub created_at: Millis,
    pub updated_at: Millis,
    /// When its sender has paused for long enough; what matters only while it collects.
    pub due_at: Millis,
    pub expires_at: Millis,
}

impl Delivery {
    pub fn is_open(&self) -> bool {
        self.state.is_open()
    }

    /// Its sender has not paused yet and may add to it, the agent does not know of it.
    pub fn is_collecting(&self) -> bool {
        self.state == DeliveryState::Queued && self.why.as_deref() == Some(COLLECTING)
    }

    /// Its answer is there, and people have not let it pass yet.
    pub fn is_held(&self) -> bool {
        self.why.as_deref() == Some(HELD)
    }

    /// The message that is counted as its answer.
    pub fn counted(&self) -> Option<MessageId> {
        match self.elsewhere {
            Some(Elsewhere::Counted(message)) => Some(message),
            Some(Elsewhere::Maybe) | None => None,
        }
    }

    /// When something happens to it by itself.
    pub fn deadline(&self) -> Millis {
        if self.is_collecting() { self.due_at.min(self.expires_at) } else { self.expires_at }
    }
}

/// What an agent said in the channel, outside of the thread it was wanted in, while several threads wanted it: an answer to one
/// of them, and nobody can tell to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Elsewhere {
    /// It may be the answer, so the wake is not sent again.
    Maybe,
    /// The same, and this message is counted here: once one is counted at each of them, all have their answers.
    Counted(MessageId),
}

/// What an agent is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeReason {
    Mention,
    Dm,
    ThreadReply,
    TaskAssigned,
    Manual,
}

impl WakeReason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mention => "mention",
            Self::Dm => "dm",
            Self::ThreadReply => "thread_reply",
            Self::TaskAssigned => "task_assigned",
            Self::Manual => "manual",
        }
    }
}

/// Why a delivery waits.
pub const COLLECTING: &str = "collecting";
pub const OFFLINE: &str = "offline";
/// Its answer is there, and people have not let it pass yet.
pub const HELD: &str = "held";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Not sent yet.
    Queued,
    /// Sent to a connection.
    Leased,
    /// The agent took it.
    Admitted,
    Answered,
    Passed,
    Failed,
    Expired,
    Cancelled,
    /// The loop guard held it.
    Suppressed,
}

impl DeliveryState {
    pub fn is_open(self) -> bool {
        matches!(self, Self::Queued | Self::Leased | Self::Admitted)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Leased => "leased",
            Self::Admitted => "admitted",
            Self::Answered => "answered",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Suppressed => "suppressed",
        }
    }
}

/// The root of a chain, once agents have woken agents in it: how far it went, and what people said to that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// The message it began with.
    pub id: MessageId,
    pub workspace: WorkspaceId,
    pub channel: Option<ChannelId>,
    /// How often an agent woke an agent.
    pub wakes: u32,
    pub pairs: Vec<Pair>,
    /// What people granted on top of the limits.
    pub granted: u32,
    /// People stopped it: no agent wakes an agent in it any more.
    pub closed: bool,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// How often one agent woke another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    pub from: MemberId,
    pub to: MemberId,
    pub wakes: u32,
}

impl Cause {
    pub fn new(id: MessageId, workspace: WorkspaceId, channel: Option<ChannelId>, now: Millis) -> Self {
        Self {
            id,
            workspace,
            channel,
            wakes: 0,
            pairs: Vec::new(),
            granted: 0,
            closed: false,
            created_at: now,
            updated_at: now,
        }
    }

    pub fn wakes_between(&self, from: MemberId, to: MemberId) -> u32 {
        self.pairs.iter().find(|pair| pair.from == from && pair.to == to).map_or(0, |pair| pair.wakes)
    }

    pub fn count(&mut self, from: MemberId, to: MemberId) {
        self.wakes += 1;
        match self.pairs.iter_mut().find(|pair| pair.from == from && pair.to == to) {
            Some(pair) => pair.wakes += 1,
            None => self.pairs.push(Pair { from, to, wakes: 1 }),
        }
    }
}
