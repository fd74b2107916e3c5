//! What an agent's answers say of the place it holds: one that it does not serve is freed at once.
//!
//! Agents end sessions without saying so, and refuse to begin one; a lease on either would keep the agent from others
//! until somebody finds it idle. `no-session` ends a lease, and so does any refusal before the agent has done anything
//! for it. A request that is still open may be the one that begins the session, so the last one decides.

use std::borrow::Cow;
use std::sync::Arc;

use folkmoot_core::model::Door;
use folkmoot_core::pools::{Lease, Place, SessionKind};
use folkmoot_core::{Actor, Command, Millis, refusal};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::leases::farewell;
use super::{Agent, Asked, Pools, Trouble};

/// What an agent answers that has no session at the place it is asked about.
const NO_SESSION: &str = "no-session";

/// How an agent does at the place it holds, as far as this connection of it has shown.
#[derive(Debug, Default)]
pub struct Service {
    /// The lease that is meant; what was asked under another one does not count any more.
    fence: u64,
    open: usize,
    served: u64,
    /// It has done something for this lease, or held it before we looked.
    is_proven: bool,
    is_ending: bool,
}

/// What came of a request, as far as it says something about the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Served,
    NoSession,
    /// The agent refused, or was not even asked.
    Refused,
    /// Silence: it may have been done.
    Nothing,
}

impl Heard {
    fn of(asked: &Asked) -> Self {
        match asked {
            Ok(Ok(_)) => Self::Served,
            Ok(Err(error)) if error == NO_SESSION => Self::NoSession,
            Ok(Err(_)) | Err(Trouble::LeftAlone(_) | Trouble::Overloaded) => Self::Refused,
            Err(Trouble::Offline | Trouble::TimedOut | Trouble::Refused(_)) => Self::Nothing,
        }
    }
}

impl Service {
    /// Counts a request; none when the lease is over or about to be. `since` is when the agent connected.
    fn begin(&mut self, lease: &Lease, since: Millis) -> Option<u64> {
        if self.fence < lease.fence {
            // What it holds from before, or says itself that it serves, needs no proof.
            let is_proven = lease.taken_at < since || lease.owner.is_none();
            *self = Self { fence: lease.fence, is_proven, ..Self::default() };
        }
        if self.is_ending || self.fence > lease.fence {
            return None;
        }
        self.open += 1;
        Some(self.served)
    }

    /// Whether the lease ends with this request, which began when `served` had been done.
    fn end(&mut self, fence: u64, served: u64, heard: Heard) -> bool {
        if self.fence != fence {
            return false;
        }
        self.open -= 1;
        let is_vain = match heard {
            Heard::Served => {
                self.served += 1;
                self.is_proven = true;
                false
            }
            Heard::NoSession => true,
            Heard::Refused => !self.is_proven,
            Heard::Nothing => false,
        };
        self.is_ending = is_vain && self.open == 0 && self.served == served;
        self.is_ending
    }
}

/// A request about a place that its agent holds, from before it is sent until its answer is judged.
pub struct Asking {
    agent: Arc<Agent>,
    lease: Lease,
    served: u64,
    is_over: bool,
}

impl Asking {
    /// None when the lease is over or about to be: whoever wants the place leases it again.
    pub(super) fn begin(agent: &Arc<Agent>, lease: Lease) -> Option<Self> {
        let served = agent.service.lock().begin(&lease, agent.since)?;
        Some(Self { agent: Arc::clone(agent), lease, served, is_over: false })
    }

    fn end(&mut self, heard: Heard) -> bool {
        self.is_over = true;
        self.agent.service.lock().end(self.lease.fence, self.served, heard)
    }
}

/// Whoever stops waiting has heard nothing.
impl Drop for Asking {
    fn drop(&mut self) {
        if !self.is_over {
            self.end(Heard::Nothing);
        }
    }
}

impl Pools {
    /// The same as [`Asking::begin`] for a request to an agent, if it is about the place that the agent holds.
    pub(super) fn asking_about(&self, agent: &Arc<Agent>, op: &str, data: &RawValue) -> Option<Asking> {
        let place = place_in(op, data)?;
        let held = self.hub.with_state(|state| state.pools().held_by(&agent.id).cloned());
        Asking::begin(agent, held.filter(|lease| lease.place == place)?)
    }

    /// Frees the place if the answer shows that the agent does not serve it; on return it is free.
    pub(super) async fn judge(&self, mut asking: Asking, op: &str, asked: &Asked) {
        let heard = Heard::of(asked);
        if !asking.end(heard) {
            return;
        }
        let Asking { agent, lease, .. } = &asking;
        let (leave, data) = farewell(&lease.place, lease.owner);
        let is_held = self.hub.with_state(|state| state.pools().lease(&lease.place) == Some(lease));
        if is_held && heard != Heard::NoSession && op != leave {
            // It may have joined before it refused. It is told before the place is free: later, others may be there.
            agent.tell(leave, &data);
        }
        tracing::info!(agent = %agent.id, guild = lease.place.guild, op, "a session is not served and is freed");
        let command = Command::ReleaseLease { place: lease.place.clone(), holder: Some(lease.agent.clone()) };
        let freed = self.hub.execute(Actor::hub(Door::Chopsticks), command).await;
        if freed.is_err_and(|refused| refused != refusal::LEASE_NOT_FOUND) {
            agent.service.lock().is_ending = false;
        }
        self.changed.notify_waiters();
    }
}

