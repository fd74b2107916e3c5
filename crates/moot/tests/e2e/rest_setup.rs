//! The first run from a browser: whether the hub waits for its owner, the one-time code, invitations, and the page itself.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::member::{PASSWORD, email};
use crate::support::rest::Answer;
use crate::support::{Hub, Rest, start, text};

fn anonymous(hub: &Hub) -> Rest {
    Rest::new(hub.url(""), None)
}

fn account(name: &str) -> Value {
    json!({ "email": email(name), "password": PASSWORD, "name": name })
}

/// A call as a proxy hands it on: the socket is of this machine, the caller is not.
async fn from_elsewhere(hub: &Hub, method: Method, path: &str, body: Value) -> Answer {
    let request = anonymous(hub).request(method.clone(), path).header("x-forwarded-for", "203.0.113.9").json(&body);
    Answer::of(format!("{method} {path}"), request).await
}

async fn printed_code(hub: &Hub) -> String {
    let log = hub.logged("one-time code: ").await;
    let (_, rest) = log.split_once("one-time code: ").expect("the code is printed");
    rest.split_whitespace().next().expect("a code").to_owned()
}

#[tokio::test]
async fn a_fresh_hub_needs_its_owner_and_on_this_machine_no_code() {
    let hub = Hub::start().await;
    let rest = anonymous(&hub);
    let setup = rest.get("/v1/setup").await.ok();
    assert_eq!((&setup["needs_owner"], &setup["code_needed"]), (&json!(true), &json!(false)), "{setup}");
    assert!(!text(&setup, "version").is_empty());
    rest.post("/v1/auth/register", account("alice")).await.created();
    let setup = rest.get("/v1/setup").await.ok();
    assert_eq!((&setup["needs_owner"], &setup["code_needed"]), (&json!(false), &json!(false)), "{setup}");
}

#[tokio::test]
async fn the_first_account_from_elsewhere_needs_the_printed_code() {
    let hub = Hub::start().await;
    let setup = from_elsewhere(&hub, Method::GET, "/v1/setup", json!({})).await.ok();
    assert_eq!((&setup["needs_owner"], &setup["code_needed"]), (&json!(true), &json!(true)), "{setup}");
    let refusal = from_elsewhere(&hub, Method::POST, "/v1/auth/register", account("mallory")).await;
    let refusal = refusal.refused(403, "FORBIDDEN");
    assert!(text(&refusal, "message").contains("`moot serve` printed"), "{refusal}");
    let mut wrong = account("mallory");
    wrong["setup_code"] = json!("00000-00000");
    from_elsewhere(&hub, Method::POST, "/v1/auth/register", wrong).await.refused(403, "FORBIDDEN");
    let mut right = account("alice");
    right["setup_code"] = json!(printed_code(&hub).await);
    from_elsewhere(&hub, Method::POST, "/v1/auth/register", right).await.created();
    // Registration is open in these tests: later accounts need no code.
    from_elsewhere(&hub, Method::POST, "/v1/auth/register", account("bob")).await.created();
}

#[tokio::test]
async fn a_page_of_another_site_makes_no_account() {
    let hub = Hub::start().await;
    for origin in ["https://evil.example", "null"] {
        let request = anonymous(&hub).request(Method::POST, "/v1/auth/register").header("origin", origin);
        let refusal = Answer::of("register".into(), request.json(&account("mallory"))).await;
        refusal.refused(403, "FORBIDDEN");
    }
    let own = anonymous(&hub).request(Method::POST, "/v1/auth/register").header("origin", hub.url(""));
    Answer::of("register".into(), own.json(&account("alice"))).await.created();
}

fn join(code: &str, name: &str) -> Value {
    json!({ "code": code, "name": name, "password": PASSWORD })
}

