//! Child processes pinned to a core, and what the kernel says they cost.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The core of whatever is measured, and the core of whatever measures.
pub const SERVER_CORE: usize = 0;
pub const LOAD_CORE: usize = 1;

const STOP_GRACE: Duration = Duration::from_secs(8);

/// A child process that ends with this value.
pub struct Managed {
    name: &'static str,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
}

impl Managed {
    /// Starts the command on one core; standard input and output are pipes to us.
    pub fn start(name: &'static str, command: &mut Command, core: usize) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pinned_spawn(command, core).with_context(|| format!("cannot start {name}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().map(BufReader::new);
        Ok(Self { name, child, stdin, stdout })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn write_line(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("standard input is closed")?;
        stdin.write_all(line.as_bytes())?;
        stdin.write_all(b"\n")?;
        Ok(stdin.flush()?)
    }

    pub fn read_line(&mut self) -> Result<String> {
        let mut line = String::new();
        let stdout = self.stdout.as_mut().context("standard output is closed")?;
        if stdout.read_line(&mut line)? == 0 {
            bail!("{} ended before it answered", self.name);
        }
        Ok(line)
    }

    /// Keeps reading standard output on a thread, so that a talkative child never blocks on it.
    pub fn discard_output(&mut self) {
        if let Some(mut stdout) = self.stdout.take() {
            std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        }
    }

    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    /// Asks the child to stop, waits, and kills it when it does not.
    pub fn stop(&mut self) {
        drop(self.stdin.take());
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed())
            && !self.has_ended()
        {
            // Failing means that it is gone already.
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + STOP_GRACE;
        while !self.has_ended() {
            if Instant::now() > deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A child inherits the affinity of the thread that starts it, so that thread moves for a moment.
fn pinned_spawn(command: &mut Command, core: usize) -> Result<Child> {
    let before = sched_getaffinity(None)?;
    pin_this_thread(core)?;
    let child = command.spawn();
    sched_setaffinity(None, &before)?;
    Ok(child?)
}

/// On a machine with a single core everything shares it; the report says how many there were.
pub fn pin_this_thread(core: usize) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut set = CpuSet::new();
    set.set(core.min(machine_cores().unwrap_or(cores).saturating_sub(1)));
    sched_setaffinity(None, &set).context("cannot pin a thread to a core")
}

/// All cores of the machine, whatever this thread is pinned to.
pub fn machine_cores() -> Option<usize> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    Some(text.lines().filter(|line| line.starts_with("processor")).count()).filter(|&n| n > 0)
}

/// Ten thousand sockets need as many descriptors on either side; children inherit the limit.
pub fn raise_file_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // Without it the idle scenario fails with the kernel's own message, which names the remedy.
    let _ = rustix::process::setrlimit(Resource::Nofile, raised);
}

/// The CPU that a process has used so far.
///
/// `/proc/PID/stat` counts in ticks of 10 ms; the scheduler's own count per thread is exact but forgets
/// threads that ended. So both are kept.
pub struct CpuSample {
    nanos_by_thread: BTreeMap<u32, u64>,
    ticks_nanos: u64,
}

impl CpuSample {
    pub fn of(pid: u32) -> Result<Self> {
        let proc = Path::new("/proc").join(pid.to_string());
        let stat = fs::read_to_string(proc.join("stat")).context("the measured process has ended")?;
        let mut nanos_by_thread = BTreeMap::new();
        for task in fs::read_dir(proc.join("task"))? {
            let task = task?;
            let thread: Option<u32> = task.file_name().to_str().and_then(|name| name.parse().ok());
            // A thread may end between the listing and the reading.
            let nanos = fs::read_to_string(task.path().join("schedstat")).ok().and_then(|text| first_number(&text));
            if let (Some(thread), Some(nanos)) = (thread, nanos) {
                nanos_by_thread.insert(thread, nanos);
            }
        }
        Ok(Self { nanos_by_thread, ticks_nanos: stat_nanos(&stat).context("unreadable /proc stat line")? })
    }

    /// Seconds of CPU used between an earlier sample and this one.
    pub fn seconds_since(&self, earlier: &Self) -> f64 {
        let exact: u64 = self
            .nanos_by_thread
            .iter()
            .map(|(thread, nanos)| nanos.saturating_sub(*earlier.nanos_by_thread.get(thread).unwrap_or(&0)))
            .sum();
        let some_ended = earlier.nanos_by_thread.keys().any(|thread| !self.nanos_by_thread.contains_key(thread));
        let by_ticks = self.ticks_nanos.saturating_sub(earlier.ticks_nanos);
        let nanos = if some_ended { exact.max(by_ticks) } else { exact };
        nanos as f64 / 1e9
    }
}

fn first_number(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// User and system time from a stat line; the process name in parentheses may hold spaces.
fn stat_nanos(stat: &str) -> Option<u64> {
    const NANOS_PER_TICK: u64 = 10_000_000;
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) * NANOS_PER_TICK)
}

/// Resident memory in bytes.
pub fn resident_bytes(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).context("the measured process has ended")?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(first_number)
        .map(|kib| kib * 1024)
        .context("no VmRSS in /proc status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_line_with_spaces_in_the_name_gives_user_plus_system_time() {
        let line = "7 (a b) c) S 1 7 7 0 -1 4194560 100 0 0 0 25 17 0 0 20 0 1 0 99 1000 10";
        assert_eq!(stat_nanos(line), Some(42 * 10_000_000));
    }

    #[test]
    fn cpu_between_samples_counts_new_threads_and_survives_ended_ones() {
        let sample = |threads: &[(u32, u64)], ticks_nanos| CpuSample {
            nanos_by_thread: threads.iter().copied().collect(),
            ticks_nanos,
        };
        let before = sample(&[(1, 1_000_000_000), (2, 500_000_000)], 1_500_000_000);
        let with_new = sample(&[(1, 1_250_000_000), (2, 500_000_000), (3, 250_000_000)], 2_000_000_000);
        assert_eq!(with_new.seconds_since(&before), 0.5);
        let with_ended = sample(&[(1, 1_250_000_000)], 2_500_000_000);
        assert_eq!(with_ended.seconds_since(&before), 1.0);
    }

    #[test]
    fn own_cpu_and_memory_can_be_read() {
        let pid = std::process::id();
        assert!(CpuSample::of(pid).is_ok());
        assert!(resident_bytes(pid).is_ok_and(|bytes| bytes > 100_000));
    }
}
