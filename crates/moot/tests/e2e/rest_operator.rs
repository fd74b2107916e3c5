//! Health, metrics, statistics, and what must not be in the log.

use serde_json::json;

use crate::support::member::PASSWORD;
use crate::support::{Hub, Rest, start, text, token};

#[tokio::test]
async fn the_health_addresses_answer_without_a_token() {
    let hub = Hub::start().await;
    let rest = Rest::new(hub.url(""), None);
    assert_eq!(rest.get("/healthz").await.status, 200);
    assert_eq!(rest.get("/readyz").await.status, 200);
    assert_eq!(rest.get("/health").await.ok(), json!({ "status": "ok" }));
}

/// The sum of all samples of the metrics whose name contains every part.
fn sum_of(metrics: &str, parts: &[&str]) -> f64 {
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    let wanted = samples.filter(|line| parts.iter().all(|part| line.contains(part)));
    let values = wanted.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}

#[tokio::test]
async fn metrics_count_connections_messages_commits_overflows_and_wakes() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let rest = Rest::new(hub.url(""), None);
    let answer = rest.get("/metrics").await;
    assert_eq!(answer.status, 200);
    let before = answer.text();
    let mut lark = alice.lark().await;
    let mut agent = codebot.lark_agent().await;
    lark.say(&general, "@codebot counted").await;
    agent.expect("agent.wake").await;
    let after = rest.get("/metrics").await.text();
    for line in ["# HELP", "# TYPE"] {
        assert!(after.contains(line), "Prometheus text: {after}");
    }
    assert_eq!(sum_of(&after, &["connections", "lark"]), 2.0, "{after}");
    assert!(sum_of(&after, &["messages"]) > sum_of(&before, &["messages"]), "{after}");
    assert!(sum_of(&after, &["wake"]) > sum_of(&before, &["wake"]), "{after}");
    for word in ["commit", "overflow"] {
        assert!(after.contains(word), "no `{word}` in {after}");
    }
}

#[tokio::test]
async fn statistics_are_for_the_owner() {
    let (_hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    assert!(alice.rest.get("/v1/admin/stats").await.ok().is_object());
    bob.rest.get("/v1/admin/stats").await.refused(403, "FORBIDDEN");
    bob.rest.post("/v1/admin/backup", json!({})).await.refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn a_backup_can_be_made_over_rest() {
    let (_hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    alice.post(&general, "keep this").await;
    let answer = alice.rest.post("/v1/admin/backup", json!({})).await;
    assert!((200..300).contains(&answer.status), "{answer:?}");
}

#[tokio::test]
async fn the_log_holds_neither_messages_nor_secrets() {
    let (mut hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut lark = alice.lark().await;
    lark.say(&general, "the word is swordfish").await;
    lark.refused("message.send", json!({ "channel_id": "ch_x", "content": "swordfish again" })).await;
    lark.send_text("{ swordfish").await;
    lark.expect_error().await;
    let body = json!({ "email": "alice@example.org", "password": "swordfish" });
    alice.rest.anonymous().post("/v1/auth/login", body).await.refused_as(&[401]);
    codebot.rest.get("/v1/members/me").await.ok();
    hub.stop().await;
    let log = hub.log();
    let secrets = ["swordfish", PASSWORD, &alice.token, &codebot.token, token::SECRET];
    for secret in secrets {
        assert!(!log.contains(secret), "`{secret}` is in the log");
    }
}

#[tokio::test]
async fn the_first_start_says_the_address_and_what_to_do_next() {
    let hub = Hub::start().await;
    let address = hub.address.to_string();
    let log = crate::support::eventually("the address is printed", || async {
        let log = hub.log();
        log.contains(&address).then_some(log)
    })
    .await;
    assert!(log.contains("register") || log.contains("moot login"), "a next step: {log}");
}

#[tokio::test]
async fn the_secret_is_made_and_kept_when_none_is_given() {
    let setup = crate::support::Setup::default().env("MOOT_SERVER__JWT_SECRET", "");
    let mut hub = setup.start().await;
    let alice = crate::support::register(&hub, "alice").await;
    hub.stop().await;
    hub.restart().await;
    let me = alice.rest.get("/v1/members/me").await.ok();
    assert_eq!(text(&me, "id"), alice.id, "the old token still works");
}
