//! The state is a projection: applying what happened to an old snapshot gives what a fresh start would load.

use std::collections::BTreeMap;

use crate::domain::decide::Decision;
use crate::domain::event::Event;
use crate::domain::ids::*;
use crate::domain::model::{Door, Presence};
use crate::domain::record::Record;
use crate::domain::{Actor, Command};
use crate::support::World;
use crate::support::commands::{Dice, ROLLS};
use crate::support::pool::Pool;
use crate::support::world::presences;
use crate::{cases, draws, lively_world};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

type Checked = Result<(), TestCaseError>;

/// One random step of the first who may do it; `None` when nobody may.
fn step(world: &mut World, rolls: [u16; ROLLS]) -> Option<Decision> {
    let pool = Pool::of(world, "m");
    let command = pool.command(&mut Dice::new(rolls));
    let [.., pause, minutes, first, how] = rolls;
    let ends_the_world = matches!(command, Command::DeleteWorkspace { .. });
    if ends_the_world && how % 8 > 0 {
        return None;
    }
    world.later(i64::from(pause % 3) * i64::from(minutes % 400) * 1000);
    if matches!(command, Command::LetTimePass) {
        return world.act(Actor::hub(Door::Rest), command).ok();
    }
    for index in 0..pool.members.len() {
        let member = pool.members[(usize::from(first) + index) % pool.members.len()];
        let mut actor = pool.actor(world, member, &mut Dice::new([how; ROLLS]));
        if matches!(command, Command::Connect) {
            actor.connection = Some(world.new_connection());
        }
        if let Ok(decision) = world.act(actor, command.clone()) {
            return Some(decision);
        }
    }
    None
}

fn follows_what_happened(world: &World) -> Checked {
    let mut applied = world.state.clone();
    let moved = applied.take_moved_reads().into_iter().map(Record::Membership);
    let fresh = world.ledger.load_with(moved);
    let (applied, fresh) = (applied.stored_part(), fresh.stored_part());
    prop_assert!(applied == fresh, "{}", difference(&applied, &fresh));
    Ok(())
}

/// Where two things begin to look different.
fn difference(applied: &impl std::fmt::Debug, fresh: &impl std::fmt::Debug) -> String {
    let (applied, fresh) = (format!("{applied:#?}"), format!("{fresh:#?}"));
    let same = applied.lines().zip(fresh.lines()).take_while(|(one, other)| one == other).count();
    let around =
        |text: &str| -> String { text.lines().skip(same.saturating_sub(6)).take(12).collect::<Vec<_>>().join("\n") };
    format!("applied:\n{}\nfresh:\n{}", around(&applied), around(&fresh))
}

/// Positions are dense, versions count the messages, and the head stands at the last of both.
fn counts_without_gaps(world: &World) -> Checked {
    let mut positions: BTreeMap<ChannelId, Vec<u64>> = BTreeMap::new();
    let mut versions: BTreeMap<ChannelId, Vec<u64>> = BTreeMap::new();
    for message in world.ledger.all_messages() {
        positions.entry(message.channel).or_default().push(message.seq);
        versions.entry(message.channel).or_default().push(message.version);
    }
    for change in world.ledger.all_changes() {
        positions.entry(change.channel).or_default().push(change.seq);
    }
    for (channel, mut seqs) in positions {
        let mut versions = versions.remove(&channel).unwrap_or_default();
        seqs.sort_unstable();
        versions.sort_unstable();
        prop_assert_eq!(&seqs, &(1..=seqs.len() as u64).collect::<Vec<_>>(), "positions of {}", channel);
        prop_assert_eq!(&versions, &(1..=versions.len() as u64).collect::<Vec<_>>(), "versions of {}", channel);
        let head = world.state.channel(channel).map(|room| (room.head.seq, room.head.version));
        prop_assert_eq!(head, Some((seqs.len() as u64, versions.len() as u64)), "head of {}", channel);
    }
    Ok(())
}

/// Whoever's presence is another than before, everybody in the workspace hears of it; and nobody hears what is not so.
fn tells_presence_as_it_is(before: &World, after: &World, decision: &Decision) -> Checked {
    let everybody = before.ledger.all_records().filter_map(|record| match record {
        Record::Member(member) => Some(member.id),
        _ => None,
    });
    for member in everybody.filter(|member| after.state.member(*member).is_some()) {
        let (was, is) = (before.presence(member), after.presence(member));
        let told = presences(decision).into_iter().rev().find(|(whose, _)| *whose == member).map(|(_, told)| told);
        let is_right = told.is_none_or(|told| told == is) && (was == is || told.is_some());
        prop_assert!(is_right, "{member} was {was:?} and is {is:?}: {decision:?}");
    }
    Ok(())
}

/// What is open is known, has a time at which something happens to it, and is nobody's who is gone.
fn loses_no_wake(world: &World) -> Checked {
    let open = world.ledger.all_records().filter_map(|record| match record {
        Record::Delivery(delivery) if delivery.is_open() => Some(delivery),
        _ => None,
    });
    let mut count = 0;
    for delivery in open {
        count += 1;
        prop_assert!(world.state.deliveries().get(delivery.id).is_some_and(|known| **known == *delivery));
        prop_assert!(world.state.next_deadline().is_some_and(|at| at <= delivery.deadline()));
        let inside = delivery.channel.is_none_or(|channel| world.state.membership(channel, delivery.agent).is_some());
        prop_assert!(world.state.member(delivery.agent).is_some() && (inside || delivery.task.is_some()));
    }
    prop_assert_eq!(world.state.deliveries().len(), count);
    Ok(())
}

fn counts_replies(world: &World) -> Checked {
    for root in world.ledger.all_messages() {
        let replies = world.ledger.all_messages().filter(|reply| reply.thread == Some(root.id) && !reply.deleted);
        prop_assert_eq!(root.reply_count as usize, replies.count(), "replies of {}", root.id);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(160))]

    #[test]
    fn applying_the_events_to_an_old_snapshot_equals_a_fresh_one(draws in draws(1..80)) {
        let mut world = lively_world("m");
        for rolls in draws {
            let before = world.clone();
            let Some(decision) = step(&mut world, rolls) else { continue };
            prop_assert!(decision.told_before_reply <= decision.events.len());
            follows_what_happened(&world)?;
            counts_without_gaps(&world)?;
            counts_replies(&world)?;
            loses_no_wake(&world)?;
            tells_presence_as_it_is(&before, &world, &decision)?;
            if rolls[0] % 7 == 0 {
                store_moved_reads(&mut world);
            }
        }
    }

    #[test]
    fn going_back_to_what_is_stored_keeps_who_is_connected(draws in draws(1..30)) {
        let mut world = lively_world("m");
        for rolls in draws {
            step(&mut world, rolls);
        }
        let everybody: Vec<_> = Pool::of(&mut world, "m").members;
        let presences = |world: &World| -> Vec<Presence> { everybody.iter().map(|id| world.presence(*id)).collect() };
        let before = presences(&world);
        let fresh = world.ledger.load();
        world.state.replace_stored(fresh);
        prop_assert!(world.state.stored_part() == world.ledger.load().stored_part());
        prop_assert_eq!(presences(&world), before);
    }
}

fn store_moved_reads(world: &mut World) {
    for membership in world.state.take_moved_reads() {
        world.ledger.append(&Event::Saved(Record::Membership(membership)));
    }
}
