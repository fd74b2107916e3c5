//! Durable sends in a closed loop, beside bare SQLite with group commit.

use std::time::Duration;

use anyhow::Result;

use super::{Suite, Target, median_of, rooms};
use crate::load::protocol::{Drive, Pace, Report};
use crate::report::{Bar, Row};
use crate::sqlite::{self, Outcome};
use crate::stats::median;

const SENDERS: [usize; 3] = [1, 16, 128];

struct Measured {
    hub: Vec<Report>,
    bare: Vec<Outcome>,
}

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("durable")?;
    let mut hub = suite.start_hub(&folder)?;
    let owner = hub.register_owner()?;
    let open = rooms::set_up(&mut hub, &owner, SENDERS[2], 1, &[])?;
    let mut target = Target::hub(&hub)?;
    target.load.open(open)?;
    target.load.settle(500)?;
    suite.note("durable sends: each sender is an agent alone in its channel and waits for the acknowledgement before it sends again".to_owned());
    for senders in SENDERS {
        let measured = measure(suite, &mut target, senders)?;
        add_rows(suite, senders, &measured);
    }
    Ok(())
}

fn measure(suite: &Suite, target: &mut Target, senders: usize) -> Result<Measured> {
    let folder = suite.folder("bare-sqlite")?;
    let seconds = suite.seconds(3.0);
    let drive = Drive { pace: Pace::ClosedLoop, seconds, messages: None, rooms: Some(senders) };
    let mut measured = Measured { hub: Vec::new(), bare: Vec::new() };
    for _ in 0..suite.repetitions() {
        measured.hub.push(target.load.drive(drive.clone())?);
        measured.bare.push(sqlite::measure(&folder, senders, Duration::from_secs_f64(seconds))?);
    }
    Ok(measured)
}

fn add_rows(suite: &mut Suite, senders: usize, measured: &Measured) {
    let bare = |value: fn(&Outcome) -> f64| median(&measured.bare.iter().map(value).collect::<Vec<_>>());
    let name =
        if senders == 1 { "durable sends, 1 sender".to_owned() } else { format!("durable sends, {senders} senders") };
    let rate = Row::new(&name, "acks/s", median_of(&measured.hub, |report| report.acked as f64 / report.seconds))
        .against(bare(|outcome| outcome.per_second));
    let p50 = Row::new(&name, "ms, p50", median_of(&measured.hub, |report| report.ack.p50_us / 1e3))
        .against(bare(|outcome| outcome.latency.p50_us / 1e3));
    let p99 = Row::new(&name, "ms, p99", median_of(&measured.hub, |report| report.ack.p99_us / 1e3))
        .against(bare(|outcome| outcome.latency.p99_us / 1e3));
    let rows = match senders {
        1 => [rate, p50.bar(Bar::RatioAtMost(1.5)), p99],
        128 => [rate.bar(Bar::RatioAtLeast(0.7)), p50, p99.bar(Bar::AtMost(20.0))],
        _ => [rate, p50, p99],
    };
    suite.rows.extend(rows);
}
