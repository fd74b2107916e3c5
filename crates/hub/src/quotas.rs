//! The pace of members on every door: requests and frames, messages, uploads. What the rules themselves limit is decided there.

use std::sync::Arc;

use folkmoot_core::command::{Command, Stage};
use folkmoot_core::ids::{MemberId, WorkspaceId};
use folkmoot_core::quota::{Allowance, Tab, too_often};
use folkmoot_core::{Actor, Millis, Refusal, State};
use parking_lot::Mutex;

use crate::metrics::Metrics;
use crate::settings::Limits;

pub struct Quotas {
    limits: Limits,
    metrics: Arc<Metrics>,
    requests: Mutex<Tab<MemberId>>,
    messages: Mutex<Tab<MemberId>>,
    workspace_messages: Mutex<Tab<WorkspaceId>>,
    uploads: Mutex<Tab<MemberId>>,
}

/// How much of something is used, and how much there may be; 0 is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub used: u64,
    pub limit: u64,
}

impl Quotas {
    pub fn new(limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self {
            limits,
            metrics,
            requests: Mutex::default(),
            messages: Mutex::default(),
            workspace_messages: Mutex::default(),
            uploads: Mutex::default(),
        }
    }

    /// A REST request or a frame on a socket.
    pub fn request(&self, member: MemberId, now: Millis) -> Result<(), Refusal> {
        let taken = self.requests.lock().take(member, self.limits.requests(), now);
        taken.map_err(|wait| self.refused("too many requests", wait))
    }

    pub fn upload(&self, member: MemberId, now: Millis) -> Result<(), Refusal> {
        let taken = self.uploads.lock().take(member, self.limits.uploads(), now);
        taken.map_err(|wait| self.refused("too many uploads", wait))
    }

    /// Whether a command may be put to the hub now, whichever door it comes from. What the hub does by itself is not counted.
    pub fn command(&self, state: &State, actor: Actor, command: &Command, now: Millis) -> Result<(), Refusal> {
        if !says_something(command) {
            return Ok(());
        }
        let Some(member) = state.member(actor.on_behalf.unwrap_or(actor.member)) else { return Ok(()) };
        let refuse = |wait| self.refused("too many messages", wait);
        let (own, all) = (self.limits.messages(), self.limits.workspace_messages());
        self.workspace_messages.lock().check(&member.workspace, all, now).map_err(refuse)?;
        self.messages.lock().take(member.id, own, now).map_err(refuse)?;
        self.workspace_messages.lock().charge(member.workspace, all, now);
        Ok(())
    }

    fn refused(&self, what: &str, wait: Millis) -> Refusal {
        self.metrics.limited.inc();
        too_often(what, wait)
    }

    pub fn requests_of(&self, member: MemberId, now: Millis) -> Use {
        used(&self.requests.lock(), &member, self.limits.requests(), now)
    }

    pub fn messages_of(&self, member: MemberId, now: Millis) -> Use {
        used(&self.messages.lock(), &member, self.limits.messages(), now)
    }

    pub fn uploads_of(&self, member: MemberId, now: Millis) -> Use {
        used(&self.uploads.lock(), &member, self.limits.uploads(), now)
    }

    pub fn messages_in(&self, workspace: WorkspaceId, now: Millis) -> Use {
        used(&self.workspace_messages.lock(), &workspace, self.limits.workspace_messages(), now)
    }
}

pub fn used<K: std::hash::Hash + Eq>(tab: &Tab<K>, key: &K, allowance: Allowance, now: Millis) -> Use {
    Use { used: tab.used(key, allowance, now), limit: allowance.count.into() }
}

/// What is being written is not said yet, and not counted: only the last of it is stored.
fn says_something(command: &Command) -> bool {
    match command {
        Command::Send(send) => send.stage != Stage::Partial,
        Command::EditMessage { .. } | Command::SendDraft { .. } => true,
        _ => false,
    }
}
