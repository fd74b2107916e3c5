//! The hub as a process: start it on a free port with a temporary folder, stop it, kill it, start it again.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Starting includes creating the database; a loaded machine may take longer than [`super::DEADLINE`].
const START: Duration = Duration::from_secs(60);

/// What a test may choose before the hub starts.
#[derive(Clone, Default)]
pub struct Setup {
    environment: Vec<(String, String)>,
    survive_file_size_limit: bool,
}

impl Setup {
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.environment.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Makes a write beyond `RLIMIT_FSIZE` fail like one on a full disk, instead of ending the process.
    pub fn survive_file_size_limit(mut self) -> Self {
        self.survive_file_size_limit = true;
        self
    }

    pub async fn start(self) -> Hub {
        let folder = TempDir::new().expect("a temporary folder");
        let data = folder.path().join("data");
        self.start_on(Arc::new(folder), data).await
    }

    /// Starts on a data folder inside `folder`, which lives as long as the hub.
    pub async fn start_on(self, folder: Arc<TempDir>, data: PathBuf) -> Hub {
        for _ in 0..5 {
            let address = free_address();
            let mut hub = Hub::spawn(self.clone(), folder.clone(), data.clone(), address);
            if hub.wait_until_ready().await {
                return hub;
            }
            // Somebody else may have taken the port between the look and the start.
            let log = hub.log();
            assert!(log.contains("in use"), "the hub did not start; its output:\n{log}");
        }
        panic!("no free port in five attempts");
    }
}

pub struct Hub {
    child: Child,
    log: Arc<Mutex<String>>,
    setup: Setup,
    folder: Arc<TempDir>,
    pub data: PathBuf,
    pub address: SocketAddr,
}

