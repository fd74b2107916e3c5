//! Programs in any language that are agents: started and watched here, and carried over a Unix socket to the hub.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use folkmoot_runs::process::Host;
use parking_lot::Mutex;
use reqwest::{Client, Url};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::error::DaemonError;
use crate::file_names;
use crate::settings::{AgentSpec, DaemonSettings, Key, Kind, ProgramAgent};

mod process;
mod relay;
mod socket;
mod token;

pub use process::{LOGS, log_file};

/// The programs that the daemon hosts; clones share them.
#[derive(Clone)]
pub struct Programs {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    client: Client,
    server: Url,
    key: Key,
    data_dir: PathBuf,
    socket: Option<PathBuf>,
    host: Host,
    known: Mutex<BTreeMap<String, Known>>,
    running: Mutex<HashMap<String, Running>>,
    listener: Mutex<Option<JoinHandle<()>>>,
}

/// A program that may come in.
#[derive(Clone)]
pub(crate) struct Known {
    pub id: Option<String>,
    pub token: String,
}

/// The task that watches a program's process.
struct Running {
    spec: ProgramAgent,
    stop: watch::Sender<bool>,
    restart: mpsc::UnboundedSender<()>,
    state: watch::Receiver<&'static str>,
    task: JoinHandle<()>,
}

impl Programs {
    /// Opens the socket, if there is to be one.
    pub async fn open(settings: &DaemonSettings, client: Client, mut host: Host) -> Result<Self, DaemonError> {
        host.walls.shared.extend(settings.socket.clone());
        let shared = Arc::new(Shared {
            client,
            server: settings.server.clone(),
            key: Arc::clone(&settings.key),
            data_dir: settings.data_dir.clone(),
            socket: settings.socket.clone(),
            host,
            known: Mutex::default(),
            running: Mutex::default(),
            listener: Mutex::default(),
        });
        if let Some(path) = &settings.socket {
            let task = socket::listen(path, Arc::clone(&shared))
                .map_err(|cause| DaemonError::Socket { path: path.clone(), cause })?;
            *shared.listener.lock() = Some(task);
        }
        let programs = Self { shared };
        programs.host(&settings.agents, None);
        Ok(programs)
    }

    /// Starts who is new, ends who is gone; who did not change goes on.
    pub fn host(&self, agents: &[AgentSpec], _workspace: Option<&str>) {
        let wanted: BTreeMap<&str, (&ProgramAgent, &AgentSpec)> = agents
            .iter()
            .filter_map(|agent| match &agent.kind {
                Kind::Program(program) => Some((agent.name.as_str(), (program, agent))),
                Kind::Engine(_) => None,
            })
            .collect();
        let mut running = self.shared.running.lock();
        running.retain(|name, program| {
            let stays = wanted.get(name.as_str()).is_some_and(|(spec, _)| **spec == program.spec);
            if !stays {
                program.stop.send_replace(true);
            }
            stays
        });
        let names = || agents.iter().map(|agent| agent.name.as_str());
        for (name, (spec, agent)) in wanted {
            let token = match token::of(&self.shared.data_dir, name, names()) {
                Ok(token) => token,
                Err(error) => {
                    tracing::error!(agent = name, %error, "the token of a program cannot be kept");
                    continue;
                }
            };
            self.shared.known.lock().insert(name.to_lowercase(), Known { id: agent.id.clone(), token: token.clone() });
            if spec.auto_start && agent.id.is_some() && !running.contains_key(name) {
                let folder = file_names::place(&self.shared.data_dir.join("agents"), name, names());
                running.insert(name.to_owned(), self.start(name, spec, &token, folder));
            }
        }
    }

    fn start(&self, name: &str, spec: &ProgramAgent, token: &str, folder: PathBuf) -> Running {
        let (stop, stopped) = watch::channel(false);
        let (restart, restarts) = mpsc::unbounded_channel();
        let (tell, state) = watch::channel("starting");
        let socket = self.shared.socket.clone().unwrap_or_default();
        let own =
            [("MOOT_AGENT_NAME", name), ("MOOT_AGENT_TOKEN", token), ("MOOT_AGENT_SOCKET", &socket.to_string_lossy())]
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let watched = process::Watched {
            name: name.to_owned(),
            spec: spec.clone(),
            env: own.to_vec(),
            data_dir: self.shared.data_dir.clone(),
            folder,
            host: self.shared.host.clone(),
        };
        let task = tokio::spawn(watched.keep(stopped, restarts, tell));
        Running { spec: spec.clone(), stop, restart, state, task }
    }

    /// Ends a program, which is started again.
    pub fn restart(&self, name: &str) {
        self.shared.restart(name);
    }

    pub fn state(&self, name: &str) -> &'static str {
        self.shared.running.lock().get(name).map_or("stopped", |running| *running.state.borrow())
    }

    /// Ends all programs and takes the socket away.
    pub async fn stop(&self) {
        if let Some(listener) = self.shared.listener.lock().take() {
            listener.abort();
        }
        let running: Vec<Running> = self.shared.running.lock().drain().map(|(_, running)| running).collect();
        for program in &running {
            program.stop.send_replace(true);
        }
        for program in running {
            let _ = program.task.await;
        }
        if let Some(socket) = &self.shared.socket {
            let _ = std::fs::remove_file(socket);
        }
    }
}

impl Shared {
    fn restart(&self, name: &str) -> bool {
        let running = self.running.lock();
        let found = running.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.is_some_and(|(_, running)| running.restart.send(()).is_ok())
    }
}
