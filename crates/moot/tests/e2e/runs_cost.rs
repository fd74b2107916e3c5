//! What a long run costs the hub, and that people in the channel do not feel it.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::worker::{acts, ends, shown, takes_up};
use crate::support::{Hub, SLACK, start};

const ACTIONS: usize = 10_000;
const BAR: Duration = Duration::from_secs(1);

/// The processor time the hub has used so far.
fn cpu(hub: &Hub) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", hub.pid().as_raw_nonzero())).expect("a running hub");
    // Behind the name, which stands in brackets: user and system time are the 12th and 13th field, in hundredths of a second.
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let hundredths: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(hundredths * 10)
}

#[tokio::test]
async fn ten_thousand_actions_are_cheap_and_nobody_in_the_channel_waits_for_them() {
    let (hub, alice) = start().await;
    let codebot = alice.add_agent("codebot").await;
    let general = alice.add_channel("general", &[&codebot]).await;
    let mut agent = codebot.lark_agent().await;
    alice.post(&general, "@codebot do a lot").await;
    let run = takes_up(&mut agent).await;
    let before = cpu(&hub);
    let began = Instant::now();
    let flood = async {
        for number in 1..=ACTIONS {
            acts(&mut agent, &run, &number.to_string(), "completed").await;
            if number % 500 == 0 {
                // What it hears is read now and then, as an agent does; the answer says that all of them are stored.
                let session = json!({ "run_id": run["id"], "resume": number.to_string() });
                agent.asks("run.session", session, "run.session").await;
                agent.forget();
            }
        }
    };
    let reading = async {
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            let asked = Instant::now();
            alice.history(&general).await;
            slowest = slowest.max(asked.elapsed());
        }
        slowest
    };
    let ((), slowest) = tokio::join!(flood, reading);
    let used = cpu(&hub) - before;
    println!("{ACTIONS} actions: {used:?} of processor time in {:?}; slowest history {slowest:?}", began.elapsed());
    assert!(used < SLACK * BAR, "{used:?}");
    assert!(slowest < SLACK * BAR, "{slowest:?}");
    let ended = ends(&mut agent, &run, "completed", "done").await;
    assert_eq!(ended["action_count"], ACTIONS);
    let page = shown(&alice, &run).await;
    assert_eq!(page["actions"].as_array().map(Vec::len), Some(200));
}
