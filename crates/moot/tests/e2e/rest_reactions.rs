//! Reactions and pins.

use serde_json::json;

use crate::support::{column, items, start, text};

const THUMB: &str = "%F0%9F%91%8D";

#[tokio::test]
async fn a_reaction_is_added_listed_and_removed() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let message = alice.post(&general, "nice").await;
    let path = format!("/v1/messages/{}/reactions", text(&message, "id"));
    assert_eq!(bob.rest.get(&path).await.ok(), json!([]));
    bob.rest.post(&path, json!({ "emoji": "👍", "member_id": alice.id })).await.done();
    let list = alice.rest.get(&path).await.ok();
    assert_eq!(column(&list, "emoji"), ["👍"]);
    assert!(list.to_string().contains(&bob.id), "the caller is who acts: {list}");
    assert!(!list.to_string().contains(&alice.id), "{list}");
    assert!(alice.history(&general).await[0]["reactions"].to_string().contains("👍"));
    bob.rest.delete(&format!("{path}/{THUMB}")).await.ok();
    assert_eq!(alice.rest.get(&path).await.ok(), json!([]));
}

#[tokio::test]
async fn the_same_reaction_twice_counts_once() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let message = alice.post(&general, "nice").await;
    let path = format!("/v1/messages/{}/reactions", text(&message, "id"));
    for _ in 0..2 {
        let answer = alice.rest.post(&path, json!({ "emoji": "👍" })).await;
        assert!([200, 201, 409].contains(&answer.status), "{answer:?}");
    }
    assert_eq!(items(&alice.rest.get(&path).await.ok()).len(), 1);
}

#[tokio::test]
async fn a_removed_reaction_is_told_to_the_channel() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let message = alice.post(&general, "nice").await;
    let path = format!("/v1/messages/{}/reactions", text(&message, "id"));
    alice.rest.post(&path, json!({ "emoji": "👍" })).await.done();
    let mut lark = alice.lark().await;
    alice.rest.delete(&format!("{path}/{THUMB}")).await.ok();
    let removed = lark.expect("reaction.remove").await;
    assert_eq!(removed["message_id"], message["id"]);
    assert_eq!(removed["emoji"], "👍");
}

#[tokio::test]
async fn outsiders_neither_react_nor_pin() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[]).await;
    let message = alice.post(&secret, "quiet").await;
    let reactions = format!("/v1/messages/{}/reactions", text(&message, "id"));
    bob.rest.get(&reactions).await.hidden();
    bob.rest.post(&reactions, json!({ "emoji": "👍" })).await.hidden();
    let pins = format!("/v1/channels/{secret}/pins");
    let body = json!({ "message_id": message["id"] });
    bob.rest.post(&pins, body).await.hidden();
    assert_eq!(alice.rest.get(&reactions).await.ok(), json!([]));
    assert_eq!(alice.rest.get(&pins).await.ok(), json!([]));
}

#[tokio::test]
async fn a_reaction_needs_an_emoji() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let message = alice.post(&general, "nice").await;
    let path = format!("/v1/messages/{}/reactions", text(&message, "id"));
    for body in [json!({}), json!({ "emoji": "" }), json!({ "emoji": 7 })] {
        alice.rest.post(&path, body).await.refused(400, "BAD_REQUEST");
    }
}

#[tokio::test]
async fn a_message_is_pinned_listed_and_unpinned() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let message = alice.post(&general, "important").await;
    let path = format!("/v1/channels/{general}/pins");
    let body = json!({ "message_id": message["id"], "pinned_by": "mem_spoofed" });
    let pin = alice.rest.post(&path, body).await.created();
    assert_eq!(pin["message_id"], message["id"]);
    assert_eq!(pin["pinned_by"], alice.id.as_str(), "the caller is who acts");
    let list = alice.rest.get(&path).await.ok();
    assert_eq!(column(&list, "id"), [text(&pin, "id")]);
    let mut lark = alice.lark().await;
    alice.rest.delete(&format!("/v1/pins/{}", text(&pin, "id"))).await.ok();
    assert_eq!(lark.expect("pin.remove").await["message_id"], message["id"]);
    assert_eq!(alice.rest.get(&path).await.ok(), json!([]));
}

#[tokio::test]
async fn a_message_of_another_channel_is_not_pinned_here() {
    let (_hub, alice) = start().await;
    let one = alice.add_channel("one", &[]).await;
    let two = alice.add_channel("two", &[]).await;
    let message = alice.post(&one, "here").await;
    let path = format!("/v1/channels/{two}/pins");
    for id in [&message["id"], &json!("msg_unknown")] {
        let refusal = alice.rest.post(&path, json!({ "message_id": id })).await;
        refusal.refused_as(&[400, 404]);
    }
    assert_eq!(alice.rest.get(&path).await.ok(), json!([]));
}
