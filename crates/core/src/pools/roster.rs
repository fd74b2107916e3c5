//! The agents that are connected now, as far as giving places to them is concerned.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::{Breaker, Health, Verdict};
use crate::Millis;

/// An agent that could be given a place.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    pub ready: bool,
    pub guilds: BTreeSet<Arc<str>>,
    pub health: Health,
    pub breaker: Breaker,
}

/// Why no agent can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAgent {
    /// None of the connected agents is in the guild.
    InGuild,
    /// Those in the guild are all busy, not ready or left alone.
    Free,
}

#[derive(Clone, Debug, Default)]
pub struct Roster {
    agents: HashMap<Arc<str>, Seat>,
    /// By seat, so that looking at everybody in a guild costs no look-up each.
    candidates: Vec<Candidate>,
    empty_seats: Vec<Seat>,
    guilds: HashMap<Arc<str>, Guild>,
}

type Seat = usize;

#[derive(Clone, Debug, Default)]
struct Guild {
    members: BTreeMap<Arc<str>, Seat>,
    /// Who was given a place last; the search begins behind it.
    last: Option<Arc<str>>,
}

impl Roster {
    pub fn get(&self, agent: &str) -> Option<&Candidate> {
        self.agents.get(agent).map(|seat| &self.candidates[*seat])
    }

    pub fn get_mut(&mut self, agent: &str) -> Option<&mut Candidate> {
        self.agents.get(agent).map(|seat| &mut self.candidates[*seat])
    }

    pub fn len(&self) -> usize {
        self.agents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }

    /// An agent is there, or says again how it is. What is known of its health stays.
    pub fn put(&mut self, agent: &str, ready: bool, guilds: impl IntoIterator<Item = String>) {
        let seat = match self.agents.get(agent) {
            Some(seat) => *seat,
            None => self.take_seat(agent),
        };
        self.candidates[seat].ready = ready;
        self.set_guilds(agent, guilds);
    }

    fn take_seat(&mut self, agent: &str) -> Seat {
        let seat = self.empty_seats.pop().unwrap_or_else(|| {
            self.candidates.push(Candidate::default());
            self.candidates.len() - 1
        });
        self.agents.insert(agent.into(), seat);
        seat
    }

    /// The guilds that an agent is in now, instead of those it was in.
    pub fn set_guilds(&mut self, agent: &str, guilds: impl IntoIterator<Item = String>) {
        let Some((id, seat)) = self.agents.get_key_value(agent) else { return };
        let (id, seat) = (Arc::clone(id), *seat);
        let new: BTreeSet<Arc<str>> = guilds.into_iter().map(|guild| self.shared(&guild)).collect();
        if self.candidates[seat].guilds == new {
            return;
        }
        self.leave_guilds(&id, seat);
        for guild in &new {
            self.guilds.entry(Arc::clone(guild)).or_default().members.insert(Arc::clone(&id), seat);
        }
        self.candidates[seat].guilds = new;
    }

    pub fn remove(&mut self, agent: &str) -> Option<Candidate> {
        let (id, seat) = self.agents.remove_entry(agent)?;
        self.leave_guilds(&id, seat);
        self.empty_seats.push(seat);
        Some(std::mem::take(&mut self.candidates[seat]))
    }

    /// The agent that should be given a place in this guild: the healthiest of those that are ready and not busy; among
    /// equals, the one whose turn it is.
    pub fn pick(&mut self, guild: &str, now: Millis, is_busy: impl Fn(&str) -> bool) -> Result<Arc<str>, NoAgent> {
        let known = self.guilds.get(guild).ok_or(NoAgent::InGuild)?;
        let turns = InTurn { members: &known.members, last: known.last.as_deref() };
        let mut best: Option<(&Arc<str>, u32)> = None;
        for (id, seat) in turns.iter() {
            let candidate = &self.candidates[*seat];
            if !candidate.ready || is_busy(id) || candidate.breaker.look(now) != Verdict::Go {
                continue;
            }
            let score = candidate.health.score(now);
            if best.is_none_or(|(_, known)| score > known) {
                best = Some((id, score));
            }
            if score == FULL_SCORE {
                break;
            }
        }
        let picked = Arc::clone(best.ok_or(NoAgent::Free)?.0);
        if let Some(guild) = self.guilds.get_mut(guild) {
            guild.last = Some(Arc::clone(&picked));
        }
        Ok(picked)
    }

    fn leave_guilds(&mut self, agent: &Arc<str>, seat: Seat) {
        for id in &self.candidates[seat].guilds {
            let Some(guild) = self.guilds.get_mut(id) else { continue };
            guild.members.remove(agent);
            if guild.members.is_empty() {
                self.guilds.remove(id);
            }
        }
    }

    /// A thousand agents of one guild share its name.
    fn shared(&self, guild: &str) -> Arc<str> {
        self.guilds.get_key_value(guild).map_or_else(|| guild.into(), |(known, _)| Arc::clone(known))
    }
}

/// Nobody can do better than this, so nobody else need be looked at.
const FULL_SCORE: u32 = 100;

/// The members of a guild in the order of their turns: those behind the last one first, then from the beginning.
struct InTurn<'a> {
    members: &'a BTreeMap<Arc<str>, Seat>,
    last: Option<&'a str>,
}

