//! Records and the filters that find them, against a model in memory.

use std::collections::BTreeMap;

use folkmoot_core::ids::{ChannelId, MemberId};
use folkmoot_core::model::{Approval, TaskStatus};
use folkmoot_core::record::{ACKED, CLOSED, Filter, NEW, OPEN, SEEN};
use folkmoot_core::{Event, Record, RecordKind};
use proptest::prelude::*;

use super::fixtures::*;
use super::{NewPlace, cases};

pub fn a_record_of_every_kind_reads_back(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let records = hub.one_of_each();
    for kind in RecordKind::ALL {
        assert!(records.iter().any(|record| record.kind() == *kind), "there is a {kind:?} to store");
    }
    store_all(store.as_mut(), &records.iter().cloned().map(Event::Saved).collect::<Vec<_>>());
    let reader = store.reader().expect("a reader");
    for record in records {
        assert_eq!(reader.record(record.kind(), record.id()), Ok(Some(record.clone())));
        assert_eq!(reader.records(record.kind(), &Filter { limit: 9, ..Filter::default() }), Ok(vec![record]));
    }
    assert_eq!(reader.record(RecordKind::Task, 0), Ok(None));
}

pub fn saving_again_replaces_also_the_keys(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut task = hub.task(Some(GENERAL), Some(ALICE), TaskStatus::Todo);
    store_all(store.as_mut(), &[Event::Saved(task.clone().into())]);
    task.assigned_to = Some(BOB);
    task.channel = None;
    task.status = TaskStatus::Done;
    store_all(store.as_mut(), &[Event::Saved(task.into())]);
    let reader = store.reader().expect("a reader");
    let found = |filter: &Filter| reader.records(RecordKind::Task, filter).expect("a list").len();
    assert_eq!(found(&Filter::owner(ALICE)), 0);
    assert_eq!(found(&Filter::scope(GENERAL.0)), 0);
    assert_eq!(found(&Filter::owner(BOB).states(&[OPEN])), 0);
    assert_eq!(found(&Filter::owner(BOB).states(&[CLOSED])), 1);
    assert_eq!(found(&Filter::workspace(WORKSPACE)), 1);
}

/// A step in the life of the records; small numbers, so that they meet.
#[derive(Clone, Debug)]
enum Step {
    Save(Shape),
    Change(usize, Shape),
    Remove(usize),
}

/// Which record to make, and with which keys.
type Shape = (u8, u8, u8, u8);

fn step() -> impl Strategy<Value = Step> {
    let shape = || (0_u8..5, 0_u8..3, 0_u8..3, 0_u8..4);
    prop_oneof![
        6 => shape().prop_map(Step::Save),
        2 => (any::<usize>(), shape()).prop_map(|(which, shape)| Step::Change(which, shape)),
        1 => any::<usize>().prop_map(Step::Remove),
    ]
}

fn make(hub: &mut Hub, (kind, scope, owner, state): Shape) -> Record {
    let channel = (scope > 0).then_some(ChannelId(u128::from(scope)));
    let member = MemberId(u128::from(owner));
    match kind {
        0 => {
            let status = [TaskStatus::Todo, TaskStatus::InProgress, TaskStatus::Review, TaskStatus::Done];
            hub.task(channel, (owner > 0).then_some(member), status[usize::from(state)]).into()
        }
        1 => hub.notification(member, ["message", "task"][usize::from(scope % 2)], state & 1 > 0, state & 2 > 0).into(),
        2 => hub.memory(member, ["a", "b", "A"][usize::from(scope)], ["k", "K", "", "k "][usize::from(state)]).into(),
        3 => hub.membership(ChannelId(u128::from(scope)), member).into(),
        _ => {
            let records = hub.one_of_each();
            let approval = records.into_iter().find_map(|record| match record {
                Record::Approval(approval) => Some(approval),
                _ => None,
            });
            Approval { channel, agent: member, ..approval.expect("an approval") }.into()
        }
    }
}

/// The record of the same kind with other keys, under the old id.
fn changed(old: &Record, new: Record) -> Record {
    match (old, new) {
        (Record::Task(old), Record::Task(mut new)) => {
            new.id = old.id;
            new.into()
        }
        (Record::Notification(old), Record::Notification(mut new)) => {
            new.id = old.id;
            new.into()
        }
        (old, _) => old.clone(),
    }
}

