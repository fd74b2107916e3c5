//! Agents that are away, hubs that are killed, and wakes nobody takes up.

use serde_json::{Value, json};

use crate::support::{Setup, items, register, start, text};

#[tokio::test]
async fn an_agent_that_was_away_gets_one_wake_with_what_it_missed() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot, &bob]).await;
    let mut lark = alice.lark().await;
    let mut missed = Vec::new();
    for member in [&alice, &bob] {
        let message = member.post(&general, "@codebot later").await;
        missed.push(text(&message, "id").to_owned());
        lark.expect_where("delivery.update", |data| data["why"] == "offline").await;
    }
    let mut agent = codebot.lark_agent().await;
    let wake = agent.expect("agent.wake").await;
    assert_eq!(wake["context"]["delivery"]["message_ids"], json!(missed));
    let first = text(&wake["context"]["delivery"], "id").to_owned();
    let joined = lark.expect_where("delivery.update", |data| data["state"] == "cancelled").await;
    assert_eq!(joined["why"], format!("joined {first}"));
    agent.say(&general, "here I am").await;
    lark.expect_where("delivery.update", |data| data["id"] == first.as_str() && data["state"] == "answered").await;
    assert!(agent.kept("agent.wake").is_empty(), "one wake");
}

#[tokio::test]
async fn a_wake_that_was_lost_with_its_connection_comes_again_under_the_same_id() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    alice.post(&general, "@codebot look").await;
    let first = agent.expect("agent.wake").await;
    agent.close().await;
    let mut agent = codebot.lark_agent().await;
    let second = agent.expect("agent.wake").await;
    assert_eq!(second["context"]["delivery"], first["context"]["delivery"]);
}

/// The wake of a message that was acknowledged just before the hub was killed.
async fn wake_after_a_kill(before_the_window_ends: bool) {
    let quiet = if before_the_window_ends { "3000" } else { "1" };
    let mut hub = Setup::default().env("MOOT_WAKES__QUIET_MS", quiet).start().await;
    let alice = register(&hub, "alice").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let message = alice.post(&general, "@codebot look").await;
    if !before_the_window_ends {
        agent.expect("agent.wake").await;
    }
    hub.kill();
    hub.restart().await;
    let mut agent = codebot.lark_agent().await;
    let wake = agent.expect("agent.wake").await;
    assert_eq!(wake["context"]["delivery"]["message_ids"], json!([message["id"]]));
    // Whatever would come twice came before this one.
    let next = alice.post(&general, "@codebot and this").await;
    let wake = agent.expect("agent.wake").await;
    assert_eq!(wake["context"]["delivery"]["message_ids"], json!([next["id"]]));
    assert!(agent.kept("agent.wake").is_empty());
}

#[tokio::test]
async fn a_hub_killed_between_message_and_wake_wakes_once() {
    wake_after_a_kill(true).await;
}

#[tokio::test]
async fn a_hub_killed_after_the_wake_wakes_again() {
    wake_after_a_kill(false).await;
}

#[tokio::test]
async fn a_wake_nobody_takes_up_expires_and_its_sender_is_told() {
    let hub = Setup::default().env("MOOT_WAKES__EXPIRE_S", "0.6").start().await;
    let alice = register(&hub, "alice").await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = alice.lark().await;
    let message = lark.say(&general, "@codebot look").await;
    let expired = lark.expect_where("delivery.update", |data| data["state"] == "expired").await;
    assert_eq!(expired["message_ids"], json!([message]));
    let notice = lark.expect_where("notification.new", |data| data["type"] == "delivery_expired").await;
    assert_eq!((&notice["title"], &notice["message_id"]), (&json!("codebot did not answer"), &json!(message)));
    let mut agent = codebot.lark_agent().await;
    let again = alice.post(&general, "@codebot now").await;
    let wake: Value = agent.expect("agent.wake").await;
    assert_eq!(wake["context"]["delivery"]["message_ids"], json!([again["id"]]), "what expired is not sent");
    let list = alice.rest.get(&format!("/v1/channels/{general}/deliveries?state=expired")).await.ok();
    assert_eq!(items(&list).len(), 1);
}
