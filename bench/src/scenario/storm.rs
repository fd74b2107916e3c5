//! Two thousand connections that come at once: connect, log in, subscribe.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::{CONNECTING_AT_ONCE, Suite, Target, anonymous, median_of};
use crate::dialect::CONTENT_BYTES;
use crate::hub::{Hub, Member, Owner};
use crate::load::protocol::{Open, Report, Seat};
use crate::process::CpuSample;
use crate::report::{Bar, Row};

const CONNECTIONS: usize = 2_000;
const PEOPLE: usize = 5;

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("storm")?;
    let (hub, open) = fresh_hub(suite, &folder, CONNECTIONS)?;
    let mut target = Target::hub(&hub)?;
    let reports = storms(suite, &mut target, &open)?;
    let anonymous = anonymous(1, CONNECTIONS, CONTENT_BYTES);
    let bare = storms(suite, &mut Target::bare(1, false)?, &anonymous)?;
    let peer = match Target::peer(&suite.peer)? {
        Some(mut peer) => Some(each(&storms(suite, &mut peer, &anonymous)?)),
        None => None,
    };
    suite.note(format!(
        "connect storm and idle: connections of {PEOPLE} people; {CONNECTING_AT_ONCE} connecting at a time"
    ));
    suite.rows.push(
        Row::new("connect, log in, subscribe", "CPU ms each", each(&reports))
            .against(each(&bare))
            .peer(peer)
            .bar(Bar::AtMost(0.12)),
    );
    suite.rows.push(Row::new("storm of 2,000 until all are ready", "s", median_of(&reports, |report| report.seconds)));
    Ok(())
}

/// A hub with a few people in one channel, started anew after its set-up, so that the memory and the
/// threads of password hashing are not measured along.
pub fn fresh_hub(suite: &Suite, folder: &Path, connections: usize) -> Result<(Hub, Open)> {
    let (hub, _, _, open) = hub_with_people(suite, folder, connections)?;
    Ok((hub, open))
}

/// The same with its owner and its people.
pub fn hub_with_people(suite: &Suite, folder: &Path, connections: usize) -> Result<(Hub, Owner, Vec<Member>, Open)> {
    let mut hub = suite.start_hub(folder)?;
    let owner = hub.register_owner()?;
    let people = (0..PEOPLE).map(|n| hub.add_human(&owner, &format!("person{n}"))).collect::<Result<Vec<_>>>()?;
    let channel = hub.add_channel(&owner, &owner.member, "lobby", &people)?;
    drop(hub);
    let open = Open {
        tokens: people.iter().map(|person| person.token.clone()).collect(),
        rooms: vec![channel],
        connections: (0..connections).map(|n| Seat { token: n % PEOPLE, room: 0 }).collect(),
        content_bytes: CONTENT_BYTES,
        at_once: CONNECTING_AT_ONCE,
    };
    Ok((suite.start_hub(folder)?, owner, people, open))
}

fn each(reports: &[Report]) -> f64 {
    median_of(reports, |report| report.server_cpu_s * 1e3 / CONNECTIONS as f64)
}

/// The first storm warms the server up and does not count.
fn storms(suite: &Suite, target: &mut Target, open: &Open) -> Result<Vec<Report>> {
    let mut reports = Vec::new();
    for _ in 0..=suite.repetitions() {
        reports.push(target.load.open(open.clone())?);
        target.load.close()?;
        wait_until_quiet(target.pid)?;
    }
    reports.remove(0);
    Ok(reports)
}

/// Cleaning up after the last storm must not be charged to the next one.
fn wait_until_quiet(pid: u32) -> Result<()> {
    for _ in 0..50 {
        let before = CpuSample::of(pid)?;
        std::thread::sleep(Duration::from_millis(200));
        if CpuSample::of(pid)?.seconds_since(&before) < 0.002 {
            break;
        }
    }
    Ok(())
}
