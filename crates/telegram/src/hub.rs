//! The hub beside which a bridge runs, as far as the bridge needs it: accounts that speak for members, and the questions of agents
//! that those members decide. Who may do what is the hub's to say; the bridge only passes words on.

use std::pin::Pin;

use folkmoot_action::Shown;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::api::UserId;

/// Something the hub will have said.
pub type Soon<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A question of an agent, as people are shown it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The hub's name for it.
    pub approval: String,
    /// Agents want to go on among themselves; otherwise one wants to do something.
    pub is_brake: bool,
    pub agent: String,
    /// Where it is asked, such as `#general`.
    pub place: Option<String>,
    pub action: String,
    /// What matters of the action: usually JSON.
    pub payload: String,
    /// All of it, as the hub shows it everywhere.
    #[serde(default)]
    pub shown: Shown,
    /// Whether it can be allowed for the rest of a run.
    pub has_run: bool,
    /// When nobody may decide it any more.
    pub expires: String,
}

/// Whom a question is put to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub user: UserId,
    pub question: Question,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub approved: bool,
    /// For the rest of the run, or of the conversation that was stopped.
    pub for_run: bool,
    pub note: Option<String>,
}

pub trait Hub: Send + Sync {
    /// Moves whenever it may have changed who is asked what.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Every open question for every linked account whose member may decide it; nothing when the hub cannot say now.
    fn open_questions(&self) -> Soon<Option<Vec<Asked>>>;

    /// What became of a question, as it stands on its card; nothing when the hub cannot say now.
    fn outcome(&self, approval: String) -> Soon<Option<String>>;

    /// Decides as the member for whom the account speaks; what happened, or why not.
    fn decide(&self, user: UserId, approval: String, decision: Decision) -> Soon<String>;

    /// Links an account with a code; nothing when somebody who guesses is to hear nothing.
    fn link(&self, user: UserId, name: String, code: String) -> Soon<Option<String>>;

    /// Ends what the account is linked with; nothing when it was not.
    fn unlink(&self, user: UserId) -> Soon<Option<String>>;
}
