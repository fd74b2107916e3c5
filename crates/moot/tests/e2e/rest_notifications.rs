//! Notifications over REST.

use serde_json::json;

use crate::support::{Member, column, items, start, text};

async fn unread_count(member: &Member) -> i64 {
    let answer = member.rest.get("/v1/notifications/unread-count").await.ok();
    crate::support::number(&answer, "count")
}

async fn mentioned(times: usize) -> (crate::support::Hub, Member, Member) {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    for number in 1..=times {
        alice.post(&general, &format!("@bob {number}")).await;
    }
    (hub, alice, bob)
}

#[tokio::test]
async fn notifications_are_listed_newest_first_with_a_limit() {
    let (_hub, _alice, bob) = mentioned(3).await;
    let list = bob.rest.get("/v1/notifications").await.ok();
    assert_eq!(column(&list, "body"), ["@bob 3", "@bob 2", "@bob 1"]);
    let two = bob.rest.get("/v1/notifications?limit=2").await.ok();
    assert_eq!(column(&two, "body"), ["@bob 3", "@bob 2"]);
}

#[tokio::test]
async fn a_read_notification_is_no_longer_unread() {
    let (_hub, _alice, bob) = mentioned(2).await;
    assert_eq!(unread_count(&bob).await, 2);
    let list = bob.rest.get("/v1/notifications").await.ok();
    let path = format!("/v1/notifications/{}/read", text(&list[0], "id"));
    bob.rest.patch(&path, json!({})).await.ok();
    assert_eq!(unread_count(&bob).await, 1);
    let unread = bob.rest.get("/v1/notifications?unread=true").await.ok();
    assert_eq!(column(&unread, "body"), ["@bob 1"]);
    let all = bob.rest.get("/v1/notifications").await.ok();
    assert_eq!(items(&all).len(), 2);
}

#[tokio::test]
async fn mark_all_read_reads_all() {
    let (_hub, _alice, bob) = mentioned(2).await;
    bob.rest.post("/v1/notifications/mark-all-read", json!({})).await.ok();
    assert_eq!(unread_count(&bob).await, 0);
    assert_eq!(bob.rest.get("/v1/notifications?unread=true").await.ok(), json!([]));
}

#[tokio::test]
async fn nobody_reads_or_marks_anothers_notifications() {
    let (_hub, alice, bob) = mentioned(1).await;
    let list = bob.rest.get("/v1/notifications").await.ok();
    let path = format!("/v1/notifications/{}/read", text(&list[0], "id"));
    alice.rest.patch(&path, json!({})).await.hidden();
    alice.rest.post("/v1/notifications/mark-all-read", json!({})).await.ok();
    assert_eq!(alice.rest.get("/v1/notifications").await.ok(), json!([]));
    assert_eq!(unread_count(&bob).await, 1);
}

#[tokio::test]
async fn a_notification_keeps_nothing_that_its_message_no_longer_says() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let closed = alice.add_private("closed", &[&bob, &codebot]).await;
    let message = alice.post(&closed, "@bob @codebot the secret").await;
    let path = format!("/v1/messages/{}", text(&message, "id"));
    let inbox = format!("/v1/agents/{}/inbox", codebot.id);
    alice.rest.patch(&path, json!({ "content": "@bob @codebot other words" })).await.ok();
    for (member, list) in [(&bob, "/v1/notifications"), (&codebot, inbox.as_str())] {
        assert_eq!(column(&member.rest.get(list).await.ok(), "body"), ["@bob @codebot other words"]);
    }
    alice.rest.delete(&path).await.ok();
    for (member, list) in [(&bob, "/v1/notifications"), (&codebot, inbox.as_str())] {
        assert_eq!(column(&member.rest.get(list).await.ok(), "body"), [""]);
    }
    for member in [&bob, &codebot] {
        alice.rest.delete(&alice.path(&format!("channels/{closed}/members/{}", member.id))).await.ok();
    }
    for (member, list) in [(&bob, "/v1/notifications"), (&codebot, inbox.as_str())] {
        assert_eq!(member.rest.get(list).await.ok(), json!([]));
    }
    assert_eq!(unread_count(&bob).await, 0);
}
