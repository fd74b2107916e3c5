//! Limits: what one member or one workspace may use, the same on every door, and what whoever runs into them is told.

use serde_json::{Value, json};

use crate::support::{Answer, Member, Setup, register, text};

async fn hub_with(limits: &[(&str, &str)]) -> (crate::support::Hub, Member) {
    let setup =
        limits.iter().fold(Setup::default(), |setup, (key, value)| setup.env(&format!("MOOT_LIMITS__{key}"), value));
    let hub = setup.start().await;
    let alice = register(&hub, "alice").await;
    (hub, alice)
}

/// Refused for now: the sentence and the header say for how long.
#[track_caller]
fn is_told_to_wait(answer: Answer) {
    let seconds: u64 = answer.header("retry-after").parse().expect("whole seconds");
    let body = answer.refused(429, "RATE_LIMITED");
    assert!(text(&body, "error").ends_with(&format!("retry in {seconds} s")), "{body}");
}

fn says_retry(text: &str) -> bool {
    text.contains("; retry in ") && text.ends_with(" s")
}

#[tokio::test]
async fn messages_have_one_pace_on_every_door() {
    let (_hub, alice) = hub_with(&[("MESSAGES_PER_SECOND", "1")]).await;
    let general = alice.add_channel("general", &[]).await;
    let (mut lark, mut snek) = (alice.lark().await, alice.snek().await);
    let send = json!({ "channel_id": general, "content": "hello" });
    let mut refusals = Vec::new();
    for _ in 0..20 {
        let answer = lark.ask("message.send", send.clone()).await;
        if answer["type"] == "error" {
            refusals.push(text(&answer["data"], "error").to_owned());
        }
    }
    assert!(!refusals.is_empty() && refusals.len() <= 10, "a burst of ten passes: {refusals:?}");
    assert!(refusals.iter().all(|refusal| says_retry(refusal)), "{refusals:?}");
    let path = format!("/v1/channels/{general}/messages");
    is_told_to_wait(alice.rest.post(&path, json!({ "content": "hello" })).await);
    let answer = snek.answer("send_message", json!([general, "hello", true])).await;
    assert_eq!((&answer["success"], &answer["data"]["code"]), (&json!(false), &json!("RATE_LIMITED")), "{answer}");
    // Others are not held up by it.
    let bob = alice.add_human("bob").await;
    alice.admit(&general, &bob).await;
    bob.post(&general, "I may").await;
}

#[tokio::test]
async fn frames_have_a_pace_and_each_refused_one_is_answered() {
    let (_hub, alice) = hub_with(&[("REQUESTS_PER_SECOND", "20")]).await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let mut ids = Vec::new();
    for _ in 0..100 {
        ids.push(lark.send("channel.join", json!({ "channel_id": general })).await);
    }
    let mut refused = 0;
    for id in ids {
        let answer: Value = lark.reply_to(&id, "channel.join").await;
        if answer["type"] == "error" {
            assert!(says_retry(text(&answer["data"], "error")), "{answer}");
            refused += 1;
        }
    }
    assert!((1..100).contains(&refused), "{refused}");
    is_told_to_wait(alice.rest.get("/v1/workspaces").await);
}

#[tokio::test]
async fn channels_and_members_are_made_at_a_pace_and_agents_count_for_their_owner() {
    let (_hub, alice) = hub_with(&[("CHANNELS_PER_HOUR", "3"), ("MEMBERS_PER_HOUR", "2")]).await;
    let agent = alice.add_agent("codebot").await;
    for member in [&alice, &agent, &alice] {
        member.add_channel(&format!("room-{}", uuid::Uuid::new_v4()), &[]).await;
    }
    for member in [&alice, &agent] {
        is_told_to_wait(member.rest.post(&alice.path("channels"), json!({ "name": "one-more" })).await);
    }
    // The owner and the agent are two.
    is_told_to_wait(alice.rest.post(&alice.path("members"), json!({ "name": "third", "type": "agent" })).await);
}

#[tokio::test]
async fn a_message_takes_only_so_many_reactions() {
    let (_hub, alice) = hub_with(&[("REACTIONS_PER_MESSAGE", "2")]).await;
    let general = alice.add_channel("general", &[]).await;
    let message = alice.post(&general, "well?").await;
    let path = format!("/v1/messages/{}/reactions", text(&message, "id"));
    for emoji in ["👍", "👎"] {
        alice.rest.post(&path, json!({ "emoji": emoji })).await.done();
    }
    alice.rest.post(&path, json!({ "emoji": "🎉" })).await.refused(507, "QUOTA");
    alice.rest.delete(&format!("{path}/%F0%9F%91%8D")).await.ok();
    alice.rest.post(&path, json!({ "emoji": "🎉" })).await.done();
}

#[tokio::test]
async fn files_may_hold_only_so_much_until_some_are_removed() {
    let (hub, alice) = hub_with(&[("MEMBER_STORAGE_MB", "1")]).await;
    let path = alice.path("files");
    let large = || alice.rest.upload(&path, "large.bin", "application/octet-stream", vec![7; 600_000]);
    let first = large().await.created();
    large().await.refused(507, "QUOTA");
    let kept = std::fs::read_dir(hub.data.join("files"))
        .expect("a folder")
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_file()));
    assert_eq!(kept.count(), 1, "nothing stays of what was refused");
    let usage = alice.rest.get(&alice.path("usage")).await.ok();
    assert_eq!(usage["me"]["stored_bytes"], json!({ "used": 600_000, "limit": 1_000_000 }));
    assert_eq!(usage["workspace"]["stored_bytes"]["used"], 600_000);
    alice.rest.delete(&format!("/v1/files/{}", text(&first, "id"))).await.done();
    large().await.created();
}

#[tokio::test]
async fn uploads_have_a_pace_and_use_is_shown() {
    let (_hub, alice) = hub_with(&[("UPLOADS_PER_MINUTE", "2")]).await;
    let path = alice.path("files");
    let small = || alice.rest.upload(&path, "small.txt", "text/plain", b"hi".to_vec());
    small().await.created();
    small().await.created();
    is_told_to_wait(small().await);
    let usage = alice.rest.get(&alice.path("usage")).await.ok();
    assert_eq!(usage["me"]["uploads_per_minute"], json!({ "used": 2, "limit": 2 }), "{usage}");
    for (part, key) in [("me", "messages_per_second"), ("me", "channels_per_hour"), ("workspace", "members_per_hour")] {
        assert!(usage[part][key]["used"].is_u64() && usage[part][key]["limit"].is_u64(), "{usage}");
    }
    let metrics = alice.rest.anonymous().get("/metrics").await.text();
    assert!(metrics.contains("moot_limited_total 1") && metrics.contains("moot_stored_bytes 4"), "{metrics}");
}
