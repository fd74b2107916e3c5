//! `moot serve`: puts the hub together, runs it, and takes it down cleanly.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folkmoot_core::State;
use folkmoot_core::model::Door;
use folkmoot_doors::DOORS;
use folkmoot_hub::clock::wall_clock;
use folkmoot_hub::start::Running;
use folkmoot_hub::{Doors, Hub, HubSettings};
use folkmoot_services::{Mcp, Pools, Routing, mcp, pools, routing as routes};
use folkmoot_store::{Location, Store, StoreError};
use folkmoot_terminal::Fault;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Config;
use crate::hosting::{self, Local};
use crate::{agentd, desktop, log, memory, rest, routing, telegram};

/// How long a start looks through the database for damage, beside everything else; `moot doctor` looks through all of it.
const DAMAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves until SIGTERM or SIGINT.
pub async fn run(config: Config, config_file: &Path) -> anyhow::Result<()> {
    log::init(&config);
    memory::give_back();
    let address = config.server.listen_addr()?;
    // The port first: a second hub should learn of the first before it touches any file.
    let listener = listen(address).await?;
    let settings = settings(&config);
    let store = open_store(&config, &settings.data_dir)?;
    let agents = match config.chopsticks.listen_addr()? {
        Some(address) if config.chopsticks.enabled => Some(listen(address).await?),
        _ => None,
    };
    let running = Running::start(settings, store, Doors::new(DOORS.iter().copied()), Arc::new(wall_clock))?;
    let hub = running.hub.clone();
    let (pools, routing) = services(&hub, &config);
    pools::start(&pools, agents, hub.stop());
    let bridge = telegram::beside_hub(&hub, &config, config_file, hub.stop());
    routes::start(&routing);
    tokio::spawn(desktop::follow(hub.clone()));
    routes::listener::open(&routing).await?;
    hub.look_for_damage(DAMAGE_TIMEOUT);
    let local = Local::new(&hub, config);
    hosting::follow_accounts(&local);
    let assistants = Mcp::new(&hub);
    mcp::start(&assistants);
    let services = vec![rest::surface(&local), pools.surface(), routing.surface(), assistants.surface()];
    let router = folkmoot_http::router(&hub, services);
    // Whoever reads that the hub is there may stop it cleanly.
    let stop = asked_to_stop();
    announce(&hub, listener.local_addr()?);
    let hosted = agentd::inside_hub(&local, listener.local_addr()?, hub.stop());
    let served = running.serve(listener, router, bridge.into_iter().chain([hosted]).collect(), stop).await;
    served.map_err(|_| Fault::failed("the hub's own thread has ended; see the log").into())
}

fn settings(config: &Config) -> HubSettings {
    HubSettings {
        server: config.server.clone(),
        limits: config.limits.clone(),
        wakes: config.wakes.clone(),
        data_dir: config.data_dir(),
    }
}

/// Makes the services, and hosts of those doors that only they can answer.
fn services(hub: &Hub, config: &Config) -> (Pools, Routing) {
    let pools = Pools::new(hub, &config.chopsticks);
    let routing = Routing::new(hub, &config.smarthole, routing::helpers(config));
    hub.doors().set_host(Door::Chopsticks, pools.clone());
    hub.doors().set_host(Door::SmartHole, routing.clone());
    (pools, routing)
}

/// Hears from now on whether the process is asked to stop, and ends when it is.
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> + Send {
    let signals = signal(SignalKind::terminate()).and_then(|end| Ok((end, signal(SignalKind::interrupt())?)));
    async move {
        match signals {
            Ok((mut terminate, mut interrupt)) => tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            },
            Err(error) => {
                tracing::error!(%error, "signals cannot be heard, so there will be no clean stop");
                std::future::pending::<()>().await;
            }
        }
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    let socket = if address.is_ipv4() { tokio::net::TcpSocket::new_v4()? } else { tokio::net::TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // A connect storm is accepted, not refused, up to this depth.
    let bound = socket.bind(address).and_then(|()| socket.listen(4096));
    bound.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                "another program listens there, perhaps another hub; choose another with --listen"
            }
            std::io::ErrorKind::PermissionDenied => {
                "ports below 1024 need special rights; choose another with --listen"
            }
            std::io::ErrorKind::AddrNotAvailable => "this machine has no such address; see `server.listen`",
            _ => "choose another address with --listen",
        };
        Fault::failed(format!("cannot listen on {address}: {error}")).hint(hint).into()
    })
}

fn open_store(config: &Config, data_dir: &Path) -> Result<Box<dyn Store>, Fault> {
    let location = Location::parse(config.store.url.expose())?;
    let damaged = "if the database is damaged, bring a backup back with `moot restore FILE --force`";
    folkmoot_store::open_at(&location, data_dir).map_err(|error| match error {
        StoreError::Other(sentence) => Fault::failed(sentence).hint(damaged),
        other => other.into(),
    })
}

/// Where a browser on this machine finds a listener: `0.0.0.0` is everywhere and nowhere.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn announce(hub: &Hub, address: SocketAddr) {
    let fresh = hub.with_state(State::is_empty);
    tracing::info!(%address, data_dir = %hub.data_dir().display(), "listening");
    let mut text = format!("Folkmoot is listening on http://{address}\n");
    let address = reachable(address);
    if fresh {
        let code = hub.setup().code();
        text.push_str(&format!(
            "\nNobody is here yet. Open http://{address}/ and make the first account, the owner's; from another machine\n\
             it needs this one-time code: {code}\nThe same from a terminal:\n  \
             moot login --server http://{address} --register --name YOU --email YOU@EXAMPLE.ORG\n\
             Then make a channel and say something:\n  \
             moot channel create general\n  moot send general \"hello\"\n\
             The REST interface is described at http://{address}/docs\n"
        ));
    }
    let mut output = std::io::stdout().lock();
    // Nobody may be reading: a closed pipe is no reason not to serve.
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}
