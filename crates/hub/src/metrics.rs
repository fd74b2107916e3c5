//! What the hub counts, for `/metrics` in Prometheus text.

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct DoorLabel {
    pub door: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct PoolLabel {
    pub pool: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct OutcomeLabel {
    pub pool: String,
    /// `answered`, `error` (the agent's own) or `failed` (no answer).
    pub outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct EngineLabel {
    pub engine: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct KindLabel {
    pub kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct StateLabel {
    pub state: &'static str,
}

pub struct Metrics {
    registry: Registry,
    pub connections: Family<DoorLabel, Gauge>,
    pub messages: Counter,
    pub commits: Histogram,
    pub batch: Histogram,
    pub overflows: Counter,
    pub wakes: Counter,
    pub deliveries: Family<StateLabel, Counter>,
    pub held: Counter,
    pub refused: Counter,
    pub storage_failures: Counter,
    pub limited: Counter,
    pub stored_bytes: Gauge,
    pub engine_unknown_lines: Family<EngineLabel, Counter>,
    pub pool_agents: Family<PoolLabel, Gauge>,
    pub pool_sessions: Family<KindLabel, Gauge>,
    pub pool_requests: Family<OutcomeLabel, Counter>,
    pub pool_request_seconds: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("moot");
        let metrics = Self {
            connections: Family::default(),
            messages: Counter::default(),
            commits: Histogram::new(exponential_buckets(0.000_05, 2.0, 16)),
            batch: Histogram::new(exponential_buckets(1.0, 2.0, 10)),
            overflows: Counter::default(),
            wakes: Counter::default(),
            deliveries: Family::default(),
            held: Counter::default(),
            refused: Counter::default(),
            storage_failures: Counter::default(),
            limited: Counter::default(),
            stored_bytes: Gauge::default(),
            engine_unknown_lines: Family::default(),
            pool_agents: Family::default(),
            pool_sessions: Family::default(),
            pool_requests: Family::default(),
            pool_request_seconds: Histogram::new(exponential_buckets(0.000_1, 4.0, 10)),
            registry: Registry::default(),
        };
        registry.register("connections", "Logged-in connections per door", metrics.connections.clone());
        registry.register("messages", "Messages stored", metrics.messages.clone());
        registry.register(
            "commit_seconds",
            "Time from the end of a batch to its being on disk",
            metrics.commits.clone(),
        );
        registry.register("commit_batch", "Commands decided per batch", metrics.batch.clone());
        registry.register(
            "queue_overflows",
            "Frames that connections could not take because their queue was full",
            metrics.overflows.clone(),
        );
        registry.register("wakes", "Agents woken", metrics.wakes.clone());
        registry.register("deliveries", "Steps of deliveries, per state they led to", metrics.deliveries.clone());
        registry.register("held", "Texts of agents that the brake held", metrics.held.clone());
        registry.register("refused", "Commands refused", metrics.refused.clone());
        registry.register("storage_failures", "Batches that could not be stored", metrics.storage_failures.clone());
        registry.register(
            "limited",
            "Requests, frames, messages and uploads refused by a limit",
            metrics.limited.clone(),
        );
        registry.register("stored_bytes", "Bytes that uploaded files hold", metrics.stored_bytes.clone());
        registry.register(
            "engine_unknown_lines",
            "Lines of engines that run here whose kind is not known, per engine",
            metrics.engine_unknown_lines.clone(),
        );
        registry.register("pool_agents", "Connected agents per pool", metrics.pool_agents.clone());
        registry.register("pool_sessions", "Voice channels served, per kind", metrics.pool_sessions.clone());
        registry.register("pool_requests", "Requests to agents, per pool and outcome", metrics.pool_requests.clone());
        registry.register(
            "pool_request_seconds",
            "Time from a request to an agent to its answer",
            metrics.pool_request_seconds.clone(),
        );
        Self { registry, ..metrics }
    }
}

impl Metrics {
    pub fn door(&self, door: folkmoot_core::model::Door) -> Gauge {
        self.connections.get_or_create(&DoorLabel { door: door.name().to_owned() }).clone()
    }

    pub fn delivery(&self, state: folkmoot_core::delivery::DeliveryState) {
        self.deliveries.get_or_create(&StateLabel { state: state.as_str() }).inc();
    }

    /// An engine wrote a line that nobody here knows. Engines are a short list; the lines' own names would not be.
    pub fn unknown_line(&self, engine: &str) {
        self.engine_unknown_lines.get_or_create(&EngineLabel { engine: engine.to_owned() }).inc();
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_nobody_knows_are_counted_per_engine() {
        let metrics = Metrics::default();
        ["codex", "pi", "codex"].iter().for_each(|engine| metrics.unknown_line(engine));
        assert!(metrics.text().contains("moot_engine_unknown_lines_total{engine=\"codex\"} 2\n"), "{}", metrics.text());
    }
}
