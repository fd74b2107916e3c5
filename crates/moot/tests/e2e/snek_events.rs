//! Snek, sections 6 to 8: messages, events, typing.

use serde_json::json;

use crate::support::member::PASSWORD;
use crate::support::{Snek, column, start, text};

#[tokio::test]
async fn a_message_reaches_all_members_of_the_channel_flat_and_with_all_fields() {
    let (_hub, alice) = start().await;
    let (bob, carol) = (alice.add_human("bob").await, alice.add_human("carol").await);
    let channel = alice.add_channel("general", &[&bob]).await;
    let (mut one, mut two, mut stranger) = (alice.snek().await, bob.snek().await, carol.snek().await);
    let uid = one.say(&channel, "Hello **world**").await;
    for snek in [&mut one, &mut two] {
        let event = snek.expect("message").await;
        let expected = [
            ("message", "Hello **world**"),
            ("username", "alice"),
            ("user_nick", "alice"),
            ("channel_uid", &channel),
            ("uid", &uid),
            ("user_uid", &alice.id),
        ];
        for (key, value) in expected {
            assert_eq!(text(&event, key), value, "{event}");
        }
        assert_eq!(event["is_final"], true);
        assert!(event.get("callId").is_none() && event.get("data").is_none(), "{event}");
    }
    stranger.call("ping", json!([])).await;
    assert_eq!(stranger.kept_where(|frame| frame["event"] == "message").count(), 0, "carol is not in it");
}

#[tokio::test]
async fn is_final_is_true_when_left_out_or_null() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = alice.snek().await;
    snek.call("send_message", json!([channel, "one"])).await;
    snek.call("send_message", json!([channel, "two", null])).await;
    assert_eq!(alice.texts(&channel).await, ["one", "two"]);
}

#[tokio::test]
async fn sending_where_one_is_not_a_member_is_refused() {
    let (_hub, alice) = start().await;
    let carol = alice.add_human("carol").await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = carol.snek().await;
    assert_eq!(snek.refused("send_message", json!([channel, "hi", true])).await, "not a channel member");
    assert_eq!(snek.refused("send_message", json!([channel, "hi", false])).await, "not a channel member");
    assert_eq!(snek.refused("set_typing", json!([channel, "#FF0000"])).await, "not a channel member");
    assert_eq!(snek.refused("send_message", json!(["ch_unknown", "hi", true])).await, "not a channel member");
}

#[tokio::test]
async fn an_archived_channel_is_read_only() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("old", &[]).await;
    alice.rest.post(&alice.path(&format!("channels/{channel}/archive")), json!({})).await.ok();
    let mut snek = alice.snek().await;
    assert_eq!(snek.refused("send_message", json!([channel, "hi", true])).await, "channel is archived");
    assert_eq!(snek.call("get_channels", json!([])).await[0]["is_read_only"], true);
}

#[tokio::test]
async fn set_typing_shows_the_colour_to_the_members_and_is_not_stored() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let channel = alice.add_channel("general", &[&bob]).await;
    let (mut one, mut two) = (alice.snek().await, bob.snek().await);
    one.call("set_typing", json!([channel, "#ff6B35"])).await;
    let event = two.expect("set_typing").await;
    let data = &event["data"];
    assert_eq!((text(data, "username"), text(data, "nick"), text(data, "color")), ("alice", "alice", "#ff6B35"));
    assert_eq!((text(data, "channel_uid"), text(data, "user_uid")), (&*channel, &*alice.id));
    one.call("set_typing", json!([channel])).await;
    let own = one.call("get_user", json!([null])).await;
    assert_eq!(two.expect("set_typing").await["data"]["color"], own["color"], "without one it is the own colour");
    assert!(alice.texts(&channel).await.is_empty());
}

#[tokio::test]
async fn a_colour_is_a_hash_and_six_hex_digits() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut snek = alice.snek().await;
    for wrong in ["red", "#FFF", "#GG0000", "FF0000", "#FF00000", "", "#FF000ü"] {
        let said = snek.refused("set_typing", json!([channel, wrong])).await;
        assert!(said.contains("html_color_code"), "{wrong} → {said}");
    }
    snek.call("set_typing", json!([channel, "#0aF9Ee"])).await;
}

