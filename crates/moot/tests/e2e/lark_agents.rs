//! `agent.hello`, `agent.sleep`, `agent.thinking`, and one connection per agent.

use serde_json::json;

use crate::support::member::hello;
use crate::support::{Member, start};

async fn role_card_of(reader: &Member, agent: &Member) -> serde_json::Value {
    let path = reader.path(&format!("members/{}", agent.id));
    reader.rest.get(&path).await.ok()["role_card"].clone()
}

#[tokio::test]
async fn hello_is_answered_with_welcome_and_the_agent_id() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark().await;
    let data = lark.asks("agent.hello", hello("codebot", "You review."), "agent.welcome").await;
    assert_eq!(data["agent_id"], codebot.id.as_str());
    assert_eq!(data["status"], "awake");
}

#[tokio::test]
async fn hello_stores_the_role_card() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark().await;
    lark.asks("agent.hello", hello("codebot", "You review."), "agent.welcome").await;
    let card = role_card_of(&alice, &codebot).await;
    assert_eq!(card["system_prompt"], "You review.");
    assert_eq!(card["capabilities"], json!(["code_review"]));
}

#[tokio::test]
async fn the_latest_hello_overwrites_the_role_card() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark().await;
    let before = json!({
        "name": "codebot",
        "role_card": { "system_prompt": "You review.", "capabilities": ["old", "older"] },
    });
    lark.asks("agent.hello", before, "agent.welcome").await;
    drop(lark);
    let mut again = codebot.lark().await;
    let after = json!({ "name": "codebot", "role_card": { "system_prompt": "You refactor." } });
    again.asks("agent.hello", after, "agent.welcome").await;
    let card = role_card_of(&alice, &codebot).await;
    assert_eq!(card["system_prompt"], "You refactor.");
    let left_over = card["capabilities"].as_array().is_some_and(|list| !list.is_empty());
    assert!(!left_over, "nothing of the old card is left: {card}");
}

#[tokio::test]
async fn the_role_card_survives_a_restart() {
    let (mut hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark().await;
    lark.asks("agent.hello", hello("codebot", "You remember."), "agent.welcome").await;
    hub.kill();
    hub.restart().await;
    let card = role_card_of(&alice, &codebot).await;
    assert_eq!(card["system_prompt"], "You remember.");
}

#[tokio::test]
async fn the_name_in_hello_does_not_rename_the_agent() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark().await;
    lark.asks("agent.hello", hello("alice", "You are alice."), "agent.welcome").await;
    let path = alice.path(&format!("members/{}", codebot.id));
    assert_eq!(alice.rest.get(&path).await.ok()["name"], "codebot");
}

#[tokio::test]
async fn hello_from_a_human_is_refused() {
    let (_hub, alice) = start().await;
    let mut lark = alice.lark().await;
    lark.refused("agent.hello", hello("alice", "You are human.")).await;
}

#[tokio::test]
async fn hello_with_a_system_prompt_that_is_no_text_changes_nothing() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark().await;
    lark.asks("agent.hello", hello("codebot", "You review."), "agent.welcome").await;
    let wrong = json!({ "name": "codebot", "role_card": { "system_prompt": 7 } });
    let error = lark.refused("agent.hello", wrong).await;
    assert!(error.contains("invalid"), "{error}");
    let card = role_card_of(&alice, &codebot).await;
    assert_eq!(card["system_prompt"], "You review.");
}

#[tokio::test]
async fn hello_sets_presence_online_and_sleep_sets_it_sleeping() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut watcher = alice.lark().await;
    let mut lark = codebot.lark().await;
    let of_codebot = |status: &'static str| {
        let id = codebot.id.clone();
        move |data: &serde_json::Value| data["member_id"] == id.as_str() && data["status"] == status
    };
    watcher.expect_where("presence.update", of_codebot("online")).await;
    lark.send("agent.sleep", json!(null)).await;
    watcher.expect_where("presence.update", of_codebot("sleeping")).await;
    lark.asks("agent.hello", hello("codebot", "Awake again."), "agent.welcome").await;
    watcher.expect_where("presence.update", of_codebot("online")).await;
}

#[tokio::test]
async fn sleep_needs_no_data_field_at_all() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut watcher = alice.lark().await;
    let mut lark = codebot.lark_agent().await;
    lark.send_text(r#"{"type":"agent.sleep"}"#).await;
    watcher.expect_where("presence.update", |data| data["status"] == "sleeping").await;
}

#[tokio::test]
async fn sleeping_is_for_agents_only() {
    let (_hub, alice) = start().await;
    let mut lark = alice.lark().await;
    lark.refused("agent.sleep", json!({})).await;
    lark.refused("presence.update", json!({ "status": "sleeping" })).await;
}

#[tokio::test]
async fn thinking_shows_as_typing_with_id_and_name() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut watcher = alice.lark().await;
    let mut lark = codebot.lark_agent().await;
    lark.send("agent.thinking", json!({ "channel_id": general })).await;
    let typing = watcher.expect("typing.start").await;
    assert_eq!(typing["channel_id"], general.as_str());
    assert_eq!(typing["member_id"], codebot.id.as_str());
    assert_eq!(typing["name"], "codebot");
}

#[tokio::test]
async fn thinking_from_a_human_is_not_authorized() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let error = lark.refused("agent.thinking", json!({ "channel_id": general })).await;
    assert_eq!(error, "not authorized");
}

#[tokio::test]
async fn thinking_in_a_channel_one_is_not_in_is_refused() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let secret = alice.add_private("secret", &[]).await;
    let mut lark = codebot.lark_agent().await;
    let error = lark.refused("agent.thinking", json!({ "channel_id": secret })).await;
    assert_eq!(error, "not a channel member");
}

#[tokio::test]
async fn the_newest_connection_of_an_agent_closes_the_older_one() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut old = codebot.lark_agent().await;
    let _new = codebot.lark_agent().await;
    old.closed().await;
}

#[tokio::test]
async fn the_newest_connection_survives_the_clean_up_of_the_older_one() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut watcher = alice.lark().await;
    let mut old = codebot.lark_agent().await;
    let mut new = codebot.lark_agent().await;
    old.closed().await;
    drop(old);
    let id = watcher.say(&general, "@codebot are you there?").await;
    assert_eq!(new.expect("message.new").await["id"], id.as_str());
    assert_eq!(new.expect("agent.wake").await["reason"], "mention");
    let offline = watcher
        .kept("presence.update")
        .into_iter()
        .find(|data| data["member_id"] == codebot.id.as_str() && data["status"] == "offline");
    assert_eq!(offline, None, "the agent never left");
}

#[tokio::test]
async fn a_human_with_two_tabs_hears_everything_in_both() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut first = alice.lark().await;
    let mut second = alice.lark().await;
    let id = first.say(&general, "to both").await;
    assert_eq!(first.expect("message.new").await["id"], id.as_str());
    assert_eq!(second.expect("message.new").await["id"], id.as_str());
}