/// The place that a request is about.
fn place_in(op: &str, data: &RawValue) -> Option<Place> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Where<'a> {
        #[serde(borrow)]
        guild_id: Cow<'a, str>,
        #[serde(borrow)]
        voice_channel_id: Cow<'a, str>,
    }
    let Where { guild_id, voice_channel_id } = serde_json::from_str(data.get()).ok()?;
    let kind = if op.starts_with("assistant") { SessionKind::Assistant } else { SessionKind::Music };
    Some(Place { guild: guild_id.into_owned(), voice_channel: voice_channel_id.into_owned(), kind })
}

#[cfg(test)]
mod tests {
    use folkmoot_core::ids::{LeaseId, MemberId};
    use serde_json::json;

    use super::*;

    const CONNECTED: Millis = 1000;

    fn lease(fence: u64) -> Lease {
        let place = Place { guild: "g1".into(), voice_channel: "v1".into(), kind: SessionKind::Music };
        let owner = Some(MemberId(7));
        Lease { id: LeaseId(1), place, agent: "a1".into(), fence, owner, taken_at: CONNECTED + 1 }
    }

    fn begun(service: &mut Service, lease: &Lease) -> u64 {
        service.begin(lease, CONNECTED).expect("a lease that lasts")
    }

    #[test]
    fn no_session_ends_a_lease_also_after_it_was_served() {
        let (mut service, lease) = (Service::default(), lease(1));
        let play = begun(&mut service, &lease);
        assert!(!service.end(1, play, Heard::Served));
        let status = begun(&mut service, &lease);
        assert!(service.end(1, status, Heard::NoSession));
        assert_eq!(service.begin(&lease, CONNECTED), None, "it is about to end");
    }

    #[test]
    fn a_refusal_ends_a_lease_only_before_anything_was_done_for_it() {
        let (mut service, fresh) = (Service::default(), lease(1));
        let play = begun(&mut service, &fresh);
        assert!(service.end(1, play, Heard::Refused));
        let next = lease(2);
        let play = begun(&mut service, &next);
        assert!(!service.end(2, play, Heard::Served));
        let pause = begun(&mut service, &next);
        assert!(!service.end(2, pause, Heard::Refused));
    }

    #[test]
    fn what_an_agent_held_before_it_connected_or_says_itself_is_not_fresh() {
        let old = Lease { taken_at: CONNECTED - 1, ..lease(1) };
        let claimed = Lease { owner: None, ..lease(2) };
        for lease in [old, claimed] {
            let mut service = Service::default();
            let play = begun(&mut service, &lease);
            assert!(!service.end(lease.fence, play, Heard::Refused));
        }
    }

    #[test]
    fn silence_proves_nothing() {
        let (mut service, lease) = (Service::default(), lease(1));
        let play = begun(&mut service, &lease);
        assert!(!service.end(1, play, Heard::Nothing));
        let again = begun(&mut service, &lease);
        assert!(service.end(1, again, Heard::Refused));
    }

    #[test]
    fn while_another_request_is_open_the_lease_stays_and_the_last_one_decides() {
        let (mut service, lease) = (Service::default(), lease(1));
        let play = begun(&mut service, &lease);
        let status = begun(&mut service, &lease);
        assert!(!service.end(1, status, Heard::NoSession), "the other may begin the session");
        assert!(service.end(1, play, Heard::Refused));
    }

    #[test]
    fn no_session_counts_only_if_nothing_was_served_since_it_was_asked() {
        let (mut service, lease) = (Service::default(), lease(1));
        let status = begun(&mut service, &lease);
        let play = begun(&mut service, &lease);
        assert!(!service.end(1, play, Heard::Served));
        assert!(!service.end(1, status, Heard::NoSession), "it was looked at before the session began");
    }

    #[test]
    fn a_request_of_an_earlier_lease_says_nothing_about_the_next() {
        let mut service = Service::default();
        let old = begun(&mut service, &lease(1));
        begun(&mut service, &lease(2));
        assert!(!service.end(1, old, Heard::NoSession));
        assert_eq!(service.open, 1);
    }

    #[test]
    fn the_place_is_read_from_the_request_and_the_kind_from_its_operation() {
        let read = |op: &str, data: &serde_json::Value| place_in(op, &serde_json::value::to_raw_value(data).unwrap());
        let data = json!({ "guildId": "g1", "voiceChannelId": "v1", "query": "x" });
        assert_eq!(read("play", &data), Some(lease(1).place));
        assert_eq!(read("assistantSay", &data).unwrap().kind, SessionKind::Assistant);
        for other in [json!({}), json!({ "guildId": "g1" }), json!({ "guildId": 1, "voiceChannelId": "v1" }), json!([])]
        {
            assert_eq!(read("play", &other), None);
        }
    }
}
