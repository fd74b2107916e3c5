//! Who asks, what nobody else may read, and everything that each of them was told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::support::Member;

/// The columns of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Nobody: no token, no log-in.
    Anonymous,
    /// The owner of another workspace of the same hub.
    Other,
    /// A member of the workspace who is not in the private channel.
    Outside,
    /// A member of the private channel who made none of the things.
    Peer,
    /// The member of the private channel who made the things and answers for the agent.
    Member,
    /// The agent whose things they are, in the private channel.
    Agent,
    /// Another person's agent, in the private channel.
    Foreign,
    /// An admin of the workspace who is not in the private channel.
    Admin,
    /// The owner of the workspace, in the private channel.
    Owner,
}

pub const ALL: [Who; 9] = [
    Who::Anonymous,
    Who::Other,
    Who::Outside,
    Who::Peer,
    Who::Member,
    Who::Agent,
    Who::Foreign,
    Who::Admin,
    Who::Owner,
];

pub const INSIDE: &[Who] = &[Who::Peer, Who::Member, Who::Agent, Who::Foreign, Who::Owner];
pub const WORKSPACE: &[Who] = &[Who::Outside, Who::Peer, Who::Member, Who::Agent, Who::Foreign, Who::Admin, Who::Owner];

impl Who {
    pub fn name(self) -> &'static str {
        match self {
            Who::Anonymous => "anonymous",
            Who::Other => "other",
            Who::Outside => "outside",
            Who::Peer => "peer",
            Who::Member => "member",
            Who::Agent => "agent",
            Who::Foreign => "foreign",
            Who::Admin => "admin",
            Who::Owner => "owner",
        }
    }

    /// What this one alone may read; requests put it where the thing they make is nobody else's.
    pub fn mark(self) -> String {
        format!("zq-only-{}", self.name())
    }

    pub fn is_agent(self) -> bool {
        matches!(self, Who::Agent | Who::Foreign)
    }
}

/// What the private channel says, is called and holds.
pub const IN_CHANNEL: &str = "zq-inside";
/// What is said between `member` and `peer` alone.
pub const IN_DIRECT: &str = "zq-direct";
/// What the whole workspace may read, and nobody else.
pub const IN_WORKSPACE: &str = "zq-workspace";

/// What was planted and who may read it, and what everybody was told.
#[derive(Clone, Default)]
pub struct Watch(Arc<Mutex<Watched>>);

#[derive(Default)]
struct Watched {
    markers: Vec<(String, Vec<Who>)>,
    told: BTreeMap<Listener, Vec<(String, String)>>,
}

/// Whoever is told something: one of the columns, or a program at one of the small doors, for whom nothing is meant.
pub type Listener = Option<Who>;

impl Watch {
    pub fn new() -> Watch {
        let watch = Watch::default();
        watch.plant(IN_CHANNEL, INSIDE);
        watch.plant(IN_DIRECT, &[Who::Member, Who::Peer]);
        watch.plant(IN_WORKSPACE, WORKSPACE);
        for who in ALL {
            watch.plant(&who.mark(), &[who]);
        }
        watch
    }

    /// From now on (and before) only these may have read this text.
    pub fn plant(&self, marker: &str, readers: &[Who]) {
        self.0.lock().expect("the watch").markers.push((marker.to_owned(), readers.to_vec()));
    }

    pub fn told(&self, listener: Listener, on: &str, text: &str) {
        let mut watched = self.0.lock().expect("the watch");
        watched.told.entry(listener).or_default().push((on.to_owned(), text.to_owned()));
    }

    /// Every place where somebody read what is not theirs to read, once per marker and place.
    pub fn leaks(&self) -> Vec<String> {
        let watched = self.0.lock().expect("the watch");
        let mut leaks = Vec::new();
        for (listener, told) in &watched.told {
            let hidden =
                watched.markers.iter().filter(|(_, readers)| !listener.is_some_and(|who| readers.contains(&who)));
            for (marker, _) in hidden {
                let read = told.iter().filter(|(_, text)| text.contains(marker.as_str()));
                for (on, text) in read.take(3) {
                    let name = listener.map_or("a program at a small door", Who::name);
                    leaks.push(format!("{name} read `{marker}` ({on}): {}", around(text, marker)));
                }
            }
        }
        leaks
    }

    /// How many texts were looked at: a watch that saw nothing proves nothing.
    pub fn seen(&self, listener: Listener) -> usize {
        self.0.lock().expect("the watch").told.get(&listener).map_or(0, Vec::len)
    }

    /// Whether somebody who may read a marker did, so that looking for it can find it at all.
    pub fn was_read(&self, who: Who, marker: &str) -> bool {
        let watched = self.0.lock().expect("the watch");
        watched.told.get(&Some(who)).is_some_and(|told| told.iter().any(|(_, text)| text.contains(marker)))
    }
}

fn around(text: &str, marker: &str) -> String {
    let place = text.find(marker).unwrap_or_default();
    let before: String = text[..place].chars().rev().take(160).collect::<Vec<_>>().into_iter().rev().collect();
    let after: String = text[place..].chars().take(160).collect();
    format!("…{before}{after}…")
}

/// The members behind the columns; nobody is behind the first.
pub struct People(pub BTreeMap<Who, Member>);

impl People {
    pub fn get(&self, who: Who) -> &Member {
        self.0.get(&who).unwrap_or_else(|| panic!("{who:?} is nobody"))
    }
}
