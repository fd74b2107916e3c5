//! What is counted per pool.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::pools::SessionKind;
use folkmoot_hub::metrics::{KindLabel, Metrics, OutcomeLabel, PoolLabel};
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use super::agent::{Agent, Asked};

/// Agents name their pools themselves; beyond this many names the rest is counted together.
const MAX_NAMES: usize = 50;

pub struct Meters {
    metrics: Arc<Metrics>,
    names: Mutex<BTreeSet<String>>,
}

/// The counters of one pool, at hand without a look-up.
pub struct PoolMeters {
    pool: String,
    answered: Counter,
    refused: Counter,
    failed: Counter,
    seconds: Histogram,
}

impl Meters {
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, names: Mutex::default() }
    }

    pub fn of(&self, pool: &str) -> PoolMeters {
        let pool = self.name(pool);
        let outcome = |outcome: &'static str| {
            let label = OutcomeLabel { pool: pool.clone(), outcome };
            self.metrics.pool_requests.get_or_create(&label).clone()
        };
        PoolMeters {
            answered: outcome("answered"),
            refused: outcome("error"),
            failed: outcome("failed"),
            seconds: self.metrics.pool_request_seconds.clone(),
            pool,
        }
    }

    fn name(&self, pool: &str) -> String {
        let mut names = self.names.lock();
        if names.len() < MAX_NAMES {
            names.insert(pool.to_owned());
        }
        if names.contains(pool) { pool.to_owned() } else { "other".to_owned() }
    }

    pub fn refresh(&self, live: &HashMap<Arc<str>, Arc<Agent>>, busy: &[SessionKind]) {
        for name in self.names.lock().iter() {
            let count = live.values().filter(|agent| agent.meters.pool == *name).count();
            self.metrics.pool_agents.get_or_create(&PoolLabel { pool: name.clone() }).set(count as i64);
        }
        for kind in [SessionKind::Music, SessionKind::Assistant] {
            let count = busy.iter().filter(|known| **known == kind).count();
            self.metrics.pool_sessions.get_or_create(&KindLabel { kind: kind.as_str() }).set(count as i64);
        }
    }
}

impl PoolMeters {
    pub fn count(&self, asked: &Asked, took: Duration) {
        match asked {
            Ok(Ok(_)) => self.answered.inc(),
            Ok(Err(_)) => self.refused.inc(),
            Err(_) => self.failed.inc(),
        };
        self.seconds.observe(took.as_secs_f64());
    }
}
