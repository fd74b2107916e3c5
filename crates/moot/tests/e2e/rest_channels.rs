//! Channels over REST: making, listing, changing, archiving, and private ones.

use serde_json::json;

use crate::support::{column, register, start, text};

#[tokio::test]
async fn a_channel_is_made_with_its_creator_in_it() {
    let (_hub, alice) = start().await;
    let body = json!({ "name": "general" });
    let made = alice.rest.post(&alice.path("channels"), body).await.created();
    assert_eq!(made["name"], "general");
    assert_eq!(made["type"], "channel", "the default");
    let id = text(&made, "id");
    let one = alice.rest.get(&alice.path(&format!("channels/{id}"))).await.ok();
    assert_eq!(one["id"], id);
    alice.post(id, "first").await;
}

#[tokio::test]
async fn channels_are_a_bare_array() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let list = alice.rest.get(&alice.path("channels")).await.ok();
    assert!(column(&list, "id").contains(&general.as_str()));
    let list = alice.rest.get("/v1/channels").await.ok();
    assert!(column(&list, "id").contains(&general.as_str()));
}

#[tokio::test]
async fn a_private_channel_is_unlisted_and_closed_to_strangers() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mallory = register(&hub, "mallory").await;
    let secret = alice.add_private("swordfish", &[]).await;
    let message = alice.post(&secret, "the plan").await;
    for outsider in [&bob, &mallory] {
        let messages = format!("/v1/channels/{secret}/messages");
        outsider.rest.get(&messages).await.hidden();
        outsider.rest.post(&messages, json!({ "content": "hi" })).await.hidden();
        outsider.rest.get(&format!("/v1/channels/{secret}/pins")).await.hidden();
        let thread = format!("/v1/messages/{}/thread", text(&message, "id"));
        outsider.rest.get(&thread).await.hidden();
        let one = alice.path(&format!("channels/{secret}"));
        outsider.rest.get(&one).await.hidden();
        outsider.rest.patch(&one, json!({ "name": "mine" })).await.hidden();
        let members = format!("{one}/members");
        let body = json!({ "member_id": outsider.id });
        outsider.rest.post(&members, body).await.hidden();
    }
    for path in [bob.path("channels"), "/v1/channels".to_owned(), bob.path("channels/search?q=sword")] {
        let list = bob.rest.get(&path).await.ok();
        assert!(!list.to_string().contains("swordfish"), "{path}: {list}");
    }
    assert_eq!(alice.texts(&secret).await, ["the plan"]);
}

#[tokio::test]
async fn an_admitted_member_sees_a_private_channel() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[&bob]).await;
    let list = bob.rest.get(&bob.path("channels")).await.ok();
    assert!(column(&list, "id").contains(&secret.as_str()));
    bob.post(&secret, "hello").await;
}

#[tokio::test]
async fn channels_are_searched_by_name() {
    let (_hub, alice) = start().await;
    alice.add_channel("gardening", &[]).await;
    alice.add_channel("cooking", &[]).await;
    let list = alice.rest.get(&alice.path("channels/search?q=garden")).await.ok();
    assert_eq!(column(&list, "name"), ["gardening"]);
    let none = alice.rest.get(&alice.path("channels/search?q=zzz")).await.ok();
    assert_eq!(none, json!([]));
}

#[tokio::test]
async fn a_channel_is_renamed() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let path = alice.path(&format!("channels/{general}"));
    let changed = alice.rest.patch(&path, json!({ "name": "lobby" })).await.ok();
    assert_eq!(changed["name"], "lobby");
    assert_eq!(alice.rest.get(&path).await.ok()["name"], "lobby");
}

#[tokio::test]
async fn an_archived_channel_is_read_but_not_written_until_it_is_back() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "before").await;
    let path = alice.path(&format!("channels/{general}"));
    alice.rest.post(&format!("{path}/archive"), json!({})).await.ok();
    let messages = format!("/v1/channels/{general}/messages");
    let refusal = alice.rest.post(&messages, json!({ "content": "during" })).await;
    refusal.refused_as(&[400, 403, 409]);
    assert_eq!(alice.texts(&general).await, ["before"]);
    alice.rest.post(&format!("{path}/unarchive"), json!({})).await.ok();
    alice.post(&general, "after").await;
}

#[tokio::test]
async fn a_deleted_channel_is_gone() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "words").await;
    let path = alice.path(&format!("channels/{general}"));
    alice.rest.delete(&path).await.ok();
    alice.rest.get(&path).await.hidden();
    alice.rest.get(&format!("/v1/channels/{general}/messages")).await.hidden();
    let mut lark = alice.lark().await;
    let data = json!({ "channel_id": general, "content": "anybody?" });
    lark.refused("message.send", data).await;
}

#[tokio::test]
async fn a_plain_member_does_not_delete_anothers_channel() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let path = bob.path(&format!("channels/{general}"));
    bob.rest.delete(&path).await.refused(403, "FORBIDDEN");
    bob.post(&general, "still here").await;
}

#[tokio::test]
async fn a_channel_needs_a_name_and_a_known_type() {
    let (_hub, alice) = start().await;
    for body in [json!({}), json!({ "name": "" }), json!({ "name": 7 }), json!({ "name": "x", "type": "cave" })] {
        let refusal = alice.rest.post(&alice.path("channels"), body).await;
        refusal.refused(400, "BAD_REQUEST");
    }
}

#[tokio::test]
async fn a_member_of_another_workspace_is_not_admitted() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let general = alice.add_channel("general", &[]).await;
    let path = alice.path(&format!("channels/{general}/members"));
    let body = json!({ "member_id": mallory.id });
    alice.rest.post(&path, body).await.refused_as(&[400, 403, 404]);
    mallory.rest.get(&format!("/v1/channels/{general}/messages")).await.hidden();
}

#[tokio::test]
async fn a_removed_member_is_refused_over_rest_at_once() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[&bob]).await;
    bob.post(&secret, "hello").await;
    let path = alice.path(&format!("channels/{secret}/members/{}", bob.id));
    alice.rest.delete(&path).await.ok();
    let messages = format!("/v1/channels/{secret}/messages");
    bob.rest.post(&messages, json!({ "content": "hi" })).await.hidden();
    bob.rest.get(&messages).await.hidden();
}
