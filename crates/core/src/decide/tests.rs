//! The rules, one test each, named after the rule; what must fail shares its set-up with what must not.

mod agents;
mod approvals;
mod calls;
mod catalogue;
mod channels;
mod credentials;
mod daemons;
mod direct;
mod drafts;
mod files;
mod guests;
mod hosting;
mod inbox;
mod invites;
mod machines;
mod members;
mod messages;
mod pools;
mod presence;
mod quotas;
mod registration;
mod routes;
mod runs;
mod streams;
mod tasks;
mod telegram;
mod threads;
mod webhooks;

#[path = "../../tests/support/mod.rs"]
pub(super) mod support;

use crate as domain;
use crate::ids::*;
use support::World;

/// An agent in a channel with its owner.
pub(super) struct Room {
    pub world: World,
    pub alice: MemberId,
    pub codebot: MemberId,
    pub general: ChannelId,
}

pub(super) fn room() -> Room {
    let mut world = World::new();
    let alice = world.alice;
    let codebot = world.agent("codebot");
    let general = world.channel("general", &[alice, codebot]);
    Room { world, alice, codebot, general }
}

/// The same, where the agent is connected.
pub(super) fn connected_room() -> Room {
    let mut room = room();
    room.world.connect(room.codebot);
    room
}
