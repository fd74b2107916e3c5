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

#[tokio::test]
async fn who_where_what_and_when_narrow_a_search_alone_and_together() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let (one, two) = (alice.add_channel("one", &[&bob]).await, alice.add_channel("two", &[&bob]).await);
    alice.post(&one, "the plan of alice").await;
    bob.post(&one, "the plan of bob").await;
    bob.post(&two, "see https://example.org").await;
    let found = async |query: String| -> Vec<String> {
        let hits = search(&alice, &query).await;
        column(&hits, "content").into_iter().map(str::to_owned).collect()
    };
    assert_eq!(found(format!("from={}", bob.id)).await, ["see https://example.org", "the plan of bob"]);
    assert_eq!(found(format!("q=pl&beginnings=true&from={}", bob.id)).await, ["the plan of bob"]);
    assert_eq!(found(format!("channel={two}")).await, ["see https://example.org"]);
    assert_eq!(found("has=link".to_owned()).await, ["see https://example.org"]);
    assert_eq!(found(format!("has=link&channel={one}")).await, Vec::<String>::new());
    assert_eq!(found("before=1000".to_owned()).await, Vec::<String>::new());
    assert_eq!(found("q=plan&after=1000".to_owned()).await.len(), 2);
    assert_eq!(alice.rest.get("/v1/search").await.status, 400);
    assert_eq!(alice.rest.get("/v1/search?has=nothing").await.status, 400);
}

#[tokio::test]
async fn a_condition_alone_finds_nothing_in_the_channels_of_others() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[]).await;
    alice.post(&secret, "see https://example.org").await;
    for query in [format!("from={}", alice.id), "has=link".to_owned(), "after=1000".to_owned()] {
        assert_eq!(search(&bob, &query).await, json!([]), "{query}");
    }
}
