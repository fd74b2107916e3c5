//! Webhooks: a secret address through which other programs speak.

use serde_json::json;

use crate::support::{column, items, register, start, text};

#[tokio::test]
async fn a_webhook_posts_content_or_text_into_its_channel() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let body = json!({ "channel_id": general, "name": "builds" });
    let hook = alice.rest.post(&alice.path("webhooks"), body).await.created();
    let address = format!("/webhooks/{}/{}", text(&hook, "id"), text(&hook, "secret"));
    let mut lark = alice.lark().await;
    let open = alice.rest.anonymous();
    open.post(&address, json!({ "content": "build 1 is green" })).await.created();
    open.post(&address, json!({ "text": "build 2 is red" })).await.created();
    assert_eq!(lark.expect("message.new").await["content"], "build 1 is green");
    assert_eq!(lark.expect("message.new").await["content"], "build 2 is red");
    assert_eq!(alice.texts(&general).await.len(), 2);
}

#[tokio::test]
async fn a_wrong_secret_posts_nothing() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let body = json!({ "channel_id": general, "name": "builds" });
    let hook = alice.rest.post(&alice.path("webhooks"), body).await.created();
    let open = alice.rest.anonymous();
    for address in
        [format!("/webhooks/{}/wrong", text(&hook, "id")), format!("/webhooks/unknown/{}", text(&hook, "secret"))]
    {
        let refusal = open.post(&address, json!({ "content": "hm" })).await;
        refusal.refused_as(&[401, 403, 404]);
    }
    let address = format!("/webhooks/{}/{}", text(&hook, "id"), text(&hook, "secret"));
    open.post(&address, json!({})).await.refused(400, "BAD_REQUEST");
    let long = json!({ "content": "x".repeat(10_001) });
    open.post(&address, long).await.refused(400, "BAD_REQUEST");
    assert!(alice.texts(&general).await.is_empty());
}

#[tokio::test]
async fn webhooks_are_listed_without_their_secret_and_deleted() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let body = json!({ "channel_id": general, "name": "builds" });
    let hook = alice.rest.post(&alice.path("webhooks"), body).await.created();
    let list = alice.rest.get(&alice.path("webhooks")).await.ok();
    assert_eq!(column(&list, "id"), [text(&hook, "id")]);
    assert!(!list.to_string().contains(text(&hook, "secret")), "{list}");
    let path = format!("/v1/webhooks/{}", text(&hook, "id"));
    alice.rest.delete(&path).await.ok();
    assert_eq!(items(&alice.rest.get(&alice.path("webhooks")).await.ok()).len(), 0);
    let address = format!("/webhooks/{}/{}", text(&hook, "id"), text(&hook, "secret"));
    let open = alice.rest.anonymous();
    open.post(&address, json!({ "content": "hm" })).await.refused_as(&[401, 403, 404]);
}

#[tokio::test]
async fn a_webhook_into_a_foreign_channel_is_refused() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mallory = register(&hub, "mallory").await;
    let secret = alice.add_private("secret", &[]).await;
    let body = json!({ "channel_id": secret, "name": "spy" });
    bob.rest.post(&bob.path("webhooks"), body.clone()).await.hidden();
    mallory.rest.post(&mallory.path("webhooks"), body).await.refused_as(&[400, 403, 404]);
}
