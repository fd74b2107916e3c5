//! Tokens that must not open the door, over Lark and over REST alike.

use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use crate::support::member::{PASSWORD, email};
use crate::support::token::{SECRET, claims, now, signed, unsigned};
use crate::support::{Member, start, text};

async fn refuses_everywhere(member: &Member, token: &str) {
    let mut lark = member.dial().await;
    lark.send("auth.login", json!({ "token": token })).await;
    let frame = lark.next().await;
    assert_eq!(frame["type"], "auth.fail", "{frame}");
    assert_eq!(frame["data"]["error"], "invalid credentials");
    let rest = member.rest.with(&format!("Bearer {token}"));
    let answer = rest.get("/v1/members/me").await;
    answer.refused(401, "AUTH_INVALID_TOKEN");
}

fn claims_of(member: &Member) -> Value {
    claims(&member.id, &member.workspace, now())
}

#[tokio::test]
async fn a_token_with_the_right_claims_and_signature_is_accepted() {
    // The other tests here differ from this one in a single point each.
    let (_hub, alice) = start().await;
    let token = signed(&claims_of(&alice), Algorithm::HS256, SECRET);
    alice.dial().await.login(&token).await;
    let rest = alice.rest.with(&format!("Bearer {token}"));
    rest.get("/v1/members/me").await.ok();
}

#[tokio::test]
async fn an_expired_token_is_refused() {
    let (_hub, alice) = start().await;
    let old = claims(&alice.id, &alice.workspace, now() - 90_000);
    refuses_everywhere(&alice, &signed(&old, Algorithm::HS256, SECRET)).await;
}

#[tokio::test]
async fn a_token_of_another_secret_is_refused() {
    let (_hub, alice) = start().await;
    let token = signed(&claims_of(&alice), Algorithm::HS256, "another secret, as long as the first one");
    refuses_everywhere(&alice, &token).await;
}

#[tokio::test]
async fn a_token_with_alg_none_is_refused() {
    let (_hub, alice) = start().await;
    refuses_everywhere(&alice, &unsigned(&claims_of(&alice))).await;
}

#[tokio::test]
async fn a_token_of_another_hmac_is_refused() {
    let (_hub, alice) = start().await;
    let token = signed(&claims_of(&alice), Algorithm::HS512, SECRET);
    refuses_everywhere(&alice, &token).await;
}

#[tokio::test]
async fn a_token_of_another_issuer_is_refused() {
    let (_hub, alice) = start().await;
    let mut foreign = claims_of(&alice);
    foreign["iss"] = json!("elsewhere");
    refuses_everywhere(&alice, &signed(&foreign, Algorithm::HS256, SECRET)).await;
}

#[tokio::test]
async fn a_token_of_an_unknown_member_is_refused() {
    let (_hub, alice) = start().await;
    let nobody = claims("mem_nobody", &alice.workspace, now());
    let token = signed(&nobody, Algorithm::HS256, SECRET);
    let mut lark = alice.dial().await;
    lark.send("auth.login", json!({ "token": token })).await;
    let frame = lark.next().await;
    assert_eq!(frame["type"], "auth.fail", "{frame}");
    let rest = alice.rest.with(&format!("Bearer {token}"));
    rest.get("/v1/members/me").await.refused_as(&[401]);
}

#[tokio::test]
async fn a_logged_out_token_is_refused_also_after_a_restart() {
    let (mut hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    bob.lark().await;
    bob.rest.post("/v1/auth/logout", json!({})).await.ok();
    refuses_everywhere(&bob, &bob.token).await;
    hub.stop().await;
    hub.restart().await;
    refuses_everywhere(&bob, &bob.token).await;
    alice.lark().await;
    alice.log_in("bob").await.lark().await;
}

#[tokio::test]
async fn a_changed_password_ends_what_is_open_also_what_came_in_with_a_key() {
    let (_hub, alice) = start().await;
    let key = alice.rest.post(&alice.path(&format!("members/{}/key", alice.id)), json!({})).await.ok();
    let mut with_key = alice.dial().await;
    with_key.login(text(&key, "api_key")).await;
    let mut lark = alice.lark().await;
    let change = json!({ "current_password": PASSWORD, "new_password": "another good password" });
    alice.rest.post("/v1/members/me/password", change).await.ok();
    assert_eq!(lark.closed().await, Some(1008));
    assert_eq!(with_key.closed().await, Some(1008));
}

#[tokio::test]
async fn a_token_of_the_very_moment_before_a_changed_password_is_refused() {
    let (_hub, alice) = start().await;
    // In the same second, as a rule; several tries make it certain.
    let mut password = PASSWORD.to_owned();
    for number in 0..3 {
        let login = json!({ "email": email("alice"), "password": password });
        let logged_in = alice.rest.post("/v1/auth/login", login).await.ok();
        let old = alice.rest.with(&format!("Bearer {}", text(&logged_in, "token")));
        let fresh = format!("another good password {number}");
        let change = json!({ "current_password": password, "new_password": fresh });
        let changed = old.post("/v1/members/me/password", change).await.ok();
        old.get("/v1/members/me").await.refused_as(&[401]);
        let new = alice.rest.with(&format!("Bearer {}", text(&changed, "token")));
        new.get("/v1/members/me").await.ok();
        password = fresh;
    }
}

#[tokio::test]
async fn a_replaced_key_ends_what_is_open() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let mut lark = codebot.lark().await;
    alice.rest.post(&alice.path(&format!("members/{}/key", codebot.id)), json!({})).await.ok();
    assert_eq!(lark.closed().await, Some(1008));
}

#[tokio::test]
async fn a_token_that_expires_ends_what_is_open() {
    let (_hub, alice) = start().await;
    let mut short = claims_of(&alice);
    short["exp"] = json!(now() + 6);
    let mut lark = alice.dial().await;
    lark.login(&signed(&short, Algorithm::HS256, SECRET)).await;
    assert_eq!(lark.closed().await, Some(1008));
}

#[tokio::test]
async fn the_key_of_a_removed_agent_is_refused() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    codebot.lark().await;
    let path = alice.path(&format!("members/{}", codebot.id));
    alice.rest.delete(&path).await.ok();
    let mut lark = codebot.dial().await;
    lark.send("auth.login", json!({ "token": codebot.token })).await;
    assert_eq!(lark.next().await["type"], "auth.fail");
    codebot.rest.get("/v1/members/me").await.refused_as(&[401]);
}

#[tokio::test]
async fn a_key_with_one_changed_digit_is_refused() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let last = if codebot.token.ends_with('0') { "1" } else { "0" };
    let changed = format!("{}{last}", &codebot.token[..codebot.token.len() - 1]);
    refuses_everywhere(&codebot, &changed).await;
    codebot.lark().await;
}
