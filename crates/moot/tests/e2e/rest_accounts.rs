//! First accounts: registration in its three modes.

use serde_json::json;

use crate::support::member::{PASSWORD, email};
use crate::support::{Hub, Rest, Setup, number, register, start, text, token};

fn anonymous(hub: &Hub) -> Rest {
    Rest::new(hub.url(""), None)
}

fn account(name: &str) -> serde_json::Value {
    json!({ "email": email(name), "password": PASSWORD, "name": name })
}

async fn hub_with(registration: &str) -> Hub {
    let setup = Setup::default().env("MOOT_SERVER__REGISTRATION", registration);
    setup.start().await
}

#[tokio::test]
async fn register_gives_a_token_and_a_workspace() {
    let hub = Hub::start().await;
    let made = anonymous(&hub).post("/v1/auth/register", account("alice")).await.created();
    assert_eq!(made["name"], "alice");
    assert_eq!(made["workspace"]["id"], made["workspace_id"]);
    assert!(!text(&made["workspace"], "name").is_empty());
    assert!(!text(&made["workspace"], "slug").is_empty());
    let rest = anonymous(&hub).with(&format!("Bearer {}", text(&made, "token")));
    let me = rest.get("/v1/members/me").await.ok();
    assert_eq!(me["id"], made["member_id"]);
    assert_eq!(me["name"], "alice");
}

#[tokio::test]
async fn the_token_is_a_jwt_with_the_documented_claims() {
    let (_hub, alice) = start().await;
    let (header, claims) = token::decoded(&alice.token);
    assert_eq!(header["alg"], "HS256");
    assert_eq!(claims["member_id"], alice.id.as_str());
    assert_eq!(claims["workspace_id"], alice.workspace.as_str());
    assert_eq!(claims["iss"], "lark");
    assert!(!text(&claims, "jti").is_empty());
    let (issued, expires) = (number(&claims, "iat"), number(&claims, "exp"));
    assert_eq!(expires - issued, 24 * 3600);
    assert!((token::now() - issued).abs() < 60);
}

#[tokio::test]
async fn with_registration_first_the_second_account_is_forbidden() {
    let hub = hub_with("first").await;
    let rest = anonymous(&hub);
    rest.post("/v1/auth/register", account("alice")).await.created();
    let refusal = rest.post("/v1/auth/register", account("bob")).await;
    refusal.refused(403, "FORBIDDEN");
    let login = json!({ "email": email("bob"), "password": PASSWORD });
    rest.post("/v1/auth/login", login).await.refused_as(&[401]);
}

#[tokio::test]
async fn with_registration_first_only_one_of_many_at_once_wins() {
    let hub = hub_with("first").await;
    let rest = anonymous(&hub);
    let attempts = (0..4).map(|number| {
        let rest = rest.clone();
        tokio::spawn(async move {
            let body = account(&format!("user{number}"));
            rest.post("/v1/auth/register", body).await.status
        })
    });
    let attempts: Vec<_> = attempts.collect();
    let mut statuses = Vec::new();
    for attempt in attempts {
        statuses.push(attempt.await.expect("an answer"));
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 403, 403, 403]);
}

#[tokio::test]
async fn with_registration_open_everybody_owns_a_workspace() {
    let (hub, alice) = start().await;
    let bob = register(&hub, "bob").await;
    assert_ne!(alice.workspace, bob.workspace);
    bob.add_channel("mine", &[]).await;
    alice.rest.get(&bob.path("channels")).await.hidden();
    bob.rest.get(&alice.path("channels")).await.hidden();
}

#[tokio::test]
async fn with_registration_closed_nobody_registers() {
    let hub = hub_with("closed").await;
    let refusal = anonymous(&hub).post("/v1/auth/register", account("alice")).await;
    refusal.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn an_email_registers_once() {
    let (hub, _alice) = start().await;
    let mut body = account("alice");
    body["name"] = json!("another");
    let refusal = anonymous(&hub).post("/v1/auth/register", body).await;
    refusal.refused(409, "AUTH_EMAIL_EXISTS");
}

#[tokio::test]
async fn a_short_password_is_refused_and_makes_no_account() {
    let hub = hub_with("first").await;
    let rest = anonymous(&hub);
    for password in ["", "short"] {
        let body = json!({ "email": email("alice"), "password": password, "name": "alice" });
        rest.post("/v1/auth/register", body).await.refused(400, "BAD_REQUEST");
    }
    rest.post("/v1/auth/register", account("alice")).await.created();
}

#[tokio::test]
async fn an_incomplete_registration_is_refused() {
    let hub = hub_with("first").await;
    let rest = anonymous(&hub);
    for missing in ["email", "password", "name"] {
        let mut body = account("alice");
        body.as_object_mut().expect("an object").remove(missing);
        rest.post("/v1/auth/register", body).await.refused(400, "BAD_REQUEST");
        let mut body = account("alice");
        body[missing] = json!(7);
        rest.post("/v1/auth/register", body).await.refused(400, "BAD_REQUEST");
    }
    rest.post("/v1/auth/register", account("alice")).await.created();
}

#[tokio::test]
async fn neither_password_nor_hash_is_shown() {
    let (hub, alice) = start().await;
    let rest = anonymous(&hub);
    let login = json!({ "email": email("alice"), "password": PASSWORD });
    let login = rest.post("/v1/auth/login", login).await.text();
    let me = alice.rest.get("/v1/members/me").await.text();
    for shown in [login, me] {
        assert!(!shown.contains(PASSWORD) && !shown.contains("argon2"), "{shown}");
    }
}
