//! Section 9: who is answered, and where.

use regex::Regex;
use serde_json::json;

use crate::support::snek::message;
use crate::support::{Setup, Stage, streams, with_role};

/// Says something, then pings; everything the bot says before the pong was caused by the first.
async fn said_before_pong(stage: &Stage, channel: &str, text: &str) -> Vec<String> {
    stage.snek.says(channel, "alice", text);
    stage.snek.says(channel, "alice", "ping");
    let done = |snek: &crate::support::snek::FakeSnek| {
        let texts: Vec<_> = snek.finals().into_iter().map(|(_, text)| text).collect();
        texts.contains(&"pong".to_owned()).then_some(texts)
    };
    stage.snek.until("pong", done).await
}

#[tokio::test]
async fn rule_1_its_own_messages_are_not_answered() {
    let stage = Stage::new().await;
    stage.snek.says("ch2", "mybot", "@mybot hello");
    assert_eq!(said_before_pong(&stage, "ch1", "hello").await, ["pong"]);
    assert!(stage.asked().is_empty());
}

#[tokio::test]
async fn rule_2_ping_is_answered_with_pong_everywhere() {
    let stage = Stage::new().await;
    stage.snek.says("ch1", "alice", "ping hello");
    assert_eq!(stage.snek.answer(1).await, "pong hello");
    assert!(stage.asked().is_empty(), "no model is needed for that");
}

#[tokio::test]
async fn rules_3_and_4_join_and_leave_by_mention_decide_about_everything_after() {
    let mut stage = Stage::new().await;
    assert_eq!(said_before_pong(&stage, "ch1", "before").await, ["pong"]);
    stage.snek.says("ch1", "alice", "@MyNick join");
    stage.until_status(|snapshot| snapshot.joined == 1).await;
    stage.openai.will(streams(&["joined"]));
    stage.snek.says("ch1", "alice", "in between");
    assert_eq!(stage.snek.answer(2).await, "joined");
    stage.snek.says("ch1", "alice", "@mybot leave");
    stage.until_status(|snapshot| snapshot.joined == 0).await;
    stage.snek.says("ch1", "alice", "after");
    stage.snek.says("ch1", "alice", "ping again");
    assert_eq!(stage.snek.answer(3).await, "pong again");
}

#[tokio::test]
async fn join_and_leave_events_of_the_server_mean_the_same() {
    let mut stage = Stage::new().await;
    stage.snek.tell(json!({"event": "join", "data": {"channel_uid": "ch1"}}));
    stage.until_status(|snapshot| snapshot.joined == 1).await;
    stage.openai.will(streams(&["yes"]));
    stage.snek.says("ch1", "alice", "anybody here?");
    assert_eq!(stage.snek.answer(1).await, "yes");
    stage.snek.tell(json!({"event": "leave", "data": {"channel_uid": "ch1"}}));
    stage.until_status(|snapshot| snapshot.joined == 0).await;
}

#[tokio::test]
async fn rule_5_a_mention_is_answered_in_a_public_channel() {
    let stage = Stage::new().await;
    stage.openai.will(streams(&["here"]));
    stage.snek.says("ch1", "alice", "hello @mybot");
    assert_eq!(stage.snek.answer(1).await, "here");
}

#[tokio::test]
async fn rule_6_a_direct_message_is_always_answered() {
    let stage = Stage::new().await;
    stage.openai.will(streams(&["in private"]));
    stage.snek.says("ch2", "alice", "hello");
    assert_eq!(stage.snek.answer(1).await, "in private");
    assert_eq!(stage.snek.finals()[0].0, "ch2");
}

#[tokio::test]
async fn rule_6_a_trigger_is_answered_in_a_public_channel() {
    let mut setup = Setup::new().await;
    setup.settings.triggers = vec![Regex::new("^(?i)help").unwrap()];
    let stage = setup.running().await;
    stage.openai.will(streams(&["how?"]));
    stage.snek.says("ch1", "alice", "Help, please");
    assert_eq!(stage.snek.answer(1).await, "how?");
}

#[tokio::test]
async fn rule_6_its_username_in_the_text_is_answered_and_anything_else_is_not() {
    let stage = Stage::new().await;
    assert_eq!(said_before_pong(&stage, "ch1", "nobody in particular").await, ["pong"]);
    stage.openai.will(streams(&["I am"]));
    stage.snek.says("ch1", "alice", "is mybot there?");
    assert_eq!(stage.snek.answer(2).await, "I am");
}

#[tokio::test]
async fn messages_that_still_grow_are_skipped() {
    let stage = Stage::new().await;
    stage.openai.will(streams(&["whole"]));
    stage.snek.tell(message("ch2", "alice", "hel", false));
    stage.snek.tell(message("ch2", "alice", "hello", true));
    assert_eq!(stage.snek.answer(1).await, "whole");
    let asked = stage.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(with_role(&asked[0], "user")[0]["content"], "alice: hello");
}

#[tokio::test]
async fn a_channel_that_is_new_is_looked_up() {
    let stage = Stage::new().await;
    stage.snek.list_channels(json!([{"uid": "ch9", "name": "New", "tag": "dm"}]));
    stage.openai.will(streams(&["hello, stranger"]));
    stage.snek.says("ch9", "bob", "hello");
    assert_eq!(stage.snek.answer(1).await, "hello, stranger");
    assert_eq!(stage.snek.called("get_channels").len(), 2);
}
