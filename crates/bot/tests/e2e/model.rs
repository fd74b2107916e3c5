//! The model misbehaves: limits, failures, broken streams.

use serde_json::json;

use crate::support::openai::{End, Reply, piece, says};
use crate::support::{Setup, Stage, streams};

fn fails(status: u16) -> Reply {
    Reply::Json(status, json!({"error": {"message": "sk-do-not-tell is wrong"}}))
}

#[tokio::test]
async fn after_429_it_asks_again() {
    let stage = Stage::new().await;
    stage.openai.will(Reply::SlowDown(0));
    stage.openai.will(streams(&["now"]));
    stage.snek.says("ch2", "alice", "hello");
    assert_eq!(stage.snek.answer(1).await, "now");
    assert_eq!(stage.asked().len(), 2);
}

#[tokio::test]
async fn after_500_it_asks_three_times_and_then_says_so() {
    let mut stage = Stage::new().await;
    for _ in 0..4 {
        stage.openai.will(fails(500));
    }
    stage.snek.says("ch2", "alice", "hello");
    assert_eq!(stage.snek.answer(1).await, "I could not answer: the model failed (HTTP 500).");
    assert_eq!(stage.asked().len(), 3);
    stage.until_status(|snapshot| snapshot.counters.failures == 1).await;
}

#[tokio::test]
async fn a_refused_key_is_not_tried_again_and_not_told() {
    let stage = Stage::new().await;
    stage.openai.will(fails(401));
    stage.snek.says("ch2", "alice", "hello");
    assert_eq!(stage.snek.answer(1).await, "I could not answer: the model does not accept my key.");
    assert_eq!(stage.asked().len(), 1);
}

#[tokio::test]
async fn a_stream_that_is_cut_in_the_middle_starts_over() {
    let stage = Stage::new().await;
    stage.openai.will(Reply::Events(vec![piece(json!({"content": "Half an"}), None)], End::Cut));
    stage.openai.will(streams(&["A whole answer"]));
    stage.snek.says("ch2", "alice", "hello");
    assert_eq!(stage.snek.answer(1).await, "A whole answer");
}

#[tokio::test]
async fn a_stream_that_is_cut_every_time_leaves_what_came_and_says_so() {
    let stage = Setup::new().await.limits(|limits| limits.max_retry_attempts = 2).running().await;
    for _ in 0..2 {
        stage.openai.will(Reply::Events(vec![piece(json!({"content": "Half an"}), None)], End::Cut));
    }
    stage.snek.says("ch2", "alice", "hello");
    let answer = stage.snek.answer(1).await;
    assert_eq!(answer, "Half an\n\n(I could not go on: the model's answer broke off.)");
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_is_given_up() {
    let stage = Setup::new()
        .await
        .limits(|limits| (limits.request_timeout_s, limits.max_retry_attempts) = (0.5, 1))
        .running()
        .await;
    stage.openai.will(Reply::Never);
    stage.snek.says("ch2", "alice", "hello");
    assert_eq!(stage.snek.answer(1).await, "I could not answer: the model did not answer within 0.5 s.");
}

#[tokio::test]
async fn an_endpoint_that_does_not_stream_is_understood() {
    let stage = Stage::new().await;
    stage.openai.will(says("all at once"));
    stage.snek.says("ch2", "alice", "hello");
    assert_eq!(stage.snek.answer(1).await, "all at once");
}

#[tokio::test]
async fn nonsense_from_the_endpoint_is_an_answer_in_words() {
    let stage = Stage::new().await;
    stage.openai.will(Reply::Events(vec!["{oops".to_owned()], End::Done));
    stage.snek.says("ch2", "alice", "hello");
    assert_eq!(stage.snek.answer(1).await, "I could not answer: the model's answer could not be understood.");
}
