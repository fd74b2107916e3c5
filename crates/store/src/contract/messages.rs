//! Messages, threads, keys, and what becomes of them.

use folkmoot_core::ids::{FileId, MessageId};
use folkmoot_core::lookup::{Lookup, LookupExt};
use folkmoot_core::model::{ChannelKind, ContentType, Door, Message, Notification, Reaction, Task, TaskStatus};
use folkmoot_core::record::Filter;
use folkmoot_core::{Event, Record};
use serde_json::value::RawValue;

use super::NewPlace;
use super::fixtures::*;
use crate::{Page, Store};

const ALL: Page = Page { before: None, after: None, offset: 0, limit: 1000, with_replies: true };

pub fn every_field_of_a_message_reads_back(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let plain = hub.message(GENERAL, "plain");
    let full = Message {
        sender: BOB,
        thread: Some(plain.id),
        content: "a \0 zero, “quotes”, 🎉 and\nlines".into(),
        content_type: ContentType::Markdown,
        kind: "system".into(),
        file: Some(FileId(u128::MAX)),
        metadata: Some(RawValue::from_string("{\"b\": [1.0, null], \"a\":\"é\"}".into()).expect("JSON")),
        door: Door::Telegram,
        edited_at: Some(-1),
        edit_count: 3,
        reply_count: 2,
        reactions: vec![Reaction { emoji: "👍".into(), members: vec![ALICE, BOB] }],
        key: Some("Key'\"".into()),
        ..hub.message(GENERAL, "")
    };
    store_all(store.as_mut(), &[sent(&plain), sent(&full)]);
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.message(plain.id), Ok(Some(Message { reply_count: 1, ..plain })));
    assert_eq!(reader.message(full.id), Ok(Some(full)));
    assert_eq!(reader.message(MessageId::NONE), Ok(None));
}

pub fn every_string_survives(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let long = "\u{10ffff}x".repeat(5_000);
    let strings = [
        "",
        "\0",
        "a\0b",
        "\u{1f}'\"\\\\x00%_",
        "\r\n\u{feff}\u{202e}",
        "e\u{301} é 你好 🎉",
        "\u{fffd}\u{e000}",
        &long,
    ];
    let mut kept = Vec::new();
    for (number, string) in strings.iter().enumerate() {
        let said = Message {
            key: Some(format!("{string}{number}")),
            kind: (*string).into(),
            metadata: serde_json::value::to_raw_value(&serde_json::json!({ *string: "\0" })).ok(),
            reactions: vec![Reaction { emoji: (*string).into(), members: vec![BOB] }],
            ..hub.message(GENERAL, string)
        };
        let mut task = hub.task(None, Some(BOB), TaskStatus::Todo);
        task.title = (*string).into();
        let item = hub.notification(BOB, string, false, false);
        store_all(store.as_mut(), &[sent(&said), Event::Saved(task.clone().into()), Event::Saved(item.clone().into())]);
        kept.push((said, task, item));
    }
    drop(store);
    let store = place.open();
    let reader = store.reader().expect("a reader");
    for (said, task, item) in kept {
        assert_eq!(reader.message(said.id), Ok(Some(said.clone())));
        assert_eq!(reader.message_by_key(ALICE, said.key.as_deref().unwrap_or_default()), Ok(Some(said)));
        assert_eq!(reader.get::<Task>(task.id), Ok(Some(task)));
        let named = Filter::owner(BOB).named(item.source_type.clone());
        assert_eq!(reader.list::<Notification>(&named), Ok(vec![item]));
    }
}

pub fn an_edit_replaces_what_was_said_and_nothing_else(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut message = Message { key: Some("k".into()), ..hub.message(GENERAL, "teh") };
    let reply = hub.reply(&message, "the?");
    store_all(store.as_mut(), &[sent(&message), sent(&reply)]);
    // Whoever edits may know an older count of replies; the store's own count stands.
    store_all(store.as_mut(), &[hub.edit(&mut message, "the"), hub.react(&mut message, "👍")]);
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.message(message.id), Ok(Some(Message { reply_count: 1, ..message })));
}

