//! `moot bot` on our own hub: a member like any other, through Snek and through Lark, among people on Lark.

use crate::support::bot::Bot;
use crate::support::{eventually, start, text};

async fn answered(protocol: &str) {
    answered_at(protocol, None).await;
}

/// The same at another address than the usual one of the protocol.
async fn answered_at(protocol: &str, path: Option<&str>) {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let url = path.map(|path| format!("ws://{}{path}", hub.address));
    let more: Vec<_> = url.iter().map(|url| ("MOOT_BOT__URL", url.as_str())).collect();
    let mut bot = Bot::start_with(&hub, &codebot, protocol, &more).await;
    let mut lark = alice.lark().await;
    bot.will_say("hello, alice");
    lark.say(&general, "hello @codebot").await;
    lark.expect_where("message.new", |data| data["sender_name"] == "codebot").await;
    let path = format!("/v1/channels/{general}/messages");
    let stored = eventually("the answer", async || {
        let messages = alice.rest.get(&path).await.ok();
        let newest = messages.as_array()?.first()?.clone();
        (newest["content"] == "hello, alice").then_some(messages)
    })
    .await;
    assert_eq!(stored.as_array().unwrap().len(), 2, "a streamed answer is one message: {stored}");
    assert_eq!(text(&stored[0], "sender_id"), codebot.id);
    let status = bot.status().await;
    assert_eq!((status["state"].as_str(), status["username"].as_str()), (Some("RUNNING"), Some("codebot")));
    assert_eq!(bot.stop().await.code(), Some(0), "{}", bot.log());
    let log = bot.log();
    assert!(!log.contains("hello") && !log.contains(&codebot.token) && !log.contains("sk-do-not"), "{log}");
    assert!(log.contains("SHUTTING_DOWN"), "{log}");
}

#[tokio::test]
async fn a_mention_on_lark_is_answered_by_a_bot_on_snek() {
    answered("snek").await;
}

#[tokio::test]
async fn a_mention_on_lark_is_answered_by_a_bot_that_hears_the_other_form_of_events() {
    answered_at("snek", Some("/v2/rpc.ws")).await;
}

#[tokio::test]
async fn a_mention_on_lark_is_answered_by_a_bot_on_lark() {
    answered("lark").await;
}

#[tokio::test]
async fn a_direct_message_is_answered_without_a_mention() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let bot = Bot::start(&hub, &codebot, "snek").await;
    let direct = alice.direct(&[&codebot]).await;
    let mut lark = alice.lark().await;
    bot.will_say("in private");
    lark.say(&direct, "hello").await;
    lark.expect_where("message.new", |data| data["sender_name"] == "codebot").await;
}

#[tokio::test]
async fn a_bot_survives_a_restart_of_the_hub() {
    let (mut hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let bot = Bot::start(&hub, &codebot, "snek").await;
    hub.kill();
    hub.restart().await;
    eventually("a second login", async || {
        let status = bot.status().await;
        (status["counters"]["connections"] == 2 && status["state"] == "RUNNING").then_some(())
    })
    .await;
    let mut lark = alice.lark().await;
    lark.say(&general, "ping").await;
    lark.expect_where("message.new", |data| data["content"] == "pong").await;
}

#[tokio::test]
async fn a_wrong_password_ends_the_bot_with_a_sentence_and_a_hint() {
    let (hub, alice) = start().await;
    alice.add_agent("codebot").await;
    let mut bot = Bot::spawn(&hub, "codebot", "wrong", "snek").await;
    assert_eq!(bot.end().await.code(), Some(1));
    // What it said last may still be on its way to us.
    let told = ["the login was refused", "hint:", "bot.password"];
    let said = async || told.iter().all(|words| bot.log().contains(words)).then_some(());
    eventually("a sentence and a hint", said).await;
}

#[tokio::test]
async fn an_image_on_the_hubs_own_drive_is_shown_to_the_model() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let bot = Bot::start(&hub, &codebot, "snek").await;
    let png = b"\x89PNG\r\n\x1a\n-pixels".to_vec();
    let file = alice.rest.upload("/drive.bin", "cat.png", "image/png", png).await.created();
    let mut lark = alice.lark().await;
    bot.will_say("a cat");
    lark.say(&general, &format!("@codebot what is {}", text(&file, "markdown"))).await;
    lark.expect_where("message.new", |data| data["sender_name"] == "codebot").await;
    let asked = bot.openai.asked().remove(0).json();
    let messages = asked["messages"].as_array().unwrap();
    let image = &messages.last().unwrap()["content"][1]["image_url"]["url"];
    assert_eq!(image, "data:image/png;base64,iVBORw0KGgotcGl4ZWxz", "{asked}");
}
