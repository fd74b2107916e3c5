//! Full-text search: all words, within the workspace, only in the caller's channels.

use serde_json::json;

use crate::support::{Member, column, items, register, start, text};

async fn search(member: &Member, query: &str) -> serde_json::Value {
    member.rest.get(&format!("/v1/search?{query}")).await.ok()
}

#[tokio::test]
async fn all_words_must_occur() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "the quick brown fox").await;
    alice.post(&general, "the quick red hen").await;
    let found = search(&alice, "q=fox%20quick").await;
    assert_eq!(column(&found, "content"), ["the quick brown fox"]);
    assert_eq!(items(&search(&alice, "q=quick").await).len(), 2);
    assert_eq!(search(&alice, "q=quick%20badger").await, json!([]));
}

#[tokio::test]
async fn only_channels_of_the_caller_are_searched() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mallory = register(&hub, "mallory").await;
    let secret = alice.add_private("secret", &[]).await;
    alice.post(&secret, "swordfish").await;
    assert_eq!(items(&search(&alice, "q=swordfish").await).len(), 1);
    for outsider in [&bob, &mallory] {
        assert_eq!(search(outsider, "q=swordfish").await, json!([]));
        let named = outsider.rest.get(&format!("/v1/search?q=swordfish&channel={secret}")).await;
        assert!(!named.text().contains("\"content\""), "{named:?}");
    }
}

#[tokio::test]
async fn the_search_can_be_limited_to_a_channel_and_a_number() {
    let (_hub, alice) = start().await;
    let one = alice.add_channel("one", &[]).await;
    let two = alice.add_channel("two", &[]).await;
    for channel in [&one, &two] {
        alice.post(channel, "needle a").await;
        alice.post(channel, "needle b").await;
    }
    let found = search(&alice, &format!("q=needle&channel={two}")).await;
    assert_eq!(items(&found).len(), 2);
    assert!(items(&found).iter().all(|message| message["channel_id"] == two.as_str()));
    assert_eq!(items(&search(&alice, "q=needle&limit=3").await).len(), 3);
}

#[tokio::test]
async fn edits_and_deletions_are_searched_as_they_are_now() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let edited = alice.post(&general, "walrus").await;
    let deleted = alice.post(&general, "pelican").await;
    let path = format!("/v1/messages/{}", text(&edited, "id"));
    alice.rest.patch(&path, json!({ "content": "otter" })).await.ok();
    let path = format!("/v1/messages/{}", text(&deleted, "id"));
    alice.rest.delete(&path).await.ok();
    assert_eq!(search(&alice, "q=walrus").await, json!([]));
    assert_eq!(search(&alice, "q=pelican").await, json!([]));
    assert_eq!(column(&search(&alice, "q=otter").await, "content"), ["otter"]);
}

#[tokio::test]
async fn the_language_of_the_index_is_not_the_callers_to_use() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "plain words AND \"quotes\" (paren) star* near/3 c++").await;
    for query in
        ["%22", "AND", "%28", "*", "near%2F3", "c%2B%2B", "%22quotes", "a%20OR", "-", "content%3Aplain", "%27%3B--"]
    {
        let answer = alice.rest.get(&format!("/v1/search?q={query}")).await;
        assert!(answer.status == 200 || answer.status == 400, "{query}: {answer:?}");
        if answer.status == 200 {
            items(&answer.json());
        }
    }
    assert_eq!(items(&search(&alice, "q=words%20quotes").await).len(), 1);
}
