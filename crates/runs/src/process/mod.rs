//! An engine's process: started under a supervisor, written to, read from, and ended with everything it started.

use std::ffi::OsString;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use folkmoot_engines::engine::{EngineError, Exit, Launch};

pub mod answers;
pub mod environment;
pub mod lines;
pub mod supervisor;
mod tree;
pub mod walls;

use answers::Answers;
use lines::{Line, Lines};
use walls::Walls;

/// How much of standard error is kept; some programs write their help there.
const STDERR_KEPT: usize = 64 << 10;
/// How much of it belongs to an error.
const STDERR_SHOWN: usize = 4096;
/// What everything that an engine starts has in its environment: by this it is found when the supervisor was killed.
const MARK: &str = "FOLKMOOT";
/// How long those are looked for whom a killed supervisor has left behind, and how often.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(2);
const SWEEP_POLL: Duration = Duration::from_millis(10);
/// How long what an engine left behind may take to end by itself.
const LEFTOVER_GRACE: Duration = Duration::from_secs(2);

/// How patient we are with a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTimeouts {
    /// After the result, until SIGTERM.
    pub grace: Duration,
    /// After SIGTERM, until SIGKILL.
    pub term: Duration,
}

impl Default for EndTimeouts {
    fn default() -> Self {
        // Whoever presses Ctrl-C sees the end of everything within two seconds, so SIGKILL comes before that.
        Self { grace: Duration::from_secs(5), term: Duration::from_secs(1) }
    }
}

/// How processes are started and ended.
#[derive(Clone, Debug, Default)]
pub struct Host {
    pub timeouts: EndTimeouts,
    /// The binary whose `main` calls [`supervisor::hook`]; `None`: this one.
    pub supervisor: Option<PathBuf>,
    /// What engines must not open.
    pub walls: Walls,
    /// What their programs said about themselves.
    pub answers: Answers,
}

pub struct Process {
    supervisor: Supervisor,
    control: BufReader<UnixStream>,
    stdin: Option<mpsc::UnboundedSender<String>>,
    stdout: Lines<ChildStdout>,
    stderr: Arc<Mutex<Vec<u8>>>,
    tail: JoinHandle<()>,
    exit: Option<Exit>,
    timeouts: EndTimeouts,
}

impl Process {
    pub fn start(launch: &Launch, host: &Host) -> Result<Self, EngineError> {
        let program = find_program(launch)?;
        let failed = |error: std::io::Error| {
            let sentence = format!("`{}` cannot be started: {error}", launch.program);
            EngineError { sentence, hint: None }
        };
        if !launch.folder.is_dir() {
            let sentence = format!("the folder `{}` does not exist", launch.folder.display());
            return Err(EngineError::new(sentence, "name another one with `--cwd`, or create it"));
        }
        Self::spawn(launch, program, host).map_err(failed)
    }

