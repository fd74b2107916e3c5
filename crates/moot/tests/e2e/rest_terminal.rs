//! What the terminal client of Lark calls.

use serde_json::json;

use crate::support::{column, items, start};

#[tokio::test]
async fn status_is_an_object() {
    let (_hub, alice) = start().await;
    assert!(alice.rest.get("/v1/status").await.ok().is_object());
}

#[tokio::test]
async fn agents_and_channels_are_bare_arrays_of_the_callers_workspace() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[]).await;
    let agents = alice.rest.get("/v1/agents").await.ok();
    assert_eq!(column(&agents, "id"), [codebot.id.as_str()]);
    let channels = alice.rest.get("/v1/channels").await.ok();
    assert!(column(&channels, "id").contains(&general.as_str()));
}

#[tokio::test]
async fn lists_are_empty_arrays_when_there_is_nothing() {
    let (_hub, alice) = start().await;
    let mut paths = ["/v1/agents", "/v1/calls", "/v1/notifications", "/v1/users/me/dms", "/v1/search?q=nothing"]
        .map(str::to_owned)
        .to_vec();
    for part in ["agents", "tasks", "files", "approvals", "webhooks", "reviews", "daemons"] {
        paths.push(alice.path(part));
    }
    for path in paths {
        assert_eq!(alice.rest.get(&path).await.ok(), json!([]), "{path}");
    }
}

#[tokio::test]
async fn daemons_are_hidden_from_other_workspaces() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = alice.lark().await;
    let agents = json!({ "agents": [{ "name": "codebot", "agent_id": codebot.id }] });
    let daemon = lark.asks("daemon.register", agents, "daemon.registered").await;
    let mallory = crate::support::register(&hub, "mallory").await;
    let path = format!("/v1/daemons/{}", crate::support::text(&daemon, "daemon_id"));
    mallory.rest.get(&path).await.hidden();
    let wake = format!("{path}/agents/codebot/wake");
    mallory.rest.post(&wake, json!({})).await.hidden();
    assert_eq!(items(&mallory.rest.get(&mallory.path("daemons")).await.ok()).len(), 0);
}

#[tokio::test]
async fn an_agent_registers_beats_and_disconnects() {
    let (_hub, alice) = start().await;
    let body = json!({ "name": "termbot", "system_prompt": "You sit in a terminal." });
    let made = alice.rest.post("/v1/agents/register", body).await.done();
    assert_eq!(made["name"], "termbot", "{made}");
    let agents = alice.rest.get("/v1/agents").await.ok();
    assert_eq!(column(&agents, "name"), ["termbot"]);
    let rest = alice.rest.with(&format!("Bearer {}", crate::support::text(&made, "api_key")));
    rest.post("/v1/agents/heartbeat", json!({})).await.ok();
    rest.post("/v1/agents/termbot/disconnect", json!({})).await.ok();
}

#[tokio::test]
async fn the_restart_of_a_hosted_agent_is_told_to_its_daemon() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = alice.lark().await;
    let agents = json!({ "agents": [{ "name": "codebot", "agent_id": codebot.id }] });
    let daemon = lark.asks("daemon.register", agents, "daemon.registered").await;
    let path = format!("/v1/daemons/{}", crate::support::text(&daemon, "daemon_id"));
    alice.rest.post(&format!("{path}/agents/codebot/restart"), json!({})).await.ok();
    alice.rest.post(&format!("{path}/agents/nobody/restart"), json!({})).await.refused(404, "NOT_FOUND");
}
