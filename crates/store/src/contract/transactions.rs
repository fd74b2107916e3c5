//! All of a transaction or nothing of it.

use folkmoot_core::ids::MemberId;
use folkmoot_core::lookup::{LookupExt, Want};
use folkmoot_core::model::{Message, Presence, Task, TaskStatus};
use folkmoot_core::record::Filter;
use folkmoot_core::{Event, Record, RecordKind};

use super::NewPlace;
use super::fixtures::*;
use crate::{Replay, Transaction};

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

pub fn lookups_see_changes_of_what_was_stored_and_of_what_was_foreseen(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut said = Message { key: Some("once".into()), ..hub.message(GENERAL, "First") };
    let (elsewhere, task) = (hub.message(RANDOM, "Elsewhere"), hub.task(None, Some(BOB), TaskStatus::Todo));
    store_all(store.as_mut(), &[sent(&said), sent(&elsewhere), Event::Saved(task.clone().into())]);
    let wants =
        [Want::Message(said.id), Want::Key { sender: ALICE, key: "once".into() }, Want::stored::<Task>(task.id)];
    for foreseen in [&wants[..], &[]] {
        let mut transaction = store.begin().expect("a transaction");
        transaction.foresee(foreseen).expect("foresight");
        let (edited, reply) = (hub.edit(&mut said, "Second"), hub.reply(&said, "A reply"));
        let done = Task { title: "Swept".into(), ..task.clone() };
        for event in [edited, sent(&reply), Event::Saved(done.clone().into())] {
            transaction.append(&event).expect("an append");
        }
        said.reply_count += 1;
        assert_eq!(transaction.message(said.id), Ok(Some(said.clone())));
        assert_eq!(transaction.message_by_key(ALICE, "once"), Ok(Some(said.clone())));
        assert_eq!(transaction.newest_messages(RANDOM, 5), Ok(vec![elsewhere.clone()]));
        assert_eq!(transaction.newest_messages(GENERAL, 5).map(|all| all.last().cloned()), Ok(Some(reply)));
        assert_eq!(transaction.get::<Task>(task.id), Ok(Some(done.clone())));
        assert_eq!(transaction.list::<Task>(&Filter::owner(BOB)), Ok(vec![done]));
        transaction.commit().expect("a commit");
        let reader = store.reader().expect("a reader");
        assert_eq!(reader.message(said.id), Ok(Some(said.clone())));
    }
}

pub fn what_was_foreseen_is_what_would_have_been_looked_up(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let root = Message { key: Some("root".into()), ..hub.message(GENERAL, "Root") };
    let (reply, pins) = (hub.reply(&root, "Reply"), [0, 1].map(|_| hub.a_pin(GENERAL, root.id)));
    store_all(store.as_mut(), &[sent(&root), sent(&reply)]);
    store_all(store.as_mut(), &pins.clone().map(|pin| Event::Saved(pin.into())));
    let root = Message { reply_count: 1, ..root };
    let key = |key: &str| Want::Key { sender: ALICE, key: key.into() };
    let (scope, kind) = (GENERAL.0, RecordKind::Pin);
    let wants = [
        Want::Thread(reply.id),
        Want::Message(folkmoot_core::ids::MessageId(7)),
        key("root"),
        key("none"),
        key("root"),
        Want::Record { kind, id: pins[0].id.0 },
        Want::Record { kind, id: 7 },
        Want::Scope { kind, scope },
        Want::Scope { kind, scope: 7 },
    ];
    let look = |transaction: &dyn Transaction| {
        assert_eq!(transaction.message(reply.id), Ok(Some(reply.clone())));
        assert_eq!(transaction.message(root.id), Ok(Some(root.clone())));
        assert_eq!(transaction.message(folkmoot_core::ids::MessageId(7)), Ok(None));
        assert_eq!(transaction.message_by_key(ALICE, "root"), Ok(Some(root.clone())));
        assert_eq!(transaction.message_by_key(ALICE, "none"), Ok(None));
        assert_eq!(transaction.record(kind, pins[0].id.0), Ok(Some(pins[0].clone().into())));
        assert_eq!(transaction.record(kind, 7), Ok(None));
        let newest_first = pins.iter().rev().map(|pin| Record::from(pin.clone())).collect::<Vec<_>>();
        assert_eq!(transaction.records(kind, &Filter::scope(scope)), Ok(newest_first.clone()));
        assert_eq!(transaction.records(kind, &Filter::scope(scope).limit(1)), Ok(newest_first[..1].to_vec()));
        assert_eq!(transaction.records(kind, &Filter::scope(7)), Ok(vec![]));
    };
    let mut transaction = store.begin().expect("a transaction");
    look(transaction.as_ref());
    transaction.foresee(&wants).expect("foresight");
    look(transaction.as_ref());
    drop(transaction);
    let mut transaction = store.begin().expect("a transaction");
    transaction.foresee(&wants).expect("foresight");
    look(transaction.as_ref());
    transaction.append(&Event::Removed(pins[1].clone().into())).expect("an append");
    assert_eq!(transaction.records(kind, &Filter::scope(scope)), Ok(vec![pins[0].clone().into()]));
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
    // Whether it is noticed now or at the commit is the store's own business.
    let _ = transaction.append(&sent(&first));
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
