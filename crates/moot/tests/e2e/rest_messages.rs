//! Messages over REST: the same messages as over Lark, page by page.

use serde_json::{Value, json};

use crate::support::{Member, column, items, number, start, text};

async fn page(member: &Member, channel: &str, query: &str) -> Value {
    let path = format!("/v1/channels/{channel}/messages{query}");
    member.rest.get(&path).await.ok()
}

/// A channel with the messages `m1` … `m{count}`.
async fn filled(alice: &Member, count: usize) -> String {
    let channel = alice.add_channel("general", &[]).await;
    for number in 1..=count {
        alice.post(&channel, &format!("m{number}")).await;
    }
    channel
}

#[tokio::test]
async fn a_posted_message_has_the_documented_fields_and_reaches_lark() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    let body = json!({
        "content": "**hi**", "content_type": "markdown", "metadata": { "ticket": 42 },
        "sender_id": "mem_spoofed", "sender_name": "spoofed",
    });
    let path = format!("/v1/channels/{general}/messages");
    let message = alice.rest.post(&path, body).await.created();
    assert_eq!(message["channel_id"], general.as_str());
    assert_eq!(message["sender_id"], alice.id.as_str(), "the caller is who acts");
    assert_eq!(message["sender_name"], "alice");
    assert_eq!(message["content"], "**hi**");
    assert_eq!(message["content_type"], "markdown");
    assert_eq!(message["metadata"], json!({ "ticket": 42 }));
    assert_eq!(message["edit_count"], 0);
    assert_eq!(message["reply_count"], 0);
    assert!(message["type"].is_string());
    assert!(number(&message, "created_at") > 1_700_000_000_000);
    assert_eq!(message["created_at"], message["updated_at"]);
    let new = lark.expect("message.new").await;
    assert_eq!(new["id"], message["id"]);
    assert_eq!(new["seq"], message["seq"]);
}

#[tokio::test]
async fn history_is_newest_first_and_50_by_default() {
    let (_hub, alice) = start().await;
    let general = filled(&alice, 55).await;
    let expected: Vec<String> = (6..=55).rev().map(|number| format!("m{number}")).collect();
    assert_eq!(column(&page(&alice, &general, "").await, "content"), expected);
    let all = page(&alice, &general, "?limit=200").await;
    assert_eq!(items(&all).len(), 55);
}

#[tokio::test]
async fn before_and_after_page_by_seq() {
    let (_hub, alice) = start().await;
    let general = filled(&alice, 10).await;
    let all = page(&alice, &general, "").await;
    let seq_of = |content: &str| {
        let message = items(&all).iter().find(|message| message["content"] == content);
        number(message.expect("a known message"), "seq")
    };
    let older = page(&alice, &general, &format!("?limit=3&before={}", seq_of("m5"))).await;
    assert_eq!(column(&older, "content"), ["m4", "m3", "m2"]);
    let newer = page(&alice, &general, &format!("?after={}", seq_of("m7"))).await;
    assert_eq!(column(&newer, "content"), ["m10", "m9", "m8"]);
    let between = format!("?after={}&before={}", seq_of("m2"), seq_of("m5"));
    let between = page(&alice, &general, &between).await;
    assert_eq!(column(&between, "content"), ["m4", "m3"]);
    let nothing = page(&alice, &general, &format!("?after={}", seq_of("m10"))).await;
    assert_eq!(nothing, json!([]));
}

#[tokio::test]
async fn paging_after_a_seq_reaches_every_message_without_gaps() {
    let (_hub, alice) = start().await;
    let general = filled(&alice, 25).await;
    let mut seen = Vec::new();
    let mut after = 0;
    loop {
        let next = page(&alice, &general, &format!("?limit=10&after={after}")).await;
        let mut seqs: Vec<i64> = items(&next).iter().map(|message| number(message, "seq")).collect();
        seqs.sort_unstable();
        let Some(last) = seqs.last() else { break };
        after = *last;
        seen.extend(seqs);
    }
    assert_eq!(seen.len(), 25, "a client that catches up must not skip: {seen:?}");
    assert!(seen.is_sorted());
}

#[tokio::test]
async fn offset_skips_the_newest() {
    let (_hub, alice) = start().await;
    let general = filled(&alice, 5).await;
    let skipped = page(&alice, &general, "?limit=2&offset=1").await;
    assert_eq!(column(&skipped, "content"), ["m4", "m3"]);
}

#[tokio::test]
async fn a_limit_that_is_no_number_or_zero_is_refused_by_its_name() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    for query in ["?limit=0", "?limit=abc", "?limit=-1"] {
        let path = format!("/v1/channels/{general}/messages{query}");
        let refusal = alice.rest.get(&path).await.refused(400, "BAD_REQUEST");
        assert!(refusal["error"].as_str().is_some_and(|text| text.starts_with("`limit` must be")), "{refusal}");
    }
}

#[tokio::test]
async fn senseless_page_parameters_are_refused_or_bounded() {
    let (_hub, alice) = start().await;
    let general = filled(&alice, 3).await;
    for query in ["?limit=x", "?before=x", "?after=x"] {
        let path = format!("/v1/channels/{general}/messages{query}");
        alice.rest.get(&path).await.refused(400, "BAD_REQUEST");
    }
    for query in ["?limit=100000", "?limit=201"] {
        let path = format!("/v1/channels/{general}/messages{query}");
        let answer = alice.rest.get(&path).await;
        assert!([200, 400].contains(&answer.status), "{answer:?}");
    }
}

