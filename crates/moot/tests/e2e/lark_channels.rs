//! Auto-subscription, `channel.join`, `channel.leave`, and who hears what.

use serde_json::json;

use crate::support::{register, start};

#[tokio::test]
async fn after_login_all_channels_of_the_member_are_subscribed() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let random = alice.add_private("random", &[&bob]).await;
    let direct = alice.direct(&[&bob]).await;
    let mut lark = bob.lark().await;
    for channel in [&general, &random, &direct] {
        alice.post(channel, "hello").await;
        let new = lark.expect("message.new").await;
        assert_eq!(new["channel_id"], channel.as_str());
    }
}

#[tokio::test]
async fn join_is_answered_with_the_channel() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut lark = bob.lark().await;
    let later = alice.add_channel("later", &[&bob]).await;
    let data = json!({ "channel_id": later });
    let joined = lark.asks("channel.join", data.clone(), "channel.join").await;
    assert_eq!(joined, data);
    alice.post(&later, "hello").await;
    assert_eq!(lark.expect("message.new").await["content"], "hello");
}

#[tokio::test]
async fn joining_twice_still_gives_each_message_once() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    for _ in 0..2 {
        let data = json!({ "channel_id": general });
        lark.asks("channel.join", data, "channel.join").await;
    }
    let first = lark.say(&general, "first").await;
    let second = lark.say(&general, "second").await;
    assert_eq!(lark.expect("message.new").await["id"], first.as_str());
    assert_eq!(lark.expect("message.new").await["id"], second.as_str());
}

#[tokio::test]
async fn leave_is_answered_and_ends_the_frames_until_the_next_join() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let data = json!({ "channel_id": general });
    let mut lark = bob.lark().await;
    let left = lark.asks("channel.leave", data.clone(), "channel.leave").await;
    assert_eq!(left, data);
    alice.post(&general, "unheard").await;
    lark.asks("channel.join", data, "channel.join").await;
    alice.post(&general, "heard").await;
    assert_eq!(lark.expect("message.new").await["content"], "heard");
}

#[tokio::test]
async fn leave_over_websocket_only_unsubscribes() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[&bob]).await;
    let mut lark = bob.lark().await;
    let data = json!({ "channel_id": secret });
    lark.asks("channel.leave", data.clone(), "channel.leave").await;
    // Still a member: history is readable, REST sends work, and the next login subscribes again.
    assert!(bob.texts(&secret).await.is_empty());
    bob.post(&secret, "still here").await;
    let mut again = bob.lark().await;
    alice.post(&secret, "welcome back").await;
    assert_eq!(again.expect("message.new").await["content"], "welcome back");
}

#[tokio::test]
async fn leaving_one_connection_leaves_the_other_tab_subscribed() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut left = alice.lark().await;
    let mut stays = alice.lark().await;
    let data = json!({ "channel_id": general });
    left.asks("channel.leave", data, "channel.leave").await;
    alice.post(&general, "hello").await;
    assert_eq!(stays.expect("message.new").await["content"], "hello");
}

#[tokio::test]
async fn joining_a_private_channel_needs_membership() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let open = alice.add_channel("open", &[&bob]).await;
    let secret = alice.add_private("secret", &[]).await;
    let mut lark = bob.lark().await;
    let error = lark.refused("channel.join", json!({ "channel_id": secret })).await;
    assert_eq!(error, "not a channel member");
    alice.post(&secret, "between us").await;
    alice.post(&open, "for all").await;
    assert_eq!(lark.expect("message.new").await["content"], "for all");
}

#[tokio::test]
async fn joining_a_channel_of_another_workspace_is_refused() {
    let (hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mallory = register(&hub, "mallory").await;
    let mut lark = mallory.lark().await;
    let error = lark.refused("channel.join", json!({ "channel_id": general })).await;
    assert_eq!(error, "not a channel member");
}

#[tokio::test]
async fn joining_an_unknown_channel_is_refused() {
    let (_hub, alice) = start().await;
    let mut lark = alice.lark().await;
    let data = json!({ "channel_id": "ch_nowhere" });
    lark.refused("channel.join", data).await;
}

#[tokio::test]
async fn the_creator_speaks_in_a_new_channel_without_joining() {
    let (_hub, alice) = start().await;
    let mut lark = alice.lark().await;
    let fresh = alice.add_channel("fresh", &[]).await;
    let id = lark.say(&fresh, "first words").await;
    assert_eq!(alice.history(&fresh).await[0]["id"], id.as_str());
}

#[tokio::test]
async fn a_removed_member_gets_no_more_frames_and_may_not_send() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let other = alice.add_channel("other", &[&bob]).await;
    let mut lark = bob.lark().await;
    let path = alice.path(&format!("channels/{general}/members/{}", bob.id));
    alice.rest.delete(&path).await.ok();
    alice.post(&general, "without bob").await;
    alice.post(&other, "with bob").await;
    assert_eq!(lark.expect("message.new").await["content"], "with bob");
    let data = json!({ "channel_id": general, "content": "let me in" });
    assert_eq!(lark.refused("message.send", data).await, "not a channel member");
    assert_eq!(alice.texts(&general).await, ["without bob"]);
}
