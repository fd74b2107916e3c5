//! What one member can make the hub hold: answers wait for whoever asked for them, not in the hub's memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::Message;

use crate::support::{Hub, Lark, Member, Setup, Snek, eventually, register, start, text};

/// How much more memory the hub may need for a client that asks and does not read.
const BAR_KB: u64 = 64 * 1024;
const MESSAGES: usize = 300;
/// Each of them a request for some 3 MB.
const REQUESTS: usize = 200;

/// A line of `/proc/PID/status` in kilobytes.
fn kilobytes(hub: &Hub, line: &str) -> u64 {
    let path = format!("/proc/{}/status", hub.pid().as_raw_nonzero());
    let status = std::fs::read_to_string(path).expect("the hub is running");
    let value = status.lines().find_map(|found| found.strip_prefix(line)).expect("the line");
    value.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// A hub that gives up a reader who takes nothing as soon as it does by default.
async fn that_gives_up_deaf_readers() -> (Hub, Member) {
    let hub = Setup::default().env("MOOT_SERVER__WRITE_TIMEOUT_S", "10").start().await;
    let alice = register(&hub, "alice").await;
    (hub, alice)
}

/// A channel with a history of long messages.
async fn long_history(alice: &Member) -> String {
    let channel = alice.add_channel("history", &[]).await;
    let mut lark = alice.lark().await;
    let filler = "lorem ipsum ".repeat(800);
    for _ in 0..MESSAGES / 20 {
        for place in 0..20 {
            let data = json!({ "channel_id": channel, "content": format!("{place} {filler}") });
            lark.send("message.send", data).await;
        }
        for _ in 0..20 {
            lark.expect("message.ack").await;
        }
        lark.forget();
    }
    channel
}

/// Waits until the hub has given up a connection that takes nothing, and fails as soon as it holds too much for it.
async fn stays_small_until_given_up(hub: &Hub, before: u64) {
    eventually("the reader that takes nothing is given up", || async {
        let grown = kilobytes(hub, "VmHWM:").saturating_sub(before);
        assert!(grown < BAR_KB, "the hub needs {grown} kB more for one connection that reads nothing");
        hub.log().contains("the peer read nothing").then_some(())
    })
    .await;
}

#[tokio::test]
async fn whoever_asks_for_everything_and_reads_nothing_is_not_answered_into_memory() {
    let (hub, alice) = that_gives_up_deaf_readers().await;
    let channel = long_history(&alice).await;
    let mut deaf = Lark::narrow(hub.address).await;
    deaf.login(&alice.token).await;
    let before = kilobytes(&hub, "VmHWM:");
    let frames = (0..REQUESTS).map(|place| {
        let data = json!({ "channel_id": channel, "after_seq": place % 3 });
        json!({ "v": 1, "id": place.to_string(), "type": "sync.resume", "ts": 1, "data": data })
    });
    deaf.hand_over_all(frames.map(|frame| Message::text(frame.to_string()))).await;
    stays_small_until_given_up(&hub, before).await;
    alice.post(&channel, "the hub goes on").await;
}

#[tokio::test]
async fn pages_of_history_are_not_answered_into_memory_either() {
    let (hub, alice) = that_gives_up_deaf_readers().await;
    let channel = long_history(&alice).await;
    let agent = alice.add_agent("reader").await;
    alice.admit(&channel, &agent).await;
    let mut deaf = Snek::narrow(hub.address).await;
    deaf.login(&agent.name, &agent.token).await;
    let before = kilobytes(&hub, "VmHWM:");
    let calls = (0..REQUESTS)
        .map(|place| json!({ "callId": place.to_string(), "method": "get_messages", "args": [channel, 0, null, 100] }));
    deaf.hand_over_all(calls.map(|call| Message::text(call.to_string()))).await;
    stays_small_until_given_up(&hub, before).await;
}

#[tokio::test]
async fn whoever_asks_for_much_and_reads_it_gets_all_of_it_in_order() {
    let (_hub, alice) = start().await;
    let channel = long_history(&alice).await;
    let mut lark = alice.lark().await;
    for _ in 0..5 {
        lark.send("sync.resume", json!({ "channel_id": channel, "after_seq": 0 })).await;
    }
    for round in 0..5 {
        let mut seqs = Vec::new();
        let done = loop {
            let frame = lark.next().await;
            match text(&frame, "type") {
                "message.new" => seqs.push(frame["data"]["seq"].as_u64().expect("a position")),
                "sync.done" => break frame,
                _ => {}
            }
        };
        assert_eq!(seqs, (1..=MESSAGES as u64).collect::<Vec<_>>(), "round {round}");
        assert_eq!(done["data"]["seq"], MESSAGES as u64);
    }
}

#[tokio::test]
async fn a_position_named_twice_is_answered_once() {
    let (_hub, alice) = start().await;
    let channel = alice.add_channel("general", &[]).await;
    alice.post(&channel, "hello").await;
    let mut lark = alice.lark().await;
    let mut positions = serde_json::Map::new();
    for spelling in [channel.clone(), channel.to_uppercase(), channel.to_lowercase()] {
        positions.insert(spelling, json!(0));
    }
    lark.send("sync.resume", json!({ "workspace": true, "positions": positions })).await;
    lark.expect("sync.done").await;
    lark.asks("channel.join", json!({ "channel_id": channel }), "channel.join").await;
    assert_eq!(lark.kept("message.new").len(), 1);
}

/// The median of how long a send takes until it is acknowledged.
async fn pace_of(lark: &mut Lark, channel: &str) -> Duration {
    let mut times = Vec::new();
    for place in 0..15 {
        let started = Instant::now();
        lark.say(channel, &format!("message {place}")).await;
        times.push(started.elapsed());
    }
    times.sort();
    times[times.len() / 2]
}

/// Asks for the whole history over and over and reads what comes, on a thread of its own that does nothing else with it.
fn read_greedily(hub: &Hub, alice: &Member, channel: &str, enough: &Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    let frame = |kind: &str, data: Value| json!({ "v": 1, "id": "1", "type": kind, "ts": 1, "data": data }).to_string();
    let login = frame("auth.login", json!({ "token": alice.token }));
    let request = frame("sync.resume", json!({ "channel_id": channel, "after_seq": 0 }));
    let (url, enough) = (format!("ws://{}/ws", hub.address), Arc::clone(enough));
    std::thread::spawn(move || {
        let (mut socket, _) = tungstenite::connect(url).expect("the upgrade");
        for frame in std::iter::once(&login).chain([&request; 10]) {
            socket.send(Message::text(frame.clone())).expect("an open socket");
        }
        while !enough.load(Ordering::Relaxed) {
            let Message::Text(text) = socket.read().expect("a frame") else { continue };
            if text.contains("sync.done") {
                socket.send(Message::text(request.clone())).expect("an open socket");
            }
        }
    })
}

#[tokio::test]
async fn one_who_reads_everything_over_and_over_does_not_hold_up_another_who_writes() {
    let (hub, alice) = start().await;
    let bob = alice.add_human("bob").await;
    let history = long_history(&alice).await;
    let general = alice.add_channel("general", &[&bob]).await;
    let mut writer = bob.lark().await;
    let quiet = pace_of(&mut writer, &general).await;
    let enough = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..4).map(|_| read_greedily(&hub, &alice, &history, &enough)).collect();
    let busy = pace_of(&mut writer, &general).await;
    enough.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().expect("a reader");
    }
    assert!(busy < quiet * 20 + Duration::from_secs(1), "{busy:?} instead of {quiet:?}");
}
