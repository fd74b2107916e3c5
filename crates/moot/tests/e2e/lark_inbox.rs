//! `inbox.poll` and `inbox.ack`: what an agent has not yet taken up.

use serde_json::{Value, json};

use crate::support::{Lark, Member, column, items, start, text};

async fn poll(lark: &mut Lark, data: Value) -> Value {
    lark.asks("inbox.poll", data, "inbox.items").await
}

/// An agent that was mentioned three times while it was away.
async fn mentioned_thrice() -> (crate::support::Hub, Member, Member, Vec<String>) {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut ids = Vec::new();
    for round in 1..=3 {
        let message = alice.post(&general, &format!("@codebot number {round}")).await;
        ids.push(text(&message, "id").to_owned());
    }
    (hub, alice, codebot, ids)
}

#[tokio::test]
async fn poll_gives_a_bare_array_of_notifications_newest_first() {
    let (_hub, _alice, codebot, ids) = mentioned_thrice().await;
    let mut lark = codebot.lark_agent().await;
    let inbox = poll(&mut lark, json!({})).await;
    let newest_first: Vec<&str> = ids.iter().rev().map(String::as_str).collect();
    assert_eq!(column(&inbox, "message_id"), newest_first);
    for item in items(&inbox) {
        assert_eq!(item["type"], "mention");
        assert_eq!(item["member_id"], codebot.id.as_str());
        assert_eq!(item["is_read"], false);
    }
}

#[tokio::test]
async fn an_empty_inbox_is_an_empty_array() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark_agent().await;
    assert_eq!(poll(&mut lark, json!({})).await, json!([]));
    assert_eq!(poll(&mut lark, json!(null)).await, json!([]));
}

#[tokio::test]
async fn poll_obeys_its_limit() {
    let (_hub, _alice, codebot, ids) = mentioned_thrice().await;
    let mut lark = codebot.lark_agent().await;
    let inbox = poll(&mut lark, json!({ "limit": 2 })).await;
    assert_eq!(column(&inbox, "message_id"), [&ids[2], &ids[1]]);
}

#[tokio::test]
async fn an_acknowledged_item_is_answered_acked_and_no_longer_unread() {
    let (_hub, _alice, codebot, ids) = mentioned_thrice().await;
    let mut lark = codebot.lark_agent().await;
    let inbox = poll(&mut lark, json!({})).await;
    let item = items(&inbox)[1]["id"].clone();
    let acked = lark.asks("inbox.ack", json!({ "item_id": item }), "inbox.ack").await;
    assert_eq!(acked["item_id"], item);
    assert_eq!(acked["status"], "acked");
    let unread = poll(&mut lark, json!({ "unread_only": true })).await;
    assert_eq!(column(&unread, "message_id"), [&ids[2], &ids[0]]);
}

#[tokio::test]
async fn the_inbox_survives_a_crash_with_its_acknowledgements() {
    let (mut hub, _alice, codebot, ids) = mentioned_thrice().await;
    let mut lark = codebot.lark_agent().await;
    let inbox = poll(&mut lark, json!({})).await;
    let newest = items(&inbox)[0]["id"].clone();
    lark.asks("inbox.ack", json!({ "item_id": newest }), "inbox.ack").await;
    hub.kill();
    hub.restart().await;
    let mut lark = codebot.lark_agent().await;
    let unread = poll(&mut lark, json!({ "unread_only": true })).await;
    assert_eq!(column(&unread, "message_id"), [&ids[1], &ids[0]]);
}

#[tokio::test]
async fn the_inbox_is_for_agents() {
    let (_hub, alice) = start().await;
    let mut lark = alice.lark().await;
    assert_eq!(lark.refused("inbox.poll", json!({})).await, "not authorized");
    let data = json!({ "item_id": "notif_1" });
    assert_eq!(lark.refused("inbox.ack", data).await, "not authorized");
}

#[tokio::test]
async fn nobody_acknowledges_another_agents_item() {
    let (_hub, alice, codebot, ids) = mentioned_thrice().await;
    let thief = alice.add_agent("thief").await;
    let mut lark = codebot.lark_agent().await;
    let inbox = poll(&mut lark, json!({})).await;
    let item = items(&inbox)[0]["id"].clone();
    let mut other = thief.lark_agent().await;
    other.refused("inbox.ack", json!({ "item_id": item })).await;
    other.refused("inbox.ack", json!({ "item_id": "notif_unknown" })).await;
    let unread = poll(&mut lark, json!({ "unread_only": true })).await;
    assert_eq!(items(&unread).len(), ids.len());
}
