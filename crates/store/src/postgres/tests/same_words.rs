//! The same words find the same messages on every backend.

use folkmoot_core::ids::MessageId;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::{is_there, new_database, open};
use crate::Store;
use crate::contract::fixtures::*;

/// A few words in many disguises, so that some texts share some of them.
fn piece() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "hall",
        "HALL",
        "Hällo",
        "ha\u{308}llo",
        "é",
        "e\u{301}",
        "ß",
        "SS",
        "İ",
        "i",
        "ſ",
        "Σ",
        "ς",
        "σ",
        "й",
        "и\u{306}",
        "ё",
        "世",
        "界",
        "か\u{3099}",
        "が",
        "한국",
        "हिन्दी",
        "ก็",
        "أ",
        "ا",
        "²",
        "½",
        "x_y",
        "a-b",
        "it's",
        "\0",
        "\u{200d}",
        "\u{e000}61",
        "🎉",
        "٣",
        "３",
        "\u{1e9e}",
        "ǆ",
        "ᾳ",
        "ﬁ",
        "𝐀",
        "\u{345}",
        "ⅷ",
        "ⓐ",
    ];
    const SEPARATORS: &[&str] = &[" ", " ", " ", "", ",", "\n", "\u{a0}", "\0"];
    prop_oneof![
        6 => proptest::sample::select(KNOWN).prop_map(str::to_owned),
        3 => proptest::sample::select(SEPARATORS).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 1..8).prop_map(|pieces| pieces.concat())
}

fn found(store: &dyn Store, words: &str) -> Vec<MessageId> {
    let reader = store.reader().expect("a reader");
    let found = reader.search(words, &[GENERAL], 50).expect("a search");
    found.iter().map(|message| message.id).collect()
}

#[test]
fn the_same_words_find_the_same_messages_as_on_sqlite() {
    if !is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let database = new_database();
    let config = ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() };
    let (mut sqlite, mut postgres, mut hub) =
        (crate::open(folder.path()).expect("a store"), open(&database.url()), Hub::new());
    let texts = proptest::collection::vec(text(), 1..40);
    let queries = proptest::collection::vec(text(), 1..20);
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let (mut asked, mut hits) = (0, 0);
    // All texts of all cases lie in the same stores: the later ones are looked for among many.
    let mut played = Vec::new();
    for _ in 0..12 {
        let tree = (&texts, &queries).new_tree(&mut runner).expect("texts and queries");
        played.push(tree.current());
    }
    for (texts, queries) in played {
        let messages: Vec<_> = texts.iter().map(|text| hub.message(GENERAL, text)).collect();
        for store in [sqlite.as_mut(), &mut postgres as &mut dyn Store] {
            store_all(store, &messages.iter().map(sent).collect::<Vec<_>>());
            catch_up(store);
        }
        for query in queries.iter().chain(&texts) {
            let expected = found(sqlite.as_ref(), query);
            assert_eq!(found(&postgres, query), expected, "{query:?}");
            asked += 1;
            hits += usize::from(!expected.is_empty());
        }
    }
    assert!(hits * 4 > asked, "only {hits} of {asked} searches found anything, which proves little");
}
