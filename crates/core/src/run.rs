//! Runs: an agent at work on what it was woken for, step by step, and what its thread continues with.
//!
//! A run belongs to one delivery and one thread of a channel. It has one message, which shows how far it is and becomes the
//! answer; its actions are records of their own, one per action, so that a run with many of them costs no more per action.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Millis;
use crate::hash::fnv64;
use crate::ids::*;
use crate::model::File;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    Running,
    /// A question of the run to people is open.
    Waiting,
    Completed,
    Failed,
    Cancelled,
}

impl RunState {
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Waiting)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunNews {
    Started,
    Updated,
    Ended,
}

/// How a run can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunEnd {
    Completed,
    Failed,
    Cancelled,
}

impl From<RunEnd> for RunState {
    fn from(end: RunEnd) -> Self {
        match end {
            RunEnd::Completed => Self::Completed,
            RunEnd::Failed => Self::Failed,
            RunEnd::Cancelled => Self::Cancelled,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    pub workspace: WorkspaceId,
    pub channel: ChannelId,
    /// The first message of the thread it works in.
    pub thread: MessageId,
    /// Shows how far it is, and becomes the answer.
    pub message: MessageId,
    /// The message that woke the agent; the first message of the thread where a task did.
    pub trigger: MessageId,
    pub delivery: DeliveryId,
    pub agent: MemberId,
    /// The person whose message the work began with.
    pub asker: Option<MemberId>,
    pub engine: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    pub state: RunState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the engine continues this thread with, and how a person does so in a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_line: Option<String>,
    pub started_at: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How many actions it had when it was stored; see [`OpenRuns::tally`] for the number now.
    #[serde(default)]
    pub action_count: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<FileId>,
    #[serde(default)]
    pub stop_requested: bool,
    /// The whole answer, where it is too long for a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// What there is to tell of it since it was last stored.
    pub news: RunNews,
}

impl Run {
    pub fn is_open(&self) -> bool {
        self.state.is_open()
    }
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    pub path: String,
    pub kind: FileChangeKind,
    #[serde(default)]
    pub added: u64,
    #[serde(default)]
    pub removed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileChangeKind {
    Added,
    Modified,
    Deleted,
    Renamed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActionPhase {
    Started,
    Updated,
    Completed,
}

/// One step of a run as its newest event has it. Channel and thread stand here too, for those who are told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunAction {
    pub id: RunActionId,
    pub run: RunId,
    pub channel: ChannelId,
    pub thread: MessageId,
    /// The number of its newest event among the events of the run; whoever has all up to here has missed nothing.
    pub seq: u32,
    /// The number of its first event: the order in which actions began.
    pub first_seq: u32,
    /// How many actions the run had with this one.
    pub count: u32,
    /// What the engine calls it; the same action has the same name throughout the run.
    pub action: String,
    pub kind: String,
    pub title: String,
    pub phase: ActionPhase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Json>,
    pub at: Millis,
}

impl RunActionId {
    /// Where an action is kept: beside the others of its run, and found without a look-up.
    pub fn of(run: RunId, action: &str) -> Self {
        let hash = fnv64(&[&run.0.to_be_bytes(), action.as_bytes()]);
        Self((run.0 >> 64 << 64) | u128::from(hash))
    }
}

/// What an agent continues a thread with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadSession {
    pub id: SessionId,
    pub agent: MemberId,
    pub channel: ChannelId,
    pub thread: MessageId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// When it was begun afresh; what was under way then does not come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_at: Option<Millis>,
    pub updated_at: Millis,
}

/// Whose thread it is: the agent that worked in it last.
pub fn worker_of(sessions: &[ThreadSession]) -> Option<MemberId> {
    sessions.iter().max_by_key(|session| (session.updated_at, session.id)).map(|session| session.agent)
}

/// JSON that nobody in the hub looks into, kept as its text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(pub Box<RawValue>);

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// What can be asked about runs: by the agent at work, by people, and for the threads that runs continue.
#[derive(Clone, Debug)]
pub enum RunCommand {
    Start(StartRun),
    Action(ReportAction),
    /// What its message shows from now on, until the answer takes the place.
    Progress {
        run: RunId,
        text: String,
    },
    /// What the engine calls this thread, as soon as it is known.
    Resume {
        run: RunId,
        resume: String,
        resume_line: Option<String>,
        model: Option<String>,
    },
    Changes {
        run: RunId,
        changes: Vec<FileChange>,
        branch: Option<String>,
    },
    /// The changes themselves; the file's bytes are in place already.
    Diff {
        run: RunId,
        file: File,
    },
    Complete(CompleteRun),
    Stop {
        run: RunId,
    },
    PutSession(PutSession),
    ForgetSession {
        channel: ChannelId,
        thread: MessageId,
    },
}

#[derive(Clone, Debug, Default)]
pub struct StartRun {
    pub delivery: DeliveryId,
    pub engine: String,
    pub model: Option<String>,
    pub project: Option<String>,
    pub branch: Option<String>,
    pub machine: Option<String>,
    pub text: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ReportAction {
    pub run: RunId,
    pub action: String,
    pub kind: String,
    pub title: String,
    pub phase: ActionPhase,
    pub ok: Option<bool>,
    pub detail: Option<Box<RawValue>>,
}

#[derive(Clone, Debug)]
pub struct CompleteRun {
    pub run: RunId,
    pub end: RunEnd,
    pub answer: Option<String>,
    pub error: Option<String>,
    pub resume: Option<String>,
    pub resume_line: Option<String>,
    pub usage: Option<Box<RawValue>>,
    pub cost_usd: Option<f64>,
    pub model: Option<String>,
}

/// What is left out stays as it is.
#[derive(Clone, Debug, Default)]
pub struct PutSession {
    pub channel: ChannelId,
    pub thread: MessageId,
    pub engine: Option<String>,
    pub model: Option<String>,
    pub resume: Option<String>,
}

/// The open runs, as the hub keeps them in memory.
#[derive(Clone, Debug, Default)]
pub struct OpenRuns(BTreeMap<RunId, OpenRun>);

#[derive(Clone, Debug)]
struct OpenRun {
    run: Arc<Run>,
    tally: Option<Tally>,
}

/// How far the actions of a run have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tally {
    /// The number of the newest event.
    pub seq: u32,
    pub count: u32,
}

impl OpenRuns {
    pub fn get(&self, id: RunId) -> Option<&Arc<Run>> {
        self.0.get(&id).map(|open| &open.run)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Run>> {
        self.0.values().map(|open| &open.run)
    }

    /// Known from the first action on that was stored since the start of the hub.
    pub fn tally(&self, id: RunId) -> Option<Tally> {
        self.0.get(&id).and_then(|open| open.tally)
    }

    pub(crate) fn put(&mut self, run: &Run) {
        if !run.is_open() {
            self.0.remove(&run.id);
            return;
        }
        let tally = self.tally(run.id);
        self.0.insert(run.id, OpenRun { run: Arc::new(run.clone()), tally });
    }

    pub(crate) fn remove(&mut self, id: RunId) {
        self.0.remove(&id);
    }

    pub(crate) fn note(&mut self, action: &RunAction) {
        if let Some(open) = self.0.get_mut(&action.run) {
            open.tally = Some(Tally { seq: action.seq, count: action.count });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_action_is_found_by_its_run_and_its_name_alone() {
        let (one, other) = (RunId(7 << 70), RunId((7 << 70) + 1));
        assert_eq!(RunActionId::of(one, "a"), RunActionId::of(one, "a"));
        assert_ne!(RunActionId::of(one, "a"), RunActionId::of(one, "b"));
        assert_ne!(RunActionId::of(one, "a"), RunActionId::of(other, "a"));
    }
}
