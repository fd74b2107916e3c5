//! The doors, and everything that the rest of the hub knows about one: a row of a table each.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The front end a message came in through. Every door leads to the same channels.
///
/// Two doors are the same when their numbers are.
#[derive(Clone, Copy)]
pub struct Door(&'static DoorFacts);

/// What core, store and hub know about a door.
#[derive(Debug)]
pub struct DoorFacts {
    /// On disk: a new door gets a new number, none is ever used again.
    pub number: u8,
    pub name: &'static str,
    /// Whether people who write there can be seen typing; where they cannot, more time is given for what they say next.
    pub tells_typing: bool,
    /// Whether a newer connection of an agent takes the place of its older one.
    pub newest_connection_stays: bool,
    /// Whether its connections have a word for waking an agent.
    pub has_wakes: bool,
    /// Whether a daemon can carry agents over it.
    pub has_daemons: bool,
    /// Whether reviews are asked for by agents only, as its clients know it.
    pub reviews_are_between_agents: bool,
    /// Whether those who come through it without an account are handed sentences.
    pub guests_take_sentences: bool,
    /// Whether it has a listener of its own and is not to be found on the main one.
    pub has_own_listener: bool,
}

impl DoorFacts {
    /// Of a door about which nothing else is known.
    pub const fn plain(number: u8, name: &'static str) -> Self {
        Self {
            number,
            name,
            tells_typing: false,
            newest_connection_stays: true,
            has_wakes: false,
            has_daemons: false,
            reviews_are_between_agents: false,
            guests_take_sentences: false,
            has_own_listener: false,
        }
    }
}

static LARK: DoorFacts = DoorFacts {
    tells_typing: true,
    has_wakes: true,
    has_daemons: true,
    reviews_are_between_agents: true,
    ..DoorFacts::plain(0, "lark")
};
static REST: DoorFacts = DoorFacts { tells_typing: true, ..DoorFacts::plain(1, "rest") };
static WEBHOOK: DoorFacts = DoorFacts::plain(2, "webhook");
static SNEK: DoorFacts = DoorFacts { newest_connection_stays: false, ..DoorFacts::plain(3, "snek") };
static SMARTHOLE: DoorFacts =
    DoorFacts { guests_take_sentences: true, has_own_listener: true, ..DoorFacts::plain(4, "smarthole") };
static CHOPSTICKS: DoorFacts = DoorFacts::plain(5, "chopsticks");
static TELEGRAM: DoorFacts = DoorFacts::plain(6, "telegram");

/// Those that this version does not know, by number: what came in through one is still told apart from everything else.
static UNKNOWN: [DoorFacts; 256] = {
    let mut all = [const { DoorFacts::plain(0, "unknown") }; 256];
    let mut number = 0;
    while number < 256 {
        all[number].number = number as u8;
        number += 1;
    }
    all
};

#[expect(non_upper_case_globals, reason = "they read as what they are: the names of doors")]
impl Door {
    pub const Lark: Self = Self(&LARK);
    pub const Rest: Self = Self(&REST);
    pub const Webhook: Self = Self(&WEBHOOK);
    pub const Snek: Self = Self(&SNEK);
    pub const SmartHole: Self = Self(&SMARTHOLE);
    pub const Chopsticks: Self = Self(&CHOPSTICKS);
    pub const Telegram: Self = Self(&TELEGRAM);
}

impl Door {
    /// Every door that comes with the hub.
    pub const ALL: [Self; 7] =
        [Self::Lark, Self::Rest, Self::Webhook, Self::Snek, Self::SmartHole, Self::Chopsticks, Self::Telegram];

    /// A door of somebody else's making.
    pub const fn new(facts: &'static DoorFacts) -> Self {
        Self(facts)
    }

    /// The door that is stored under this number.
    pub fn of_number(number: u8) -> Self {
        let known = Self::ALL.into_iter().find(|door| door.number() == number);
        known.unwrap_or(Self(&UNKNOWN[usize::from(number)]))
    }

    fn of_name(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|door| door.name() == name);
        known.unwrap_or(Self(&UNKNOWN[usize::from(u8::MAX)]))
    }

    pub fn number(self) -> u8 {
        self.0.number
    }

    pub fn name(self) -> &'static str {
        self.0.name
    }

    pub fn facts(self) -> &'static DoorFacts {
        self.0
    }
}

impl Default for Door {
    fn default() -> Self {
        Self::Lark
    }
}

impl PartialEq for Door {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

impl Eq for Door {}

impl Hash for Door {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number().hash(state);
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name(), self.number())
    }
}

impl Serialize for Door {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Door {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Ok(Self::of_name(&name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_door_is_found_again_by_its_number_and_by_its_name() {
        for door in Door::ALL {
            assert_eq!(Door::of_number(door.number()).name(), door.name());
            assert_eq!(Door::of_name(door.name()), door);
            assert_eq!(serde_json::to_string(&door).unwrap(), format!("\"{}\"", door.name()));
        }
        let numbers: HashSet<u8> = Door::ALL.map(Door::number).into();
        assert_eq!(numbers.len(), Door::ALL.len(), "a number stands for one door");
    }

    #[test]
    fn a_door_that_nobody_knows_is_none_of_those_that_are_known_and_keeps_its_number() {
        for number in (0..=u8::MAX).filter(|number| Door::ALL.iter().all(|door| door.number() != *number)) {
            let door = Door::of_number(number);
            assert!(!Door::ALL.contains(&door), "{door:?}");
            assert_eq!((door.number(), door.name()), (number, "unknown"));
        }
        let named: Door = serde_json::from_str("\"gopher\"").unwrap();
        assert!(!Door::ALL.contains(&named), "{named:?}");
    }

    #[test]
    fn a_door_of_somebody_elses_making_is_the_one_that_is_stored_under_its_number() {
        static ECHO: DoorFacts = DoorFacts::plain(200, "echo");
        assert_eq!(Door::of_number(200), Door::new(&ECHO));
        assert_ne!(Door::new(&ECHO), Door::Lark);
    }
}
