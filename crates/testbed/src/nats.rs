//! A real nats-server on a port that it picks itself, in a folder that goes away with it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::guard::{Guard, wait_for};
use crate::programs::{find, pass_over};

const REMEDY: &str = "`apt-get install nats-server`, as `make test` does where it may";

pub struct Nats {
    guard: Option<Guard>,
    program: PathBuf,
    arguments: Vec<String>,
    folder: PathBuf,
    port: u16,
}

/// The server that all tests of this binary share, or nothing where there is none (and it was said).
pub fn nats() -> Option<&'static Nats> {
    static SHARED: OnceLock<Option<Nats>> = OnceLock::new();
    let shared = SHARED.get_or_init(|| find("nats-server").map(|program| Nats::make(program, &[])));
    if shared.is_none() {
        pass_over("nats-server", REMEDY);
    }
    shared.as_ref()
}

impl Nats {
    /// A server of one's own, with arguments beside the usual ones (`--user`, `--tls`); nothing where there is none (and it was said).
    pub fn start(arguments: &[&str]) -> Option<Self> {
        let Some(program) = find("nats-server") else {
            pass_over("nats-server", REMEDY);
            return None;
        };
        Some(Self::make(program, arguments))
    }

    fn make(program: PathBuf, arguments: &[&str]) -> Self {
        let folder = TempDir::with_prefix("moot-nats-").expect("a folder").keep();
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        let mut server = Self { guard: None, program, arguments, folder, port: 0 };
        server.start_again();
        server
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Ends it at once, connections and all.
    pub fn crash(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.end_and_keep();
        }
    }

    /// Starts it, on the port that it had if it had one.
    pub fn start_again(&mut self) {
        let ports = self.folder.join("ports");
        let _ = std::fs::remove_dir_all(&ports);
        std::fs::create_dir(&ports).expect("a folder for the port");
        let output = self.folder.join("log");
        self.guard = Some(Guard::start(&self.command(&ports), "KILL", &output, &self.folder));
        self.port = wait_for("NATS", &output, || port_in(&ports));
    }

    fn command(&self, ports: &Path) -> Vec<String> {
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        let program = self.program.display().to_string();
        let mut command: Vec<String> = vec![program, "-a".into(), "127.0.0.1".into(), "-p".into(), port];
        command.extend(["--ports_file_dir".into(), ports.display().to_string()]);
        command.extend(self.arguments.iter().cloned());
        command
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.guard = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The port of the first `nats://` or `tls://` address in the file that the server writes.
fn port_in(folder: &Path) -> Option<u16> {
    let file = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().ends_with(".ports"))?;
    let text = std::fs::read_to_string(file.path()).ok()?;
    let address = ["nats://", "tls://"].iter().find_map(|scheme| text.split_once(scheme))?.1;
    address.split_once(':')?.1.split('"').next()?.parse().ok()
}
