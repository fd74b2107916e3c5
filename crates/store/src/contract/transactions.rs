//! All of a transaction or nothing of it.

use folkmoot_core::ids::MemberId;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Message, Presence, Task, TaskStatus};
use folkmoot_core::record::Filter;
use folkmoot_core::{Event, Record, RecordKind};

use super::NewPlace;
use super::fixtures::*;
use crate::Replay;

pub fn what_was_committed_is_there_after_opening_again(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut message = Message { key: Some("once".into()), ..hub.message(GENERAL, "Hear, hear") };
    let task = hub.task(None, Some(BOB), TaskStatus::Todo);
    let mut store = place.open();
    store_all(store.as_mut(), &[sent(&message), Event::Saved(task.clone().into())]);
    store_all(store.as_mut(), &[hub.edit(&mut message, "Hear, hear!")]);
    drop(store);

    let store = place.open();
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.message(message.id), Ok(Some(message.clone())));
    assert_eq!(reader.message_by_key(ALICE, "once"), Ok(Some(message.clone())));
    assert_eq!(reader.get::<Task>(task.id), Ok(Some(task)));
    assert_eq!(reader.count(RecordKind::Edit, &Filter::scope(message.id.0)), Ok(1));
    assert!(matches!(&reader.replay(GENERAL, 1, 10).expect("a replay")[..], [Replay::Change(..)]));
}

pub fn what_was_not_committed_is_gone(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let message = Message { key: Some("once".into()), ..hub.message(GENERAL, "Nothing") };
    let task = hub.task(None, None, TaskStatus::Todo);
    let mut store = place.open();
    let mut transaction = store.begin().expect("a transaction");
    for event in [sent(&message), Event::Saved(task.clone().into())] {
        transaction.append(&event).expect("an append");
    }
    drop(transaction);

    let transaction = store.begin().expect("a transaction");
    assert_eq!(transaction.message(message.id), Ok(None));
    assert_eq!(transaction.message_by_key(ALICE, "once"), Ok(None));
    assert_eq!(transaction.record(RecordKind::Task, task.id.0), Ok(None));
    drop(transaction);
    // The same can be stored now, as if it had never been tried.
    store_all(store.as_mut(), &[sent(&message), Event::Saved(task.into())]);
}

pub fn an_attempt_to_write_changes_nothing(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let message = hub.message(GENERAL, "Hear, hear");
    let mut store = place.open();
    store_all(store.as_mut(), &[sent(&message)]);
    store.try_writing().expect("room");
    drop(store);
    let store = place.open();
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.message(message.id), Ok(Some(message)));
    assert_eq!(reader.message_count(), Ok(1));
}

pub fn lookups_in_a_transaction_see_what_was_appended_before(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let message = Message { key: Some("once".into()), ..hub.message(GENERAL, "First") };
    let reply = hub.reply(&message, "Second");
    let task = hub.task(None, Some(BOB), TaskStatus::Todo);
    let mut transaction = store.begin().expect("a transaction");
    for event in [sent(&message), sent(&reply), Event::Saved(task.clone().into())] {
        transaction.append(&event).expect("an append");
    }
    let message = Message { reply_count: 1, ..message };
    assert_eq!(transaction.message(message.id), Ok(Some(message.clone())));
    assert_eq!(transaction.message_by_key(ALICE, "once"), Ok(Some(message.clone())));
    assert_eq!(transaction.newest_messages(GENERAL, 5), Ok(vec![message.clone(), reply.clone()]));
    assert_eq!(transaction.newest_replies(message.id, 5), Ok(vec![reply]));
    assert_eq!(transaction.version_at(GENERAL, 2), Ok(2));
    assert_eq!(transaction.list::<Task>(&Filter::owner(BOB)), Ok(vec![task.clone()]));
    transaction.append(&Event::Removed(task.clone().into())).expect("an append");
    assert_eq!(transaction.get::<Task>(task.id), Ok(None));
}

pub fn readers_see_a_transaction_when_it_is_committed_and_not_before(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let reader = store.reader().expect("a reader");
    let message = Message { key: Some("once".into()), ..hub.message(GENERAL, "Soon") };
    let mut transaction = store.begin().expect("a transaction");
    transaction.append(&sent(&message)).expect("an append");
    assert_eq!(reader.message(message.id), Ok(None));
    assert_eq!(reader.message_by_key(ALICE, "once"), Ok(None));
    transaction.commit().expect("a commit");
    assert_eq!(reader.message(message.id), Ok(Some(message.clone())));
    assert_eq!(reader.message_by_key(ALICE, "once"), Ok(Some(message)));
}

pub fn a_message_is_stored_once(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let message = hub.message(GENERAL, "Once");
    store_all(store.as_mut(), &[sent(&message)]);
    let again = Message { seq: 2, version: 2, ..message.clone() };
    assert!(try_to_store(store.as_mut(), &[sent(&again)]).is_err());
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.newest_messages(GENERAL, 5), Ok(vec![message]));
}

pub fn a_position_is_given_out_once(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let (first, mut second) = (hub.message(GENERAL, "First"), hub.message(GENERAL, "Second"));
    second.seq = first.seq;
    store_all(store.as_mut(), &[sent(&first)]);
    assert!(try_to_store(store.as_mut(), &[sent(&second)]).is_err());
}

pub fn an_event_that_fails_takes_its_transaction_with_it(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let (first, second) = (hub.message(GENERAL, "First"), hub.message(GENERAL, "Second"));
    store_all(store.as_mut(), &[sent(&first)]);

    let mut transaction = store.begin().expect("a transaction");
    transaction.append(&sent(&second)).expect("an append");
    assert!(transaction.append(&sent(&first)).is_err());
    assert!(transaction.commit().is_err(), "half of what was asked for must not be committed");
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.newest_messages(GENERAL, 5), Ok(vec![first]));
}

pub fn the_store_goes_on_after_a_failed_transaction(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let (first, second) = (hub.message(GENERAL, "First"), hub.message(GENERAL, "Second"));
    store_all(store.as_mut(), &[sent(&first)]);
    assert!(try_to_store(store.as_mut(), &[sent(&first)]).is_err());
    store_all(store.as_mut(), &[sent(&second)]);
    let transaction = store.begin().expect("a transaction");
    assert_eq!(transaction.newest_messages(GENERAL, 5), Ok(vec![first, second]));
}

pub fn passing_events_leave_nothing_behind(new_place: NewPlace) {
    let place = new_place();
    let mut store = place.open();
    let typing = Event::Typing { channel: GENERAL, member: ALICE, on: true, color: None };
    let presence = Event::PresenceChanged { member: MemberId(1), workspace: WORKSPACE, presence: Presence::Idle };
    store_all(store.as_mut(), &[typing, presence]);
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.message_count(), Ok(0));
    for kind in RecordKind::ALL {
        assert_eq!(reader.records(*kind, &Filter { limit: 9, ..Filter::default() }), Ok(Vec::<Record>::new()));
    }
}
