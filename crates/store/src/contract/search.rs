//! Finding messages by their words.

use folkmoot_core::ids::{ChannelId, MessageId};

use super::fixtures::*;
use super::{NewPlace, Place};
use crate::Store;

/// A store that has taken in some messages of one channel.
struct Holding {
    store: Box<dyn Store>,
    ids: Vec<MessageId>,
    _place: Box<dyn Place>,
}

fn holding(new_place: NewPlace, texts: &[&str]) -> Holding {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let messages: Vec<_> = texts.iter().map(|text| hub.message(GENERAL, text)).collect();
    store_all(store.as_mut(), &messages.iter().map(sent).collect::<Vec<_>>());
    catch_up(store.as_mut());
    Holding { store, ids: messages.iter().map(|message| message.id).collect(), _place: place }
}

fn found(store: &dyn Store, words: &str) -> Vec<MessageId> {
    found_in(store, words, &[GENERAL])
}

fn found_in(store: &dyn Store, words: &str, channels: &[ChannelId]) -> Vec<MessageId> {
    let reader = store.reader().expect("a reader");
    let messages = reader.search(words, channels, 100).expect("a search");
    messages.iter().map(|message| message.id).collect()
}

pub fn all_words_must_be_there_and_nothing_else_matters(new_place: NewPlace) {
    let Holding { store, ids, .. } = &holding(new_place, &["the quick brown fox", "the slow brown bear", "quickly"]);
    assert_eq!(found(store.as_ref(), "fox brown"), [ids[0]]);
    assert_eq!(found(store.as_ref(), "  brown\tthe\n"), [ids[1], ids[0]]);
    assert_eq!(found(store.as_ref(), "brown brown"), [ids[1], ids[0]]);
    assert_eq!(found(store.as_ref(), "fox bear"), []);
    assert_eq!(found(store.as_ref(), "quick"), [ids[0]], "a part of a word is not the word");
    assert_eq!(found(store.as_ref(), "fox ! -"), [ids[0]], "what is no word is not looked for");
}

pub fn beginnings_find_whole_words_at_least(new_place: NewPlace) {
    let Holding { store, ids, .. } = &holding(new_place, &["the quick fox", "so quaint"]);
    let reader = store.reader().expect("a reader");
    for words in ["quick", "quick fox"] {
        let messages = reader.search_beginnings(words, &[GENERAL], 10).expect("a search");
        assert_eq!(messages.iter().map(|message| message.id).collect::<Vec<_>>(), [ids[0]], "{words}");
    }
    assert_eq!(reader.search_beginnings("quick", &[], 10), Ok(vec![]));
}

pub fn the_newest_come_first(new_place: NewPlace) {
    let Holding { store, ids, .. } = &holding(new_place, &["hall", "hall", "other", "hall"]);
    let reader = store.reader().expect("a reader");
    let two = reader.search("hall", &[GENERAL], 2).expect("a search");
    assert_eq!(two.iter().map(|message| message.id).collect::<Vec<_>>(), [ids[3], ids[1]]);
    assert_eq!(reader.search("hall", &[GENERAL], 0), Ok(vec![]));
}

pub fn only_the_given_channels_are_searched(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let (open, private) = (hub.message(GENERAL, "the plan"), hub.message(RANDOM, "the secret plan"));
    store_all(store.as_mut(), &[sent(&open), sent(&private)]);
    catch_up(store.as_mut());
    let store = store.as_ref();
    assert_eq!(found_in(store, "plan", &[GENERAL]), [open.id]);
    assert_eq!(found_in(store, "plan", &[RANDOM]), [private.id]);
    assert_eq!(found_in(store, "plan", &[RANDOM, GENERAL, RANDOM]), [private.id, open.id]);
    assert_eq!(found_in(store, "secret", &[GENERAL]), []);
    assert_eq!(found_in(store, "plan", &[]), []);
    // Whatever a store adds to its index to tell channels apart, it is not a word that somebody said.
    for name in [RANDOM.to_string(), format!("{:032x}", RANDOM.0), RANDOM.0.to_string()] {
        assert_eq!(found_in(store, &name, &[GENERAL, RANDOM]), []);
    }
}

