//! What is ended stays ended: keys, passwords, sessions, and everything that was made with them.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::support::member::{PASSWORD, email};
use crate::support::token::{SECRET, claims, decoded, now, signed};
use crate::support::{Hub, Member, Rest, Snek, items, start, text};

const CREDENTIALS: &str = "/v1/members/me/credentials";
const ANOTHER: &str = "another good password";

async fn new_key(by: &Member, of: &Member) -> String {
    let made = by.rest.post(&by.path(&format!("members/{}/key", of.id)), json!({})).await.ok();
    text(&made, "api_key").to_owned()
}

fn change(keep: Value) -> Value {
    json!({ "current_password": PASSWORD, "new_password": ANOTHER, "keep": keep })
}

async fn is_in(rest: &Rest, token: &str) -> bool {
    rest.with(&format!("Bearer {token}")).get("/v1/members/me").await.status == 200
}

/// An agent with a password and a token of a session.
async fn agent_with_password(alice: &Member) -> (Member, String) {
    let bot = alice.add_agent("bot").await;
    let set = bot.rest.post("/v1/members/me/password", json!({ "new_password": PASSWORD })).await.ok();
    (bot, text(&set, "token").to_owned())
}

async fn snek_as(hub: &Hub, name: &str, secret: &str) -> Snek {
    let mut snek = Snek::connect(hub.address).await;
    snek.login(name, secret).await;
    snek
}

#[tokio::test]
async fn a_replaced_key_of_an_agent_ends_its_password_its_tokens_and_what_is_open() {
    let (hub, alice) = start().await;
    let (bot, token) = agent_with_password(&alice).await;
    assert!(is_in(&alice.rest, &token).await && is_in(&alice.rest, &bot.token).await);
    let mut by_token = bot.dial().await;
    by_token.login(&token).await;
    let (mut by_password, mut by_key) = (snek_as(&hub, "bot", PASSWORD).await, snek_as(&hub, "bot", &bot.token).await);
    let fresh = new_key(&alice, &bot).await;
    assert_eq!(by_token.closed().await, Some(1008));
    assert_eq!((by_password.closed().await, by_key.closed().await), (Some(1008), Some(1008)));
    assert!(!is_in(&alice.rest, &token).await && !is_in(&alice.rest, &bot.token).await);
    let login = json!({ "name": "bot", "password": PASSWORD });
    alice.rest.anonymous().post("/v1/auth/login", login).await.refused(401, "AUTH_INVALID_CREDENTIALS");
    assert!(is_in(&alice.rest, &fresh).await);
    snek_as(&hub, "bot", &fresh).await;
}

#[tokio::test]
async fn a_changed_password_ends_sessions_and_keys_but_for_those_that_are_kept() {
    let (mut hub, alice) = start().await;
    let (laptop, phone) = (alice.log_in("alice").await, alice.log_in("alice").await);
    let key = new_key(&alice, &alice).await;
    let mut by_key = alice.dial().await;
    by_key.login(&key).await;
    let listed = phone.rest.get(CREDENTIALS).await.ok();
    let current = items(&listed["sessions"]).iter().find(|session| session["current"] == true).expect("its own");
    assert_eq!(items(&listed["sessions"]).len(), 3, "{listed}");
    assert!(current["address"] == "127.0.0.1" && current["created_at"].is_i64() && current["last_seen_at"].is_i64());
    let [listed_key] = items(&listed["keys"]) else { panic!("{listed}") };
    assert_eq!(listed_key["kind"], "api_key");
    assert!(!listed.to_string().contains(&key[3..]));
    let changed = laptop.rest.post("/v1/members/me/password", change(json!([current["id"]]))).await.ok();
    let ended = items(&changed["ended"]);
    assert_eq!(ended.len(), 3, "two sessions and the key: {changed}");
    assert!(ended.contains(&listed_key["id"]) && !ended.contains(&current["id"]));
    assert_eq!(by_key.closed().await, Some(1008));
    for _ in 0..2 {
        assert!(!is_in(&alice.rest, &alice.token).await && !is_in(&alice.rest, &laptop.token).await);
        assert!(!is_in(&alice.rest, &key).await);
        assert!(is_in(&alice.rest, &phone.token).await, "kept");
        assert!(is_in(&alice.rest, text(&changed, "token")).await);
        hub.stop().await;
        hub.restart().await;
    }
}

