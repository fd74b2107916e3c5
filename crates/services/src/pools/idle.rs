//! Frees places that nobody used for a while: asks whether it still plays, tells the agent to leave, then frees.

use std::time::Duration;

use folkmoot_core::ids::MemberId;
use folkmoot_core::model::Door;
use folkmoot_core::pools::{Lease, SessionKind};
use folkmoot_core::{Actor, Command, Millis};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Pools;
use super::leases::{FAREWELL, about};

const SWEEP: Duration = Duration::from_secs(60);

/// Runs as long as the hub.
pub async fn sweep(pools: Pools) {
    let Some(idle_after) = pools.settings.idle_release else { return };
    let pause = SWEEP.min(idle_after);
    loop {
        tokio::time::sleep(pause).await;
        for lease in pools.idle(idle_after) {
            let pools = pools.clone();
            // One agent that answers slowly does not hold up the rest.
            tokio::spawn(async move { pools.free_if_quiet(lease).await });
        }
    }
}

impl Pools {
    /// The leases nobody used for this long. One that is not known yet counts as used just now.
    fn idle(&self, idle_after: Duration) -> Vec<Lease> {
        let now = self.hub.now();
        let limit = idle_after.as_millis() as Millis;
        let leases: Vec<Lease> = self.hub.with_state(|state| state.pools().leases().cloned().collect());
        let mut used = self.used.lock();
        used.retain(|place, _| leases.iter().any(|lease| lease.place == *place));
        let is_idle = |lease: &Lease| now - *used.entry(lease.place.clone()).or_insert(now) >= limit;
        leases.into_iter().filter(is_idle).collect()
    }

    async fn free_if_quiet(&self, lease: Lease) {
        if self.is_playing(&lease).await {
            return self.use_place(&lease.place);
        }
        if self.hub.with_state(|state| state.pools().lease(&lease.place) != Some(&lease)) {
            // The answer showed that nobody serves it any more.
            return;
        }
        let _ = self.ask_to_leave(&lease.agent, &lease.place, lease.owner).await;
        tracing::info!(agent = lease.agent, guild = lease.place.guild, "a session was idle and is freed");
        let command = Command::ReleaseLease { place: lease.place, holder: Some(lease.agent) };
        // When the agent itself said that it left, there is nothing more to free.
        let _ = self.hub.execute(Actor::hub(Door::Chopsticks), command).await;
        self.changed.notify_waiters();
    }

    /// Music goes on without anybody asking for anything.
    async fn is_playing(&self, lease: &Lease) -> bool {
        if lease.place.kind != SessionKind::Music {
            return false;
        }
        let data = about(&lease.place, Map::new(), lease.owner.unwrap_or(MemberId::NONE));
        let Ok(Ok(Some(status))) = self.ask_within(&lease.agent, "status", &data, FAREWELL).await else {
            return false;
        };
        says(&status, "playing") && !says(&status, "paused")
    }
}

fn says(status: &RawValue, field: &str) -> bool {
    let status: Value = serde_json::from_str(status.get()).unwrap_or_default();
    status.get(field).and_then(Value::as_bool).unwrap_or(false)
}