pub fn case_and_accents_do_not_matter(new_place: NewPlace) {
    let Holding { store, ids, .. } = &holding(new_place, &["Ça va, FRANÇOIS?", "Übermut"]);
    assert_eq!(found(store.as_ref(), "françois ca"), [ids[0]]);
    assert_eq!(found(store.as_ref(), "ubermut"), [ids[1]]);
}

pub fn no_input_is_syntax(new_place: NewPlace) {
    let said = "AND OR NOT NEAR say \"hello world\" a* col:umn (x) ^caret -minus {b} it's 100% _under";
    let Holding { store, ids, .. } = &holding(new_place, &[said, "unrelated"]);
    let queries = [
        "AND",
        "OR NOT",
        "NEAR",
        "\"hello",
        "world\"",
        "\"hello world\"",
        "\"\"hello\"\"",
        "a*",
        "col:umn",
        "content:hello",
        "channel:hello",
        "(x)",
        "^caret",
        "-minus",
        "{b}",
        "it's",
        "100%",
        "_under",
        "hello AND world",
        "x)",
        "NEAR(x y)",
        "\0hello",
        "he\0llo",
        "\"",
        "*",
        "'",
        "hello\\",
        ";--",
        "hello + world",
        "{content}:hello",
        "\u{feff}hello",
    ];
    for query in queries {
        // What it finds is a question of words; that it answers, and with nothing unrelated, is the rule.
        assert!(!found(store.as_ref(), query).contains(&ids[1]), "{query}");
    }
    for query in
        ["AND", "OR NOT", "\"hello world\"", "(x)", "-minus", "col:umn", "a*", "it's", "\"hello", "hello\0world"]
    {
        assert_eq!(found(store.as_ref(), query), [ids[0]], "{query}");
    }
    for query in ["hello OR unrelated", "NOT unrelated", "hello* unrel*", "unrel*", "content:hello"] {
        assert_eq!(found(store.as_ref(), query), [], "{query}");
    }
    let many = (0..5000).map(|number| format!("word{number} ")).collect::<String>();
    assert_eq!(found(store.as_ref(), &many), []);
}

pub fn words_that_stand_side_by_side_are_told_from_others(new_place: NewPlace) {
    let Holding { store, ids, .. } = &holding(new_place, &["one two three", "three, two: one", "two-three one"]);
    assert_eq!(found(store.as_ref(), "two:three"), [ids[2], ids[0]]);
    assert_eq!(found(store.as_ref(), "three/two/one"), [ids[1]]);
    assert_eq!(found(store.as_ref(), "one two"), [ids[2], ids[1], ids[0]]);
    assert_eq!(found(store.as_ref(), "one-three"), []);
}

pub fn words_of_other_scripts_are_found(new_place: NewPlace) {
    let Holding { store, ids, .. } =
        &holding(new_place, &["Привет, мир!", "你好世界。再见", "γειά σου Κόσμε", "🎉 party 🎉"]);
    assert_eq!(found(store.as_ref(), "мир"), [ids[0]]);
    assert_eq!(found(store.as_ref(), "世界"), [ids[1]], "a word in a sentence without spaces");
    assert_eq!(found(store.as_ref(), "再见 你好"), [ids[1]]);
    assert_eq!(found(store.as_ref(), "界世"), []);
    assert_eq!(found(store.as_ref(), "ΚΌΣΜΕ"), [ids[2]]);
    assert_eq!(found(store.as_ref(), "🎉 party"), [ids[3]]);
}

pub fn nothing_is_found_by_nothing(new_place: NewPlace) {
    let Holding { store, .. } = &holding(new_place, &["something", ""]);
    for query in ["", "   ", "\t\n", "\0", "…", "\"\"", "-"] {
        assert_eq!(found(store.as_ref(), query), [], "{query:?}");
    }
}

