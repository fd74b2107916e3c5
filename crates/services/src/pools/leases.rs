//! Places and who serves them: found again, given to the agent whose turn it is, asked, freed.

use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::command::Reply;
use folkmoot_core::ids::MemberId;
use folkmoot_core::pools::{Lease, NoAgent, Place, SessionKind};
use folkmoot_core::{Actor, Command, Refusal, access, refusal};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::service::Asking;
use super::{Agent, Asked, Pools, Trouble};

/// How long an agent may take to leave a place nobody wants any more.
pub(super) const FAREWELL: Duration = Duration::from_secs(12);
/// A request for an agent that has just gone waits for it as long as its place is kept, and this much longer for its successor.
const SUCCESSOR_TIMEOUT: Duration = Duration::from_secs(3);
/// Several want an agent at once and all are shown the same one; each try loses at most one rival.
const MAX_TRIES: usize = 64;

/// Why a place has no agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLeased {
    None(NoAgent),
    Refused(Refusal),
}

impl From<Refusal> for NotLeased {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl NotLeased {
    /// The word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::None(NoAgent::InGuild) => "no-agents-in-guild",
            Self::None(NoAgent::Free) => "no-free-agents",
            Self::Refused(refusal) => refusal.code.as_str(),
        }
    }

    pub fn sentence(&self, guild: &str) -> String {
        match self {
            Self::None(NoAgent::InGuild) => format!("no connected agent is in the guild `{guild}`"),
            Self::None(NoAgent::Free) => format!("all agents of the guild `{guild}` are busy or not ready"),
            Self::Refused(refusal) => refusal.text.to_string(),
        }
    }
}

