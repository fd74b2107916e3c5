//! What is never stored: typing and presence.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Lark, Member, register, start};

async fn sees(lark: &mut Lark, member: &Member, status: &str) {
    let fits = |data: &Value| data["member_id"] == member.id.as_str() && data["status"] == status;
    lark.expect_where("presence.update", fits).await;
}

#[tokio::test]
async fn typing_start_and_stop_reach_the_channel_with_id_and_name() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut reader = alice.lark().await;
    let mut writer = bob.lark().await;
    for kind in ["typing.start", "typing.stop"] {
        writer.send(kind, json!({ "channel_id": general })).await;
        let typing = reader.expect(kind).await;
        assert_eq!(typing["channel_id"], general.as_str());
        assert_eq!(typing["member_id"], bob.id.as_str());
        assert_eq!(typing["name"], "bob");
    }
}

#[tokio::test]
async fn typing_in_a_channel_one_is_not_in_is_refused_and_unseen() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let secret = alice.add_private("secret", &[]).await;
    let mut reader = alice.lark().await;
    let mut writer = bob.lark().await;
    for kind in ["typing.start", "typing.stop"] {
        let error = writer.refused(kind, json!({ "channel_id": secret })).await;
        assert_eq!(error, "not a channel member");
    }
    reader.say(&secret, "fence").await;
    assert!(reader.kept("typing.start").is_empty());
    assert!(reader.kept("typing.stop").is_empty());
}

#[tokio::test]
async fn typing_without_a_channel_is_invalid_data() {
    let (_hub, alice) = start().await;
    let mut lark = alice.lark().await;
    for data in [json!({}), json!({ "channel_id": 7 }), json!(null)] {
        assert_eq!(lark.refused("typing.start", data).await, "invalid data");
    }
}

#[tokio::test]
async fn typing_is_not_heard_outside_the_channel() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let carol = alice.add_human("carol").await;
    let general = alice.add_channel("general", &[&carol]).await;
    let secret = alice.add_private("secret", &[&bob]).await;
    let mut outside = carol.lark().await;
    let mut inside = alice.lark().await;
    let mut writer = bob.lark().await;
    writer.send("typing.start", json!({ "channel_id": secret })).await;
    inside.expect("typing.start").await;
    inside.say(&general, "fence").await;
    outside.expect("message.new").await;
    assert!(outside.kept("typing.start").is_empty());
}

#[tokio::test]
async fn a_login_is_announced_as_online() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut watcher = alice.lark().await;
    let _bob = bob.lark().await;
    sees(&mut watcher, &bob, "online").await;
}

#[tokio::test]
async fn offline_follows_a_closed_last_connection_within_8_seconds() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut watcher = alice.lark().await;
    watcher.wait_up_to(Duration::from_secs(8));
    let lark = bob.lark().await;
    sees(&mut watcher, &bob, "online").await;
    lark.close().await;
    sees(&mut watcher, &bob, "offline").await;
}

#[tokio::test]
async fn offline_follows_a_connection_that_vanished() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut watcher = alice.lark().await;
    watcher.wait_up_to(Duration::from_secs(8));
    let lark = codebot.lark_agent().await;
    sees(&mut watcher, &codebot, "online").await;
    // Dropped without a close frame, as when a process dies.
    drop(lark);
    sees(&mut watcher, &codebot, "offline").await;
}

#[tokio::test]
async fn a_member_with_another_open_tab_stays_online() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let carol = alice.add_human("carol").await;
    let mut watcher = alice.lark().await;
    watcher.wait_up_to(Duration::from_secs(8));
    let first = bob.lark().await;
    let _second = bob.lark().await;
    let carols = carol.lark().await;
    sees(&mut watcher, &bob, "online").await;
    sees(&mut watcher, &carol, "online").await;
    first.close().await;
    // Carol leaves after bob's first tab: when her leaving shows, his would have shown.
    carols.close().await;
    sees(&mut watcher, &carol, "offline").await;
    let of_bob = watcher.kept("presence.update");
    let gone = of_bob.iter().any(|data| data["member_id"] == bob.id.as_str() && data["status"] == "offline");
    assert!(!gone, "{of_bob:?}");
}

#[tokio::test]
async fn a_member_sets_idle_dnd_and_online() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut watcher = alice.lark().await;
    let mut lark = bob.lark().await;
    sees(&mut watcher, &bob, "online").await;
    for status in ["idle", "dnd", "online"] {
        lark.send("presence.update", json!({ "status": status })).await;
        sees(&mut watcher, &bob, status).await;
    }
}

#[tokio::test]
async fn an_unknown_status_is_refused() {
    let (_hub, alice) = start().await;
    let mut lark = alice.lark().await;
    for status in [json!("asleep"), json!(""), json!(7), json!(null)] {
        lark.refused("presence.update", json!({ "status": status })).await;
    }
}

#[tokio::test]
async fn nobody_sets_the_presence_of_another_member() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let mut watcher = alice.lark().await;
    let mut lark = bob.lark().await;
    sees(&mut watcher, &bob, "online").await;
    let data = json!({ "status": "dnd", "member_id": alice.id });
    lark.send("presence.update", data).await;
    sees(&mut watcher, &bob, "dnd").await;
    let foreign = watcher.kept("presence.update");
    assert!(!foreign.iter().any(|data| data["status"] == "dnd"), "{foreign:?}");
}

#[tokio::test]
async fn presence_stays_within_the_workspace() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let bob = alice.add_human("bob").await;
    let mut watcher = alice.lark().await;
    let _stranger = mallory.lark().await;
    let _bob = bob.lark().await;
    sees(&mut watcher, &bob, "online").await;
    let others = watcher.kept("presence.update");
    assert!(!others.iter().any(|data| data["member_id"] == mallory.id.as_str()), "{others:?}");
}
