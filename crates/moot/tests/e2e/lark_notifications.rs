//! `notification.new`: who is told, and what.

use serde_json::json;

use crate::support::{items, number, start, text};

#[tokio::test]
async fn a_mentioned_human_gets_a_notification_with_the_documents_fields() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut lark = bob.lark().await;
    let message = alice.post(&general, "Hey @bob, check this out").await;
    let data = lark.expect("notification.new").await;
    assert!(!text(&data, "id").is_empty());
    assert_eq!(data["member_id"], bob.id.as_str());
    assert_eq!(data["type"], "mention");
    assert_eq!(data["title"], "You were mentioned");
    assert_eq!(data["body"], "Hey @bob, check this out");
    assert_eq!(data["channel_id"], general.as_str());
    assert_eq!(data["message_id"], message["id"]);
    assert_eq!(data["is_read"], false);
    assert!(number(&data, "created_at") > 1_700_000_000_000);
}

#[tokio::test]
async fn only_the_mentioned_member_is_notified() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let carol = alice.add_human("carol").await;
    let general = alice.add_channel("general", &[&bob, &carol]).await;
    let mut other = carol.lark().await;
    alice.post(&general, "@bob only you").await;
    let message = alice.post(&general, "@carol now you").await;
    let data = other.expect("notification.new").await;
    assert_eq!(data["message_id"], message["id"], "{data}");
}

#[tokio::test]
async fn mentioning_oneself_notifies_nobody() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut lark = alice.lark().await;
    lark.say(&general, "note to @alice").await;
    let message = bob.post(&general, "@alice really").await;
    let data = lark.expect("notification.new").await;
    assert_eq!(data["message_id"], message["id"]);
}

#[tokio::test]
async fn a_mention_repeated_in_one_message_notifies_once() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    alice.post(&general, "@bob @bob, @bob!").await;
    let list = bob.rest.get("/v1/notifications").await.ok();
    assert_eq!(items(&list).len(), 1, "{list}");
}

#[tokio::test]
async fn a_direct_message_notifies_with_the_senders_name() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let direct = alice.direct(&[&bob]).await;
    let mut lark = bob.lark().await;
    let id = alice.lark().await.say(&direct, "psst").await;
    let data = lark.expect("notification.new").await;
    assert_eq!(data["title"], "New message from alice");
    assert_eq!(data["message_id"], id.as_str());
    assert_eq!(data["channel_id"], direct.as_str());
}

#[tokio::test]
async fn an_assigned_human_gets_a_notification_of_a_task_type() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut lark = bob.lark().await;
    let body = json!({ "title": "Water the plants", "assigned_to": bob.id });
    alice.rest.post(&alice.path("tasks"), body).await.created();
    let data = lark.expect("notification.new").await;
    assert!(text(&data, "type").contains("task"), "{data}");
}

#[tokio::test]
async fn a_mention_in_a_private_channel_does_not_notify_outsiders() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[]).await;
    alice.post(&secret, "@bob must not know").await;
    let list = bob.rest.get("/v1/notifications").await.ok();
    assert_eq!(items(&list).len(), 0, "{list}");
}
