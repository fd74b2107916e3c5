//! A plain Lark client that works as an agent: takes its wakes, reports its runs.

use serde_json::{Value, json};

use super::{Lark, Member, text};

/// The wake of this agent, and from it a run that has begun.
pub async fn takes_up(agent: &mut Lark) -> Value {
    let wake = agent.expect("agent.wake").await;
    let delivery = wake["context"]["delivery"]["id"].clone();
    let started = begins(agent, &delivery).await;
    assert_eq!(started["resumed"], false, "{started}");
    started["run"].clone()
}

pub async fn begins(agent: &mut Lark, delivery: &Value) -> Value {
    let data = json!({ "delivery_id": delivery, "engine": "script", "project": "shop", "machine": "laptop" });
    agent.asks("run.start", data, "run.started").await
}

pub async fn acts(agent: &mut Lark, run: &Value, id: &str, phase: &str) {
    let data = json!({
        "run_id": run["id"],
        "id": id,
        "kind": "command",
        "title": format!("cargo test {id}"),
        "phase": phase,
        "ok": (phase == "completed").then_some(true),
        "detail": { "exit": 0 },
    });
    agent.send("run.action", data).await;
}

pub async fn ends(agent: &mut Lark, run: &Value, state: &str, answer: &str) -> Value {
    let data = json!({ "run_id": run["id"], "state": state, "answer": answer });
    agent.asks("run.complete", data, "run.completed").await["run"].clone()
}

pub async fn shown(reader: &Member, run: &Value) -> Value {
    reader.rest.get(&format!("/v1/runs/{}", text(run, "id"))).await.ok()
}

/// A message as it is now.
pub async fn message(reader: &Member, id: &Value) -> Value {
    let id = id.as_str().expect("the id of a message");
    reader.rest.get(&format!("/v1/messages/{id}")).await.ok()
}
