//! Limits: what there may be only so much of, and when there may be more.

use super::support::World;
use super::support::world::{new_file, new_member};
use crate::command::Command;
use crate::ids::*;
use crate::model::*;
use crate::quota::{Allowance, QuotaRules};
use crate::refusal::Code;

const HOUR: i64 = 3_600_000;

fn create(world: &World, name: &str) -> Command {
    let (workspace, topic) = (Some(world.workspace), String::new());
    Command::CreateChannel { workspace, name: name.to_owned(), kind: ChannelKind::Channel, topic }
}

fn file(world: &World, number: u128, size: u64) -> Command {
    Command::AddFile(File { size, ..new_file(FileId(number), world.workspace, None) })
}

#[test]
fn channels_are_counted_by_the_person_behind_them_and_deleting_one_gives_nothing_back() {
    let mut world = World::new();
    let (bob, agent) = (world.human("bob"), world.agent("codebot"));
    world.state.set_quota_rules(QuotaRules { channels: Allowance::per_hour(2), ..QuotaRules::default() });
    let alice = world.alice;
    world.done(alice, create(&world, "one"));
    world.done(agent, create(&world, "two"));
    for member in [alice, agent] {
        let refused = world.refused(member, create(&world, "three"));
        assert_eq!((refused.code, refused.retry_in), (Code::RateLimited, Some(HOUR / 2)), "{refused}");
        assert!(refused.text.ends_with("retry in 1800 s"), "{refused}");
    }
    let one = world.state.channels_of(alice).find(|room| room.channel.name == "one").map(|room| room.channel.id);
    world.done(alice, Command::DeleteChannel { channel: one.expect("a channel") });
    assert_eq!(world.refused(alice, create(&world, "three")).code, Code::RateLimited);
    world.done(bob, create(&world, "bobs"));
    world.later(HOUR / 2);
    world.done(alice, create(&world, "three"));
}

#[test]
fn members_are_counted_by_workspace() {
    let mut world = World::new();
    world.state.set_quota_rules(QuotaRules { members: Allowance::per_hour(2), ..QuotaRules::default() });
    world.human("bob");
    world.agent("codebot");
    let alice = world.alice;
    let third = Command::AddMember(new_member(world.workspace, MemberKind::Agent, "third"));
    assert_eq!(world.refused(alice, third).code, Code::RateLimited);
    world.later(HOUR);
    world.human("third");
}

#[test]
fn a_message_has_only_so_many_reactions() {
    let mut world = World::new();
    world.state.set_quota_rules(QuotaRules { reactions_per_message: 2, ..QuotaRules::default() });
    let (alice, bob) = (world.alice, world.human("bob"));
    let channel = world.channel("general", &[alice, bob]);
    let message = world.say(alice, channel, "well?").id;
    let react = |emoji: &str, on| Command::React { message, emoji: emoji.to_owned(), on };
    world.done(alice, react("a", true));
    world.done(bob, react("a", true));
    assert_eq!(world.refused(bob, react("b", true)).code, Code::Quota);
    world.done(alice, react("a", false));
    world.done(bob, react("b", true));
}

#[test]
fn files_hold_only_so_much_per_member_and_per_workspace() {
    let mut world = World::new();
    let rules = QuotaRules { member_bytes: 100, workspace_bytes: 150, ..QuotaRules::default() };
    world.state.set_quota_rules(rules);
    let (alice, bob) = (world.alice, world.human("bob"));
    world.done(alice, file(&world, 1, 100));
    assert_eq!(world.refused(alice, file(&world, 2, 1)).code, Code::Quota);
    assert_eq!(world.refused(bob, file(&world, 3, 51)).code, Code::Quota);
    world.done(bob, file(&world, 4, 50));
    world.done(alice, Command::RemoveFile { file: FileId(1) });
    world.done(alice, file(&world, 5, 100));
}
