//! Five hundred rooms of four: one message per second in each, four, and flat out.

use anyhow::Result;

use super::{
    CONNECTING_AT_ONCE, Suite, Target, anonymous, cpu_per_million, delivery_bytes, interleave, median_of, peer_content,
};
use crate::dialect::CONTENT_BYTES;
use crate::hub::{Hub, Member, Owner};
use crate::load::protocol::{Drive, Open, Pace, Report, Seat};
use crate::report::{Bar, Row};

const ROOMS: usize = 500;
const MEMBERS: usize = 4;
/// Every room at this pace: quiet rooms, and rooms in which people talk.
const QUIET: u32 = 1;
const LIVELY: u32 = 4;
const IN_FLIGHT: u64 = 4;

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("rooms")?;
    let mut hub = suite.start_hub(&folder)?;
    let owner = hub.register_owner()?;
    let open = set_up(&mut hub, &owner, ROOMS, MEMBERS, &[])?;
    let mut target = Target::hub(&hub)?;
    target.load.open(open)?;
    target.load.settle(1_000)?;
    let bytes = delivery_bytes(&mut target)?;
    let mut bare = Target::bare(bytes, false)?;
    let mut coalescing = Target::bare(bytes, true)?;
    let mut peer = Target::peer(&suite.peer)?;
    for target in [&mut bare, &mut coalescing] {
        target.load.open(anonymous(ROOMS, MEMBERS, CONTENT_BYTES))?;
    }
    if let Some(peer) = &mut peer {
        peer.load.open(anonymous(ROOMS, MEMBERS, peer_content(bytes)))?;
    }
    suite.note(format!("rooms: {ROOMS} channels, each with {MEMBERS} agents of its own, deliveries of {bytes} bytes"));
    for per_second in [QUIET, LIVELY] {
        paced(suite, &mut target, &mut bare, peer.as_mut(), per_second)?;
    }
    flat_out(suite, &mut target, [&mut bare, &mut coalescing], peer.as_mut())
}

/// Channels with agents that are in no other channel; the first agent of a channel made it and sends.
/// `readers` are in every channel and not connected.
pub fn set_up(hub: &mut Hub, owner: &Owner, rooms: usize, members: usize, readers: &[Member]) -> Result<Open> {
    let mut open = Open { content_bytes: CONTENT_BYTES, at_once: CONNECTING_AT_ONCE, ..Open::default() };
    for room in 0..rooms {
        let agents =
            (0..members).map(|n| hub.add_agent(owner, &format!("agent-{room}-{n}"))).collect::<Result<Vec<_>>>()?;
        let others: Vec<Member> = agents[1..].iter().chain(readers).cloned().collect();
        open.rooms.push(hub.add_channel(owner, &agents[0], &format!("room-{room}"), &others)?);
        for agent in agents {
            open.connections.push(Seat { token: open.tokens.len(), room });
            open.tokens.push(agent.token);
        }
    }
    Ok(open)
}

fn paced(
    suite: &mut Suite,
    hub: &mut Target,
    bare: &mut Target,
    peer: Option<&mut Target>,
    per_second: u32,
) -> Result<()> {
    let pace = Pace::PerSecond(f64::from(per_second) * ROOMS as f64);
    let drive = Drive { pace, seconds: suite.seconds(6.0), messages: None, rooms: None };
    let mut targets = vec![hub, bare];
    targets.extend(peer);
    let reports = interleave(&mut targets, suite.repetitions(), &drive)?;
    let name = format!("500 rooms of 4 at {per_second}/s each");
    let p50 = |reports: &[Report]| median_of(reports, |report| report.delivery.p50_us / 1e3);
    let cost = Row::new(&name, "CPU s per million", cpu_per_million(&reports[0]))
        .against_floor(cpu_per_million(&reports[1]))
        .peer(reports.get(2).map(|reports| cpu_per_million(reports)));
    let delay = Row::new(&name, "ms until delivered, p50", p50(&reports[0]))
        .against(p50(&reports[1]))
        .peer(reports.get(2).map(|reports| p50(reports)));
    let lively = per_second == LIVELY;
    suite.rows.push(cost.bar(Bar::RatioAtMost(if lively { 1.6 } else { 2.0 })));
    suite.rows.push(if lively { delay.bar(Bar::AtMost(3.0)) } else { delay });
    suite.doubt_below_limit(&name, cpu_per_million(&reports[0]), cpu_per_million(&reports[1]));
    Ok(())
}

fn flat_out(suite: &mut Suite, hub: &mut Target, bare: [&mut Target; 2], peer: Option<&mut Target>) -> Result<()> {
    let drive = Drive { pace: Pace::InFlight(IN_FLIGHT), seconds: suite.seconds(3.0), messages: None, rooms: None };
    let [bare, coalescing] = bare;
    let mut targets = vec![hub, bare, coalescing];
    targets.extend(peer);
    let reports = interleave(&mut targets, suite.repetitions(), &drive)?;
    let hub = cpu_per_million(&reports[0]);
    suite.rows.push(
        Row::new("500 rooms of 4 flat out", "CPU s per million", hub)
            .against_floor(cpu_per_million(&reports[1]))
            .peer(reports.get(3).map(|reports| cpu_per_million(reports)))
            .bar(Bar::RatioAtMost(2.5)),
    );
    suite.rows.push(
        Row::new("500 rooms of 4 flat out, bare server coalesces", "CPU s per million", hub)
            .against_floor(cpu_per_million(&reports[2]))
            .bar(Bar::RatioAtMost(2.2)),
    );
    let rate = |reports: &[Report]| median_of(reports, |report| report.delivered as f64 / report.seconds);
    suite.rows.push(
        Row::new("500 rooms of 4 flat out", "deliveries/s", rate(&reports[0]))
            .against(rate(&reports[1]))
            .peer(reports.get(3).map(|reports| rate(reports))),
    );
    suite.note(format!(
        "rooms flat out: {IN_FLIGHT} messages of each room in flight, every one committed before it is delivered"
    ));
    Ok(())
}
