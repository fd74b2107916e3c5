//! What must hold whatever is asked of the rules: random commands over random worlds.

mod deciders;
mod ids;
mod leases;
mod replay;
mod strangers;

#[path = "../support/mod.rs"]
mod support;

use domain::Command;
use domain::ids::RunId;
use folkmoot_core as domain;
use proptest::collection::vec;
use proptest::prelude::*;
use support::World;
use support::commands::{Dice, KINDS, ROLLS, number};
use support::pool::Pool;
use support::runs::new_run;
use support::world::key;

/// So many cases, or in proportion to `PROPTEST_CASES` (256 when it is not set). Failures are shown, not kept in files.
fn cases(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig { cases: cases * default.cases / 256, failure_persistence: None, ..default }
}

/// The numbers behind a few commands.
fn draws(how_many: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<[u16; ROLLS]>> {
    vec(any::<[u16; ROLLS]>(), how_many)
}

/// A workspace where something is already going on: people, agents, channels of every kind, and talk.
fn lively_world(mark: &str) -> World {
    let mut world = World::empty();
    (world.workspace, world.alice) = world.register(&format!("{mark}alice"));
    let alice = world.alice;
    let bob = world.human(&format!("{mark}bob"));
    let bot = world.agent(&format!("{mark}bot"));
    let other = world.agent(&format!("{mark}other"));
    let room = world.channel(&format!("{mark}room"), &[alice, bob, bot]);
    let back = world.private(&format!("{mark}back"), &[bob, bot]);
    let dm = world.direct(&[alice, bot]);
    world.connect(alice);
    world.connect(bot);
    world.daemon(bob, &[bot]);
    world.daemon(alice, &[other]);
    world.store(new_run(RunId(1 << 100), world.workspace, room, bot));
    for channel in [room, back, dm] {
        let first = world.say(bot, channel, &format!("{mark} first"));
        world.done(bot, Command::Pin { channel: None, message: first.id });
        world.done(bot, Command::EditMessage { message: first.id, content: format!("{mark} edited") });
        let text = || format!("{mark} asked");
        world.done(bot, Command::CreateDraft { channel, thread: None, content: text() });
        world.done(
            bot,
            Command::RequestApproval(crate::domain::command::RequestApproval {
                channel: Some(channel),
                action: text(),
                payload: text(),
                ..Default::default()
            }),
        );
        world.done(bot, Command::CreateWebhook { channel, name: text(), secret_hash: key(200) });
        world.file(bot, Some(channel));
    }
    world.done(bot, Command::OfferCall { callee: alice, kind: String::new(), sdp: format!("{mark} v=0") });
    world
}

#[test]
fn every_kind_of_command_is_drawn() {
    let mut world = lively_world("m");
    let mut seen: Vec<_> = (0..KINDS)
        .map(|kind| {
            let mut rolls = [0; ROLLS];
            rolls[0] = kind;
            number(&Pool::of(&mut world, "m").command(&mut Dice::new(rolls)))
        })
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, (0..KINDS).collect::<Vec<_>>());
}