pub fn a_deleted_message_is_kept_without_its_words(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut message = Message { key: Some("k".into()), ..hub.message(GENERAL, "a secret") };
    store_all(store.as_mut(), &[sent(&message)]);
    store_all(store.as_mut(), &[hub.delete(&mut message)]);
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.message(message.id), Ok(Some(message.clone())));
    // A late retry of the send must not bring it back.
    assert_eq!(reader.message_by_key(ALICE, "k"), Ok(Some(message)));
    assert_eq!(reader.messages(GENERAL, ALL), Ok(vec![]));
    assert_eq!(reader.newest_messages(GENERAL, 9), Ok(vec![]));
}

pub fn newest_messages_are_oldest_first_with_replies_and_without_deleted_ones(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let first = hub.message(GENERAL, "1");
    let reply = hub.reply(&first, "2");
    let mut deleted = hub.message(GENERAL, "3");
    let last = hub.message(GENERAL, "4");
    let elsewhere = hub.message(RANDOM, "5");
    store_all(store.as_mut(), &[sent(&first), sent(&reply), sent(&deleted), sent(&last), sent(&elsewhere)]);
    store_all(store.as_mut(), &[hub.delete(&mut deleted)]);
    let reader = store.reader().expect("a reader");
    let first = Message { reply_count: 1, ..first };
    assert_eq!(reader.newest_messages(GENERAL, 2), Ok(vec![reply.clone(), last.clone()]));
    assert_eq!(reader.newest_messages(GENERAL, 9), Ok(vec![first, reply, last]));
    assert_eq!(reader.newest_messages(GENERAL, 0), Ok(vec![]));
}

pub fn newest_replies_leave_out_the_root_and_deleted_ones(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let (root, other) = (hub.message(GENERAL, "root"), hub.message(GENERAL, "other"));
    let mut replies: Vec<_> = (0..4).map(|number| hub.reply(&root, &number.to_string())).collect();
    let stranger = hub.reply(&other, "elsewhere");
    let mut events = vec![sent(&root), sent(&other)];
    events.extend(replies.iter().chain([&stranger]).map(sent));
    store_all(store.as_mut(), &events);
    store_all(store.as_mut(), &[hub.delete(&mut replies[2])]);
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.newest_replies(root.id, 2), Ok(vec![replies[1].clone(), replies[3].clone()]));
    assert_eq!(reader.newest_replies(stranger.id, 2), Ok(vec![]));
}

pub fn a_thread_is_its_root_and_what_hangs_below_oldest_first(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let (root, between) = (hub.message(GENERAL, "root"), hub.message(GENERAL, "between"));
    let mut replies: Vec<_> = (0..3).map(|number| hub.reply(&root, &number.to_string())).collect();
    store_all(store.as_mut(), &[sent(&root), sent(&between)]);
    store_all(store.as_mut(), &replies.iter().map(sent).collect::<Vec<_>>());
    store_all(store.as_mut(), &[hub.delete(&mut replies[1])]);
    let reader = store.reader().expect("a reader");
    let root = Message { reply_count: 2, ..root };
    assert_eq!(reader.thread(root.id, None, 1), Ok(vec![root.clone(), replies[2].clone()]));
    let earlier = Ok(vec![root.clone(), replies[0].clone()]);
    assert_eq!(reader.thread(root.id, Some(replies[2].seq), 1), earlier);
    assert_eq!(reader.thread(root.id, None, 100), Ok(vec![root, replies[0].clone(), replies[2].clone()]));
    assert_eq!(reader.thread(between.id, None, 100), Ok(vec![between]));
    assert_eq!(reader.thread(MessageId(7), None, 100), Ok(vec![]));
}

pub fn a_deleted_root_is_shown_as_long_as_something_hangs_below_it(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut root = hub.message(GENERAL, "root");
    let mut reply = hub.reply(&root, "reply");
    store_all(store.as_mut(), &[sent(&root), sent(&reply), hub.delete(&mut root)]);
    let reader = store.reader().expect("a reader");
    let thread = reader.thread(root.id, None, 100).expect("a thread");
    assert_eq!(thread, vec![Message { reply_count: 1, ..root.clone() }, reply.clone()]);
    assert_eq!((thread[0].content.as_str(), thread[0].deleted), ("", true));
    store_all(store.as_mut(), &[hub.delete(&mut reply)]);
    assert_eq!(reader.thread(root.id, None, 100), Ok(vec![]));
}

