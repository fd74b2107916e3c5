//! Durable sends in a closed loop, beside bare SQLite with group commit.

use std::time::Duration;

use anyhow::Result;

use super::{Suite, Target, anonymous, delivery_bytes, median_of, rooms};
use crate::dialect::CONTENT_BYTES;
use crate::load::protocol::{Drive, Pace, Report};
use crate::report::{Bar, Row};
use crate::sqlite::{self, Outcome};
use crate::stats::median;

const SENDERS: [usize; 3] = [1, 16, 128];
/// Many short turns instead of a few long ones: a disk that is shared wavers from one second to the next, and so both meet the same.
const TURNS: usize = 3;
const TURN_SECONDS: f64 = 1.5;

struct Measured {
    hub: Vec<Report>,
    bare: Vec<Report>,
    without_sockets: Vec<Outcome>,
}

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("durable")?;
    let mut hub = suite.start_hub(&folder)?;
    let owner = hub.register_owner()?;
    let open = rooms::set_up(&mut hub, &owner, SENDERS[2], 1, &[])?;
    let mut target = Target::hub(&hub)?;
    target.load.open(open)?;
    target.load.settle(500)?;
    let mut bare = Target::bare_with_database(delivery_bytes(&mut target)?, &suite.folder("bare-durable")?)?;
    bare.load.open(anonymous(SENDERS[2], 1, CONTENT_BYTES))?;
    suite.note("durable sends: each sender is an agent alone in its channel and waits for the acknowledgement before it sends again; against a bare server that stores each row with group commit in bare SQLite before it answers".to_owned());
    for senders in SENDERS {
        let measured = measure(suite, &mut target, &mut bare, senders)?;
        add_rows(suite, senders, &measured);
    }
    Ok(())
}

fn measure(suite: &Suite, target: &mut Target, bare: &mut Target, senders: usize) -> Result<Measured> {
    let folder = suite.folder("bare-sqlite")?;
    let seconds = suite.seconds(TURN_SECONDS);
    let drive = |pace| Drive { pace, seconds, messages: None, rooms: Some(senders) };
    let mut measured = Measured { hub: Vec::new(), bare: Vec::new(), without_sockets: Vec::new() };
    for _ in 0..TURNS * suite.repetitions() {
        measured.hub.push(target.load.drive(drive(Pace::ClosedLoop))?);
        // Its answer is the delivery.
        measured.bare.push(bare.load.drive(drive(Pace::InFlight(1)))?);
        measured.without_sockets.push(sqlite::measure(&folder, senders, Duration::from_secs_f64(seconds))?);
    }
    Ok(measured)
}

fn add_rows(suite: &mut Suite, senders: usize, measured: &Measured) {
    let Measured { hub, bare, without_sockets } = measured;
    let name =
        if senders == 1 { "durable sends, 1 sender".to_owned() } else { format!("durable sends, {senders} senders") };
    let acks = median_of(hub, |report| report.acked as f64 / report.seconds);
    let row = |unit, hub_value: f64, bare_value: f64| Row::new(&name, unit, hub_value).against(bare_value);
    let rate = row("acks/s", acks, median_of(bare, |report| report.delivered as f64 / report.seconds));
    let p50 = row(
        "ms, p50",
        median_of(hub, |report| report.ack.p50_us / 1e3),
        median_of(bare, |report| report.delivery.p50_us / 1e3),
    );
    let p99 = row(
        "ms, p99",
        median_of(hub, |report| report.ack.p99_us / 1e3),
        median_of(bare, |report| report.delivery.p99_us / 1e3),
    );
    let rows = match senders {
        1 => [rate, p50.bar(Bar::RatioAtMost(1.25)), p99],
        128 => [rate.bar(Bar::RatioAtLeast(0.7)), p50, p99.bar(Bar::AtMost(20.0))],
        _ => [rate, p50, p99],
    };
    suite.rows.extend(rows);
    let in_process = |value: fn(&Outcome) -> f64| median(&without_sockets.iter().map(value).collect::<Vec<_>>());
    let name = format!("{name}, bare SQLite without sockets");
    suite.rows.push(Row::new(&name, "acks/s", acks).against(in_process(|outcome| outcome.per_second)));
    let p50 = median_of(hub, |report| report.ack.p50_us / 1e3);
    suite.rows.push(Row::new(&name, "ms, p50", p50).against(in_process(|outcome| outcome.latency.p50_us / 1e3)));
}