    fn spawn(launch: &Launch, program: PathBuf, host: &Host) -> std::io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let (engine_stdin, our_stdin) = std::io::pipe()?;
        let mut command = Command::new(host.supervisor.clone().unwrap_or_else(supervisor::own_program));
        let arguments: Vec<OsString> = launch.args.iter().map(OsString::from).collect();
        command
            .arg(supervisor::SUPERVISOR)
            .args(host.walls.around(&launch.folder).arguments())
            .arg(program)
            .args(arguments);
        environment::clean(command.as_std_mut(), &launch.pass);
        // Some believe this variable more than the kernel.
        command.current_dir(&launch.folder).env("PWD", &launch.folder);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in &launch.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        supervisor::stay_small(command.as_std_mut());
        let mark = uuid::Uuid::new_v4().simple().to_string();
        command.env(MARK, &mark);
        let mark = format!("{MARK}={mark}");
        let mut supervisor = command.spawn()?;
        // The command holds a copy of the supervisor's end of the socket.
        drop(command);
        pass(&ours, engine_stdin.as_fd())?;
        drop(engine_stdin);
        ours.set_nonblocking(true)?;
        let control = BufReader::new(UnixStream::from_std(ours)?);
        let (stdin, texts) = mpsc::unbounded_channel();
        tokio::spawn(write_all(pipe::Sender::from_owned_fd(OwnedFd::from(our_stdin))?, texts));
        let stdout = Lines::new(supervisor.stdout.take().expect("standard output is piped"));
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let tail =
            tokio::spawn(keep_tail(supervisor.stderr.take().expect("standard error is piped"), Arc::clone(&stderr)));
        let supervisor = Supervisor { child: supervisor, is_over: false, mark };
        let (stdin, timeouts) = (Some(stdin), host.timeouts);
        Ok(Self { supervisor, control, stdin, stdout, stderr, tail, exit: None, timeouts })
    }

    /// Writes to the engine, without waiting: it may want to be read before it reads.
    pub fn write(&mut self, text: String) {
        if let Some(stdin) = &self.stdin {
            // That it no longer reads is no error: its end says more.
            let _ = stdin.send(text);
        }
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The next line of standard output; `None` when the engine ends its output.
    pub async fn line(&mut self) -> Option<Line> {
        loop {
            tokio::select! {
                biased;
                line = self.stdout.next() => return line,
                // Tools of an engine without a supervisor may keep its output open.
                () = self.supervisor.over(), if !self.supervisor.is_over => {}
            }
        }
    }

    /// How the engine ended, after its output did. One that closed its output and stays is ended.
    pub async fn exit(&mut self) -> Exit {
        if let Some(exit) = &self.exit {
            return exit.clone();
        }
        let mut word = String::new();
        if timeout(self.timeouts.grace, self.control.read_line(&mut word)).await.is_err() {
            self.order_end().await;
            let _ = self.control.read_line(&mut word).await;
        }
        // Its last words may still be in the pipe; whoever keeps that open does not keep us.
        let _ = timeout(LEFTOVER_GRACE, &mut self.tail).await;
        let number = |prefix: &str| word.trim().strip_prefix(prefix).and_then(|rest| rest.parse().ok());
        let exit = Exit { code: number("exit "), signal: number("signal "), stderr: self.stderr_tail() };
        self.exit = Some(exit.clone());
        exit
    }

    /// Lets the engine end by itself for the grace, then ends it; at once when `hurry` comes. Returns when everything it
    /// started is gone.
    pub async fn finish(mut self, hurry: impl Future<Output = ()>) {
        self.close_stdin();
        let grace = self.timeouts.grace;
        let quiet = async {
            while self.line().await.is_some() {}
            self.supervisor.over().await;
        };
        tokio::select! {
            () = quiet => return,
            () = tokio::time::sleep(grace) => {}
            () = hurry => {}
        }
        self.end().await;
    }

    /// SIGTERM, a moment, SIGKILL, for the engine and all its descendants. Returns when they are gone.
    pub async fn end(mut self) {
        self.order_end().await;
        self.close_stdin();
        let limit = self.timeouts.term + Duration::from_secs(5);
        let gone = async {
            while self.line().await.is_some() {}
            self.supervisor.over().await;
        };
        // Somebody whom the kernel cannot kill yet does not keep us; the supervisor stays until he is gone.
        let _ = timeout(limit, gone).await;
    }

    async fn order_end(&mut self) {
        let order = format!("term {}\n", self.timeouts.term.as_millis());
        let _ = self.control.get_mut().write_all(order.as_bytes()).await;
    }

    /// What it wrote to standard error, as far as it is kept.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock()).into_owned()
    }

    fn stderr_tail(&self) -> String {
        let kept = self.stderr.lock();
        let bytes = &kept[kept.len().saturating_sub(STDERR_SHOWN)..];
        let text = String::from_utf8_lossy(bytes);
        let text = plain(&text);
        // The first line may be cut in the middle.
        let whole =
            if bytes.len() >= STDERR_SHOWN { text.split_once('\n').map_or(&*text, |(_, rest)| rest) } else { &text };
        whole.trim().to_owned()
    }
}

/// The process between us and the engine, as we see it.
struct Supervisor {
    child: Child,
    /// It was seen to end.
    is_over: bool,
    /// What the environment of everything below it has.
    mark: String,
}

