//! Connecting agents: version gate, secret, handshake, heartbeat, bad frames, limits, origins.

use serde_json::{Value, json};
use tungstenite::Message;

use crate::support::chopsticks::{Next, Worker, gone, hello, known, shown};
use crate::support::hub::free_address;
use crate::support::{Hub, Setup, eventually, register, start};

fn error(text: &str) -> Next {
    Next::Frame(json!({ "type": "error", "error": text }))
}

fn closed(reason: &str) -> Next {
    Next::Close(1008, reason.to_owned())
}

async fn conversation(hub: &Hub, frames: &[Value]) -> Worker {
    let mut worker = Worker::dial(hub.address).await;
    for frame in frames {
        worker.send(frame.clone()).await;
    }
    worker
}

#[tokio::test]
async fn a_hello_is_accepted_in_silence_and_the_agent_is_listed() {
    let (hub, alice) = start().await;
    let _worker = conversation(&hub, &[hello("a1", &["g1", "g2"])]).await;
    let agent = known(&alice, "a1").await;
    assert_eq!((&agent["pool_id"], &agent["tag"]), (&json!("pool1"), &json!("Bot a1")));
    assert_eq!((&agent["ready"], &agent["busy"]), (&json!(true), &json!(false)));
    assert_eq!((&agent["guild_ids"], &agent["protocol_version"]), (&json!(["g1", "g2"]), &json!("1.0.0")));
    assert!(agent["last_seen"].as_i64().unwrap() > 1_700_000_000_000);
    assert!(agent.get("kind").is_none());
}

#[tokio::test]
async fn the_version_gate_tells_and_closes_with_1008() {
    let hub = Hub::start().await;
    let mut worker = conversation(&hub, &[json!({ "type": "hello", "agentId": "a1" })]).await;
    assert_eq!(worker.next().await, error("Protocol version required. Please upgrade agent."));
    assert_eq!(worker.next().await, closed("Missing protocol version"));
    let mut frame = hello("a1", &[]);
    frame["protocolVersion"] = json!("0.9.0");
    let mut worker = conversation(&hub, &[frame]).await;
    assert_eq!(worker.next().await, error("Incompatible protocol version 0.9.0. Controller expects 1.0.0."));
    assert_eq!(worker.next().await, closed("Incompatible protocol version"));
}

#[tokio::test]
async fn where_a_runner_secret_is_set_only_who_knows_it_is_let_in() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__RUNNER_SECRET", "hunter2").start().await;
    let alice = register(&hub, "alice").await;
    let with = |secret: Option<&str>| {
        let mut frame = hello("a1", &["g1"]);
        frame["runnerSecret"] = json!(secret);
        frame
    };
    for wrong in [None, Some("hunter3"), Some("")] {
        let mut worker = conversation(&hub, &[with(wrong)]).await;
        assert_eq!(worker.next().await, error("Unauthorized runner secret."));
        assert_eq!(worker.next().await, closed("Unauthorized"));
    }
    assert!(shown(&alice, "a1").await.is_none());
    let _worker = conversation(&hub, &[with(Some("hunter2"))]).await;
    known(&alice, "a1").await;
    assert!(!hub.log().contains("hunter"), "no secret is logged");
}

#[tokio::test]
async fn a_connection_without_hello_is_closed_in_time() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__HANDSHAKE_S", "1").start().await;
    let mut worker = conversation(&hub, &[json!({ "type": "hello", "protocolVersion": "1.0.0" })]).await;
    assert_eq!(worker.next().await, closed("hello-required"));
}

#[tokio::test]
async fn invalid_json_is_told_and_the_connection_stays() {
    let (hub, alice) = start().await;
    let mut worker = Worker::dial(hub.address).await;
    worker.send_message(Message::text("{nonsense")).await;
    assert_eq!(worker.next().await, error("Invalid JSON"));
    worker.send(hello("a1", &[])).await;
    known(&alice, "a1").await;
}

#[tokio::test]
async fn an_unknown_type_is_closed_before_hello_and_ignored_after() {
    let (hub, alice) = start().await;
    let mut worker = conversation(&hub, &[json!({ "type": "dance" })]).await;
    assert_eq!(worker.next().await, error("Unknown message type"));
    assert_eq!(worker.next().await, closed("protocol-error"));
    let mut worker = Worker::join(&alice, hub.address, "a1", &[]).await;
    worker.send(json!({ "type": "dance" })).await;
    worker.send_message(Message::text("{")).await;
    assert_eq!(worker.next().await, error("Invalid JSON"), "it is still heard");
}

