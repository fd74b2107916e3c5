//! How soon a wake is there when its window has ended, and what an idle agent costs.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{SLACK, Setup, number, register, start};

/// Loaded machines stall now and then; the rule is about the hub, so the best of a few attempts counts.
const ATTEMPTS: usize = 5;

#[tokio::test]
async fn a_wake_is_there_soon_after_its_window_has_ended() {
    let (_hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    let mut lark = alice.lark().await;
    let mut best = i64::MAX;
    for _ in 0..ATTEMPTS {
        lark.say(&general, "@codebot look").await;
        let sent = lark.expect_where("delivery.update", |data| data["state"] == "queued").await;
        agent.expect("agent.wake").await;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
        let window_end = number(&sent, "created_at") + 300;
        let late = i64::try_from(now.as_millis()).expect("a time") - window_end;
        assert!(late >= -1, "not before the window ends: {late} ms");
        best = best.min(late);
        agent.say(&general, "looked").await;
    }
    println!("from the end of the window to the frame: {best} ms at best");
    assert!(best <= 20 * i64::from(SLACK), "{best} ms");
}

#[tokio::test]
async fn fifty_agents_are_woken_at_once() {
    let hub = Setup::default().env("MOOT_WAKES__MAX_MENTIONS", "0").start().await;
    let alice = register(&hub, "alice").await;
    let mut agents = Vec::new();
    for number in 0..50 {
        agents.push(alice.add_agent(&format!("a{number}")).await);
    }
    let general = alice.add_channel("general", &agents.iter().collect::<Vec<_>>()).await;
    let mut larks = Vec::new();
    for agent in &agents {
        larks.push(agent.lark_agent().await);
    }
    let everybody: String = agents.iter().map(|agent| format!("@{} ", agent.name)).collect();
    let mut best = Duration::MAX;
    for _ in 0..ATTEMPTS {
        alice.post(&general, &everybody).await;
        let mut first = None;
        for lark in &mut larks {
            lark.expect("agent.wake").await;
            first.get_or_insert_with(Instant::now);
        }
        best = best.min(first.expect("fifty of them").elapsed());
    }
    println!("from the first of fifty wakes to the last: {best:?} at best");
    assert!(best < SLACK * Duration::from_millis(500), "{best:?}");
}

#[tokio::test]
async fn an_idle_agent_costs_little() {
    const AGENTS: usize = 200;
    let (hub, alice) = start().await;
    let general = alice.add_channel("general", &[]).await;
    let mut larks = Vec::new();
    let mut before = 0;
    for number in 0..AGENTS + 20 {
        if number == 20 {
            before = memory(&hub);
        }
        let agent = alice.add_agent(&format!("a{number}")).await;
        alice.admit(&general, &agent).await;
        larks.push(agent.lark_agent().await);
    }
    let each = memory(&hub).saturating_sub(before) / AGENTS;
    println!("an idle agent costs the hub {each} bytes");
    assert!(each < 30 * 1024, "{each} bytes");
    larks[0].ask("inbox.poll", json!({})).await;
}

/// What the hub keeps in memory, in bytes.
fn memory(hub: &crate::support::Hub) -> usize {
    let path = format!("/proc/{}/status", hub.pid().as_raw_nonzero());
    let status = std::fs::read_to_string(path).expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
    let kilobytes: usize = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
    kilobytes * 1024
}
