//! The Snek door: calls that touch no store beside a bare WebSocket echo, and fan-out beside Lark's.

use anyhow::Result;
use serde_json::json;

use super::{CONNECTING_AT_ONCE, Suite, Target, anonymous, cpu_per_million, delivery_bytes, interleave, median_of};
use crate::dialect::{CONTENT_BYTES, Dialect};
use crate::hub::{Hub, Member, Owner};
use crate::load::protocol::{Drive, Open, Pace, Report, Seat};
use crate::report::{Bar, Row};

const CONNECTIONS: usize = 1_000;
const CALLS_IN_FLIGHT: u64 = 50;
/// Subscribers are connections of a few members; on Lark of people, because there an agent has one connection only.
const MEMBERS: usize = 5;
const PER_SECOND: f64 = 50.0;

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("snek")?;
    let mut hub = suite.start_hub(&folder)?;
    let owner = hub.register_owner()?;
    calls(suite, &mut hub, &owner)?;
    fanout(suite, &mut hub, &owner)
}

/// Every connection calls and waits for nobody but the hub.
fn calls(suite: &mut Suite, hub: &mut Hub, owner: &Owner) -> Result<()> {
    let caller = hub.add_agent(owner, "caller")?;
    let mut target = Target::hub_by(Dialect::SnekCalls, hub)?;
    target.load.open(Open { tokens: vec![login("caller", &caller)], ..anonymous(CONNECTIONS, 1, CONTENT_BYTES) })?;
    target.load.settle(500)?;
    let bytes = delivery_bytes(&mut target)?;
    let mut bare = Target::bare(bytes, false)?;
    bare.load.open(anonymous(CONNECTIONS, 1, CONTENT_BYTES))?;
    let each =
        |in_flight| Drive { pace: Pace::InFlight(in_flight), seconds: suite.seconds(3.0), messages: None, rooms: None };
    let (one, many) = (each(1), each(CALLS_IN_FLIGHT));
    let single = interleave(&mut [&mut target, &mut bare], suite.repetitions(), &one)?;
    let crowd = interleave(&mut [&mut target, &mut bare], suite.repetitions(), &many)?;
    let answered: u64 = crowd[0].iter().map(|report| report.delivered).sum();
    suite.note(format!("Snek calls: {CONNECTIONS} connections, answers of {bytes} bytes; {answered} calls with {CALLS_IN_FLIGHT} in flight each, all answered"));
    let row = |what: &str, reports: &[Vec<Report>]| {
        Row::new(what, "CPU s per million", cpu_per_million(&reports[0]))
            .against(cpu_per_million(&reports[1]))
            .bar(Bar::RatioAtMost(2.0))
    };
    suite.rows.push(row("Snek echo, 1,000 connections, 1 in flight", &single));
    suite.rows.push(row("Snek echo, 1,000 connections, 50 in flight", &crowd));
    let rate = |reports: &[Report]| median_of(reports, |report| report.delivered as f64 / report.seconds);
    suite.rows.push(
        Row::new("Snek echo, 1,000 connections, 50 in flight", "calls/s", rate(&crowd[0])).against(rate(&crowd[1])),
    );
    Ok(())
}

fn fanout(suite: &mut Suite, hub: &mut Hub, owner: &Owner) -> Result<()> {
    let mut lark = Target::hub(hub)?;
    let people = (0..MEMBERS).map(|n| hub.add_human(owner, &format!("person{n}"))).collect::<Result<Vec<_>>>()?;
    let channel = hub.add_channel(owner, &owner.member, "on-lark", &people)?;
    let tokens = std::iter::once(&owner.member).chain(&people).map(|member| member.token.clone()).collect();
    lark.load.open(audience(tokens, channel))?;
    let mut snek = Target::hub_by(Dialect::Snek, hub)?;
    let name = |n: usize| format!("bot{n}");
    let bots = (0..=MEMBERS).map(|n| hub.add_agent(owner, &name(n))).collect::<Result<Vec<_>>>()?;
    let channel = hub.add_channel(owner, &bots[0], "on-snek", &bots[1..])?;
    let tokens = bots.iter().enumerate().map(|(n, bot)| login(&name(n), bot)).collect();
    snek.load.open(audience(tokens, channel))?;
    for target in [&mut lark, &mut snek] {
        target.load.settle(500)?;
    }
    let sizes = (delivery_bytes(&mut snek)?, delivery_bytes(&mut lark)?);
    suite.note(format!(
        "Snek fan-out: 1 sender and {CONNECTIONS} subscribers on each door; deliveries of {} bytes on Snek, {} on Lark",
        sizes.0, sizes.1
    ));
    let drive = Drive { pace: Pace::PerSecond(PER_SECOND), seconds: suite.seconds(5.0), messages: None, rooms: None };
    let reports = interleave(&mut [&mut snek, &mut lark], suite.repetitions(), &drive)?;
    suite.rows.push(
        Row::new("Snek fan-out 1 → 1,000 at 50/s, against Lark", "CPU s per million", cpu_per_million(&reports[0]))
            .against(cpu_per_million(&reports[1]))
            .bar(Bar::RatioAtMost(1.2)),
    );
    Ok(())
}

/// The first member sends; the others share the subscribers.
fn audience(tokens: Vec<String>, channel: String) -> Open {
    let mut connections = vec![Seat { token: 0, room: 0 }];
    connections.extend((0..CONNECTIONS).map(|n| Seat { token: 1 + n % MEMBERS, room: 0 }));
    Open { tokens, rooms: vec![channel], connections, content_bytes: CONTENT_BYTES, at_once: CONNECTING_AT_ONCE }
}

fn login(name: &str, member: &Member) -> String {
    json!([name, member.token]).to_string()
}