#[tokio::test]
async fn a_link_lets_one_colleague_in() {
    let (hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let invite = alice.rest.post(&alice.path("invites"), json!({})).await.created();
    let code = text(&invite, "code");
    assert!(text(&invite, "url").ends_with(&format!("/join/{code}")), "{invite}");
    let listed = alice.rest.get(&alice.path("invites")).await.ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert!(!listed.to_string().contains(code), "a list shows no code");

    let rest = anonymous(&hub);
    let shown = rest.get(&format!("/v1/invites/{code}")).await.ok();
    assert_eq!(shown["workspace"]["id"], alice.workspace.as_str());
    let joined = rest.post("/v1/auth/join", join(code, "bob")).await.created();
    assert_eq!(joined["workspace_id"], alice.workspace.as_str());
    let bob = rest.with(&format!("Bearer {}", text(&joined, "token")));
    let path = format!("/v1/channels/{general}/messages");
    bob.post(&path, json!({ "content": "here I am" })).await.created();

    rest.post("/v1/auth/join", join(code, "carol")).await.refused(404, "NOT_FOUND");
    rest.get(&format!("/v1/invites/{code}")).await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn an_invitation_survives_a_restart_and_can_be_taken_back() {
    let (mut hub, alice) = start().await;
    let kept = alice.rest.post(&alice.path("invites"), json!({ "role": "admin" })).await.created();
    let revoked = alice.rest.post(&alice.path("invites"), json!({})).await.created();
    alice.rest.delete(&alice.path(&format!("invites/{}", text(&revoked, "id")))).await.ok();
    hub.kill();
    hub.restart().await;
    let rest = anonymous(&hub);
    rest.post("/v1/auth/join", join(text(&revoked, "code"), "carol")).await.refused(404, "NOT_FOUND");
    rest.post("/v1/auth/join", join(text(&kept, "code"), "bob")).await.created();
}

#[tokio::test]
async fn who_may_not_invite_and_what_is_no_invitation_is_refused() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    bob.rest.post(&alice.path("invites"), json!({})).await.refused(403, "FORBIDDEN");
    bob.rest.get(&alice.path("invites")).await.refused(403, "FORBIDDEN");
    let rest = anonymous(&hub);
    rest.post(&alice.path("invites"), json!({})).await.refused(401, "AUTH_REQUIRED");
    let invite = alice.rest.post(&alice.path("invites"), json!({})).await.created();
    let code = text(&invite, "code");
    let short = json!({ "code": code, "name": "carol", "password": "short" });
    rest.post("/v1/auth/join", short).await.refused(400, "BAD_REQUEST");
    rest.post("/v1/auth/join", join(code, "alice")).await.refused(409, "CONFLICT");
    rest.post("/v1/auth/join", join("no-such-code", "carol")).await.refused(404, "NOT_FOUND");
    rest.post("/v1/auth/join", join(code, "carol")).await.created();
}

#[tokio::test]
async fn guessing_codes_is_limited() {
    let (hub, _alice) = start().await;
    let rest = anonymous(&hub);
    let mut statuses = Vec::new();
    for number in 0..7 {
        statuses.push(rest.get(&format!("/v1/invites/guess{number}")).await.status);
    }
    assert_eq!(statuses, [404, 404, 404, 404, 404, 429, 429]);
}

#[tokio::test]
async fn the_page_answers_where_nothing_else_does_and_nothing_else_changes() {
    let hub = Hub::start().await;
    let rest = anonymous(&hub);
    for path in ["/", "/c/anything", "/join/code", "/team"] {
        let page = rest.get(path).await;
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
        assert!(page.header("content-security-policy").contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("referrer-policy"), "no-referrer");
        assert_eq!(page.header("cache-control"), "no-cache");
    }
    rest.get("/v1/nothing").await.refused(404, "NOT_FOUND");
    rest.get("/no-such-file.js").await.refused(404, "NOT_FOUND");
    assert_eq!(rest.get("/ws").await.status, 426);
    assert_eq!(rest.get("/agents").await.status, 426);
    let typed = rest.request(Method::GET, "/agents").header("accept", "text/html,*/*;q=0.8");
    assert_eq!(Answer::of("GET /agents".into(), typed).await.status, 200, "typed into a browser it is the page's");
    assert_eq!(rest.get("/health").await.json(), json!({ "status": "ok" }));
    assert!(rest.get("/docs").await.text().contains("openapi.json"));
}

#[tokio::test]
async fn a_session_is_renewed_by_whoever_has_it() {
    let (hub, alice) = start().await;
    let renewed = alice.rest.post("/v1/auth/renew", json!({})).await.ok();
    assert_eq!(renewed["member_id"], alice.id.as_str());
    let fresh = anonymous(&hub).with(&format!("Bearer {}", text(&renewed, "token")));
    fresh.get("/v1/members/me").await.ok();
    fresh.post("/v1/auth/logout", json!({})).await.ok();
    fresh.post("/v1/auth/renew", json!({})).await.refused(401, "AUTH_INVALID_TOKEN");
    alice.rest.get("/v1/members/me").await.ok();
    let agent = alice.add_agent("codebot").await;
    agent.rest.post("/v1/auth/renew", json!({})).await.refused(400, "BAD_REQUEST");
}
