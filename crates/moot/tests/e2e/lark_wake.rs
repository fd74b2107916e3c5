//! `agent.wake`: the four triggers, the bundled context, and what wakes nobody.

use serde_json::{Value, json};

use crate::support::{Lark, column, items, number, start, text};

/// The next wake of this agent must be the one that the message caused: whatever should wake nobody came before it.
async fn is_woken_by(lark: &mut Lark, message: &str) -> Value {
    let wake = lark.expect("agent.wake").await;
    let recent = &wake["context"]["recent_messages"];
    let last = items(recent).last().expect("messages");
    assert_eq!(last["id"], message, "{wake}");
    wake
}

#[tokio::test]
async fn a_mention_wakes_the_agent_with_the_channel_and_the_message() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = codebot.lark_agent().await;
    let content = "Hey @codebot, can you review this PR?";
    let id = alice.lark().await.say(&general, content).await;
    let wake = is_woken_by(&mut lark, &id).await;
    assert_eq!(wake["reason"], "mention");
    assert_eq!(wake["context"]["channel"]["id"], general.as_str());
    let message = &wake["context"]["recent_messages"][0];
    assert_eq!(message["sender_id"], alice.id.as_str());
    assert_eq!(message["content"], content);
    assert!(number(message, "created_at") > 1_700_000_000_000, "milliseconds");
    assert!(wake["context"]["thread"].is_null(), "{wake}");
}

#[tokio::test]
async fn a_wake_bundles_the_20_newest_messages_oldest_first_and_ends_with_the_trigger() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut speaker = alice.lark().await;
    for number in 1..=25 {
        speaker.say(&general, &format!("m{number}")).await;
    }
    let mut lark = codebot.lark_agent().await;
    let id = speaker.say(&general, "@codebot sum up").await;
    let wake = is_woken_by(&mut lark, &id).await;
    let mut expected: Vec<String> = (7..=25).map(|number| format!("m{number}")).collect();
    expected.push("@codebot sum up".to_owned());
    let recent = &wake["context"]["recent_messages"];
    assert_eq!(column(recent, "content"), expected);
}

#[tokio::test]
async fn a_mention_over_rest_wakes_too() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = codebot.lark_agent().await;
    let message = alice.post(&general, "@codebot hello").await;
    is_woken_by(&mut lark, text(&message, "id")).await;
}

#[tokio::test]
async fn a_mention_may_be_followed_by_punctuation() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut speaker = alice.lark().await;
    let mut lark = codebot.lark_agent().await;
    for content in ["@codebot, now", "you @codebot.", "@codebot?!", "so\n@codebot;\tgo", "@codebot:"] {
        let id = speaker.say(&general, content).await;
        is_woken_by(&mut lark, &id).await;
    }
}

#[tokio::test]
async fn only_a_whole_word_that_starts_with_at_is_a_mention() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut speaker = alice.lark().await;
    let mut lark = codebot.lark_agent().await;
    for content in ["codebot", "mail@codebot", "@codebots", "@ codebot", "just talk"] {
        speaker.say(&general, content).await;
    }
    let id = speaker.say(&general, "@codebot").await;
    is_woken_by(&mut lark, &id).await;
}

#[tokio::test]
async fn sleeping_and_awake_agents_are_both_woken() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut speaker = alice.lark().await;
    let mut lark = codebot.lark_agent().await;
    let id = speaker.say(&general, "@codebot awake?").await;
    is_woken_by(&mut lark, &id).await;
    lark.send("agent.sleep", json!({})).await;
    speaker.expect_where("presence.update", |data| data["status"] == "sleeping").await;
    let id = speaker.say(&general, "@codebot asleep?").await;
    is_woken_by(&mut lark, &id).await;
}

#[tokio::test]
async fn nobody_wakes_himself() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = codebot.lark_agent().await;
    lark.say(&general, "I am @codebot").await;
    let message = alice.post(&general, "@codebot indeed").await;
    is_woken_by(&mut lark, text(&message, "id")).await;
}

#[tokio::test]
async fn an_agent_wakes_another_agent() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let reviewbot = alice.add_agent("reviewbot").await;
    let general = alice.add_channel("general", &[&codebot, &reviewbot]).await;
    let mut lark = reviewbot.lark_agent().await;
    let id = codebot.lark_agent().await.say(&general, "@reviewbot please").await;
    let wake = is_woken_by(&mut lark, &id).await;
    assert_eq!(wake["context"]["recent_messages"][0]["sender_id"], codebot.id.as_str());
}

#[tokio::test]
async fn one_message_may_wake_several_agents() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let reviewbot = alice.add_agent("reviewbot").await;
    let general = alice.add_channel("general", &[&codebot, &reviewbot]).await;
    let mut first = codebot.lark_agent().await;
    let mut second = reviewbot.lark_agent().await;
    let message = alice.post(&general, "@codebot @reviewbot go").await;
    is_woken_by(&mut first, text(&message, "id")).await;
    is_woken_by(&mut second, text(&message, "id")).await;
}

