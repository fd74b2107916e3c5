//! The supervisor: a small process between us and an engine that sees to it that nothing outlives the run.
//!
//! The binary starts itself again as `__supervisor WALLS… -- PROGRAM ARGS…`. The supervisor makes a session of its own, becomes the reaper
//! of orphans below it, and starts the engine in a process group of its own through `__exec`, which asks the kernel to
//! be killed when the supervisor dies and puts up the [walls](super::walls). Its standard input is a socket to us. When we say `term`, or when the socket closes
//! because we are gone (also by SIGKILL), it ends the engine and everything that the engine ever started: SIGTERM, a
//! moment, SIGKILL again and again. It ends itself only when nothing is left, so waiting for it is waiting for all of them.
//!
//! The parent-death signal alone would reach the engine but not its children, and a process group does not hold a
//! grandchild that calls `setsid`; a reaper loses neither.

use std::ffi::{OsStr, OsString};
use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, WaitOptions, wait};

use super::tree;
use super::walls::{self, Trouble, Wall};

pub(super) const SUPERVISOR: &str = "__supervisor";
const EXEC: &str = "__exec";
/// Only tries whether [walls](super::walls) can be put up.
pub(super) const TRY: &str = "__try";
/// Stays outside while a process enters a user name space.
pub(super) const MAP: &str = "__map";

/// What the step before the engine says when its curtain fell; everything else is a request to map its users.
const HALF_WAY: u8 = b'h';

/// How the allocator is asked to be small. A supervisor allocates a few kilobytes, and there is one for every run.
const SMALL_HEAP: (&str, &str) = ("MALLOC_CONF", "narenas:1,tcache:false");

/// What is left to the engine when we vanish without a word.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(10);
/// Between two rounds of SIGKILL.
const KILL_POLL: Duration = Duration::from_millis(2);

/// The first thing that a binary with engines does in `main`: when it was started as a supervisor, this does a supervisor's
/// work and returns the exit code.
pub fn hook() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let word = args.next()?;
    if word == SUPERVISOR {
        Some(keep(&args.collect::<Vec<_>>()))
    } else if word == EXEC {
        Some(exec(&args.collect::<Vec<_>>()))
    } else if word == TRY {
        Some(walls::attempt(&args.collect::<Vec<_>>()))
    } else if word == MAP {
        Some(walls::map(&args.next()?.to_string_lossy()))
    } else {
        None
    }
}

/// Replaces this process by the engine, bound to the life of the supervisor.
fn exec(args: &[OsString]) -> ExitCode {
    let Some((supervisor, args)) = args.split_first() else { return ExitCode::from(2) };
    let (wall, args) = Wall::read(args);
    let [program, rest @ ..] = args else { return ExitCode::from(2) };
    let Ok(mut outside) = take_control() else { return ExitCode::FAILURE };
    let Ok(stdin) = receive_stdin(&outside) else { return ExitCode::FAILURE };
    let _ = rustix::stdio::dup2_stdin(&stdin);
    match wall.put_up(Some(&mut outside)) {
        Ok(()) => {}
        Err(Trouble { why, half_way: true }) => {
            let _ = outside.write_all(&[HALF_WAY]).and_then(|()| outside.write_all(why.as_bytes()));
            return ExitCode::FAILURE;
        }
        Err(Trouble { why, .. }) => {
            let _ = writeln!(std::io::stderr(), "the walls around the hub's data cannot be held: {why}");
            return ExitCode::from(125);
        }
    }
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        // The supervisor may have died before we asked.
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().to_string());
        if parent.as_deref().map(OsStr::new) != Some(supervisor) {
            return ExitCode::FAILURE;
        }
    }
    // The supervisor's environment is the one that was chosen for the engine.
    let error = Command::new(program).args(rest).exec();
    let _ = writeln!(std::io::stderr(), "cannot execute {}: {error}", program.to_string_lossy());
    ExitCode::from(126)
}

/// Has the supervisor keep a small heap, unless the engine's environment says how heaps are to be: then that holds for both.
pub(super) fn stay_small(supervisor: &mut Command) {
    let (name, small) = SMALL_HEAP;
    if !supervisor.get_envs().any(|(given, value)| given == name && value.is_some()) {
        supervisor.env(name, small);
    }
}

fn keep(args: &[OsString]) -> ExitCode {
    // Away from the terminal, so that Ctrl-C there reaches us and not the engine.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let Ok(control) = take_control() else { return ExitCode::FAILURE };
    let Ok(engine_stdin) = receive_stdin(&control) else { return ExitCode::FAILURE };
    let Ok(child) = start(args, engine_stdin) else { return ExitCode::FAILURE };
    release_outputs();
    let ending = Ending { engine: Pid::from_raw(i32::try_from(child.id()).unwrap_or(0)), kill_at: Arc::default() };
    if let Ok(listener) = control.try_clone() {
        let ending = ending.clone();
        thread::spawn(move || listen(listener, &ending));
    }
    reap(&child, control, &ending);
    ExitCode::SUCCESS
}

/// The socket that came as standard input.
fn take_control() -> rustix::io::Result<UnixStream> {
    let control = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    Ok(UnixStream::from(control))
}

