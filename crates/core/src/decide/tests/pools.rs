//! Leases: a place has one holder, an agent holds one place, and what is lost is passed on or told.

use super::support::World;
use super::support::world::notifications;
use crate::command::{Command, Reply};
use crate::decide::Decision;
use crate::ids::*;
use crate::model::*;
use crate::pools::{Lease, Place, SessionKind};
use crate::refusal::{self, Code};
use crate::{Actor, access};

fn music(voice_channel: &str) -> Place {
    Place { guild: "g1".to_owned(), voice_channel: voice_channel.to_owned(), kind: SessionKind::Music }
}

fn assistant(voice_channel: &str) -> Place {
    Place { kind: SessionKind::Assistant, ..music(voice_channel) }
}

fn take(place: Place, agent: &str) -> Command {
    Command::TakeLease { place, agent: agent.to_owned() }
}

fn claim(place: Place, agent: &str) -> Command {
    Command::ClaimLease { place, agent: agent.to_owned() }
}

fn release(place: Place, holder: Option<&str>) -> Command {
    Command::ReleaseLease { place, holder: holder.map(str::to_owned) }
}

fn lose(agent: &str, successor: Option<&str>) -> Command {
    Command::LoseAgent { agent: agent.to_owned(), successor: successor.map(str::to_owned) }
}

fn link(channel: ChannelId) -> Command {
    Command::LinkPool { channel, guild: "g1".to_owned(), voice_channel: "v1".to_owned() }
}

fn hub() -> Actor {
    Actor::hub(Door::Chopsticks)
}

#[track_caller]
fn lease_of(decision: Decision) -> (Lease, bool) {
    let Reply::Lease { lease, created } = decision.reply else { panic!("no lease in {:?}", decision.reply) };
    (lease, created)
}

fn holder(world: &World, place: &Place) -> Option<String> {
    world.state.pools().lease(place).map(|lease| lease.agent.clone())
}

/// A restart: all that is left is what was stored.
fn restart(world: &mut World) {
    world.state = world.ledger.load();
}

#[test]
fn a_free_place_is_given_to_the_agent_and_belongs_to_who_asked() {
    let mut world = World::new();
    let bob = world.human("bob");
    let (lease, created) = lease_of(world.done(bob, take(music("v1"), "a")));
    assert!(created);
    assert_eq!((lease.agent.as_str(), lease.owner, lease.fence), ("a", Some(bob), 1));
    assert_eq!(holder(&world, &music("v1")).as_deref(), Some("a"));
}

#[test]
fn a_place_that_is_held_is_found_again_whoever_is_offered() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let (first, _) = lease_of(world.done(alice, take(music("v1"), "a")));
    let (again, created) = lease_of(world.done(bob, take(music("v1"), "b")));
    assert_eq!((again, created), (first, false));
}

#[test]
fn music_and_assistant_of_a_channel_are_apart() {
    let mut world = World::new();
    let alice = world.alice;
    world.done(alice, take(music("v1"), "a"));
    let (lease, created) = lease_of(world.done(alice, take(assistant("v1"), "b")));
    assert_eq!((lease.agent.as_str(), created), ("b", true));
}

#[test]
fn an_agent_holds_one_place() {
    let mut world = World::new();
    let alice = world.alice;
    world.done(alice, take(music("v1"), "a"));
    assert_eq!(world.refused(alice, take(music("v2"), "a")), refusal::AGENT_BUSY);
    assert_eq!(world.refused(alice, take(assistant("v1"), "a")), refusal::AGENT_BUSY);
    world.done(alice, take(music("v2"), "b"));
}

#[test]
fn a_place_has_a_guild_and_a_voice_channel() {
    let mut world = World::new();
    let alice = world.alice;
    for wrong in ["", " ", &"x".repeat(101), "a\u{7}"] {
        assert_eq!(world.refused(alice, take(music(wrong), "a")).code, Code::BadRequest, "{wrong:?}");
        let guild = Place { guild: wrong.to_owned(), ..music("v1") };
        assert_eq!(world.refused(alice, take(guild, "a")).code, Code::BadRequest, "{wrong:?}");
    }
}

#[test]
fn pools_serve_the_first_workspace_only() {
    let mut world = World::new();
    let (_, mallory) = world.register("mallory");
    world.done(world.alice, take(music("v1"), "a"));
    assert_eq!(world.refused(mallory, take(music("v2"), "b")), refusal::POOLS_ELSEWHERE);
    assert_eq!(world.refused(mallory, release(music("v1"), None)), refusal::POOLS_ELSEWHERE);
    let nobody = Actor::nobody(Door::Rest);
    assert_eq!(world.refused(nobody, take(music("v2"), "b")), refusal::NOT_AUTHENTICATED);
    assert!(access::pool_user(&world.state, Actor::new(world.alice, Door::Rest)).is_ok());
}

#[test]
fn only_the_hub_itself_claims_loses_and_releases_for_an_agent() {
    let mut world = World::new();
    let alice = world.alice;
    world.done(alice, take(music("v1"), "a"));
    for command in [claim(music("v2"), "b"), lose("a", None), release(music("v1"), Some("a"))] {
        assert_eq!(world.refused(alice, command), refusal::NOT_AUTHORIZED);
    }
}

