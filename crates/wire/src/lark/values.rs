//! The words that stand for something in Lark's frames.

use serde::{Deserialize, Serialize};

/// A word on the wire for each variant.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        #[serde(rename_all = "lowercase")]
        pub enum $name { $($(#[$of])* $variant),* }
    )*};
}

words! {
    /// How messages come to a client. Without the word they come twice in one frame: see `docs/doors/lark.md`.
    Frames {
        /// A message once, its fields at the top of `data`.
        Plain,
    }
    #[derive(Default)]
    ContentType {
        #[default]
        Text,
        Markdown,
        /// Some clients send what they leave out as an empty text.
        #[serde(rename = "")]
        Unset,
    }
    MemberKind { Human, Agent }
    ChannelKind {
        Channel,
        Private,
        Dm,
        #[serde(rename = "group_dm")]
        GroupDm,
    }
    Presence { Online, Idle, Offline, Dnd, Sleeping }
    /// What kind of question it is.
    #[derive(Default)]
    ApprovalKind {
        /// Something an agent wants to do.
        #[default]
        Action,
        /// A permission that an engine asks for in the middle of a run.
        Permission,
        /// Agents went on among themselves for too long: may they continue?
        Brake,
    }
    /// How far a yes or no reaches.
    #[derive(Default)]
    ApprovalScope {
        #[default]
        Once,
        /// The same question of the same run is not asked again.
        Run,
    }
    ApprovalStatus { Pending, Approved, Denied }
    ActionPhase { Started, Updated, Completed }
    /// How a run can end.
    RunEnd { Completed, Failed, Cancelled }
    RunState { Running, Waiting, Completed, Failed, Cancelled }
    FileChangeKind { Added, Modified, Deleted, Renamed }
}

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FileChange {
    pub path: String,
    pub kind: FileChangeKind,
    #[serde(default)]
    pub added: u64,
    #[serde(default)]
    pub removed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Reaction {
    pub emoji: String,
    pub members: Vec<crate::Id>,
}