pub fn an_edited_message_is_found_by_its_new_words_only(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut message = hub.message(GENERAL, "at noon");
    store_all(store.as_mut(), &[sent(&message)]);
    catch_up(store.as_mut());
    store_all(store.as_mut(), &[hub.edit(&mut message, "at dusk"), hub.react(&mut message, "👍")]);
    catch_up(store.as_mut());
    assert_eq!(found(store.as_ref(), "noon"), []);
    assert_eq!(found(store.as_ref(), "dusk"), [message.id]);
}

pub fn a_deleted_message_is_not_found_even_before_catching_up(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let mut message = hub.message(GENERAL, "regret");
    store_all(store.as_mut(), &[sent(&message)]);
    catch_up(store.as_mut());
    assert_eq!(found(store.as_ref(), "regret"), [message.id]);
    store_all(store.as_mut(), &[hub.delete(&mut message)]);
    assert_eq!(found(store.as_ref(), "regret"), []);
    catch_up(store.as_mut());
    assert_eq!(found(store.as_ref(), "regret"), []);
}

pub fn a_message_changed_before_it_was_taken_in_is_found_as_it_is_now(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let (mut edited, mut deleted) = (hub.message(GENERAL, "one two"), hub.message(GENERAL, "two three"));
    store_all(store.as_mut(), &[sent(&edited), sent(&deleted)]);
    store_all(store.as_mut(), &[hub.edit(&mut edited, "one four"), hub.delete(&mut deleted)]);
    catch_up(store.as_mut());
    assert_eq!(found(store.as_ref(), "one"), [edited.id]);
    assert_eq!(found(store.as_ref(), "two"), []);
    assert_eq!(found(store.as_ref(), "four"), [edited.id]);
}

pub fn words_said_often_elsewhere_are_still_found_here(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    let here: Vec<_> = (0..150).map(|number| hub.message(ChannelId(1000 + number % 75), "common word")).collect();
    let elsewhere: Vec<_> = (0..6000).map(|_| hub.message(RANDOM, "common word")).collect();
    store_all(store.as_mut(), &here.iter().chain(&elsewhere).map(sent).collect::<Vec<_>>());
    while store.catch_up(5000).expect("catching up works") {}
    let channels: Vec<_> = (0..300).map(|number| ChannelId(900 + number)).collect();
    let newest_first: Vec<_> = here.iter().rev().map(|message| message.id).collect();
    assert_eq!(found_in(store.as_ref(), "word common", &channels), newest_first[..100]);
    assert_eq!(found_in(store.as_ref(), "common", &[ChannelId(1074)]), [here[149].id, here[74].id]);
    assert_eq!(found_in(store.as_ref(), "common", &[ChannelId(5)]), []);
}

pub fn catching_up_goes_in_steps_and_comes_to_an_end(new_place: NewPlace) {
    let (place, mut hub) = (new_place(), Hub::new());
    let mut store = place.open();
    assert_eq!(store.catch_up(10).ok(), Some(false), "there is nothing to do yet");
    let messages: Vec<_> = (0..25).map(|_| hub.message(GENERAL, "step")).collect();
    store_all(store.as_mut(), &messages.iter().map(sent).collect::<Vec<_>>());
    let mut found_so_far = 0;
    let mut steps = 0;
    while store.catch_up(10).expect("catching up works") {
        steps += 1;
        let now = found(store.as_ref(), "step").len();
        assert!(now > found_so_far && now - found_so_far <= 10, "a step does its share and no more");
        found_so_far = now;
    }
    assert_eq!((steps, found(store.as_ref(), "step").len()), (2, 25));
    // And what was taken in before a restart is not forgotten, nor taken in twice.
    drop(store);
    let mut store = place.open();
    assert_eq!(store.catch_up(10).ok(), Some(false));
    assert_eq!(found(store.as_ref(), "step").len(), 25);
}
