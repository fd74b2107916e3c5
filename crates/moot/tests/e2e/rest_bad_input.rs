//! REST requests that make no sense get a clear answer and change nothing.

use serde_json::json;

use crate::support::{start, text};

#[tokio::test]
async fn a_body_over_1_mb_is_refused() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let path = format!("/v1/channels/{general}/messages");
    let body = json!({ "content": "x", "metadata": { "pad": "y".repeat(1024 * 1024) } });
    alice.rest.post(&path, body).await.refused(413, "PAYLOAD_TOO_LARGE");
    assert!(alice.texts(&general).await.is_empty());
}

#[tokio::test]
async fn a_body_that_is_no_json_is_a_bad_request() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let path = format!("/v1/channels/{general}/messages");
    for body in ["", "{", "hello", "[]", "null", "\"text\"", "{\"content\":"] {
        let answer = alice.rest.post_text(&path, body.to_owned()).await;
        answer.refused(400, "BAD_REQUEST");
    }
    let nested = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    alice.rest.post_text(&path, nested).await.refused(400, "BAD_REQUEST");
    assert!(alice.texts(&general).await.is_empty());
}

#[tokio::test]
async fn unknown_ids_are_not_found() {
    let (_hub, alice) = start().await;
    for path in [
        "/v1/messages/msg_x/thread",
        "/v1/messages/msg_x/edits",
        "/v1/messages/msg_x/reactions",
        "/v1/approvals/x",
        "/v1/reviews/x",
        "/v1/files/x",
        "/v1/files/x/download",
        "/v1/calls/x",
        "/v1/daemons/x",
    ] {
        alice.rest.get(path).await.refused(404, "NOT_FOUND");
    }
    for path in ["/v1/messages/msg_x", "/v1/tasks/x", "/v1/pins/x", "/v1/webhooks/x", "/v1/files/x", "/v1/drafts/x"] {
        alice.rest.delete(path).await.refused(404, "NOT_FOUND");
    }
    for path in ["/v1/channels/ch_x/messages", "/v1/channels/ch_x/pins"] {
        alice.rest.get(path).await.hidden();
    }
}

#[tokio::test]
async fn paths_that_try_to_escape_are_just_unknown() {
    let (_hub, alice) = start().await;
    for path in [
        "/v1/files/..%2f..%2fetc%2fpasswd/download",
        "/v1/messages/%27%20OR%201=1--/thread",
        "/v1/channels/%00/messages",
    ] {
        let answer = alice.rest.get(path).await;
        answer.refused_as(&[400, 403, 404]);
    }
}

#[tokio::test]
async fn an_error_says_what_was_wrong_without_showing_the_inside() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let path = format!("/v1/channels/{general}/messages");
    let refusal = alice.rest.post(&path, json!({ "content": 7 })).await.refused(400, "BAD_REQUEST");
    assert!(text(&refusal, "message").contains("content"), "{refusal}");
    for inside in ["rusqlite", "src/", "panicked", "SELECT"] {
        assert!(!refusal.to_string().contains(inside), "{refusal}");
    }
}

#[tokio::test]
async fn a_foreign_origin_does_not_write_over_rest() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let path = format!("/v1/channels/{general}/messages");
    let from = |origin: String| {
        let request = alice.rest.request(reqwest::Method::POST, &path).header("origin", origin);
        request.json(&json!({ "content": "hello" })).send()
    };
    let answer = from("https://evil.example".to_owned()).await.expect("an answer");
    assert_eq!(answer.status(), 403);
    let allowed = answer.headers().get("access-control-allow-origin");
    assert!(allowed.is_none(), "{allowed:?}");
    assert_eq!(alice.history(&general).await, json!([]));
    let own = from(alice.rest.base.clone()).await.expect("an answer");
    assert_eq!(own.status(), 201);
}
