//! The door to the pools: who may connect, and what is done with what agents say.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use bytes::Bytes;
use folkmoot_core::model::Door;
use folkmoot_core::{Actor, Command, refusal};
use folkmoot_doors::chopsticks::Chopsticks;
use folkmoot_doors::chopsticks::mapping::{self, Hello, Said};
use folkmoot_doors::chopsticks::session::{ChopsticksSession, Pulse};
use folkmoot_hub::connection::frame;
use folkmoot_hub::connection::{Chunk, Connection};
use folkmoot_hub::ws::upgrade::{hand_over, refuse};
use folkmoot_hub::{net, peer, ws};
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::{Agent, AgentLine, Pools};

static PROTOCOL: Chopsticks = Chopsticks;

const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// What a newcomer says while the agent of its name is looked for is kept; more than this is not.
const MAX_KEPT: usize = 64;

/// Answers an upgrade request on either listener.
pub fn upgrade(pools: &Pools, socket: SocketAddr, request: Request<Body>) -> Response<Body> {
    if !pools.lets_in(socket.ip(), request.headers()) {
        return refuse(
            StatusCode::FORBIDDEN,
            "without `chopsticks.runner_secret` only agents on the hub's machine may connect",
        );
    }
    let address = pools.hub.peer_of(socket, request.headers()).ip();
    let may_connect = pools.hub.origins().are_ours(request.headers());
    let pools = pools.clone();
    hand_over(request, may_connect, move |stream, already_read| {
        pools.hub.spawn_connection(serve(pools.clone(), address, stream, already_read));
    })
}

/// The listener of its own, where any path leads here.
pub async fn serve_apart(listener: TcpListener, pools: Pools, stop: watch::Receiver<bool>) {
    let hub = pools.hub.clone();
    let respond = move |address: SocketAddr, request: Request<Incoming>| {
        std::future::ready(Ok(upgrade(&pools, address, request.map(Body::new))))
    };
    net::serve_with(listener, &hub, stop, respond).await;
}

/// A connection from its first moment to its last.
async fn serve(pools: Pools, address: IpAddr, stream: TcpStream, already_read: Bytes) {
    let (connection, reading) = pools.hub.new_connection(&PROTOCOL, address, stream);
    let now = pools.hub.now();
    let place = match pools.admit(address) {
        Ok(place) => place,
        Err(reason) => {
            let session = Box::new(ChopsticksSession::turned_away(reason, now));
            return ws::serve_to_its_end(&pools.hub, connection, session, reading, already_read).await;
        }
    };
    let pulse = Arc::new(Pulse::new(now));
    pools.lines.write().insert(connection.id, AgentLine { pulse: Arc::clone(&pulse), agent: None, kept: None });
    let session = Box::new(ChopsticksSession::new(Arc::clone(&pools.terms), pulse, now));
    ws::serve_to_its_end(&pools.hub, Arc::clone(&connection), session, reading, already_read).await;
    pools.ended(&connection);
    pools.leave(place);
}

