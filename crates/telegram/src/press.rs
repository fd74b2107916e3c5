//! What the buttons of a card say to us.

use crate::journal::CardId;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Press {
    pub asker: Asker,
    pub card: CardId,
    pub choice: Choice,
}

impl Press {
    pub fn data(self) -> String {
        let asker = match self.asker {
            Asker::Engine => "engine",
            Asker::Agent => "agent",
        };
        let choice = match self.choice {
            Choice::Once => "once",
            Choice::Run => "run",
            Choice::Deny => "deny",
            Choice::Rest => "rest",
            Choice::Option(number) => &number.to_string(),
        };
        format!("{asker}:{}:{choice}", self.card.0)
    }

    pub fn of(data: &str) -> Option<Self> {
        let (asker, rest) = data.split_once(':')?;
        let (card, choice) = rest.split_once(':')?;
        let asker = match asker {
            "engine" => Asker::Engine,
            "agent" => Asker::Agent,
            _ => return None,
        };
        let choice = match choice {
            "once" => Choice::Once,
            "run" => Choice::Run,
            "deny" => Choice::Deny,
            "rest" => Choice::Rest,
            number => Choice::Option(number.parse().ok()?),
        };
        Some(Self { asker, card: CardId(card.parse().ok()?), choice })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presses_survive_their_data_and_rubbish_is_none() {
        for asker in [Asker::Engine, Asker::Agent] {
            for choice in [Choice::Once, Choice::Run, Choice::Deny, Choice::Rest, Choice::Option(5)] {
                let press = Press { asker, card: CardId(3), choice };
                assert_eq!(Press::of(&press.data()), Some(press));
            }
        }
        for data in ["", "agent", "agent:", "agent:1", "agent:x:once", "agent:1:", "agent:1:twice", "engine:1:-1"] {
            assert_eq!(Press::of(data), None, "{data}");
        }
        assert_eq!(Press::of("cancel:1:once"), None);
    }
}