#[test]
fn released_is_ignored_unless_this_agent_holds_the_session() {
    let mut world = World::new();
    let alice = world.alice;
    world.done(alice, take(music("v1"), "a"));
    for (place, agent) in [(music("v1"), "b"), (assistant("v1"), "a"), (music("v2"), "a")] {
        assert_eq!(world.refused(hub(), release(place, Some(agent))), refusal::LEASE_NOT_FOUND);
    }
    world.done(hub(), release(music("v1"), Some("a")));
    assert_eq!(holder(&world, &music("v1")), None);
    assert!(!world.state.pools().is_busy("a"));
}

#[test]
fn members_release_what_is_held_and_nothing_else() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    world.done(alice, take(music("v1"), "a"));
    world.done(bob, release(music("v1"), None));
    assert_eq!(world.refused(bob, release(music("v1"), None)), refusal::LEASE_NOT_FOUND);
}

#[test]
fn an_agent_that_joined_binds_the_session_also_when_nobody_gave_it() {
    let mut world = World::new();
    let (lease, created) = lease_of(world.done(hub(), claim(music("v1"), "a")));
    assert_eq!((lease.agent.as_str(), lease.owner, created), ("a", None, true));
    let (again, created) = lease_of(world.done(hub(), claim(music("v1"), "a")));
    assert_eq!((again, created), (lease, false));
}

#[test]
fn an_agent_cannot_bind_what_another_holds() {
    let mut world = World::new();
    world.done(world.alice, take(music("v1"), "a"));
    assert_eq!(world.refused(hub(), claim(music("v1"), "b")), refusal::LEASE_HELD);
}

#[test]
fn an_agent_that_joined_another_channel_has_left_the_first() {
    let mut world = World::new();
    world.done(world.alice, take(music("v1"), "a"));
    world.done(hub(), claim(music("v2"), "a"));
    assert_eq!(holder(&world, &music("v1")), None);
    assert_eq!(holder(&world, &music("v2")).as_deref(), Some("a"));
}

#[test]
fn music_of_a_lost_agent_is_passed_on_and_the_owner_is_told() {
    let mut world = World::new();
    let bob = world.human("bob");
    world.done(bob, take(music("v1"), "a"));
    let decision = world.done(hub(), lose("a", Some("b")));
    let told: Vec<_> = notifications(&decision).iter().map(|told| (told.member, told.title.clone())).collect();
    assert_eq!(told, [(bob, "The music session was passed to b".to_owned())]);
    let (lease, created) = lease_of(decision);
    assert_eq!((lease.agent.as_str(), lease.owner, lease.fence, created), ("b", Some(bob), 2, true));
    assert!(!world.state.pools().is_busy("a"));
}

#[test]
fn music_without_a_successor_is_freed_and_the_owner_is_told() {
    let mut world = World::new();
    world.done(world.alice, take(music("v1"), "a"));
    let decision = world.done(hub(), lose("a", None));
    assert_eq!(notifications(&decision)[0].title, "The music session has ended");
    assert_eq!(holder(&world, &music("v1")), None);
}

#[test]
fn an_assistant_is_not_passed_on() {
    let mut world = World::new();
    world.done(world.alice, take(assistant("v1"), "a"));
    let decision = world.done(hub(), lose("a", Some("b")));
    assert_eq!(notifications(&decision)[0].title, "The assistant session has ended");
    assert_eq!(holder(&world, &assistant("v1")), None);
}

#[test]
fn nothing_is_passed_to_an_agent_that_is_busy_and_nothing_is_lost_by_one_that_holds_nothing() {
    let mut world = World::new();
    let alice = world.alice;
    world.done(alice, take(music("v1"), "a"));
    world.done(alice, take(music("v2"), "b"));
    assert_eq!(world.refused(hub(), lose("a", Some("b"))), refusal::AGENT_BUSY);
    assert_eq!(world.refused(hub(), lose("c", None)), refusal::LEASE_NOT_FOUND);
}

#[test]
fn a_removed_owner_is_not_told() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    world.done(bob, take(music("v1"), "a"));
    world.done(alice, Command::RemoveMember { member: bob });
    assert!(notifications(&world.done(hub(), lose("a", None))).is_empty());
}

#[test]
fn the_fence_rises_also_when_the_last_lease_was_freed_before_a_restart() {
    let mut world = World::new();
    let alice = world.alice;
    world.done(alice, take(music("v1"), "a"));
    let (second, _) = lease_of(world.done(alice, take(music("v2"), "b")));
    world.done(alice, release(music("v2"), None));
    restart(&mut world);
    let (third, _) = lease_of(world.done(alice, take(music("v2"), "b")));
    assert!(third.fence > second.fence);
}