/// Whether a connected agent answers a ping, or says anything else, in time.
async fn is_alive(agent: &Agent, probe: Duration) -> bool {
    let before = agent.beats();
    agent.connection.send(Chunk::answer(frame::EMPTY_PING));
    let until = Instant::now() + probe;
    while Instant::now() < until && !agent.is_gone() {
        if agent.beats() != before {
            return true;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    false
}

/// A connection that was let in, until it leaves.
struct Admitted(IpAddr);

impl Pools {
    /// Whoever has no secret to show is known by being here: on this machine, not behind a proxy that is.
    fn lets_in(&self, socket: IpAddr, headers: &HeaderMap) -> bool {
        let is_here = peer::is_of_this_machine(socket, headers) && !self.hub.is_trusted_proxy(socket);
        self.terms.runner_secret.is_some() || is_here
    }

    fn admit(&self, address: IpAddr) -> Result<Admitted, &'static str> {
        let mut addresses = self.addresses.lock();
        if addresses.values().sum::<u32>() >= self.settings.max_connections {
            return Err("server-full");
        }
        let count = addresses.entry(address).or_default();
        if *count >= self.settings.max_connections_per_ip {
            return Err("too-many-connections");
        }
        *count += 1;
        Ok(Admitted(address))
    }

    fn leave(&self, Admitted(address): Admitted) {
        let mut addresses = self.addresses.lock();
        if let Some(count) = addresses.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                addresses.remove(&address);
            }
        }
    }

    /// Takes what an agent said on its connection.
    pub fn hear(&self, connection: &Arc<Connection>, said: Said) {
        let Some(said) = self.keep_for_later(connection, said) else { return };
        if let Said::Hello(hello) = said {
            return self.greet(connection, hello);
        }
        let agent = self.lines.read().get(&connection.id).and_then(|line| line.agent.clone());
        let Some(agent) = agent.filter(|agent| !agent.is_gone()) else { return };
        match said {
            Said::Hello(_) => {}
            Said::Answer(answer) => agent.answer(answer),
            Said::Guilds(guilds) => {
                tracing::debug!(agent = %agent.id, guilds = guilds.len(), "an agent told its guilds");
                self.roster.lock().set_guilds(&agent.id, guilds);
                self.changed.notify_waiters();
            }
            Said::Released { place, reason } => {
                tracing::info!(agent = %agent.id, guild = place.guild, kind = place.kind.as_str(), reason, "released");
                let command = Command::ReleaseLease { place, holder: Some(agent.id.to_string()) };
                self.tell_hub(command);
            }
            Said::Added { place } => {
                let stray = place.clone();
                let command = Command::ClaimLease { place, agent: agent.id.to_string() };
                let claimed = self.hub.begin(Actor::hub(Door::Chopsticks), command);
                let pools = self.clone();
                tokio::spawn(async move {
                    let outcome = claimed.await;
                    if outcome.is_err_and(|refused| refused == refusal::LEASE_HELD) {
                        tracing::warn!(agent = %agent.id, guild = stray.guild, "joined what another agent serves");
                        pools.send_away(&agent.id, &stray, None);
                    }
                });
            }
            Said::NotAdded { place, error } => {
                tracing::warn!(agent = %agent.id, guild = place.guild, kind = place.kind.as_str(), error, "could not join");
                let command = Command::ReleaseLease { place, holder: Some(agent.id.to_string()) };
                self.tell_hub(command);
            }
        }
    }

    /// Keeps what a newcomer says until it is known whether it may be whom it says it is; the rest is given back.
    fn keep_for_later(&self, connection: &Arc<Connection>, said: Said) -> Option<Said> {
        let mut lines = self.lines.write();
        let Some(kept) = lines.get_mut(&connection.id).and_then(|line| line.kept.as_mut()) else { return Some(said) };
        if kept.len() < MAX_KEPT {
            kept.push(said);
        }
        None
    }

    /// Something that only the hub may decide; queued at once, so that what an agent says is decided in its order.
    fn tell_hub(&self, command: Command) {
        let told = self.hub.begin(Actor::hub(Door::Chopsticks), command);
        let pools = self.clone();
        tokio::spawn(async move {
            let _ = told.await;
            pools.changed.notify_waiters();
        });
    }

    fn greet(&self, connection: &Arc<Connection>, hello: Hello) {
        let known = self.lines.read().get(&connection.id).and_then(|line| line.agent.clone());
        match known {
            Some(agent) if agent.is_gone() => return,
            Some(agent) => self.heartbeat(&agent, hello),
            None => match self.agent(&hello.agent) {
                Some(older) => self.contest(connection, older, hello),
                None => self.enlist(connection, hello),
            },
        }
        self.changed.notify_waiters();
    }

    /// An agent of this name is connected already. One that is alive stays: nobody takes its place by knowing its name. One whose
    /// connection is dead without anybody having noticed is what comes back now.
    fn contest(&self, connection: &Arc<Connection>, older: Arc<Agent>, hello: Hello) {
        if let Some(line) = self.lines.write().get_mut(&connection.id) {
            line.kept = Some(Vec::new());
        }
        let (pools, connection) = (self.clone(), Arc::clone(connection));
        tokio::spawn(async move {
            if is_alive(&older, pools.settings.probe).await {
                tracing::warn!(agent = %older.id, address = %connection.address, "another connection wanted to be this agent");
                let text = mapping::error("This agentId is connected already.");
                connection.send(Chunk::answer(frame::text(&text)));
                connection.close(1008, "agent-in-use");
                return;
            }
            let kept = pools.lines.write().get_mut(&connection.id).and_then(|line| line.kept.take());
            pools.enlist(&connection, hello);
            for said in kept.into_iter().flatten() {
                pools.hear(&connection, said);
            }
            pools.changed.notify_waiters();
        });
    }

    fn heartbeat(&self, agent: &Arc<Agent>, hello: Hello) {
        agent.says(&hello);
        let mut roster = self.roster.lock();
        roster.put(&agent.id, hello.ready, hello.guilds);
        if let (Some(took), Some(candidate)) = (agent.take_round_trip(), roster.get_mut(&agent.id)) {
            candidate.health.round_trip(took);
        }
        drop(roster);
        if agent.guest().is_none() {
            self.introduce(agent);
        }
    }

    fn enlist(&self, connection: &Arc<Connection>, hello: Hello) {
        let agent = {
            let mut lines = self.lines.write();
            let Some(line) = lines.get_mut(&connection.id) else { return };
            let meters = self.meters.of(&hello.pool);
            let (now, pulse) = (self.hub.now(), Arc::clone(&line.pulse));
            let agent = Arc::new(Agent::new(&hello, Arc::clone(connection), now, pulse, meters));
            line.agent = Some(Arc::clone(&agent));
            agent
        };
        let older = self.live.write().insert(Arc::clone(&agent.id), Arc::clone(&agent));
        let strays = self.welcome_back(&agent, hello);
        if let Some(older) = older {
            // The newer connection wins. What it held it keeps; what it was asked on the old one is not answered any more.
            older.end();
            older.connection.close(4000, "replaced by a newer connection");
        }
        let said = agent.said();
        tracing::info!(agent = %agent.id, pool = said.pool, version = said.version, "an agent of a pool is here");
        self.introduce(&agent);
        for stray in strays {
            self.send_away(&agent.id, &stray, None);
        }
    }

    /// A connection ended. Its agent is gone only if it has not come back on another one.
    fn ended(&self, connection: &Arc<Connection>) {
        let line = self.lines.write().remove(&connection.id);
        let Some(agent) = line.and_then(|line| line.agent) else { return };
        let unanswered = agent.end();
        self.take_leave(&agent);
        {
            let mut live = self.live.write();
            if !live.get(&agent.id).is_some_and(|current| Arc::ptr_eq(current, &agent)) {
                return;
            }
            live.remove(&agent.id);
        }
        tracing::info!(agent = %agent.id, unanswered, "an agent of a pool is gone");
        self.miss(&agent, unanswered);
    }
}
