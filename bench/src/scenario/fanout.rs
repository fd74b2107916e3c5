//! One sender, a thousand subscribers: paced, and flat out.

use anyhow::Result;

use super::{
    CONNECTING_AT_ONCE, Suite, Target, anonymous, cpu_per_million, delivery_bytes, interleave, median_of, peer_content,
};
use crate::dialect::CONTENT_BYTES;
use crate::hub::Hub;
use crate::load::protocol::{Drive, Open, Pace, Report, Seat};
use crate::report::{Bar, Row};

const SUBSCRIBERS: usize = 1_000;
/// Subscribers are connections of a few people: each login of a person is hashed slowly on purpose.
const PEOPLE: usize = 5;
const PER_SECOND: f64 = 50.0;
const IN_FLIGHT: u64 = 64;

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("fanout")?;
    let mut hub = suite.start_hub(&folder)?;
    let open = set_up(&mut hub)?;
    let mut target = Target::hub(&hub)?;
    target.load.open(open)?;
    target.load.settle(500)?;
    let bytes = delivery_bytes(&mut target)?;
    let mut bare = Target::bare(bytes, false)?;
    let mut coalescing = Target::bare(bytes, true)?;
    let mut peer = Target::peer(&suite.peer)?;
    for target in [&mut bare, &mut coalescing] {
        target.load.open(anonymous(1, SUBSCRIBERS + 1, CONTENT_BYTES))?;
    }
    if let Some(peer) = &mut peer {
        peer.load.open(anonymous(1, SUBSCRIBERS + 1, peer_content(bytes)))?;
    }
    suite.note(format!("fan-out: 1 sender and {SUBSCRIBERS} subscribers ({PEOPLE} people with 200 connections each), deliveries of {bytes} bytes"));
    paced(suite, &mut target, &mut bare, peer.as_mut())?;
    flat_out(suite, &mut target, &mut coalescing, peer.as_mut())
}

fn set_up(hub: &mut Hub) -> Result<Open> {
    let owner = hub.register_owner()?;
    let people = (0..PEOPLE).map(|n| hub.add_human(&owner, &format!("person{n}"))).collect::<Result<Vec<_>>>()?;
    let channel = hub.add_channel(&owner, &owner.member, "fanout", &people)?;
    let mut tokens = vec![owner.member.token];
    tokens.extend(people.into_iter().map(|person| person.token));
    let mut connections = vec![Seat { token: 0, room: 0 }];
    connections.extend((0..SUBSCRIBERS).map(|n| Seat { token: 1 + n % PEOPLE, room: 0 }));
    Ok(Open { tokens, rooms: vec![channel], connections, content_bytes: CONTENT_BYTES, at_once: CONNECTING_AT_ONCE })
}

fn paced(suite: &mut Suite, hub: &mut Target, bare: &mut Target, peer: Option<&mut Target>) -> Result<()> {
    let drive = Drive { pace: Pace::PerSecond(PER_SECOND), seconds: suite.seconds(5.0), messages: None, rooms: None };
    let mut targets = vec![hub, bare];
    targets.extend(peer);
    let reports = interleave(&mut targets, suite.repetitions(), &drive)?;
    let last = |reports: &[Report]| median_of(reports, |report| report.delivery.p50_us / 1e3);
    // A server that is still writing when the next message comes may write both at once, and the plain bare
    // server never does: then the two are not comparable.
    let late = last(&reports[0]).max(last(&reports[1])) > 1e3 / PER_SECOND;
    suite.rows.push(
        Row::new("fan-out 1 → 1,000 at 50/s", "CPU s per million", cpu_per_million(&reports[0]))
            .against_floor(cpu_per_million(&reports[1]))
            .peer(reports.get(2).map(|reports| cpu_per_million(reports)))
            .doubt_if(late)
            .bar(Bar::RatioAtMost(1.3)),
    );
    suite.rows.push(
        Row::new("fan-out 1 → 1,000 at 50/s, until the last has it", "ms, p50", last(&reports[0]))
            .against(last(&reports[1]))
            .peer(reports.get(2).map(|reports| last(reports))),
    );
    if late {
        suite.note("fan-out at 50/s: messages were not delivered before the next came, so their CPU is not comparable; measure again on a quiet machine".to_owned());
    }
    suite.doubt_below_limit("fan-out at 50/s", cpu_per_million(&reports[0]), cpu_per_million(&reports[1]));
    Ok(())
}

fn flat_out(suite: &mut Suite, hub: &mut Target, bare: &mut Target, peer: Option<&mut Target>) -> Result<()> {
    let drive = Drive { pace: Pace::InFlight(IN_FLIGHT), seconds: suite.seconds(3.0), messages: None, rooms: None };
    let mut targets = vec![hub, bare];
    targets.extend(peer);
    let reports = interleave(&mut targets, suite.repetitions(), &drive)?;
    suite.rows.push(
        Row::new("fan-out 1 → 1,000 flat out", "CPU s per million", cpu_per_million(&reports[0]))
            .against_floor(cpu_per_million(&reports[1]))
            .peer(reports.get(2).map(|reports| cpu_per_million(reports)))
            .bar(Bar::RatioAtMost(2.5)),
    );
    let rate = |reports: &[Report]| median_of(reports, |report| report.delivered as f64 / report.seconds);
    suite.rows.push(
        Row::new("fan-out 1 → 1,000 flat out", "deliveries/s", rate(&reports[0]))
            .against(rate(&reports[1]))
            .peer(reports.get(2).map(|reports| rate(reports)))
            .bar(Bar::AtLeast(500_000.0)),
    );
    let busy = |report: &Report| 100.0 * report.load_cpu_s / report.seconds;
    suite.note(format!(
        "fan-out flat out: {IN_FLIGHT} messages in flight; the load generator's core was {:.0} % busy against the hub, {:.0} % against the bare server that coalesces",
        median_of(&reports[0], busy),
        median_of(&reports[1], busy),
    ));
    Ok(())
}
