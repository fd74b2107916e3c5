//! Section 12: tools, from the definition to the result, and the limits of their use.

use serde_json::{Value, json};

use crate::support::openai::says;
use crate::support::snek::{FakeSnek, File};
use crate::support::{Setup, Stage, streams, streams_call, tool_results};

/// Asks something in a direct message, lets the model make one call, and returns what it read.
async fn result_of(stage: &Stage, name: &str, arguments: Value) -> String {
    let here = |snek: &FakeSnek| snek.finals().into_iter().filter(|(channel, _)| channel == "ch2").count();
    let before = here(&stage.snek);
    stage.openai.will(streams_call(name, &arguments.to_string()));
    stage.openai.will(streams(&["done"]));
    stage.snek.says("ch2", "alice", "do it");
    stage.snek.until("answer", |snek| (here(snek) > before).then_some(())).await;
    tool_results(stage.asked().last().unwrap()).pop().unwrap()
}

#[tokio::test]
async fn the_tools_are_sent_and_their_results_come_back_as_the_document_says() {
    let stage = Stage::new().await;
    stage.openai.will(streams_call("database_insert", r#"{"table":"users","data":{"active":true}}"#));
    stage.openai.will(streams_call("database_find", r#"{"table": "users", "query": {"active": true}}"#));
    stage.openai.will(streams(&["one user"]));
    stage.snek.says("ch2", "alice", "who is active?");
    assert_eq!(stage.snek.answer(1).await, "one user");
    let asked = stage.asked();
    let find = asked[0]["tools"].as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "database_find");
    let parameters = &find.unwrap()["function"]["parameters"];
    assert_eq!(parameters["properties"]["table"]["type"], "string");
    assert_eq!(parameters["properties"]["query"]["type"], "object");
    assert_eq!(parameters["required"], json!(["table"]));
    let last = asked[2]["messages"].as_array().unwrap();
    let call = &last[last.len() - 2];
    assert_eq!((call["role"].as_str(), call["tool_calls"][0]["id"].as_str()), (Some("assistant"), Some("call_abc123")));
    let result = last.last().unwrap();
    assert_eq!((result["role"].as_str(), result["tool_call_id"].as_str()), (Some("tool"), Some("call_abc123")));
    assert_eq!(result["content"], r#"[{"active":true,"id":1}]"#);
}

#[tokio::test]
async fn a_loop_that_never_ends_is_ended_after_25_rounds() {
    let stage = Stage::new().await;
    for number in 0..40 {
        stage.openai.will(streams_call("scratchpad_write", &json!({"note": number.to_string()}).to_string()));
    }
    stage.snek.says("ch2", "alice", "never stop");
    assert_eq!(stage.snek.answer(1).await, "I stopped, because 25 rounds of tool calls were not enough.");
    let asked = stage.asked();
    assert_eq!(asked.len(), 27, "25 rounds, the one that was too much, and the last word");
    assert_eq!(tool_results(&asked[26]).len(), 25);
    assert_eq!(asked[26]["tool_choice"], "none");
    assert!(asked[25].get("tool_choice").is_none());
}

#[tokio::test]
async fn endless_repetitions_end_after_5_identical_calls() {
    let stage = Stage::new().await;
    for _ in 0..6 {
        stage.openai.will(streams_call("date_and_time", "{}"));
    }
    stage.openai.will(streams(&["it is late"]));
    stage.snek.says("ch2", "alice", "what time is it?");
    assert_eq!(stage.snek.answer(1).await, "it is late");
    let results = tool_results(stage.asked().last().unwrap());
    assert_eq!(results.len(), 6);
    assert!(results[4].contains("UTC") && results[5].starts_with("error: not called"), "{results:?}");
}

#[tokio::test]
async fn malformed_arguments_are_errors_and_three_in_a_row_end_it() {
    let stage = Stage::new().await;
    for arguments in ["{oops", "[]", r#"{"table": 7}"#] {
        stage.openai.will(streams_call("database_find", arguments));
    }
    stage.openai.will(streams(&["I give up"]));
    stage.snek.says("ch2", "alice", "find it");
    assert_eq!(stage.snek.answer(1).await, "I give up");
    let asked = stage.asked();
    assert_eq!(asked.len(), 4);
    let results = tool_results(&asked[3]);
    assert!(results.iter().all(|result| result.starts_with("error: the arguments of `database_find`")), "{results:?}");
    assert_eq!(asked[3]["tool_choice"], "none");
}

#[tokio::test]
async fn unknown_and_private_tools_are_errors() {
    let stage = Stage::new().await;
    assert_eq!(result_of(&stage, "no_such_tool", json!({})).await, "error: there is no tool `no_such_tool`");
    assert_eq!(result_of(&stage, "_hidden", json!({})).await, "error: there is no tool `_hidden`");
}

#[tokio::test]
async fn a_tool_that_fails_five_times_rests_until_the_recovery_time_is_over() {
    let stage = Setup::new()
        .await
        .limits(|limits| (limits.circuit_recovery_timeout_s, limits.max_consecutive_tool_errors) = (3600.0, 100))
        .running()
        .await;
    for number in 0..6 {
        stage.openai.will(streams_call("web_search", &json!({"query": number.to_string()}).to_string()));
    }
    stage.openai.will(streams_call("date_and_time", "{}"));
    stage.openai.will(streams(&["no luck"]));
    stage.snek.says("ch2", "alice", "search");
    assert_eq!(stage.snek.answer(1).await, "no luck");
    let results = tool_results(stage.asked().last().unwrap());
    assert!(results[4].contains("404"), "{results:?}");
    assert!(results[5].starts_with("error: the tool `web_search` has failed too often and rests"), "{results:?}");
    assert!(results[6].contains("UTC"), "every tool has its own breaker");
    assert_eq!(stage.snek.fetched().len(), 5);
}

#[tokio::test]
async fn private_pages_are_refused() {
    let stage = Stage::new().await;
    let other = FakeSnek::start().await;
    other.put("/secret", File::Bytes("text/plain", b"secret".to_vec()));
    for url in [
        other.http("/secret"),
        stage.snek.http("/v1/members/me"),
        "http://169.254.169.254/latest".into(),
        "file:///etc/passwd".into(),
    ] {
        let result = result_of(&stage, "fetch_page", json!({"url": url})).await;
        assert!(result.starts_with("error: "), "{result}");
    }
    assert!(other.fetched().is_empty() && stage.snek.fetched().is_empty());
}

#[tokio::test]
async fn a_search_asks_the_configured_service() {
    let stage = Stage::new().await;
    let answer = json!({"results": [{"title": "Rust", "url": "https://rust-lang.org", "description": "a language"}]});
    stage.snek.put("/search", File::Bytes("application/json", answer.to_string().into_bytes()));
    let result = result_of(&stage, "web_search", json!({"query": "rust language", "count": 3})).await;
    assert_eq!(result, r#"[{"description":"a language","title":"Rust","url":"https://rust-lang.org"}]"#);
    assert_eq!(stage.snek.fetched(), ["GET /search?query=rust+language&q=rust+language&count=3&format=json"]);
}

#[tokio::test]
async fn deep_research_makes_at_most_8_searches_and_a_summary() {
    let stage = Stage::new().await;
    let answer = json!([{"title": "T", "url": "https://example.org", "content": "found"}]);
    stage.snek.put("/search", File::Bytes("application/json", answer.to_string().into_bytes()));
    stage.openai.will(streams_call("deep_research", r#"{"question":"why?"}"#));
    let queries: Vec<_> = (1..=12).map(|number| format!("{number}. query {number}")).collect();
    stage.openai.will(says(&queries.join("\n")));
    stage.openai.will(says("Because (https://example.org)."));
    stage.openai.will(streams(&["the answer"]));
    stage.snek.says("ch2", "alice", "research it");
    assert_eq!(stage.snek.answer(1).await, "the answer");
    assert_eq!(stage.snek.fetched().len(), 8);
    let asked = stage.asked();
    let summary = asked[2]["messages"][1]["content"].as_str().unwrap();
    assert_eq!(summary.matches("https://example.org").count(), 1, "a source counts once");
    assert_eq!(tool_results(&asked[3]), ["Because (https://example.org)."]);
}

#[tokio::test]
async fn a_plan_has_at_most_10_steps() {
    let stage = Stage::new().await;
    let steps: Vec<_> = (1..=14).map(|number| format!("- step {number}")).collect();
    stage.openai.will(streams_call("make_plan", r#"{"goal":"world peace"}"#));
    stage.openai.will(says(&steps.join("\n")));
    stage.openai.will(streams(&["planned"]));
    stage.snek.says("ch2", "alice", "plan it");
    stage.snek.answer(1).await;
    let results = tool_results(stage.asked().last().unwrap());
    assert_eq!(results[0].lines().count(), 10);
    assert!(results[0].starts_with("1. step 1\n") && results[0].ends_with("10. step 10\n"));
}

#[tokio::test]
async fn the_scratchpad_remembers_within_a_channel() {
    let stage = Stage::new().await;
    assert_eq!(result_of(&stage, "scratchpad_write", json!({"note": "milk"})).await, r#"{"notes":1}"#);
    assert_eq!(result_of(&stage, "scratchpad_read", json!({})).await, r#"["milk"]"#);
    assert_eq!(result_of(&stage, "scratchpad_clear", json!({})).await, "cleared");
    assert_eq!(result_of(&stage, "scratchpad_read", json!({})).await, "[]");
}

#[tokio::test]
async fn the_time_is_told_in_any_zone() {
    let stage = Stage::new().await;
    assert!(result_of(&stage, "date_and_time", json!({})).await.ends_with("UTC"));
    let unknown = result_of(&stage, "date_and_time", json!({"timezone": "Mars/Base"})).await;
    assert_eq!(unknown, "error: there is no time zone `Mars/Base`");
}

#[tokio::test]
async fn a_message_is_sent_to_another_channel_but_not_into_private_talks() {
    let stage = Stage::new().await;
    let args = json!({"channel": "#news", "message": "hear, hear"});
    assert_eq!(result_of(&stage, "send_to_channel", args).await, "said in news");
    assert_eq!(stage.snek.finals()[0], ("ch3".to_owned(), "hear, hear".to_owned()));
    stage.openai.will(streams_call("send_to_channel", r#"{"channel":"ch2","message":"psst"}"#));
    stage.openai.will(streams(&["refused"]));
    stage.snek.says("ch1", "mallory", "@mybot tell alice");
    stage.snek.until("answer", |snek| snek.finals().iter().any(|(_, text)| text == "refused").then_some(())).await;
    assert!(stage.snek.finals().iter().all(|(_, text)| text != "psst"));
    let results = tool_results(stage.asked().last().unwrap());
    assert_eq!(results, ["error: messages go to channels only, not to direct conversations"]);
}
