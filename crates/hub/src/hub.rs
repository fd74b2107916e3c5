//! The one handle on a hub: execute, look at the state, read, watch, and what every connection and handler shares.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use folkmoot_core::ids::{ConnectionId, FileId, IdSource, MemberId};
use folkmoot_core::lookup::Found;
use folkmoot_core::{Actor, Command, Millis, Refusal, Reply, State};
use folkmoot_doors::{Protocol, Ticket};
use folkmoot_store::{Location, Reader};
use parking_lot::{Mutex, RwLock};
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedReadHalf;
use tokio::sync::{Semaphore, oneshot};
use tokio_util::task::TaskTracker;

use crate::auth::limits::RateLimits;
use crate::auth::{Auth, Identity, Login};
use crate::clock::Clock;
use crate::connection::Connection;
use crate::doors::Doors;
use crate::executor::{CommandOutcome, Interest, Job, Mailbox, Respond, Watch, Work, watch};
use crate::metrics::Metrics;
use crate::origin::Origins;
use crate::quotas::Quotas;
use crate::settings::{HubSettings, Network};
use crate::setup::Setup;

#[derive(Clone)]
pub struct Hub(Arc<Inner>);

struct Inner {
    settings: HubSettings,
    location: Location,
    clock: Clock,
    doors: Arc<Doors>,
    state: Arc<RwLock<State>>,
    mailbox: Arc<Mailbox>,
    readers: Readers,
    auth: Auth,
    limits: RateLimits,
    quotas: Quotas,
    metrics: Arc<Metrics>,
    ids: Mutex<IdSource>,
    next_connection: AtomicU64,
    connections: TaskTracker,
    trusted_proxies: Vec<Network>,
    files_dir: PathBuf,
    setup: Setup,
    started: Instant,
    /// What is wrong with the database, once it was found.
    damage: OnceLock<String>,
    stop: tokio::sync::watch::Receiver<bool>,
}

/// What [`Hub::new`] puts together; made by [`crate::start`].
pub struct Parts {
    pub settings: HubSettings,
    /// Where the store keeps everything.
    pub location: Location,
    pub clock: Clock,
    pub doors: Arc<Doors>,
    pub state: Arc<RwLock<State>>,
    pub mailbox: Arc<Mailbox>,
    pub readers: Vec<Box<dyn Reader>>,
    pub auth: Auth,
    pub metrics: Arc<Metrics>,
    pub seed: u64,
    /// Turns true when the hub stops.
    pub stop: tokio::sync::watch::Receiver<bool>,
}

/// A few connections to the store for reading; more would only fight over the same cores.
struct Readers {
    idle: Mutex<Vec<Box<dyn Reader>>>,
    turns: Arc<Semaphore>,
}

/// A reader on loan; it goes back also when the one who uses it panics.
struct Borrowed<'a> {
    hub: &'a Hub,
    reader: Option<Box<dyn Reader>>,
}

