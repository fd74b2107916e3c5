//! The scenarios, and what they share: the servers to compare and the settings of a run.

mod agents;
mod burst;
mod durable;
mod fanout;
mod growth;
mod idle;
mod rooms;
mod siege;
mod smarthole;
mod snek;
mod startup;
mod storm;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::bare;
use crate::dialect::Dialect;

use crate::hub::Hub;
use crate::load::LoadProcess;
use crate::load::protocol::{Drive, Open, Pace, Report, Seat};
use crate::peer::Peer;
use crate::process::Managed;
use crate::report::Row;
use crate::stats::median;

/// What a run of the suite has at hand, and how long it may take.
pub struct Suite {
    pub moot: PathBuf,
    pub peer: Peer,
    pub scratch: PathBuf,
    pub quick: bool,
    pub rows: Vec<Row>,
    pub notes: Vec<String>,
}

pub type Scenario = fn(&mut Suite) -> Result<()>;

/// In the order they run; the names are those of `--only`.
pub const ALL: [(&str, Scenario); 12] = [
    ("fanout", fanout::run),
    ("rooms", rooms::run),
    ("durable", durable::run),
    ("storm", storm::run),
    ("snek", snek::run),
    ("smarthole", smarthole::run),
    ("idle", idle::run),
    ("agents", agents::run),
    ("startup", startup::run),
    ("growth", growth::run),
    ("burst", burst::run),
    ("siege", siege::run),
];

impl Suite {
    pub fn repetitions(&self) -> usize {
        if self.quick { 1 } else { 3 }
    }

    /// How long one paced or flat-out measurement lasts.
    pub fn seconds(&self, full: f64) -> f64 {
        if self.quick { full / 2.0 } else { full }
    }

    pub fn note(&mut self, note: String) {
        eprintln!("  {note}");
        self.notes.push(note);
    }

    /// Nothing can be cheaper than the limit, so a hub that seems to be did other work than the bare server.
    pub fn doubt_below_limit(&mut self, what: &str, hub: f64, bare: f64) {
        if hub < bare {
            self.note(format!(
                "{what}: the hub used less CPU than the bare server, so the two did not do the same work; probably it was late and wrote several messages at once, as happens on a busy machine; measure again on a quiet one"
            ));
        }
    }

    /// An empty folder for one hub or one database.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    pub fn clear_scratch(&self) -> Result<()> {
        for entry in std::fs::read_dir(&self.scratch)? {
            let path = entry?.path();
            if path.is_dir() {
                std::fs::remove_dir_all(path)?;
            }
        }
        Ok(())
    }

    pub fn start_hub(&self, folder: &Path) -> Result<Hub> {
        Hub::start(&self.moot, folder)
    }
}

/// A server and the load generator that is connected to it.
pub struct Target {
    pub load: LoadProcess,
    pub pid: u32,
    /// Held so that the server lives as long as its load generator.
    _server: Option<Managed>,
}

impl Target {
    /// The hub is held by the scenario, which still talks REST to it.
    pub fn hub(hub: &Hub) -> Result<Self> {
        Self::hub_by(Dialect::Lark, hub)
    }

    /// The hub through another door.
    pub fn hub_by(dialect: Dialect, hub: &Hub) -> Result<Self> {
        let load = LoadProcess::start(dialect, hub.address, hub.pid())?;
        Ok(Self { load, pid: hub.pid(), _server: None })
    }

    pub fn bare(payload_bytes: usize, coalesce: bool) -> Result<Self> {
        let (server, port) = bare::start(payload_bytes, coalesce, None)?;
        Self::other(Dialect::Bare, server, port)
    }

    /// The bare server that stores what it gets before it answers.
    pub fn bare_with_database(payload_bytes: usize, folder: &Path) -> Result<Self> {
        let (server, port) = bare::start(payload_bytes, true, Some(&folder.join("bare.sqlite")))?;
        Self::other(Dialect::Bare, server, port)
    }

    pub fn peer(peer: &Peer) -> Result<Option<Self>> {
        peer.start()?.map(|(server, port)| Self::other(Dialect::SocketIo, server, port)).transpose()
    }

    fn other(dialect: Dialect, server: Managed, port: u16) -> Result<Self> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let load = LoadProcess::start(dialect, address, server.pid())?;
        Ok(Self { load, pid: server.pid(), _server: Some(server) })
    }
}

/// The same measurement on every target in turn, several times over, so that a slow minute of the machine
/// falls on all of them. Gives the reports by target.
pub fn interleave(targets: &mut [&mut Target], repetitions: usize, drive: &Drive) -> Result<Vec<Vec<Report>>> {
    let mut reports: Vec<Vec<Report>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..repetitions {
        for (target, reports) in targets.iter_mut().zip(&mut reports) {
            reports.push(target.load.drive(drive.clone())?);
        }
    }
    Ok(reports)
}

/// Server CPU in seconds per million deliveries.
pub fn cpu_per_million(reports: &[Report]) -> f64 {
    median_of(reports, |report| report.server_cpu_s / report.delivered as f64 * 1e6)
}

pub fn median_of(reports: &[Report], value: impl Fn(&Report) -> f64) -> f64 {
    median(&reports.iter().map(value).collect::<Vec<_>>())
}

/// Rooms of equal size for a server without accounts.
pub fn anonymous(rooms: usize, members: usize, content_bytes: usize) -> Open {
    let seats = (0..rooms).flat_map(|room| (0..members).map(move |_| Seat { token: 0, room }));
    Open {
        tokens: Vec::new(),
        rooms: (0..rooms).map(|room| room.to_string()).collect(),
        connections: seats.collect(),
        content_bytes,
        at_once: CONNECTING_AT_ONCE,
    }
}

/// Fewer than the shortest queue of waiting connections among the servers.
pub const CONNECTING_AT_ONCE: usize = 64;

/// The peer's frames get as long as the hub's by carrying more text.
pub fn peer_content(delivery_bytes: usize) -> usize {
    delivery_bytes.saturating_sub(r#"42["message.new",""]"#.len()).max(1)
}

/// How long the hub's deliveries are, from a few messages.
pub fn delivery_bytes(hub: &mut Target) -> Result<usize> {
    let drive = Drive { pace: Pace::InFlight(1), seconds: 5.0, messages: Some(20), rooms: Some(1) };
    Ok(hub.load.drive(drive)?.delivery_bytes.round() as usize)
}
