//! Requests and answers of an agent that is written with the library.

use std::sync::Arc;

use folkmoot_pool::{Agent, Context, Kind, OpError, Session};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::controller::{Controller, Line};
use crate::life::{Running, config, run};

#[derive(Deserialize)]
struct Add {
    one: i64,
    other: i64,
}

#[derive(Serialize)]
struct Sum {
    sum: i64,
}

async fn add(_: Context, add: Add) -> Result<Sum, OpError> {
    Ok(Sum { sum: add.one.checked_add(add.other).ok_or("too-large")? })
}

async fn start(agent: impl FnOnce(Agent) -> Agent) -> (Running, Line) {
    let controller = Controller::start().await;
    let running = run(agent(Agent::new(config(&controller))));
    let line = controller.welcome().await;
    (running, line)
}

#[tokio::test]
async fn an_answer_carries_the_id_of_its_request_and_the_result() {
    let (_agent, mut line) = start(|agent| agent.op("add", add)).await;
    let resp = line.ask("add", json!({ "one": 2, "other": 3 })).await;
    let expected = json!({
        "type": "resp", "id": "request-1", "ok": true, "data": { "sum": 5 },
        "agentId": "agent-1", "runnerId": "runner-7",
    });
    assert_eq!(resp, expected);
}

#[tokio::test]
async fn a_failure_carries_the_error_and_no_data() {
    let (_agent, mut line) = start(|agent| agent.op("add", add)).await;
    let resp = line.ask("add", json!({ "one": i64::MAX, "other": 1 })).await;
    assert_eq!((&resp["ok"], &resp["error"], resp.get("data")), (&json!(false), &json!("too-large"), None));
}

#[tokio::test]
async fn an_operation_nobody_knows_is_unknown_op() {
    let (_agent, mut line) = start(|agent| agent.op("add", add)).await;
    assert_eq!(line.refused("subtract", json!({})).await, "unknown-op");
}

#[tokio::test]
async fn data_that_does_not_fit_is_named_and_the_agent_goes_on() {
    let (_agent, mut line) = start(|agent| agent.op("add", add)).await;
    assert_eq!(line.refused("add", json!({ "one": 1 })).await, "bad-data: missing field `other`");
    assert!(line.refused("add", json!("text")).await.starts_with("bad-data: "));
    assert_eq!(line.done("add", json!({ "one": 1, "other": 1 })).await, json!({ "sum": 2 }));
}

#[tokio::test]
async fn a_request_without_data_is_one_with_nothing_in_it() {
    let (_agent, mut line) = start(|agent| agent.op("echo", |_, data: Value| async { Ok(data) })).await;
    line.send(json!({ "type": "req", "id": "x", "op": "echo" })).await;
    assert_eq!(line.told().await["data"], json!({}));
}

#[tokio::test]
async fn a_panic_is_the_failure_of_one_request() {
    async fn fall(_: Context, _: Value) -> Result<Value, OpError> {
        panic!("on purpose")
    }
    let (_agent, mut line) = start(|agent| agent.op("fall", fall).op("add", add)).await;
    assert_eq!(line.refused("fall", json!({})).await, "agent-error");
    assert_eq!(line.done("add", json!({ "one": 1, "other": 1 })).await, json!({ "sum": 2 }));
}

#[tokio::test]
async fn one_request_that_waits_holds_up_no_other() {
    let gate = Arc::new(Notify::new());
    let opened = Arc::clone(&gate);
    let wait = move |_: Context, _: Value| {
        let gate = Arc::clone(&opened);
        async move {
            gate.notified().await;
            Ok(json!("at last"))
        }
    };
    let (_agent, mut line) = start(|agent| agent.op("wait", wait).op("add", add)).await;
    let slow = line.request("wait", json!({})).await;
    assert_eq!(line.done("add", json!({ "one": 1, "other": 1 })).await, json!({ "sum": 2 }));
    gate.notify_one();
    let late = line.told().await;
    assert_eq!((&late["id"], &late["data"]), (&json!(slow), &json!("at last")));
}

#[tokio::test]
async fn requests_that_do_not_wait_are_answered_in_their_order() {
    let (_agent, mut line) = start(|agent| agent.op("add", add)).await;
    let mut ids = Vec::new();
    for number in 0..200 {
        ids.push(line.request("add", json!({ "one": number, "other": 0 })).await);
    }
    for (number, id) in ids.iter().enumerate() {
        let resp = line.told().await;
        assert_eq!((&resp["id"], &resp["data"]["sum"]), (&json!(id), &json!(number)));
    }
}

#[tokio::test]
async fn what_an_operation_tells_comes_before_its_answer() {
    async fn join_and_leave(context: Context, _: Value) -> Result<Value, OpError> {
        let session = Session::new(Kind::Assistant, "g1", "v1");
        context.join(&session, None);
        context.release(&session, "leave");
        Ok(json!({}))
    }
    let (_agent, mut line) = start(|agent| agent.op("visit", join_and_leave)).await;
    line.request("visit", json!({})).await;
    let told = [line.told().await, line.told().await, line.told().await];
    assert_eq!(told.each_ref().map(|frame| &frame["type"]), ["event", "event", "resp"]);
    assert_eq!((&told[0]["event"], &told[1]["event"]), (&json!("add"), &json!("released")));
    assert_eq!(told[1]["kind"], "assistant");
}

#[tokio::test]
async fn a_session_is_joined_and_released_once() {
    async fn twice(context: Context, _: Value) -> Result<Value, OpError> {
        let session = Session::new(Kind::Music, "g1", "v1");
        context.join(&session, None);
        context.join(&session, None);
        context.release(&session, "stop");
        context.release(&session, "stop");
        Ok(json!({}))
    }
    let (_agent, mut line) = start(|agent| agent.op("twice", twice)).await;
    line.request("twice", json!({})).await;
    let kinds = [line.told().await, line.told().await, line.told().await].map(|frame| frame["type"].clone());
    assert_eq!(kinds, ["event", "event", "resp"]);
}

#[tokio::test]
async fn a_session_that_cannot_be_joined_is_told_with_the_cause() {
    let (agent, mut line) = start(|agent| agent).await;
    agent.context.could_not_join(&Session::new(Kind::Music, "g1", "v1"), "Missing permissions: CONNECT, SPEAK");
    let expected = json!({
        "type": "event", "event": "add", "agentId": "agent-1", "runnerId": "runner-7", "guildId": "g1",
        "voiceChannelId": "v1", "channelId": "v1", "kind": "music", "ok": false,
        "error": "Missing permissions: CONNECT, SPEAK",
    });
    assert_eq!(line.told().await, expected);
}

#[tokio::test]
async fn noise_changes_nothing() {
    let (_agent, mut line) = start(|agent| agent.op("add", add)).await;
    for noise in ["", "hello", "{}", "[]", "{\"type\":\"req\"}", "{\"type\":\"dance\"}", "{\"type\":\"error\"}"] {
        line.send_text(noise).await;
    }
    assert_eq!(line.done("add", json!({ "one": 1, "other": 1 })).await, json!({ "sum": 2 }));
}
