//! Logging in and out, the forms of `Authorization`, and the limit on failures.

use serde_json::{Value, json};

use crate::support::member::{PASSWORD, email};
use crate::support::{Rest, start, text};

fn by_email(name: &str, password: &str) -> Value {
    json!({ "email": email(name), "password": password })
}

#[tokio::test]
async fn login_works_with_the_email() {
    let (_hub, alice) = start().await;
    let rest = alice.rest.anonymous();
    let body = by_email("alice", PASSWORD);
    let answer = rest.post("/v1/auth/login", body).await.ok();
    assert_eq!(answer["member_id"], alice.id.as_str());
    assert_eq!(answer["workspace_id"], alice.workspace.as_str());
    assert_eq!(answer["name"], "alice");
    let rest = rest.with(&format!("Bearer {}", text(&answer, "token")));
    rest.get("/v1/members/me").await.ok();
}

#[tokio::test]
async fn login_works_with_the_name() {
    let (_hub, alice) = start().await;
    let body = json!({ "name": "alice", "password": PASSWORD });
    let answer = alice.rest.anonymous().post("/v1/auth/login", body).await.ok();
    assert_eq!(answer["member_id"], alice.id.as_str());
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_account_get_the_same_answer() {
    let (_hub, alice) = start().await;
    let rest = alice.rest.anonymous();
    let wrong = rest.post("/v1/auth/login", by_email("alice", "not the password")).await;
    let wrong = wrong.refused(401, "AUTH_INVALID_CREDENTIALS");
    let unknown = rest.post("/v1/auth/login", by_email("nobody", PASSWORD)).await;
    let unknown = unknown.refused(401, "AUTH_INVALID_CREDENTIALS");
    assert_eq!(wrong, unknown, "the answer does not tell who has an account");
}

#[tokio::test]
async fn no_authorization_is_auth_required() {
    let (_hub, alice) = start().await;
    let answer = alice.rest.anonymous().get("/v1/members/me").await;
    answer.refused(401, "AUTH_REQUIRED");
}

#[tokio::test]
async fn a_wrong_token_is_auth_invalid_token() {
    let (_hub, alice) = start().await;
    for header in ["Bearer nonsense", "ApiKey lr_nonsense", "Bearer lr_0"] {
        let answer = alice.rest.with(header).get("/v1/members/me").await;
        answer.refused(401, "AUTH_INVALID_TOKEN");
    }
}

#[tokio::test]
async fn an_api_key_works_as_bearer_and_as_apikey() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    for scheme in ["Bearer", "ApiKey"] {
        let rest = alice.rest.with(&format!("{scheme} {}", codebot.token));
        let me = rest.get("/v1/members/me").await.ok();
        assert_eq!(me["id"], codebot.id.as_str());
    }
}

#[tokio::test]
async fn logout_ends_this_token_and_no_other() {
    let (_hub, alice) = start().await;
    let other = alice.log_in("alice").await;
    other.rest.post("/v1/auth/logout", json!({})).await.ok();
    other.rest.get("/v1/members/me").await.refused(401, "AUTH_INVALID_TOKEN");
    alice.rest.get("/v1/members/me").await.ok();
}

#[tokio::test]
async fn providers_can_be_asked_without_a_token() {
    let (_hub, alice) = start().await;
    alice.rest.anonymous().get("/v1/auth/providers").await.ok();
}

/// Fails to log in until the hub has had enough, and returns that answer.
async fn until_limited(rest: &Rest, name: &str) -> crate::support::Answer {
    for _ in 0..60 {
        let answer = rest.post("/v1/auth/login", by_email(name, "wrong password")).await;
        if answer.status != 401 {
            return answer;
        }
    }
    panic!("60 failed logins were not limited");
}

#[tokio::test]
async fn failed_logins_are_limited_with_429_and_retry_after() {
    let (_hub, alice) = start().await;
    let rest = alice.rest.anonymous();
    let answer = until_limited(&rest, "alice").await;
    let seconds: u64 = answer.header("retry-after").parse().expect("Retry-After in seconds");
    assert!(seconds >= 1);
    answer.refused(429, "RATE_LIMITED");
    // Who holds a token goes on working.
    alice.rest.get("/v1/members/me").await.ok();
}

#[tokio::test]
async fn a_limited_account_refuses_the_right_password_too() {
    let (_hub, alice) = start().await;
    let rest = alice.rest.anonymous();
    until_limited(&rest, "alice").await;
    let answer = rest.post("/v1/auth/login", by_email("alice", PASSWORD)).await;
    answer.refused(429, "RATE_LIMITED");
}

#[tokio::test]
async fn successful_logins_are_not_counted() {
    let (_hub, alice) = start().await;
    let rest = alice.rest.anonymous();
    for _ in 0..25 {
        let body = by_email("alice", PASSWORD);
        rest.post("/v1/auth/login", body).await.ok();
    }
}

#[tokio::test]
async fn failures_against_many_accounts_from_one_address_are_limited() {
    let (_hub, alice) = start().await;
    let rest = alice.rest.anonymous();
    for attempt in 0..200 {
        let body = by_email(&format!("guess{attempt}"), "wrong password");
        let answer = rest.post("/v1/auth/login", body).await;
        if answer.status == 429 {
            return;
        }
    }
    panic!("200 failed logins from one address were not limited");
}

#[tokio::test]
async fn a_changed_password_replaces_the_old_one() {
    let (_hub, alice) = start().await;
    let path = "/v1/members/me/password";
    let wrong = json!({ "current_password": "not the password", "new_password": "another long password" });
    alice.rest.post(path, wrong).await.refused_as(&[400, 401, 403]);
    let missing = json!({ "new_password": "another long password" });
    alice.rest.post(path, missing).await.refused_as(&[400, 401, 403]);
    let short = json!({ "current_password": PASSWORD, "new_password": "short" });
    alice.rest.post(path, short).await.refused(400, "BAD_REQUEST");
    alice.log_in("alice").await;
    let right = json!({ "current_password": PASSWORD, "new_password": "another long password" });
    alice.rest.post(path, right).await.ok();
    let rest = alice.rest.anonymous();
    let old = rest.post("/v1/auth/login", by_email("alice", PASSWORD)).await;
    old.refused(401, "AUTH_INVALID_CREDENTIALS");
    rest.post("/v1/auth/login", by_email("alice", "another long password")).await.ok();
}
