//! Direct channels, read positions and unread counts.

use serde_json::{Value, json};

use crate::support::{Member, column, items, register, start, text};

async fn open(member: &Member, ids: &[&str]) -> crate::support::Answer {
    let body = json!({ "member_ids": ids });
    member.rest.post(&member.path("dm"), body).await
}

#[tokio::test]
async fn a_direct_channel_is_new_once_and_known_afterwards() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let made = open(&alice, &[&alice.id, &bob.id]).await.created();
    let known = open(&bob, &[&alice.id, &bob.id]).await.ok();
    assert_eq!(made["id"], known["id"], "from either side and in any order");
    assert!(!text(&made, "name").is_empty(), "a name is never empty");
}

#[tokio::test]
async fn a_group_is_another_channel_than_its_pairs() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let carol = alice.add_human("carol").await;
    let pair = alice.direct(&[&bob]).await;
    let group = alice.direct(&[&bob, &carol]).await;
    assert_ne!(pair, group);
    alice.post(&group, "all three").await;
    assert_eq!(carol.texts(&group).await, ["all three"]);
    carol.rest.get(&format!("/v1/channels/{pair}/messages")).await.hidden();
}

#[tokio::test]
async fn agents_may_open_direct_channels() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let direct = codebot.direct(&[&alice]).await;
    codebot.post(&direct, "I have a question").await;
    assert_eq!(alice.texts(&direct).await, ["I have a question"]);
}

#[tokio::test]
async fn direct_channels_of_a_member_are_listed_for_him_only() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let direct = alice.direct(&[&bob]).await;
    let list = bob.rest.get(&format!("/v1/members/{}/dm", bob.id)).await.ok();
    assert_eq!(column(&list, "id"), [direct.as_str()]);
    let list = bob.rest.get("/v1/users/me/dms").await.ok();
    assert_eq!(column(&list, "id"), [direct.as_str()]);
    let carol = alice.add_human("carol").await;
    carol.rest.get(&format!("/v1/members/{}/dm", bob.id)).await.hidden();
    assert_eq!(carol.rest.get("/v1/users/me/dms").await.ok(), json!([]));
}

#[tokio::test]
async fn strangers_cannot_be_written_to() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let answer = open(&alice, &[&alice.id, &mallory.id]).await;
    answer.refused_as(&[400, 403, 404]);
    open(&alice, &["mem_unknown"]).await.refused_as(&[400, 404]);
    open(&alice, &[]).await.refused_as(&[400]);
}

async fn unread(member: &Member) -> Value {
    let path = format!("/v1/members/{}/unread", member.id);
    member.rest.get(&path).await.ok()
}

/// The unread count of a channel, wherever the answer keeps it.
fn count_of(unread: &Value, channel: &str) -> i64 {
    let shown = unread.to_string();
    if let Some(list) = unread.as_array().or_else(|| unread["channels"].as_array()) {
        let entry = list.iter().find(|entry| entry["channel_id"] == channel);
        return entry.map_or(0, |entry| {
            let count = entry["unread_count"].as_i64().or(entry["count"].as_i64());
            count.or(entry["unread"].as_i64()).unwrap_or_else(|| panic!("no count in {shown}"))
        });
    }
    let direct = unread[channel].as_i64().or(unread["channels"][channel].as_i64());
    direct.unwrap_or_else(|| panic!("no count of {channel} in {shown}"))
}

#[tokio::test]
async fn unread_counts_what_others_wrote_since_the_read_position() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    for content in ["one", "two", "three"] {
        alice.post(&general, content).await;
    }
    assert_eq!(count_of(&unread(&bob).await, &general), 3);
    bob.rest.post(&format!("/v1/channels/{general}/read"), json!({})).await.ok();
    assert_eq!(count_of(&unread(&bob).await, &general), 0);
    alice.post(&general, "four").await;
    assert_eq!(count_of(&unread(&bob).await, &general), 1);
    assert_eq!(count_of(&unread(&alice).await, &general), 0, "one's own words are read");
}

#[tokio::test]
async fn users_me_unread_is_an_object_with_the_count() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    alice.post(&general, "one").await;
    alice.post(&general, "two").await;
    let answer = bob.rest.get("/v1/users/me/unread").await.ok();
    let object = answer.as_object().expect("an object");
    let counts = object.values().any(|value| value == &json!(2));
    assert!(counts, "an object that holds the count: {answer}");
}

#[tokio::test]
async fn unread_counts_of_others_are_private() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    bob.rest.get(&format!("/v1/members/{}/unread", alice.id)).await.hidden();
}

#[tokio::test]
async fn a_notification_preference_of_none_silences_mentions() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let path = format!("/v1/channels/{general}/notification-preference");
    for body in [json!({ "preference": "loud" }), json!({})] {
        bob.rest.patch(&path, body).await.refused(400, "BAD_REQUEST");
    }
    bob.rest.patch(&path, json!({ "preference": "none" })).await.ok();
    alice.post(&general, "@bob quiet?").await;
    assert_eq!(items(&bob.rest.get("/v1/notifications").await.ok()).len(), 0);
    bob.rest.patch(&path, json!({ "preference": "mentions" })).await.ok();
    alice.post(&general, "@bob loud!").await;
    assert_eq!(items(&bob.rest.get("/v1/notifications").await.ok()).len(), 1);
}