#[tokio::test]
async fn large_frames_are_told_and_larger_ones_end_the_connection() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &[]).await;
    let frame = |bytes: usize| Message::text(json!({ "type": "guilds", "guildIds": ["x".repeat(bytes)] }).to_string());
    worker.send_message(frame(64 * 1024)).await;
    assert_eq!(worker.next().await, error("Frame too large"));
    worker.send_message(frame(200 * 1024)).await;
    assert_eq!(worker.next().await, error("Frame too large"));
    worker.send_message(frame(300 * 1024)).await;
    assert!(matches!(worker.next().await, Next::Close(1009, _) | Next::End));
    gone(&alice, "a1").await;
}

#[tokio::test]
async fn a_flood_is_dropped_and_harms_nobody_else() {
    let (hub, alice) = start().await;
    let mut flooder = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let mut worker = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    let asked = tokio::spawn({
        let rest = alice.rest.clone();
        async move { rest.post("/v1/pools/agents/a2/requests", json!({ "op": "status" })).await }
    });
    for number in 0..2000 {
        flooder.send(json!({ "type": "guilds", "guildIds": [format!("flood{number}")] })).await;
    }
    let request = worker.asked_for("status").await;
    worker.answer(&request, json!({ "playing": false })).await;
    assert_eq!(asked.await.unwrap().ok()["ok"], true);
    // Those of the last second's rest were dropped, so the membership is one of the first.
    let guilds = known(&alice, "a1").await["guild_ids"].clone();
    assert_ne!(guilds, json!(["flood1999"]));
}

#[tokio::test]
async fn too_many_connections_are_turned_away_with_the_reason() {
    let setup = Setup::default()
        .env("MOOT_CHOPSTICKS__MAX_CONNECTIONS", "3")
        .env("MOOT_CHOPSTICKS__MAX_CONNECTIONS_PER_IP", "2");
    let hub = setup.start().await;
    let alice = register(&hub, "alice").await;
    let first = Worker::join(&alice, hub.address, "a1", &[]).await;
    let _second = Worker::join(&alice, hub.address, "a2", &[]).await;
    let mut third = Worker::dial(hub.address).await;
    assert_eq!(third.next().await, closed("too-many-connections"));
    first.close().await;
    gone(&alice, "a1").await;
    Worker::join(&alice, hub.address, "a3", &[]).await;
}

#[tokio::test]
async fn a_full_controller_says_server_full() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__MAX_CONNECTIONS", "1").start().await;
    let alice = register(&hub, "alice").await;
    let _first = Worker::join(&alice, hub.address, "a1", &[]).await;
    assert_eq!(Worker::dial(hub.address).await.next().await, closed("server-full"));
}

#[tokio::test]
async fn by_default_the_twenty_first_connection_of_an_address_is_one_too_many() {
    let hub = Hub::start().await;
    let mut workers = Vec::new();
    for _ in 0..20 {
        workers.push(Worker::dial(hub.address).await);
    }
    assert_eq!(Worker::dial(hub.address).await.next().await, closed("too-many-connections"));
}

#[tokio::test]
async fn a_silent_agent_is_pruned() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__STALE_S", "1").start().await;
    let alice = register(&hub, "alice").await;
    let mut worker = Worker::dial(hub.address).await;
    worker.send(hello("a1", &[])).await;
    known(&alice, "a1").await;
    assert_eq!(worker.next().await, Next::Close(1001, "stale".to_owned()));
    gone(&alice, "a1").await;
}