#[test]
fn a_restart_keeps_leases_and_links() {
    let mut world = World::new();
    let alice = world.alice;
    let room = world.channel("room", &[alice]);
    world.done(alice, link(room));
    let (lease, _) = lease_of(world.done(alice, take(music("v1"), "a")));
    restart(&mut world);
    assert_eq!(world.state.pools().lease(&music("v1")), Some(&lease));
    assert_eq!(world.state.pools().link(room).map(|link| link.guild.as_str()), Some("g1"));
    assert_eq!(world.state.pools().linked_to("g1", "v1").count(), 1);
}

#[test]
fn whoever_manages_a_channel_links_it_and_unlinks_it() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let (_, mallory) = world.register("mallory");
    let room = world.channel("room", &[alice, bob]);
    assert_eq!(world.refused(bob, link(room)), refusal::ADMINS_ONLY);
    assert_eq!(world.refused(mallory, link(room)), refusal::POOLS_ELSEWHERE);
    assert_eq!(world.refused(alice, link(ChannelId::NONE)), refusal::CHANNEL_NOT_FOUND);
    assert_eq!(world.refused(alice, Command::UnlinkPool { channel: room }), refusal::POOL_LINK_NOT_FOUND);
    world.done(alice, link(room));
    assert_eq!(world.refused(bob, Command::UnlinkPool { channel: room }), refusal::ADMINS_ONLY);
    world.done(alice, Command::UnlinkPool { channel: room });
    assert!(world.state.pools().link(room).is_none());
}

#[test]
fn a_channel_commands_one_voice_channel_the_last_it_was_linked_to() {
    let mut world = World::new();
    let alice = world.alice;
    let room = world.channel("room", &[alice]);
    world.done(alice, link(room));
    let again = Command::LinkPool { channel: room, guild: "g2".to_owned(), voice_channel: "v2".to_owned() };
    world.done(alice, again);
    restart(&mut world);
    assert_eq!(world.state.pools().link(room).map(|link| link.voice_channel.as_str()), Some("v2"));
    assert_eq!(world.state.pools().linked_to("g1", "v1").count(), 0);
}

#[test]
fn a_link_goes_with_its_channel() {
    let mut world = World::new();
    let alice = world.alice;
    let room = world.channel("room", &[alice]);
    world.done(alice, link(room));
    world.done(alice, Command::DeleteChannel { channel: room });
    restart(&mut world);
    assert!(world.state.pools().link(room).is_none());
}

#[test]
fn a_voice_channel_is_heard_by_who_reads_a_channel_that_is_linked_to_it() {
    let mut world = World::new();
    let (alice, bob, carol) = (world.alice, world.human("bob"), world.human("carol"));
    let private = world.private("music", &[alice, bob]);
    let hears = |world: &World, who: MemberId, voice: &str| {
        access::room_to_hear(&world.state, Actor::new(who, Door::Rest), "g1", voice)
    };
    assert_eq!(hears(&world, bob, "v1"), Err(refusal::POOL_LINK_NOT_FOUND), "nothing is linked yet");
    world.done(alice, link(private));
    assert_eq!(hears(&world, bob, "v1"), Ok(private));
    assert_eq!(hears(&world, bob, "v2"), Err(refusal::POOL_LINK_NOT_FOUND));
    assert_eq!(hears(&world, carol, "v1"), Err(refusal::POOL_LINK_NOT_FOUND), "carol does not read the channel");
    assert_eq!(hears(&world, MemberId::NONE, "v1"), Err(refusal::NOT_AUTHENTICATED));
    let (_, stranger) = world.register("eve");
    assert_eq!(hears(&world, stranger, "v1"), Err(refusal::POOL_LINK_NOT_FOUND), "of another workspace");
}

#[test]
fn a_channel_that_is_linked_no_longer_is_heard_no_longer() {
    let mut world = World::new();
    let alice = world.alice;
    let channel = world.channel("music", &[alice]);
    world.done(alice, link(channel));
    assert!(access::is_heard_in(&world.state, channel, "g1", "v1"));
    assert!(!access::is_heard_in(&world.state, channel, "g1", "v2"));
    assert!(!access::is_heard_in(&world.state, channel, "g2", "v1"));
    world.done(alice, Command::UnlinkPool { channel });
    assert!(!access::is_heard_in(&world.state, channel, "g1", "v1"));
}

#[test]
fn who_leaves_the_channel_or_changes_the_password_hears_no_longer() {
    let mut world = World::new();
    let (alice, bob) = (world.alice, world.human("bob"));
    let private = world.private("music", &[alice, bob]);
    let hears = |world: &World| access::still_hears(&world.state, Actor::new(bob, Door::Rest), 0, private);
    assert!(hears(&world));
    world.later(5000);
    world.done(bob, Command::ChangePassword { password_hash: "other".to_owned(), keep: Vec::new() });
    assert!(!hears(&world));
    assert!(access::still_hears(&world.state, Actor::new(bob, Door::Rest), 1, private), "let in again");
    world.done(alice, Command::RemoveFromChannel { channel: private, member: bob });
    assert!(!access::still_hears(&world.state, Actor::new(bob, Door::Rest), 1, private));
    assert!(!access::still_hears(&world.state, Actor::new(MemberId::NONE, Door::Rest), 1, private));
}