#[tokio::test]
async fn join_and_leave_tell_the_one_concerned_exactly_the_channel() {
    let (_hub, alice) = start().await;
    let bot = alice.add_agent("bot").await;
    let (mut owner, mut snek) = (alice.snek().await, bot.snek().await);
    let channel = alice.add_channel("general", &[]).await;
    owner.expect("join").await;
    alice.admit(&channel, &bot).await;
    assert_eq!(snek.expect("join").await, json!({ "event": "join", "data": { "channel_uid": channel } }));
    alice.post(&channel, "welcome").await;
    snek.hears("welcome").await;
    alice.rest.delete(&alice.path(&format!("channels/{channel}/members/{}", bot.id))).await.ok();
    assert_eq!(snek.expect("leave").await, json!({ "event": "leave", "data": { "channel_uid": channel } }));
    alice.post(&channel, "without you").await;
    owner.hears("without you").await;
    assert_eq!(snek.refused("send_message", json!([channel, "hi"])).await, "not a channel member");
    assert_eq!(snek.kept_where(|frame| frame["message"] == "without you").count(), 0);
    let told = owner.kept_where(|frame| frame["event"] == "join" || frame["event"] == "leave").count();
    assert_eq!(told, 0, "nobody else hears of it, because the event cannot say who it was");
}

#[tokio::test]
async fn the_other_dialect_has_messages_under_data_and_never_both() {
    let (hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    let mut document = alice.snek().await;
    let mut v2 = Snek::dial(hub.address, "/rpc.ws?events=v2").await;
    v2.login("alice", PASSWORD).await;
    document.send("send_message", json!([channel, "he", false])).await;
    let uid = document.say(&channel, "hello").await;
    let event = v2.next().await;
    assert_eq!((text(&event, "event"), text(&event, "channel_uid")), ("new_message", &*channel));
    let data = &event["data"];
    assert_eq!((text(data, "uid"), text(data, "message"), text(data, "username")), (&*uid, "hello", "alice"));
    assert_eq!(text(data, "user_uid"), alice.id);
    document.call("update_message_text", json!([uid, "hello!"])).await;
    let event = v2.next().await;
    assert_eq!((text(&event, "event"), text(&event["data"], "message")), ("update_message_text", "hello!"));
    document.hears("hello!").await;
}

#[tokio::test]
async fn the_other_dialect_has_an_address_of_its_own() {
    let (hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    // A query says nothing there.
    let mut v2 = Snek::dial(hub.address, "/v2/rpc.ws?events=").await;
    v2.login("alice", PASSWORD).await;
    let mut document = alice.snek().await;
    let uid = document.say(&channel, "hello").await;
    let event = v2.next().await;
    assert_eq!((text(&event, "event"), text(&event, "channel_uid")), ("new_message", &*channel));
    let data = &event["data"];
    assert_eq!((text(data, "uid"), text(data, "message")), (&*uid, "hello"));
    assert_eq!((text(data, "user_uid"), text(data, "username")), (&*alice.id, "alice"));
    let channels = v2.call("get_channels", json!([])).await;
    assert_eq!(channels[0]["uid"], *channel);
}

const BATCH: usize = 300;

#[tokio::test]
async fn a_reader_that_is_too_slow_is_told_and_finds_everything_in_the_history() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let channel = alice.add_channel("general", &[&bob]).await;
    let mut slow = Snek::narrow(hub.address).await;
    slow.login("bob", PASSWORD).await;
    let mut fast = alice.snek().await;
    let long = "x".repeat(9000);
    let mut sent = 0;
    // More at a time than a queue holds: a reader that takes nothing for 10 s is closed before it can overflow slowly.
    while !hub.has_overflowed().await {
        assert!(sent < 10 * BATCH, "the queue of a reader that reads nothing never overflows");
        for number in sent..sent + BATCH {
            fast.send("send_message", json!([channel, format!("{number} {long}"), true])).await;
        }
        for _ in 0..BATCH {
            fast.expect("message").await;
        }
        sent += BATCH;
        fast.forget();
    }
    let event = slow.expect("lagged").await;
    assert_eq!(event["data"]["channel_uids"], json!([channel]));
    let page = slow.call("get_messages", json!([channel, 0, null, 200])).await;
    let newest = column(&page, "message").last().map(|text| text.split(' ').next().unwrap_or_default().to_owned());
    assert_eq!(newest, Some((sent - 1).to_string()));
}
