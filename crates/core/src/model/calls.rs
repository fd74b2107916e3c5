//! Calls between members.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::ids::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallStatus {
    Ringing,
    Answered,
    Ended,
    Missed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub id: CallId,
    pub workspace: WorkspaceId,
    pub caller: MemberId,
    pub callee: MemberId,
    /// `audio` or `video`.
    pub kind: String,
    pub status: CallStatus,
    pub created_at: Millis,
    pub answered_at: Option<Millis>,
    pub ended_at: Option<Millis>,
}

/// How long a call rings, in milliseconds, before it counts as missed.
pub const RINGS_FOR: Millis = 60_000;

impl Call {
    /// When it stops ringing by itself.
    pub fn rings_until(&self) -> Millis {
        self.created_at + RINGS_FOR
    }

    pub fn other_side(&self, member: MemberId) -> Option<MemberId> {
        if member == self.caller {
            Some(self.callee)
        } else if member == self.callee {
            Some(self.caller)
        } else {
            None
        }
    }
}
