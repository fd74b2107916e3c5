//! The lease table: never two holders, never a lost lease, whatever connects, gets lost, is released or restarted.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::cases;
use crate::domain::command::{Command, Reply};
use crate::domain::model::Door;
use crate::domain::pools::{Lease, Place, Roster, SessionKind};
use crate::domain::{Actor, refusal};
use crate::support::World;

#[derive(Clone, Debug)]
enum Step {
    Connect {
        agent: u8,
        guilds: u8,
    },
    /// The connection is gone and does not come back in time.
    Lose {
        agent: u8,
    },
    Want {
        place: u8,
    },
    Release {
        place: u8,
    },
    /// What an agent says of itself, true or not.
    SaysReleased {
        agent: u8,
        place: u8,
    },
    SaysAdded {
        agent: u8,
        place: u8,
    },
    /// The hub starts again: nobody is connected, and what was stored is all there is.
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (agent, place) = (0..6_u8, 0..8_u8);
    let step = prop_oneof![
        4 => (agent.clone(), 1..4_u8).prop_map(|(agent, guilds)| Step::Connect { agent, guilds }),
        2 => agent.clone().prop_map(|agent| Step::Lose { agent }),
        6 => place.clone().prop_map(|place| Step::Want { place }),
        1 => place.clone().prop_map(|place| Step::Release { place }),
        1 => (agent.clone(), place.clone()).prop_map(|(agent, place)| Step::SaysReleased { agent, place }),
        1 => (agent, place).prop_map(|(agent, place)| Step::SaysAdded { agent, place }),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(step, 1..60)
}

/// Two guilds, two voice channels each, music and assistant.
fn place(number: u8) -> Place {
    Place {
        guild: format!("g{}", number & 1),
        voice_channel: format!("v{}", number >> 1 & 1),
        kind: if number & 4 == 0 { SessionKind::Music } else { SessionKind::Assistant },
    }
}

fn name(agent: u8) -> String {
    format!("agent{agent}")
}

struct Hall {
    world: World,
    roster: Roster,
    /// What the table should say, kept by its own simple rules.
    expected: BTreeMap<Place, String>,
    highest_fence: u64,
}

impl Hall {
    fn new() -> Self {
        let (world, roster) = (World::new(), Roster::default());
        Self { world, roster, expected: BTreeMap::new(), highest_fence: 0 }
    }

    fn hub() -> Actor {
        Actor::hub(Door::Chopsticks)
    }

    /// A free agent of the guild, as the server would pick it.
    fn pick(&mut self, guild: &str) -> Option<String> {
        let pools = self.world.state.pools();
        self.roster.pick(guild, 0, |agent| pools.is_busy(agent)).ok().map(|agent| agent.to_string())
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Connect { agent, guilds } => {
                let guilds = (0..2).filter(|bit| guilds >> bit & 1 == 1).map(|bit| format!("g{bit}"));
                self.roster.put(&name(agent), true, guilds);
            }
            Step::Lose { agent } => self.lose(&name(agent)),
            Step::Want { place: wanted } => self.want(&place(wanted)),
            Step::Release { place: freed } => {
                let command = Command::ReleaseLease { place: place(freed), holder: None };
                let done = self.world.act(self.world.alice, command).is_ok();
                assert_eq!(done, self.expected.remove(&place(freed)).is_some());
            }
            Step::SaysReleased { agent, place: freed } => {
                let command = Command::ReleaseLease { place: place(freed), holder: Some(name(agent)) };
                let done = self.world.act(Self::hub(), command).is_ok();
                assert_eq!(done, self.expected.get(&place(freed)) == Some(&name(agent)));
                if done {
                    self.expected.remove(&place(freed));
                }
            }
            Step::SaysAdded { agent, place: claimed } => self.claim(&name(agent), &place(claimed)),
            Step::Restart => {
                self.world.state = self.world.ledger.load();
                self.roster = Roster::default();
            }
        }
    }

    fn lose(&mut self, agent: &str) {
        self.roster.remove(agent);
        let Some(lease) = self.world.state.pools().held_by(agent).cloned() else { return };
        let successor = self.pick(&lease.place.guild);
        let command = Command::LoseAgent { agent: agent.to_owned(), successor: successor.clone() };
        self.world.done(Self::hub(), command);
        self.expected.remove(&lease.place);
        if let Some(successor) = successor.filter(|_| lease.place.kind == SessionKind::Music) {
            self.expected.insert(lease.place, successor);
        }
    }

    fn want(&mut self, place: &Place) {
        // When nobody is free, somebody is asked for all the same: a place that is held is found again.
        let agent = self.pick(&place.guild).unwrap_or_else(|| "agent0".to_owned());
        match self.world.act(self.world.alice, Command::TakeLease { place: place.clone(), agent: agent.clone() }) {
            Ok(decision) => {
                let Reply::Lease { lease, created } = decision.reply else { panic!("no lease") };
                assert_eq!(created, !self.expected.contains_key(place));
                let holder = self.expected.entry(place.clone()).or_insert(agent);
                assert_eq!(*holder, lease.agent);
            }
            Err(refused) => {
                assert_eq!(refused, refusal::AGENT_BUSY);
                assert!(self.expected.values().any(|holder| *holder == agent));
            }
        }
    }

    fn claim(&mut self, agent: &str, place: &Place) {
        let command = Command::ClaimLease { place: place.clone(), agent: agent.to_owned() };
        let done = self.world.act(Self::hub(), command).is_ok();
        let held_by_another = self.expected.get(place).is_some_and(|holder| holder != agent);
        assert_eq!(done, !held_by_another);
        if done {
            self.expected.retain(|_, holder| holder != agent);
            self.expected.insert(place.clone(), agent.to_owned());
        }
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        let leases: Vec<Lease> = self.world.state.pools().leases().cloned().collect();
        let places: BTreeSet<_> = leases.iter().map(|lease| &lease.place).collect();
        let agents: BTreeSet<_> = leases.iter().map(|lease| &lease.agent).collect();
        let fences: BTreeSet<_> = leases.iter().map(|lease| lease.fence).collect();
        prop_assert_eq!((places.len(), agents.len(), fences.len()), (leases.len(), leases.len(), leases.len()));
        let held: BTreeMap<_, _> = leases.iter().map(|lease| (lease.place.clone(), lease.agent.clone())).collect();
        prop_assert_eq!(&held, &self.expected, "a lease was lost or has another holder");
        for lease in &leases {
            let found = self.world.state.pools().held_by(&lease.agent);
            prop_assert_eq!(found, Some(lease));
        }
        let next = self.world.state.pools().next_fence();
        prop_assert!(next > self.highest_fence, "the fence went back");
        self.highest_fence = next - 1;
        let stored = self.world.ledger.load();
        prop_assert_eq!(stored.pools(), self.world.state.pools());
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn never_two_holders_and_never_a_lost_lease(steps in steps()) {
        let mut hall = Hall::new();
        for step in steps {
            hall.step(step);
            hall.check()?;
        }
    }
}
