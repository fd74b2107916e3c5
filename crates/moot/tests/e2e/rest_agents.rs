//! Agents over REST: the list, their memory, their metrics, and provisioning.

use serde_json::json;

use crate::support::{column, items, register, start, text};

#[tokio::test]
async fn agents_are_listed_with_status_and_online() {
    let (_hub, alice) = start().await;
    let awake = alice.add_agent("awake").await;
    let away = alice.add_agent("away").await;
    let _lark = awake.lark_agent().await;
    let list = alice.rest.get(&alice.path("agents")).await.ok();
    let of = |id: &str| {
        let agent = items(&list).iter().find(|agent| agent["id"] == id);
        agent.expect("the agent is listed").clone()
    };
    assert_eq!(items(&list).len(), 2, "humans are not listed: {list}");
    assert_eq!(of(&awake.id)["name"], "awake");
    assert_eq!(of(&awake.id)["online"], true);
    assert!(of(&awake.id)["status"].is_string());
    assert_eq!(of(&away.id)["online"], false);
}

#[tokio::test]
async fn an_agent_keeps_memory_by_namespace_and_key() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let path = format!("/v1/agents/{}/memory", codebot.id);
    assert_eq!(codebot.rest.get(&path).await.ok(), json!([]));
    let first = json!({ "namespace": "prefs", "key": "tone", "value": "dry" });
    codebot.rest.post(&path, first).await.done();
    let second = json!({ "namespace": "prefs", "key": "tone", "value": "warm" });
    codebot.rest.post(&path, second).await.done();
    let list = codebot.rest.get(&path).await.ok();
    assert_eq!(items(&list).len(), 1, "the same key is overwritten: {list}");
    assert_eq!(list[0]["namespace"], "prefs");
    assert_eq!(list[0]["key"], "tone");
    assert_eq!(list[0]["value"], "warm");
    codebot.rest.delete(&format!("{path}/prefs/tone")).await.ok();
    assert_eq!(codebot.rest.get(&path).await.ok(), json!([]));
}

#[tokio::test]
async fn memory_is_the_agents_own() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let thief = alice.add_agent("thief").await;
    let bob = alice.add_human("bob").await;
    let path = format!("/v1/agents/{}/memory", codebot.id);
    let body = json!({ "namespace": "n", "key": "k", "value": "secret" });
    codebot.rest.post(&path, body.clone()).await.done();
    for other in [&thief, &bob] {
        other.rest.get(&path).await.hidden();
        other.rest.post(&path, body.clone()).await.hidden();
        other.rest.delete(&format!("{path}/n/k")).await.hidden();
    }
    let list = codebot.rest.get(&path).await.ok();
    assert_eq!(column(&list, "value"), ["secret"]);
}

#[tokio::test]
async fn metrics_of_an_agent_are_an_object() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let path = format!("/v1/agents/{}/metrics", codebot.id);
    assert!(alice.rest.get(&path).await.ok().is_object());
    let mallory = register(&hub, "mallory").await;
    mallory.rest.get(&path).await.hidden();
}

#[tokio::test]
async fn provisioning_needs_a_valid_provision_token() {
    let (_hub, alice) = start().await;
    let rest = alice.rest.anonymous();
    for token in ["", "lpt_wrong", "lpt_0000000000000000000000000000000000000000000000000000000000000000"] {
        let body = json!({ "name": "sneaky", "provision_token": token });
        let refusal = rest.post(&alice.path("agents"), body).await;
        refusal.refused_as(&[400, 401, 403]);
    }
    let list = alice.rest.get(&alice.path("agents")).await.ok();
    assert_eq!(items(&list).len(), 0);
}

#[tokio::test]
async fn a_provisioned_agent_gets_a_key_that_works() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let path = alice.path("provision-tokens");
    bob.rest.post(&path, json!({})).await.refused(403, "FORBIDDEN");
    let made = alice.rest.post(&path, json!({})).await.created();
    let token = made["provision_token"].as_str().or(made["token"].as_str()).expect("a token");
    assert!(token.starts_with("lpt_"), "{made}");
    let body = json!({
        "name": "newbot", "provision_token": token, "system_prompt": "You are new.",
        "capabilities": ["testing"], "runtime_type": "llm", "runtime_provider": "ollama", "runtime_model": "tiny",
    });
    let agent = alice.rest.anonymous().post(&alice.path("agents"), body).await.created();
    assert_eq!(agent["name"], "newbot");
    let rest = alice.rest.with(&format!("Bearer {}", text(&agent, "api_key")));
    assert_eq!(rest.get("/v1/members/me").await.ok()["id"], agent["member_id"]);
    let path = alice.path(&format!("members/{}", text(&agent, "member_id")));
    assert_eq!(alice.rest.get(&path).await.ok()["role_card"]["system_prompt"], "You are new.");
}

#[tokio::test]
async fn a_new_key_ends_the_old_one() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let codebot = alice.add_agent("codebot").await;
    let path = alice.path(&format!("members/{}/key", codebot.id));
    bob.rest.post(&path, json!({})).await.refused(403, "FORBIDDEN");
    let made = alice.rest.post(&path, json!({})).await.ok();
    codebot.rest.get("/v1/members/me").await.refused(401, "AUTH_INVALID_TOKEN");
    let rest = alice.rest.with(&format!("Bearer {}", text(&made, "api_key")));
    assert_eq!(rest.get("/v1/members/me").await.ok()["id"], codebot.id.as_str());
}
