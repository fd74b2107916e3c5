//! The rules about wakes, one test each; each file tests the file of the house that has its name.

mod debounce;
mod elsewhere;
mod loop_guard;
mod send;
mod settle;
mod tasks;
mod triggers;
mod want;

use super::super::tests::support::{self, World};
use crate::command::CreateTask;
use crate::decide::Decision;
use crate::delivery::Delivery;
use crate::ids::*;
use crate::model::Priority;
use support::world::{deliveries, say};

pub struct Room {
    pub world: World,
    pub alice: MemberId,
    pub bob: MemberId,
    pub codebot: MemberId,
    pub pi: MemberId,
    pub general: ChannelId,
}

/// Two people and two agents that are connected, in one channel.
pub fn room() -> Room {
    let mut world = World::new();
    let alice = world.alice;
    let bob = world.human("bob");
    let (codebot, pi) = (world.agent("codebot"), world.agent("pi"));
    let general = world.channel("general", &[alice, bob, codebot, pi]);
    world.connect(codebot);
    world.connect(pi);
    Room { world, alice, bob, codebot, pi, general }
}

/// The sender has paused for long enough.
pub fn quiet(world: &mut World) -> Decision {
    world.time_passes(300)
}

pub fn texts(world: &World, delivery: &Delivery) -> Vec<String> {
    delivery.messages.iter().map(|id| world.stored(*id).content).collect()
}

/// A delivery as it is stored now.
pub fn now(world: &World, id: DeliveryId) -> Delivery {
    world.delivery(id)
}

pub fn only(decision: &Decision) -> Delivery {
    let found = deliveries(decision);
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// alice mentions codebot, and codebot is woken.
pub fn woken(room: &mut Room) -> Delivery {
    let opened = only(&room.world.done(room.alice, say(room.general, "@codebot look")));
    quiet(&mut room.world);
    now(&room.world, opened.id)
}

pub fn task(world: &World, assigned_to: Option<MemberId>, channel: Option<ChannelId>) -> CreateTask {
    CreateTask {
        workspace: world.workspace,
        channel,
        message: None,
        title: "Mend the build".to_owned(),
        description: String::new(),
        priority: Priority::High,
        assigned_to,
    }
}

/// The files of the house, lowest first.
const FILES: &[(&str, &str)] = &[
    ("steps", include_str!("steps.rs")),
    ("want", include_str!("want.rs")),
    ("origin", include_str!("origin.rs")),
    ("loop_guard", include_str!("loop_guard.rs")),
    ("hold", include_str!("hold.rs")),
    ("debounce", include_str!("debounce.rs")),
    ("send", include_str!("send.rs")),
    ("settle", include_str!("settle.rs")),
    ("tasks", include_str!("tasks.rs")),
];

/// Whether a file names another one of the house.
fn leans_on(source: &str, other: &str) -> bool {
    let names =
        |line: &str| line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == other);
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.filter(|line| line.contains("super::") || line.contains("wakes::")).any(names)
}

#[test]
fn the_files_of_the_house_lean_on_those_below_them_only() {
    for (at, (name, source)) in FILES.iter().enumerate() {
        for (above, _) in &FILES[at + 1..] {
            assert!(!leans_on(source, above), "{name} leans on {above}");
        }
    }
    assert!(leans_on(FILES[4].1, "loop_guard") && leans_on(FILES[8].1, "send"), "what is there is found");
}
