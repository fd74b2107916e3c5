//! Fifty agents that come and go at random under load: every request gets exactly one answer or error, and the right one.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::support::chopsticks::{hello, known, place};
use crate::support::{Member, Setup, items, register, text};

const AGENTS: u64 = 50;
const CALLERS: u64 = 16;
const REQUESTS: u64 = 60;
const GUILDS: u64 = 5;

/// Chance that can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// One agent for as long as the storm lasts: connects, works for a moment, is killed, comes back.
async fn live(address: SocketAddr, number: u64, mut dice: Dice, calm: Arc<AtomicBool>, answers: Arc<AtomicU64>) {
    let guild = format!("g{}", number % GUILDS);
    loop {
        let steady = calm.load(Ordering::Relaxed);
        let lifetime = if steady { Duration::from_secs(60) } else { Duration::from_millis(50 + dice.roll(400)) };
        let Ok((mut socket, _)) = connect_async(format!("ws://{address}/agents")).await else { return };
        let frame = hello(&format!("a{number}"), &[&guild]);
        if socket.send(Message::text(frame.to_string())).await.is_err() {
            continue;
        }
        let end = Instant::now() + lifetime;
        while let Ok(Some(Ok(message))) = timeout_at(end, socket.next()).await {
            let Message::Text(frame) = message else { continue };
            let request: Value = serde_json::from_str(&frame).expect("JSON");
            let answer = json!({ "type": "resp", "id": request["id"], "ok": true, "data": request["data"]["nonce"] });
            // Some answers never come, and some come twice.
            let times = if steady { 1 } else { [0, 1, 1, 1, 1, 1, 1, 2][dice.roll(8) as usize] };
            for _ in 0..times {
                if socket.send(Message::text(answer.to_string())).await.is_err() {
                    break;
                }
                answers.fetch_add(1, Ordering::Relaxed);
            }
        }
        // Killed: no goodbye.
        drop(socket);
        sleep(Duration::from_millis(dice.roll(50))).await;
    }
}

/// Asks again and again, and returns how many answers and errors came.
async fn load(alice: Member, caller: u64, mut dice: Dice) -> (u64, u64) {
    let (mut answered, mut failed) = (0, 0);
    for number in 0..REQUESTS {
        let nonce = json!(format!("{caller}-{number}"));
        let answer = if dice.roll(2) == 0 {
            let path = format!("/v1/pools/agents/a{}/requests", dice.roll(AGENTS));
            alice.rest.post(&path, json!({ "op": "echo", "data": { "nonce": nonce } })).await
        } else {
            let mut body = place(&format!("g{}", dice.roll(GUILDS)), &format!("v{}", dice.roll(6)), "music");
            body["op"] = json!("echo");
            body["data"] = json!({ "nonce": nonce });
            alice.rest.post("/v1/pools/dispatch", body).await
        };
        match answer.status {
            200 => {
                let body = answer.ok();
                assert_eq!((&body["ok"], &body["data"]), (&json!(true), &nonce), "somebody else's answer");
                answered += 1;
            }
            404 | 409 | 503 | 504 => {
                let body = answer.json();
                let codes =
                    ["agent-offline", "no-agents-in-guild", "no-free-agents", "agent-circuit-open", "agent-timeout"];
                assert!(codes.contains(&text(&body, "code")), "{body}");
                failed += 1;
            }
            other => panic!("{other}: {}", answer.text()),
        }
    }
    (answered, failed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_gets_exactly_one_answer_or_error_while_agents_are_killed_and_restarted() {
    let seed = 0x5eed_0007;
    let hub = Setup::default()
        .env("MOOT_CHOPSTICKS__MAX_CONNECTIONS_PER_IP", "200")
        .env("MOOT_CHOPSTICKS__REQUEST_TIMEOUT_S", "2")
        .env("MOOT_CHOPSTICKS__RECONNECT_GRACE_S", "0.2")
        .start()
        .await;
    let alice = register(&hub, "alice").await;
    let (calm, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let agents: Vec<_> = (0..AGENTS)
        .map(|number| {
            let dice = Dice(seed * (number + 1));
            tokio::spawn(live(hub.address, number, dice, Arc::clone(&calm), Arc::clone(&answers)))
        })
        .collect();
    let callers: Vec<_> =
        (0..CALLERS).map(|caller| tokio::spawn(load(alice.clone(), caller, Dice(seed ^ (caller + 77))))).collect();
    let (mut answered, mut failed) = (0, 0);
    for caller in callers {
        let (yes, no) = caller.await.unwrap_or_else(|error| panic!("seed {seed:#x}: {error}"));
        answered += yes;
        failed += no;
    }
    assert_eq!(answered + failed, CALLERS * REQUESTS, "seed {seed:#x}");
    assert!(answered > CALLERS * REQUESTS / 10, "hardly anything was answered: {answered} of {}", answered + failed);
    assert!(answers.load(Ordering::Relaxed) >= answered);
    // When the storm is over, everybody is there, and no two serve the same place.
    calm.store(true, Ordering::Relaxed);
    for number in 0..AGENTS {
        known(&alice, &format!("a{number}")).await;
    }
    let sessions = alice.rest.get("/v1/pools/sessions").await.ok();
    let holders: BTreeSet<_> = items(&sessions).iter().map(|session| text(session, "agent_id")).collect();
    assert_eq!(holders.len(), items(&sessions).len(), "{sessions}");
    for agent in agents {
        agent.abort();
    }
}
