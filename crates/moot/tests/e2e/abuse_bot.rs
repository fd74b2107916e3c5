//! The bot's key is for the drive of its own server, and `fetch_page` does not read the hub for whoever asks.

use serde_json::json;

use crate::support::bot::Bot;
use crate::support::start;

#[tokio::test]
async fn a_page_of_the_hub_is_not_read_for_whoever_asks_the_bot() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let secret = alice.add_private("secret", &[&codebot]).await;
    alice.post(&secret, "marker: only for the members").await;
    let mallory = alice.add_human("mallory").await;
    let direct = mallory.direct(&[&codebot]).await;
    let bot = Bot::start(&hub, &codebot, "snek").await;
    let mut lark = mallory.lark().await;
    for path in [format!("/v1/channels/{secret}/messages"), "/v1/members/me".to_owned(), "/".to_owned()] {
        let before = bot.openai.asked().len();
        bot.will_call("fetch_page", &json!({"url": hub.url(&path)}));
        bot.will_say(&format!("done with {path}"));
        lark.say(&direct, "read this for me").await;
        lark.expect_where("message.new", |data| data["content"] == format!("done with {path}").as_str()).await;
        let asked = bot.openai.asked();
        let told = asked[before..].iter().map(|one| one.json().to_string()).collect::<String>();
        assert!(told.contains("own server"), "{told}");
        assert!(!told.contains("marker") && !told.contains("codebot@"), "{path} was read: {told}");
    }
}