#[tokio::test]
async fn a_direct_message_wakes_with_reason_dm() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let direct = alice.direct(&[&codebot]).await;
    let mut lark = codebot.lark_agent().await;
    let id = alice.lark().await.say(&direct, "a quiet word").await;
    let wake = is_woken_by(&mut lark, &id).await;
    assert_eq!(wake["reason"], "dm");
    assert_eq!(wake["context"]["channel"]["id"], direct.as_str());
}

#[tokio::test]
async fn a_reply_in_the_agents_thread_wakes_with_the_thread() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = codebot.lark_agent().await;
    let root = lark.say(&general, "I have a question").await;
    let data = json!({ "channel_id": general, "parent_id": root, "content": "Ask away" });
    let mut speaker = alice.lark().await;
    let ack = speaker.asks("thread.reply", data, "message.ack").await;
    let wake = is_woken_by(&mut lark, text(&ack, "message_id")).await;
    assert_eq!(wake["reason"], "thread_reply");
    let thread = &wake["context"]["thread"];
    assert!(thread.is_object(), "{wake}");
    assert!(thread.to_string().contains(&root), "the thread names its root: {thread}");
}

#[tokio::test]
async fn a_send_with_thread_id_wakes_like_a_thread_reply() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = codebot.lark_agent().await;
    let root = lark.say(&general, "I have a question").await;
    let path = format!("/v1/channels/{general}/messages");
    let body = json!({ "content": "Ask away", "thread_id": root });
    let reply = alice.rest.post(&path, body).await.created();
    let wake = is_woken_by(&mut lark, text(&reply, "id")).await;
    assert_eq!(wake["reason"], "thread_reply");
}

#[tokio::test]
async fn a_reply_in_another_members_thread_wakes_nobody() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = codebot.lark_agent().await;
    let mut speaker = alice.lark().await;
    let root = speaker.say(&general, "talking to myself").await;
    let data = json!({ "channel_id": general, "parent_id": root, "content": "again" });
    speaker.asks("thread.reply", data, "message.ack").await;
    let id = speaker.say(&general, "@codebot now you").await;
    is_woken_by(&mut lark, &id).await;
}

#[tokio::test]
async fn a_mention_in_a_thread_reply_wakes() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = codebot.lark_agent().await;
    let mut speaker = alice.lark().await;
    let root = speaker.say(&general, "a thread").await;
    let data = json!({ "channel_id": general, "parent_id": root, "content": "@codebot join us" });
    let ack = speaker.asks("thread.reply", data, "message.ack").await;
    let wake = is_woken_by(&mut lark, text(&ack, "message_id")).await;
    assert_eq!(wake["reason"], "mention");
}

#[tokio::test]
async fn a_task_for_the_agent_wakes_with_reason_task_assigned() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = codebot.lark_agent().await;
    let body = json!({ "title": "Fix it", "channel_id": general, "assigned_to": codebot.id });
    let task = alice.rest.post(&alice.path("tasks"), body).await.created();
    let wake = lark.expect("agent.wake").await;
    assert_eq!(wake["reason"], "task_assigned");
    assert_eq!(wake["context"]["channel"]["id"], general.as_str());
    let assigned = lark.expect("task.assigned").await;
    assert_eq!(assigned["task"]["id"], task["id"], "{assigned}");
    assert_eq!(assigned["task"]["title"], "Fix it");
}

#[tokio::test]
async fn assigning_a_task_later_wakes_too() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark_agent().await;
    let body = json!({ "title": "Fix it" });
    let task = alice.rest.post(&alice.path("tasks"), body).await.created();
    let path = format!("/v1/tasks/{}", text(&task, "id"));
    let body = json!({ "assigned_to": codebot.id });
    alice.rest.patch(&path, body).await.ok();
    assert_eq!(lark.expect("agent.wake").await["reason"], "task_assigned");
    assert_eq!(lark.expect("task.assigned").await["task"]["id"], task["id"]);
}

#[tokio::test]
async fn a_mention_in_a_channel_the_agent_is_not_in_leaks_nothing() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let secret = alice.add_private("secret", &[]).await;
    let mut lark = codebot.lark_agent().await;
    alice.post(&secret, "@codebot the password is swordfish").await;
    let message = alice.post(&general, "@codebot hello").await;
    let wake = is_woken_by(&mut lark, text(&message, "id")).await;
    assert!(!wake.to_string().contains("swordfish"));
    let inbox = lark.asks("inbox.poll", json!({}), "inbox.items").await;
    assert!(!inbox.to_string().contains("swordfish"), "{inbox}");
}

#[tokio::test]
async fn an_offline_agent_finds_the_mention_in_its_inbox_instead() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let message = alice.post(&general, "@codebot for later").await;
    let mut lark = codebot.lark_agent().await;
    let inbox = lark.asks("inbox.poll", json!({}), "inbox.items").await;
    assert_eq!(column(&inbox, "message_id"), [text(&message, "id")]);
}
