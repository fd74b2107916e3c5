//! Puts a hub together, runs it, and takes it down cleanly.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use axum::Router;
use folkmoot_core::model::Door;
use folkmoot_core::{Actor, State};
use folkmoot_store::Store;
use parking_lot::RwLock;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::auth::{Auth, random_hex};
use crate::clock::Clock;
use crate::doors::Doors;
use crate::executor::{Executor, Job, Mailbox, Respond, Work};
use crate::hub::{Hub, Parts};
use crate::metrics::Metrics;
use crate::settings::HubSettings;
use crate::{modes, net};

const READERS: usize = 3;
const TIDY_EVERY: Duration = Duration::from_secs(30);
/// A stop must be over within 5 s, whatever peers do.
const STOP_TIMEOUT: Duration = Duration::from_millis(3500);

/// A hub whose thread decides.
pub struct Running {
    pub hub: Hub,
    stop: watch::Sender<bool>,
    thread: std::thread::JoinHandle<()>,
    /// Closes when the thread that decides everything ends, for whatever reason.
    thread_ended: oneshot::Receiver<()>,
}

/// The hub can no longer decide anything.
#[derive(Debug)]
pub struct ThreadEnded;

impl Running {
    /// Starts deciding. Doors get their hosts, and listeners open, after this.
    pub fn start(settings: HubSettings, store: Box<dyn Store>, doors: Doors, clock: Clock) -> anyhow::Result<Self> {
        let secret = token_secret(&settings)?;
        let directory = store.directory().context("cannot read the database")?;
        let mut state = State::load(directory.records, directory.heads);
        state.set_wake_rules(settings.wakes.rules());
        state.set_quota_rules(settings.limits.rules());
        let state = Arc::new(RwLock::new(state));
        let mailbox = Arc::new(Mailbox::default());
        let metrics = Arc::new(Metrics::default());
        let doors = Arc::new(doors);
        let location = store.location();
        let readers = (0..READERS).map(|_| store.reader()).collect::<Result<Vec<_>, _>>()?;
        let executor = Executor::new(
            store,
            Arc::clone(&state),
            Arc::clone(&mailbox),
            Arc::clone(&metrics),
            Arc::clone(&doors),
            Arc::clone(&clock),
            rand::random(),
        );
        let (alive, thread_ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("hub".to_owned()).spawn(move || {
            let _alive = alive;
            executor.run();
        })?;
        let (stop, stopped) = watch::channel(false);
        let auth = Auth::new(&secret);
        let seed = rand::random();
        let parts =
            Parts { settings, location, clock, doors, state, mailbox, readers, auth, metrics, seed, stop: stopped };
        let hub = Hub::new(parts);
        modes::make_folder(hub.files_dir()).context("cannot make the folder for uploaded files")?;
        Ok(Self { hub, stop, thread, thread_ended })
    }

    /// Serves until it is asked to stop, then lets everybody finish, those who run beside it too.
    pub async fn serve(
        self,
        listener: TcpListener,
        router: Router,
        beside: Vec<JoinHandle<()>>,
        asked_to_stop: impl Future<Output = ()>,
    ) -> Result<(), ThreadEnded> {
        tidy_limits(&self.hub);
        let serving = tokio::spawn(net::serve(listener, self.hub.clone(), router, self.stop.subscribe()));
        tokio::select! {
            () = asked_to_stop => {}
            // A hub that can no longer decide must not look alive: what was acknowledged is on disk, a restart goes on from there.
            _ = self.thread_ended => return Err(ThreadEnded),
        }
        tracing::info!("stopping");
        self.hub.submit(Job { actor: Actor::nobody(Door::Rest), work: Work::Stop, respond: Respond::Nobody });
        let _ = self.stop.send(true);
        let (hub, thread) = (self.hub, self.thread);
        let finish = async {
            let _ = serving.await;
            hub.connections_ended().await;
            for task in beside {
                let _ = task.await;
            }
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        };
        if tokio::time::timeout(STOP_TIMEOUT, finish).await.is_err() {
            tracing::warn!("some connections did not end in time");
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// What was counted against somebody is forgotten in time, also when nobody comes any more.
fn tidy_limits(hub: &Hub) {
    let (hub, mut stop) = (hub.clone(), hub.stop());
    tokio::spawn(async move {
        while tokio::time::timeout(TIDY_EVERY, stop.changed()).await.is_err() {
            hub.limits().sweep(Instant::now());
        }
    });
}

/// The secret that signs tokens: configured, or made once and kept where only the owner can read it.
fn token_secret(settings: &HubSettings) -> anyhow::Result<Vec<u8>> {
    if !settings.server.jwt_secret.is_empty() {
        return Ok(settings.server.jwt_secret.expose().as_bytes().to_vec());
    }
    kept_secret(&settings.data_dir.join("secret.key"))
}

fn kept_secret(path: &Path) -> anyhow::Result<Vec<u8>> {
    match std::fs::read(path) {
        Ok(secret) if !secret.is_empty() => return Ok(secret),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(|| format!("cannot read `{}`", path.display())),
    }
    let secret = random_hex(32).into_bytes();
    let written = modes::write_file(path, &secret).and_then(|file| file.sync_all());
    written.with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(secret)
}