pub fn replies_are_counted_as_they_come_and_go(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let root = hub.message(GENERAL, "root");
    let mut replies: Vec<_> = (0..3).map(|number| hub.reply(&root, &number.to_string())).collect();
    store_all(store.as_mut(), &[sent(&root)]);
    let count = |store: &dyn Store| {
        let reader = store.reader().expect("a reader");
        reader.message(root.id).expect("a lookup").expect("the root").reply_count
    };
    for (number, reply) in (1..).zip(&replies) {
        store_all(store.as_mut(), &[sent(reply)]);
        assert_eq!(count(store.as_ref()), number);
    }
    store_all(store.as_mut(), &[hub.delete(&mut replies[0])]);
    assert_eq!(count(store.as_ref()), 2);
}

pub fn the_room_version_is_known_for_every_position(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut first = hub.message(GENERAL, "1"); // seq 1, version 1
    let events = [sent(&first), hub.edit(&mut first, "one"), hub.delete(&mut first)]; // seq 2, 3
    store_all(store.as_mut(), &events);
    let second = hub.message(GENERAL, "2"); // seq 4, version 2
    store_all(store.as_mut(), &[sent(&second)]);
    let reader = store.reader().expect("a reader");
    let versions: Vec<_> = (0..=5).map(|seq| reader.version_at(GENERAL, seq).expect("a version")).collect();
    assert_eq!(versions, [0, 1, 1, 1, 2, 2]);
    assert_eq!(reader.version_at(RANDOM, u64::MAX), Ok(0));
}

pub fn an_idempotency_key_finds_the_message_of_its_sender_only(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let keyed = |message: Message, sender, key: &str| Message { sender, key: Some(key.into()), ..message };
    let alices = keyed(hub.message(GENERAL, "hers"), ALICE, "k1");
    let bobs = keyed(hub.message(RANDOM, "his"), BOB, "k1");
    store_all(store.as_mut(), &[sent(&alices), sent(&bobs), sent(&hub.message(GENERAL, "no key"))]);
    for _ in 0..2 {
        let reader = store.reader().expect("a reader");
        let transaction = store.begin().expect("a transaction");
        for lookup in [&*reader as &dyn Lookup, &*transaction] {
            assert_eq!(lookup.message_by_key(ALICE, "k1"), Ok(Some(alices.clone())));
            assert_eq!(lookup.message_by_key(BOB, "k1"), Ok(Some(bobs.clone())));
            assert_eq!(lookup.message_by_key(ALICE, "K1"), Ok(None));
            assert_eq!(lookup.message_by_key(ALICE, ""), Ok(None));
        }
        drop((transaction, reader));
        drop(store);
        store = place.open();
    }
}

pub fn keys_are_found_however_many_there_are(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut batch = |count: usize| -> Vec<_> {
        let key = |message: Message| Message { key: Some(message.id.to_string()), ..message };
        (0..count).map(|_| key(hub.message(GENERAL, ""))).collect()
    };
    let mut messages = Vec::new();
    for _ in 0..50 {
        let batch = batch(1000);
        store_all(store.as_mut(), &batch.iter().map(sent).collect::<Vec<_>>());
        messages.extend(batch);
    }
    for opened in 0..2 {
        let transaction = store.begin().expect("a transaction");
        for message in messages.iter().step_by(331) {
            let key = message.key.as_deref().expect("a key");
            let found = transaction.message_by_key(ALICE, key).expect("a lookup");
            assert_eq!(found.map(|found| found.id), Some(message.id), "after {opened} restarts");
            assert_eq!(transaction.message_by_key(BOB, key), Ok(None));
        }
        drop(transaction);
        drop(store);
        store = place.open();
    }
}

