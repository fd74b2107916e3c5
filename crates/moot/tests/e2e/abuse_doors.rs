//! What nobody else looks after: pages of other sites, invitations and webhooks that outlive their makers, names that
//! look like others, and addresses that try to leave their folder.

use reqwest::Method;
use serde_json::json;

use crate::support::member::{PASSWORD, email};
use crate::support::{Answer, Member, Rest, start, text};

const EVIL: &str = "http://evil.example";

async fn from_page(rest: &Rest, origin: &str, method: Method, path: &str, body: &str) -> Answer {
    // As a page can send it without asking first: no header of its own, and a plain type.
    let request = rest.request(method, path).header("origin", origin).header("content-type", "text/plain");
    Answer::of(format!("{path} from {origin}"), request.body(body.to_owned())).await
}

#[tokio::test]
async fn a_page_of_another_site_neither_logs_in_nor_locks_anybody_out() {
    let (hub, alice) = start().await;
    let stranger = Rest::new(hub.url(""), None);
    let wrong = json!({ "email": email("alice"), "password": "a wrong guess" }).to_string();
    for origin in [EVIL, "null", "http://localhost:1"] {
        for _ in 0..10 {
            from_page(&stranger, origin, Method::POST, "/v1/auth/login", &wrong).await.refused(403, "FORBIDDEN");
        }
    }
    // None of that counted as an attempt.
    alice.log_in("alice").await;
    let own = hub.url("");
    let right = json!({ "email": email("alice"), "password": PASSWORD }).to_string();
    from_page(&stranger, &own, Method::POST, "/v1/auth/login", &right).await.ok();
}

#[tokio::test]
async fn a_page_of_another_site_adds_no_agent_even_with_an_invitation() {
    let (hub, alice) = start().await;
    let token = alice.rest.post(&alice.path("provision-tokens"), json!({})).await.created();
    let body = json!({ "name": "newbot", "provision_token": token["token"] }).to_string();
    let stranger = Rest::new(hub.url(""), None);
    for path in [alice.path("agents"), "/v1/agents/register".to_owned()] {
        from_page(&stranger, EVIL, Method::POST, &path, &body).await.refused(403, "FORBIDDEN");
    }
    stranger.post_text(&alice.path("agents"), body).await.created();
}

#[tokio::test]
async fn no_answer_lets_a_page_of_another_site_read_it() {
    let (hub, alice) = start().await;
    let stranger = Rest::new(hub.url(""), None);
    let paths =
        ["/v1/setup", "/v1/auth/providers", "/v1/members/me", "/openapi.json", "/metrics", "/readyz", "/", "/docs"];
    for rest in [&stranger, &alice.rest] {
        for path in paths {
            for method in [Method::GET, Method::OPTIONS] {
                let request = rest.request(method.clone(), path).header("origin", EVIL);
                let asked = request.header("access-control-request-method", "POST");
                let answer = Answer::of(format!("{method} {path}"), asked).await;
                let allowed = answer.headers.keys().find(|name| name.as_str().starts_with("access-control-allow"));
                assert_eq!(allowed, None, "{method} {path}");
            }
        }
    }
}

#[tokio::test]
async fn who_was_sent_out_of_a_channel_comes_back_neither_by_an_invitation_nor_by_a_webhook() {
    let (_hub, alice) = start().await;
    let mallory = alice.add_human("mallory").await;
    set_role(&alice, &mallory, "admin").await;
    let secret = alice.add_private("secret", &[&mallory]).await;
    let invite = json!({ "channel_ids": [secret] });
    let invite = mallory.rest.post(&mallory.path("invites"), invite).await.created();
    let webhook = json!({ "channel_id": secret, "name": "builds" });
    let webhook = mallory.rest.post(&mallory.path("webhooks"), webhook).await.created();
    let out = alice.path(&format!("channels/{secret}/members/{}", mallory.id));
    alice.rest.delete(&out).await.ok();

    let join = json!({ "code": invite["code"], "name": "mallory2", "password": PASSWORD });
    let joined = alice.rest.anonymous().post("/v1/auth/join", join).await.created();
    let again = alice.rest.with(&format!("Bearer {}", text(&joined, "token")));
    again.get(&format!("/v1/channels/{secret}/messages")).await.refused(404, "NOT_FOUND");
    let post = format!("/webhooks/{}/{}", text(&webhook, "id"), text(&webhook, "secret"));
    alice.rest.anonymous().post(&post, json!({ "content": "still here" })).await.hidden();
    assert!(alice.texts(&secret).await.is_empty());
}

#[tokio::test]
async fn an_admin_no_longer_lets_no_agents_in() {
    let (_hub, alice) = start().await;
    let mallory = alice.add_human("mallory").await;
    set_role(&alice, &mallory, "admin").await;
    let token = mallory.rest.post(&mallory.path("provision-tokens"), json!({})).await.created();
    set_role(&alice, &mallory, "member").await;
    let body = json!({ "name": "sleeper", "provision_token": token["token"] });
    for path in [alice.path("agents"), "/v1/agents/register".to_owned()] {
        alice.rest.anonymous().post(&path, body.clone()).await.refused(401, "AUTH_INVALID_CREDENTIALS");
    }
}

async fn set_role(owner: &Member, member: &Member, role: &str) {
    let path = owner.path(&format!("members/{}", member.id));
    owner.rest.patch(&path, json!({ "role": role })).await.ok();
}

#[tokio::test]
async fn no_name_looks_like_another_by_what_cannot_be_seen() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    for name in ["alice\u{200b}", "\u{202e}ecila", "al\u{2060}ice"] {
        alice
            .rest
            .post(&alice.path("members"), json!({ "name": name, "type": "agent" }))
            .await
            .refused(400, "BAD_REQUEST");
        bob.rest.post(&bob.path("channels"), json!({ "name": name })).await.refused(400, "BAD_REQUEST");
        let own = bob.path(&format!("members/{}", bob.id));
        bob.rest.patch(&own, json!({ "nick": name })).await.refused(400, "BAD_REQUEST");
        bob.rest.patch(&own, json!({ "nick": "Alice" })).await.refused(409, "CONFLICT");
    }
    let topic = json!({ "name": "general", "topic": "\u{1b}[2Jhello" });
    bob.rest.post(&bob.path("channels"), topic).await.refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn an_address_of_a_file_leads_to_that_file_or_nowhere() {
    let (hub, alice) = start().await;
    let secret = std::fs::read(hub.data.join("hub.db")).expect("the database");
    let tricks = ["..%2f..%2fhub.db", "%2e%2e/hub.db", "..%5c..%5chub.db", "file_0/../../hub.db", "%00", "hub.db"];
    for trick in tricks {
        for path in [format!("/drive.bin/{trick}"), format!("/v1/files/{trick}/download"), format!("/assets/{trick}")] {
            let answer = alice.rest.get(&path).await;
            assert!(answer.status >= 400 || !answer.bytes.starts_with(&secret[..16]), "{path} → {}", answer.status);
        }
    }
}
