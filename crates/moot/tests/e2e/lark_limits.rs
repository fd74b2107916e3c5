//! The limits of the document: subscriptions, characters, bytes.

use serde_json::json;
use tungstenite::Message;

use crate::support::{items, start, text};

#[tokio::test]
async fn ten_thousand_characters_are_accepted_whatever_their_bytes() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    for letter in ["x", "ü", "🦀"] {
        let content = letter.repeat(10_000);
        lark.say(&general, &content).await;
        assert_eq!(lark.expect("message.new").await["content"], content);
    }
}

#[tokio::test]
async fn one_character_more_is_too_long_and_stores_nothing() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    for letter in ["x", "ü", "🦀"] {
        let data = json!({ "channel_id": general, "content": letter.repeat(10_001) });
        let error = lark.refused("message.send", data).await;
        assert_eq!(error, "content too long (max 10000 characters)");
    }
    assert!(alice.texts(&general).await.is_empty());
}

/// A complete `message.send` padded with spaces to exactly `length` bytes.
fn padded(channel: &str, content: &str, length: usize) -> String {
    let data = json!({ "channel_id": channel, "content": content });
    let frame = json!({ "v": 1, "type": "message.send", "ts": 1, "data": data }).to_string();
    let padding = " ".repeat(length - frame.len());
    format!("{padding}{frame}")
}

#[tokio::test]
async fn a_frame_of_exactly_65536_bytes_is_accepted() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let frame = padded(&general, "just fits", 65_536);
    assert_eq!(frame.len(), 65_536);
    lark.send_text(frame).await;
    lark.expect("message.ack").await;
    assert_eq!(alice.texts(&general).await, ["just fits"]);
}

#[tokio::test]
async fn a_frame_of_one_byte_more_closes_with_1009() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    lark.send_text(padded(&general, "too much", 65_537)).await;
    assert_eq!(lark.closed().await, Some(1009));
    assert!(alice.texts(&general).await.is_empty());
}

#[tokio::test]
async fn a_binary_frame_over_the_limit_closes_with_1009_too() {
    let (_hub, alice) = start().await;
    let mut lark = alice.lark().await;
    lark.send_message(Message::binary(vec![0; 65_537])).await;
    assert_eq!(lark.closed().await, Some(1009));
}

#[tokio::test]
async fn the_limit_holds_before_login_as_well() {
    let (_hub, alice) = start().await;
    let mut lark = alice.dial().await;
    lark.send_text(" ".repeat(65_537)).await;
    assert_eq!(lark.closed().await, Some(1009));
}

#[tokio::test]
async fn a_connection_holds_200_subscriptions_and_the_201st_is_refused() {
    let (_hub, alice) = start().await;
    let mut channels = Vec::new();
    let known = alice.rest.get(&alice.path("channels")).await.ok();
    for channel in items(&known) {
        channels.push(text(channel, "id").to_owned());
    }
    while channels.len() < 201 {
        let name = format!("room-{}", channels.len());
        channels.push(alice.add_channel(&name, &[]).await);
    }
    let mut lark = alice.lark().await;
    let mut refused = Vec::new();
    for channel in &channels {
        let answer = lark.ask("channel.join", json!({ "channel_id": channel })).await;
        if answer["type"] == "error" {
            assert_eq!(answer["data"]["error"], "subscription limit reached");
            refused.push(channel.clone());
        }
    }
    assert_eq!(refused.len(), 1, "auto-subscription stops at 200 of 201");
    // Leaving one makes room for one.
    let other = channels.iter().find(|channel| **channel != refused[0]);
    let leave = json!({ "channel_id": other });
    lark.asks("channel.leave", leave, "channel.leave").await;
    let join = json!({ "channel_id": refused[0] });
    lark.asks("channel.join", join, "channel.join").await;
}
