//! Sections 8, 10 and 14: growing answers, colours, order, what the model gets, names.

use regex::Regex;

use crate::support::openai::{End, Reply, piece};
use crate::support::snek::OnSend;
use crate::support::{Setup, Stage, streams, with_role};
use serde_json::json;

#[tokio::test]
async fn appendix_b_typing_then_partial_updates_then_the_final_message() {
    let stage = Stage::new().await;
    stage.openai.will(streams(&["Working on", " it...", " done!"]));
    stage.snek.says("ch1", "alice", "@mybot work");
    assert_eq!(stage.snek.answer(1).await, "Working on it... done!");
    let calls: Vec<_> = stage.snek.calls().into_iter().skip(3).collect();
    assert_eq!(calls[0]["method"], "set_typing");
    let sent = stage.snek.called("send_message");
    let (last, partials) = sent.split_last().unwrap();
    assert_eq!(last, &json!(["ch1", "Working on it... done!", true]));
    assert!(!partials.is_empty(), "it grows before it is whole");
    let mut before = 0;
    for partial in partials {
        let text = partial[1].as_str().unwrap();
        assert!(partial[2] == false && "Working on it... done!".starts_with(text) && text.len() > before, "{partial}");
        before = text.len();
    }
}

#[tokio::test]
async fn updates_keep_the_least_interval() {
    let stage = Setup::new().await.limits(|limits| limits.streaming_update_interval_s = 3600.0).running().await;
    stage.openai.will(streams(&["a", "b", "c", "d"]));
    stage.snek.says("ch2", "alice", "go");
    assert_eq!(stage.snek.answer(1).await, "abcd");
    assert_eq!(stage.snek.called("send_message").len(), 2, "the first update and the final message");
}

#[tokio::test]
async fn a_server_that_does_not_answer_updates_still_gets_the_final_message() {
    let stage = Stage::new().await;
    stage.snek.on_send([OnSend::Ignore]);
    stage.openai.will(streams(&["a", "b"]));
    stage.snek.says("ch2", "alice", "go");
    assert_eq!(stage.snek.answer(1).await, "ab");
}

#[tokio::test]
async fn the_typing_colour_changes_while_it_thinks_and_stops_with_the_answer() {
    let stage = Stage::new().await;
    stage.openai.will(Reply::Never);
    stage.snek.says("ch1", "alice", "@mybot think");
    stage.snek.until_called("set_typing", 4).await;
    let colours = stage.snek.called("set_typing");
    let pattern = Regex::new("^#[0-9A-Fa-f]{6}$").unwrap();
    for colour in &colours {
        assert_eq!(colour[0], "ch1");
        assert!(pattern.is_match(colour[1].as_str().unwrap()), "{colour}");
    }
    let mut different = colours.clone();
    different.dedup();
    assert!(different.len() > 1, "{colours:?}");
}

#[tokio::test]
async fn two_questions_in_one_channel_are_answered_one_after_the_other() {
    let stage = Stage::new().await;
    stage.openai.will(streams(&["first ", "answer"]));
    stage.openai.will(streams(&["second ", "answer"]));
    stage.snek.says("ch2", "alice", "one?");
    stage.snek.says("ch2", "alice", "two?");
    assert_eq!(stage.snek.answer(2).await, "second answer");
    let texts: Vec<_> =
        stage.snek.called("send_message").iter().map(|args| args[1].as_str().unwrap().to_owned()).collect();
    let first_end = texts.iter().position(|text| text == "first answer").unwrap();
    assert!(texts[..first_end].iter().all(|text| text.starts_with("first")), "{texts:?}");
    assert!(texts[first_end + 1..].iter().all(|text| !text.starts_with("first")), "{texts:?}");
    let asked = stage.asked();
    assert_eq!(with_role(&asked[1], "assistant")[0]["content"], "first answer");
    assert_eq!(with_role(&asked[1], "user").last().unwrap()["content"], "alice: two?");
}

#[tokio::test]
async fn the_model_gets_the_last_50_messages_and_who_it_is() {
    let stage = Stage::new().await;
    for number in 0..60 {
        stage.snek.says("ch1", "alice", &format!("talk {number}"));
    }
    stage.openai.will(streams(&["I have read it"]));
    stage.snek.says("ch1", "bob", "@mybot what was said?");
    stage.snek.answer(1).await;
    let asked = stage.asked();
    let users = with_role(&asked[0], "user");
    assert_eq!(users.len(), 50);
    assert_eq!(users[0]["content"], "alice: talk 11");
    assert_eq!(users[49]["content"], "bob: @mybot what was said?");
    let system = with_role(&asked[0], "system")[0]["content"].as_str().unwrap();
    assert!(system.starts_with("be brief") && system.contains("MyNick (@mybot)") && system.contains("general"));
    assert_eq!((asked[0]["stream"].clone(), asked[0]["model"].clone()), (json!(true), json!("small")));
}

#[tokio::test]
async fn the_token_budget_is_kept() {
    let stage = Setup::new().await.limits(|limits| limits.context_window_token_limit = 2000).running().await;
    for number in 0..5 {
        stage.snek.says("ch1", "alice", &format!("{number} {}", "hello ".repeat(600)));
    }
    stage.openai.will(streams(&["short memory"]));
    stage.snek.says("ch1", "bob", "@mybot well?");
    assert_eq!(stage.snek.answer(1).await, "short memory");
    let asked = stage.asked();
    let users = with_role(&asked[0], "user");
    assert_eq!(users.len(), 4, "three long messages of about 600 tokens and the question");
    assert_eq!(users[3]["content"], "bob: @mybot well?");
}

#[tokio::test]
async fn names_of_other_bots_are_sanitised_in_everything_it_says() {
    let stage = Stage::new().await;
    stage.openai.will(streams(&["ask grok", " or @Lisa"]));
    stage.snek.says("ch2", "alice", "whom?");
    assert_eq!(stage.snek.answer(1).await, "ask g-rok or @L-isa");
    let all = stage.snek.called("send_message");
    assert!(all.iter().all(|args| !args[1].as_str().unwrap().contains("grok")), "{all:?}");
}

#[tokio::test]
async fn a_very_long_answer_becomes_several_messages() {
    let stage = Stage::new().await;
    let word = "word ".repeat(2400);
    stage.openai.will(streams(&[&word]));
    stage.snek.says("ch2", "alice", "tell me everything");
    stage.snek.answer(2).await;
    let lengths: Vec<_> = stage.snek.finals().iter().map(|(_, text)| text.chars().count()).collect();
    assert_eq!(lengths.len(), 2);
    assert!(lengths.iter().all(|length| *length <= 10_000), "{lengths:?}");
}

#[tokio::test]
async fn an_empty_answer_is_not_a_silent_one() {
    let stage = Stage::new().await;
    stage.openai.will(Reply::Events(vec![piece(json!({}), Some("stop"))], End::Done));
    stage.snek.says("ch2", "alice", "?");
    assert_eq!(stage.snek.answer(1).await, "I have no answer to that.");
}
