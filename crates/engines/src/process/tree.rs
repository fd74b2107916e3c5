//! The processes below this one, wherever they have moved to.

use rustix::process::{Pid, Signal, kill_process};

/// Every living descendant of this process. As the reaper of orphans it is the ancestor of all of them, also of those
/// that left their group or session.
#[cfg(target_os = "linux")]
pub fn descendants() -> Vec<Pid> {
    let parents: Vec<(i32, i32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, living_parent(pid)?)))
        .collect();
    let mut found = vec![rustix::process::getpid().as_raw_nonzero().get()];
    let mut at = 0;
    while at < found.len() {
        let parent = found[at];
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}

/// The parent of a process that is not just a zombie.
#[cfg(target_os = "linux")]
fn living_parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, also parentheses and blanks.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z" && state != "X").then_some(parent)
}

/// Elsewhere the process group has to do.
#[cfg(not(target_os = "linux"))]
pub fn descendants() -> Vec<Pid> {
    Vec::new()
}

/// Sends the signal to every descendant; `true` when there was one.
pub fn signal_all(signal: Signal) -> bool {
    let found = descendants();
    for pid in &found {
        // It may be gone by now, which is all we want.
        let _ = kill_process(*pid, signal);
    }
    !found.is_empty()
}