impl<'a> InTurn<'a> {
    fn iter(&self) -> impl Iterator<Item = (&'a Arc<str>, &'a Seat)> + use<'a> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let members = self.members;
        let (behind, before) = match self.last {
            Some(last) => ((Excluded(last), Unbounded), (Unbounded, Included(last))),
            None => ((Unbounded, Unbounded), (Unbounded, Excluded(""))),
        };
        members.range::<str, _>(behind).chain(members.range::<str, _>(before))
    }
}

/// Counts of a roster by what its agents do, for those who watch over it.
impl Roster {
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Candidate)> {
        self.agents.iter().map(|(id, seat)| (id, &self.candidates[*seat]))
    }

    /// All guilds that connected agents are in, with how many are.
    pub fn guild_sizes(&self) -> BTreeMap<&str, usize> {
        self.guilds.iter().map(|(id, guild)| (&**id, guild.members.len())).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn roster(agents: &[(&str, bool, &[&str])]) -> Roster {
        let mut roster = Roster::default();
        for (id, ready, guilds) in agents {
            roster.put(id, *ready, guilds.iter().map(|guild| (*guild).to_owned()));
        }
        roster
    }

    fn nobody_is_busy(_: &str) -> bool {
        false
    }

    fn pick(roster: &mut Roster, guild: &str) -> Result<String, NoAgent> {
        roster.pick(guild, 0, nobody_is_busy).map(|agent| agent.to_string())
    }

    #[test]
    fn agents_of_a_guild_are_taken_in_rotation() {
        let mut roster = roster(&[("a", true, &["g"]), ("b", true, &["g"]), ("c", true, &["g"])]);
        let picked: Vec<_> = (0..5).map(|_| pick(&mut roster, "g").unwrap()).collect();
        assert_eq!(picked, ["a", "b", "c", "a", "b"]);
    }

    #[test]
    fn rotation_goes_on_behind_an_agent_that_left() {
        let mut roster = roster(&[("a", true, &["g"]), ("b", true, &["g"]), ("c", true, &["g"])]);
        pick(&mut roster, "g").unwrap();
        pick(&mut roster, "g").unwrap();
        roster.remove("b");
        assert_eq!(pick(&mut roster, "g").unwrap(), "c");
    }

    #[test]
    fn only_ready_idle_agents_of_the_guild_are_given() {
        let mut roster = roster(&[("a", false, &["g"]), ("b", true, &["g"]), ("c", true, &["h"])]);
        assert_eq!(pick(&mut roster, "g").unwrap(), "b");
        assert_eq!(roster.pick("g", 0, |agent| agent == "b"), Err(NoAgent::Free));
        assert_eq!(pick(&mut roster, "x"), Err(NoAgent::InGuild));
        roster.remove("c");
        assert_eq!(pick(&mut roster, "h"), Err(NoAgent::InGuild));
    }

    #[test]
    fn the_healthiest_is_given_before_the_next_in_turn() {
        let mut roster = roster(&[("a", true, &["g"]), ("b", true, &["g"]), ("c", true, &["g"])]);
        roster.get_mut("a").unwrap().health.error(0);
        roster.get_mut("b").unwrap().health.round_trip(900);
        assert_eq!(pick(&mut roster, "g").unwrap(), "c");
        assert_eq!(pick(&mut roster, "g").unwrap(), "c");
        roster.get_mut("c").unwrap().health.round_trip(9000);
        assert_eq!(pick(&mut roster, "g").unwrap(), "a");
    }

    #[test]
    fn an_agent_that_is_left_alone_is_given_nothing() {
        let mut roster = roster(&[("a", true, &["g"])]);
        (0..5).for_each(|_| roster.get_mut("a").unwrap().breaker.failed(0));
        assert_eq!(pick(&mut roster, "g"), Err(NoAgent::Free));
    }

    #[test]
    fn guilds_replace_the_membership() {
        let mut roster = roster(&[("a", true, &["g", "h"])]);
        roster.set_guilds("a", ["i".to_owned()]);
        assert_eq!(roster.guild_sizes(), BTreeMap::from([("i", 1)]));
        roster.set_guilds("nobody", ["i".to_owned()]);
        assert_eq!(roster.guild_sizes(), BTreeMap::from([("i", 1)]));
    }

    #[test]
    fn a_new_hello_keeps_what_is_known_of_the_agents_health() {
        let mut roster = roster(&[("a", true, &["g"])]);
        roster.get_mut("a").unwrap().health.error(0);
        roster.put("a", true, ["g".to_owned()]);
        assert_eq!(roster.get("a").unwrap().health.score(0), 90);
    }

    proptest! {
        /// Everybody is found through the guilds they say they are in, and through no other.
        #[test]
        fn guilds_and_agents_agree(steps in proptest::collection::vec((0..6_u8, 0..4_u8, any::<u8>()), 0..60)) {
            let mut roster = Roster::default();
            for (agent, what, guilds) in steps {
                let agent = agent.to_string();
                let guilds = (0..8).filter(|bit| guilds >> bit & 1 == 1).map(|bit| format!("g{bit}"));
                match what {
                    0 => drop(roster.remove(&agent)),
                    1 => roster.set_guilds(&agent, guilds),
                    _ => roster.put(&agent, true, guilds),
                }
            }
            let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
            for (_, candidate) in roster.iter() {
                candidate.guilds.iter().for_each(|guild| *sizes.entry(&**guild).or_default() += 1);
            }
            prop_assert_eq!(sizes, roster.guild_sizes());
        }
    }
}
