//! The whole table of `/v1`: every endpoint is described, and closed to strangers.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::Value;

use crate::support::{Answer, Hub, Rest, start};

/// Every row of the table, with `{}` for what varies.
const SURFACE: &str = "
POST /v1/auth/logout
POST /v1/workspaces
GET /v1/workspaces
GET /v1/workspaces/{}
PATCH /v1/workspaces/{}
DELETE /v1/workspaces/{}
POST /v1/workspaces/{}/members
GET /v1/workspaces/{}/members
GET /v1/workspaces/{}/members/{}
PATCH /v1/workspaces/{}/members/{}
DELETE /v1/workspaces/{}/members/{}
GET /v1/members/me
POST /v1/members/me/avatar
POST /v1/members/me/password
GET /v1/workspaces/{}/agents
GET /v1/agents/{}/metrics
POST /v1/agents/{}/memory
GET /v1/agents/{}/memory
DELETE /v1/agents/{}/memory/{}/{}
POST /v1/workspaces/{}/channels
GET /v1/workspaces/{}/channels
GET /v1/workspaces/{}/channels/search
GET /v1/workspaces/{}/channels/{}
PATCH /v1/workspaces/{}/channels/{}
DELETE /v1/workspaces/{}/channels/{}
POST /v1/workspaces/{}/channels/{}/archive
POST /v1/workspaces/{}/channels/{}/unarchive
POST /v1/workspaces/{}/channels/{}/members
DELETE /v1/workspaces/{}/channels/{}/members/{}
POST /v1/channels/{}/messages
GET /v1/channels/{}/messages
PATCH /v1/messages/{}
DELETE /v1/messages/{}
GET /v1/messages/{}/thread
GET /v1/messages/{}/edits
POST /v1/messages/{}/reactions
GET /v1/messages/{}/reactions
DELETE /v1/messages/{}/reactions/{}
POST /v1/channels/{}/pins
GET /v1/channels/{}/pins
DELETE /v1/pins/{}
GET /v1/search
GET /v1/search/messages
POST /v1/workspaces/{}/tasks
GET /v1/workspaces/{}/tasks
PATCH /v1/tasks/{}
DELETE /v1/tasks/{}
POST /v1/workspaces/{}/dm
GET /v1/members/{}/dm
GET /v1/members/{}/unread
POST /v1/channels/{}/read
PATCH /v1/channels/{}/notification-preference
GET /v1/notifications
GET /v1/notifications/unread-count
PATCH /v1/notifications/{}/read
POST /v1/notifications/mark-all-read
GET /v1/agents/{}/inbox
GET /v1/agents/{}/inbox/count
POST /v1/agents/{}/inbox/{}/ack
POST /v1/agents/{}/inbox/ack-all
POST /v1/agents/{}/drafts
GET /v1/agents/{}/drafts
POST /v1/drafts/{}/send
DELETE /v1/drafts/{}
POST /v1/agents/{}/workspace
GET /v1/agents/{}/workspace
GET /v1/agents/{}/workspace/search
POST /v1/workspaces/{}/reviews
GET /v1/workspaces/{}/reviews
POST /v1/reviews
GET /v1/reviews
GET /v1/reviews/{}
POST /v1/workspaces/{}/approvals
GET /v1/workspaces/{}/approvals
GET /v1/approvals/{}
PATCH /v1/approvals/{}
POST /v1/workspaces/{}/files
GET /v1/workspaces/{}/files
GET /v1/files/{}
DELETE /v1/files/{}
GET /v1/files/{}/download
GET /v1/calls
GET /v1/calls/{}
POST /v1/workspaces/{}/webhooks
GET /v1/workspaces/{}/webhooks
DELETE /v1/webhooks/{}
GET /v1/admin/stats
POST /v1/admin/backup
GET /v1/admin/agents
GET /v1/status
GET /v1/agents
GET /v1/channels
POST /v1/agents/register
POST /v1/agents/heartbeat
POST /v1/agents/{}/disconnect
GET /v1/workspaces/{}/daemons
GET /v1/daemons/{}
POST /v1/daemons/{}/agents/{}/wake
POST /v1/daemons/{}/agents/{}/restart
GET /v1/users/me/dms
GET /v1/users/me/unread
";

/// Open to everybody, so described but not refused.
const OPEN: &str = "
POST /v1/auth/register
POST /v1/auth/login
GET /v1/auth/providers
POST /v1/workspaces/{}/agents
POST /webhooks/{}/{}
";

fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = table.lines().filter(|line| !line.is_empty());
    lines.map(|line| line.split_once(' ').expect("a method and a path"))
}

/// `/v1/a/{id}` and `/v1/a/{member_id}` are the same row.
fn nameless(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

async fn openapi(hub: &Hub) -> Value {
    let rest = Rest::new(hub.url(""), None);
    rest.get("/openapi.json").await.ok()
}

#[tokio::test]
async fn openapi_describes_every_endpoint_of_the_table() {
    let hub = Hub::start().await;
    let document = openapi(&hub).await;
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.")));
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            described.insert(format!("{} {}", method.to_uppercase(), nameless(path)));
        }
    }
    let missing: Vec<String> = rows(SURFACE)
        .chain(rows(OPEN))
        .map(|(method, path)| format!("{method} {path}"))
        .filter(|row| !described.contains(row))
        .collect();
    assert!(missing.is_empty(), "not described: {missing:#?}");
}

#[tokio::test]
async fn every_endpoint_asks_strangers_for_authentication() {
    let (hub, alice) = start().await;
    let rest = Rest::new(hub.url(""), None);
    let mut open = Vec::new();
    for (method, path) in rows(SURFACE) {
        let path = path.replacen("workspaces/{}", &format!("workspaces/{}", alice.workspace), 1);
        let path = path.replace("{}", "x");
        let method: Method = method.parse().expect("a method");
        let mut request = rest.request(method.clone(), &path);
        if method != Method::GET && method != Method::DELETE {
            request = request.json(&serde_json::json!({}));
        }
        let answer = Answer::of(format!("{method} {path}"), request).await;
        let known = answer.status == 401 && answer.json()["code"] == "AUTH_REQUIRED";
        if !known {
            open.push(format!("{method} {path} → {} {}", answer.status, answer.text()));
        }
    }
    assert!(open.is_empty(), "not 401 AUTH_REQUIRED: {open:#?}");
}

#[tokio::test]
async fn a_readable_page_stands_at_docs() {
    let hub = Hub::start().await;
    let page = Rest::new(hub.url(""), None).get("/docs").await;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").starts_with("text/html"), "{page:?}");
    assert!(page.text().contains("/v1/"), "the page shows the endpoints");
}

#[tokio::test]
async fn an_unknown_path_is_a_json_404() {
    let (_hub, alice) = start().await;
    alice.rest.get("/v1/nowhere").await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_wrong_method_is_a_json_error() {
    let (_hub, alice) = start().await;
    alice.rest.delete("/v1/members/me").await.refused_as(&[404, 405]);
}
