//! `thread.reply` and `thread_id`.

use serde_json::json;

use crate::support::{column, start, text};

#[tokio::test]
async fn a_thread_reply_is_a_message_new_with_the_thread_id() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut reader = alice.lark().await;
    let root = reader.say(&general, "root").await;
    reader.expect("message.new").await;
    let mut lark = bob.lark().await;
    let data = json!({ "channel_id": general, "parent_id": root, "content": "This is a thread reply" });
    let ack = lark.asks("thread.reply", data, "message.ack").await;
    assert_eq!(ack["message_id"], ack["id"]);
    for reader in [&mut reader, &mut lark] {
        let new = reader.expect("message.new").await;
        assert_eq!(new["id"], ack["message_id"]);
        assert_eq!(new["thread_id"], root.as_str());
        assert_eq!(new["message"]["thread_id"], root.as_str());
        assert_eq!(new["content"], "This is a thread reply");
    }
}

#[tokio::test]
async fn replies_are_counted_at_the_root() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let root = lark.say(&general, "root").await;
    let by_reply = json!({ "channel_id": general, "parent_id": root, "content": "one" });
    lark.asks("thread.reply", by_reply, "message.ack").await;
    let by_send = json!({ "channel_id": general, "thread_id": root, "content": "two" });
    lark.asks("message.send", by_send, "message.ack").await;
    let history = alice.history(&general).await;
    assert_eq!(column(&history, "content"), ["root"], "replies are left out");
    assert_eq!(history[0]["reply_count"], 2);
}

#[tokio::test]
async fn a_thread_is_read_root_first_then_oldest_first() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let root = lark.say(&general, "root").await;
    lark.say(&general, "elsewhere").await;
    for content in ["one", "two", "three"] {
        let data = json!({ "channel_id": general, "parent_id": root, "content": content });
        lark.asks("thread.reply", data, "message.ack").await;
    }
    let thread = alice.rest.get(&format!("/v1/messages/{root}/thread")).await.ok();
    assert_eq!(column(&thread, "content"), ["root", "one", "two", "three"]);
}

#[tokio::test]
async fn a_thread_whose_root_was_deleted_says_so() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let root = lark.say(&general, "root").await;
    let data = json!({ "channel_id": general, "parent_id": root, "content": "reply" });
    lark.asks("thread.reply", data, "message.ack").await;
    alice.rest.delete(&format!("/v1/messages/{root}")).await.ok();
    let thread = alice.rest.get(&format!("/v1/messages/{root}/thread")).await.ok();
    assert_eq!(column(&thread, "content"), ["", "reply"]);
    assert_eq!(thread[0]["deleted"], true);
    assert_eq!(thread[1].get("deleted"), None, "only then");
}

#[tokio::test]
async fn a_deleted_reply_is_no_longer_counted() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let root = lark.say(&general, "root").await;
    let data = json!({ "channel_id": general, "parent_id": root, "content": "oops" });
    let ack = lark.asks("thread.reply", data, "message.ack").await;
    let data = json!({ "message_id": ack["message_id"] });
    lark.send("message.delete", data).await;
    lark.expect("message.delete").await;
    assert_eq!(alice.history(&general).await[0]["reply_count"], 0);
}

#[tokio::test]
async fn a_reply_needs_a_parent_and_content() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let root = lark.say(&general, "root").await;
    for data in [
        json!({ "channel_id": general, "content": "no parent" }),
        json!({ "channel_id": general, "parent_id": "", "content": "no parent" }),
        json!({ "channel_id": general, "parent_id": root }),
        json!({ "channel_id": general, "parent_id": root, "content": "" }),
    ] {
        let error = lark.refused("thread.reply", data.clone()).await;
        assert_eq!(error, "parent_id and content required", "{data}");
    }
    assert_eq!(alice.history(&general).await[0]["reply_count"], 0);
}

#[tokio::test]
async fn a_reply_obeys_the_length_limit() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let root = lark.say(&general, "root").await;
    let data = json!({ "channel_id": general, "parent_id": root, "content": "x".repeat(10_001) });
    let error = lark.refused("thread.reply", data).await;
    assert_eq!(error, "content too long (max 10000 characters)");
}

#[tokio::test]
async fn a_reply_to_a_parent_of_another_channel_is_refused() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let secret = alice.add_private("secret", &[]).await;
    let hidden = alice.post(&secret, "swordfish").await;
    let hidden = text(&hidden, "id");
    let mut lark = bob.lark().await;
    for parent in [hidden, "msg_unknown"] {
        let data = json!({ "channel_id": general, "parent_id": parent, "content": "hm" });
        lark.refused("thread.reply", data).await;
        let data = json!({ "channel_id": general, "thread_id": parent, "content": "hm" });
        lark.refused("message.send", data).await;
    }
    assert!(bob.texts(&general).await.is_empty());
}

#[tokio::test]
async fn a_reply_in_a_channel_one_is_not_in_is_refused() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[]).await;
    let root = alice.post(&secret, "root").await;
    let mut lark = bob.lark().await;
    let data = json!({ "channel_id": secret, "parent_id": root["id"], "content": "hm" });
    assert_eq!(lark.refused("thread.reply", data).await, "not a channel member");
}