impl Borrowed<'_> {
    fn give_back(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.hub.0.readers.idle.lock().push(reader);
        }
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Hub {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Inner {
            trusted_proxies: parts.settings.server.trusted_networks(),
            files_dir: parts.settings.data_dir.join("files"),
            quotas: Quotas::new(parts.settings.limits.clone(), Arc::clone(&parts.metrics)),
            settings: parts.settings,
            location: parts.location,
            clock: parts.clock,
            doors: parts.doors,
            state: parts.state,
            mailbox: parts.mailbox,
            readers: Readers { turns: Arc::new(Semaphore::new(parts.readers.len())), idle: Mutex::new(parts.readers) },
            auth: parts.auth,
            limits: RateLimits::default(),
            metrics: parts.metrics,
            ids: Mutex::new(IdSource::new(parts.seed)),
            next_connection: AtomicU64::new(1),
            connections: TaskTracker::new(),
            setup: Setup::default(),
            started: Instant::now(),
            damage: OnceLock::new(),
            stop: parts.stop,
        }))
    }

    pub fn settings(&self) -> &HubSettings {
        &self.0.settings
    }

    pub fn doors(&self) -> &Doors {
        &self.0.doors
    }

    pub fn now(&self) -> Millis {
        (self.0.clock)()
    }

    pub fn uptime_s(&self) -> u64 {
        self.0.started.elapsed().as_secs()
    }

    pub fn auth(&self) -> &Auth {
        &self.0.auth
    }

    pub fn limits(&self) -> &RateLimits {
        &self.0.limits
    }

    pub fn quotas(&self) -> &Quotas {
        &self.0.quotas
    }

    /// Whether a command may be put to the hub now.
    pub fn admits(&self, actor: Actor, command: &Command) -> Result<(), Refusal> {
        self.with_state(|state| self.0.quotas.command(state, actor, command, self.now()))
    }

    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.0.metrics
    }

    /// Turns true when the hub stops.
    pub fn stop(&self) -> tokio::sync::watch::Receiver<bool> {
        self.0.stop.clone()
    }

    pub fn is_stopping(&self) -> bool {
        *self.0.stop.borrow()
    }

    pub fn files_dir(&self) -> &Path {
        &self.0.files_dir
    }

    pub fn new_file_id(&self) -> FileId {
        FileId(self.0.ids.lock().next(self.now()))
    }

    /// Looks at the state under a short lock; never across an await.
    pub fn with_state<R>(&self, look: impl FnOnce(&State) -> R) -> R {
        look(&self.0.state.read())
    }

    /// Decided, committed and told; then this returns.
    pub async fn execute(&self, actor: Actor, command: Command) -> CommandOutcome {
        self.ask(actor, Work::Decide(Box::new(command))).await
    }

    /// Lets the writer take everything said so far into the search index.
    pub async fn search_is_current(&self) -> Result<(), Refusal> {
        let nobody = Actor::nobody(folkmoot_core::model::Door::Rest);
        self.ask(nobody, Work::CatchUp).await.map(|_| ())
    }

    /// Looks for damage of the database on a thread of its own, for a while.
    pub fn look_for_damage(&self, at_most: Duration) {
        if !matches!(self.0.location, Location::Folder) {
            return;
        }
        let hub = self.clone();
        let look = move || {
            if let Some(damage) = folkmoot_store::find_damage(hub.data_dir(), at_most) {
                tracing::error!(
                    damage,
                    "the database is damaged; bring a backup back with `moot restore FILE --force`"
                );
                let _ = hub.0.damage.set(damage);
            }
        };
        if let Err(error) = std::thread::Builder::new().name("damage".to_owned()).spawn(look) {
            tracing::warn!(%error, "the database was not looked through");
        }
    }

    pub fn damage(&self) -> Option<&str> {
        self.0.damage.get().map(String::as_str)
    }

    /// Whether the hub can take messages.
    pub async fn can_store(&self) -> Result<(), Refusal> {
        let nobody = Actor::nobody(folkmoot_core::model::Door::Rest);
        self.ask(nobody, Work::CanStore).await.map(|_| ())
    }

    /// Queued now, behind everything that was queued before; the answer may be waited for or not.
    pub fn begin(&self, actor: Actor, command: Command) -> impl Future<Output = CommandOutcome> + Send + use<> {
        self.queue(actor, Work::Decide(Box::new(command)))
    }

    async fn ask(&self, actor: Actor, work: Work) -> CommandOutcome {
        self.queue(actor, work).await
    }

    fn queue(&self, actor: Actor, work: Work) -> impl Future<Output = CommandOutcome> + Send + use<> {
        let (sender, receiver) = oneshot::channel();
        let admitted = match &work {
            Work::Decide(command) => self.admits(actor, command),
            _ => Ok(()),
        };
        if admitted.is_ok() {
            self.submit(Job { actor, work, respond: Respond::Caller(sender) });
        }
        async {
            admitted?;
            receiver.await.unwrap_or_else(|_| Err(stopping()))
        }
    }

    /// From now on hears, after the commit, of every event that `interest` accepts.
    pub fn watch(&self, interest: Interest) -> Watch {
        let (watcher, watch) = watch::pair(interest);
        let actor = Actor::nobody(folkmoot_core::model::Door::Rest);
        self.submit(Job { actor, work: Work::Watch(watcher), respond: Respond::Nobody });
        watch
    }

    pub fn submit(&self, job: Job) -> bool {
        self.0.mailbox.put(job)
    }

    /// Makes a proven member's connection part of the hub.
    pub async fn attach(
        &self,
        connection: Arc<Connection>,
        identity: Identity,
        ticket: Ticket,
    ) -> Result<MemberId, Refusal> {
        let (outcome, receiver) = oneshot::channel();
        let login = Login { prover: identity.prover, proof: identity.proof, at: self.now() };
        let actor = Actor::connected(identity.member, connection.protocol.door(), connection.id);
        let work = Work::Attach { connection: Arc::clone(&connection), login };
        self.submit(Job { actor, work, respond: Respond::LogIn { connection, ticket, outcome } });
        match receiver.await {
            Ok(Ok(Reply::Connected(member))) => Ok(member.id),
            Ok(Ok(_)) | Err(_) => Err(stopping()),
            Ok(Err(refusal)) => Err(refusal),
        }
    }

    /// Reads from the store on a thread that may wait for the disk.
    pub async fn read<R: Send + 'static>(
        &self,
        look: impl FnOnce(&dyn Reader) -> Found<R> + Send + 'static,
    ) -> Result<R, Refusal> {
        let turn = Arc::clone(&self.0.readers.turns).acquire_owned().await.map_err(|_| stopping())?;
        let hub = self.clone();
        // The turn goes with the reader: a caller that hangs up does not give it back while the reader is still out.
        let read = tokio::task::spawn_blocking(move || {
            let mut reader = Borrowed { hub: &hub, reader: hub.0.readers.idle.lock().pop() };
            let found = reader.reader.as_deref().map(look);
            reader.give_back();
            drop(turn);
            found
        });
        match read.await {
            Ok(Some(Ok(found))) => Ok(found),
            Ok(Some(Err(unavailable))) => {
                tracing::error!(cause = %unavailable, "could not read from the store");
                Err(unavailable.into())
            }
            Ok(None) | Err(_) => Err(Refusal::unavailable("the read was interrupted")),
        }
    }

    /// Writes a backup while the hub goes on.
    pub async fn backup_to(&self, target: PathBuf) -> Result<(), Refusal> {
        let (location, data_dir) = (self.0.location.clone(), self.data_dir().to_owned());
        let written =
            tokio::task::spawn_blocking(move || folkmoot_store::backup_at(&location, &data_dir, &target)).await;
        match written {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Refusal::unavailable(format!("the backup failed: {error}"))),
            Err(_) => Err(Refusal::unavailable("the backup was interrupted")),
        }
    }

    pub fn data_dir(&self) -> &Path {
        &self.0.settings.data_dir
    }

    /// Runs what serves a connection from its first moment to its last.
    pub fn spawn_connection(&self, serving: impl Future<Output = ()> + Send + 'static) {
        self.0.connections.spawn(serving);
    }

    /// Waits until every connection has said goodbye; a process that ends earlier takes the last frames with it.
    pub async fn connections_ended(&self) {
        self.0.connections.close();
        self.0.connections.wait().await;
    }

    pub fn new_connection(
        &self,
        protocol: &'static dyn Protocol,
        address: IpAddr,
        stream: TcpStream,
    ) -> (Arc<Connection>, OwnedReadHalf) {
        let id = ConnectionId(self.0.next_connection.fetch_add(1, Ordering::Relaxed));
        let (reading, writing) = stream.into_split();
        (Arc::new(Connection::new(id, protocol, address, writing)), reading)
    }

    /// What the first account from elsewhere must show.
    pub fn setup(&self) -> &Setup {
        &self.0.setup
    }

    /// Which web pages may speak to this hub.
    pub fn origins(&self) -> Origins<'_> {
        Origins::new(&self.0.settings.server)
    }

    pub fn is_trusted_proxy(&self, address: IpAddr) -> bool {
        self.0.trusted_proxies.iter().any(|network| network.contains(address))
    }

    /// The address a request comes from; a trusted proxy is believed when it names another.
    pub fn peer_of(&self, socket: SocketAddr, headers: &HeaderMap) -> SocketAddr {
        let trusted = |address: IpAddr| self.is_trusted_proxy(address);
        if !trusted(socket.ip()) {
            return socket;
        }
        let forwarded = headers.get_all("x-forwarded-for").into_iter().filter_map(|value| value.to_str().ok());
        let hops: Vec<IpAddr> =
            forwarded.flat_map(|value| value.split(',')).filter_map(|hop| hop.trim().parse().ok()).collect();
        let client = hops.into_iter().rev().find(|hop| !trusted(*hop));
        client.map_or(socket, |address| SocketAddr::new(address, 0))
    }
}

fn stopping() -> Refusal {
    Refusal::unavailable("the hub is stopping")
}
