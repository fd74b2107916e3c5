//! The MCP door: one address, both eras, no sessions, and nobody without a key.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::mcp::{MODERN, Mcp, meta};

use crate::support::{Answer, Member, start};

async fn raw(member: &Member, body: Value, headers: &[(&str, &str)]) -> Answer {
    let mut request = member.rest.request(Method::POST, "/mcp").json(&body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Answer::of(format!("POST /mcp {body}"), request).await
}

fn request(method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "_meta": meta() } })
}

#[tokio::test]
async fn both_eras_are_served_at_one_address() {
    let (_hub, alice) = start().await;
    let discovered = Mcp::modern(&alice).result("server/discover", json!({})).await;
    assert_eq!(discovered["supportedVersions"][0], MODERN);
    assert_eq!(discovered["resultType"], "complete");
    assert!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"].is_string());
    let older = Mcp::legacy(&alice);
    let begun = older.result("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {} })).await;
    assert_eq!(begun["protocolVersion"], "2025-06-18");
    assert_eq!(begun["resultType"], Value::Null, "older clients do not know that field");
    assert_eq!(older.result("ping", json!({})).await, json!({}));
    for client in [older, Mcp::modern(&alice)] {
        let listed = client.result("tools/list", json!({})).await;
        assert!(listed["tools"].as_array().unwrap().len() >= 10);
        assert!(client.call("whoami", json!({})).await.starts_with("You are alice (person"));
    }
}

#[tokio::test]
async fn nobody_comes_in_without_a_key_and_one_that_was_replaced_is_none() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let stranger = alice.rest.anonymous();
    let answer = stranger.post("/mcp", request("server/discover")).await;
    assert_eq!((answer.status, answer.header("www-authenticate")), (401, "Bearer"));
    assert!(Mcp::modern(&codebot).call("whoami", json!({})).await.contains("codebot (agent"));
    alice.rest.post(&alice.path(&format!("members/{}/key", codebot.id)), json!({})).await.ok();
    let answer = raw(&codebot, request("tools/list"), &[]).await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn there_is_no_stream_to_open_and_no_session_to_end() {
    let (_hub, alice) = start().await;
    for method in [Method::GET, Method::DELETE, Method::PUT] {
        let answer = Answer::of(format!("{method} /mcp"), alice.rest.request(method, "/mcp")).await;
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"));
    }
    let begun = raw(&alice, json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} }), &[]).await;
    assert_eq!(begun.header("mcp-session-id"), "");
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said_in_the_protocols_numbers() {
    let (_hub, alice) = start().await;
    let version = ("mcp-protocol-version", MODERN);
    let cases = [
        (request("ping"), vec![version, ("mcp-method", "ping")], 404, -32601),
        (request("tools/list"), vec![version], 400, -32020),
        (request("tools/list"), vec![version, ("mcp-method", "tools/call")], 400, -32020),
        (json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover" }), vec![], 400, -32602),
        (json!([request("tools/list")]), vec![], 400, -32600),
    ];
    for (body, headers, status, code) in cases {
        let answer = raw(&alice, body.clone(), &headers).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &json!(code)), "{body}");
    }
    let other = raw(
        &alice,
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
        &[("mcp-protocol-version", "2031-01-01")],
    );
    assert_eq!(other.await.status, 400);
    let broken = alice.rest.post_text("/mcp", "{".to_owned()).await;
    assert_eq!((broken.status, &broken.json()["error"]["code"]), (400, &json!(-32700)));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(raw(&alice, note, &[]).await.status, 202);
    let unknown = Mcp::modern(&alice).answer("tools/call", json!({ "name": "shell", "arguments": {} })).await;
    assert_eq!(unknown["error"]["code"], -32602);
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_and_a_page_of_another_site_as_well() {
    let (_hub, alice) = start().await;
    let large = alice.rest.post_text("/mcp", "x".repeat(1024 * 1024 + 1)).await;
    assert_eq!(large.status, 413);
    for origin in ["http://evil.example", "null"] {
        assert_eq!(raw(&alice, request("server/discover"), &[("origin", origin)]).await.status, 403, "{origin}");
    }
    let rebound =
        raw(&alice, request("server/discover"), &[("origin", "http://evil.example"), ("host", "evil.example")]);
    assert_eq!(rebound.await.status, 403, "a name that points here does not make a page ours");
}