impl Hub {
    pub async fn start() -> Hub {
        Setup::default().start().await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Whether a connection could not keep up so far. Tests of slow readers talk until then and no longer.
    pub async fn has_overflowed(&self) -> bool {
        let metrics = super::Rest::new(self.url(""), None).get("/metrics").await.text();
        let count = metrics.lines().find_map(|line| line.strip_prefix("moot_queue_overflows_total "));
        count.expect("a count of overflows") != "0"
    }

    /// Everything the process has written so far, standard output and standard error together.
    pub fn log(&self) -> String {
        self.log.lock().expect("log").clone()
    }

    /// The same, as soon as these words are in it: what the process writes arrives a moment later.
    pub async fn logged(&self, words: &str) -> String {
        let said = || async { Some(self.log()).filter(|log| log.contains(words)) };
        super::eventually(&format!("the hub logs `{words}`"), said).await
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The temporary folder around the data folder; a copy keeps it alive after this hub.
    pub fn folder(&self) -> Arc<TempDir> {
        self.folder.clone()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the hub is running");
    }

    /// Asks the hub to stop, and waits for its end.
    pub async fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait().await
    }

    pub async fn wait(&mut self) -> ExitStatus {
        wait_for_end(&mut self.child, super::DEADLINE).await.expect("the hub ends after its signal")
    }

    /// The power cut: no chance to flush anything.
    pub fn kill(&mut self) {
        self.child.kill().expect("the hub is running");
        self.child.wait().expect("the hub has ended");
    }

    /// Starts again without waiting until it is ready: it may never be.
    pub fn start_again(&mut self) {
        *self = Hub::spawn(self.setup.clone(), self.folder.clone(), self.data.clone(), self.address);
    }

    /// Starts again on the same folder and the same address.
    pub async fn restart(&mut self) {
        let mut hub = Hub::spawn(self.setup.clone(), self.folder.clone(), self.data.clone(), self.address);
        let ready = hub.wait_until_ready().await;
        assert!(ready, "no restart; output:\n{}", hub.log());
        *self = hub;
    }

    fn spawn(setup: Setup, folder: Arc<TempDir>, data: PathBuf, address: SocketAddr) -> Hub {
        let mut command = if setup.survive_file_size_limit {
            let mut shell = clean_command("sh", folder.path());
            shell.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh", BINARY]);
            shell
        } else {
            clean_command(BINARY, folder.path())
        };
        command
            .arg("serve")
            .arg("--listen")
            .arg(address.to_string())
            .arg("--data-dir")
            .arg(&data)
            .envs(setup.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let log = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take().expect("piped"), log.clone());
        collect(child.stderr.take().expect("piped"), log.clone());
        Hub { child, log, setup, folder, data, address }
    }

    async fn wait_until_ready(&mut self) -> bool {
        let client = reqwest::Client::builder().no_proxy().build().expect("an HTTP client");
        let give_up = Instant::now() + START;
        loop {
            if self.child.try_wait().expect("a child process").is_some() {
                return false;
            }
            let answer = client.get(self.url("/readyz")).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return true;
            }
            assert!(Instant::now() < give_up, "not ready within {START:?}:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // Already ended is the other possibility, and fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if std::thread::panicking() {
            eprintln!("--- output of the hub ---\n{log}");
        } else {
            // A task that died may leave everything else working, so every test looks for it.
            assert!(!log.contains("panicked at"), "the hub panicked:\n{log}");
        }
    }
}

/// What a command of the binary did.
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs one command of the binary to its end, with an empty home.
pub async fn moot(home: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Done {
    let mut child = clean_command(BINARY, home)
        .args(arguments)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let out = Arc::new(Mutex::new(String::new()));
    let err = Arc::new(Mutex::new(String::new()));
    let readers = [
        collect(child.stdout.take().expect("piped"), out.clone()),
        collect(child.stderr.take().expect("piped"), err.clone()),
    ];
    let status = wait_for_end(&mut child, START).await;
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    for reader in readers {
        reader.join().expect("a reader");
    }
    let done = Done {
        code: status.and_then(|status| status.code()),
        stdout: out.lock().expect("stdout").clone(),
        stderr: err.lock().expect("stderr").clone(),
    };
    assert!(status.is_some(), "`moot {}` did not end: {}{}", arguments.join(" "), done.stdout, done.stderr);
    done
}

pub const BINARY: &str = env!("CARGO_BIN_EXE_moot");

/// Deadlines of the hub, so high that no test meets one because the machine is busy; those about a deadline set it low.
const HIGH: [(&str, &str); 9] = [
    ("MOOT_SERVER__HEADER_TIMEOUT_S", "600"),
    ("MOOT_SERVER__WRITE_TIMEOUT_S", "600"),
    ("MOOT_CHOPSTICKS__HANDSHAKE_S", "600"),
    ("MOOT_CHOPSTICKS__REQUEST_TIMEOUT_S", "600"),
    ("MOOT_CHOPSTICKS__STALE_S", "600"),
    ("MOOT_CHOPSTICKS__RECONNECT_GRACE_S", "600"),
    ("MOOT_CHOPSTICKS__PROBE_S", "600"),
    ("MOOT_SMARTHOLE__RESPONSE_TIMEOUT_S", "600"),
    ("MOOT_SMARTHOLE__CHOICE_TIMEOUT_S", "600"),
];

/// A command that sees no configuration of the person who runs the tests.
pub fn clean_command(program: &str, home: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_DATA_HOME", home.join("share"))
        .env("MOOT_SMARTHOLE__LISTEN", "127.0.0.1:0")
        .env("MOOT_SERVER__REGISTRATION", "open")
        // Tests go as fast as they can; those about limits set their own.
        .env("MOOT_LIMITS__MESSAGES_PER_SECOND", "0")
        .env("MOOT_LIMITS__WORKSPACE_MESSAGES_PER_SECOND", "0")
        .env("MOOT_LIMITS__REQUESTS_PER_SECOND", "0")
        .envs(HIGH)
        .env("MOOT_SERVER__JWT_SECRET", super::token::SECRET);
    command
}

pub(super) fn collect(mut source: impl Read + Send + 'static, log: Arc<Mutex<String>>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(length @ 1..) = source.read(&mut chunk) {
            log.lock().expect("log").push_str(&String::from_utf8_lossy(&chunk[..length]));
        }
    })
}

pub(super) async fn wait_for_end(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let give_up = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait().expect("a child process") {
            return Some(status);
        }
        if Instant::now() > give_up {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A free loopback port below the range that the kernel gives to outgoing connections, so that no client takes it.
pub fn free_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % 190) as u16 * 100;
    loop {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = 12_000 + start.wrapping_add(step) % 20_000;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}
