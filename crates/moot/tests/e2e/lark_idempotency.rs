//! A retry after a lost acknowledgement does not double the message.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Answer, Lark, Member, start, text};

async fn send(lark: &mut Lark, id: &str, channel: &str, content: &str) -> Value {
    let data = json!({ "channel_id": channel, "content": content });
    lark.send_as(id, "message.send", data).await;
    let answer = lark.reply_to(id, "message.send").await;
    assert_eq!(answer["type"], "message.ack", "{answer}");
    answer["data"]["message_id"].clone()
}

async fn post(member: &Member, key: &str, channel: &str, content: &str) -> Answer {
    let path = format!("/v1/channels/{channel}/messages");
    let request =
        member.rest.request(Method::POST, &path).header("idempotency-key", key).json(&json!({ "content": content }));
    Answer::of(format!("POST {path} with key {key}"), request).await
}

#[tokio::test]
async fn the_same_envelope_id_twice_is_one_message() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let id = Uuid::new_v4().to_string();
    let first = send(&mut lark, &id, &general, "once").await;
    let again = send(&mut lark, &id, &general, "once").await;
    assert_eq!(first, again);
    assert_eq!(alice.texts(&general).await, ["once"]);
}

#[tokio::test]
async fn a_repeated_send_is_not_broadcast_again() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut reader = bob.lark().await;
    let mut lark = alice.lark().await;
    let id = Uuid::new_v4().to_string();
    send(&mut lark, &id, &general, "once").await;
    send(&mut lark, &id, &general, "once").await;
    lark.say(&general, "fence").await;
    assert_eq!(reader.expect("message.new").await["content"], "once");
    assert_eq!(reader.expect("message.new").await["content"], "fence");
}

#[tokio::test]
async fn a_retry_on_a_new_connection_is_one_message() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let id = Uuid::new_v4().to_string();
    let first = send(&mut alice.lark().await, &id, &general, "once").await;
    let again = send(&mut alice.lark().await, &id, &general, "once").await;
    assert_eq!(first, again);
    assert_eq!(alice.texts(&general).await, ["once"]);
}

#[tokio::test]
async fn a_retry_after_a_crash_is_one_message() {
    let (mut hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let id = Uuid::new_v4().to_string();
    let first = send(&mut alice.lark().await, &id, &general, "once").await;
    hub.kill();
    hub.restart().await;
    let again = send(&mut alice.lark().await, &id, &general, "once").await;
    assert_eq!(first, again);
    assert_eq!(alice.texts(&general).await, ["once"]);
}

#[tokio::test]
async fn two_retries_at_the_same_time_are_one_message() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut one = alice.lark().await;
    let mut two = alice.lark().await;
    for round in 0..10 {
        let id = Uuid::new_v4().to_string();
        let content = format!("m{round}");
        let (first, second) =
            tokio::join!(send(&mut one, &id, &general, &content), send(&mut two, &id, &general, &content));
        assert_eq!(first, second);
    }
    assert_eq!(alice.texts(&general).await.len(), 10);
}

#[tokio::test]
async fn the_same_id_of_another_member_is_another_message() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let id = Uuid::new_v4().to_string();
    let first = send(&mut alice.lark().await, &id, &general, "from alice").await;
    let second = send(&mut bob.lark().await, &id, &general, "from bob").await;
    assert_ne!(first, second);
    assert_eq!(alice.texts(&general).await, ["from alice", "from bob"]);
}

#[tokio::test]
async fn an_id_that_is_no_uuid_is_only_for_correlation() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let first = send(&mut lark, "1", &general, "one").await;
    let second = send(&mut lark, "1", &general, "two").await;
    assert_ne!(first, second);
    assert_eq!(alice.texts(&general).await, ["one", "two"]);
}

#[tokio::test]
async fn a_thread_reply_with_the_same_id_is_one_reply() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let root = lark.say(&general, "root").await;
    let id = Uuid::new_v4().to_string();
    for _ in 0..2 {
        let data = json!({ "channel_id": general, "parent_id": root, "content": "once" });
        lark.send_as(&id, "thread.reply", data).await;
        assert_eq!(lark.reply_to(&id, "thread.reply").await["type"], "message.ack");
    }
    assert_eq!(alice.history(&general).await[0]["reply_count"], 1);
}

#[tokio::test]
async fn the_same_idempotency_key_over_rest_is_one_message() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let first = post(&alice, "key-1", &general, "once").await.done();
    let again = post(&alice, "key-1", &general, "once").await.done();
    let other = post(&alice, "key-2", &general, "twice").await.done();
    assert_eq!(text(&first, "id"), text(&again, "id"));
    assert_ne!(text(&first, "id"), text(&other, "id"));
    assert_eq!(alice.texts(&general).await, ["once", "twice"]);
}

#[tokio::test]
async fn two_posts_without_a_key_are_two_messages() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "same").await;
    alice.post(&general, "same").await;
    assert_eq!(alice.texts(&general).await, ["same", "same"]);
}
