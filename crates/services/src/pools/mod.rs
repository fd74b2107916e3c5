//! Pools of worker agents: who is connected, who serves which place, and requests to them.
//!
//! The door ([`door`]) brings connections and what agents say on them; [`agent`] is one connected agent and its open
//! requests; [`leases`] gives places to agents and finds them again; [`service`] frees those that are not served,
//! [`idle`] those that nobody uses; [`absence`] deals with agents that went away; [`guests`] makes agents members with
//! presence; [`chat`] takes commands from linked channels. Requests live in memory and touch no disk; leases are decided
//! and stored by the hub like everything else.

mod absence;
pub mod agent;
mod chat;
mod door;
mod guests;
mod idle;
mod leases;
mod listen;
mod meters;
mod rest;
mod service;
pub mod words;

use std::any::Any;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRef;
use axum::http::{Request, Response};
use folkmoot_core::ids::ConnectionId;
use folkmoot_core::pools::{Breaker, Health, Place, Roster};
use folkmoot_core::{Actor, Millis, access};
use folkmoot_doors::Ticket;
use folkmoot_doors::chopsticks::mapping::Said;
use folkmoot_doors::chopsticks::session::{Pulse, Terms};
use folkmoot_hub::connection::Connection;
use folkmoot_hub::request::Surface;
use folkmoot_hub::{DoorHost, DoorStatus, Hub, doors, surface};
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use utoipa::ToSchema;

pub use self::agent::{Agent, Asked, Trouble};
pub use self::leases::NotLeased;
use self::leases::about;
use self::listen::rest as listening;
use self::meters::Meters;
use crate::settings::Chopsticks;

/// The controller of pools; clones share it.
#[derive(Clone)]
pub struct Pools(Arc<Shared>);

pub struct Shared {
    hub: Hub,
    is_enabled: bool,
    terms: Arc<Terms>,
    settings: PoolSettings,
    lines: RwLock<HashMap<ConnectionId, AgentLine>>,
    live: RwLock<HashMap<Arc<str>, Arc<Agent>>>,
    roster: Mutex<Roster>,
    addresses: Mutex<HashMap<IpAddr, u32>>,
    absent: Mutex<HashMap<Arc<str>, Absence>>,
    /// When each place was used last.
    used: Mutex<HashMap<Place, Millis>>,
    /// Something changed that a waiting request may be waiting for.
    changed: Notify,
    meters: Meters,
}

struct PoolSettings {
    request_timeout: Duration,
    stale: Duration,
    grace: Duration,
    probe: Duration,
    idle_release: Option<Duration>,
    max_connections: u32,
    max_connections_per_ip: u32,
}

/// One connection, known from its first moment; its agent is known from the hello on.
struct AgentLine {
    pulse: Arc<Pulse>,
    agent: Option<Arc<Agent>>,
    /// What it said while somebody else of its name was looked for.
    kept: Option<Vec<Said>>,
}

/// An agent that went away and may come back.
#[derive(Default)]
struct Absence {
    since: Millis,
    /// How it did, so that coming back does not make it well.
    record: Option<(Health, Breaker)>,
    /// What it served and another serves now: it is told to stop when it comes back.
    strays: Vec<Place>,
}

/// A connected agent, as REST shows it.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = PoolAgent)]
pub struct AgentView {
    pub agent_id: String,
    pub pool_id: String,
    #[schema(required = true)]
    pub tag: Option<String>,
    pub ready: bool,
    pub guild_ids: Vec<String>,
    /// Whether it serves a voice channel.
    pub busy: bool,
    /// What it does there: `music` or `assistant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = folkmoot_doors::lark::objects::schemas::PoolKind, required = false)]
    pub kind: Option<&'static str>,
    pub protocol_version: &'static str,
    pub last_seen: Millis,
    /// From 0 to 100: errors of the last minute and the time a ping takes.
    pub health: u32,
    /// The agent as a member of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub member_id: Option<folkmoot_core::ids::MemberId>,
}

impl Deref for Pools {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl FromRef<Pools> for Hub {
    fn from_ref(pools: &Pools) -> Self {
        pools.hub.clone()
    }
}

/// Agents are let in here, and what they say is heard here.
impl DoorHost for Pools {
    fn status(&self) -> DoorStatus {
        if self.is_enabled { DoorStatus::Open } else { DoorStatus::Off }
    }

    fn upgrade(&self, socket: SocketAddr, request: Request<Body>) -> ControlFlow<Response<Body>, Request<Body>> {
        ControlFlow::Break(door::upgrade(self, socket, request))
    }