fn filter() -> impl Strategy<Value = (RecordKind, Filter)> {
    const STATES: [&[&str]; 7] = [&[], &[], &[OPEN], &[NEW, SEEN], &[ACKED], &[CLOSED, OPEN, NEW], &[""]];
    let kind = prop_oneof![
        Just(RecordKind::Task),
        Just(RecordKind::Notification),
        Just(RecordKind::Memory),
        Just(RecordKind::Membership),
        Just(RecordKind::Approval),
    ];
    const NAMES: [&str; 5] = ["message", "task", "a\u{1f}k", "A\u{1f}K", "b\u{1f}"];
    let name = proptest::option::weighted(0.3, proptest::sample::select(&NAMES[..]));
    let some_id = || proptest::option::weighted(0.4, 0_u128..4);
    let workspace = proptest::option::weighted(0.3, prop_oneof![3 => Just(WORKSPACE.0), 1 => Just(1)]);
    let limit = prop_oneof![0_usize..6, Just(usize::MAX)];
    (kind, workspace, some_id(), some_id(), name, proptest::sample::select(&STATES[..]), limit, any::<bool>()).prop_map(
        |(kind, workspace, scope, owner, name, states, limit, oldest_first)| {
            let name = name.map(str::to_owned);
            (kind, Filter { workspace, scope, owner, name, states, before: None, limit, oldest_first })
        },
    )
}

pub fn a_filter_means_what_it_says(new_place: NewPlace) {
    let steps = proptest::collection::vec(step(), 0..60);
    let filters = proptest::collection::vec((filter(), proptest::option::weighted(0.3, any::<usize>())), 40);
    proptest!(cases(48), |(steps in steps, filters in filters)| {
        let (place, mut hub) = (new_place(), Hub::new());
        let mut store = place.open();
        let (model, events) = live(&mut hub, &steps);
        store_all(store.as_mut(), &events);
        let reader = store.reader().expect("a reader");
        for ((kind, mut filter), before) in filters {
            filter.before = before.and_then(|which| model.keys().nth(which % model.len().max(1))).map(|(id, _)| *id);
            let expected = matching(&model, kind, &filter);
            prop_assert_eq!(reader.count(kind, &filter), Ok(expected.len() as u64), "{:?}", &filter);
            let listed: Vec<_> = expected.into_iter().take(filter.limit).collect();
            prop_assert_eq!(reader.records(kind, &filter), Ok(listed), "{:?}", filter);
        }
    });
}

type Model = BTreeMap<(u128, RecordKind), Record>;

fn live(hub: &mut Hub, steps: &[Step]) -> (Model, Vec<Event>) {
    let (mut model, mut events) = (Model::new(), Vec::new());
    for step in steps {
        let pick = |which: usize, model: &Model| model.values().nth(which % model.len().max(1)).cloned();
        let event = match step {
            Step::Save(shape) => Some(Event::Saved(make(hub, *shape))),
            Step::Change(which, shape) => {
                pick(*which, &model).map(|old| Event::Saved(changed(&old, make(hub, *shape))))
            }
            Step::Remove(which) => pick(*which, &model).map(Event::Removed),
        };
        match &event {
            Some(Event::Saved(record)) => drop(model.insert((record.id(), record.kind()), record.clone())),
            Some(Event::Removed(record)) => drop(model.remove(&(record.id(), record.kind()))),
            _ => {}
        }
        events.extend(event);
    }
    (model, events)
}

/// What a list without a limit should hold.
fn matching(model: &Model, kind: RecordKind, filter: &Filter) -> Vec<Record> {
    let fits = |record: &&Record| {
        record.kind() == kind && filter.matches(record) && filter.before.is_none_or(|before| record.id() < before)
    };
    let mut found: Vec<_> = model.values().filter(fits).cloned().collect();
    if !filter.oldest_first {
        found.reverse();
    }
    found
}

pub fn a_limit_of_none_finds_nothing_and_a_huge_one_everything(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let saved: Vec<_> = (0..3).map(|_| Event::Saved(hub.membership(GENERAL, BOB).into())).collect();
    store_all(store.as_mut(), &saved);
    let reader = store.reader().expect("a reader");
    let found = |limit| reader.records(RecordKind::Membership, &Filter::owner(BOB).limit(limit)).expect("a list").len();
    assert_eq!((found(0), found(2), found(usize::MAX)), (0, 2, 3));
    assert_eq!(reader.count(RecordKind::Membership, &Filter::owner(BOB).limit(0)), Ok(3), "a count has no limit");
}
