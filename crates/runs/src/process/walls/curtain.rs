//! A curtain: a mount name space in which something empty lies over what is closed.
//!
//! It is drawn in one user name space, and the program runs in another one inside of that: what another name space mounted
//! cannot be taken away.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};
use rustix::thread::UnshareFlags;

use super::{Outside, Trouble, Wall};
use crate::process::{environment, supervisor};

pub fn draw(wall: &Wall, outside: Outside<'_>) -> Result<(), Trouble> {
    let here = std::env::current_dir().map_err(|error| Trouble { why: error.to_string(), half_way: false })?;
    enter(outside)?;
    behind(wall, &here).map_err(|why| Trouble { why, half_way: true })
}

/// In the first name space: what is closed, and then the second one.
fn behind(wall: &Wall, here: &Path) -> Result<(), String> {
    // In the new name space, and before anything lies over them.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let open = wall.open.iter().filter_map(|path| Some((path, rustix::fs::open(path, flags, Mode::empty()).ok()?)));
    let open: Vec<_> = open.collect();
    for path in &wall.closed {
        cover(path).map_err(|error| format!("`{}` cannot be covered: {error}", path.display()))?;
    }
    for (path, entry) in open {
        uncover(path, &format!("/proc/self/fd/{}", entry.as_raw_fd()))
            .map_err(|error| format!("`{}` cannot be uncovered: {error}", path.display()))?;
    }
    for path in wall.closed.iter().filter(|path| path.is_dir()) {
        let flags = MountFlags::BIND | MountFlags::RDONLY | PLAIN;
        mount_remount(path, flags, "").map_err(|error| format!("`{}`: {error}", path.display()))?;
    }
    // What was mounted by another name space cannot be taken away in this one.
    enter(None).map_err(|trouble| trouble.why)?;
    // The folder we were in may lie below a curtain now, with a way up to everything behind it.
    std::env::set_current_dir(here).or_else(|_| std::env::set_current_dir("/")).map_err(|error| error.to_string())
}

const PLAIN: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV).union(MountFlags::NOEXEC);

fn cover(path: &Path) -> rustix::io::Result<()> {
    if path.is_dir() {
        return mount("moot", path, "tmpfs", PLAIN, Some(c"size=64k,mode=0755"));
    }
    mount_bind("/dev/null", path)
}

/// Makes the way to something behind a curtain again, and lays it there.
fn uncover(path: &Path, entry: &str) -> std::io::Result<()> {
    if std::fs::metadata(entry)?.is_dir() {
        std::fs::create_dir_all(path)?;
    } else {
        std::fs::create_dir_all(path.parent().unwrap_or(path))?;
        std::fs::File::create(path)?;
    }
    Ok(mount_bind_recursive(entry, path)?)
}

/// Into a new user name space, as the same user, and a mount name space of it.
fn enter(outside: Outside<'_>) -> Result<(), Trouble> {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let mapper = (user == 0).then(|| Mapper::start(outside));
    #[expect(deprecated, reason = "what is unsafe about it are shared file descriptors, which stay as they are")]
    rustix::thread::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS).map_err(|error| Trouble {
        why: format!("this kernel gives us no user name space ({error})"),
        half_way: false,
    })?;
    if mapper.is_some_and(Mapper::map) {
        return Ok(());
    }
    let write = |name: &str, text: String| std::fs::write(format!("/proc/self/{name}"), text);
    write("setgroups", "deny".to_owned())
        .and_then(|()| write("uid_map", format!("{user} {user} 1")))
        .and_then(|()| write("gid_map", format!("{group} {group} 1")))
        .map_err(|error| Trouble {
            why: format!("no user can be mapped into a user name space ({error})"),
            half_way: true,
        })
}

/// Whoever stays outside and tells the kernel that all users in our new name space are the same as outside; only root may,
/// and only from there. That is the supervisor for the first name space, and a child for one inside of that.
enum Mapper<'a> {
    Supervisor(&'a mut UnixStream),
    Child(std::io::Result<std::process::Child>),
}

impl<'a> Mapper<'a> {
    fn start(outside: Outside<'a>) -> Self {
        outside.map_or_else(|| Self::Child(Self::child()), Self::Supervisor)
    }

    fn child() -> std::io::Result<std::process::Child> {
        let mut command = Command::new(supervisor::own_program());
        environment::clean(&mut command, &[""; 0]);
        let me = rustix::process::getpid().as_raw_nonzero().to_string();
        command.arg(supervisor::MAP).arg(me).stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn()
    }

    fn map(self) -> bool {
        match self {
            Self::Supervisor(socket) => {
                let mut done = [0];
                let asked = socket.write_all(b"m").and_then(|()| socket.read_exact(&mut done));
                asked.is_ok() && done == [1]
            }
            Self::Child(Ok(mut child)) => {
                let told = child.stdin.take().is_some_and(|mut stdin| stdin.write_all(b"m").is_ok());
                child.wait().is_ok_and(|status| told && status.success())
            }
            Self::Child(Err(_)) => false,
        }
    }
}

/// What such a child does.
pub fn map(process: &str) -> ExitCode {
    let mut word = [0];
    let told = std::io::stdin().read_exact(&mut word).is_ok();
    if told && map_users(process) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Maps the users of a process into its new name space as they are here.
pub fn map_users(process: &str) -> bool {
    let same = |name: &str| {
        let ours = std::fs::read_to_string(format!("/proc/self/{name}"))?;
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let (inside, count) = (words.next()?, words.nth(1)?);
            Some(format!("{inside} {inside} {count}\n"))
        };
        std::fs::write(format!("/proc/{process}/{name}"), ours.lines().filter_map(line).collect::<String>())
    };
    same("gid_map").and_then(|()| same("uid_map")).is_ok()
}
