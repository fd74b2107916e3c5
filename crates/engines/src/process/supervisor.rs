//! The supervisor: a small process between us and an engine that sees to it that nothing outlives the run.
//!
//! The binary starts itself again as `__supervisor WALLS… -- PROGRAM ARGS…`. The supervisor makes a session of its own, becomes the reaper
//! of orphans below it, and starts the engine in a process group of its own through `__exec`, which asks the kernel to
//! be killed when the supervisor dies and puts up the [walls](super::walls). Its standard input is a socket to us. When we say `term`, or when the socket closes
//! because we are gone (also by SIGKILL), it ends the engine and everything that the engine ever started: SIGTERM, a
//! moment, SIGKILL. It ends itself only when nothing is left, so waiting for it is waiting for all of them.
//!
//! The parent-death signal alone would reach the engine but not its children, and a process group does not hold a
//! grandchild that calls `setsid`; a reaper loses neither.

use std::ffi::{OsStr, OsString};
use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, wait};

use super::tree;
use super::walls::{self, Wall};

pub(super) const SUPERVISOR: &str = "__supervisor";
const EXEC: &str = "__exec";
/// Only tries whether [walls](super::walls) can be put up.
pub(super) const TRY: &str = "__try";
/// Stays outside while a process enters a user name space.
pub(super) const MAP: &str = "__map";

/// What is left to the engine when we vanish without a word.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);
const POLL: Duration = Duration::from_millis(10);

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
    if let Err(why) = wall.put_up() {
        let _ = writeln!(std::io::stderr(), "the walls around the hub's data cannot be held: {why}");
        return ExitCode::from(125);
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

fn keep(args: &[OsString]) -> ExitCode {
    // Away from the terminal, so that Ctrl-C there reaches us and not the engine.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let Ok(control) = take_control() else { return ExitCode::FAILURE };
    let Ok(engine_stdin) = receive_stdin(&control) else { return ExitCode::FAILURE };
    let Ok(child) = start(args, engine_stdin) else { return ExitCode::FAILURE };
    release_outputs();
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0));
    let ending = Arc::new(AtomicBool::new(false));
    if let Ok(listener) = control.try_clone() {
        let ending = Arc::clone(&ending);
        thread::spawn(move || listen(listener, group, &ending));
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

fn start(args: &[OsString], stdin: OwnedFd) -> std::io::Result<Child> {
    let me = rustix::process::getpid().as_raw_nonzero().get().to_string();
    Command::new(own_program()).arg(EXEC).arg(me).args(args).stdin(Stdio::from(stdin)).process_group(0).spawn()
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
fn listen(mut control: UnixStream, group: Option<Pid>, ending: &AtomicBool) {
    let mut word = [0; 32];
    let grace = match control.read(&mut word) {
        Ok(length) if length > 0 => {
            let text = String::from_utf8_lossy(&word[..length]);
            let millis = text.trim().strip_prefix("term ").and_then(|number| number.parse().ok());
            Duration::from_millis(millis.unwrap_or(0))
        }
        _ => ORPHAN_GRACE,
    };
    if !ending.swap(true, Ordering::SeqCst) {
        // Whoever vanishes while we wait does not make us hurry: the moment is short.
        end_all(group, grace);
    }
}

/// SIGTERM, a moment, SIGKILL; for the group and for everybody who left it.
fn end_all(group: Option<Pid>, grace: Duration) {
    signal_group(group, Signal::TERM);
    let group_of = |pid: Pid| rustix::process::getpgid(Some(pid)).ok();
    for pid in tree::descendants() {
        if group.is_none() || group_of(pid) != group {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
    }
    let deadline = Instant::now() + grace;
    while Instant::now() < deadline && !tree::descendants().is_empty() {
        thread::sleep(POLL);
    }
    // New ones may be born while we kill, so until nobody is left.
    while tree::signal_all(Signal::KILL) {
        signal_group(group, Signal::KILL);
        thread::sleep(POLL);
    }
}

/// Signals the whole group at once, as long as one of ours is in it: its number could be somebody else's by now.
fn signal_group(group: Option<Pid>, signal: Signal) {
    let Some(group) = group else { return };
    let ours = |pid: &Pid| rustix::process::getpgid(Some(*pid)).ok() == Some(group);
    if !cfg!(target_os = "linux") || tree::descendants().iter().any(ours) {
        let _ = kill_process_group(group, signal);
    }
}

/// Waits for the engine, tells how it ended, ends what it left behind, and leaves no zombie.
fn reap(engine: &Child, mut control: UnixStream, ending: &Arc<AtomicBool>) {
    let engine_pid = i32::try_from(engine.id()).unwrap_or(0);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == engine_pid => {
                report(&mut control, ExitStatus::from_raw(status.as_raw()));
                if !ending.swap(true, Ordering::SeqCst) {
                    thread::spawn(|| end_all(None, super::LEFTOVER_GRACE));
                }
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
