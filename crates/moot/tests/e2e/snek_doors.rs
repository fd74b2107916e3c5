//! Snek beside the other doors: what comes in through one is seen through all.

use serde_json::json;

use crate::support::{column, eventually, items, start, text};

#[tokio::test]
async fn a_mention_on_snek_wakes_a_lark_agent() {
    let (_hub, alice) = start().await;
    let agent = alice.add_agent("codebot").await;
    let channel = alice.add_channel("general", &[&agent]).await;
    let (mut lark, mut snek) = (agent.lark_agent().await, alice.snek().await);
    snek.say(&channel, "@codebot please look").await;
    let wake = lark.expect("agent.wake").await;
    assert_eq!((text(&wake, "reason"), &wake["context"]["channel"]["id"]), ("mention", &json!(channel)));
}

#[tokio::test]
async fn a_message_on_lark_or_rest_reaches_snek_and_back() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let channel = alice.add_channel("general", &[&bot]).await;
    let (mut lark, mut snek) = (alice.lark().await, bot.snek().await);
    let id = lark.say(&channel, "from lark").await;
    assert_eq!(snek.hears("from lark").await["uid"], id.as_str());
    alice.post(&channel, "from rest").await;
    snek.hears("from rest").await;
    let uid = snek.say(&channel, "from snek").await;
    let new = lark.expect_where("message.new", |data| data["content"] == "from snek").await;
    assert_eq!((text(&new, "id"), text(&new, "content_type"), text(&new, "sender_id")), (&*uid, "markdown", &*bot.id));
}

#[tokio::test]
async fn a_lark_edit_reaches_snek_as_an_update_of_the_same_message() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let channel = alice.add_channel("general", &[&bot]).await;
    let (mut lark, mut snek) = (alice.lark().await, bot.snek().await);
    let id = lark.say(&channel, "helo").await;
    let first = snek.hears("helo").await;
    lark.send("message.edit", json!({ "message_id": id, "content": "hello" })).await;
    let second = snek.hears("hello").await;
    assert_eq!(
        (&second["uid"], &second["created_at"], &second["is_final"]),
        (&first["uid"], &first["created_at"], &json!(true))
    );
    assert!(text(&second, "updated_at") >= text(&first, "updated_at"));
    lark.send("message.delete", json!({ "message_id": id })).await;
    assert_eq!(snek.expect("message_deleted").await["data"], json!({ "channel_uid": channel, "uid": id }));
}

#[tokio::test]
async fn typing_is_the_same_on_both_doors() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let channel = alice.add_channel("general", &[&bot]).await;
    let (mut lark, mut snek) = (alice.lark().await, bot.snek().await);
    snek.call("set_typing", json!([channel, "#FF0000"])).await;
    let typing = lark.expect("typing.start").await;
    assert_eq!((text(&typing, "member_id"), text(&typing, "name")), (&*bot.id, "bot"));
    lark.send("typing.start", json!({ "channel_id": channel })).await;
    let typing = snek.expect_where("set_typing", |frame| frame["data"]["username"] == "alice").await;
    assert_eq!(typing["data"]["channel_uid"], channel.as_str());
    assert_eq!(typing["data"]["color"].as_str().map(str::len), Some(7));
}

#[tokio::test]
async fn presence_is_one_state_across_doors() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let mut lark = alice.lark().await;
    let of_bot = |status: &'static str| {
        let id = bot.id.clone();
        move |data: &serde_json::Value| data["member_id"] == id.as_str() && data["status"] == status
    };
    let snek = bot.snek().await;
    lark.expect_where("presence.update", of_bot("online")).await;
    let agent = bot.lark().await;
    snek.close().await;
    let agents = alice.rest.get(&alice.path("agents")).await.ok();
    assert_eq!(items(&agents)[0]["online"], true, "still there on Lark");
    agent.close().await;
    lark.expect_where("presence.update", of_bot("offline")).await;
}

#[tokio::test]
async fn a_direct_message_is_one_on_both_doors() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let mut snek = bot.snek().await;
    let dm = alice.direct(&[&bot]).await;
    snek.expect_where("join", |frame| frame["data"]["channel_uid"] == dm.as_str()).await;
    let channels = snek.call("get_channels", json!([])).await;
    assert_eq!((column(&channels, "uid"), column(&channels, "tag")), (vec![&*dm], vec!["dm"]));
    let mut lark = alice.lark().await;
    lark.say(&dm, "just us").await;
    snek.hears("just us").await;
    snek.say(&dm, "yes").await;
    lark.expect_where("message.new", |data| data["content"] == "yes").await;
}

#[tokio::test]
async fn other_workspaces_hear_and_see_nothing() {
    let (hub, alice) = start().await;
    let mallory = crate::support::register(&hub, "mallory").await;
    let channel = alice.add_channel("general", &[]).await;
    let message = alice.post(&channel, "secret").await;
    let mut snek = mallory.snek().await;
    assert_eq!(snek.call("get_channels", json!([])).await, json!([]));
    assert_eq!(snek.refused("get_messages", json!([channel])).await, "channel not found");
    assert_eq!(snek.refused("get_users", json!([channel])).await, "channel not found");
    assert_eq!(snek.refused("get_user", json!([alice.id])).await, "member not found");
    assert_eq!(snek.call("search_user", json!(["a"])).await, json!(["mallory"]));
    assert_eq!(snek.refused("send_message", json!([channel, "hi"])).await, "not a channel member");
    assert_eq!(snek.refused("mark_as_read", json!([channel])).await, "not a channel member");
    assert_eq!(snek.refused("update_message_text", json!([message["id"], "x"])).await, "message not found");
    assert_eq!(snek.refused("update_channel", json!([channel, "x"])).await, "channel not found");
    assert_eq!(snek.refused("delete_channel", json!([channel])).await, "channel not found");
    assert_eq!(snek.refused("invite_user", json!([channel, "mallory"])).await, "channel not found");
}

#[tokio::test]
async fn a_removed_member_is_closed_and_a_wrong_key_no_longer_counts() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let mut snek = bot.snek().await;
    alice.rest.delete(&alice.path(&format!("members/{}", bot.id))).await.ok();
    assert_eq!(snek.closed().await, Some(1008));
}

#[tokio::test]
async fn what_is_acknowledged_on_snek_survives_a_crash() {
    let (mut hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = alice.snek().await;
    for number in 0..20 {
        snek.say(&channel, &format!("{number}")).await;
    }
    hub.kill();
    hub.restart().await;
    let expected: Vec<_> = (0..20).map(|number| number.to_string()).collect();
    assert_eq!(alice.texts(&channel).await, expected);
}

#[tokio::test]
async fn a_stop_says_goodbye_and_the_hub_counts_the_doors_connections() {
    let (mut hub, alice) = start().await;
    let mut snek = alice.snek().await;
    eventually("the metric", async || {
        let metrics = alice.rest.get("/metrics").await.text();
        metrics.contains("moot_connections{door=\"snek\"} 1").then_some(())
    })
    .await;
    assert!(hub.stop().await.success());
    assert_eq!(snek.closed().await, Some(1001));
}