#[tokio::test]
async fn the_newer_connection_of_an_agent_wins_over_a_dead_one_whose_end_does_not_remove_it() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__PROBE_S", "0.5").start().await;
    let alice = register(&hub, "alice").await;
    let mut old = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let mut new = Worker::dial(hub.address).await;
    new.send(hello("a1", &["g2"])).await;
    // Nobody reads the old one, so no ping is answered there.
    eventually("the new one is there", || async {
        (known(&alice, "a1").await["guild_ids"] == json!(["g2"])).then_some(())
    })
    .await;
    assert!(matches!(old.next().await, Next::Close(4000, _)));
    assert_eq!(old.next().await, Next::End);
    drop(old);
    // Whatever the clean-up of the old one does, the agent stays and answers on the new one.
    for _ in 0..5 {
        let rest = alice.rest.clone();
        let asked =
            tokio::spawn(async move { rest.post("/v1/pools/agents/a1/requests", json!({ "op": "status" })).await });
        let request = new.asked_for("status").await;
        new.answer(&request, json!({})).await;
        asked.await.unwrap().ok();
    }
    assert_eq!(known(&alice, "a1").await["guild_ids"], json!(["g2"]));
}

#[tokio::test]
async fn guilds_replace_the_membership_and_frames_belong_to_their_connection() {
    let (hub, alice) = start().await;
    let mut worker = Worker::join(&alice, hub.address, "a1", &["g1"]).await;
    let _other = Worker::join(&alice, hub.address, "a2", &["g1"]).await;
    worker.send(json!({ "type": "guilds", "agentId": "a2", "guildIds": ["g7"] })).await;
    crate::support::eventually("a1 is in g7", || async {
        (known(&alice, "a1").await["guild_ids"] == json!(["g7"])).then_some(())
    })
    .await;
    assert_eq!(known(&alice, "a2").await["guild_ids"], json!(["g1"]));
}

#[tokio::test]
async fn a_web_pages_origin_gets_403_on_both_listeners() {
    let apart = free_address();
    let hub = Setup::default().env("MOOT_CHOPSTICKS__LISTEN", &apart.to_string()).start().await;
    let own = format!("http://{}", hub.address);
    for url in [format!("ws://{}/agents", hub.address), format!("ws://{apart}/")] {
        for origin in ["https://evil.example", "http://localhost:1", "null", "http://127.0.0.1.evil.example"] {
            let refused = Worker::dial_at(&url, Some(origin)).await.err().expect("a refusal");
            let tungstenite::Error::Http(answer) = refused else { panic!("{url} {origin}: {refused}") };
            assert_eq!(answer.status(), 403, "{url} {origin}");
        }
        for origin in [None, Some(own.as_str()), Some("app://obsidian.md")] {
            Worker::dial_at(&url, origin).await.unwrap_or_else(|error| panic!("{url} {origin:?}: {error}"));
        }
    }
}

#[tokio::test]
async fn a_page_under_a_foreign_name_that_points_here_is_refused_too() {
    let hub = Hub::start().await;
    let url = format!("http://{}/agents", hub.address);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = client
        .get(url)
        .header("host", "evil.example:8484")
        .header("origin", "http://evil.example:8484")
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 403);
}

#[tokio::test]
async fn the_listener_of_its_own_takes_any_path_and_nothing_but_agents() {
    let apart = free_address();
    let hub = Setup::default().env("MOOT_CHOPSTICKS__LISTEN", &apart.to_string()).start().await;
    let alice = register(&hub, "alice").await;
    for (number, path) in ["", "/", "/agents", "/ws", "/any/path?x=1"].into_iter().enumerate() {
        let mut worker = Worker::dial_at(&format!("ws://{apart}{path}"), None).await.unwrap();
        worker.send(hello(&format!("a{number}"), &[])).await;
        known(&alice, &format!("a{number}")).await;
    }
    let answer = reqwest::get(format!("http://{apart}/v1/members/me")).await.unwrap();
    assert_eq!(answer.status(), 426);
}

#[tokio::test]
async fn a_door_that_is_turned_off_is_not_there() {
    let hub = Setup::default().env("MOOT_CHOPSTICKS__ENABLED", "false").start().await;
    let refused = Worker::dial_at(&format!("ws://{}/agents", hub.address), None).await.err().expect("a refusal");
    assert!(matches!(refused, tungstenite::Error::Http(answer) if answer.status() == 404));
    let ready: Value = reqwest::get(hub.url("/readyz")).await.unwrap().json().await.unwrap();
    let doors = ready["doors"].as_array().unwrap();
    assert!(doors.iter().any(|door| door["door"] == "chopsticks" && door["status"] == "off"), "{ready}");
}