pub fn a_removed_channel_is_gone_at_once_and_for_good(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let (doomed, kept) = (hub.channel(WORKSPACE, ChannelKind::Channel), hub.channel(WORKSPACE, ChannelKind::Channel));
    let key = |message: Message, key: &str| Message { key: Some(key.into()), ..message };
    let mut root = key(hub.message(doomed.id, "words"), "k1");
    let reply = key(hub.reply(&root, "more words"), "k2");
    let other = key(hub.message(kept.id, "words"), "k3");
    let saved = [&doomed, &kept].map(|channel| Event::Saved(Record::Channel(channel.clone())));
    store_all(store.as_mut(), &saved);
    store_all(store.as_mut(), &[sent(&root), sent(&reply), sent(&other), hub.edit(&mut root, "other words")]);
    catch_up(store.as_mut());
    // More of it that no index has seen yet.
    store_all(store.as_mut(), &[sent(&hub.message(doomed.id, "new words")), hub.react(&mut root, "👍")]);
    store_all(store.as_mut(), &[Event::Removed(Record::Channel(doomed.clone()))]);

    for step in ["at once", "after catching up", "after opening again"] {
        let reader = store.reader().expect("a reader");
        let both = [doomed.id, kept.id];
        assert_eq!(reader.message(root.id), Ok(None), "{step}");
        assert_eq!(reader.message_by_key(ALICE, "k1"), Ok(None), "{step}");
        assert_eq!(reader.messages(doomed.id, ALL), Ok(vec![]), "{step}");
        assert_eq!(reader.newest_messages(doomed.id, 9), Ok(vec![]), "{step}");
        assert_eq!(reader.newest_replies(root.id, 9), Ok(vec![]), "{step}");
        assert_eq!(reader.thread(root.id, None, 100), Ok(vec![]), "{step}");
        assert!(reader.replay(doomed.id, 0, 9).expect("a replay").is_empty(), "{step}");
        assert_eq!(reader.search("words", &both, 9), Ok(vec![other.clone()]), "{step}");
        assert_eq!(reader.message_count(), Ok(1), "{step}");
        assert_eq!(reader.message_by_key(ALICE, "k3"), Ok(Some(other.clone())), "{step}");
        let transaction = store.begin().expect("a transaction");
        assert_eq!(transaction.message_by_key(ALICE, "k2"), Ok(None), "{step}");
        drop(transaction);
        drop(reader);
        match step {
            "at once" => catch_up(store.as_mut()),
            _ => {
                drop(store);
                store = place.open();
            }
        }
    }
    // Its key is free again, and a new message under it is found, not mistaken for the old one.
    let again = key(hub.message(kept.id, "again"), "k1");
    store_all(store.as_mut(), &[sent(&again)]);
    catch_up(store.as_mut());
    let reader = store.reader().expect("a reader");
    assert_eq!(reader.message_by_key(ALICE, "k1"), Ok(Some(again.clone())));
    assert_eq!(reader.search("again", &[kept.id], 9), Ok(vec![again]));
}

pub fn messages_are_counted_without_the_deleted_ones(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut messages: Vec<_> = (0..10).map(|number| hub.message(GENERAL, &number.to_string())).collect();
    let assert_count = |store: &dyn Store, expected: u64| {
        assert_eq!(store.reader().expect("a reader").message_count(), Ok(expected));
    };
    assert_count(store.as_ref(), 0);
    store_all(store.as_mut(), &messages.iter().map(sent).collect::<Vec<_>>());
    assert_count(store.as_ref(), 10);
    store_all(store.as_mut(), &[hub.delete(&mut messages[0])]);
    assert_count(store.as_ref(), 9);
    catch_up(store.as_mut());
    assert_count(store.as_ref(), 9);
    store_all(store.as_mut(), &[hub.delete(&mut messages[1]), hub.edit(&mut messages[2], "two")]);
    assert_count(store.as_ref(), 8);
    store_all(store.as_mut(), &[sent(&hub.message(RANDOM, "elsewhere"))]);
    assert_count(store.as_ref(), 9);
    catch_up(store.as_mut());
    assert_count(store.as_ref(), 9);
}
