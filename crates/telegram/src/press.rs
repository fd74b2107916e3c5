//! What the buttons below our messages say to us: one form of data for all of them.

use crate::ids::{CardId, PromptId};

/// A button that was pressed, or that a message has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// Takes a prompt back. The button names it, because it may be pressed while the receipt for its message is still on
    /// its way.
    Cancel(PromptId),
    /// Says something to a card.
    Card { asker: Asker, card: CardId, choice: Choice },
}

/// Whose question the card shows, and so who knows whether one may decide it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// An engine that the bridge drives itself.
    Engine,
    /// An agent of the hub.
    Agent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Once,
    Run,
    Deny,
    /// Decides nothing: shows what did not fit.
    Rest,
    /// One of the words that the question offers.
    Option(usize),
}

impl Press {
    pub fn data(self) -> String {
        let (asker, card, choice) = match self {
            Self::Cancel(prompt) => return format!("cancel:{}", prompt.0),
            Self::Card { asker: Asker::Engine, card, choice } => ("engine", card, choice),
            Self::Card { asker: Asker::Agent, card, choice } => ("agent", card, choice),
        };
        let choice = match choice {
            Choice::Once => "once",
            Choice::Run => "run",
            Choice::Deny => "deny",
            Choice::Rest => "rest",
            Choice::Option(number) => &number.to_string(),
        };
        format!("{asker}:{}:{choice}", card.0)
    }

    pub fn of(data: &str) -> Option<Self> {
        let (first, rest) = data.split_once(':')?;
        let asker = match first {
            "cancel" => return rest.parse().ok().map(PromptId).map(Self::Cancel),
            "engine" => Asker::Engine,
            "agent" => Asker::Agent,
            _ => return None,
        };
        let (card, choice) = rest.split_once(':')?;
        let choice = match choice {
            "once" => Choice::Once,
            "run" => Choice::Run,
            "deny" => Choice::Deny,
            "rest" => Choice::Rest,
            number => Choice::Option(number.parse().ok()?),
        };
        Some(Self::Card { asker, card: CardId(card.parse().ok()?), choice })
    }

    /// The prompt that it takes back.
    pub fn cancelled(self) -> Option<PromptId> {
        match self {
            Self::Cancel(prompt) => Some(prompt),
            Self::Card { .. } => None,
        }
    }

    /// The card that it belongs to.
    pub fn card(self) -> Option<CardId> {
        match self {
            Self::Card { card, .. } => Some(card),
            Self::Cancel(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presses_survive_their_data_and_rubbish_is_none() {
        for asker in [Asker::Engine, Asker::Agent] {
            for choice in [Choice::Once, Choice::Run, Choice::Deny, Choice::Rest, Choice::Option(5)] {
                let press = Press::Card { asker, card: CardId(3), choice };
                assert_eq!(Press::of(&press.data()), Some(press));
            }
        }
        assert_eq!(Press::of(&Press::Cancel(PromptId(7)).data()), Some(Press::Cancel(PromptId(7))));
        for data in ["", "agent", "agent:", "agent:1", "agent:x:once", "agent:1:", "agent:1:twice", "engine:1:-1"] {
            assert_eq!(Press::of(data), None, "{data}");
        }
        for data in ["cancel", "cancel:", "cancel:x", "cancel:1:once"] {
            assert_eq!(Press::of(data), None, "{data}");
        }
    }
}
