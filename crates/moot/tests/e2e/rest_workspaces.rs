//! Workspaces and who may change them.

use serde_json::json;

use crate::support::{column, register, start, text};

#[tokio::test]
async fn a_workspace_is_listed_and_read() {
    let (_hub, alice) = start().await;
    let list = alice.rest.get("/v1/workspaces").await.ok();
    assert_eq!(column(&list, "id"), [alice.workspace.as_str()]);
    let path = format!("/v1/workspaces/{}", alice.workspace);
    let one = alice.rest.get(&path).await.ok();
    assert_eq!(one["id"], alice.workspace.as_str());
    assert_eq!(one["name"], list[0]["name"]);
    assert_eq!(one["slug"], list[0]["slug"]);
}

#[tokio::test]
async fn the_owner_renames_the_workspace() {
    let (_hub, alice) = start().await;
    let path = format!("/v1/workspaces/{}", alice.workspace);
    let body = json!({ "name": "Moot hill" });
    assert_eq!(alice.rest.patch(&path, body).await.ok()["name"], "Moot hill");
    assert_eq!(alice.rest.get(&path).await.ok()["name"], "Moot hill");
}

#[tokio::test]
async fn a_plain_member_neither_renames_nor_deletes_it() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let path = format!("/v1/workspaces/{}", alice.workspace);
    let before = bob.rest.get(&path).await.ok();
    let body = json!({ "name": "Bob's" });
    bob.rest.patch(&path, body).await.refused(403, "FORBIDDEN");
    bob.rest.delete(&path).await.refused(403, "FORBIDDEN");
    assert_eq!(bob.rest.get(&path).await.ok(), before);
}

#[tokio::test]
async fn strangers_see_nothing_of_a_workspace() {
    let (hub, alice) = start().await;
    let mallory = register(&hub, "mallory").await;
    let path = format!("/v1/workspaces/{}", alice.workspace);
    mallory.rest.get(&path).await.hidden();
    mallory.rest.patch(&path, json!({ "name": "Mine" })).await.hidden();
    mallory.rest.delete(&path).await.hidden();
    for part in ["members", "agents", "channels", "tasks", "files", "approvals", "webhooks", "reviews", "daemons"] {
        mallory.rest.get(&alice.path(part)).await.hidden();
    }
    let list = mallory.rest.get("/v1/workspaces").await.ok();
    assert_eq!(column(&list, "id"), [mallory.workspace.as_str()]);
}

#[tokio::test]
async fn a_second_workspace_can_be_made() {
    let (_hub, alice) = start().await;
    let made = alice.rest.post("/v1/workspaces", json!({ "name": "Second" })).await.created();
    assert_eq!(made["name"], "Second");
    assert_ne!(text(&made, "id"), alice.workspace);
    assert!(!text(&made, "slug").is_empty());
}

#[tokio::test]
async fn a_deleted_workspace_is_gone() {
    let (hub, alice) = start().await;
    let other = register(&hub, "other").await;
    let path = format!("/v1/workspaces/{}", other.workspace);
    other.rest.delete(&path).await.ok();
    other.rest.get(&path).await.refused_as(&[401, 403, 404]);
    let list = alice.rest.get("/v1/workspaces").await.ok();
    assert_eq!(column(&list, "id"), [alice.workspace.as_str()]);
}
