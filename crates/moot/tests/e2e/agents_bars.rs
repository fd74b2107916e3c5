//! How fast an agent is at work: from the end of the quiet window to its engine's process, and fifty at once.

use serde_json::json;

use crate::support::agents::{WAIT_TIMEOUT, hosted, hub_with_fake, runs};
use crate::support::{SLACK, eventually_within, items};

const WINDOW_MS: f64 = 300.0;

/// When each engine process began, in milliseconds since 1970.
fn starts(note: &str) -> Vec<f64> {
    note.lines().filter_map(|line| line.split(' ').nth(1)?.parse::<f64>().ok()).map(|nanos| nanos / 1e6).collect()
}

#[tokio::test]
async fn from_the_end_of_the_window_to_the_engine_under_50_ms_median() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    hosted(&alice, "claude", json!({})).await;
    let mut took = Vec::new();
    for round in 1..=9 {
        let said = alice.post(&general, "@claude quick").await;
        runs(&alice, &general, "completed", round).await;
        let began = starts(&fake.note("starts"))[round - 1];
        took.push(began - said["created_at"].as_f64().unwrap() - WINDOW_MS);
    }
    took.sort_by(f64::total_cmp);
    let median = took[took.len() / 2];
    println!("window to engine: median {median:.1} ms of {took:.1?}");
    assert!(median < 50.0 * f64::from(SLACK), "{took:?}");
}

#[tokio::test]
async fn fifty_agents_woken_at_once_all_start_within_1_s() {
    let (_hub, alice, fake) = hub_with_fake().await;
    let general = alice.add_channel("general", &[]).await;
    for number in 0..50 {
        alice.rest.post("/v1/hosting", json!({"name": format!("a{number}"), "engine": "claude"})).await.created();
    }
    eventually_within(WAIT_TIMEOUT, "all are carried", || async {
        let hosted = alice.rest.get("/v1/hosting").await.ok();
        (items(&hosted).iter().filter(|agent| agent["state"] == "running").count() == 50).then_some(())
    })
    .await;
    let words: Vec<String> = (0..50).map(|number| format!("@a{number}")).collect();
    let said = alice.post(&general, &words.join(" ")).await;
    // The brake holds most of their answers, but all of them begin.
    let begun = async || (starts(&fake.note("starts")).len() >= 50).then_some(());
    eventually_within(WAIT_TIMEOUT, "all have begun", begun).await;
    let last = starts(&fake.note("starts")).into_iter().fold(0.0, f64::max);
    let took = last - said["created_at"].as_f64().unwrap() - WINDOW_MS;
    println!("fifty agents: the last engine began after {took:.0} ms");
    assert!(took < 1000.0 * f64::from(SLACK), "{took}");
}