#[tokio::test]
async fn a_key_that_is_kept_goes_on_and_what_is_nobodys_cannot_be_kept() {
    let (_hub, alice) = start().await;
    let key = new_key(&alice, &alice).await;
    let mut by_key = alice.dial().await;
    by_key.login(&key).await;
    let refused = alice.rest.post("/v1/members/me/password", change(json!(["tok_nothing"]))).await;
    refused.refused(400, "BAD_REQUEST");
    let listed = alice.rest.get(CREDENTIALS).await.ok();
    let id = &listed["keys"][0]["id"];
    alice.rest.post("/v1/members/me/password", change(json!([id]))).await.ok();
    assert!(is_in(&alice.rest, &key).await);
    by_key.ask("inbox.poll", json!({})).await;
}

#[tokio::test]
async fn tokens_from_the_future_do_not_outlive_a_changed_password() {
    let (_hub, alice) = start().await;
    let (_, genuine) = decoded(&alice.token);
    let mut ahead = genuine.clone();
    ahead["iat"] = json!(now() + 7200);
    ahead["iat_ms"] = json!((now() + 7200) * 1000);
    ahead["exp"] = json!(now() + 90_000);
    let mut of_before = claims(&alice.id, &alice.workspace, now() + 7200);
    of_before["iat_ms"] = json!((now() + 7200) * 1000);
    let tokens = [&ahead, &of_before].map(|claims| signed(claims, Algorithm::HS256, SECRET));
    for token in &tokens {
        assert!(is_in(&alice.rest, token).await, "made while the clock was ahead");
    }
    let mut lark = alice.dial().await;
    lark.login(&tokens[0]).await;
    alice.rest.post("/v1/members/me/password", change(json!([]))).await.ok();
    assert_eq!(lark.closed().await, Some(1008));
    for token in &tokens {
        assert!(!is_in(&alice.rest, token).await);
    }
}

#[tokio::test]
async fn tokens_of_earlier_versions_count_until_they_expire() {
    let (_hub, alice) = start().await;
    let old = signed(&claims(&alice.id, &alice.workspace, now() - 60), Algorithm::HS256, SECRET);
    assert!(is_in(&alice.rest, &old).await);
    alice.rest.with(&format!("Bearer {old}")).post("/v1/auth/renew", json!({})).await.ok();
    alice.rest.post("/v1/members/me/password", change(json!([]))).await.ok();
    assert!(!is_in(&alice.rest, &old).await);
}

#[tokio::test]
async fn one_session_is_ended_with_all_its_tokens_by_its_holder_alone() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let lost = alice.log_in("bob").await;
    let renewed = lost.rest.post("/v1/auth/renew", json!({})).await.ok();
    let mut lark = bob.dial().await;
    lark.login(text(&renewed, "token")).await;
    let listed = lost.rest.get(CREDENTIALS).await.ok();
    let current = items(&listed["sessions"]).iter().find(|session| session["current"] == true).expect("its own");
    let path = format!("{CREDENTIALS}/{}", text(current, "id"));
    alice.rest.delete(&path).await.refused(404, "NOT_FOUND");
    bob.rest.delete(&path).await.ok();
    assert_eq!(lark.closed().await, Some(1008));
    assert!(!is_in(&bob.rest, &lost.token).await && !is_in(&bob.rest, text(&renewed, "token")).await);
    assert!(is_in(&bob.rest, &bob.token).await);
    bob.rest.delete(&path).await.refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_signed_out_session_is_no_longer_listed() {
    let (_hub, alice) = start().await;
    let other = alice.log_in("alice").await;
    assert_eq!(items(&alice.rest.get(CREDENTIALS).await.ok()["sessions"]).len(), 2);
    other.rest.post("/v1/auth/logout", json!({})).await.ok();
    assert_eq!(items(&alice.rest.get(CREDENTIALS).await.ok()["sessions"]).len(), 1);
}

#[tokio::test]
async fn a_changed_password_ends_a_snek_connection_and_a_token_for_agents() {
    let (hub, alice) = start().await;
    let mut snek = snek_as(&hub, "alice", PASSWORD).await;
    let made = alice.rest.post(&alice.path("provision-tokens"), json!({})).await.created();
    alice.rest.post("/v1/members/me/password", change(json!([]))).await.ok();
    assert_eq!(snek.closed().await, Some(1008));
    let body = json!({ "name": "late", "provision_token": text(&made, "token"), "system_prompt": "x" });
    alice.rest.anonymous().post(&alice.path("agents"), body).await.refused_as(&[401, 403]);
}

#[tokio::test]
async fn what_a_removed_member_held_opens_nothing() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let key = new_key(&bob, &bob).await;
    alice.rest.delete(&alice.path(&format!("members/{}", bob.id))).await.ok();
    assert!(!is_in(&alice.rest, &bob.token).await && !is_in(&alice.rest, &key).await);
    let login = json!({ "email": email("bob"), "password": PASSWORD });
    alice.rest.anonymous().post("/v1/auth/login", login).await.refused(401, "AUTH_INVALID_CREDENTIALS");
}