    fn asked<'a>(
        &'a self,
        connection: &'a Arc<Connection>,
        what: Box<dyn Any + Send>,
        _: Ticket,
    ) -> doors::HostAnswer<'a> {
        if let Ok(said) = what.downcast::<Said>() {
            self.hear(connection, *said);
        }
        doors::HostAnswer::Taken
    }

    fn refresh_metrics(&self) {
        let busy: Vec<_> = self.hub.with_state(|state| state.pools().leases().map(|lease| lease.place.kind).collect());
        self.meters.refresh(&self.live.read(), &busy);
    }
}

surface! {
    Pools;
    rest::agents;
    rest::request;
    rest::take, rest::sessions;
    rest::release;
    rest::dispatch;
    listening::link;
    rest::link, rest::show_link, rest::unlink;
}

/// Starts what goes on by itself: waiting for agents after a restart, freeing idle places, commands from channels, and
/// the listener of its own where there is one.
pub fn start(pools: &Pools, listener: Option<TcpListener>, stop: watch::Receiver<bool>) {
    if !pools.is_enabled {
        return;
    }
    pools.expect_holders_back();
    tokio::spawn(idle::sweep(pools.clone()));
    tokio::spawn(chat::listen(pools.clone()));
    if let Some(listener) = listener {
        tokio::spawn(door::serve_apart(listener, pools.clone(), stop));
    }
}

impl Pools {
    pub fn new(hub: &Hub, config: &Chopsticks) -> Self {
        let seconds = Duration::from_secs_f64;
        let millis = |seconds: f64| (seconds * 1000.0) as Millis;
        let secret = config.runner_secret.expose();
        let terms = Terms {
            handshake_ms: millis(config.handshake_s),
            stale_ms: millis(config.stale_s),
            runner_secret: (!secret.is_empty()).then(|| secret.to_owned()),
        };
        let settings = PoolSettings {
            request_timeout: seconds(config.request_timeout_s),
            stale: seconds(config.stale_s),
            grace: seconds(config.reconnect_grace_s),
            probe: seconds(config.probe_s),
            idle_release: (config.idle_release_s > 0.0).then(|| seconds(config.idle_release_s)),
            max_connections: config.max_connections,
            max_connections_per_ip: config.max_connections_per_ip,
        };
        Self(Arc::new(Shared {
            hub: hub.clone(),
            is_enabled: config.enabled,
            terms: Arc::new(terms),
            settings,
            lines: RwLock::default(),
            live: RwLock::default(),
            roster: Mutex::default(),
            addresses: Mutex::default(),
            absent: Mutex::default(),
            used: Mutex::default(),
            changed: Notify::new(),
            meters: Meters::new(Arc::clone(hub.metrics())),
        }))
    }

    /// Its part of `/v1`, and what there is to hear at `/listen`.
    pub fn surface(&self) -> Surface {
        let routes = routes().with_state(self.clone()).merge(listen::router(self.clone()));
        Surface { routes, described }
    }

    /// The agent that is connected under this name.
    pub fn agent(&self, id: &str) -> Option<Arc<Agent>> {
        self.live.read().get(id).cloned()
    }

    /// Every connected agent, by name.
    pub fn agents(&self) -> Vec<AgentView> {
        let now = self.hub.now();
        let mut live: Vec<_> = self.live.read().values().cloned().collect();
        live.sort_by(|one, other| one.id.cmp(&other.id));
        self.hub.with_state(|state| {
            let roster = self.roster.lock();
            let view = |agent: &Arc<Agent>| {
                let said = agent.said();
                let candidate = roster.get(&agent.id);
                let held = state.pools().held_by(&agent.id);
                AgentView {
                    agent_id: agent.id.to_string(),
                    pool_id: said.pool,
                    tag: said.tag,
                    ready: candidate.is_some_and(|candidate| candidate.ready),
                    guild_ids: candidate
                        .map(|known| known.guilds.iter().map(|guild| guild.to_string()).collect())
                        .unwrap_or_default(),
                    busy: held.is_some(),
                    kind: held.map(|lease| lease.place.kind.as_str()),
                    protocol_version: said.version,
                    last_seen: agent.last_seen(),
                    health: candidate.map_or(0, |candidate| candidate.health.score(now)),
                    member_id: agent.guest(),
                }
            };
            live.iter().map(view).collect()
        })
    }

    /// Asks the agent of this name on behalf of a member, and waits for its answer.
    pub async fn ask_as(&self, actor: Actor, agent: &str, op: &str, data: &RawValue) -> Asked {
        self.hub.with_state(|state| access::pool_user(state, actor).map(drop)).map_err(Trouble::Refused)?;
        self.ask(agent, op, data).await
    }

    /// The same for the hub itself.
    pub async fn ask(&self, agent: &str, op: &str, data: &RawValue) -> Asked {
        self.ask_within(agent, op, data, self.settings.request_timeout).await
    }
}
