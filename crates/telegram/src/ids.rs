//! The numbers under which the bridge keeps its own things.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub i64);
    };
}

id!(
    /// Something that somebody asked for.
    PromptId
);
id!(
    /// A message of the bot.
    OutgoingId
);
id!(
    /// A question with buttons.
    CardId
);
