//! How soon the hub is ready, and what it weighs when nothing happens.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::Suite;
use crate::process::resident_bytes;
use crate::report::{Bar, Row};
use crate::stats::median;

const STARTS: usize = 5;

pub fn run(suite: &mut Suite) -> Result<()> {
    let mut ready_ms = Vec::new();
    let mut resident = Vec::new();
    for _ in 0..STARTS {
        let (ms, bytes) = start_once(suite, &suite.folder("startup")?)?;
        ready_ms.push(ms);
        resident.push(bytes);
    }
    suite.rows.push(Row::new("ready on an empty folder", "ms", median(&ready_ms)).bar(Bar::AtMost(150.0)));
    suite.rows.push(Row::new("idle memory on an empty folder", "MB", median(&resident)).bar(Bar::AtMost(25.0)));
    Ok(())
}

/// The same with what a folder already holds; its files are in the page cache.
pub fn with_messages(suite: &mut Suite, folder: &Path, messages: &str) -> Result<()> {
    let starts = (0..STARTS).map(|_| start_once(suite, folder)).collect::<Result<Vec<_>>>()?;
    let (ready_ms, resident): (Vec<f64>, Vec<f64>) = starts.into_iter().unzip();
    suite
        .rows
        .push(Row::new(format!("ready with {messages} messages"), "ms", median(&ready_ms)).bar(Bar::AtMost(300.0)));
    suite.rows.push(Row::new(format!("idle memory with {messages} messages"), "MB", median(&resident)));
    Ok(())
}

fn start_once(suite: &Suite, folder: &Path) -> Result<(f64, f64)> {
    let hub = suite.start_hub(folder)?;
    // What start-up still does in the background belongs to idle memory.
    std::thread::sleep(Duration::from_millis(500));
    Ok((hub.ready_after.as_secs_f64() * 1e3, resident_bytes(hub.pid())? as f64 / 1e6))
}
