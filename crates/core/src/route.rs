//! Sentences on their way to whoever should take them: the things, and what follows from them.
//!
//! A route is one sentence of one member. It is offered to clients (local programs of the SmartHole door, agents of the
//! hub) in attempts; every attempt and every answer stays on it. What may happen to it is decided in `decide::routes`.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::ids::*;

/// However many clients there are, a sentence is not passed around for longer than this.
pub const MAX_ATTEMPTS: usize = 3;
/// Answers that are kept on one attempt; later ones are shown, not kept.
pub const MAX_ANSWERS: usize = 50;
pub const NO_REASON: &str = "No reason provided";
pub const TIMED_OUT: &str = "Response timeout";
pub const DISCONNECTED: &str = "Client disconnected";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Route {
    pub id: RouteId,
    pub workspace: WorkspaceId,
    /// Who said it, and who is told what becomes of it.
    pub speaker: MemberId,
    /// The sentence as it is delivered: the speaker's own words, less the name in front of a direct address.
    pub text: String,
    pub input: InputMethod,
    /// How sure the transcription was, for a spoken sentence.
    pub confidence: Option<f64>,
    /// The speaker named the client.
    pub direct: bool,
    /// The line in a channel that asked for it; answers go there too.
    pub source: Option<MessageId>,
    pub state: RouteState,
    pub attempts: Vec<Attempt>,
    pub created_at: Millis,
    pub updated_at: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputMethod {
    #[default]
    Text,
    Voice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteState {
    /// Nobody has it: somebody is being chosen.
    Choosing,
    /// A client has it and has not answered.
    Waiting,
    Taken,
    /// Nobody was sure enough; the speaker was asked who should take it.
    Asked,
    NoClients,
    Failed,
}

/// One client that was given the sentence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub client: MemberId,
    /// Its name then: clients come and go.
    pub name: String,
    /// Why it was chosen.
    pub reason: Option<String>,
    pub status: AttemptStatus,
    /// Why it did not take it.
    pub refusal: Option<String>,
    pub at: Millis,
    /// Without an answer by then, it counts as refused.
    pub due: Millis,
    pub answers: Vec<RouteAnswer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttemptStatus {
    Delivered,
    Acked,
    Rejected,
    Timeout,
}

/// What a client said to a sentence, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RouteAnswer {
    pub at: Millis,
    #[serde(flatten)]
    pub said: Said,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Said {
    Ack,
    Reject {
        reason: String,
    },
    /// An agent of the hub answered the speaker in their direct channel.
    Reply {
        body: String,
    },
    /// Something to show to the speaker.
    Notification {
        title: Option<String>,
        body: Option<String>,
        priority: Urgency,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Urgency {
    Low,
    #[default]
    Normal,
    High,
}

impl Urgency {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

/// One client of a choice, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub client: MemberId,
    pub reason: Option<String>,
}

/// Who should have a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It takes a while to find out; the sentence is kept meanwhile.
    Later,
    /// The speaker named the client; `text` is what is left of the sentence.
    Direct { client: MemberId, text: String },
    /// One or several.
    These(Vec<Chosen>),
    /// Nobody stands out: these are asked about, the likeliest first.
    Unsure(Vec<MemberId>),
}

impl Route {
    pub fn is_open(&self) -> bool {
        matches!(self.state, RouteState::Choosing | RouteState::Waiting)
    }

    /// The clients whose answer is still awaited.
    pub fn pending(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| attempt.status == AttemptStatus::Delivered)
    }

    pub fn attempt_of(&self, client: MemberId) -> Option<&Attempt> {
        self.attempts.iter().find(|attempt| attempt.client == client)
    }

    pub fn was_tried(&self, client: MemberId) -> bool {
        self.attempt_of(client).is_some()
    }

    /// Who took it.
    pub fn takers(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| attempt.status == AttemptStatus::Acked)
    }

    /// Who refused and why, one line each.
    pub fn refusals(&self) -> String {
        let refused = self.attempts.iter().filter_map(|attempt| Some((attempt, attempt.refusal.as_ref()?)));
        let lines: Vec<_> = refused.map(|(attempt, reason)| format!("- {}: {reason}", attempt.name)).collect();
        lines.join("\n")
    }
}

/// `name: text` or `name, text`: the name, and what is left for it. Not every such sentence addresses somebody; whether
/// the name is a client's is for the caller to see.
pub fn direct_address(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let name_end = text.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-' || letter == '_'))?;
    let (name, rest) = text.split_at(name_end);
    let rest = rest.strip_prefix([',', ':'])?.trim();
    (name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && !rest.is_empty()).then_some((name, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_delimiters_address_directly_and_the_prefix_is_stripped() {
        assert_eq!(direct_address("notebook: remember to buy milk"), Some(("notebook", "remember to buy milk")));
        assert_eq!(direct_address("notebook, remember to buy milk"), Some(("notebook", "remember to buy milk")));
        assert_eq!(direct_address("NoteBook:buy milk"), Some(("NoteBook", "buy milk")));
    }

    #[test]
    fn a_direct_address_may_have_several_lines() {
        assert_eq!(direct_address("notebook: eggs\nmilk\n\nbread\n"), Some(("notebook", "eggs\nmilk\n\nbread")));
        assert_eq!(direct_address("notebook:\neggs"), Some(("notebook", "eggs")));
    }

    #[test]
    fn no_text_no_delimiter_or_no_name_is_no_direct_address() {
        for text in ["notebook:", "notebook: \n", "notebook buy milk", ": milk", "9to5: work", "note book: milk", ""] {
            assert_eq!(direct_address(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_left_of_a_direct_address_stands_in_the_sentence(text: String) {
            if let Some((name, rest)) = direct_address(&text) {
                prop_assert!(text.trim().starts_with(name) && text.trim().ends_with(rest));
                prop_assert!(!rest.is_empty() && rest.trim() == rest);
            }
        }
    }
}
