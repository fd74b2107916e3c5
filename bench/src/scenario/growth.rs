//! Whether a hundred times more messages make sending and reading slower.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::Value;

use super::{Suite, Target, rooms, startup};
use crate::hub::{Hub, Member};
use crate::load::protocol::{Drive, Pace, Report};
use crate::report::{Bar, Row, number};
use crate::stats::{Spread, median};

const SMALL: u64 = 10_000;
const LARGE: u64 = 1_000_000;
const LARGE_QUICK: u64 = 100_000;
/// Few enough that one channel holds a quarter of everything.
const CHANNELS: usize = 4;
const FILL_IN_FLIGHT: u64 = 64;
/// The two sizes take turns, so that both meet the same machine.
const TURNS: usize = 5;
const SENDS: u64 = 1_000;
const WARM_UP: u64 = 5_000;
const REQUESTS: usize = 80;
const PAGE: usize = 50;

/// What is compared between the two sizes.
struct Probe {
    send_ms: f64,
    send_cpu_ms: f64,
    newest_ms: f64,
    middle_ms: f64,
    unread_ms: f64,
}

/// A hub with so many messages.
struct Side {
    target: Target,
    hub: Hub,
    reader: Member,
    channel: String,
    size: u64,
    filled_in: f64,
}

pub fn run(suite: &mut Suite) -> Result<()> {
    let large = if suite.quick { LARGE_QUICK } else { LARGE };
    let folder = suite.folder("growth")?;
    let mut sides = [Side::fill(suite, &suite.folder("growth-small")?, SMALL)?, Side::fill(suite, &folder, large)?];
    let seconds = sides[1].filled_in;
    suite.note(format!(
        "growth: {CHANNELS} senders with {FILL_IN_FLIGHT} messages in flight each filled the database to {} messages in {seconds:.0} s ({}/s); `against` is a hub with {} messages, asked by turns",
        number(large as f64),
        number(large as f64 / seconds),
        number(SMALL as f64),
    ));
    let mut probes = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (side, probes) in sides.iter_mut().zip(&mut probes) {
            probes.push(side.probe()?);
        }
    }
    let large_name = number(large as f64);
    add_rows(suite, &large_name, &probes[0], &probes[1]);
    drop(sides);
    startup::with_messages(suite, &folder, &large_name)
}

fn fill(target: &mut Target, messages: u64) -> Result<()> {
    let pace = Pace::InFlight(FILL_IN_FLIGHT);
    let report = target.load.drive(Drive { pace, seconds: 600.0, messages: Some(messages), rooms: None })?;
    if report.sent < messages {
        bail!("only {} of {messages} messages were stored in time", report.sent);
    }
    Ok(())
}

impl Side {
    fn fill(suite: &Suite, folder: &Path, size: u64) -> Result<Self> {
        let mut hub = suite.start_hub(folder)?;
        let owner = hub.register_owner()?;
        // Has read nothing, so that every message counts as unread.
        let reader = hub.add_human(&owner, "reader")?;
        let open = rooms::set_up(&mut hub, &owner, CHANNELS, 1, std::slice::from_ref(&reader))?;
        let channel = open.rooms[0].clone();
        let mut target = Target::hub(&hub)?;
        target.load.open(open)?;
        let start = Instant::now();
        fill(&mut target, size)?;
        let filled_in = start.elapsed().as_secs_f64();
        // A search waits until the index holds everything: what was put off would otherwise be done while the other is measured.
        hub.rest.get("/v1/search?q=nothing", &reader.token)?;
        let mut side = Self { target, hub, reader, channel, size, filled_in };
        // Appending to SQLite's log costs more while its file grows, so that both have got theirs to its full length before.
        side.send(WARM_UP)?;
        Ok(side)
    }

    /// One sender that waits for each acknowledgement.
    fn send(&mut self, messages: u64) -> Result<Report> {
        let closed_loop = Drive { pace: Pace::ClosedLoop, seconds: 60.0, messages: Some(messages), rooms: Some(1) };
        self.target.load.drive(closed_loop)
    }

    fn probe(&mut self) -> Result<Probe> {
        let sends = self.send(SENDS)?;
        let Self { hub, reader, channel, size, .. } = self;
        let page = format!("/v1/channels/{channel}/messages?limit={PAGE}");
        let middle = *size / CHANNELS as u64 / 2;
        Ok(Probe {
            send_ms: sends.ack.p50_us / 1e3,
            send_cpu_ms: sends.server_cpu_s * 1e3 / sends.sent as f64,
            newest_ms: page_ms(hub, &page, reader)?,
            middle_ms: page_ms(hub, &format!("{page}&before={middle}"), reader)?,
            unread_ms: unread_ms(hub, reader, *size)?,
        })
    }
}

/// A page that is not full would be measured too fast.
fn page_ms(hub: &mut Hub, path: &str, reader: &Member) -> Result<f64> {
    let page = hub.rest.get(path, &reader.token)?;
    match page.as_array().map(Vec::len) {
        Some(PAGE) => get_ms(hub, path, reader),
        _ => bail!("GET {path} did not answer {PAGE} messages"),
    }
}

/// The reader has read nothing, so the answer must name at least the number of messages.
fn unread_ms(hub: &mut Hub, reader: &Member, size: u64) -> Result<f64> {
    const PATH: &str = "/v1/users/me/unread";
    let answer = hub.rest.get(PATH, &reader.token)?;
    if largest_number(&answer) < size {
        bail!("GET {PATH} counts fewer than {size} unread messages: {answer}");
    }
    get_ms(hub, PATH, reader)
}

fn largest_number(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.as_u64().unwrap_or(0),
        Value::Array(items) => items.iter().map(largest_number).max().unwrap_or(0),
        Value::Object(fields) => fields.values().map(largest_number).max().unwrap_or(0),
        _ => 0,
    }
}

/// The median time of a request on a kept-alive connection.
fn get_ms(hub: &mut Hub, path: &str, reader: &Member) -> Result<f64> {
    hub.rest.get(path, &reader.token)?;
    let mut nanos = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let start = Instant::now();
        let response = hub.rest.request("GET", path, &reader.token, "")?;
        if response.status != 200 {
            bail!("GET {path} answered {}: {}", response.status, String::from_utf8_lossy(&response.body));
        }
        nanos.push(u64::try_from(start.elapsed().as_nanos())?);
    }
    Ok(Spread::of_nanos(&mut nanos).p50_us / 1e3)
}

fn add_rows(suite: &mut Suite, size: &str, small: &[Probe], large: &[Probe]) {
    let mut add = |what: &str, unit, value: fn(&Probe) -> f64, bar: bool| {
        let middle = |probes: &[Probe]| median(&probes.iter().map(value).collect::<Vec<_>>());
        let row = Row::new(format!("{what} at {size} messages"), unit, middle(large)).against(middle(small));
        suite.rows.push(if bar { row.bar(Bar::RatioAtMost(1.3)) } else { row });
    };
    add("send", "ms, p50", |probe| probe.send_ms, true);
    add("send", "CPU ms each", |probe| probe.send_cpu_ms, false);
    add("newest history page", "ms, p50", |probe| probe.newest_ms, true);
    add("history page in the middle", "ms, p50", |probe| probe.middle_ms, true);
    add("unread counts", "ms, p50", |probe| probe.unread_ms, true);
}
