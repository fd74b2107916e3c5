//! Ten thousand connections that are logged in, subscribed, and silent.

use anyhow::Result;

use super::{Suite, Target, anonymous, storm};
use crate::dialect::CONTENT_BYTES;
use crate::load::protocol::Open;
use crate::process::resident_bytes;
use crate::report::{Bar, Row};

const CONNECTIONS: usize = 10_000;

pub fn run(suite: &mut Suite) -> Result<()> {
    let folder = suite.folder("idle")?;
    let (hub, open) = storm::fresh_hub(suite, &folder, CONNECTIONS)?;
    let per_hub = per_connection(&mut Target::hub(&hub)?, open)?;
    drop(hub);
    let per_bare = per_connection(&mut Target::bare(1, false)?, anonymous(1, CONNECTIONS, CONTENT_BYTES))?;
    let per_peer = match Target::peer(&suite.peer)? {
        Some(mut peer) => Some(per_connection(&mut peer, anonymous(1, CONNECTIONS, CONTENT_BYTES))?),
        None => None,
    };
    suite.rows.push(
        Row::new("10,000 idle connections", "KiB each", per_hub).against(per_bare).peer(per_peer).bar(Bar::AtMost(4.5)),
    );
    Ok(())
}

/// Resident memory per connection, after one connection has warmed the server up.
fn per_connection(target: &mut Target, open: Open) -> Result<f64> {
    let warm_up = Open {
        connections: open.connections[..1].to_vec(),
        tokens: open.tokens.clone(),
        rooms: open.rooms.clone(),
        ..open
    };
    target.load.open(warm_up)?;
    target.load.close()?;
    target.load.settle(500)?;
    let before = resident_bytes(target.pid)?;
    target.load.open(open)?;
    target.load.settle(1_000)?;
    let after = resident_bytes(target.pid)?;
    Ok(after.saturating_sub(before) as f64 / 1024.0 / CONNECTIONS as f64)
}