/// The engine's standard input comes over the socket.
fn receive_stdin(control: &UnixStream) -> rustix::io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(control, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let passed = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut passed) => passed.next(),
        _ => None,
    });
    passed.ok_or(rustix::io::Errno::BADMSG)
}

/// Starts the engine through a step that puts up its walls. Where a curtain falls half way that step is lost, and another
/// one begins without it.
fn start(args: &[OsString], stdin: OwnedFd) -> std::io::Result<Child> {
    let (mut child, fallen) = step(args, &stdin)?;
    let Some(why) = fallen else { return Ok(child) };
    child.wait()?;
    let args: Vec<OsString> = [Wall::without_curtain(&why)].into_iter().chain(args.iter().cloned()).collect();
    Ok(step(&args, &stdin)?.0)
}

/// One such step, as far as the engine; or why its curtain fell. It asks for what has to be done from outside.
fn step(args: &[OsString], stdin: &OwnedFd) -> std::io::Result<(Child, Option<String>)> {
    let me = rustix::process::getpid().as_raw_nonzero().get().to_string();
    let (mut inside, theirs) = UnixStream::pair()?;
    let theirs = Stdio::from(OwnedFd::from(theirs));
    let mut command = Command::new(own_program());
    command.arg(EXEC).arg(me).args(args).stdin(theirs).process_group(0);
    let (name, small) = SMALL_HEAP;
    if std::env::var_os(name).is_some_and(|value| value == small) {
        command.env_remove(name);
    }
    let child = command.spawn()?;
    // It holds a copy of the other end, and the socket has to close.
    drop(command);
    super::pass(&inside, stdin.as_fd())?;
    let mut word = [0];
    // The socket closes when the engine takes the place of the step.
    while let Ok(1) = inside.read(&mut word) {
        if word[0] == HALF_WAY {
            let mut why = String::new();
            inside.read_to_string(&mut why)?;
            return Ok((child, Some(why)));
        }
        let mapped = walls::map_users(&child.id().to_string());
        inside.write_all(&[u8::from(mapped)])?;
    }
    Ok((child, None))
}

/// This very binary, also when a newer one has taken its place on disk meanwhile.
pub(super) fn own_program() -> std::path::PathBuf {
    let link = std::path::PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && link.exists() { link } else { std::env::current_exe().unwrap_or(link) }
}

/// Keeps no end of the engine's pipes open, so that its last write is the end of the stream.
fn release_outputs() {
    let Ok(null) = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) else { return };
    let _ = rustix::stdio::dup2_stdin(&null);
    let _ = rustix::stdio::dup2_stdout(&null);
    let _ = rustix::stdio::dup2_stderr(&null);
}

/// Takes orders: `term MILLISECONDS`. The end of the socket is the end of us.
fn listen(mut control: UnixStream, ending: &Ending) {
    let mut word = [0; 32];
    loop {
        match control.read(&mut word) {
            Ok(length @ 1..) => {
                let text = String::from_utf8_lossy(&word[..length]);
                let millis = text.trim().strip_prefix("term ").and_then(|number| number.parse().ok());
                ending.within(Duration::from_millis(millis.unwrap_or(0)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => return ending.within(ORPHAN_GRACE),
        }
    }
}

/// The end of everybody below us; clones are one end.
#[derive(Clone)]
struct Ending {
    engine: Option<Pid>,
    /// When SIGKILL comes; nothing before the end has begun.
    kill_at: Arc<Mutex<Option<Instant>>>,
}

impl Ending {
    /// SIGTERM now, SIGKILL after the grace. Who says so again can only make it sooner.
    fn within(&self, grace: Duration) {
        let at = Instant::now() + grace;
        let before = {
            let mut kill_at = self.kill_at.lock();
            let before = *kill_at;
            *kill_at = Some(before.map_or(at, |before| before.min(at)));
            before
        };
        if before.is_none() {
            let ending = self.clone();
            thread::spawn(move || ending.carry_out());
        }
    }

    fn carry_out(&self) {
        tree::signal_all(self.engine, Signal::TERM);
        while self.kill_at.lock().is_some_and(|at| Instant::now() < at) {
            thread::sleep(POLL);
        }
        // A look at the processes is never of one moment, so it cannot say that nobody is left. Whoever reaps them can,
        // and ends this process and this loop.
        loop {
            tree::signal_all(self.engine, Signal::KILL);
            thread::sleep(KILL_POLL);
        }
    }
}

/// Waits for the engine, tells how it ended, ends what it left behind, and leaves no zombie.
fn reap(engine: &Child, mut control: UnixStream, ending: &Ending) {
    let engine_pid = i32::try_from(engine.id()).unwrap_or(0);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == engine_pid => {
                report(&mut control, ExitStatus::from_raw(status.as_raw()));
                ending.within(super::LEFTOVER_GRACE);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Nobody is left.
            Err(_) => return,
        }
    }
}

fn report(control: &mut UnixStream, status: ExitStatus) {
    let line = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}\n"),
        (None, signal) => format!("signal {}\n", signal.unwrap_or(0)),
    };
    // When nobody listens any more, nobody needs to know.
    let _ = control.write_all(line.as_bytes());
}
