//! Facts about the machine and the run that a reader of the results needs.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::peer::Peer;
use crate::process::machine_cores;
use crate::sqlite;
use crate::stats::Spread;

pub fn gather(peer: &Peer, scratch: &Path) -> Vec<(&'static str, String)> {
    let peer = match peer {
        Peer::Installed { version, .. } => version.clone(),
        Peer::Missing(reason) => format!("not available ({reason})"),
    };
    vec![
        ("date", date_utc()),
        ("commit", commit()),
        ("processor", format!("{}, {} cores", proc_field("/proc/cpuinfo", "model name"), machine_cores().unwrap_or(0))),
        ("memory", memory()),
        (
            "kernel",
            fs::read_to_string("/proc/sys/kernel/osrelease").map_or_else(|_| "?".to_owned(), |t| t.trim().to_owned()),
        ),
        ("disk", sync_latency(scratch)),
        ("SQLite of the bare measurement", sqlite::version().to_owned()),
        ("peer", peer),
        ("load average before the run", load_average()),
        ("pinning", "server on core 0, load generator on core 1".to_owned()),
    ]
}

fn proc_field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(':'));
    line.map_or_else(|| "?".to_owned(), |(_, value)| value.trim().to_owned())
}

/// Whoever else uses the machine makes every latency here longer.
fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}

fn memory() -> String {
    let total = proc_field("/proc/meminfo", "MemTotal");
    let kib: Option<u64> = total.split(' ').next().and_then(|number| number.parse().ok());
    kib.map_or(total, |kib| format!("{} GiB", kib / 1024 / 1024))
}

fn commit() -> String {
    let git = |args: &[&str]| {
        Command::new("git")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(args)
            .output()
            .ok()
            .filter(|o| o.status.success())
    };
    let Some(head) = git(&["rev-parse", "--short", "HEAD"]) else {
        return "unknown".to_owned();
    };
    let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
    let changed = git(&["status", "--porcelain", "--", "../crates"]).is_some_and(|status| !status.stdout.is_empty());
    if changed { format!("{head} with uncommitted changes") } else { head }
}

/// Durable numbers depend on the disk more than on anything else.
fn sync_latency(scratch: &Path) -> String {
    let measure = || -> std::io::Result<Spread> {
        let mut file = fs::File::create(scratch.join("sync-probe"))?;
        let mut nanos = Vec::new();
        for _ in 0..200 {
            let start = Instant::now();
            file.write_all(&[0; 4096])?;
            file.sync_data()?;
            nanos.push(start.elapsed().as_nanos() as u64);
        }
        Ok(Spread::of_nanos(&mut nanos))
    };
    measure().map_or_else(
        |error| format!("fdatasync failed: {error}"),
        |spread| {
            format!("4 KiB write and fdatasync: p50 {:.2} ms, p99 {:.2} ms", spread.p50_us / 1e3, spread.p99_us / 1e3)
        },
    )
}

fn date_utc() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil_date(seconds / 86_400);
    let minutes = seconds % 86_400 / 60;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

/// The Gregorian date so many days after 1970-01-01, counted forward year by year and month by month.
fn civil_date(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_date_knows_leap_years_and_year_ends() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(364), (1970, 12, 31));
        assert_eq!(civil_date(11_016), (2000, 2, 29));
        assert_eq!(civil_date(20_771), (2026, 11, 14));
    }
}
