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
async fn a_heartbeat_for_an_agent_says_nothing_of_the_person_who_sends_it() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = alice.lark().await;
    lark.send("presence.update", json!({ "status": "dnd" })).await;
    let told = lark.expect_where("presence.update", |data| data["status"] == "dnd").await;
    assert_eq!(told["member_id"], alice.id.as_str());
    let beat = alice.rest.post("/v1/agents/heartbeat", json!({ "agent": "codebot", "time": 1 })).await.ok();
    assert_eq!((&beat["agent_id"], &beat["presence"]), (&json!(codebot.id), &json!("offline")));
    let own = alice.rest.post("/v1/agents/heartbeat", json!({ "status": "dnd" })).await.ok();
    assert_eq!((&own["agent_id"], &own["presence"]), (&json!(alice.id), &json!("dnd")), "it stayed as it was");
    alice.rest.post("/v1/agents/heartbeat", json!({ "agent": "nobody" })).await.refused(404, "NOT_FOUND");
    let bob = alice.add_human("bob").await;
    bob.rest.post("/v1/agents/heartbeat", json!({ "agent": "codebot" })).await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn the_inbox_knows_its_sources_also_by_the_kinds_of_what_comes_from_them() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let task = json!({ "title": "look", "assigned_to": codebot.id });
    alice.rest.post(&alice.path("tasks"), task).await.created();
    for source in ["task", "task_assigned"] {
        let items = codebot.rest.get(&format!("/v1/agents/me/inbox?source_type={source}")).await.ok();
        assert_eq!(items.as_array().unwrap().len(), 1, "{source}: {items}");
    }
    for source in ["review_request", "review_result", "thread_reply", "approval_result"] {
        let items = codebot.rest.get(&format!("/v1/agents/me/inbox?source_type={source}")).await.ok();
        assert_eq!(items, json!([]), "{source}");
    }
    let mut lark = codebot.lark_agent().await;
    let polled = lark.asks("inbox.poll", json!({ "source_type": "task_assigned" }), "inbox.items").await;
    assert_eq!(polled.as_array().unwrap().len(), 1, "{polled}");
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

#[tokio::test]
async fn whoever_registers_their_agent_again_gets_it_again_and_it_keeps_its_key() {
    let (_hub, alice) = start().await;
    let body = json!({ "name": "termbot", "system_prompt": "You sit in a terminal." });
    let made = alice.rest.post("/v1/agents/register", body).await.created();
    for key in ["id", "member_id", "agent_id"] {
        assert_eq!(made[key], made["member_id"], "`{key}` in {made}");
    }
    let again = alice.rest.post("/v1/agents/register", json!({ "name": "termbot" })).await.ok();
    assert_eq!((&again["id"], &again["api_key"]), (&made["id"], &serde_json::Value::Null));
    let rest = alice.rest.with(&format!("Bearer {}", crate::support::text(&made, "api_key")));
    assert_eq!(rest.post("/v1/agents/register", json!({ "name": "termbot" })).await.ok()["id"], made["id"]);
    let shown = alice.rest.get(&alice.path(&format!("members/{}", crate::support::text(&made, "id")))).await.ok();
    assert_eq!(shown["role_card"]["system_prompt"], "You sit in a terminal.", "what is not said stays");
}

#[tokio::test]
async fn a_name_that_somebody_else_has_stays_taken() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    alice.add_agent("codebot").await;
    alice.rest.post("/v1/agents/register", json!({ "name": "bob" })).await.refused(409, "CONFLICT");
    bob.rest.post("/v1/agents/register", json!({ "name": "codebot" })).await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn an_agent_in_a_list_names_its_workspace() {
    let (_hub, alice) = start().await;
    alice.add_agent("codebot").await;
    let workspace = alice.rest.get(&format!("/v1/workspaces/{}", alice.workspace)).await.ok();
    for path in ["/v1/agents", "/v1/admin/agents", &alice.path("agents")] {
        let agents = alice.rest.get(path).await.ok();
        assert_eq!(agents[0]["workspace"], workspace["name"], "{path}");
        assert_eq!(agents[0]["workspace_id"], workspace["id"], "{path}");
    }
}

#[tokio::test]
async fn the_search_of_the_terminal_client_has_an_address_of_its_own() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "owls hunt at night").await;
    for path in ["/v1/search/messages?q=owls".to_owned(), format!("/v1/search/messages?q=owls&channel_id={general}")] {
        assert_eq!(column(&alice.rest.get(&path).await.ok(), "content"), ["owls hunt at night"], "{path}");
    }
}