impl Supervisor {
    /// Waits for its end, which is the end of everything, unless somebody has killed it: then those are ended whom it has
    /// left behind. Dropping the future loses nothing.
    async fn over(&mut self) {
        let is_well = self.child.wait().await.is_ok_and(|status| status.success());
        if !is_well {
            sweep(&self.mark).await;
        }
        self.is_over = true;
    }
}

/// Kills those with the mark, and those whom they begin meanwhile, until nobody is found.
async fn sweep(mark: &str) {
    let until = tokio::time::Instant::now() + SWEEP_TIMEOUT;
    while tree::kill_marked(mark) && tokio::time::Instant::now() < until {
        tokio::time::sleep(SWEEP_POLL).await;
    }
}

/// Text for a terminal without what steers one: colours and other control characters.
fn plain(text: &str) -> String {
    let is_end = |c: char| ('@'..='~').contains(&c);
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default();
    let parts = parts.map(|part| part.split_once(is_end).map_or("", |(_, rest)| rest));
    [first]
        .into_iter()
        .chain(parts)
        .flat_map(str::chars)
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'))
        .collect()
}

/// Hands the engine's standard input to the supervisor.
fn pass(socket: &StdUnixStream, stdin: std::os::fd::BorrowedFd<'_>) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let passed = [stdin];
    ancillary.push(SendAncillaryMessage::ScmRights(&passed));
    sendmsg(socket, &[IoSlice::new(b"i")], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

async fn write_all(mut stdin: pipe::Sender, mut texts: mpsc::UnboundedReceiver<String>) {
    while let Some(text) = texts.recv().await {
        if stdin.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn keep_tail(mut stderr: ChildStderr, kept: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = vec![0; 4096];
    while let Ok(length @ 1..) = stderr.read(&mut chunk).await {
        let mut kept = kept.lock();
        kept.extend_from_slice(&chunk[..length]);
        let over = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..over);
    }
}

/// Where the program of an engine is.
pub fn find_program(launch: &Launch) -> Result<PathBuf, EngineError> {
    let name = &launch.program;
    if name.contains('/') {
        let path = expand_home(name);
        let path = if path.is_absolute() { path } else { std::env::current_dir().unwrap_or_default().join(path) };
        return if is_executable(&path) {
            Ok(path)
        } else {
            Err(EngineError::new(
                format!("`{name}` is not a program that can be started"),
                "set `engines.NAME.command`",
            ))
        };
    }
    let own = launch.env.iter().find(|(variable, _)| variable == "PATH").and_then(|(_, value)| value.clone());
    let path = own.map(OsString::from).or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    // A service's path often lacks the place where people have their own programs, and where `moot engines install` puts them.
    let folders = std::env::split_paths(&path).chain([expand_home("~/.local/bin")]);
    let found = folders.map(|folder| folder.join(name)).find(|path| is_executable(path));
    found.ok_or_else(|| {
        let sentence = format!("`{name}` is not installed, or not in the search path");
        EngineError::new(sentence, format!("install it, or set `engines.{name}.command` to where it is"))
    })
}

fn expand_home(name: &str) -> PathBuf {
    match (name.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(name),
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_is_5_s_and_sigkill_follows_sigterm_early_enough_for_2_s_in_all() {
        let EndTimeouts { grace, term } = EndTimeouts::default();
        assert_eq!((grace, term), (Duration::from_secs(5), Duration::from_secs(1)));
    }

    #[test]
    fn standard_error_is_kept_without_its_colours() {
        let said = "\u{1b}[91m\u{1b}[1mError: \u{1b}[0mUnexpected error\r\n\n[1] database is locked\u{7}\u{1b}[0";
        assert_eq!(plain(said), "Error: Unexpected error\n\n[1] database is locked");
    }

    #[test]
    fn a_missing_program_is_named_with_the_remedy() {
        let launch = Launch { program: "no-such-engine".into(), ..Launch::default() };
        let error = find_program(&launch).unwrap_err();
        assert!(error.sentence.contains("no-such-engine") && error.hint.is_some());
    }
}
