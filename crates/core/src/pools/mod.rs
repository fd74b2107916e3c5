//! Pools of interchangeable worker agents: who holds which session, who is fit to be given one, who must be left alone.
//!
//! A *place* is a voice channel of a guild and what is done there; a *lease* says which agent serves it. Leases are
//! stored and change only through `decide`; each change of holder takes the next number of one fence, so that of two agents
//! that both believe to hold a place the one with the higher number does. Who is connected is not stored: the
//! [`Roster`] is fed by the door and asked when a place needs an agent.

mod breaker;
mod health;
mod leases;
mod roster;

pub use breaker::{Breaker, Verdict};
pub use health::Health;
pub use leases::Leases;
pub use roster::{Candidate, NoAgent, Roster};

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::ids::*;

/// What an agent does in a voice channel. The two do not exclude each other there, but one agent does only one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    #[default]
    Music,
    Assistant,
}

impl SessionKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Music => "music",
            Self::Assistant => "assistant",
        }
    }

    /// Whether another agent can go on with it. Music can be asked for again; what an assistant heard is gone with it.
    pub fn survives_its_agent(self) -> bool {
        self == Self::Music
    }
}

/// Where a session takes place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    pub guild: String,
    pub voice_channel: String,
    pub kind: SessionKind,
}

/// An agent holds a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    pub id: LeaseId,
    #[serde(flatten)]
    pub place: Place,
    /// The agent's own name for itself, its `agentId`.
    pub agent: String,
    /// Rises with every change of holder of any place, also across restarts.
    pub fence: u64,
    /// Who asked for it; told when it is lost.
    pub owner: Option<MemberId>,
    pub taken_at: Millis,
}

/// The last number the fence gave out. There is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    pub id: FenceId,
    pub last: u64,
}

/// A channel of the hub that commands the session of a voice channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolLink {
    pub id: PoolLinkId,
    pub channel: ChannelId,
    pub guild: String,
    pub voice_channel: String,
    pub linked_by: MemberId,
    pub created_at: Millis,
}

impl PoolLink {
    pub fn place(&self, kind: SessionKind) -> Place {
        Place { guild: self.guild.clone(), voice_channel: self.voice_channel.clone(), kind }
    }
}