impl Pools {
    /// The agent that serves a place, now given to it if nobody did; true when it is new.
    pub async fn lease(&self, actor: Actor, place: &Place) -> Result<(Lease, bool), NotLeased> {
        for _ in 0..MAX_TRIES {
            let known = self.hub.with_state(|state| {
                access::pool_user(state, actor)?;
                Ok::<_, Refusal>(state.pools().lease(place).cloned())
            })?;
            if let Some(lease) = known {
                self.use_place(place);
                return Ok((lease, false));
            }
            let agent = self.pick(&place.guild).map_err(NotLeased::None)?;
            let command = Command::TakeLease { place: place.clone(), agent: agent.to_string() };
            match self.hub.execute(actor, command).await {
                Ok(Reply::Lease { lease, created }) => {
                    self.use_place(place);
                    self.expect_if_missing(&lease.agent);
                    return Ok((lease, created));
                }
                Err(busy) if busy == refusal::AGENT_BUSY => {}
                Ok(_) => return Err(Refusal::unavailable("internal error").into()),
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Err(NotLeased::None(NoAgent::Free))
    }

    /// The agent whose turn it is in this guild.
    pub(super) fn pick(&self, guild: &str) -> Result<Arc<str>, NoAgent> {
        let now = self.hub.now();
        self.hub.with_state(|state| self.roster.lock().pick(guild, now, |agent| state.pools().is_busy(agent)))
    }

    /// Asks the agent that serves a place, giving the place to one if need be.
    pub async fn dispatch(
        &self,
        actor: Actor,
        place: &Place,
        op: &str,
        data: Map<String, Value>,
    ) -> Result<(Lease, Asked), NotLeased> {
        let data = about(place, data, actor.member);
        let (lease, holder) = self.lease_to_ask(actor, place).await?;
        let asked = match holder {
            Some((agent, asking)) => {
                self.ask_and_judge(&agent, Some(asking), (op, &data), self.settings.request_timeout).await
            }
            None => Err(Trouble::Offline),
        };
        self.use_place(place);
        Ok((lease, asked))
    }

    /// The lease of a place and its agent, which keeps the place at least until it is asked; no agent when it is gone.
    async fn lease_to_ask(
        &self,
        actor: Actor,
        place: &Place,
    ) -> Result<(Lease, Option<(Arc<Agent>, Asking)>), NotLeased> {
        for _ in 0..MAX_TRIES {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let (lease, _) = self.lease(actor, place).await?;
            let lease = self.wait_for_holder(lease).await;
            let Some(agent) = self.agent(&lease.agent) else { return Ok((lease, None)) };
            if let Some(asking) = Asking::begin(&agent, lease.clone()) {
                return Ok((lease, Some((agent, asking))));
            }
            // It is being freed for not being served; then it may be leased anew.
            let _ = tokio::time::timeout(SUCCESSOR_TIMEOUT, changed).await;
        }
        Err(NotLeased::None(NoAgent::Free))
    }

    /// The holder may have gone a moment ago: it is back soon, or the place passes to another.
    async fn wait_for_holder(&self, mut lease: Lease) -> Lease {
        let deadline = tokio::time::Instant::now() + self.settings.grace + SUCCESSOR_TIMEOUT;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match self.hub.with_state(|state| state.pools().lease(&lease.place).cloned()) {
                Some(current) => lease = current,
                None => return lease,
            }
            let is_here = self.agent(&lease.agent).is_some();
            if is_here || tokio::time::timeout_at(deadline, changed).await.is_err() {
                return lease;
            }
        }
    }

    /// Frees a place, and tells its agent to leave.
    pub async fn release(&self, actor: Actor, place: &Place) -> Result<Lease, Refusal> {
        let command = Command::ReleaseLease { place: place.clone(), holder: None };
        let Reply::Lease { lease, .. } = self.hub.execute(actor, command).await? else {
            return Err(Refusal::unavailable("internal error"));
        };
        self.used.lock().remove(place);
        self.changed.notify_waiters();
        self.send_away(&lease.agent, place, lease.owner.or(Some(actor.member)));
        Ok(lease)
    }

    /// Tells an agent to leave a place, without waiting for it.
    pub(super) fn send_away(&self, agent: &str, place: &Place, on_behalf_of: Option<MemberId>) {
        let (pools, agent, place) = (self.clone(), agent.to_owned(), place.clone());
        tokio::spawn(async move {
            let _ = pools.ask_to_leave(&agent, &place, on_behalf_of).await;
        });
    }

    pub(super) async fn ask_to_leave(&self, agent: &str, place: &Place, on_behalf_of: Option<MemberId>) -> Asked {
        let (op, data) = farewell(place, on_behalf_of);
        self.ask_within(agent, op, &data, FAREWELL).await
    }

    pub(super) fn use_place(&self, place: &Place) {
        let now = self.hub.now();
        let mut used = self.used.lock();
        match used.get_mut(place) {
            Some(at) => *at = now,
            None => drop(used.insert(place.clone(), now)),
        }
    }
}

/// What tells an agent to leave a place at once.
pub fn farewell(place: &Place, on_behalf_of: Option<MemberId>) -> (&'static str, Box<RawValue>) {
    let op = match place.kind {
        SessionKind::Music => "stop",
        SessionKind::Assistant => "assistantLeave",
    };
    let now = Map::from_iter([("stopGraceMs".to_owned(), json!(0))]);
    (op, about(place, now, on_behalf_of.unwrap_or(MemberId::NONE)))
}

/// What every operation needs to know: where, and for whom. What the caller says itself counts.
pub fn about(place: &Place, mut data: Map<String, Value>, member: MemberId) -> Box<RawValue> {
    let mut set = |field: &str, value: Value| {
        data.entry(field).or_insert(value);
    };
    set("guildId", json!(place.guild));
    set("voiceChannelId", json!(place.voice_channel));
    if member.is_none() {
        // Agents answer nobody who does not say who asks; this time it is the hub.
        set("adminUserId", json!("hub"));
    } else {
        set("actorUserId", json!(member));
        set("ownerUserId", json!(member));
    }
    serde_json::value::to_raw_value(&data).unwrap_or_default()
}

/// A problem with asking, whichever step it came from.
impl From<NotLeased> for Trouble {
    fn from(not_leased: NotLeased) -> Self {
        match not_leased {
            NotLeased::None(_) => Self::Offline,
            NotLeased::Refused(refusal) => Self::Refused(refusal),
        }
    }
}
