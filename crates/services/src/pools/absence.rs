//! Agents that went away: they get a moment to come back, then what they served passes to others.

use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::command::Reply;
use folkmoot_core::model::Door;
use folkmoot_core::pools::{Candidate, Place};
use folkmoot_core::{Actor, Command, Millis, refusal};
use folkmoot_doors::chopsticks::mapping::Hello;

use super::{Absence, Agent, Pools};

/// How long it is remembered how an agent did, and what it must be told to stop.
const REMEMBERED: Millis = 10 * 60 * 1000;
const STRAYS_REMEMBERED: Millis = 24 * 60 * 60 * 1000;

impl Pools {
    /// An agent's connection ended.
    pub(super) fn miss(&self, agent: &Arc<Agent>, unanswered: usize) {
        let now = self.hub.now();
        let mut record =
            self.roster.lock().remove(&agent.id).map(|Candidate { health, breaker, .. }| (health, breaker));
        if let Some((health, breaker)) = &mut record {
            // Those who waited were told; they cannot find the agent any more to hold it against it.
            for _ in 0..unanswered {
                breaker.failed(now);
                health.error(now);
            }
        }
        {
            let mut absent = self.absent.lock();
            absent.retain(|_, absence| {
                now - absence.since < if absence.strays.is_empty() { REMEMBERED } else { STRAYS_REMEMBERED }
            });
            let absence = absent.entry(Arc::clone(&agent.id)).or_default();
            absence.since = now;
            absence.record = record;
        }
        self.expect_back(&agent.id, now, self.settings.grace);
    }

    /// After a restart nobody is here yet, and everybody who held something may be on the way.
    pub(super) fn expect_holders_back(&self) {
        let now = self.hub.now();
        let holders: Vec<Arc<str>> =
            self.hub.with_state(|state| state.pools().leases().map(|lease| lease.agent.as_str().into()).collect());
        for holder in holders {
            self.expect_missing(&holder, now, self.settings.stale);
        }
    }

    /// A place was given to an agent that had just left: nobody saw it go with that place.
    pub(super) fn expect_if_missing(&self, agent: &str) {
        if self.agent(agent).is_none() {
            self.expect_missing(&agent.into(), self.hub.now(), self.settings.grace);
        }
    }

    fn expect_missing(&self, agent: &Arc<str>, now: Millis, timeout: Duration) {
        self.absent.lock().entry(Arc::clone(agent)).or_default().since = now;
        self.expect_back(agent, now, timeout);
    }

    fn expect_back(&self, agent: &Arc<str>, since: Millis, timeout: Duration) {
        let (pools, agent) = (self.clone(), Arc::clone(agent));
        tokio::spawn(async move {
            tokio::time::sleep(timeout).await;
            // A later absence has its own end.
            let still_absent = pools.absent.lock().get(&agent).is_some_and(|absence| absence.since == since);
            if still_absent && pools.agent(&agent).is_none() {
                pools.give_up(&agent).await;
            }
        });
    }

    /// What an absent agent held is passed on or freed.
    async fn give_up(&self, agent: &Arc<str>) {
        loop {
            let Some(place) =
                self.hub.with_state(|state| state.pools().held_by(agent).map(|lease| lease.place.clone()))
            else {
                return;
            };
            let successor = if place.kind.survives_its_agent() { self.pick(&place.guild).ok() } else { None };
            let command =
                Command::LoseAgent { agent: agent.to_string(), successor: successor.map(|id| id.to_string()) };
            match self.hub.execute(Actor::hub(Door::Chopsticks), command).await {
                Err(busy) if busy == refusal::AGENT_BUSY => continue,
                Ok(Reply::Lease { lease, created }) => {
                    let to = if created { lease.agent.as_str() } else { "nobody" };
                    tracing::info!(%agent, to, guild = place.guild, kind = place.kind.as_str(), "a session was passed on");
                    if created {
                        self.expect_if_missing(&lease.agent);
                    }
                }
                other => {
                    tracing::warn!(%agent, outcome = ?other.err(), "a session could not be passed on");
                    return;
                }
            }
            self.tell_what_is_lost(agent, place);
            self.changed.notify_waiters();
            return;
        }
    }

    /// An agent that is not here is told when it comes back. It may have come back since it was given up, and then nobody else
    /// would tell it: it is among the connected ones before its absence is looked up.
    fn tell_what_is_lost(&self, agent: &Arc<str>, place: Place) {
        let mut absent = self.absent.lock();
        if self.agent(agent).is_some() {
            self.send_away(agent, &place, None);
        } else {
            absent.entry(Arc::clone(agent)).or_default().strays.push(place);
        }
    }

    /// An agent is here, perhaps again: it is as well as it was, and is told what it no longer serves.
    pub(super) fn welcome_back(&self, agent: &Arc<Agent>, hello: Hello) -> Vec<Place> {
        let Absence { record, strays, .. } = self.absent.lock().remove(&agent.id).unwrap_or_default();
        let mut roster = self.roster.lock();
        roster.put(&agent.id, hello.ready, hello.guilds);
        if let (Some((health, breaker)), Some(candidate)) = (record, roster.get_mut(&agent.id)) {
            candidate.health = health;
            candidate.breaker = breaker;
        }
        strays
    }
}
