//! `moot serve`: puts the hub together, runs it, and takes it down cleanly.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use folkmoot_core::State;
use folkmoot_store::{Store, StoreError};
use parking_lot::RwLock;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::app::{App, Parts, wall_clock};
use crate::auth::{Auth, random_hex};
use crate::cli::Fault;
use crate::config::Config;
use crate::hub::executor::Executor;
use crate::hub::{Job, Mailbox, Respond, Work};
use crate::metrics::Metrics;
use crate::{agentd, health, listen, log, memory, modes, net, pools, rest, router, telegram, web};

const READERS: usize = 3;
const TIDY_EVERY: Duration = Duration::from_secs(30);
/// How long a start looks through the database for damage, beside everything else; `moot doctor` looks through all of it.
const DAMAGE_PATIENCE: Duration = Duration::from_secs(2);
/// A stop must be over within 5 s, whatever peers do.
const STOP_PATIENCE: Duration = Duration::from_millis(3500);

/// Serves until SIGTERM or SIGINT.
pub async fn run(config: Config, config_file: &Path) -> anyhow::Result<()> {
    log::init(&config);
    memory::give_back();
    let address = config.server.listen_addr()?;
    // The port first: a second hub should learn of the first before it touches any file.
    let listener = listen(address).await?;
    let data_dir = config.data_dir();
    let store = open_store(&data_dir)?;
    let secret = jwt_secret(&config, &data_dir)?;
    let agents = match config.chopsticks.listen_addr()? {
        Some(address) if config.chopsticks.enabled => Some(listen(address).await?),
        _ => None,
    };
    let hub = Hub::start(config, store, &secret)?;
    tidy_limits(&hub.app);
    pools::start(&hub.app, agents, hub.stop.subscribe());
    let bridge = telegram::beside_hub(&hub.app, config_file, hub.stop.subscribe());
    router::start(&hub.app);
    router::listener::open(&hub.app).await?;
    hub.app.look_for_damage(DAMAGE_PATIENCE);
    // Whoever reads that the hub is there may stop it cleanly.
    let stop = asked_to_stop();
    announce(&hub.app, listener.local_addr()?);
    let hosted = agentd::inside_hub(&hub.app, listener.local_addr()?, hub.stop.subscribe());
    hub.serve(listener, bridge.into_iter().chain([hosted]).collect(), stop).await
}

struct Hub {
    app: App,
    stop: watch::Sender<bool>,
    thread: std::thread::JoinHandle<()>,
    /// Closes when the thread that decides everything ends, for whatever reason.
    thread_ended: oneshot::Receiver<()>,
}

impl Hub {
    fn start(config: Config, store: Box<dyn Store>, secret: &[u8]) -> anyhow::Result<Self> {
        let directory = store.directory().context("cannot read the database")?;
        let mut state = State::load(directory.records, directory.heads);
        state.set_wake_rules(config.wakes.rules());
        state.set_quota_rules(config.limits.rules());
        let state = Arc::new(RwLock::new(state));
        let mailbox = Arc::new(Mailbox::default());
        let metrics = Arc::new(Metrics::default());
        let readers = (0..READERS).map(|_| store.reader()).collect::<Result<Vec<_>, _>>()?;
        let executor = Executor::new(
            store,
            Arc::clone(&state),
            Arc::clone(&mailbox),
            Arc::clone(&metrics),
            Arc::new(wall_clock),
            rand::random(),
        );
        let (alive, thread_ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("hub".to_owned()).spawn(move || {
            let _alive = alive;
            executor.run();
        })?;
        let auth = Auth::new(secret);
        let (stop, stopped) = watch::channel(false);
        let app =
            App::new(Parts { config, state, mailbox, readers, auth, metrics, seed: rand::random(), stop: stopped });
        modes::make_folder(app.files_dir()).context("cannot make the folder for uploaded files")?;
        Ok(Self { app, stop, thread, thread_ended })
    }

    async fn serve(
        self,
        listener: TcpListener,
        beside: Vec<JoinHandle<()>>,
        asked_to_stop: impl Future<Output = ()>,
    ) -> anyhow::Result<()> {
        let router = rest::router(self.app.clone())
            .merge(health::router(self.app.clone()))
            .merge(listen::router(self.app.clone()))
            .merge(web::router());
        let serving = tokio::spawn(net::serve(listener, self.app.clone(), router, self.stop.subscribe()));
        tokio::select! {
            () = asked_to_stop => {}
            // A hub that can no longer decide must not look alive: what was acknowledged is on disk, a restart goes on from there.
            _ = self.thread_ended => return Err(Fault::failed("the hub's own thread has ended; see the log").into()),
        }
        tracing::info!("stopping");
        let nobody = folkmoot_core::Actor::nobody(folkmoot_core::model::Door::Rest);
        self.app.submit(Job { actor: nobody, work: Work::Stop, respond: Respond::Nobody });
        let _ = self.stop.send(true);
        let thread = self.thread;
        let finish = async {
            let _ = serving.await;
            self.app.connections_ended().await;
            for task in beside {
                let _ = task.await;
            }
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        };
        if tokio::time::timeout(STOP_PATIENCE, finish).await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// What was counted against somebody is forgotten in time, also when nobody comes any more.
fn tidy_limits(app: &App) {
    let (app, mut stop) = (app.clone(), app.stop());
    tokio::spawn(async move {
        while tokio::time::timeout(TIDY_EVERY, stop.changed()).await.is_err() {
            app.limits().sweep(Instant::now());
        }
    });
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

fn open_store(data_dir: &Path) -> anyhow::Result<Box<dyn Store>> {
    folkmoot_store::open(data_dir).map_err(|error| {
        let fault = Fault::failed(error.to_string());
        let fault = match error {
            StoreError::Newer { .. } => fault.hint("run the newer `moot`, or restore a backup of the older version"),
            StoreError::InUse(_) => fault.hint("stop the other hub, or choose another folder with --data-dir"),
            StoreError::Folder { .. } => fault.hint("choose a folder you can write to with --data-dir"),
            StoreError::Full => fault.hint("free some space on the disk of the data folder"),
            StoreError::LogLost { .. } => fault.hint(
                "what was said last may be missing: bring the log back, or a backup with `moot restore FILE --force`; \
                 to go on with what is there, remove `hub.db-mark` beside it",
            ),
            StoreError::Other(_) => {
                fault.hint("if the database is damaged, bring a backup back with `moot restore FILE --force`")
            }
        };
        fault.into()
    })
}

/// The secret that signs tokens: configured, or made once and kept where only the owner can read it.
fn jwt_secret(config: &Config, data_dir: &Path) -> anyhow::Result<Vec<u8>> {
    if !config.server.jwt_secret.is_empty() {
        return Ok(config.server.jwt_secret.expose().as_bytes().to_vec());
    }
    let path = data_dir.join("secret.key");
    match std::fs::read(&path) {
        Ok(secret) if !secret.is_empty() => return Ok(secret),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
    let secret = random_hex(32).into_bytes();
    let written = modes::write_file(&path, &secret).and_then(|file| file.sync_all());
    written.with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(secret)
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

fn announce(app: &App, address: SocketAddr) {
    let fresh = app.with_state(State::is_empty);
    tracing::info!(%address, data_dir = %app.data_dir().display(), "listening");
    let mut text = format!("Folkmoot is listening on http://{address}\n");
    let address = reachable(address);
    if fresh {
        let code = app.setup().code();
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