#[tokio::test]
async fn a_page_never_has_more_than_200() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut lark = alice.lark().await;
    for number in 0..210 {
        let data = json!({ "channel_id": general, "content": format!("m{number}") });
        lark.send("message.send", data).await;
    }
    for _ in 0..210 {
        lark.expect("message.ack").await;
    }
    let path = format!("/v1/channels/{general}/messages?limit=1000");
    let answer = alice.rest.get(&path).await;
    if answer.status == 200 {
        assert_eq!(items(&answer.json()).len(), 200);
    } else {
        answer.refused(400, "BAD_REQUEST");
    }
}

#[tokio::test]
async fn the_author_edits_and_the_edits_can_be_read() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let message = alice.post(&general, "frist").await;
    let path = format!("/v1/messages/{}", text(&message, "id"));
    let mut reader = bob.lark().await;
    let edited = alice.rest.patch(&path, json!({ "content": "first" })).await.ok();
    assert_eq!(edited["content"], "first");
    assert_eq!(edited["edit_count"], 1);
    assert!(number(&edited, "edited_at") >= number(&edited, "created_at"));
    assert_eq!(reader.expect("message.edit").await["content"], "first");
    let edits = bob.rest.get(&format!("{path}/edits")).await.ok();
    assert_eq!(items(&edits).len(), 1);
    assert!(edits[0].to_string().contains("frist"), "the earlier text: {edits}");
}

#[tokio::test]
async fn others_may_neither_edit_nor_delete() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let general = alice.add_channel("general", &[&bob]).await;
    let message = bob.post(&general, "bob's words").await;
    let path = format!("/v1/messages/{}", text(&message, "id"));
    let body = json!({ "content": "hers", "sender_id": bob.id });
    alice.rest.patch(&path, body).await.refused(403, "FORBIDDEN");
    alice.rest.delete(&path).await.refused(403, "FORBIDDEN");
    assert_eq!(alice.texts(&general).await, ["bob's words"]);
}

#[tokio::test]
async fn a_deletion_answers_200_with_json_and_is_broadcast() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let message = alice.post(&general, "oops").await;
    let mut lark = alice.lark().await;
    let path = format!("/v1/messages/{}", text(&message, "id"));
    alice.rest.delete(&path).await.ok();
    assert_eq!(lark.expect("message.delete").await["message_id"], message["id"]);
    assert!(alice.texts(&general).await.is_empty());
    alice.rest.delete(&path).await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn content_obeys_the_same_rules_as_over_lark() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let path = format!("/v1/channels/{general}/messages");
    for content in [json!(""), json!("   "), json!("🦀".repeat(10_001)), json!(7), json!(null)] {
        let refusal = alice.rest.post(&path, json!({ "content": content })).await;
        refusal.refused(400, "BAD_REQUEST");
    }
    alice.rest.post(&path, json!({})).await.refused(400, "BAD_REQUEST");
    let body = json!({ "content": "🦀".repeat(10_000) });
    alice.rest.post(&path, body).await.created();
    assert_eq!(alice.texts(&general).await.len(), 1);
}

#[tokio::test]
async fn a_reply_over_rest_is_left_out_of_the_history() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let root = alice.post(&general, "root").await;
    let path = format!("/v1/channels/{general}/messages");
    let body = json!({ "content": "reply", "thread_id": root["id"] });
    let reply = alice.rest.post(&path, body).await.created();
    assert_eq!(reply["thread_id"], root["id"]);
    let history = alice.history(&general).await;
    assert_eq!(column(&history, "content"), ["root"]);
    assert_eq!(history[0]["reply_count"], 1);
}

#[tokio::test]
async fn threads_are_listed_with_what_is_new_in_them_for_those_who_take_part() {
    let (_hub, alice) = start().await;
    let (bob, carol) = (alice.add_human("bob").await, alice.add_human("carol").await);
    let general = alice.add_channel("general", &[&bob, &carol]).await;
    let root = alice.post(&general, "who is in?").await;
    let path = format!("/v1/channels/{general}/messages");
    let reply = |text: &str| json!({ "content": text, "thread_id": root["id"] });
    bob.rest.post(&path, reply("I am")).await.created();
    let threads = async |member: &Member| member.rest.get("/v1/threads").await.ok();
    let unread = async |member: &Member| threads(member).await[0]["unread_count"].clone();
    assert_eq!(unread(&alice).await, 1, "of the thread that she began");
    assert_eq!(unread(&bob).await, 0, "he has said the last word");
    alice.rest.post(&path, reply("good")).await.created();
    assert_eq!(unread(&bob).await, 1, "of a thread that he replied in");
    assert_eq!(threads(&bob).await[0]["last_reply"]["content"], "good");
    assert_eq!(threads(&carol).await, json!([]), "she takes no part");
    bob.rest.post(&format!("/v1/channels/{general}/read"), json!({})).await.ok();
    assert_eq!(unread(&bob).await, 0);
}

#[tokio::test]
async fn a_message_that_is_sent_without_waking_wakes_no_agent() {
    let (_hub, alice) = start().await;
    let robot = alice.add_agent("robot").await;
    let general = alice.add_channel("general", &[&robot]).await;
    let path = format!("/v1/channels/{general}/messages");
    let deliveries = format!("/v1/channels/{general}/deliveries");
    alice.rest.post(&path, json!({ "content": "@robot hush", "wake": false })).await.created();
    assert_eq!(alice.rest.get(&deliveries).await.ok(), json!([]));
    alice.rest.post(&path, json!({ "content": "@robot now" })).await.created();
    assert_eq!(items(&alice.rest.get(&deliveries).await.ok()).len(), 1);
}
