//! A real Postgres on a random port and a Unix socket, in a folder that goes away with it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

use crate::guard::{Guard, wait_for};
use crate::programs::{find, pass_over};
use crate::{Database, database};

const REMEDY: &str = "`apt-get install postgresql`, as `make test` does where it may";
/// Postgres refuses to run as root; its package makes this user.
const USER: &str = "postgres";
/// Enough for a test binary whose tests run at once.
const CONNECTIONS: &str = "max_connections=200";
/// How many ports are tried: one that was free may be taken a moment later.
const PORTS: usize = 5;
/// Nothing here survives the machine, so nothing waits for the disk. Commits do reach the operating system: they survive a crash.
const QUICK: [&str; 2] = ["fsync=off", "full_page_writes=off"];

/// What a server of one's own should be like.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `name=value`, as after `postgres -c`.
    pub settings: Vec<String>,
    /// The whole of `pg_hba.conf`; without it everybody is trusted.
    pub access: Option<String>,
    /// Files beside the data that only the server may read: certificates, keys.
    pub files: Vec<(String, String)>,
}

pub struct Postgres {
    guard: Option<Guard>,
    programs: Programs,
    options: Options,
    folder: PathBuf,
    port: u16,
}

struct Programs {
    postgres: PathBuf,
    initdb: PathBuf,
    psql: PathBuf,
}

/// The server that all tests of this binary share, or nothing where there is none (and it was said).
pub fn postgres() -> Option<&'static Postgres> {
    static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
    let shared = SHARED.get_or_init(|| Programs::find().map(|programs| Postgres::make(programs, Options::default())));
    if shared.is_none() {
        pass_over("Postgres", REMEDY);
    }
    shared.as_ref()
}

impl Postgres {
    /// A server of one's own, to be broken; nothing where there is none (and it was said).
    pub fn start(options: Options) -> Option<Self> {
        let Some(programs) = Programs::find() else {
            pass_over("Postgres", REMEDY);
            return None;
        };
        Some(Self::make(programs, options))
    }

    fn make(programs: Programs, options: Options) -> Self {
        let folder = TempDir::with_prefix("moot-postgres-").expect("a folder").keep();
        let mut server = Self { guard: None, programs, options, folder, port: 0 };
        server.hand_over(&server.folder);
        server.initialise();
        server.write_files();
        for _ in 0..PORTS {
            server.port = free_port();
            server.start_again();
            if server.is_there() {
                return server;
            }
            server.crash();
        }
        panic!("no port stayed free for long enough");
    }

    /// A database of its own for one test.
    pub fn database(&self) -> Database {
        database::create(&self.programs.psql, &self.folder, self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its Unix socket.
    pub fn socket_folder(&self) -> &Path {
        &self.folder
    }

    pub fn psql(&self) -> &Path {
        &self.programs.psql
    }

    /// Where it keeps its data, to be looked into by a test.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Ends it as a power cut would (`-m immediate`); its data stays.
    pub fn crash(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.end_and_keep();
        }
        // Left behind by a server that had no time to tidy up, and taken for a running one.
        let _ = std::fs::remove_file(self.data().join("postmaster.pid"));
    }

    /// Starts it with the data and the port it had.
    pub fn start_again(&mut self) {
        let mut command = self.command(&self.programs.postgres);
        command.extend(["-D".to_owned(), text(&self.data())]);
        command.extend(self.settings().into_iter().flat_map(|setting| ["-c".to_owned(), setting]));
        let output = self.folder.join("log");
        let _ = std::fs::remove_file(&output);
        self.guard = Some(Guard::start(&command, "QUIT", &output, &self.folder));
    }

    /// Waits until it takes connections; false when somebody else has its port.
    pub fn is_there(&self) -> bool {
        let (status, output) = (self.data().join("postmaster.pid"), self.folder.join("log"));
        wait_for("Postgres", &output, || {
            let said = std::fs::read_to_string(&output).unwrap_or_default();
            if said.contains("could not create any TCP/IP sockets") {
                Some(false)
            } else {
                is_ready(&status).then_some(true)
            }
        })
    }

    fn settings(&self) -> Vec<String> {
        let mut settings =
            vec![format!("port={}", self.port), format!("unix_socket_directories={}", text(&self.folder))];
        settings.extend(["listen_addresses=127.0.0.1", CONNECTIONS].map(str::to_owned));
        settings.extend(QUICK.map(str::to_owned));
        settings.extend(self.options.settings.iter().cloned());
        settings
    }

    fn initialise(&self) {
        let mut words = self.command(&self.programs.initdb);
        let data = text(&self.data());
        words.extend(
            ["-D", &data, "-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8", "--locale=C"].map(str::to_owned),
        );
        let output =
            Command::new(&words[0]).args(&words[1..]).current_dir("/").output().expect("initdb can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn write_files(&self) {
        let access = self.options.access.iter().map(|text| ("pg_hba.conf".to_owned(), text.clone()));
        for (name, content) in self.options.files.iter().cloned().chain(access) {
            let path = self.data().join(name);
            std::fs::write(&path, content).expect("a file can be written");
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&path, mode).expect("a file can be made private");
            self.hand_over(&path);
        }
    }

    /// Makes something the server's own, where it runs as somebody else.
    fn hand_over(&self, path: &Path) {
        if is_root() {
            let done = Command::new("chown").arg(format!("{USER}:")).arg(path).status();
            assert!(done.is_ok_and(|status| status.success()), "there is no user `{USER}`; {REMEDY}");
        }
    }

    /// A program as the user that it may run as.
    fn command(&self, program: &Path) -> Vec<String> {
        let as_user = ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups", "--"];
        let prefix: &[&str] = if is_root() { &as_user } else { &[] };
        prefix.iter().map(|word| (*word).to_owned()).chain([text(program)]).collect()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.guard = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Programs {
    fn find() -> Option<Self> {
        Some(Self { postgres: find("postgres")?, initdb: find("initdb")?, psql: find("psql")? })
    }
}

/// The eighth line of the file that says it runs.
fn is_ready(status: &Path) -> bool {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    text.lines().nth(7).is_some_and(|line| line.trim() == "ready")
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port()
}

fn is_root() -> bool {
    // Whoever owns our own process entry is who we are.
    std::fs::metadata("/proc/self").is_ok_and(|entry| std::os::unix::fs::MetadataExt::uid(&entry) == 0)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
