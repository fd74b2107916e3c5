//! The processes below this one, wherever they have moved to.

use rustix::process::{Pid, Signal, kill_process_group};

/// Signals every process below this one, group by group, so that nobody who is being born escapes. As the reaper of
/// orphans we are the ancestor of all of them, also of those that left their group or session, and of nobody else.
#[cfg(target_os = "linux")]
pub fn signal_all(_engine: Option<Pid>, signal: Signal) {
    let own_group = rustix::process::getpgrp().as_raw_nonzero().get();
    let mut groups = std::collections::BTreeSet::new();
    for process in descendants(rustix::process::getpid().as_raw_nonzero().get(), &all()) {
        // They may be gone by now, which is all we want.
        if process.group > 1 && process.group != own_group {
            groups.insert(process.group);
        } else if let Some(pid) = Pid::from_raw(process.pid) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, signal);
    }
}

/// Elsewhere the engine's own group has to do.
#[cfg(not(target_os = "linux"))]
pub fn signal_all(engine: Option<Pid>, signal: Signal) {
    if let Some(group) = engine {
        let _ = kill_process_group(group, signal);
    }
}

/// Kills every process that has this in its environment, and says whether there was one. For those whose ancestor is gone, so
/// that nobody can tell any more what they descend from.
#[cfg(target_os = "linux")]
pub fn kill_marked(mark: &str) -> bool {
    let is_marked = |process: &Process| {
        let environment = std::fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    // A zombie has no environment any more; it is its parent's business.
    let mut found = false;
    for pid in all().into_iter().filter(is_marked).filter_map(|process| Pid::from_raw(process.pid)) {
        found = true;
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
    found
}

/// Elsewhere nobody can be asked for his environment.
#[cfg(not(target_os = "linux"))]
pub fn kill_marked(_mark: &str) -> bool {
    false
}

#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
}

#[cfg(target_os = "linux")]
fn all() -> Vec<Process> {
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let pids = names.filter_map(|name| name.to_str()?.parse().ok());
    pids.filter_map(|pid| read(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// A zombie counts like everybody else: the first thread of a program may have ended while others still run, and then
/// it still has children.
#[cfg(target_os = "linux")]
fn read(pid: i32, stat: &str) -> Option<Process> {
    // The name in parentheses may hold anything, also parentheses and blanks.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Process { pid, parent, group })
}

#[cfg(target_os = "linux")]
fn descendants(root: i32, all: &[Process]) -> Vec<Process> {
    let mut found: Vec<Process> = all.iter().filter(|process| process.parent == root).copied().collect();
    let mut at = 0;
    while at < found.len() {
        let parent = found[at].pid;
        found.extend(all.iter().filter(|process| process.parent == parent));
        at += 1;
    }
    found
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_children_of_a_zombie_are_found_whatever_the_names() {
        // opencode in its plain mode, stopped while a tool runs: 12 is its first thread, which has ended before the others.
        let stats =
            ["11 (moot) S 1 11 11", "12 (.opencode) Z 11 12 11", "13 (a) (b) S) S 12 13 13", "14 (x) S 1 14 14"];
        let all: Vec<Process> = stats.iter().zip(11..).filter_map(|(stat, pid)| read(pid, stat)).collect();
        let found: Vec<(i32, i32)> = descendants(11, &all).iter().map(|found| (found.pid, found.group)).collect();
        assert_eq!(found, [(12, 12), (13, 13)]);
    }
}
